"""Agents on machines of the lab, as fixtures."""

from collections.abc import Iterator

import pytest

from tests.lab.client import Client
from tests.lab.host import Host
from tests.system.agents import Agent, QuickAgent, UnitAgent


@pytest.fixture
def quick_agent(client: Client) -> Iterator[QuickAgent]:
    """An agent on a host without systemd, not yet started."""
    made = QuickAgent(client)
    yield made
    made.stop()
    made.release_mounts()


@pytest.fixture
def unit_agent(host: Host) -> UnitAgent:
    """An agent in its shipped unit under real systemd, not yet started."""
    return UnitAgent(host)


@pytest.fixture(params=["systemd", "quick"])
def agent(request: pytest.FixtureRequest) -> Agent:
    """An agent on either kind of host, not yet started."""
    kind = "unit_agent" if request.param == "systemd" else "quick_agent"
    made: Agent = request.getfixturevalue(kind)
    return made

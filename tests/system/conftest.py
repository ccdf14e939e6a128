"""Agents on machines of the lab, as fixtures."""

import itertools
from collections.abc import Iterator

import pytest

from tests.lab.client import Client
from tests.lab.cluster import Cluster
from tests.lab.host import Host
from tests.lab.volume import Volume
from tests.system.agents import Agent, QuickAgent, UnitAgent

_numbers = itertools.count(1)


@pytest.fixture
def quick_agent(client: Client) -> Iterator[QuickAgent]:
    """An agent on a host without systemd, not yet started."""
    made = QuickAgent(client)
    yield made
    made.stop()
    client.release()


@pytest.fixture(params=["systemd", "quick"])
def agent(request: pytest.FixtureRequest) -> Agent:
    """An agent on either kind of host, not yet started."""
    kind = "bare_agent" if request.param == "systemd" else "quick_agent"
    made: Agent = request.getfixturevalue(kind)
    return made


@pytest.fixture(scope="module")
def shared_volume(cluster: Cluster) -> Iterator[Volume]:
    """A volume with three replicas for all tests of a module."""
    made = cluster.create_volume(f"shared{next(_numbers)}", replica=3)
    yield made
    cluster.delete_volume(made)


@pytest.fixture
def bare_agent(shared_host: Host) -> Iterator[UnitAgent]:
    """An agent on the module's host, which is cleaned up afterwards; not yet started."""
    made = UnitAgent(shared_host)
    yield made
    made.clean_up()

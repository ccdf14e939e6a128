"""pytest fixtures of the lab; each fails its test when it leaves something behind.

The cluster lives as long as the session, everything else as long as a test.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from . import base, runs
from .client import Client
from .cluster import Cluster
from .host import Host
from .shell import LabError, until
from .volume import Volume

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def release(pytestconfig: pytest.Config) -> str:
    """Of Debian, on hosts with systemd; servers and quick clients are of this machine's."""
    return str(pytestconfig.getoption("release"))


@pytest.fixture(scope="session")
def cluster(release: str) -> Iterator[Cluster]:
    """Three servers that listen on IPv4."""
    lab = Cluster.start(servers=3, release=release)
    yield lab
    lab.down()
    assert runs.leftovers(lab.run) == []


@pytest.fixture
def make_volume(cluster: Cluster) -> Iterator[Callable[..., Volume]]:
    """Make a volume as Cluster.create_volume does, under a name of its own; gone afterwards."""
    made: list[Volume] = []

    def make(**shape: Any) -> Volume:
        volume = cluster.create_volume(f"vol{next(_numbers)}", **shape)
        made.append(volume)
        return volume

    yield make
    for volume in made:
        cluster.delete_volume(volume)


@pytest.fixture
def volume(make_volume: Callable[..., Volume]) -> Volume:
    """A volume with three replicas."""
    return make_volume(replica=3)


@pytest.fixture(scope="session")
def standing(cluster: Cluster) -> Volume:
    """A volume with three replicas for the whole session; a test must leave it as it was."""
    return cluster.create_volume("standing", replica=3)


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    """A quick client; a test that leaves a process in it other than its mounts' fails."""
    if cluster.release != base.RELEASE:
        pytest.skip(f"quick clients are of {base.RELEASE}, like this machine")
    made = cluster.add_client()
    yield made
    made.unmount_all()
    try:
        until(lambda: not made.left_behind(), 10, f"nothing runs on {made.name}")
    except LabError:
        pytest.fail(f"left behind on {made.name}: {', '.join(made.left_behind())}")
    finally:
        cluster.remove(made)


@pytest.fixture
def host(cluster: Cluster) -> Iterator[Host]:
    """A freshly booted host with systemd."""
    made = cluster.add_host()
    yield made
    cluster.remove(made)


@pytest.fixture(scope="module")
def shared_host(cluster: Cluster) -> Iterator[Host]:
    """A host with systemd for all tests of a module: a boot costs seconds."""
    made = cluster.add_host()
    yield made
    cluster.remove(made)

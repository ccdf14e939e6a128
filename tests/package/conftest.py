"""Fresh hosts of one Debian release, and a web server with the signed repository."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import subject
from tests.lab.cluster import Cluster
from tests.lab.host import Host
from tests.lab.jobs import RunningJob
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.package.apt import NAME, apt, conf, version
from tests.package.deb import field
from tests.package.shop import Shop
from tests.system.agents import CONFIG, UnitAgent

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def package() -> Path:
    """The package under test."""
    found = subject.package()
    if found is None:
        pytest.fail("which package? `make test-package` builds it, --package DEB names one")
    return found


@pytest.fixture(scope="session")
def shop(cluster: Cluster, package: Path) -> Iterator[Shop]:
    """The repositories that the hosts see, served by the first storage server."""
    with Shop(cluster, package) as made:
        yield made


def _fresh_host(cluster: Cluster, shop: Shop) -> Host:
    made = cluster.add_host(fresh=True)
    shop.known_to(made)
    apt(made, "update")
    return made


@pytest.fixture(scope="session")
def machine(cluster: Cluster, shop: Shop) -> Iterator[Host]:
    """A host that was fresh once; the package may be installed on it or not."""
    made = _fresh_host(cluster, shop)
    yield made
    cluster.remove(made)


@pytest.fixture
def virgin(cluster: Cluster, shop: Shop) -> Iterator[Host]:
    """A host on which the package has never been installed."""
    made = _fresh_host(cluster, shop)
    yield made
    cluster.remove(made)


@pytest.fixture(scope="session")
def store(cluster: Cluster) -> Iterator[Volume]:
    """A volume with three replicas for all tests here."""
    made = cluster.create_volume("model-store", replica=3)
    yield made
    cluster.delete_volume(made)


@pytest.fixture
def agent(machine: Host, package: Path) -> Iterator[UnitAgent]:
    """The package as just installed: running, its file as shipped, no mounts."""
    shipped = (subject.unpacked(package) / CONFIG.lstrip("/")).read_text()
    if version(machine) != field(package, "Version"):
        as_shipped = conf("confnew", "confmiss")
        apt(
            machine,
            "install",
            "--allow-downgrades",
            *as_shipped,
            f"{NAME}={field(package, 'Version')}",
        )
    made = UnitAgent(machine)
    made.configure(shipped)
    until(lambda: made.status().get("mounts") == {}, 60, "the agent has no mounts")
    yield made
    if version(machine):
        made.configure(shipped)
        until(lambda: made.status().get("mounts") == {}, 60, "the agent has no mounts any more")
    machine.release()


@pytest.fixture
def jobs(machine: Host) -> Iterator[list[RunningJob]]:
    """Those put into it don't outlive a test that failed."""
    started: list[RunningJob] = []
    yield started
    for job in started:
        if job.process.poll() is None:
            job.process.abandon()

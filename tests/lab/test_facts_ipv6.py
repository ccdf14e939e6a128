"""What the client does with IPv6; "IPv6" in docs/gluster-facts.md."""

from collections.abc import Iterator

import pytest

from .attempts import attempt
from .client import Client
from .cluster import Cluster
from .shell import LabError

M = "/mnt/a"
ASK = "xlator-option=transport.address-family=inet6"


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A client of two servers that listen on both families."""
    with Cluster.start(servers=2, family="inet6") as lab:
        lab.create_volume("vol", replica=2)
        yield lab.add_client()


@pytest.fixture(autouse=True)
def _unmounted(client: Client) -> Iterator[None]:
    yield
    client.unmount_all()


def test_literal_source(client: Client) -> None:
    client.mount("fd77::b:/vol", M)
    assert attempt(client, "write", M) == "ok"
    entry = client.entry(M)
    assert entry is not None
    assert entry[-2] == "fd77::b:/vol"
    client.unmount(M)
    with pytest.raises(LabError):
        client.mount("[fd77::b]:/vol", M)


def test_literal_among_the_backups(client: Client) -> None:
    client.mount("missing:/vol", M, ["backup-volfile-servers=[fd77::c]"])
    assert attempt(client, "write", M) == "ok"


def test_name_with_only_ipv6(client: Client) -> None:
    with pytest.raises(LabError):
        client.mount("node1-v6:/vol", M)
    client.mount("node1-v4:/vol", M)
    assert attempt(client, "write", M) == "ok"


def test_asking_for_ipv6(client: Client) -> None:
    client.mount("node1-v6:/vol", M, [ASK])
    assert attempt(client, "write", M) == "ok"
    client.unmount(M)
    with pytest.raises(LabError):
        client.mount("node1-v4:/vol", M, [ASK])

"""What mount(8) of GlusterFS does, well and badly; "Mounting" in docs/gluster-facts.md."""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from . import faults
from .attempts import HANGS, attempt
from .client import Client
from .cluster import Cluster
from .shell import Done, LabError, until
from .volume import Volume

M = "/mnt/a"


def mount(client: Client, *arguments: str, timeout: float = 60) -> Done:
    client.run(["mkdir", "-p", M])
    return client.run(["mount", "-t", "glusterfs", *arguments], check=False, timeout=timeout)


def seconds(client: Client, source: str, *options: str) -> float:
    begin = time.monotonic()
    client.mount(source, M, options, timeout=150)
    return time.monotonic() - begin


def log(client: Client) -> str:
    return client.read("/var/log/glusterfs/mnt-a.log")


@pytest.mark.parametrize(
    ("argument", "source"),
    [
        ("node1:/{}", "node1:/{}"),
        ("node1:{}", "node1:{}"),
        ("node1:/{}/sub", "node1:/{}/sub"),
        ("node1:{}/sub", "node1:{}/sub"),
        ("10.77.0.11:/{}", "10.77.0.11:/{}"),
        ("node1,node2:/{}", "node1:/{}"),
    ],
)
def test_source_in_mountinfo(standing: Volume, client: Client, argument: str, source: str) -> None:
    client.mount(f"node1:/{standing.name}", "/mnt/whole")
    client.run(["mkdir", "-p", "/mnt/whole/sub"])
    client.mount(argument.format(standing.name), M)
    entry = client.entry(M)
    assert entry is not None
    assert entry[-3:-1] == ["fuse.glusterfs", source.format(standing.name)]
    assert re.fullmatch(r"0:\d+", entry[2])


def test_the_first_server_stays_the_source_when_a_backup_was_used(
    standing: Volume, client: Client
) -> None:
    what = f"missing:/{standing.name}"
    assert 1 < seconds(client, what, "backup-volfile-servers=node2:node3") < 20
    entry = client.entry(M)
    assert entry is not None
    assert entry[-2] == what


def test_client_process_names_its_connection_and_mount(standing: Volume, client: Client) -> None:
    client.mount(f"node1:/{standing.name}", M)
    process = client.glusterfs(M)
    assert process.comm == "glusterfs"
    proc = Path(f"/proc/{process.pid}")
    fuse = [fd.name for fd in (proc / "fd").iterdir() if str(fd.readlink()) == "/dev/fuse"]
    infos = [(proc / "fdinfo" / fd).read_text() for fd in fuse]
    line = f"fuse_connection:\t{client.connection(M)}\n"
    if not any("fuse_connection" in info for info in infos):
        pytest.skip("this kernel does not tell")
    assert any(line in info for info in infos)


def test_refused_by_auth_allow_can_end_well_with_nothing_mounted(
    standing: Volume, client: Client
) -> None:
    with faults.auth_refused(standing):
        mount(client, f"node1:/{standing.name}", M)
        until(lambda: client.entry(M) is None, 20, "nothing is mounted")
        until(
            lambda: "remote-error=Authentication failed" in log(client),
            10,
            "the client's log has the cause",
        )


def test_missing_sub_directory(standing: Volume, client: Client) -> None:
    mount(client, f"node1:/{standing.name}/missing", M)
    until(lambda: client.entry(M) is None, 20, "nothing is mounted")
    until(
        lambda: 'subdirectory for mount "/missing" is not found' in log(client),
        10,
        "the log has the cause",
    )


def test_a_volume_that_the_server_does_not_have(standing: Volume, client: Client) -> None:
    assert mount(client, f"node1:/{standing.name}x", M).returncode != 0
    assert "failed to get the 'volume file' from server" in log(client)


def test_a_volume_that_is_stopped(volume: Volume, client: Client) -> None:
    with faults.volume_stopped(volume):
        mount(client, f"node1:/{volume.name}", M)
        until(lambda: client.entry(M) is None, 20, "nothing is mounted")
    assert "failed to get the port number for remote subvolume" in log(client)
    assert "failed to get the 'volume file'" not in log(client)


def test_first_server_refusing(cluster: Cluster, standing: Volume, client: Client) -> None:
    with faults.port_refusing(cluster.servers[0]):
        took = seconds(client, f"node1:/{standing.name}", "backup-volfile-servers=node2:node3")
    assert 2 < took < 10


@pytest.mark.slow
def test_first_server_silent(cluster: Cluster, standing: Volume, client: Client) -> None:
    with faults.port_silent(cluster.servers[0]):
        took = seconds(client, f"node1:/{standing.name}", "backup-volfile-servers=node2:node3")
    assert 20 < took < 100


def test_live_server_first(standing: Volume, client: Client) -> None:
    assert seconds(client, f"node2:/{standing.name}", "backup-volfile-servers=node1:node3") < 2


def test_live_server_first_with_a_brick_host_silent(
    cluster: Cluster, standing: Volume, client: Client
) -> None:
    with faults.silent(cluster.servers[0]):
        took = seconds(client, f"node2:/{standing.name}", "backup-volfile-servers=node1:node3")
    assert 9 < took < 20


@pytest.fixture
def all_silent(cluster: Cluster) -> Iterator[None]:
    with ExitStack() as stack:
        for server in cluster.servers:
            stack.enter_context(faults.port_silent(server))
        yield


@pytest.mark.slow
def test_all_servers_silent(standing: Volume, client: Client, all_silent: None) -> None:
    with pytest.raises(LabError, match="not done after 10 s"):
        mount(client, f"node1:/{standing.name}", M, timeout=10)
    assert client.processes("glusterfs"), "the killed helper leaves its client behind"


def test_glusterd_of_the_volfile_server_is_not_needed_any_more(
    cluster: Cluster, standing: Volume, client: Client
) -> None:
    client.mount(f"node1:/{standing.name}", M)
    process = client.glusterfs(M)
    with faults.glusterd_stopped(cluster.servers[0]):
        for _ in range(5):
            assert attempt(client, "write", M) == "ok"
    assert client.glusterfs(M) == process


@pytest.mark.parametrize("option", ["nofail", "sync", "_netdev", "auto"])
def test_ignored_options(standing: Volume, client: Client, option: str) -> None:
    assert mount(client, "-o", option, f"node1:/{standing.name}", M).returncode == 0
    assert client.entry(M)


@pytest.mark.parametrize("option", ["read-ahead=yes", "io-cache=on", "performance.cache-size=1GB"])
def test_volume_options_are_no_mount_options(standing: Volume, client: Client, option: str) -> None:
    assert mount(client, "-o", option, f"node1:/{standing.name}", M).returncode == 1
    assert client.entry(M) is None


def test_unknown_flag_ends_well_with_nothing_mounted(standing: Volume, client: Client) -> None:
    client.run(["mkdir", "-p", M])
    helper = ["/sbin/mount.glusterfs", f"node1:/{standing.name}", M, "-Z"]
    assert client.run(helper, check=False).returncode == 0
    assert client.entry(M) is None


def test_a_dead_mount_counts_as_mounted(standing: Volume, client: Client) -> None:
    what = f"node1:/{standing.name}"
    client.mount(what, M)
    faults.client_killed(client, M).begin()
    assert mount(client, what, M).returncode == 32
    client.unmount(M, lazy=True)
    client.mount(what, M)
    assert attempt(client, "write", M) == "ok"


@pytest.mark.parametrize(
    ("name", "neighbour"),
    [("with space", ""), ("a*", "ab"), ("a?", "ab"), ("[a]", "a"), ("a\\b", "")],
)
def test_mount_points_that_the_helper_cannot_take(
    standing: Volume, client: Client, name: str, neighbour: str
) -> None:
    """It expands patterns; these go well as long as nothing else fits them."""
    path = f"/mnt/{name}"
    client.run(["mkdir", "-p", path, f"/mnt/{neighbour}"])
    client.run(["mount", "-t", "glusterfs", f"node1:/{standing.name}", path], check=False)
    assert attempt(client, "listdir", f"{path}/.meta") == "ENOENT"


def test_a_file_named_like_the_source_is_taken_for_a_volfile(
    standing: Volume, client: Client
) -> None:
    client.write(f"/mnt/elsewhere/node1:{standing.name}", "no volfile\n")
    client.run(["mkdir", M])
    command = f"cd /mnt/elsewhere && mount -t glusterfs node1:{standing.name} {M}"
    assert client.run(["sh", "-c", command], check=False).returncode != 0
    assert mount(client, f"node1:{standing.name}", M).returncode == 0


def test_plain_unmount_of_a_frozen_mount_hangs(standing: Volume, client: Client) -> None:
    client.mount(f"node1:/{standing.name}", M)
    with faults.client_frozen(client, M):
        with pytest.raises(LabError, match="not done"):
            client.run(["umount", M], timeout=2)
        assert attempt(client, "statvfs", M, timeout=1) == HANGS
        client.unmount(M, lazy=True)
        assert client.entry(M) is None


def test_a_second_mount_may_lie_on_top(standing: Volume, client: Client) -> None:
    client.mount(f"node1:/{standing.name}", M)
    client.run(["mount", "-t", "tmpfs", "tmpfs", M])
    entry = client.entry(M)
    assert entry is not None
    assert entry[-3] == "tmpfs"
    client.unmount(M)
    assert attempt(client, "listdir", f"{M}/.meta") == "ok"

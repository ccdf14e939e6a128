"""What each state of a mount looks like; the table in docs/gluster-facts.md."""

import os
import signal
import time
from pathlib import Path

import pytest

from . import faults
from .attempts import HANGS, attempt
from .client import Client
from .shell import LabError, until
from .volume import Volume

M = "/mnt/a"
ISMOUNT = ["python3", "-I", "-S", "-c", "import os; print(os.path.ismount('/mnt/a'))"]


@pytest.fixture
def mounted(standing: Volume, client: Client) -> Client:
    client.mount(f"node1:/{standing.name}", M)
    return client


def outcomes(client: Client) -> dict[str, str]:
    operations = ("stat", "statvfs", "listdir", "write")
    return {operation: attempt(client, operation, M) for operation in operations}


def test_healthy(mounted: Client) -> None:
    assert set(outcomes(mounted).values()) == {"ok"}


def test_client_killed(mounted: Client) -> None:
    assert attempt(mounted, "stat", M) == "ok"
    faults.client_killed(mounted, M).begin()
    assert attempt(mounted, "stat", M) == "ok", "the kernel answers from its cache at first"
    assert attempt(mounted, "statvfs", M) == "ENOTCONN"
    assert attempt(mounted, "listdir", M) == "ENOTCONN"
    until(lambda: attempt(mounted, "stat", M) == "ENOTCONN", 10, "the cache has run out")
    assert mounted.entry(M), "its line in mountinfo stays"
    assert mounted.run(ISMOUNT).stdout == "False\n"
    assert attempt(mounted, "makedirs", M) == "EEXIST"


def test_client_killed_under_a_long_attribute_timeout(standing: Volume, client: Client) -> None:
    client.mount(f"node1:/{standing.name}", M, ["attribute-timeout=600", "entry-timeout=600"])
    assert attempt(client, "stat", M) == "ok"
    faults.client_killed(client, M).begin()
    time.sleep(3)  # the default timeout of one second is over
    assert attempt(client, "stat", M) == "ok"
    assert attempt(client, "statvfs", M) == "ENOTCONN"


def test_client_frozen(standing: Volume, client: Client) -> None:
    client.mount(f"node1:/{standing.name}", M, ["attribute-timeout=60"])
    assert attempt(client, "stat", M) == "ok"
    process = client.glusterfs(M)
    with faults.client_frozen(client, M):
        assert attempt(client, "stat", M) == "ok", "cached"
        for operation in ("statvfs", "listdir", "write"):
            assert attempt(client, operation, M, timeout=1) == HANGS
    assert set(outcomes(client).values()) == {"ok"}
    assert client.glusterfs(M) == process


def test_quorum_lost(standing: Volume, mounted: Client) -> None:
    process = mounted.glusterfs(M)
    with faults.bricks_killed(standing, standing.bricks[:2]):
        until(lambda: attempt(mounted, "listdir", M) == "ENOTCONN", 10, "quorum is lost")
        until(
            lambda: attempt(mounted, "statvfs", M) == "ok",
            10,
            "the brick that is left answers, once the client has given the others up",
        )
        until(lambda: attempt(mounted, "write", M) == "ENOTCONN", 10, "writes fail")
        until(
            lambda: attempt(mounted, "listdir", f"{M}/.meta") == "ENOTCONN",
            10,
            "the way to .meta is shut once the root's attributes have run out",
        )
    until(lambda: attempt(mounted, "write", M) == "ok", 20, "it heals by itself")
    assert mounted.glusterfs(M) == process


def test_all_bricks_lost(standing: Volume, mounted: Client) -> None:
    with faults.bricks_killed(standing, standing.bricks):
        until(lambda: attempt(mounted, "statvfs", M) == "ENOTCONN", 10, "all bricks are lost")
        assert attempt(mounted, "listdir", M) == "ENOTCONN"
    until(lambda: attempt(mounted, "write", M) == "ok", 20, "it heals by itself")


def test_volume_stopped(standing: Volume, mounted: Client) -> None:
    process = mounted.glusterfs(M)
    with faults.volume_stopped(standing):
        until(lambda: attempt(mounted, "listdir", M) == "ENOTCONN", 10, "the bricks are gone")
        assert attempt(mounted, "statvfs", M) == "ENOTCONN"
    until(lambda: attempt(mounted, "write", M) == "ok", 20, "it heals by itself")
    assert mounted.glusterfs(M) == process


def test_connection_aborted(mounted: Client) -> None:
    process = mounted.glusterfs(M)
    with faults.client_frozen(mounted, M):
        reader = mounted.popen(["ls", "-f", M], stderr=-1)
        state = Path(f"/proc/{reader.target}/wchan")
        until(lambda: "request" in state.read_text(), 10, "the reader waits for FUSE")
        faults.connection_aborted(mounted, M).begin()
        said = reader.communicate(timeout=10)[1]
        assert os.strerror(103) in said
        assert attempt(mounted, "statvfs", M) == "ENOTCONN"
    assert attempt(mounted, "listdir", M) == "ENOTCONN"
    until(lambda: process not in mounted.processes(), 20, "the client ends, once it goes on")
    assert mounted.entry(M)


def test_terminated_client_takes_its_mount_along(mounted: Client) -> None:
    os.kill(mounted.glusterfs(M).pid, signal.SIGTERM)
    until(lambda: mounted.entry(M) is None, 20, "the mount has vanished")
    assert attempt(mounted, "write", M) == "ok", "onto the local disk"


def test_auth_taken_away_takes_a_live_mount_along(standing: Volume, mounted: Client) -> None:
    with faults.auth_refused(standing):
        until(lambda: mounted.entry(M) is None, 20, "the mount has vanished")
    assert attempt(mounted, "write", M) == "ok", "onto the local disk"


@pytest.mark.slow
def test_a_silent_server_blocks_a_write_for_the_ping_timeout(
    standing: Volume, client: Client
) -> None:
    with faults.option_set(standing, "network.ping-timeout", "8"):
        client.mount(f"node1:/{standing.name}", M)
        assert attempt(client, "write", M) == "ok"
        with faults.silent(standing.bricks[2].server):
            begin = time.monotonic()
            assert attempt(client, "write", M, timeout=100) == "ok"
            assert 8 <= time.monotonic() - begin < 8 * 2 + 15
            begin = time.monotonic()
            assert attempt(client, "write", M, timeout=100) == "ok"
            assert time.monotonic() - begin < 5, "the dead brick is not waited for again"


def test_a_frozen_brick_looks_like_a_silent_server(standing: Volume, mounted: Client) -> None:
    with faults.brick_frozen(standing.bricks[1]), pytest.raises(LabError, match="not done"):
        mounted.run(["sh", "-c", f"echo > {M}/frozen; sync {M}/frozen"], timeout=3)
    until(lambda: attempt(mounted, "write", M) == "ok", 20, "it works")

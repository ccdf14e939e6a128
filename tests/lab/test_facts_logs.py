"""How a client writes its log; "Logs" in docs/gluster-facts.md."""

import os
import signal
from pathlib import Path

import pytest

from .client import Client
from .shell import until
from .volume import Volume

M = "/mnt/a"
LOG = "/var/log/lab/a.log"


@pytest.fixture
def talkative(standing: Volume, client: Client) -> Client:
    """A client with a mount that logs each operation; it has made the log's directory itself."""
    client.mount(f"node1:/{standing.name}", M, ["log-level=TRACE", f"log-file={LOG}"])
    return client


def logs(client: Client, text: str = "") -> None:
    """Until the log has grown by an operation, or holds that text."""
    before = client.path(LOG).stat().st_size

    def grown() -> bool:
        client.run(["ls", M])
        return client.path(LOG).stat().st_size > before and text in client.read(LOG)

    until(grown, 30, f"the client logs {text}")


def open_logs(client: Client) -> list[tuple[str, int]]:
    """(path, open flags) of what the client has open below the log's directory."""
    process = Path(f"/proc/{client.glusterfs(M).pid}")
    found = []
    for descriptor in (process / "fd").iterdir():
        try:
            target = os.readlink(descriptor)
            info = (process / "fdinfo" / descriptor.name).read_text()
        except FileNotFoundError:
            continue
        if target.startswith("/var/log/lab/"):
            found.append((target, int(info.split("flags:")[1].split()[0], 8)))
    return found


def test_it_appends_so_that_a_truncated_log_has_no_hole(talkative: Client) -> None:
    logs(talkative)
    ((_, flags),) = open_logs(talkative)
    assert flags & os.O_APPEND
    before = talkative.path(LOG).stat().st_size
    talkative.run(["truncate", "--size=0", LOG])
    logs(talkative)
    assert talkative.path(LOG).stat().st_size < before + (1 << 20)
    assert talkative.path(LOG).read_bytes()[:1] == b"["
    found = talkative.path(LOG).stat()
    assert found.st_blocks * 512 >= found.st_size


def test_hangup_reopens_the_log_and_fetches_the_volfile_anew(talkative: Client) -> None:
    logs(talkative)
    client = talkative.glusterfs(M)
    talkative.run(["mv", LOG, f"{LOG}.1"])
    logs_to = [path for path, _ in open_logs(talkative)]
    assert logs_to == [f"{LOG}.1"]
    os.kill(client.pid, signal.SIGHUP)
    until(
        lambda: talkative.path(LOG).exists() and [p for p, _ in open_logs(talkative)] == [LOG],
        30,
        "a new log is open",
    )
    logs(talkative)
    assert "Fetching the volume file from server" in talkative.read(f"{LOG}.1")
    assert talkative.glusterfs(M) == client


def test_a_log_that_was_removed_is_written_on(talkative: Client) -> None:
    client = talkative.glusterfs(M)
    talkative.run(["rm", "-r", "/var/log/lab"])
    os.kill(client.pid, signal.SIGHUP)  # Debian's own rule for the logs of GlusterFS sends it
    for _ in range(20):
        talkative.run(["ls", M])
    assert [path for path, _ in open_logs(talkative)] == [f"{LOG} (deleted)"]
    assert talkative.glusterfs(M) == client
    assert not talkative.path("/var/log/lab").exists()


def test_without_a_log_to_write_there_is_no_mount(standing: Volume, client: Client) -> None:
    client.run(["mkdir", "-p", M, LOG])
    options = ["-o", f"log-file={LOG}", f"node1:/{standing.name}", M]
    done = client.run(["mount", "-t", "glusterfs", *options], check=False)
    assert done.returncode != 0
    assert "failed to open logfile" in done.stderr
    assert client.entry(M) is None
    client.mount(f"node1:/{standing.name}", M, ["log-file=/dev/null"])

"""The shipped service unit: what it lets the agent do, and how it stops beside a hung mount."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import faults
from tests.lab.cell import Inside
from tests.lab.client import FUSECTL
from tests.lab.host import REPOSITORY, UNITS, Host
from tests.lab.shell import until
from tests.lab.volume import Volume

STANDIN = Path(__file__).with_name("standin.py")
SERVICE = "gluster-ml-agent.service"
EXPECTED = {
    "write on a mount from before": "text",
    "mount": None,
    "write on a mount from after": "text",
    "shared directory": "1234 2775",
    "unmount": True,
    "guard": "Operation not permitted",
    "mount again": None,
    "abort and detach": True,
    "what strangers hold": "/mnt/old",
    "names": True,
    "runtime directory": "text",
    "state directory": "text",
    "mount by itself": True,
}


@pytest.fixture
def stranger(host: Host, volume: Volume) -> Iterator[Inside]:
    """Another user's process with its cwd on a mount that is older than the service."""
    host.run(["mkdir", "-p", "/mnt/new"])
    host.mount(f"node1:/{volume.name}", "/mnt/old")
    argv = ["setpriv", "--reuid=1234", "--clear-groups", "sleep", "infinity"]
    process = host.popen(["sh", "-c", f"cd /mnt/old && exec {' '.join(argv)}"])
    until(lambda: host.processes("sleep"), 30, "the stranger runs")
    yield process
    process.kill()
    process.wait(30)


@pytest.fixture
def service(host: Host, volume: Volume, stranger: Inside) -> str:
    """The shipped unit, with the stand-in for the agent; started."""
    name = host.install_unit()
    (pid,) = (process.inner for process in host.processes("sleep"))
    command = f"{REPOSITORY}/.venv/bin/python {STANDIN} node1:/{volume.name} {pid}"
    host.write(f"{UNITS}/{name}.d/standin.conf", f"[Service]\nExecStart=\nExecStart={command}\n")
    host.systemctl("daemon-reload")
    host.systemctl("start", name, timeout=120)
    return name


def test_the_sandbox_lets_the_agent_work(host: Host, service: str) -> None:
    assert json.loads(host.read("/run/gluster-ml/standin.json")) == EXPECTED
    host.systemctl("stop", service)
    assert host.read("/run/gluster-ml/standin.json")


def test_a_fusectl_that_comes_later_is_writable(host: Host, service: str, volume: Volume) -> None:
    host.run(["umount", FUSECTL], check=False)
    host.systemctl("restart", service, timeout=120)
    host.run(["mount", "-t", "fusectl", "fusectl", FUSECTL])
    agent = host.unit(service, "MainPID")["MainPID"]
    switch = f"{FUSECTL}/{host.connection('/mnt/old')}/abort"
    host.run(["nsenter", "-t", agent, "-m", "sh", "-c", f"echo 1 > {switch}"])
    assert host.run(["ls", "/mnt/old"], check=False).returncode != 0


def test_a_stop_beside_a_hung_mount_is_quick(host: Host, service: str) -> None:
    with faults.client_frozen(host, "/mnt/old"):
        until(lambda: "request_wait_answer" in _waits(host), 30, "the workers hang")
        begun = time.monotonic()
        host.systemctl("stop", service)
        assert time.monotonic() - begun < 5
        assert host.unit(service, "ActiveState", "Result") == {
            "ActiveState": "inactive",
            "Result": "success",
        }
        assert host.entry("/mnt/old") is not None


def test_a_killed_agent_is_back_beside_a_hung_mount(host: Host, service: str) -> None:
    first = host.unit(service, "MainPID")["MainPID"]

    def back() -> bool:
        return host.unit(service, "MainPID")["MainPID"] not in ("0", first)

    with faults.client_frozen(host, "/mnt/old"):
        until(lambda: "request_wait_answer" in _waits(host), 30, "the workers hang")
        host.systemctl("kill", "--kill-who=main", "--signal=KILL", service)
        until(back, 5, "another agent runs")


def test_the_unit_is_well_formed_and_not_exposed(host: Host) -> None:
    name = host.install_unit()
    said = host.run(["systemd-analyze", "verify", "--man=no", f"{UNITS}/{name}"])
    assert said.stdout + said.stderr == ""
    host.run(["systemd-analyze", "security", "--threshold=32", name])


def _waits(host: Host) -> list[str]:
    """What the Python processes inside sleep in: the stand-in and its workers."""
    found = [process for process in host.processes() if process.comm.startswith("python")]
    return [Path(f"/proc/{process.pid}/wchan").read_text() for process in found]

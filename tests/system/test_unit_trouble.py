"""Bad days of the shipped unit: hung mounts, no network, programs that misbehave, failures."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.daemon.loop import FIRST_ROUND
from tests.lab import faults
from tests.lab.cluster import Cluster
from tests.lab.host import UNITS, Host
from tests.lab.shell import run, until
from tests.lab.volume import Volume
from tests.system import misfit
from tests.system.agents import UNIT, UnitAgent, config
from tests.system.unitfile import install_copy, properties, restarts, shows

MISFIT = f"/usr/bin/python3 {misfit.__file__}"
AGENT_ALONE = ("ExecStart=", "ExecStart=/usr/bin/gluster-ml-agent run --config /etc/none.yaml")
"""An agent without mounts, which minds no other."""
BROKEN = ("ExecStart=", "ExecStart=/bin/false")
FAILURES = 30


@pytest.fixture(scope="module", autouse=True)
def patient(cluster: Cluster) -> Iterator[Host]:
    """A host of its own for what takes half a minute; the last tests look at what became of it."""
    host = cluster.add_host()
    host.install_agent()
    host.write("/etc/none.yaml", "mounts: {}\n")
    install_copy(host, "frozen", *AGENT_ALONE)
    install_copy(host, "spared", *AGENT_ALONE)
    install_copy(host, "broken", *BROKEN)
    install_copy(host, "given-up", *BROKEN, "[Unit]", "StartLimitIntervalSec=1min")
    host.systemctl("start", "frozen", "spared")
    host.systemctl("start", "--no-block", "broken", "given-up")
    host.systemctl("kill", "--signal=STOP", "--kill-whom=main", "frozen")
    yield host
    cluster.remove(host)


@pytest.fixture
def hung(shared_host: Host, shared_volume: Volume) -> Iterator[Host]:
    """A host with two mounts whose client is frozen, one of them below /usr, and a dead one."""
    host, source = shared_host, f"node1:/{shared_volume.name}"
    paths = ["/mnt/hung", "/usr/local/hung", "/usr/local/dead"]
    for path in paths:
        host.mount(source, path)
    faults.client_killed(host, "/usr/local/dead").begin()
    with faults.client_frozen(host, paths[0]), faults.client_frozen(host, paths[1]):
        yield host
    for path in paths:
        host.unmount(path, lazy=True)
    host.run(["rm", "-r", *paths])
    until(lambda: not host.processes("glusterfs"), 30, "the clients have ended")


@shows("KillMode=process")
def test_a_stop_beside_hung_mounts_is_quick(hung: Host) -> None:
    """Or it would fail, at TimeoutStopSec=."""
    _start_stuck(hung)
    hung.systemctl("stop", "stuck")
    assert properties(hung, "ActiveState", "Result", unit="stuck") == ["inactive", "success"]
    assert hung.entry("/mnt/hung") is not None


def test_a_killed_agent_is_back_beside_hung_and_dead_mounts(hung: Host) -> None:
    before = _start_stuck(hung)
    hung.systemctl("kill", "--kill-whom=main", "--signal=KILL", "stuck")
    until(lambda: properties(hung, "MainPID", unit="stuck")[0] not in ("0", before), 30, "another")
    until(lambda: properties(hung, "ActiveState", unit="stuck") == ["active"], 30, "it is ready")
    hung.systemctl("stop", "stuck")


def _start_stuck(host: Host) -> str:
    """The service with four workers in the hung mount; its main process."""
    install_copy(host, "stuck", "ExecStart=", f"ExecStart={MISFIT} stuck /mnt/hung")
    host.systemctl("start", "stuck")

    def waiting() -> bool:
        found = [p.pid for p in host.processes() if p.comm.startswith("python")]
        return "request_wait_answer" in [Path(f"/proc/{pid}/wchan").read_text() for pid in found]

    until(waiting, 30, "the workers hang")
    return properties(host, "MainPID", unit="stuck")[0]


@shows("TimeoutStopSec=3s")
def test_a_service_deaf_to_its_stop_is_killed(shared_host: Host) -> None:
    install_copy(shared_host, "deaf", "ExecStart=", f"ExecStart={MISFIT} deaf")
    shared_host.systemctl("start", "deaf")
    begun = time.monotonic()
    shared_host.systemctl("stop", "deaf")
    assert 3 <= time.monotonic() - begun < 20
    assert properties(shared_host, "Result", unit="deaf") == ["timeout"]


@shows("TimeoutStartSec=90s")
def test_a_service_that_never_gets_ready_is_started_anew(shared_host: Host) -> None:
    """After a shorter time here; what it is by itself must be plenty for a first round."""
    install_copy(shared_host, "mute", "ExecStart=", f"ExecStart={MISFIT} mute")
    assert properties(shared_host, "TimeoutStartUSec", unit="mute") == ["1min 30s"]
    assert 2 * FIRST_ROUND < 90
    install_copy(
        shared_host, "mute", "ExecStart=", f"ExecStart={MISFIT} mute", "TimeoutStartSec=1s"
    )
    shared_host.systemctl("start", "--no-block", "mute")
    until(lambda: restarts(shared_host, "mute") > 0, 60, "systemd gives it another try")
    shared_host.systemctl("stop", "mute")


@shows("After=network.target", "WantedBy=multi-user.target")
def test_a_boot_without_network_or_names(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    """network-online.target comes after the agent here: were it waited for, none would ever."""
    host = bare_agent.host
    bare_agent.configure(config(shared_volume.name, servers="[nobody.invalid, node1]"))
    bare_agent.start()
    host.systemctl("enable", UNIT)
    host.write(f"{UNITS}/online.service", ONLINE)
    host.systemctl("enable", "online")
    host.systemctl("start", "online")
    host.shut_down()
    run(["ip", "-n", host.netns, "link", "set", "eth0", "down"])
    host.boot_again()
    assert properties(host, "ActiveState") == ["active"]
    assert bare_agent.verdict() == "absent"
    before = ["journalctl", "--boot=-1", "--output=cat", "_PID=1", "--grep=^Stopped"]
    stopped = host.run(before).stdout
    assert 0 < stopped.find("Keeps the GlusterFS mounts") < stopped.find("target network.target")
    run(["ip", "-n", host.netns, "link", "set", "eth0", "up"])
    bare_agent.cursor = ""
    bare_agent.await_verdict("healthy", "degraded", timeout=120)
    host.systemctl("disable", UNIT, "online")


ONLINE = f"""[Unit]
Wants=network.target
After=network.target
Before=network-online.target
[Service]
Type=oneshot
TimeoutStartSec=60s
ExecStart=sh -c 'until systemctl is-active {UNIT}; do sleep 0.1; done'
[Install]
WantedBy=network-online.target multi-user.target
"""


@shows("StartLimitIntervalSec=0")
def test_failures_without_end_are_no_end(patient: Host) -> None:
    """A unit with a limit is given up; this one is tried until it works."""
    until(lambda: restarts(patient, "broken") >= FAILURES, 120, f"{FAILURES} failures")
    assert properties(patient, "ActiveState", unit="given-up") == ["failed"]
    install_copy(patient, "broken", *AGENT_ALONE)
    until(lambda: properties(patient, "ActiveState", unit="broken") == ["active"], 60, "it runs")


@shows("WatchdogSec=30s", "WatchdogSignal=SIGKILL")
def test_a_frozen_agent_is_replaced_and_a_living_one_is_not(patient: Host) -> None:
    until(lambda: restarts(patient, "frozen") == 1, 90, "the frozen agent is replaced")
    until(
        lambda: properties(patient, "ActiveState", unit="frozen") == ["active"], 60, "it is ready"
    )
    said = [str(entry.get("MESSAGE")) for entry in patient.journal("frozen.service")]
    assert any("Watchdog timeout (limit 30s)!" in text for text in said)
    assert any("code=killed, status=9/KILL" in text for text in said)
    assert properties(patient, "ActiveState", "NRestarts", unit="spared") == ["active", "0"]

"""The life of the shipped unit under real systemd: start, reload, faults, bad boots, stop."""

import re
import signal
import time
from collections.abc import Iterator

import pytest

from agent.daemon.loop import FIRST_ROUND
from tests.lab import cgroups, faults
from tests.lab.cell import Process
from tests.lab.cluster import Cluster
from tests.lab.host import UNITS, Host
from tests.lab.shell import run, until
from tests.lab.volume import Volume
from tests.system import misfit
from tests.system.agents import UNIT, UnitAgent, config
from tests.system.unitfile import install_copy, shows

EXPOSURE = 3.1
"""What `systemd-analyze security` says at most; docs/hardening.md tells what keeps it there."""
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
def mounted(bare_agent: UnitAgent, shared_volume: Volume) -> UnitAgent:
    """An agent with a healthy mount."""
    bare_agent.configure(config(shared_volume.name))
    bare_agent.start()
    bare_agent.await_verdict("healthy")
    return bare_agent


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


def properties(host: Host, *names: str, unit: str = UNIT) -> list[str]:
    shown = host.unit(unit, *names)
    return [shown[name] for name in names]


def restarts(host: Host, unit: str = UNIT) -> int:
    return int(*properties(host, "NRestarts", unit=unit))


@shows(
    "Description=Keeps the GlusterFS mounts of this host alive",
    "Documentation=man:gluster-ml-agent(8)",
)
def test_the_unit_is_well_formed_and_says_what_it_is(bare_agent: UnitAgent) -> None:
    host = bare_agent.host
    (file,) = properties(host, "FragmentPath")
    said = host.run(["systemd-analyze", "verify", "--man=no", file])
    assert said.stdout + said.stderr == ""
    description, documentation = properties(host, "Description", "Documentation")
    assert description == "Keeps the GlusterFS mounts of this host alive"
    assert "man:gluster-ml-agent(8)" in documentation


def test_the_unit_is_not_exposed(bare_agent: UnitAgent) -> None:
    said = bare_agent.host.run(["systemd-analyze", "security", "--no-pager", UNIT]).stdout
    (figure,) = re.findall(r"Overall exposure level for \S+: ([0-9.]+)", said)
    assert float(figure) <= EXPOSURE, said


@shows("Type=notify", "ExecStart=/usr/bin/gluster-ml-agent run")
def test_a_start_returns_when_the_mount_is_there(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    host = bare_agent.host
    bare_agent.configure(config(shared_volume.name))
    bare_agent.start()
    assert host.entry("/mnt/a") is not None
    assert properties(host, "ActiveState", "StatusText") == ["active", "1 mount healthy"]


@shows("ExecReload=/bin/sh -c 'kill -HUP $MAINPID'")
def test_a_reload_is_told_and_the_process_stays(mounted: UnitAgent) -> None:
    host, pid = mounted.host, mounted.pid()
    client = host.glusterfs("/mnt/a")
    host.systemctl("log-level", "debug")
    try:
        host.systemctl("reload", UNIT)
        until(lambda: len(_notifications(mounted)) >= 2, 30, "the agent has told of its reload")
    finally:
        host.systemctl("log-level", "info")
    reloading, ready = _notifications(mounted)[:2]
    assert re.fullmatch(r"RELOADING=1, MONOTONIC_USEC=\d+", reloading)
    assert ready.startswith("READY=1, STATUS=")
    assert properties(host, "ActiveState", "MainPID") == ["active", str(pid)]
    assert host.glusterfs("/mnt/a") == client


def _notifications(agent: UnitAgent) -> list[str]:
    """What the agent told PID 1 of a reload, from PID 1's own log."""
    said = [str(entry.get("MESSAGE")) for entry in agent.host.journal(after=agent.cursor)]
    told = [
        re.search(r"notification message from PID \d+(?: \(|: )((?:RELO|READY).*)", s) for s in said
    ]
    return [match[1].rstrip(")") for match in told if match]


@shows(
    "RuntimeDirectory=gluster-ml",
    "RuntimeDirectoryPreserve=yes",
    "StateDirectory=gluster-ml",
    "UMask=0077",
)
def test_what_it_writes_is_for_those_it_is_for_and_outlives_it(mounted: UnitAgent) -> None:
    host = mounted.host
    host.run(["setpriv", "--reuid=1234", "--clear-groups", "cat", "/run/gluster-ml/status.json"])
    bare = "umount --lazy /mnt/a && stat --format=%a /mnt/a"
    assert host.run(["unshare", "--mount", "sh", "-c", bare]).stdout == "755\n"
    assert "Umask:\t0077\n" in host.read(f"/proc/{mounted.pid()}/status")
    agent_id = host.read("/var/lib/gluster-ml/agent-id")
    host.write("/run/gluster-ml/environment", "HF_HUB_CACHE=/mnt/a/cache\n")
    mounted.stop()
    reader = ["systemd-run", "--wait", "--pipe", "--quiet", "--collect"]
    file = "--property=EnvironmentFile=/run/gluster-ml/environment"
    assert "HF_HUB_CACHE=/mnt/a/cache\n" in host.run([*reader, file, "env"]).stdout
    mounted.start()
    assert host.read("/var/lib/gluster-ml/agent-id") == agent_id


def test_a_log_directory_that_cannot_be_made_stops_no_agent(bare_agent: UnitAgent) -> None:
    """But LogsDirectory= would."""
    host = bare_agent.host
    bare_agent.configure("mounts: {}\n")
    host.run(["mount", "--bind", "-o", "ro", "/var/log", "/var/log"])
    try:
        bare_agent.start()
        bare_agent.drop_in("[Service]\nLogsDirectory=gluster-ml\nRestart=no\n")
        assert "exit 1" in _failure(host)
    finally:
        host.run(["umount", "/var/log"])


@shows("Restart=always", "RestartSec=1s")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_agent_that_ended_is_started_anew(mounted: UnitAgent, number: signal.Signals) -> None:
    """SIGTERM from anybody but PID 1 is an end like another, and a clean one."""
    client, before = mounted.host.glusterfs("/mnt/a"), mounted.pid()
    killed = time.monotonic()
    mounted.kill(number)
    until(lambda: mounted.pid() not in (0, before), 60, "systemd starts another agent")
    assert time.monotonic() - killed >= 1
    until(lambda: properties(mounted.host, "ActiveState") == ["active"], 60, "it is ready")
    assert restarts(mounted.host) == 1
    assert mounted.host.glusterfs("/mnt/a") == client


@shows("OOMPolicy=continue")
def test_a_worker_that_runs_out_of_memory_is_replaced(mounted: UnitAgent) -> None:
    host, pid = mounted.host, mounted.pid()
    (worker,) = _workers(mounted)
    name = f"{host.netns}-oom"
    cgroups.starve(cgroups.memory_group(name), worker.pid)
    try:
        until(lambda: worker not in host.processes(), 60, "the kernel has taken the worker")
        until(lambda: _workers(mounted), 60, "there is another")
    finally:
        cgroups.remove(name)
    mounted.await_verdict("healthy")
    assert properties(host, "MainPID", "OOMPolicy", "NRestarts") == [str(pid), "continue", "0"]


def _workers(agent: UnitAgent) -> list[Process]:
    """The agent's children."""
    (main,) = (p.pid for p in agent.host.processes() if p.inner == agent.pid())
    children = [int(pid) for pid in _read(f"/proc/{main}/task/{main}/children").split()]
    return [process for process in agent.host.processes() if process.pid in children]


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()


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
        return [_read(f"/proc/{pid}/wchan") for pid in found].count("request_wait_answer") > 0

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


def _failure(host: Host) -> str:
    done = host.run(["systemctl", "restart", UNIT], check=False)
    return f"exit {done.returncode}"

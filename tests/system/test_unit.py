"""The life of the shipped unit under real systemd: start, reload, restart, what it leaves."""

import re
import signal
import time
from pathlib import Path

import pytest

from tests.lab import cgroups
from tests.lab.cell import Process
from tests.lab.host import Host
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import UNIT, UnitAgent, config
from tests.system.unitfile import properties, restarts, shows

EXPOSURE = 3.1
"""What `systemd-analyze security` says at most; docs/hardening.md tells what keeps it there."""


@pytest.fixture
def mounted(bare_agent: UnitAgent, shared_volume: Volume) -> UnitAgent:
    """An agent with a healthy mount."""
    bare_agent.configure(config(shared_volume.name))
    bare_agent.start()
    bare_agent.await_verdict("healthy")
    return bare_agent


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
    children = [int(pid) for pid in Path(f"/proc/{main}/task/{main}/children").read_text().split()]
    return [process for process in agent.host.processes() if process.pid in children]


def _failure(host: Host) -> str:
    done = host.run(["systemctl", "restart", UNIT], check=False)
    return f"exit {done.returncode}"

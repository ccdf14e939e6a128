"""The agent restarts, is killed or stopped: the mounts and the jobs on them do not notice."""

import signal
from collections.abc import Callable, Iterator

import pytest

from tests.lab.host import Host
from tests.lab.jobs import RunningJob
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import UNIT, UnitAgent, config
from tests.system.training import training


def restart(agent: UnitAgent) -> None:
    agent.host.systemctl("restart", UNIT)


def kill(agent: UnitAgent) -> None:
    agent.kill(signal.SIGKILL)


def freeze(agent: UnitAgent) -> None:
    agent.kill(signal.SIGSTOP)


def reexec_and_kill(agent: UnitAgent) -> None:
    agent.host.systemctl("daemon-reexec")
    agent.kill(signal.SIGKILL)


def restart_bus_and_agent(agent: UnitAgent) -> None:
    agent.host.systemctl("restart", "dbus.service")
    agent.host.systemctl("restart", UNIT)


@pytest.fixture
def running(bare_agent: UnitAgent, shared_volume: Volume) -> Iterator[RunningJob]:
    """A job on a healthy mount of an agent with a short watchdog; no write of it may fail."""
    bare_agent.drop_in("[Service]\nWatchdogSec=2s\n")
    bare_agent.begin(config(shared_volume.name))
    with training(bare_agent.machine) as job:
        yield job


@pytest.mark.parametrize(
    "harm",
    [restart, kill, freeze, reexec_and_kill, restart_bus_and_agent],
    ids=lambda f: f.__name__,
)
def test_the_mount_is_adopted(
    bare_agent: UnitAgent, running: RunningJob, harm: Callable[[UnitAgent], None]
) -> None:
    host = bare_agent.host
    client, minor = host.glusterfs("/mnt/a"), host.connection("/mnt/a")
    before = bare_agent.pid()
    harm(bare_agent)
    until(lambda: bare_agent.pid() not in (0, before), 60, "systemd starts another agent")
    bare_agent.await_log("started", count=2)
    seen = bare_agent.await_verdict("healthy")
    running.await_records(20)
    assert host.glusterfs("/mnt/a") == client
    assert host.connection("/mnt/a") == minor
    assert seen["client_pid"] == client.inner
    assert not seen["adopted"]
    assert len(bare_agent.entries("mounted")) == 1
    assert bare_agent.verdicts() == ["healthy", "healthy"]


def test_what_the_agent_asks_of_systemd_outlives_a_reexec_and_a_new_bus(
    bare_agent: UnitAgent, running: RunningJob
) -> None:
    for daemon in ("reexec", "dbus"):
        if daemon == "reexec":
            bare_agent.host.systemctl("daemon-reexec")
        else:
            bare_agent.host.systemctl("restart", "dbus.service")
        recoveries = len(bare_agent.entries("recovered"))
        bare_agent.machine.unmount("/mnt/a", lazy=True)
        bare_agent.await_log("recovered", count=recoveries + 1)
        bare_agent.await_verdict("healthy")
    assert bare_agent.host.unit(UNIT, "NRestarts") == {"NRestarts": "0"}


def test_the_write_probe_really_writes_in_the_sandbox(
    bare_agent: UnitAgent, running: RunningJob, shared_host: Host
) -> None:
    restart(bare_agent)
    bare_agent.await_verdict("healthy")
    agent_id = shared_host.read("/var/lib/gluster-ml/agent-id").strip()
    probes = "/mnt/a/.gluster-ml/probes"
    changed = ["stat", "--format=%z", probes]
    # The probe creates and removes its file: its directory's change time tells.
    before = shared_host.run(changed).stdout
    shared_host.systemctl("restart", UNIT)
    until(lambda: shared_host.run(changed).stdout != before, 30, f"{agent_id} has written")
    assert bare_agent.mount()["findings"] == []
    assert bare_agent.verdicts() == ["healthy"] * len(bare_agent.entries("started"))

"""Where the clients log, and the package's rule for logrotate on the logs of clients that live."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import faults, subject
from tests.lab.client import Mounts
from tests.lab.host import UNITS, Host
from tests.lab.shell import until
from tests.lab.subject import REPOSITORY
from tests.lab.volume import Volume
from tests.system.agents import Agent, QuickAgent, UnitAgent, config
from tests.system.training import REPLACED, training

RULE = REPOSITORY / "packaging/deb/debian/gluster-ml-agent.logrotate"
RULE_PATH = "/etc/logrotate.d/gluster-ml-agent"
SERVICE = "gluster-ml-agent-logrotate.service"
TIMER = "gluster-ml-agent-logrotate.timer"
SIZE = 20 << 20
"""Bytes from which on the rule rotates."""
DIRECTORY = "/var/log/gluster-ml"
LOG = f"{DIRECTORY}/a.log"


def renamed(text: str, name: str) -> str:
    return text.replace("\n  a:\n", f"\n  {name}:\n")


def rotate(machine: Mounts, *arguments: str) -> str:
    """Run logrotate as its timer does; what it says."""
    machine.write(RULE_PATH, RULE.read_text())
    argv = ["logrotate", *arguments, "--state", "/run/logrotate.status", RULE_PATH]
    done = machine.run(argv, timeout=120)
    return done.stdout + done.stderr


def install_rotation(host: Host) -> None:
    """The rule and the timer of the checkout; a package has brought its own."""
    if subject.package() is None:
        host.write(RULE_PATH, RULE.read_text())
        for name in (SERVICE, TIMER):
            host.write(f"{UNITS}/{name}", (REPOSITORY / "systemd" / name).read_text())
        host.systemctl("daemon-reload")


def test_a_log_a_mount(agent: Agent, volume: Volume) -> None:
    agent.configure(config(volume.name))
    agent.start()
    assert agent.await_verdict("healthy")["client_log"] == LOG
    found = agent.machine.run(["stat", "-c", "%a %U", DIRECTORY, LOG]).stdout.split("\n")
    assert found[:2] == ["755 root", "600 root"]
    assert "Started running" in agent.machine.read(LOG)
    assert not agent.machine.path("/var/log/glusterfs/mnt-a.log").exists()


def test_a_renamed_mount_logs_on_until_it_is_mounted_anew(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    agent, text = bare_agent, config(shared_volume.name)
    agent.configure(text)
    agent.start()
    client = agent.await_verdict("healthy")["client_pid"]
    with training(agent.machine):
        agent.configure(renamed(text, "b"))
        agent.await_log("config-accepted", count=2)
        seen = agent.await_verdict("healthy", name="b")
        assert (seen["client_pid"], seen["client_log"]) == (client, LOG)
        agent.stop()
        agent.start()
        seen = agent.await_verdict("healthy", name="b")
        assert (seen["client_pid"], seen["client_log"]) == (client, LOG)
        assert agent.verdicts("a") == ["healthy"]
        assert "stale-options" not in agent.verdicts("b")
    faults.client_killed(agent.machine, "/mnt/a").begin()
    agent.await_log("recovered")
    seen = agent.await_verdict("healthy", name="b")
    assert seen["client_pid"] != client
    assert seen["client_log"] == f"{DIRECTORY}/b.log"
    assert "Started running" in agent.machine.read(f"{DIRECTORY}/b.log")


@pytest.mark.parametrize("trouble", ["no directory", "read-only"])
def test_no_log_keeps_a_mount_from_being_made(
    quick_agent: QuickAgent, volume: Volume, trouble: str
) -> None:
    machine = quick_agent.machine
    if trouble == "no directory":
        machine.write(DIRECTORY, "something else")
        there = "/var/log/glusterfs/mnt-a.log"
    else:
        # Nothing can be written there, not even by a client that nobody told where to log.
        machine.run(["mount", "-t", "tmpfs", "-o", "ro", "none", "/var/log"])
        there = "/dev/null"
    quick_agent.configure(config(volume.name))
    quick_agent.start()
    assert quick_agent.await_verdict("healthy")["client_log"] == there
    (told,) = quick_agent.entries("finding")
    assert f"logs to {there}" in told.message
    with training(machine, reopen=True, may_fail=REPLACED) as job:
        faults.client_killed(machine, "/mnt/a").begin()
        quick_agent.await_log("recovered")
        job.await_records(5)
    assert len(quick_agent.entries("finding")) == 1


@pytest.fixture
def talkative(quick_agent: QuickAgent, volume: Volume) -> Iterator[QuickAgent]:
    """An agent with a mount whose client logs each operation; a job writes on it."""
    quick_agent.configure(config(volume.name, options="{log-level: TRACE}"))
    quick_agent.start()
    quick_agent.await_verdict("healthy")
    with training(quick_agent.machine):
        yield quick_agent


def test_a_log_that_has_grown_is_rotated_under_its_client(talkative: QuickAgent) -> None:
    machine = talkative.machine
    log = machine.path(LOG)
    client, minor = machine.glusterfs("/mnt/a"), machine.connection("/mnt/a")
    listing = ["find", "/mnt/a", "-ls"]
    until(lambda: machine.run(listing) and log.stat().st_size > SIZE, 240, "the log is large")
    assert rotate(machine) == ""
    found = log.stat()
    assert found.st_size < SIZE
    until(lambda: machine.run(listing) and log.stat().st_size > found.st_size, 60, "it logs on")
    # No hole in front of what came since, as a client leaves that doesn't append.
    assert log.read_bytes()[:1] == b"["
    assert log.stat().st_blocks * 512 >= log.stat().st_size
    with gzip.open(machine.path(f"{LOG}.1.gz"), "rt", errors="replace") as old:
        assert "Started running" in old.read(1 << 16)
    assert machine.glusterfs("/mnt/a") == client
    assert machine.connection("/mnt/a") == minor
    assert talkative.verdicts() == ["healthy"]


def test_the_timers_service_keeps_the_logs_small(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    host = bare_agent.host
    bare_agent.configure(config(shared_volume.name, options="{log-level: TRACE}"))
    bare_agent.start()
    bare_agent.await_verdict("healthy")
    log, client = host.path(LOG), host.glusterfs("/mnt/a")
    install_rotation(host)
    host.run(["mv", RULE_PATH, "/run/rule"])
    host.systemctl("start", SERVICE)  # an administrator may have removed the rule
    host.run(["mv", "/run/rule", RULE_PATH])
    until(lambda: host.run(["ls", "/mnt/a"]) and log.stat().st_size > 1 << 20, 240, "it logs")
    # The rest is not the client's, but needs less time.
    host.run(["sh", "-c", f"yes | head -c {SIZE} >> {LOG}"])
    quiet = host.cursor()
    # A hung mount elsewhere holds up neither PID 1 nor the rotation.
    with training(host), faults.client_frozen(host, "/mnt/a"):
        host.systemctl("start", SERVICE, timeout=30)
        assert log.stat().st_size < 1 << 20
    assert host.unit(SERVICE, "Result")["Result"] == "success"
    said = [entry for entry in host.journal(after=quiet) if "otate" in str(entry.get("MESSAGE"))]
    assert said == []
    assert sorted(path.name for path in log.parent.iterdir()) == ["a.log", "a.log.1.gz"]
    size = log.stat().st_size
    until(lambda: host.run(["ls", "/mnt/a"]) and log.stat().st_size > size, 60, "it logs on")
    assert host.glusterfs("/mnt/a") == client


def test_the_timer_is_well_formed(shared_host: Host) -> None:
    shared_host.install_agent()
    install_rotation(shared_host)
    said = shared_host.run(["systemd-analyze", "verify", "--man=no", SERVICE, TIMER])
    assert said.stdout + said.stderr == ""
    shared_host.systemctl("enable", "--now", TIMER)
    assert shared_host.unit(TIMER, "Triggers", "NextElapseUSecRealtime")["Triggers"] == SERVICE
    assert shared_host.unit(TIMER, "NextElapseUSecRealtime")["NextElapseUSecRealtime"]
    shared_host.systemctl("disable", "--now", TIMER)


def test_the_logs_do_not_grow_without_bound(talkative: QuickAgent) -> None:
    machine = talkative.machine
    for _ in range(6):
        assert rotate(machine, "--force") == ""
        size = machine.path(LOG).stat().st_size
        until(lambda size=size: machine.path(LOG).stat().st_size > size, 60, "it logs on")  # type: ignore[misc]
    names = sorted(path.name for path in machine.path(DIRECTORY).iterdir())
    assert names == ["a.log", *(f"a.log.{number}.gz" for number in range(1, 5))]


def test_nothing_to_rotate_is_no_error(quick_agent: QuickAgent) -> None:
    machine = quick_agent.machine
    assert rotate(machine) == ""
    machine.write(LOG, "")
    machine.write(f"{DIRECTORY}/small.log", "one line\n")
    assert rotate(machine) == ""
    names = sorted(path.name for path in Path(machine.path(DIRECTORY)).iterdir())
    assert names == ["a.log", "small.log"]

"""Removal and purge: mounts in use and their jobs go on, and nothing of the package is left."""

import re
from pathlib import Path

from tests.lab import faults
from tests.lab.host import Host
from tests.lab.jobs import RunningJob
from tests.lab.volume import Volume
from tests.package import paths
from tests.package.apt import NAME, apt, conf, version
from tests.package.deb import field
from tests.system.agents import CONFIG, UNIT, UnitAgent, config

STATE = ("/var/lib/gluster-ml", "/run/gluster-ml", "/var/log/gluster-ml")
NOTHING_LEFT = (*STATE, "/etc/gluster-ml", "/usr/lib/gluster-ml-agent")


def test_purge_with_a_mount_in_use(
    machine: Host, agent: UnitAgent, store: Volume, jobs: list[RunningJob]
) -> None:
    agent.configure(config(store.name))
    agent.await_verdict("healthy")
    client, minor = machine.glusterfs("/mnt/a"), machine.connection("/mnt/a")
    jobs.append(RunningJob(machine, "/mnt/a"))
    apt(machine, "purge", NAME)
    jobs[0].await_records(20)
    assert (machine.glusterfs("/mnt/a"), machine.connection("/mnt/a")) == (client, minor)
    assert machine.unit(UNIT, "LoadState", "ActiveState") == {
        "LoadState": "not-found",
        "ActiveState": "inactive",
    }
    assert machine.systemctl("list-unit-files", "--no-legend", f"{NAME}*", check=False) == ""
    assert [path for path in NOTHING_LEFT if machine.path(path).exists()] == []
    assert [p for p in machine.processes() if p.comm.startswith("gluster-ml")] == []
    report = jobs[0].stop()
    assert (report.missing, report.failures) == (0, [])
    machine.unmount("/mnt/a")
    machine.run(["touch", "/mnt/a/written-below"])  # the guard is gone, though it was covered
    machine.run(["rm", "/mnt/a/written-below"])


def test_a_hung_mount_holds_up_neither_reinstallation_nor_purge(
    machine: Host, agent: UnitAgent, store: Volume
) -> None:
    agent.configure(config(store.name))
    agent.await_verdict("healthy")
    client = machine.glusterfs("/mnt/a")
    with faults.client_frozen(machine, "/mnt/a"):
        agent.await_verdict("slow")
        before = agent.pid()
        apt(machine, "install", "--reinstall", NAME)
        assert agent.pid() not in (0, before)
        agent.await_verdict("slow")
        apt(machine, "purge", NAME)
        assert [path for path in NOTHING_LEFT if machine.path(path).exists()] == []
    machine.await_io("/mnt/a")
    assert machine.glusterfs("/mnt/a") == client


def test_removed_and_installed_again_under_a_job(
    machine: Host, agent: UnitAgent, store: Volume, jobs: list[RunningJob]
) -> None:
    edited = config(store.name)
    agent.configure(edited)
    before = agent.await_verdict("healthy")
    jobs.append(RunningJob(machine, "/mnt/a"))
    apt(machine, "remove", NAME)
    assert machine.unit(UNIT, "ActiveState")["ActiveState"] == "inactive"
    assert machine.run(["systemctl", "is-system-running"]).stdout == "running\n"
    assert machine.read(CONFIG) == edited
    apt(machine, "install", NAME)
    seen = agent.await_verdict("healthy")
    assert (seen["client_pid"], seen["adopted"]) == (before["client_pid"], False)
    jobs[0].await_records(10)
    report = jobs[0].stop()
    assert (report.missing, report.failures) == (0, [])
    assert len(agent.entries("mounted")) == 1


def test_a_file_that_was_there_before_the_package(machine: Host, store: Volume) -> None:
    """As configuration management lays it. dpkg asks, and gives up where nobody answers."""
    if version(machine):
        apt(machine, "purge", NAME)
    laid = config(store.name)
    machine.write(CONFIG, laid)
    done = apt(machine, "install", NAME, check=False)
    assert done.returncode != 0
    assert "end of file on stdin at conffile prompt" in done.stdout
    apt(machine, "install", *conf("confdef", "confold"), NAME)
    assert machine.read(CONFIG) == laid
    agent = UnitAgent(machine)
    agent.await_verdict("healthy")
    apt(machine, "purge", NAME)
    machine.release()


def test_installed_and_purged_where_no_systemd_runs(machine: Host) -> None:
    """As those do who build images of hosts."""
    if version(machine):
        apt(machine, "purge", NAME)
    without = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh"]
    apt(machine, "install", NAME, around=without)
    assert machine.systemctl("is-enabled", UNIT) == "enabled\n"
    assert machine.unit(UNIT, "ActiveState")["ActiveState"] == "inactive"
    apt(machine, "purge", NAME, around=without)
    assert [path for path in NOTHING_LEFT if machine.path(path).exists()] == []
    machine.systemctl("daemon-reload")


def test_nothing_is_left_after_purge(virgin: Host, package: Path, store: Volume) -> None:
    """On a host that had what the package depends on, and never the package."""
    apt(virgin, "install", *needed(package))
    before = paths.all_of(virgin)
    for _ in range(2):
        apt(virgin, "install", NAME)
        agent = UnitAgent(virgin)
        agent.configure(config(store.name))
        agent.await_verdict("healthy")
        meanwhile = "\n".join(paths.changes(before, paths.all_of(virgin)))
        for path in (CONFIG, "/var/lib/systemd/catalog/database", *STATE):
            assert path in meanwhile
        apt(virgin, "purge", NAME)
        virgin.unmount("/mnt/a")
        virgin.run(["rmdir", "/mnt/a"])  # which the guard would refuse
        assert paths.changes(before, paths.all_of(virgin)) == []


def needed(package: Path) -> list[str]:
    """The names of what it depends on and recommends."""
    fields = [field(package, "Depends"), field(package, "Recommends")]
    found = re.findall(r"(?:^|,)\s*([a-z0-9.+-]+)", ",".join(fields))
    return sorted(set(found))

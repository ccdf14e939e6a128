"""The package is reinstalled, upgraded, restarted and killed under a job that writes and syncs."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.lab.host import Host
from tests.lab.jobs import RunningJob
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.package.apt import NAME, apt, conf, version
from tests.package.shop import OTHER_CONFFILE, SAME_CONFFILE, Shop
from tests.system.agents import CONFIG, UNIT, UnitAgent, config


@contextmanager
def undisturbed(machine: Host, path: str, jobs: list[RunningJob]) -> Iterator[None]:
    """A job writes there all the while: not one write fails, and its client stays the same."""
    client, minor = machine.glusterfs(path), machine.connection(path)
    job = RunningJob(machine, path)
    jobs.append(job)
    yield
    job.await_records(20)
    assert (machine.glusterfs(path), machine.connection(path)) == (client, minor)
    report = job.stop()
    assert (report.missing, report.failures) == (0, [])


@pytest.fixture
def later(machine: Host, shop: Shop) -> Iterator[None]:
    """Two higher versions are there to be had."""
    versions = (SAME_CONFFILE, OTHER_CONFFILE)
    for name in versions:
        shop.known_to(machine, name)
    apt(machine, "update")
    yield
    for name in versions:
        shop.forgotten_by(machine, name)
    apt(machine, "update")


def reinstall(agent: UnitAgent) -> None:
    apt(agent.host, "install", "--reinstall", NAME)


def restart(agent: UnitAgent) -> None:
    agent.host.systemctl("restart", UNIT)


def kill(agent: UnitAgent) -> None:
    agent.kill(signal.SIGKILL)


def edited_and_healthy(agent: UnitAgent, store: Volume) -> str:
    """With a mount in the file; the file's text."""
    text = config(store.name)
    agent.configure(text)
    agent.await_verdict("healthy")
    return text


@pytest.mark.parametrize("harm", [restart, kill, reinstall], ids=lambda f: f.__name__)
def test_mount_and_job_do_not_notice(
    machine: Host,
    agent: UnitAgent,
    store: Volume,
    jobs: list[RunningJob],
    harm: Callable[[UnitAgent], None],
) -> None:
    edited = edited_and_healthy(agent, store)
    before = agent.pid()
    with undisturbed(machine, "/mnt/a", jobs):
        harm(agent)
        until(lambda: agent.pid() not in (0, before), 60, "another agent runs")
        agent.await_verdict("healthy")
    assert len(agent.entries("mounted")) == 1
    assert machine.read(CONFIG) == edited
    assert machine.unit(UNIT, "NRestarts")["NRestarts"] == ("1" if harm is kill else "0")


@pytest.mark.parametrize("to", [SAME_CONFFILE, OTHER_CONFFILE])
def test_an_upgrade_keeps_the_edited_file_and_nobody_notices(
    machine: Host, agent: UnitAgent, later: None, store: Volume, jobs: list[RunningJob], to: str
) -> None:
    """What is said of conffiles is what Ansible and unattended-upgrades say."""
    edited = edited_and_healthy(agent, store)
    before = agent.pid()
    with undisturbed(machine, "/mnt/a", jobs):
        apt(machine, "install", *conf("confdef", "confold"), f"{NAME}={to}")
        await_version(agent, to)
        agent.await_verdict("healthy")
    assert agent.pid() != before
    assert len(agent.entries("mounted")) == 1
    assert agent.status()["config"]["state"] == "valid"
    assert machine.read(CONFIG) == edited


def await_version(agent: UnitAgent, version: str) -> None:
    until(lambda: agent.status().get("version") == version, 60, f"{version} runs")


def test_an_upgrade_that_asks_with_nobody_there_leaves_all_at_work(
    machine: Host, agent: UnitAgent, later: None, store: Volume, jobs: list[RunningJob]
) -> None:
    """dpkg asks about an edited conffile that the package changes too, and gives up unanswered."""
    edited = edited_and_healthy(agent, store)
    with undisturbed(machine, "/mnt/a", jobs):
        done = apt(machine, "install", f"{NAME}={OTHER_CONFFILE}", check=False)
        assert done.returncode != 0
        assert "end of file on stdin at conffile prompt" in done.stdout
        agent.await_verdict("healthy")
        machine.run(["dpkg", "--force-confold", "--configure", "--pending"], timeout=120)
        await_version(agent, OTHER_CONFFILE)
        agent.await_verdict("healthy")
    assert machine.read(CONFIG) == edited


def test_an_upgrade_brings_its_file_where_nobody_edited_it(
    machine: Host, agent: UnitAgent, later: None, store: Volume, jobs: list[RunningJob]
) -> None:
    """The job works on a mount of the administrator's: the shipped file has none."""
    machine.mount(f"node1:/{store.name}", "/mnt/by-hand")
    shipped = machine.read(CONFIG)
    with undisturbed(machine, "/mnt/by-hand", jobs):
        apt(machine, "install", f"{NAME}={OTHER_CONFFILE}")
        await_version(agent, OTHER_CONFFILE)
    assert machine.read(CONFIG) != shipped
    assert agent.status()["config"]["state"] == "valid"
    assert version(machine) == OTHER_CONFFILE

"""A training job that goes on through a test's fault, and must lose nothing."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from subprocess import TimeoutExpired

from tests.lab.cell import Inside, Process
from tests.lab.client import Mounts
from tests.lab.jobs import RunningJob
from tests.lab.shell import until
from tests.system.agents import Agent

REPLACED = frozenset({"ENOTCONN", "ECONNABORTED", "EPERM"})
"""What a job may see while its client is replaced: a dead mount, then a guarded directory."""
ACTIONS = {"aborted", "detached", "unmounted", "recovered", "mount-attempt-failed"}


@contextmanager
def training(
    machine: Mounts,
    *,
    path: str = "/mnt/a",
    reopen: bool = False,
    may_fail: Collection[str] = (),
) -> Iterator[RunningJob]:
    """A job writes and checksums below path all the while; at the end no record is missing.

    reopen: it opens its file anew for each record, as it must where the client is replaced.
    may_fail: the errors that it may meet meanwhile, by their names; it tries again after each.
    That what it reads back differs from what it wrote is never one of them.
    """
    job = RunningJob(machine, path, reopen=reopen)
    try:
        yield job
        report = job.stop()
    finally:
        if job.process.poll() is None:
            job.process.abandon()
    assert report.missing == 0, report
    assert report.acknowledged > 0
    assert {failure.error for failure in report.failures} <= set(may_fail), report


def assert_left_alone(agent: Agent, client: Process) -> None:
    """The agent has mounted `a` once, and since then only watched its client."""
    assert agent.machine.glusterfs("/mnt/a") == client
    assert not ACTIONS & {entry.event for entry in agent.log()}
    assert [entry.mount for entry in agent.entries("mounted")].count("a") == 1


@contextmanager
def standing_in(machine: Mounts, path: str, *secrets: str) -> Iterator[Process]:
    """A process whose working directory is path, with arguments that nobody should print."""
    argv = ["/usr/bin/python3", "-c", "import time; time.sleep(600)", *secrets]
    process = machine.popen(["env", "-C", path, *argv])
    try:
        found = until(lambda: _python(machine, process), 10, f"a process stands in {path}")
        assert found
        yield found
    finally:
        process.abandon()
        with suppress(TimeoutExpired):
            process.wait(5)


def _python(machine: Mounts, process: Inside) -> Process | None:
    target = process.target
    found = machine.processes("python3")
    return next((each for each in found if each.pid == target), None)

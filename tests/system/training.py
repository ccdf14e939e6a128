"""A training job that goes on through a test's fault, and must lose nothing."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from subprocess import TimeoutExpired

from tests.lab.cell import Inside, Process
from tests.lab.client import Mounts
from tests.lab.jobs import RunningJob
from tests.lab.shell import until


@contextmanager
def training(
    machine: Mounts, *, path: str = "/mnt/a", reopen: bool = False
) -> Iterator[RunningJob]:
    """A job writes and checksums below path all the while; at the end no record is missing.

    reopen: it opens its file anew for each record, as it must where the client is replaced.
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

"""Run job.py on a machine of the lab and read what it reports."""

import itertools
import json
from pathlib import Path

from .cell import Cell
from .job import Failure, Report
from .shell import LabError, until

SCRIPT = Path(__file__).with_name("job.py")
_numbers = itertools.count(1)


class RunningJob:
    """A job that writes into a folder of a mount from now on."""

    def __init__(
        self, machine: Cell, folder: str, *, reopen: bool = False, interval: float = 0.05
    ) -> None:
        """reopen: open the file anew for each record; interval: seconds between records."""
        self.machine = machine
        self._report = f"/run/lab-job-{next(_numbers)}.json"
        argv = ["/usr/bin/python3", "-I", "-S", str(SCRIPT), folder, self._report]
        argv += ["--interval", str(interval), *(["--reopen"] if reopen else [])]
        self.process = machine.popen(argv)
        self.await_records(1)

    def report(self) -> Report:
        """What it has seen so far."""
        try:
            fields = json.loads(self.machine.read(self._report))
        except FileNotFoundError:
            return Report()
        failures = [Failure(**failure) for failure in fields.pop("failures")]
        return Report(**fields, failures=failures)

    def await_records(self, more: int, timeout: float = 60) -> None:
        """Until that many further records are acknowledged. timeout: seconds. Raises LabError."""
        before = self.report().acknowledged
        what = f"{more} more records are acknowledged on {self.machine.name}"

        def done() -> bool:
            if self.process.poll() is not None:
                raise LabError(f"the job on {self.machine.name} has ended")
            return self.report().acknowledged >= before + more

        until(done, timeout, what)

    def await_failure(self, error: str, timeout: float = 60) -> None:
        """Until an operation has failed with that error, by its name. timeout: seconds."""
        what = f"the job on {self.machine.name} sees {error}"
        until(lambda: error in {each.error for each in self.report().failures}, timeout, what)

    def stop(self, timeout: float = 120) -> Report:
        """End it, after the record it is at; its last report, of the verified file."""
        self.process.terminate()
        self.process.wait(timeout)
        report = self.report()
        if not report.done:
            raise LabError(f"the job on {self.machine.name} died")
        return report

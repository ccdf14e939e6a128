"""The outer end of job.py: what the job has seen, and waiting for what it is to see."""

import signal
from dataclasses import dataclass
from pathlib import Path

from tests.lab.client import Mounts
from tests.lab.lines import Lines

JOB = Path(__file__).with_name("job.py")


@dataclass(frozen=True)
class Record:
    """A record on the volume. began, ended: monotonic seconds of its writing and reading back."""

    record: int
    began: float
    ended: float

    @property
    def seconds(self) -> float:
        return self.ended - self.began


@dataclass(frozen=True)
class Failure:
    """The first failed call of an outage. failed: as errno(3) names the error."""

    failed: str
    at: float


@dataclass(frozen=True)
class Tally:
    """What was written, and what of it was not there when all was read at the end."""

    written: int
    lost: int
    outages: int


class Job:
    """A job on a machine of the lab, writing below a mount. Times in seconds."""

    def __init__(self, machine: Mounts, path: str) -> None:
        self._lines = Lines(machine, ["/usr/bin/python3", "-I", "-S", str(JOB), path])

    def record_after(self, moment: float, timeout: float = 120) -> Record:
        """The first record that was finished after a moment."""
        what = "the job writes and reads again"
        found = self._lines.first(lambda said: said.get("ended", 0) > moment, timeout, what)
        return Record(**found)

    def failure_after(self, moment: float, timeout: float = 120) -> Failure:
        """The first outage that began after a moment."""
        found = self._lines.first(
            lambda said: "failed" in said and said["at"] > moment, timeout, "the job is refused"
        )
        return Failure(**found)

    def slowest_since(self, moment: float) -> float:
        """Seconds that the slowest record took of those finished after a moment."""
        records = [Record(**said) for said in self._lines.all() if "record" in said]
        return max(record.seconds for record in records if record.ended > moment)

    def failures_since(self, moment: float) -> list[Failure]:
        failures = [Failure(**said) for said in self._lines.all() if "failed" in said]
        return [failure for failure in failures if failure.at > moment]

    def finish(self, timeout: float = 120) -> Tally:
        """Tell it to stop; what it found when it read all records again."""
        self._lines.end(signal.SIGTERM, timeout)
        return Tally(**self._lines.all()[-1])

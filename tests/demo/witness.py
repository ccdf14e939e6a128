"""The outer end of job.py: what the job has seen, and waiting for what it is to see."""

import json
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Any, TypeVar

from tests.lab.client import Mounts
from tests.lab.shell import LabError

JOB = Path(__file__).with_name("job.py")
T = TypeVar("T")


@dataclass(frozen=True)
class Record:
    """A record on the volume. began, ended: monotonic seconds of its writing and reading back."""

    number: int
    began: float
    ended: float

    @property
    def seconds(self) -> float:
        return self.ended - self.began


@dataclass(frozen=True)
class Failure:
    """The first failed call of an outage. error: as errno(3) names it."""

    error: str
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
        argv = ["/usr/bin/python3", "-I", "-S", str(JOB), path]
        self.records: list[Record] = []
        self.failures: list[Failure] = []
        self.tally: Tally | None = None
        self._news = threading.Condition()
        self._ended = False
        self._process = machine.popen(argv, stdout=PIPE)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def record_after(self, moment: float, timeout: float = 120) -> Record:
        """The first record that was finished after a moment."""
        return self._await(
            lambda: next((r for r in self.records if r.ended > moment), None),
            timeout,
            "the job writes and reads again",
        )

    def failure_after(self, moment: float, timeout: float = 120) -> Failure:
        """The first outage that began after a moment."""
        return self._await(
            lambda: next((f for f in self.failures if f.at > moment), None),
            timeout,
            "the job is refused",
        )

    def slowest_since(self, moment: float) -> float:
        """Seconds that the slowest record took of those finished after a moment."""
        with self._news:
            return max(r.seconds for r in self.records if r.ended > moment)

    def failures_since(self, moment: float) -> list[Failure]:
        with self._news:
            return [failure for failure in self.failures if failure.at > moment]

    def finish(self, timeout: float = 120) -> Tally:
        """Tell it to stop; what it found when it read all records again."""
        self._process.send_signal(signal.SIGTERM)
        tally = self._await(lambda: self.tally, timeout, "the job's tally")
        self._process.wait(30)
        return tally

    def _await(self, found: Callable[[], T | None], timeout: float, what: str) -> T:
        deadline = time.monotonic() + timeout
        with self._news:
            while (value := found()) is None:
                left = deadline - time.monotonic()
                if self._ended or left <= 0 or not self._news.wait(left):
                    raise LabError(f"{what}: not so after {timeout - left:.0f} s")
            return value

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                facts = json.loads(line)
                with self._news:
                    self._take(facts)
                    self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _take(self, facts: dict[str, Any]) -> None:
        if "record" in facts:
            self.records.append(Record(facts["record"], facts["began"], facts["ended"]))
        elif "failed" in facts:
            self.failures.append(Failure(facts["failed"], facts["at"]))
        else:
            self.tally = Tally(**facts)

"""A training job's stand-in: appends records to a file of a mount, and knows what must be there.

Runs on its own, on any machine of the lab: `job.py DIRECTORY REPORT [--reopen] [--interval S]`.
A record counts as acknowledged once it is written and synced; then it is read back and compared.
Each record bears its number and the SHA-256 of its payload, so that the end can verify them all.
REPORT lies on a local disk. It ends on SIGTERM, or after --records records.

--reopen opens the file anew for each record; otherwise one open file is held all the while. After
a failure nothing is known of the last record, so it is written again: numbers may repeat in the
file, but no acknowledged one may be missing.
"""

import argparse
import contextlib
import errno
import hashlib
import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

PAYLOAD = 4096
"""Bytes of a record's payload."""
LENGTH = 16 + 64 + PAYLOAD + 1
"""A record: number (16 digits), SHA-256 (hex), payload, newline."""
STALE = 3.0
"""Seconds for which what seems missing, or different, is looked for again. Where the client was
replaced under the open file, or bricks go and come, the file's size may be one of a moment ago: of
before a write that failed and reached the bricks all the same, or of a replica that is not healed.
"""


@dataclass
class Failure:
    """One operation that failed. at: seconds since the job's start."""

    at: float
    operation: str
    error: str


@dataclass
class Report:
    """What the job has seen; `missing` and `done` are of the end. file: the name of its file."""

    file: str = ""
    acknowledged: int = 0
    failures: list[Failure] = field(default_factory=list)
    longest_stall: float = 0.0
    """Seconds that one record took, from its first attempt until it was acknowledged."""
    missing: int | None = None
    """Acknowledged records that are not in the file, or damaged; None: it could not be read."""
    done: bool = False


class Stopped(Exception):
    """SIGTERM came."""


class Job:
    """One file, appended to."""

    def __init__(self, path: Path, report_path: Path, *, reopen: bool) -> None:
        self.path = path
        self.report_path = report_path
        self.reopen = reopen
        self.report = Report(file=path.name)
        self._file = -1
        self._operation = ""
        self._start = time.monotonic()

    def record(self) -> None:
        """Write the next record until it is acknowledged; each failure is noted."""
        begin = time.monotonic()
        data = make_record(self.report.acknowledged)
        while True:
            try:
                self._attempt(data)
            except OSError as error:
                self._note(error)
                if self.reopen:
                    self._close()
                time.sleep(0.05)
            else:
                break
            finally:
                stall = time.monotonic() - begin
                self.report.longest_stall = max(self.report.longest_stall, stall)
        self.report.acknowledged += 1

    def finish(self, timeout: float) -> None:
        """Read the file through a fresh descriptor; try again until timeout, in seconds."""
        self._close()
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            try:
                self._operation = "verify"
                missing = count_missing(self.path, self.report.acknowledged)
            except OSError as error:
                self._note(error)
            else:
                if self.report.missing is None:
                    deadline = min(deadline, time.monotonic() + STALE)
                self.report.missing = missing
                if missing == 0:
                    break
            time.sleep(0.2)
        self.report.done = True
        self.save()

    def save(self) -> None:
        """Replace the report as a whole."""
        draft = self.report_path.with_suffix(".new")
        draft.write_text(json.dumps(asdict(self.report)))
        draft.rename(self.report_path)

    def _attempt(self, data: bytes) -> None:
        if self._file < 0:
            self._operation = "open"
            self._file = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
        self._operation = "write"
        rest = data
        while rest:  # a write that stops short gets its error with the next one
            rest = rest[os.write(self._file, rest) :]
        self._operation = "fsync"
        os.fsync(self._file)
        self._operation = "read"
        deadline = time.monotonic() + STALE
        while self._read_back(len(data)) != data:
            if time.monotonic() > deadline:
                raise OSError(errno.EBADMSG, "what was read back differs")
            time.sleep(0.1)
        if self.reopen:
            self._close()

    def _read_back(self, length: int) -> bytes:
        """The end of the file. A read stops short where a later page can't be had: ask for that."""
        # From the bricks: the kernel can keep a page of zeros where a write failed half way.
        os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_DONTNEED)
        begin = os.fstat(self._file).st_size - length
        found = b""
        while part := os.pread(self._file, length - len(found), begin + len(found)):
            found += part
        return found

    def _close(self) -> None:
        if self._file >= 0:
            file, self._file = self._file, -1
            with contextlib.suppress(OSError):
                os.close(file)

    def _note(self, error: OSError) -> None:
        name = errno.errorcode.get(error.errno or 0, str(error.errno))
        at = round(time.monotonic() - self._start, 3)
        self.report.failures.append(Failure(at, self._operation, name))
        self.save()


def make_record(number: int) -> bytes:
    """The same for the same number, on every machine."""
    payload = hashlib.sha256(str(number).encode()).hexdigest().encode() * (PAYLOAD // 64)
    return b"%016d" % number + hashlib.sha256(payload).hexdigest().encode() + payload + b"\n"


def count_missing(path: Path, acknowledged: int) -> int:
    """How many of the records 0 to acknowledged - 1 are not whole in the file. Raises OSError.

    A torn record may stand between whole ones, so records are looked for at line starts. What the
    kernel remembers of the file is dropped: after bricks came back that may be a page which was
    read too early, for good, though every brick has what was written (docs/gluster-facts.md).
    """
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        data = file.read()
    found = set()
    for line in data.split(b"\n"):
        text = line[-(LENGTH - 1) :]
        if text[:16].isdigit() and text + b"\n" == make_record(int(text[:16])):
            found.add(int(text[:16]))
    return len(set(range(acknowledged)) - found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("report", type=Path)
    parser.add_argument("--reopen", action="store_true")
    parser.add_argument("--interval", type=float, default=0.05, help="seconds between records")
    parser.add_argument("--records", type=int, default=sys.maxsize)
    arguments = parser.parse_args()

    def stop(*_: object) -> None:
        raise Stopped

    name = f"job-{os.getpid()}-{time.time_ns()}"
    job = Job(arguments.directory / name, arguments.report, reopen=arguments.reopen)
    signal.signal(signal.SIGTERM, stop)
    with contextlib.suppress(Stopped):
        while job.report.acknowledged < arguments.records:
            job.record()
            job.save()
            time.sleep(arguments.interval)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    job.finish(timeout=60)
    return 0 if job.report.missing == 0 else 1


if __name__ == "__main__":
    sys.exit(main())

"""The job that trains on: writes records with checksums to a mount, and reads each back at once.

Runs on its own inside a host: `job.py FILE`. One JSON line for each record that is known to be on
the volume, and one for the first failure of each outage; after SIGTERM all records are read once
more, and the last line is the tally. Times are seconds of the host's CLOCK_MONOTONIC.
"""

import errno
import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

SIZE = 4096
PACE = 0.02
RETRY = 0.002


class Job:
    """One file of records of SIZE bytes each, the last 32 of which are the others' checksum."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.digests: list[bytes] = []
        self.outages = 0
        self.stopped = False

    def run(self) -> None:
        """Write until SIGTERM, then prove that nothing is missing."""
        failing = False
        while not self.stopped:
            began = time.monotonic()
            try:
                self.digests.append(self.write_one(len(self.digests)))
            except OSError as error:
                if not failing:
                    self.outages += 1
                    say(failed=errno.errorcode.get(error.errno or 0, "?"), at=time.monotonic())
                failing = True
                time.sleep(RETRY)
                continue
            failing = False
            say(record=len(self.digests), began=began, ended=time.monotonic())
            time.sleep(PACE)
        written = len(self.digests)
        say(written=written, lost=written - self.intact(), outages=self.outages)

    def write_one(self, number: int) -> bytes:
        """Write, sync, open anew and read back. A record cut short is written again in place."""
        body = os.urandom(SIZE - 32)
        digest = hashlib.sha256(body).digest()
        with open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644), "wb", buffering=0) as file:
            file.seek(number * SIZE)
            file.write(body + digest)
            os.fsync(file.fileno())
        with open(self.path, "rb", buffering=0) as file:
            file.seek(number * SIZE)
            if not good(file.read(SIZE), digest):
                raise OSError(errno.EIO, "what was read is not what was written")
        return digest

    def intact(self) -> int:
        """How many of the records are on the volume as they were written."""
        with open(self.path, "rb") as file:
            return sum(good(file.read(SIZE), digest) for digest in self.digests)


def good(data: bytes, digest: bytes) -> bool:
    return data[-32:] == digest == hashlib.sha256(data[:-32]).digest()


def say(**facts: str | float) -> None:
    print(json.dumps(facts), flush=True)


def main(path: str) -> None:
    job = Job(path)

    def stop(*_: object) -> None:
        job.stopped = True

    signal.signal(signal.SIGTERM, stop)
    Path(path).parent.mkdir(exist_ok=True)
    job.run()


if __name__ == "__main__":
    main(sys.argv[1])

"""The outer end of driver.py."""

import json
import time
from pathlib import Path
from subprocess import PIPE
from typing import Any, Self

from agent.errors import MountFailed
from tests.lab import subject
from tests.lab.client import Mounts

DRIVER = Path(__file__).with_name("driver.py")


class Remote:
    """A MountHost inside a machine. seconds: how long the last call took there and back."""

    def __init__(self, machine: Mounts) -> None:
        argv = [*subject.python(), str(DRIVER)]
        self.process = machine.popen(argv, stdin=PIPE, stdout=PIPE)
        self.seconds = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(30)
        assert self.process.stdout
        self.process.stdout.close()

    def send(self, name: str, *arguments: Any) -> None:
        """Begin a call, whose answer is for receive()."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps([name, *arguments]) + "\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        """Raises MountFailed."""
        assert self.process.stdout
        answer = json.loads(self.process.stdout.readline())
        if "failed" in answer:
            raise MountFailed(answer["failed"])
        return answer["value"]

    def call(self, name: str, *arguments: Any) -> Any:
        """Raises MountFailed."""
        begun = time.monotonic()
        try:
            self.send(name, *arguments)
            return self.receive()
        finally:
            self.seconds = time.monotonic() - begun

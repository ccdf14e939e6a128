"""A program inside a machine that tells what it sees, a JSON object a line, as it sees it."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from subprocess import PIPE
from typing import Any

from .cell import Cell
from .shell import LabError

Facts = dict[str, Any]


class Lines:
    """A running program and all it has said so far. Times in seconds."""

    def __init__(self, machine: Cell, argv: Sequence[str]) -> None:
        self.said: list[Facts] = []
        self._news = threading.Condition()
        self._ended = False
        self.process = machine.popen(argv, stdin=PIPE, stdout=PIPE)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def tell(self, words: object) -> None:
        """A JSON line to its stdin."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()

    def first(self, fits: Callable[[Facts], bool], timeout: float, what: str) -> Facts:
        """The first line that fits, said already or yet to come. Raises LabError."""
        deadline = time.monotonic() + timeout
        seen = 0
        with self._news:
            while True:
                for facts in self.said[seen:]:
                    if fits(facts):
                        return facts
                seen = len(self.said)
                left = deadline - time.monotonic()
                if self._ended or left <= 0:
                    raise LabError(f"not so within {timeout:.0f} s: {what}")
                self._news.wait(left)

    def all(self) -> list[Facts]:
        """What was said so far."""
        with self._news:
            return list(self.said)

    def end(self, number: int | None = None, timeout: float = 60) -> None:
        """Close its stdin, or send it a signal, and wait for its end."""
        if number is not None:
            self.process.send_signal(number)
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(timeout)
        self._reader.join(timeout)

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as lines:
            for line in lines:
                with self._news:
                    self.said.append(json.loads(line))
                    self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

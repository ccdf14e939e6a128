"""Work on one mount's volume, made in passes: one at a time, when due, while the verdict allows it.

A pass that breaks is made again later, and a bug in one costs no more than that pass.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.errors import AgentError
from agent.events import Event
from agent.mounts.edges import Edges

_DOUBLINGS = 10
"""Times that the pause after a failure doubles, at most, so that the number stays a small one."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """When passes are made where they don't say so themselves, in seconds.

    retry: after one that failed, a quarter more or less by chance; twice as many each time in a
    row, up to most. first: within these, by chance, the first is made. back: within these, by
    chance, one is made once the verdict allows work again, and no sooner than these after the last;
    None: when it is due anyway.
    """

    retry: float
    most: float
    first: float = 0.0
    back: float | None = None


class Work(Protocol):
    """One kind of work on one mount's volume. title: as in "TITLE failed"."""

    title: str
    rhythm: Rhythm

    async def once(self, allowed: Callable[[], bool]) -> float | None:
        """Make one pass: seconds until the next, or None where it came to nothing.

        allowed: whether the verdict still allows work; to be asked before each batch. Workers get
        deadlines, and are given up when this is cancelled. Raises AgentError, OSError.
        """

    def failed(self, why: str) -> None:
        """A pass raised; why: for people."""

    def tell(self) -> None:
        """Say where it stands."""


def about(seconds: float, jitter: float) -> float:
    """A quarter more or less, so that not all hosts come at once. jitter: drawn from 0 to 1."""
    return seconds * (0.75 + jitter / 2)


class Rounds:
    """Makes the passes of one work."""

    def __init__(self, name: str, work: Work, edges: Edges) -> None:
        self._name = name
        self._work = work
        self._edges = edges
        self._rhythm = work.rhythm
        self._allowed = asyncio.Event()
        self._sooner = asyncio.Event()
        self._failures = 0
        self._ended_at = edges.monotonic()
        self._due_at = self._ended_at + self._rhythm.first * edges.jitter()

    def judged(self, *, usable: bool) -> None:
        """Whether the mount's verdict allows work."""
        if not usable:
            self._allowed.clear()
        elif not self._allowed.is_set():
            if (back := self._rhythm.back) is not None:
                rested = max(self._edges.monotonic(), self._ended_at + back)
                self._due_at = min(self._due_at, rested + back * self._edges.jitter())
                self._sooner.set()
            self._allowed.set()

    async def run(self) -> None:
        """For as long as there is this work."""
        while True:
            await self._wait()
            pause = self._pause(await self._pass())
            self._ended_at = self._edges.monotonic()
            self._due_at = self._ended_at + pause
            self._work.tell()

    def _pause(self, wanted: float | None) -> float:
        if wanted is not None:
            self._failures = 0
            return wanted
        pause = min(self._rhythm.most, self._rhythm.retry * 2**self._failures)
        self._failures = min(self._failures + 1, _DOUBLINGS)
        return about(pause, self._edges.jitter())

    async def _wait(self) -> None:
        while True:
            await self._allowed.wait()
            self._sooner.clear()
            pause = self._due_at - self._edges.monotonic()
            if pause <= 0:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._sooner.wait()

    async def _pass(self) -> float | None:
        try:
            return await self._work.once(self._allowed.is_set)
        except (AgentError, OSError) as error:
            self._work.failed(str(error))
        except Exception as error:  # noqa: BLE001  the care of the mounts goes on
            message = f"{self._work.title} failed"
            self._edges.report.emit(Event.INTERNAL_ERROR, message, mount=self._name, error=error)
            self._work.failed(f"a bug of the agent: {error!r}")
        return None

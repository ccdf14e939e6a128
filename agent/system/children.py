"""All worker processes of the daemon: at most one a mount and kind, the stuck ones included."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, TypeVar

from agent import codec
from agent.errors import AgentError, ChildGone
from agent.system.child import Child

T = TypeVar("T")


class Busy(AgentError):
    """A worker of the same kind still lives on that mount, perhaps given up but stuck."""

    def __init__(self, child: Child) -> None:
        state = "was given up but has not ended" if child.abandoned else "is at work"
        super().__init__(
            "worker-busy", f"worker {child.kind} of {child.mount} {state} (pid {child.process.pid})"
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a one-shot worker said; done: it came to its end within the deadline."""

    rows: tuple[dict[str, Any], ...]
    done: bool


class Children:
    """All workers of the daemon: at most one a mount and kind, until the old one was reaped."""

    def __init__(self) -> None:
        self._started: list[Child] = []

    @property
    def living(self) -> tuple[Child, ...]:
        """Every worker not reaped yet, those given up among them."""
        self._started = [child for child in self._started if not child.exited.done()]
        return tuple(self._started)

    def get(self, kind: str, mount: str) -> Child | None:
        """The living worker of that kind on that mount, given up or not."""
        return next(
            (child for child in self.living if (child.kind, child.mount) == (kind, mount)), None
        )

    def spawn(self, kind: str, mount: str) -> Child:
        """Start `agent/worker/<kind>.py`. Raises Busy, or OSError if no process can be made."""
        if (living := self.get(kind, mount)) is not None:
            raise Busy(living)
        child = Child(kind, mount)
        self._started.append(child)
        return child

    async def run_once(
        self, kind: str, mount: str, request: dict[str, object], deadline: float
    ) -> Answer:
        """One request to a one-shot worker; deadline: seconds from now.

        When the deadline passes the worker is given up, and what it had said by then is the
        answer. Raises Busy, ChildGone, OSError.
        """
        child = self.spawn(kind, mount)
        rows: list[dict[str, Any]] = []
        done = False
        try:
            async with asyncio.timeout(deadline):
                await child.deliver(json.dumps(request).encode() + b"\n")
                while not (row := _row(await child.next_line())).get("done"):
                    rows.append(row)
                done = True
                # So that the next one finds no Busy.
                await asyncio.shield(child.exited)
        except TimeoutError:
            pass
        finally:
            child.abandon()
        return Answer(tuple(rows), done)

    async def stream(
        self, kind: str, mount: str, request: dict[str, object], patience: float
    ) -> AsyncGenerator[dict[str, Any], None]:
        """One request to a one-shot worker, and its rows as they come.

        patience: seconds that may pass from one row to the next. Whoever ends it early gives the
        worker up. Raises TimeoutError, Busy, ChildGone, OSError.
        """
        child = self.spawn(kind, mount)
        try:
            async with asyncio.timeout(patience):
                await child.deliver(json.dumps(request).encode() + b"\n")
            while True:
                async with asyncio.timeout(patience):
                    row = _row(await child.next_line())
                if row.get("done"):
                    break
                yield row
            async with asyncio.timeout(patience):
                await asyncio.shield(child.exited)
        finally:
            child.abandon()

    async def close(self, grace: float = 0.5) -> None:
        """Kill all and wait for their end, at most `grace` seconds, never for one that is stuck."""
        children = self.living
        for child in children:
            child.abandon()
        if children:
            await asyncio.wait([child.exited for child in children], timeout=grace)
        for child in children:
            child.close()


def told(kind: type[T], row: dict[str, Any]) -> T:
    """A row as a value of a dataclass. Raises ChildGone where it is none."""
    try:
        return codec.decode(kind, row)
    except ValueError as error:
        raise ChildGone(f"a worker's answer is wrong: {error}") from error


def _row(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ChildGone("a worker talks nonsense") from error
    if not isinstance(row, dict):
        raise ChildGone("a worker talks nonsense")
    return row

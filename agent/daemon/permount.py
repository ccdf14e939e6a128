"""Work of one kind on the volumes of all mounts that have it: one task each."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent.daemon.rounds import Rounds, Work
from agent.model.status import MountStatus
from agent.mounts.edges import Edges

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[S]):
    subject: S
    rounds: Rounds
    task: asyncio.Task[None]


class PerMount(Generic[S]):
    """One task for each mount with a subject: with all that the work depends on, by equality.

    make: the work for a mount's name and subject. allows: whether it may be done, going by the
    mount's newest status. gone: called with the name of a mount that has none any more.
    """

    def __init__(
        self,
        edges: Edges,
        make: Callable[[str, S], Work],
        allows: Callable[[MountStatus], bool],
        gone: Callable[[str], None],
    ) -> None:
        self._edges = edges
        self._make = make
        self._allows = allows
        self._gone = gone
        self._kept: dict[str, _Kept[S]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._usable: dict[str, bool] = {}

    def apply(self, wanted: Mapping[str, S]) -> None:
        """The subjects in force, by mount; a new one ends what goes on for the old one."""
        for name in [n for n, kept in self._kept.items() if wanted.get(n) != kept.subject]:
            self._kept.pop(name).task.cancel()
            if name not in wanted:
                self._gone(name)
        for name, subject in wanted.items():
            if name not in self._kept:
                self._begin(name, subject)

    def judged(self, status: MountStatus) -> None:
        """The newest status of a mount: nothing is done unless it allows it."""
        usable = self._allows(status) and not status.removing
        self._usable[status.name] = usable
        if kept := self._kept.get(status.name):
            kept.rounds.judged(usable=usable)

    async def close(self, grace: float = 1.0) -> None:
        """End what is going on, in bounded time; what is half done, a later pass finishes."""
        for kept in self._kept.values():
            kept.task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)

    def _begin(self, name: str, subject: S) -> None:
        work = self._make(name, subject)
        rounds = Rounds(name, work, self._edges)
        rounds.judged(usable=self._usable.get(name, False))
        work.tell()
        task = asyncio.get_running_loop().create_task(rounds.run())
        self._kept[name] = _Kept(subject, rounds, task)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

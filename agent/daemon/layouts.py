"""When each mount's layout is looked after: it becomes usable, its file changes, time passes."""

import asyncio
from collections.abc import Callable

from agent.config.schema import Config
from agent.daemon.layoutkeeper import LayoutKeeper, Subject
from agent.model import LayoutStatus, MountStatus
from agent.mounts.edges import Edges
from agent.system.workmount import WorkMounts

Told = Callable[[str, LayoutStatus | None], None]


class Layouts:
    """One task a mount that has a layout. told: called with each mount's newest status."""

    def __init__(self, edges: Edges, work: WorkMounts, told: Told) -> None:
        self._edges = edges
        self._work = work
        self._told = told
        self._keepers: dict[str, LayoutKeeper] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._usable: dict[str, bool] = {}

    def apply(self, config: Config) -> None:
        """The configuration in force changed, or is the first."""
        wanted = {
            name: Subject(name, mount, mount.layout, config.identities)
            for name, mount in config.mounts.items()
            if mount.layout is not None
        }
        for name in [name for name in self._keepers if name not in wanted]:
            self._keepers.pop(name).stop()
            self._told(name, None)
        for name, subject in wanted.items():
            known = self._keepers.get(name)
            if known is not None and known.subject == subject:
                continue
            if known is not None:
                known.stop()
            keeper = LayoutKeeper(subject, self._edges, self._work)
            self._begin(name, keeper)
            keeper.judged(usable=self._usable.get(name, False))

    def judged(self, status: MountStatus) -> None:
        """The newest status of a mount: nothing is done unless its verdict allows it."""
        self._usable[status.name] = status.verdict.usable and not status.removing
        if keeper := self._keepers.get(status.name):
            keeper.judged(usable=self._usable[status.name])

    async def close(self, grace: float = 1.0) -> None:
        """End what is going on, in bounded time; what is half done the next pass finishes."""
        for keeper in self._keepers.values():
            keeper.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)

    def _begin(self, name: str, keeper: LayoutKeeper) -> None:
        self._keepers[name] = keeper
        self._told(name, keeper.status)
        task = asyncio.get_running_loop().create_task(
            keeper.run(lambda: self._told(name, keeper.status))
        )
        keeper.task = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

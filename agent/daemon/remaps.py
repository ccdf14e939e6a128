"""Which volumes are looked through for files with old ids."""

import asyncio

from agent.config.identities_schema import IdentitiesConfig
from agent.config.schema import Config
from agent.daemon.remapkeeper import Means, RemapKeeper, Subject
from agent.identities.exchange import Exchange
from agent.model import MountStatus, Verdict

_ALLOWED = frozenset({Verdict.HEALTHY, Verdict.DEGRADED})


class Remaps:
    """One task for each mount that can be written to, while the file has old ids."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._keepers: dict[str, RemapKeeper] = {}
        self._tasks: dict[RemapKeeper, asyncio.Task[None]] = {}
        self._usable: dict[str, bool] = {}

    def apply(self, config: Config, *, enforce: bool) -> None:
        """The configuration in force changed. enforce: False has all only counted."""
        who = config.identities
        mode = who.remap.mode if enforce else "report"
        wanted = {
            name: Subject(mount, _exchange(who), mode)
            for name, mount in config.mounts.items()
            if who.remap and not mount.read_only
        }
        for name in [n for n, each in self._keepers.items() if wanted.get(n) != each.subject]:
            self._tasks.pop(self._keepers.pop(name)).cancel()
            self._means.told(name, None)
        for name, subject in wanted.items():
            if name not in self._keepers:
                self._begin(name, subject)

    def judged(self, status: MountStatus) -> None:
        """The newest status of a mount: nothing is done unless its verdict allows it."""
        self._usable[status.name] = status.verdict in _ALLOWED and not status.removing
        if keeper := self._keepers.get(status.name):
            keeper.judged(usable=self._usable[status.name])

    async def close(self, grace: float = 1.0) -> None:
        """End what is going on, in bounded time; a later agent goes on from there."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=grace)

    def _begin(self, name: str, subject: Subject) -> None:
        keeper = RemapKeeper(name, subject, self._means)
        self._keepers[name] = keeper
        keeper.judged(usable=self._usable.get(name, False))
        keeper.tell()
        self._tasks[keeper] = asyncio.get_running_loop().create_task(keeper.run())


def _exchange(who: IdentitiesConfig) -> Exchange:
    return Exchange(
        {old: who.uid(name) for old, name in who.remap.uids.items()},
        {old: who.gid(name) for old, name in who.remap.gids.items()},
    )

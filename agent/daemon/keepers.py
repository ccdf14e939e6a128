"""One keeper per mount: started, told of changes, and started anew if a bug ends one."""

import asyncio
import contextlib
from collections.abc import Callable, Collection
from dataclasses import replace

from agent.config.schema import Config
from agent.events import Event
from agent.mounts.edges import Edges, Settings, from_config, from_record
from agent.mounts.keeper import Keeper

REMOVED = ".removed"
"""Behind the name of a mount on its way out, where a new one bears that name."""
RESTART_AFTER = 5.0
"""Seconds until a keeper that ended by an internal error is replaced."""

Moves = list[tuple[str, str]]


class Keepers:
    """All keepers, by what they keep: a path and a volume. A mount's name may change.

    move_pauses: called with old and new names of paused mounts whose names changed.
    """

    def __init__(self, edges: Edges, move_pauses: Callable[[Moves], None]) -> None:
        self._edges = edges
        self._move_pauses = move_pauses
        self._keepers: dict[str, Keeper] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._paused: frozenset[str] = frozenset()

    def apply(self, config: Config, paused: frozenset[str]) -> None:
        """Give each keeper its part of the configuration; what is no longer in it is removed.

        Mounts that were taken out of the file while no agent ran are known from their records.
        """
        settings = [from_config(name, mount) for name, mount in config.mounts.items()]
        wanted = {each.key: each for each in settings}
        self._paused = self._carried(paused, settings)
        for record in self._edges.records.all():
            retired = from_record(record)
            if retired.key not in wanted and retired.key not in self._keepers:
                wanted[retired.key] = retired
        for key, keeper in self._keepers.items():
            if key not in wanted:
                wanted[key] = keeper.settings.retired()
        for each in _distinct(wanted.values()):
            self._give(each)

    def pause(self, paused: frozenset[str]) -> None:
        """The operator paused or resumed mounts."""
        for keeper in self._keepers.values():
            name, now = keeper.settings.name, _is_paused(keeper.settings, paused)
            if now != keeper.paused:
                event = Event.PAUSED if now else Event.RESUMED
                self._edges.report.emit(event, f"an operator {event.word} {name}", mount=name)
                keeper.change(keeper.settings, paused=now)
        self._paused = paused

    def wake(self) -> None:
        """The mount table changed."""
        for keeper in self._keepers.values():
            keeper.wake()

    def oldest_turn(self, now: float) -> float:
        """Monotonic seconds of the last step of the keeper that is furthest behind."""
        return min((keeper.turn_at for keeper in self._keepers.values()), default=now)

    async def settled(self, timeout: float) -> None:
        """Return when every keeper had its first round, or after timeout seconds."""
        waits = [keeper.settled.wait() for keeper in self._keepers.values()]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await asyncio.gather(*waits)

    async def close(self) -> None:
        """End all keepers; their mounts stay as they are."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=1.0)

    def _give(self, settings: Settings) -> None:
        paused = _is_paused(settings, self._paused)
        keeper = self._keepers.get(settings.key)
        if keeper is None:
            self._begin(settings)
        elif keeper.settings != settings or keeper.paused != paused:
            if keeper.settings.name != settings.name:
                self._edges.report.gone(keeper.settings.name)
            keeper.change(settings, paused=paused)

    def _carried(self, paused: frozenset[str], settings: list[Settings]) -> frozenset[str]:
        """Who is paused, a pause going along with a mount whose name changed."""
        names = {each.name for each in settings}
        moves = []
        for each in settings:
            keeper = self._keepers.get(each.key)
            record = self._edges.records.load(each.wanted.path, each.wanted.full_volume)
            if keeper is not None and keeper.paused and keeper.settings.name in paused:
                moves.append((keeper.settings.name, each.name))
            elif keeper is None and record is not None and record.name not in names:
                moves.append((record.name, each.name))
            if record is not None and record.name != each.name:
                with contextlib.suppress(OSError):  # then the next agent carries it once more
                    self._edges.records.save(replace(record, name=each.name))
        moves = [(old, new) for old, new in moves if old != new and old in paused]
        if moves:
            self._move_pauses(moves)
        return (paused - {old for old, _ in moves}) | {new for _, new in moves}

    def _begin(self, settings: Settings) -> None:
        keeper = Keeper(settings, self._edges, paused=_is_paused(settings, self._paused))
        self._keepers[settings.key] = keeper
        self._tasks[settings.key] = asyncio.get_running_loop().create_task(
            self._live(settings.key, keeper)
        )

    async def _live(self, key: str, keeper: Keeper) -> None:
        try:
            await keeper.run()
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  one mount's bug must not end the others' care
            self._edges.report.emit(
                Event.INTERNAL_ERROR,
                f"the keeper of {keeper.settings.name} failed and is started anew",
                mount=keeper.settings.name,
                error=error,
            )
            await asyncio.sleep(RESTART_AFTER)
            self._begin(keeper.settings)
            return
        if keeper.settings.config is not None:
            self._begin(keeper.settings)  # back in the file while it was being forgotten
            return
        del self._keepers[key], self._tasks[key]
        self._edges.report.gone(keeper.settings.name)


def _is_paused(settings: Settings, paused: frozenset[str]) -> bool:
    """By its name; a mount on its way out also by the name it had in the file."""
    name = settings.name
    return name in paused or (settings.config is None and name.removesuffix(REMOVED) in paused)


def _distinct(wanted: Collection[Settings]) -> list[Settings]:
    """A mount on its way out gives way where a new one bears its name or takes its path."""
    staying = [each for each in wanted if each.config is not None]
    names = {each.name for each in staying}
    paths = {each.wanted.path for each in staying}
    leaving = [
        replace(
            each,
            name=f"{each.name}{REMOVED}" if each.name in names else each.name,
            replaced=each.wanted.path in paths,
        )
        for each in wanted
        if each.config is None
    ]
    before = [(each.wanted.path, each.wanted.full_volume) for each in leaving]
    return leaving + [
        replace(each, replaces=tuple(v for path, v in before if path == each.wanted.path))
        for each in staying
    ]

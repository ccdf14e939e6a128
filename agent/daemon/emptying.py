"""Removes what has lain in a volume's trash for long enough, or is needed as free space."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from agent.daemon.volume import Volume
from agent.events import Event
from agent.health.text import plural, size
from agent.retention import agefile, aging
from agent.retention.facts import Space
from agent.retention.policy import Policy
from agent.retention.trash import Entry, Place, Purged, entries, purge

THREADS = 4
REST = 1.0
"""Seconds of rest for each second of work: jobs use the same bricks."""


class Emptying:
    """Of one volume. memory: a local file, by which it is known how long each entry was there."""

    def __init__(self, volume: Volume, policy: Policy, memory: Path) -> None:
        self._volume = volume
        self._policy = policy
        self._memory = memory

    async def run(
        self, place: Place, space: Space | None, allowed: Callable[[], bool]
    ) -> tuple[Entry, ...]:
        """What the trash holds afterwards. Under `mode: report` nothing is removed.

        Raises AgentError, OSError.
        """
        children = self._volume.edges.children
        held = await entries(children, place)
        now = self._volume.edges.monotonic()
        ages = aging.seen(agefile.load(self._memory), held, agefile.boot(), now)
        agefile.save(self._memory, ages)
        if self._policy.mode != "enforce":
            return held
        going = aging.expired(held, ages, self._policy.keep_for, self._policy.rules, space)
        if not going:
            return held
        gone = set()
        rows = purge(children, place, going, threads=THREADS, rest=REST)
        async with contextlib.aclosing(rows):
            async for row in rows:
                if isinstance(row, Purged):
                    gone.add(row.id)
                if not allowed():
                    break
        self._tell([each for each in going if each.id in gone])
        return tuple(each for each in held if each.id not in gone)

    def _tell(self, gone: list[Entry]) -> None:
        if gone:
            total = size(sum(each.size or 0 for each in gone))
            self._volume.emit(
                Event.RETENTION_PURGED,
                f"{plural(len(gone), 'entry', 'entries')} ({total}) of the trash removed for good",
                purged=len(gone),
            )

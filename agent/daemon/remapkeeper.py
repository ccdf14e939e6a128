"""Walks one mount's volume for files with old ids, whenever it is its turn, and tells of it."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from agent.config.schema import MountConfig
from agent.daemon.workview import work_view
from agent.errors import AgentError
from agent.events import Event
from agent.health.text import plural
from agent.identities.bookmark import Bookmark, Bookmarks
from agent.identities.exchange import Exchange, allowed
from agent.identities.lookup import look_up
from agent.identities.remap import Elsewhere, Problem, Progress, Row, Tree, Turn, remap
from agent.model import RemapState, RemapStatus
from agent.mounts.edges import Edges
from agent.system.workmount import WorkMounts

EVERY = 86400.0
"""Seconds from one walk of a volume to the next, by whichever host."""
SOON = 20.0
"""Seconds within which, by chance, a host begins: so not all mount at the same moment."""
HELD = 3600.0
"""Seconds until a host looks again whether the one that walks is done."""
RETRY = 300.0
"""Seconds after a walk that failed, twice as many each time, up to EVERY."""
MARKED = 2.0
"""Seconds between the places that are told, and remembered for an agent that starts later."""
THREADS = 4
"""Files at work at once, each of them at rest half of the time."""
MOST = 100
"""Problems that are told of one walk."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a walk is about; mode: report or enforce."""

    mount: MountConfig
    ids: Exchange
    mode: str


@dataclass(frozen=True, slots=True)
class Means:
    """What all keepers share. host: this one's name; told: called with each newest status."""

    edges: Edges
    work: WorkMounts
    bookmarks: Bookmarks
    host: str
    told: Callable[[str, RemapStatus | None], None]


class RemapKeeper:
    """Walks one mount's volume whenever it is its turn."""

    def __init__(self, name: str, subject: Subject, means: Means) -> None:
        self.name = name
        self.subject = subject
        self._mount, self._ids, self._mode = subject.mount, subject.ids, subject.mode
        self._means = means
        self._edges = means.edges
        self._allowed = asyncio.Event()
        self._due_at = self._edges.monotonic() + SOON * self._edges.jitter()
        self._failures = 0
        self._marked_at = 0.0
        self._told: frozenset[str] = frozenset()
        self.status = RemapStatus(RemapState.PENDING, self._mode)

    def judged(self, *, usable: bool) -> None:
        """Whether the mount's verdict allows work."""
        if usable:
            self._allowed.set()
        else:
            self._allowed.clear()

    def tell(self) -> None:
        """Say where it stands."""
        self._means.told(self.name, self.status)

    async def run(self) -> None:
        """For as long as the mount has these old ids; a bug costs one walk."""
        while True:
            await self._allowed.wait()
            pause = self._due_at - self._edges.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
                continue
            try:
                pause = await self._turn()
            except (AgentError, OSError) as error:
                pause = self._failed(str(error))
            except Exception as error:  # noqa: BLE001  the mounts' care must go on
                message = f"looking for old ids on {self.name} failed"
                self._emit(Event.INTERNAL_ERROR, message, error=error)
                pause = self._failed(f"a bug of the agent: {error!r}")
            self._due_at = self._edges.monotonic() + pause
            self.tell()

    async def _turn(self) -> float:
        """Seconds until the next. Raises AgentError, OSError."""
        known = await look_up(
            self._edges.children,
            f"old ids of {self.name}",
            uids=self._ids.uids,
            gids=self._ids.gids,
        )
        ids, kept = allowed(self._ids, known)
        if not ids:
            self.status = RemapStatus(RemapState.DONE, self._mode, problems=kept)
            self._say_problems()
            return EVERY
        what = f"{self._mode} {sorted(ids.uids.items())} {sorted(ids.gids.items())}"
        mark = self._means.bookmarks.load(self._mount, what)
        self.status = RemapStatus(
            RemapState.WALKING, self._mode, mark.looked, mark.matched, mark.changed, problems=kept
        )
        async with work_view(
            self._edges, self._means.work, "remap", self.name, self._mount, exact=False
        ) as entry:
            tree = Tree(entry.path, entry.device, THREADS, mark.at, gentle=True)
            turn = Turn(what, self._edges.wall(), EVERY, self._means.host)
            return await self._walk(tree, ids, turn, mark)

    async def _walk(self, tree: Tree, ids: Exchange, turn: Turn, mark: Bookmark) -> float:
        dry = self._mode == "report"
        rows = remap(self._edges.children, tree, ids, dry=dry, turn=turn)
        async with contextlib.aclosing(rows):
            async for row in rows:
                match row:
                    case Elsewhere():
                        return self._elsewhere(row)
                    case Problem():
                        self._note(row)
                    case Progress():
                        self._advance(row, mark)
                        if row.whole:
                            return self._done()
                self._mark(turn.what, row)
                if not self._allowed.is_set():
                    self.status = replace(self.status, state=RemapState.PENDING)
                    return 0.0
        raise AgentError(
            "remap-broke-off",
            "the walk broke off" + "".join(f": {line}" for line in self.status.problems[-1:]),
        )

    def _advance(self, row: Progress, mark: Bookmark) -> None:
        self.status = replace(
            self.status,
            looked=mark.looked + row.looked,
            matched=mark.matched + row.matched,
            changed=mark.changed + row.changed,
            failed=row.failed,
        )

    def _note(self, row: Problem) -> None:
        if len(self.status.problems) < MOST:
            line = f"{row.path or '/'}: {row.why}"
            self.status = replace(self.status, problems=(*self.status.problems, line))

    def _mark(self, what: str, row: Row) -> None:
        """Tell the place, and keep it to go on from after a crash."""
        now = self._edges.monotonic()
        if isinstance(row, Progress) and now - self._marked_at >= MARKED:
            self._marked_at = now
            done = self.status
            mark = Bookmark(row.at, done.looked, done.matched, done.changed)
            self._means.bookmarks.save(self._mount, what, mark)
            self.tell()

    def _elsewhere(self, row: Elsewhere) -> float:
        self._failures = 0
        if row.counts is None:
            self.status = replace(self.status, state=RemapState.ELSEWHERE)
            return HELD * (0.75 + self._edges.jitter() / 2)
        counts = row.counts
        self.status = replace(
            self.status,
            state=RemapState.DONE,
            looked=counts.looked,
            matched=counts.matched,
            changed=counts.changed,
            failed=counts.failed,
            ended=row.time,
            host=row.host,
        )
        since = self._edges.wall() - row.time
        return max(HELD, EVERY - since) + SOON * self._edges.jitter()

    def _done(self) -> float:
        self._failures = 0
        self._means.bookmarks.remove(self._mount)
        self.status = replace(self.status, state=RemapState.DONE, ended=self._edges.wall())
        found = self.status
        said = f"{found.matched} have an old id"
        if self._mode == "enforce":
            said = f"{found.changed} with an old id got the new one"
        left = f", {found.failed} were left" if found.failed else ""
        message = f"{plural(found.looked, 'file')} looked at, {said}{left}"
        self._emit(Event.REMAP_DONE, message, looked=found.looked, changed=found.changed)
        self._say_problems()
        return EVERY + SOON * self._edges.jitter()

    def _failed(self, why: str) -> float:
        """Seconds until the next try."""
        self.status = replace(
            self.status, state=RemapState.FAILED, problems=(*self.status.problems, why)[-MOST:]
        )
        self._emit(Event.REMAP_FAILED, f"old ids could not be looked for: {why}")
        pause: float = min(EVERY, RETRY * 2**self._failures)
        self._failures = min(self._failures + 1, 10)
        return pause

    def _say_problems(self) -> None:
        problems = frozenset(self.status.problems)
        for line in sorted(problems - self._told):
            self._emit(Event.REMAP_LEFT, line)
        self._told = problems

    def _emit(self, event: Event, message: str, **fields: Any) -> None:
        text = f"{self._mount.path}: {message}"
        self._edges.report.emit(event, text, mount=self.name, **fields)

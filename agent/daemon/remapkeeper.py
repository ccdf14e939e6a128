"""Walks one mount's volume for files with old ids, whenever it is its turn, and tells of it."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from agent.config.identities_schema import IdentitiesConfig
from agent.config.schema import Config, MountConfig
from agent.daemon.permount import PerMount
from agent.daemon.rounds import Rhythm, about
from agent.daemon.volume import Volume
from agent.errors import AgentError
from agent.events import Event
from agent.health.text import plural
from agent.identities import exchange
from agent.identities.bookmark import Bookmark, Bookmarks
from agent.identities.exchange import Exchange
from agent.identities.lookup import look_up
from agent.identities.remap import Elsewhere, Problem, Progress, Row, Tree, Turn, remap
from agent.model.status import RemapState, RemapStatus
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


def subjects(config: Config, *, enforce: bool) -> dict[str, Subject]:
    """Of each mount that can be written to, while the file has old ids.

    enforce: False has all only counted.
    """
    who = config.identities
    mode = who.remap.mode if enforce else "report"
    return {
        name: Subject(mount, _exchange(who), mode)
        for name, mount in config.mounts.items()
        if who.remap and not mount.read_only
    }


def remaps(means: Means) -> PerMount[Subject]:
    """A keeper for each mount whose volume is to be walked."""

    def make(name: str, subject: Subject) -> RemapKeeper:
        return RemapKeeper(subject, Volume(name, subject.mount, means.edges, means.work), means)

    return PerMount(
        means.edges,
        make,
        allows=lambda status: status.complete,
        gone=lambda name: means.told(name, None),
    )


class RemapKeeper:
    """Walks one mount's volume whenever it is its turn; see Work."""

    def __init__(self, subject: Subject, volume: Volume, means: Means) -> None:
        self.title = f"looking for old ids on {volume.name}"
        self.rhythm = Rhythm(retry=RETRY, most=EVERY, first=SOON)
        self._ids, self._mode = subject.ids, subject.mode
        self._volume = volume
        self._means = means
        self._edges = means.edges
        self._marked_at = 0.0
        self._told: frozenset[str] = frozenset()
        self._status = RemapStatus(RemapState.PENDING, self._mode)

    def tell(self) -> None:
        """Say where it stands."""
        self._means.told(self._volume.name, self._status)

    async def once(self, allowed: Callable[[], bool]) -> float:
        """Walk the volume, if no other host does. Raises AgentError, OSError."""
        known = await look_up(
            self._edges.children,
            f"old ids of {self._volume.name}",
            uids=self._ids.uids,
            gids=self._ids.gids,
        )
        ids, kept = exchange.allowed(self._ids, known)
        if not ids:
            self._status = RemapStatus(RemapState.DONE, self._mode, problems=kept)
            self._say_problems()
            return EVERY
        what = f"{self._mode} {sorted(ids.uids.items())} {sorted(ids.gids.items())}"
        mark = self._means.bookmarks.load(self._volume.mount, what)
        self._status = RemapStatus(
            RemapState.WALKING, self._mode, mark.looked, mark.matched, mark.changed, problems=kept
        )
        async with self._volume.mounted("remap", exact=False) as entry:
            tree = Tree(entry.path, entry.device, THREADS, mark.at, gentle=True)
            turn = Turn(what, self._edges.wall(), EVERY, self._means.host)
            return await self._walk(tree, ids, turn, mark, allowed)

    def failed(self, why: str) -> None:
        """A walk raised, or never began."""
        self._status = replace(
            self._status, state=RemapState.FAILED, problems=(*self._status.problems, why)[-MOST:]
        )
        self._volume.emit(Event.REMAP_FAILED, f"old ids could not be looked for: {why}")

    async def _walk(
        self, tree: Tree, ids: Exchange, turn: Turn, mark: Bookmark, allowed: Callable[[], bool]
    ) -> float:
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
                if not allowed():
                    self._status = replace(self._status, state=RemapState.PENDING)
                    return 0.0
        raise AgentError(
            "remap-broke-off",
            "the walk broke off" + "".join(f": {line}" for line in self._status.problems[-1:]),
        )

    def _advance(self, row: Progress, mark: Bookmark) -> None:
        self._status = replace(
            self._status,
            looked=mark.looked + row.looked,
            matched=mark.matched + row.matched,
            changed=mark.changed + row.changed,
            failed=row.failed,
        )

    def _note(self, row: Problem) -> None:
        if len(self._status.problems) < MOST:
            line = f"{row.path or '/'}: {row.why}"
            self._status = replace(self._status, problems=(*self._status.problems, line))

    def _mark(self, what: str, row: Row) -> None:
        """Tell the place, and keep it to go on from after a crash."""
        now = self._edges.monotonic()
        if isinstance(row, Progress) and now - self._marked_at >= MARKED:
            self._marked_at = now
            done = self._status
            mark = Bookmark(row.at, done.looked, done.matched, done.changed)
            self._means.bookmarks.save(self._volume.mount, what, mark)
            self.tell()

    def _elsewhere(self, row: Elsewhere) -> float:
        if row.counts is None:
            self._status = replace(self._status, state=RemapState.ELSEWHERE)
            return about(HELD, self._edges.jitter())
        counts = row.counts
        self._status = replace(
            self._status,
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
        self._means.bookmarks.remove(self._volume.mount)
        self._status = replace(self._status, state=RemapState.DONE, ended=self._edges.wall())
        found = self._status
        said = f"{found.matched} have an old id"
        if self._mode == "enforce":
            said = f"{found.changed} with an old id got the new one"
        left = f", {found.failed} were left" if found.failed else ""
        message = f"{plural(found.looked, 'file')} looked at, {said}{left}"
        self._volume.emit(Event.REMAP_DONE, message, looked=found.looked, changed=found.changed)
        self._say_problems()
        return EVERY + SOON * self._edges.jitter()

    def _say_problems(self) -> None:
        problems = frozenset(self._status.problems)
        for line in sorted(problems - self._told):
            self._volume.emit(Event.REMAP_LEFT, line)
        self._told = problems


def _exchange(who: IdentitiesConfig) -> Exchange:
    return Exchange(
        {old: who.uid(name) for old, name in who.remap.uids.items()},
        {old: who.gid(name) for old, name in who.remap.gids.items()},
    )

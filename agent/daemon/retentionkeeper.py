"""Cleans one mount's volume of old checkpoints, pass by pass, and tells of it."""

import contextlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import agent
from agent.config import durations
from agent.config.schema import Config, MountConfig
from agent.daemon.permount import PerMount
from agent.daemon.rounds import Rhythm, about
from agent.daemon.volume import Volume
from agent.errors import AgentError
from agent.events import Event
from agent.health.text import plural, size
from agent.model.mount import MountEntry
from agent.model.status import RetentionState, RetentionStatus
from agent.mounts.edges import Edges
from agent.retention import cleaners, due, passes, trash, turns
from agent.retention.clean import Differing, Left, Moved, Pass, Ripe, clean
from agent.retention.declared import policy
from agent.retention.survey import Surveyed, Wanted
from agent.retention.trash import Entry, Held, Purged, Refused, Returned
from agent.system.mountinfo import layers_at
from agent.system.workmount import WorkMounts

SOON = 60.0
"""Seconds within which, by chance, a host begins."""
RETRY = 300.0
"""Seconds after a pass that failed, twice as many each time, up to MOST."""
MOST = 6 * 3600.0
THREADS = 2
REST = 1.0
"""Seconds of rest for each second of removing."""
TOLD = 100
"""Problems that are told of one pass."""
NAMED = 10
"""Checkpoints that one journal entry names."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is cleaned, and how. mode: report or enforce; wants: as passes.wants says."""

    mount: MountConfig
    mode: str
    wants: str


@dataclass(frozen=True, slots=True)
class Means:
    """What all keepers share. host: this one's name; told: called with each newest status."""

    edges: Edges
    work: WorkMounts
    state_dir: Path
    host: str
    told: Callable[[str, RetentionStatus | None], None]


def subjects(config: Config, *, enforce: bool) -> dict[str, Subject]:
    """Of each mount with retention. enforce: False has all only reported."""
    return {
        name: Subject(
            mount,
            mount.retention.mode if enforce else "report",
            passes.wants(config, mount),
        )
        for name, mount in config.mounts.items()
        if mount.retention is not None
    }


def retentions(means: Means) -> PerMount[Subject]:
    """A keeper for each mount that has retention."""

    def make(name: str, subject: Subject) -> RetentionKeeper:
        return RetentionKeeper(subject, Volume(name, subject.mount, means.edges, means.work), means)

    return PerMount(
        means.edges,
        make,
        allows=lambda status: status.complete,
        gone=lambda name: means.told(name, None),
    )


class _NotNow(Exception):
    """The verdict does not allow work any more."""


class RetentionKeeper:
    """Cleans one mount's volume; see Work."""

    def __init__(self, subject: Subject, volume: Volume, means: Means) -> None:
        self.title = f"cleaning the volume of {volume.name}"
        assert subject.mount.retention is not None  # noqa: S101  subjects() takes no others
        self._policy = policy(subject.mount.retention)
        self.rhythm = Rhythm(retry=RETRY, most=MOST, first=min(SOON, self._policy.every))
        self._subject = subject
        self._volume = volume
        self._means = means
        self._edges = means.edges
        self._seen = turns.Seen()
        self._said: frozenset[str] = frozenset()
        self._said_plan = (0, 0)
        self._status = RetentionStatus(RetentionState.PENDING, subject.mode)

    def tell(self) -> None:
        """Say where it stands."""
        self._means.told(self._volume.name, self._status)

    async def once(self, allowed: Callable[[], bool]) -> float | None:
        """One pass: what is due leaves the trash, then what may go moves there.

        None where it is another host's turn. Raises AgentError, OSError.
        """
        if not await self._is_ours():
            state, host = RetentionState.ELSEWHERE, self._seen.word.host
            self._status = replace(self._status, state=state, host=host, problems=())
            return about(self._policy.every, self._edges.jitter())
        state = RetentionState.LOOKING
        self._status = replace(self._status, state=state, host="", problems=())
        self.tell()
        try:
            async with self._volume.mounted("retention") as entry:
                held = await self._purge(entry, allowed) or await self._clean(entry, allowed)
        except _NotNow:
            self._status = replace(self._status, state=RetentionState.PENDING)
            return 0.0
        if held:
            self._status = replace(self._status, state=RetentionState.ELSEWHERE)
        else:
            self._status = replace(self._status, ended=self._edges.wall())
            self._say_problems()
        return about(self._policy.every, self._edges.jitter())

    def failed(self, why: str) -> None:
        """A pass raised, or never began."""
        self._status = replace(
            self._status,
            state=RetentionState.FAILED,
            problems=(*self._status.problems, why)[-TOLD:],
        )
        self._volume.emit(Event.RETENTION_FAILED, f"could not be cleaned: {why}")

    async def _is_ours(self) -> bool:
        """Asked through the job's mount: a mount for it costs a client on each of many hosts."""
        layers = layers_at(self._edges.mount_table(), self._subject.mount.path)
        if not layers:
            raise AgentError("retention-unmounted", "nothing is mounted there")
        place = trash.Place(layers[-1].path, layers[-1].device)
        host, wants = self._means.host, self._subject.wants
        word = await cleaners.last(self._edges.children, place, host=host, wants=wants)
        ours, self._seen = turns.look(word, self._seen, host)
        return ours

    async def _purge(self, entry: MountEntry, allowed: Callable[[], bool]) -> bool:
        """Remove what is due; whether another host is at it."""
        place = trash.Place(entry.path, entry.device)
        found = await trash.look(self._edges.children, place)
        gone = self._due(found)
        going = {each.id for each in gone}
        left = [each for each in found.entries if each.id not in going]
        self._status = replace(
            self._status, trash=len(left), trash_bytes=sum(each.size or 0 for each in left)
        )
        if self._subject.mode != "enforce" or not gone:
            return False
        _require(allowed)
        purged = 0
        children = self._edges.children
        rows = trash.purge(children, place, gone, threads=THREADS, rest=REST)
        async with contextlib.aclosing(rows):
            async for row in rows:
                match row:
                    case Held():
                        return True
                    case Purged():
                        purged += 1
                    case Refused(id=id_, why=why):
                        self._note(f"trash: {id_}: {why}")
                    case Returned():
                        self._returned(row)
                _require(allowed)
        self._status = replace(self._status, purged=self._status.purged + purged)
        if purged:
            what = f"{plural(purged, 'entry', 'entries')} of the trash removed for good"
            self._volume.emit(Event.RETENTION_PURGED, what, count=purged)
        return False

    def _due(self, found: trash.Contents) -> Sequence[Entry]:
        """What goes now; for how long each was there is remembered. Raises OSError."""
        path = passes.ages_file(self._means.state_dir, self._subject.mount)
        ages = passes.load_ages(path).now(found.entries, passes.boot(), self._edges.monotonic())
        passes.save_ages(path, ages)
        over = due.due(found.entries, ages, self._policy.keep_for)
        known = {entry.id for entry in over}
        others = [entry for entry in found.entries if entry.id not in known]
        early = due.early(others, ages, self._policy.rules, found.total, found.free)
        known |= {entry.id for entry in early}
        unfinished = [entry for entry in others if not entry.whole and entry.id not in known]
        return [*over, *early, *unfinished]

    async def _clean(self, entry: MountEntry, allowed: Callable[[], bool]) -> bool:
        """Move what may go; whether another host is at it."""
        _require(allowed)
        rules = self._policy.rules
        wanted = Wanted(
            root=entry.path,
            device=entry.device,
            mounted_at=self._subject.mount.path,
            rules=rules,
            threads=THREADS,
            with_space=True,
            in_trash=self._status.trash_bytes,
        )
        enforce = self._subject.mode == "enforce"
        how = Pass(
            memory=passes.memory_file(self._means.state_dir, self._subject.mount),
            host=self._means.host,
            version=agent.__version__,
            wants=self._subject.wants,
            move=tuple(rule.path for rule in rules) if enforce else (),
            turn=secrets.token_hex(8),
            idle=True,
        )
        moved: list[Moved] = []
        state = RetentionState.DONE
        rows = clean(self._edges.children, wanted, how)
        try:
            async with contextlib.aclosing(rows):
                async for row in rows:
                    match row:
                        case Held():
                            return True
                        case Differing(hosts=hosts):
                            state = RetentionState.DIFFERING
                            self._note(f"nothing is moved: other hosts differ: {', '.join(hosts)}")
                        case Surveyed():
                            self._planned(row)
                        case Ripe():
                            self._status = replace(self._status, waiting=row.waiting)
                        case Moved():
                            moved.append(row)
                        case Left(path=path, why=why) if why != "vanished":
                            self._note(f"{path} stays: {why}")
                        case Refused(id=id_, why=why):
                            self._note(f"trash: {id_}: {why}")
                        case Returned():
                            self._returned(row)
                    _require(allowed)
        finally:
            self._say_moved(moved)
        self._status = replace(self._status, state=state)
        return False

    def _planned(self, found: Surveyed) -> None:
        runs = [run for rule in found.rules for run in rule.runs]
        doomed = [each for run in runs for each in run.delete]
        kept = sum(len(run.keep) for run in runs)
        total = sum(each.size or 0 for each in doomed)
        self._status = replace(self._status, kept=kept, planned=len(doomed), planned_bytes=total)
        self.tell()
        plan = (len(doomed), total)
        if self._subject.mode == "report" and doomed and plan != self._said_plan:
            names = _some([each.path for each in doomed])
            self._volume.emit(
                Event.RETENTION_PLANNED,
                f"{plural(len(doomed), 'checkpoint')} ({size(total)}) would go to the trash under"
                f" mode: enforce: {names}; gluster-ml-agent plan says why",
                count=len(doomed),
                bytes=total,
            )
        self._said_plan = plan
        self._note_findings(found)

    def _note_findings(self, found: Surveyed) -> None:
        for rule in found.rules:
            for finding in rule.findings:
                self._note(f"rule {rule.path}: {finding}")
            for run in rule.runs:
                for finding in run.findings:
                    self._note(f"{run.path}: {finding}")
                for each in run.skipped:
                    self._note(f"{each.path}: {each.reason}")
        for _, each in found.failed:
            self._note(f"{each.path}: {each.reason}")

    def _say_moved(self, moved: Sequence[Moved]) -> None:
        if not moved:
            return
        total = sum(each.size or 0 for each in moved)
        self._status = replace(
            self._status,
            moved=self._status.moved + len(moved),
            moved_bytes=self._status.moved_bytes + total,
            trash=self._status.trash + len(moved),
            trash_bytes=self._status.trash_bytes + total,
        )
        keep_for = durations.text(self._policy.keep_for)
        names = _some([f"{each.path} ({'; '.join(each.reasons)})" for each in moved])
        self._volume.emit(
            Event.RETENTION_MOVED,
            f"{plural(len(moved), 'checkpoint')} ({size(total)}) moved to the trash,"
            f" for {keep_for}: {names}",
            count=len(moved),
            bytes=total,
        )

    def _returned(self, row: Returned) -> None:
        names = ", ".join(f"{row.run}/{name}" for name in row.names.values())
        self._note(f"{names} is back, as a move to the trash broke off")

    def _note(self, line: str) -> None:
        if len(self._status.problems) < TOLD:
            self._status = replace(self._status, problems=(*self._status.problems, line))

    def _say_problems(self) -> None:
        problems = frozenset(self._status.problems)
        for line in sorted(problems - self._said):
            self._volume.emit(Event.RETENTION_LEFT, line)
        self._said = problems


def _require(allowed: Callable[[], bool]) -> None:
    if not allowed():
        raise _NotNow


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"

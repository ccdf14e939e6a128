"""Looks after the checkpoints on one mount's volume, whenever it is this host's turn."""

import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import agent
from agent.config.schema import Config, MountConfig
from agent.daemon.emptying import Emptying
from agent.daemon.permount import PerMount
from agent.daemon.rounds import Rhythm, about
from agent.daemon.volume import Volume
from agent.errors import AgentError
from agent.events import Event
from agent.health.text import plural, size
from agent.model import MountEntry, RetentionState, RetentionStatus, Verdict
from agent.mounts.edges import Edges
from agent.retention import cleaners, turns
from agent.retention.clean import Differing, Left, Moved, Pass, Ripe, Row, clean
from agent.retention.declared import policy
from agent.retention.facts import Space
from agent.retention.passes import memory_file, wants
from agent.retention.policy import Policy
from agent.retention.survey import Surveyed, Wanted
from agent.retention.trash import Held, Place, Refused, Returned, entries
from agent.system.mountinfo import layers_at
from agent.system.workmount import WorkMounts

FIRST = 60.0
"""Seconds within which, by chance, a host looks first: so not all come at the same moment."""
RETRY = 300.0
"""Seconds after a pass that failed, twice as many each time, up to a day."""
MOST_PAUSE = 86400.0
THREADS = 4
MOST = 100
"""Findings that are told of one volume."""
NAMED = 20
"""Checkpoints that one journal entry names."""

_VERDICTS = frozenset({Verdict.HEALTHY, Verdict.DEGRADED})

Told = Callable[[str, RetentionStatus | None], None]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a pass depends on. wants: the fingerprint of what all hosts must want alike."""

    mount: MountConfig
    policy: Policy
    wants: str


@dataclass(frozen=True, slots=True)
class Means:
    """What all keepers share. host: this one's name; told: called with each newest status."""

    edges: Edges
    work: WorkMounts
    state_dir: Path
    host: str
    told: Told


def subjects(config: Config, *, enforce: bool) -> dict[str, Subject]:
    """Of each mount with rules. enforce: False has all only reported."""
    found = {}
    for name, mount in config.mounts.items():
        if mount.retention is not None:
            declared = policy(mount.retention)
            mode = declared.mode if enforce else "report"
            found[name] = Subject(mount, replace(declared, mode=mode), wants(config, mount))
    return found


def retentions(means: Means) -> PerMount[Subject]:
    """A keeper for each mount that has rules."""

    def make(name: str, subject: Subject) -> RetentionKeeper:
        volume = Volume(name, subject.mount, means.edges, means.work)
        return RetentionKeeper(subject, volume, means)

    return PerMount(
        means.edges,
        make,
        allows=lambda status: status.verdict in _VERDICTS,
        gone=lambda name: means.told(name, None),
    )


class RetentionKeeper:
    """Looks after the checkpoints on one mount's volume; see Work."""

    def __init__(self, subject: Subject, volume: Volume, means: Means) -> None:
        self.title = f"a pass over the checkpoints of {volume.name}"
        self._policy, self._wants = subject.policy, subject.wants
        self.rhythm = Rhythm(RETRY, MOST_PAUSE, first=min(FIRST, self._policy.every))
        self._volume = volume
        self._means = means
        self._edges = means.edges
        self._seen = turns.Seen()
        self._told: frozenset[str] = frozenset()
        self._planned: tuple[int, int] = (0, 0)
        self._status = RetentionStatus(RetentionState.PENDING, self._policy.mode)

    def tell(self) -> None:
        """Say where it stands."""
        self._means.told(self._volume.name, self._status)

    async def once(self, allowed: Callable[[], bool]) -> float | None:
        """One pass, or none where another host makes them. Raises AgentError, OSError."""
        pause = about(self._policy.every, self._edges.jitter())
        if not await self._is_ours():
            other = self._seen.word.host
            self._status = RetentionStatus(RetentionState.ELSEWHERE, self._policy.mode, host=other)
            return pause
        self._status = replace(self._status, state=RetentionState.WORKING, host="")
        self.tell()
        async with self._volume.mounted("retention") as entry:
            if not await self._pass(entry, allowed):
                self._status = replace(self._status, state=RetentionState.PENDING)
                return 0.0
        return pause

    def failed(self, why: str) -> None:
        """A pass raised."""
        self._status = replace(self._status, state=RetentionState.FAILED)
        self._volume.emit(Event.RETENTION_FAILED, f"the checkpoints could not be looked at: {why}")

    async def _is_ours(self) -> bool:
        """Asked through the job's mount: a mount for it costs a client on each of many hosts."""
        layers = layers_at(self._edges.mount_table(), self._volume.mount.path)
        if not layers or layers[-1].device is None:
            raise AgentError("retention-unmounted", "nothing is mounted there")
        place = Place(layers[-1].path, layers[-1].device)
        word = await cleaners.last(
            self._edges.children, place, host=self._means.host, wants=self._wants
        )
        ours, self._seen = turns.look(word, self._seen, self._means.host)
        return ours

    async def _pass(self, entry: MountEntry, allowed: Callable[[], bool]) -> bool:
        """Whether it came to its end; the verdict can forbid that. Raises AgentError, OSError."""
        place = Place(entry.path, entry.device)
        held = await entries(self._edges.children, place)
        taken = _Taken()
        rows = clean(self._edges.children, *self._wanted(entry, sum(e.size or 0 for e in held)))
        async with contextlib.aclosing(rows):
            async for row in rows:
                taken.take(row)
                if not allowed():
                    self._tell_moved(taken)
                    return False
        self._tell_moved(taken)
        if taken.held:
            self._status = replace(self._status, state=RetentionState.ELSEWHERE)
            return True
        emptying = Emptying(self._volume, self._policy, self._trash_file())
        trashed = await emptying.run(place, taken.space, allowed)
        self._note(taken, (len(trashed), sum(each.size or 0 for each in trashed)))
        return True

    def _wanted(self, entry: MountEntry, in_trash: int) -> tuple[Wanted, Pass]:
        enforce = self._policy.mode == "enforce"
        paths = tuple(rule.path for rule in self._policy.rules)
        wanted = Wanted(
            root=entry.path,
            device=entry.device,
            mounted_at=self._volume.mount.path,
            rules=self._policy.rules,
            threads=THREADS,
            with_space=True,
            in_trash=in_trash,
        )
        how = Pass(
            memory=memory_file(self._means.state_dir, self._volume.mount),
            host=self._means.host,
            version=agent.__version__,
            wants=self._wants,
            move=paths if enforce else (),
            turn=secrets.token_hex(8),
            idle=True,
        )
        return wanted, how

    def _trash_file(self) -> Path:
        return memory_file(self._means.state_dir, self._volume.mount).with_suffix(".trash.json")

    def _tell_moved(self, taken: "_Taken") -> None:
        """One entry a pass. More than NAMED are counted; each has a manifest in the trash."""
        if not taken.moved:
            return
        named = [f"{each.path} ({'; '.join(each.reasons)})" for each in taken.moved[:NAMED]]
        more = len(taken.moved) - len(named)
        total = sum(each.size or 0 for each in taken.moved)
        words = "; ".join([*named, *([f"and {more} more"] if more else [])])
        self._volume.emit(
            Event.RETENTION_MOVED,
            f"{plural(len(taken.moved), 'checkpoint')} ({size(total)}) moved to the trash: {words}",
            moved=len(taken.moved),
        )

    def _note(self, taken: "_Taken", trashed: tuple[int, int]) -> None:
        runs = [run for rule in taken.surveyed.rules for run in rule.runs]
        doomed = [each for run in runs for each in run.delete]
        planned = (len(doomed), sum(each.size or 0 for each in doomed))
        self._status = RetentionStatus(
            state=RetentionState.DONE,
            mode=self._policy.mode,
            kept=sum(len(run.keep) for run in runs),
            planned=planned[0],
            planned_bytes=planned[1],
            waiting=taken.ripe.waiting,
            moved=len(taken.moved),
            moved_bytes=sum(each.size or 0 for each in taken.moved),
            trashed=trashed[0],
            trashed_bytes=trashed[1],
            ended=self._edges.wall(),
            findings=tuple(taken.findings()[:MOST]),
        )
        self._tell_planned(planned)
        for line in sorted(frozenset(self._status.findings) - self._told):
            self._volume.emit(Event.RETENTION_FINDING, line)
        self._told = frozenset(self._status.findings)

    def _tell_planned(self, planned: tuple[int, int]) -> None:
        """What a report would have deleted, whenever that is something else than before."""
        if planned == self._planned or self._policy.mode == "enforce":
            return
        self._planned = planned
        self._volume.emit(
            Event.RETENTION_PLANNED,
            f"by the rules {plural(planned[0], 'checkpoint')} ({size(planned[1])}) would go;"
            " nothing is deleted, as retention.mode is report; see: gluster-ml-agent plan",
            planned=planned[0],
        )


class _Taken:
    """What a pass has said so far."""

    def __init__(self) -> None:
        self.surveyed = Surveyed((), (), ())
        self.ripe = Ripe(0, 0, 0)
        self.moved: list[Moved] = []
        self.held = False
        self._left: list[str] = []

    @property
    def space(self) -> Space | None:
        """Of the volume; None where it is not known."""
        return Space(self.ripe.total, self.ripe.free) if self.ripe.total else None

    def take(self, row: Row) -> None:
        """The next row."""
        match row:
            case Surveyed():
                self.surveyed = row
            case Ripe():
                self.ripe = row
            case Moved():
                self.moved.append(row)
            case Left(path=path, why=why):
                if why != "vanished":
                    self._left.append(f"{path} stays: {why}")
            case Differing(hosts=hosts):
                self._left.append(
                    f"nothing is deleted: the files of {', '.join(hosts)} want something else of"
                    " this volume; bring retention, layout and identities.remap in line everywhere"
                )
            case Returned(run=run, names=names):
                self._left.append(
                    f"{run}: {', '.join(names.values())} is back, as a move broke off"
                )
            case Refused(id=id_, why=why):
                self._left.append(f"trash: {id_}: {why}")
            case Held():
                self.held = True

    def findings(self) -> list[str]:
        """What a person should see, each a line."""
        told = list(self._left)
        for rule in self.surveyed.rules:
            told += [f"{rule.path}: {said}" for said in rule.findings]
            for run in rule.runs:
                told += [f"{run.path}: {said}" for said in run.findings]
                told += [f"{each.path}: {each.reason}" for each in run.skipped]
        told += [f"{each.path}: {each.reason}" for _, each in self.surveyed.failed]
        return told

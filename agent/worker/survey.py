"""One-shot: looks at the checkpoints below the rules of a volume, and plans what may go.

Request: {"path", "device": [major, minor] | null, "mounted_at", "rules": [Rule.to_row()],
"within": [path], "space": bool, "in_trash": bytes, "sizes": bool, "threads", "libraries",
"cache"}. path: the volume's root, on that device; mounted_at: by which absolute links know it.
within: directories that are looked at though no rule is about them. space: whether `free_space`
counts; sizes: of all checkpoints. libraries: where PyYAML is. cache: see known.py, "" for none.

Answer: now and then {"looked", "at"}; at the end the rows of agent/retention/rows.py (rule: its
number, -1 for none), {"failed": path, "rule", "reason"} for what could not be looked at, {"told",
"rule"} for what is to be known of a rule; and last {"whole": true}, or {"problem", "path"}.

It only reads, and can be killed at any time. What decides stands in agent/retention.
"""

import contextlib
import errno
import os
import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from agent.retention.assemble import Whole, left_alone, walked
from agent.retention.facts import Run, Space, Unit
from agent.retention.formats.registry import FAMILIES
from agent.retention.links import linked
from agent.retention.plan import plan
from agent.retention.planned import Kept, RulePlan, RunPlan, Skipped
from agent.retention.policy import Rule
from agent.retention.rows import rows
from agent.worker import channel, place, whole
from agent.worker.again import Basis
from agent.worker.bases import Bases, descend
from agent.worker.clock import HOST, Clock
from agent.worker.crew import Crew
from agent.worker.descent import GivenUpError
from agent.worker.gather import Gathered, Level
from agent.worker.known import Known
from agent.worker.search import Search
from agent.worker.view import Directory, MetError, opened

NO_RULE = -1
Row = dict[str, object]
Ruled = list[tuple[Rule, list[Run]]]


def main() -> int:
    """Answer the one request."""
    request = channel.request()
    path = str(request["path"])
    sys.path.append(str(request["libraries"]))
    raise_limit()
    try:
        root = open_root(path, request["device"])
    except OSError as error:
        channel.emit({"problem": error.strerror, "path": path})
    else:
        try:
            survey = Survey(request, root)
            for row in survey.rows(survey.plan()):
                channel.emit(row)
        except GivenUpError as error:
            problem = f"{os.strerror(error.errno)} when {error.doing}"
            channel.emit({"problem": problem, "path": path})
    channel.done()
    return 0


def raise_limit() -> None:
    """A walk keeps the directories open that it is in, and each thread is in some."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65536), most))


def open_root(path: str, device: object) -> Directory:
    """The volume's root. Raises OSError."""
    descriptor = place.open_path(os.path.realpath(path) if device is None else path)
    try:
        if device is not None and place.device_of(descriptor) != device:
            raise OSError(0, "the volume is not mounted there")
        return opened(descriptor, "")
    finally:
        os.close(descriptor)


class Survey:
    """One request, carried out."""

    def __init__(self, request: Row, root: Directory, clock: Clock = HOST) -> None:
        self._clock = clock
        self._root = root
        self.rules = [Rule.from_row(row) for row in _list(request, "rules")]
        self._mounted_at = str(request["mounted_at"])
        self._within = [str(path) for path in _list(request, "within")]
        self._sizes = bool(request["sizes"])
        self._space = bool(request["space"])
        self._in_trash = int(str(request["in_trash"]))
        self._cache = str(request["cache"])
        self._threads = int(str(request["threads"]))
        self._crew = Crew(self._threads)
        self._gathered = Gathered(_tell)

    def plan(self) -> tuple[RulePlan, ...]:
        """What each rule keeps and deletes. Raises GivenUpError."""
        try:
            before = self._reading()
            self._search()
            ruled = self._ruled()
            now = self._clock.now()
            planned = plan(ruled, now=now, space=before)
            self._known = self._walked(ruled, planned)
            after = self._reading()
            self._agreed = after if before and after and before.total == after.total else None
            return plan(self._known, now=now, space=self._agreed, whole=True)
        finally:
            self._crew.close()

    def basis(self) -> Basis:
        """What the plan was made of."""
        return Basis(
            root=self._root,
            ruled=self._known,
            space=self._agreed,
            gathered=self._gathered,
            bases=self._searched,
            mounted_at=self._mounted_at,
            clock=self._clock,
        )

    def _reading(self) -> Space | None:
        """Of the file system. Raises GivenUpError."""
        if not self._space:
            return None
        try:
            found = os.statvfs(self._root.descriptor)
        except OSError as error:
            raise GivenUpError("asking for the free space", error.errno or errno.EIO) from None
        unit = found.f_frsize
        return Space(found.f_blocks * unit, found.f_bavail * unit, self._in_trash)

    def _search(self) -> None:
        bases = Bases(self._root, [rule.path for rule in self.rules])
        for rule, path, error in bases.failed:
            self._gathered.fail(rule, path, error)
        trusted = {number: rule.format for number, rule in enumerate(self.rules)}
        within = {path: NO_RULE for path in self._within if not bases.hold(path)}
        self._searched = within | bases.found
        known = Known(self._cache)
        search = Search(self._crew, self._gathered, FAMILIES, trusted, self._searched, known)
        search.begin(self._root)
        self._crew.finish()
        with contextlib.suppress(OSError):  # then all is looked at anew the next time
            known.save()

    def _ruled(self) -> Ruled:
        """The runs of each rule, with what links lead to, and those of none at the end."""
        gathered = self._gathered
        found: list[list[Run]] = [[] for _ in (*self.rules, None)]
        for path, there in sorted(
            linked(gathered.places, gathered.links, self._mounted_at).items()
        ):
            for run in there.runs:
                blind = f"links may be missed: {gathered.blind}" if gathered.blind else ""
                found[gathered.rules[path]].append(left_alone(run, blind))
        self._unruled = found.pop()
        return list(zip(self.rules, found, strict=True))

    def _walked(self, ruled: Ruled, planned: Sequence[RulePlan]) -> Ruled:
        """With all that is doomed, or of which the size is needed, looked at whole."""
        wanted: dict[str, set[tuple[str, ...]]] = {}
        for (rule, runs), decided in zip(ruled, planned, strict=True):
            for run, said in zip(runs, decided.runs, strict=True):
                names = {doomed.names for doomed in said.delete}
                if self._sizes or rule.max_size is not None:
                    names = {unit.names for unit in run.units}
                if names:
                    wanted.setdefault(run.path, set()).update(names)
        wholes = self._wholes(wanted)
        return [
            (rule, [walked(run, wholes[run.path]) if run.path in wholes else run for run in runs])
            for rule, runs in ruled
        ]

    def _wholes(
        self, wanted: Mapping[str, set[tuple[str, ...]]]
    ) -> dict[str, dict[tuple[str, ...], Whole]]:
        """Raises GivenUpError."""
        found: dict[str, dict[tuple[str, ...], Whole]] = {}
        count = sum(map(len, wanted.values()))
        threads = self._threads // count if count else 0
        for path, units in sorted(wanted.items(), reverse=True):
            found[path] = {}
            self._crew.add(partial(self._whole, path, units, found[path], threads))
        self._crew.finish()
        return found

    def _whole(
        self,
        path: str,
        units: set[tuple[str, ...]],
        found: dict[tuple[str, ...], Whole],
        threads: int,
    ) -> None:
        """The units of one directory, if it still is the same one."""
        with contextlib.suppress(MetError):
            run = descend(self._root, path)
            if run is None:
                return
            level = Level(run)
            try:
                if run.stat.inode != self._gathered.inodes[path]:
                    return
                for names in sorted(units, reverse=True):
                    level.use()
                    self._crew.add(partial(self._unit, level, names, found, threads))
            finally:
                level.release()

    def _unit(
        self,
        level: Level,
        names: tuple[str, ...],
        found: dict[tuple[str, ...], Whole],
        threads: int,
    ) -> None:
        try:
            path = os.path.join(level.view.path, names[0])
            tick = partial(self._gathered.looked, path=path)
            found[names] = whole.look(level.view.descriptor, names, threads, tick)
        except whole.UncertainError as error:
            why = f"can't be looked at whole: {error}"
            found[names] = Whole("", 0.0, None, skipped=why)
        finally:
            level.release()

    def rows(self, planned: Sequence[RulePlan]) -> Iterator[Row]:
        """Of all that was found."""
        for number, decided in enumerate(planned):
            for run in decided.runs:
                yield from rows(number, run)
            for said in decided.findings:
                yield {"told": said, "rule": number}
        for unruled in self._unruled:
            yield from rows(NO_RULE, _described(unruled))
        for number, path, reason in self._gathered.failed:
            yield {"failed": path, "rule": number, "reason": reason}
        yield {"whole": True}


def _described(run: Run) -> RunPlan:
    """A run that no rule is about."""
    kept = [Kept(os.path.join(run.path, u.names[0]), u.step, _state(u)) for u in run.units]
    odd = [Skipped(os.path.join(run.path, name), reason) for name, reason in run.odd]
    return RunPlan(run.path, run.family, tuple(kept), (), tuple(odd), run.records.findings)


def _state(unit: Unit) -> tuple[str, ...]:
    is_complete = "complete" if unit.complete else f"incomplete ({unit.why})"
    return (is_complete, "no rule is about it")


def _tell(looked: int, at: str) -> None:
    channel.emit({"looked": looked, "at": at[-4096:]})


def _list(request: Row, key: str) -> list:  # type: ignore[type-arg]
    found = request[key]
    if not isinstance(found, list):
        raise TypeError(f"{key} is no list")
    return found

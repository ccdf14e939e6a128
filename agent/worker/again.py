"""Looks at one run again, just before something of it is moved and just after.

All is decided anew with what is there now: the plan of the whole volume, with this run as it is. So
what moves is what the plan would move at that moment, and nothing is decided in a second way.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial

from agent.retention.assemble import Looked, Whole, walked
from agent.retention.facts import Run, Space
from agent.retention.formats.registry import FAMILIES
from agent.retention.links import Link, Place, linked
from agent.retention.plan import plan
from agent.retention.planned import RunPlan
from agent.retention.policy import Rule
from agent.worker import whole
from agent.worker.bases import descend
from agent.worker.clock import Clock
from agent.worker.crew import Crew
from agent.worker.gather import Gathered, Level
from agent.worker.known import Known
from agent.worker.quicklook import KEEP
from agent.worker.search import Search
from agent.worker.view import Directory, MetError

Ruled = Sequence[tuple[Rule, Sequence[Run]]]


class Basis:
    """What a survey of the volume found: the runs of each rule, and all that they were judged by.

    bases: the directories of the rules themselves.
    """

    def __init__(
        self,
        root: Directory,
        ruled: Ruled,
        space: Space | None,
        gathered: Gathered,
        bases: Mapping[str, int],
        mounted_at: str,
        clock: Clock,
    ) -> None:
        self.root = root
        self.ruled = ruled
        self.space = space
        self.gathered = gathered
        self.bases = bases
        self.mounted_at = mounted_at
        self.clock = clock


class _One(Search):
    """Of a single directory: nothing below it is searched. looked: what was looked at in it.

    moved: names that were in it before, with what was seen then: they count as though they were.
    """

    moved: Sequence[Looked] = ()
    looked: Sequence[Looked] = ()

    def beside(self) -> list[Looked]:
        """As Search says."""
        return list(self.moved)

    def end(self, looked: Sequence[Looked]) -> None:
        """As Search says."""
        self.looked = looked

    def only(self, view: Directory, rule: int, *, is_base: bool) -> None:
        """Look at it, and close it. Raises GivenUpError."""
        level = Level(view)
        try:
            depth = 0 if is_base else 1
            self.look(level, rule, depth, [True, depth, self.trusted.get(rule)])
        finally:
            level.release()

    def enter(self, level: Level, name: str, rule: int, depth: int, *, hunt: bool) -> None:
        """As Search says, but for the depth."""


class Again:
    """The second looks of one pass."""

    def __init__(self, basis: Basis) -> None:
        self._basis = basis
        self._before: Sequence[Looked] = ()

    def looked(self, names: int, path: str) -> None:
        """So many more were looked at: whoever waits is told now and then."""
        self._basis.gathered.looked(names, path)

    def speaks_against(self, path: str, run: int, here: int, names: list[str]) -> str:
        """Why names of the run at that path must stay, "" if nothing says so.

        run: a descriptor of the run; here: of the directory where the names are now, which is the
        run's own before they are moved. Raises OSError, GivenUpError.
        """
        moved = [each for each in self._before if each.name in names] if here != run else []
        runs = self._runs(path, run, moved)
        if runs is None:
            return "its run can't be looked at any more"
        if here != run and (pin := _pin_beside(run, names)):
            return pin
        return self._planned(path, here, runs, tuple(names))

    def _runs(self, path: str, run: int, moved: Sequence[Looked]) -> list[Run] | None:
        """Those in the directory, as they are now; None where it is another one, or unreadable.

        moved: what was in it just before, and is judged as though it still were.
        """
        basis = self._basis
        rule = basis.gathered.rules[path]
        fresh = Gathered(lambda _looked, at: self.looked(1, at))
        try:
            view = descend(basis.root, path)
            if view is None:
                return None
            if view.stat.inode != os.fstat(run).st_ino:
                view.close()
                return None
            self._look(view, rule, fresh, moved)
        except MetError:
            return None
        if fresh.failed or path not in fresh.places:
            return None
        places: dict[str, Place] = {**basis.gathered.places, path: fresh.places[path]}
        names = fresh.places[path].names
        links = [link for link in basis.gathered.links if not _is_past(link, path, names)]
        return list(linked(places, links + fresh.links, basis.mounted_at)[path].runs)

    def _look(self, view: Directory, rule: int, fresh: Gathered, moved: Sequence[Looked]) -> None:
        """Raises MetError, GivenUpError."""
        bases = self._basis.bases
        trusted = {number: each.format for number, (each, _) in enumerate(self._basis.ruled)}
        crew = Crew(0)
        try:
            search = _One(crew, fresh, FAMILIES, trusted, bases, Known(""))
            search.moved = moved
            search.only(view, rule, is_base=view.path in bases)
            crew.finish()
            self._before = search.looked
        finally:
            crew.close()

    def _planned(self, path: str, here: int, runs: list[Run], names: tuple[str, ...]) -> str:
        """What the whole plan says with this run as it is. here: where the names are."""
        try:
            tick = partial(self.looked, path=path)
            now = {names: whole.look(here, names, tick=tick)}
        except whole.UncertainError as error:
            return str(error)
        number = self._basis.gathered.rules[path]
        ruled = list(self._basis.ruled)
        rule, before = ruled[number]
        wholes = _wholes(before, path) | now
        others = [each for each in before if each.path != path]
        ruled[number] = (rule, [*others, *(walked(each, wholes) for each in runs)])
        planned = plan(ruled, now=self._basis.clock.now(), space=self._basis.space, whole=True)
        return _stays(planned[number].runs, path, names)


def _is_past(link: Link, path: str, names: frozenset[str]) -> bool:
    """Whether it was found in the run itself, which was looked at anew, or in what has left it."""
    if not link.directory.startswith(f"{path}/"):
        return link.directory == path
    return link.directory[len(path) + 1 :].partition("/")[0] not in names


def _wholes(runs: Sequence[Run], path: str) -> dict[tuple[str, ...], Whole]:
    """What is known of the checkpoints of a directory that were walked."""
    return {
        unit.names: Whole(unit.fingerprint, unit.newest, unit.size, unit.busy, unit.skipped)
        for run in runs
        if run.path == path
        for unit in run.units
        if unit.walked
    }


def _stays(runs: Sequence[RunPlan], path: str, names: tuple[str, ...]) -> str:
    """Why they are not planned to go, "" if they are."""
    for run in runs:
        if run.path != path:
            continue
        if any(doomed.names == names for doomed in run.delete):
            return ""
        for kept in run.keep:
            if kept.path == os.path.join(path, names[0]):
                return kept.reasons[0]
    return "it is not what was planned to go any more"


def _pin_beside(run: int, names: list[str]) -> str:
    """A pin that came about meanwhile. One in a checkpoint itself has changed that."""
    for name in names:
        if os.path.lexists(f"/proc/self/fd/{run}/{name}{KEEP}"):
            return f"pinned by {name}{KEEP}"
    return ""

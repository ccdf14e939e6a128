"""Finds the runs below the directories of rules, and every symbolic link there.

Runs are found to a depth of 6, never inside a checkpoint or a dot-directory; links are found in
these too, and deeper: one that is missed could cost what it leads to.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial

from agent.retention.assemble import Looked, groups
from agent.retention.assemble import run as assembled
from agent.retention.facts import Named, Records, Run
from agent.retention.formats.family import Family
from agent.retention.links import Place
from agent.retention.view import DIRECTORY, LINK, Entry, UnreadableError
from agent.worker import own
from agent.worker.bases import DEPTH, descend
from agent.worker.crew import Crew
from agent.worker.gather import Gathered, Level
from agent.worker.known import Known, Note, Recalled, holds, state
from agent.worker.quicklook import KEEP, Memory, Scan, look, matching
from agent.worker.view import TOO_MANY, Directory, MetError

DEEPEST = 64
"""Levels below a rule's directory in which links are found; what lies deeper is told."""


class Search:
    """families: in the order they are asked. trusted: by rule, the family that needs no evidence.

    bases: path -> rule, of which none is searched for the sake of another.
    """

    def __init__(
        self,
        crew: Crew,
        gathered: Gathered,
        families: Sequence[Family],
        trusted: Mapping[int, str | None],
        bases: Mapping[str, int],
        known: Known,
    ) -> None:
        self.crew = crew
        self.gathered = gathered
        self.families = families
        self.trusted = trusted
        self._bases = bases
        self.known = known

    def begin(self, root: Directory) -> None:
        """Put the search of all bases on the crew's pile."""
        for path, rule in self._bases.items():
            self.crew.add(partial(self._base, root, path, rule))

    def enter(self, level: Level, name: str, rule: int, depth: int, *, hunt: bool) -> None:
        """Have a directory below another one searched; hunt: for runs too."""
        path = os.path.join(level.view.path, name)
        if depth > DEEPEST:
            self.gathered.fail(rule, path, MetError("is deeper than links are looked for"))
        elif name != own.BASE and path not in self._bases:
            self.crew.add(partial(self._below, level.use(), name, rule, depth, hunt=hunt))

    def beside(self) -> list[Looked]:
        """What counts as looked at in a directory, beside what is there."""
        return []

    def end(self, looked: Sequence[Looked]) -> None:
        """All of a directory was looked at, and what is beside it."""

    def _base(self, root: Directory, path: str, rule: int) -> None:
        try:
            view = descend(root, path)
        except MetError as error:
            self.gathered.fail(rule, path, error)
            return
        if view is None:
            self.gathered.fail(rule, path, MetError("there is no such directory"))
        else:
            self._search(view, rule, 0, hunt=True)

    def _below(self, level: Level, name: str, rule: int, depth: int, *, hunt: bool) -> None:
        view = level.view.fork(name)
        view.witness = None  # it has findings of its own
        try:
            below = view.enter(name)
        except MetError as error:
            self.gathered.fail(rule, os.path.join(level.view.path, name), error)
            return
        finally:
            level.release()
        if below is not None:
            self._search(below, rule, depth, hunt=hunt)

    def _search(self, view: Directory, rule: int, depth: int, *, hunt: bool) -> None:
        level = Level(view)
        about: list[object] = [hunt, depth, self.trusted.get(rule)]
        recalled = self.known.recall(view.path, about)
        try:
            if recalled is not None:
                Recall(self, level, rule, depth, recalled).begin()
            else:
                self.look(level, rule, depth, about)
        finally:
            level.release()

    def look(self, level: Level, rule: int, depth: int, about: list[object]) -> None:
        """Look at a directory anew. Raises GivenUpError."""
        hunt = bool(about[0])
        note = Note(level.view, about)
        try:
            self._listed(level, rule, depth, note, hunt=hunt)
        except MetError as error:
            if hunt or error.reason != TOO_MANY:
                self.gathered.fail(rule, level.view.path, error)
            if error.reason == TOO_MANY:
                self._streamed(level, rule, depth, note)

    def _listed(self, level: Level, rule: int, depth: int, note: Note, *, hunt: bool) -> None:
        view = level.view
        entries = view.entries().values()
        self.gathered.looked(len(entries), view.path)
        self.gathered.links_in(view, entries, note)
        found = Candidates(self, level, rule, depth, note)
        for entry in entries:
            if hunt and found.take(entry):
                continue
            if entry.kind == DIRECTORY:
                deeper = hunt and depth < DEPTH and not entry.name.startswith(".")
                note.below.append((entry.name, deeper))
                self.enter(level, entry.name, rule, depth + 1, hunt=deeper)
        found.look()

    def _streamed(self, level: Level, rule: int, depth: int, note: Note) -> None:
        """For the links alone, of a directory with so many names that none is remembered."""
        try:
            for entry in level.view.stream():
                self.gathered.looked(1, level.view.path)
                self.gathered.links_in(level.view, [entry], note)
                if entry.kind == DIRECTORY and depth < DEEPEST:
                    self._below(level.use(), entry.name, rule, depth + 1, hunt=False)
        except MetError as error:
            self.gathered.fail(rule, level.view.path, error)


class Recall:
    """What an earlier survey found in a directory, until all of it was found to be as it was."""

    def __init__(
        self, search: Search, level: Level, rule: int, depth: int, recalled: Recalled
    ) -> None:
        self._search = search
        self._level = level
        self._rule = rule
        self._depth = depth
        self._recalled = recalled
        self._parts = list(recalled.parts())
        self._left = len(self._parts)
        self._holds = True

    def begin(self) -> None:
        """Have all parts compared. Raises GivenUpError."""
        if list(state(self._level.view.stat)) != self._recalled.met.get(""):
            self._holds = False
            self._parts = []
        if not self._parts:
            self._end()
        for name, met in self._parts:
            self._level.use()
            self._search.crew.add(partial(self._compare, name, met))

    def _compare(self, name: str, met: dict[str, list[int]]) -> None:
        try:
            is_as_it_was = self._holds and holds(self._level.view, name, met)
            with self._search.gathered.lock:
                self._holds = self._holds and is_as_it_was
                self._left -= 1
                last = self._left == 0
            if last:
                self._end()
        finally:
            self._level.release()

    def _end(self) -> None:
        search, view, recalled = self._search, self._level.view, self._recalled
        if not self._holds:
            search.look(self._level, self._rule, self._depth, recalled.about)
            return
        search.known.keep(view.path)
        search.gathered.looked(1, view.path)
        for link in recalled.links:
            search.gathered.link(link)
        if recalled.place is not None:
            search.gathered.place(view, self._rule, recalled.place)
        for name, hunt in recalled.below:
            search.enter(self._level, name, self._rule, self._depth + 1, hunt=hunt)


class Candidates:
    """The names in one directory that families match, until all of them were looked at."""

    def __init__(self, search: Search, level: Level, rule: int, depth: int, note: Note) -> None:
        self._search = search
        self._level = level
        self._rule = rule
        self._depth = depth
        self._note = note
        trusted = search.trusted.get(rule)
        self._trusted = trusted
        self._families = [f for f in search.families if trusted in (None, f.name)]
        self._matched: list[tuple[str, Sequence[tuple[Family, Named]]]] = []
        self._staging: list[tuple[str, str]] = []
        self._looked = search.beside()
        self._memory = Memory()
        self._left = 0

    def take(self, entry: Entry) -> bool:
        """Whether a family matches the name, or writes under it."""
        if entry.name.startswith(".") or entry.kind == LINK:
            return False
        matches = matching(self._families, entry)
        if matches:
            self._matched.append((entry.name, matches))
            return True
        writers = [family.name for family in self._families if family.staging(entry)]
        self._staging.extend((name, entry.name) for name in writers)
        if writers and entry.kind == DIRECTORY:
            self._enter(entry.name, hunt=False)
        return bool(writers)

    def look(self) -> None:
        """Have all that was taken looked at."""
        self._left = len(self._matched)
        if not self._matched and self._looked:
            self._finish()
        elif not self._matched:
            self._search.known.note(self._level.view.path, self._note)
        for name, matches in self._matched:
            self._level.use()
            self._search.crew.add(partial(self._look, name, matches))

    def _look(self, name: str, matches: Sequence[tuple[Family, Named]]) -> None:
        search, view = self._search, self._level.view
        levels = DEEPEST - self._depth - 1
        try:
            scan = Scan(search.gathered, self._rule, levels, self._note)
            looked = look(view, name, matches, scan, self._memory)
            last = False
            if looked is None:
                self._note.spoil()
            with search.gathered.lock:
                if looked is not None:
                    self._looked.append(looked)
                self._left -= 1
                last = self._left == 0
            if last:
                self._finish()
        finally:
            self._level.release()

    def _finish(self) -> None:
        view = self._level.view
        self._search.end(self._looked)
        found = groups(sorted(self._looked, key=lambda each: each.name), self._trusted)
        taken = {m.looked.name for group in found for m in group.members}
        for each in self._looked:
            if each.is_directory and each.is_vague and each.name not in taken:
                self._enter(each.name, hunt=self._depth < DEPTH)
        runs: list[Run] = []
        is_base = self._depth == 0 and self._rule >= 0  # where a pin means nothing
        pinned = KEEP if KEEP in view.entries() and not is_base else ""
        by_name = {family.name: family for family in self._families}
        for group in found:
            records = Records()
            try:
                if group.members:
                    records = by_name[group.family].records(view, group.names)
            except UnreadableError as error:
                records = Records(leave=f"can't be read: {error}")
            if records.leave:
                self._note.spoil()
            staging = [(n, "is being written") for f, n in self._staging if f == group.family]
            runs.append(assembled(view.path, group, records, pinned=pinned, staging=staging))
        if runs:
            self._note.place = Place(tuple(runs), frozenset(view.entries()))
            self._search.gathered.place(view, self._rule, self._note.place)
        self._search.known.note(view.path, self._note)

    def _enter(self, name: str, *, hunt: bool) -> None:
        self._note.below.append((name, hunt))
        self._search.enter(self._level, name, self._rule, self._depth + 1, hunt=hunt)

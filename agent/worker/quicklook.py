"""Looks at one checkpoint as far as its name, its listing and its evidence go."""

import math
import os
import threading
from collections.abc import Iterable, Sequence

from agent.retention.assemble import VAGUE, Looked
from agent.retention.facts import Evidence, Named
from agent.retention.formats.family import Family
from agent.retention.view import DIRECTORY, Entry, UnreadableError
from agent.worker.gather import Gathered
from agent.worker.known import Note
from agent.worker.view import TOO_MANY, Directory, MetError
from agent.worker.whole import IN_USE

KEEP = ".keep"
_REMEMBERED = 4 << 20
"""Bytes, roughly, of what is remembered of checkpoints until their run's records are read."""
_LISTED = 20_000
"""Names in one checkpoint that are remembered while it is looked at."""
Matches = Sequence[tuple[Family, Named]]


class Memory:
    """How much of what was seen in checkpoints is kept, so that it need not be asked again."""

    def __init__(self) -> None:
        self._left = _REMEMBERED
        self._lock = threading.Lock()

    def takes(self, size: int) -> bool:
        """Whether there is room for it."""
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
        return True


def matching(families: Iterable[Family], entry: Entry) -> Matches:
    """The families whose checkpoint a name may be, as they are asked."""
    found = ((family, family.named(entry)) for family in families)
    return [(family, named) for family, named in found if named is not None]


def look(
    run: Directory, name: str, matches: Matches, scan: "Scan", memory: Memory
) -> Looked | None:
    """One name in a directory; None where it is gone. Raises GivenUpError."""
    view = run.fork(name)
    is_directory = run.entries()[name].kind == DIRECTORY
    is_vague = all(family.name in VAGUE for family, _ in matches)
    try:
        if not _is_there(view, name, is_directory=is_directory):
            return None
        if is_directory and not is_vague:
            scan.listing(view, name)
        answers = _asked(view, matches)
        is_genuine = any(evidence.genuine for _, evidence in answers)
        if view.seen.mounted or any(evidence.broken for _, evidence in answers):
            scan.note.spoil()
        if is_directory and is_vague and is_genuine:
            scan.listing(view, name)
        looked = Looked(
            name=name,
            answers=answers,
            newest=view.seen.newest / 1e9 or math.inf,  # what can't be told counts as fresh
            pinned=_pinned(view, name, scan),
            busy=scan.busy,
            skipped=f"something else is mounted on {mounted}"
            if (mounted := view.seen.mounted)
            else "",
            is_directory=is_directory,
        )
        if is_genuine and (inside := view.give(name)) is not None:
            _remember(run, name, inside, memory)
        return looked
    finally:
        view.close()


def _is_there(view: Directory, name: str, *, is_directory: bool) -> bool:
    if not is_directory:
        return view.size(name) is not None or bool(view.seen.unreadable)
    try:
        return view.below(name) is not None
    except MetError:
        return True


class Scan:
    """Lists a checkpoint: the links in it, its pin, and what says that it is in use.

    levels: of directories below its own; less than 0: none, for who resumes.
    """

    def __init__(self, gathered: Gathered, rule: int, levels: int, note: Note) -> None:
        self.busy = ""
        self.pinned = False
        self._gathered = gathered
        self._rule = rule
        self.note = note
        self._levels = levels
        self._room = _LISTED

    def listing(self, view: Directory, name: str) -> None:
        """Of a directory in view, and of those below it. Raises GivenUpError."""
        inside = self._entered(view, name)
        if inside is not None:
            self._listing(inside, self._levels)
            self.pinned = KEEP in (inside.entries() if inside.is_listed else ())
        # What links there are is another thing than what the evidence says.
        view.seen.unreadable = ""

    def _entered(self, view: Directory, name: str) -> Directory | None:
        try:
            return view.below(name)
        except MetError as error:
            self._fail(os.path.join(view.path, name), error)
        return None

    def _fail(self, path: str, error: MetError) -> None:
        self.note.spoil()
        self._gathered.fail(self._rule, path, error)

    def _listing(self, inside: Directory, levels: int) -> None:
        try:
            for entry in _entries(inside):
                self._gathered.links_in(inside, [entry], self.note)
                self._room -= 1
                if entry.name.startswith(IN_USE):
                    self.busy = self.busy or entry.name
                if entry.kind == DIRECTORY and levels >= 0:
                    self._below(inside, entry.name, levels)
        except MetError as error:
            self._fail(inside.path, error)
        self._gathered.looked(1, inside.path)
        inside.rest()

    def _below(self, inside: Directory, name: str, levels: int) -> None:
        if not levels:
            too_deep = MetError("is deeper than links are looked for")
            self._fail(os.path.join(inside.path, name), too_deep)
        elif (below := self._entered(inside, name)) is not None:
            self._listing(below, levels - 1)
            if self._room <= 0:
                inside.forget(name)


def _entries(view: Directory) -> Iterable[Entry]:
    """Raises MetError."""
    try:
        return view.entries().values()
    except MetError as error:
        if error.reason != TOO_MANY:
            raise
        return view.stream()


def _asked(view: Directory, matches: Matches) -> tuple[tuple[Named, Evidence], ...]:
    """What the families say, up to the first that knows it for its own."""
    answers: list[tuple[Named, Evidence]] = []
    for family, named in matches:
        view.seen.unreadable = ""
        try:
            evidence = family.evidence(view, named)
        except UnreadableError as error:
            evidence = Evidence(genuine=False, complete=False, why=str(error), broken=True)
        if view.seen.unreadable and evidence.complete:
            why, genuine = view.seen.unreadable, evidence.genuine
            evidence = Evidence(genuine=genuine, complete=False, why=why, broken=True)
        answers.append((named, evidence))
        if evidence.genuine:
            break
    return tuple(answers)


def _pinned(view: Directory, name: str, scan: Scan) -> str:
    if scan.pinned:
        return f"{name}/{KEEP}"
    return f"{name}{KEEP}" if f"{name}{KEEP}" in view.entries() else ""


def _remember(run: Directory, name: str, inside: Directory, memory: Memory) -> None:
    """Until the run's records were read, which often stand in its checkpoints."""
    if memory.takes(inside.rest()):
        run.keep(name, inside)
    else:
        inside.close()

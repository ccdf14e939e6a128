"""The directories that the rules of a volume are about, found by descriptors."""

import itertools
from collections.abc import Iterator, Sequence

from agent.config.patterns import is_literal, matches, specificity
from agent.retention.view import DIRECTORY
from agent.worker import own
from agent.worker.view import Directory, MetError

DEPTH = 6
"""Levels below a rule's directory in which runs are found."""
_MOST = 20_000
"""Directories that the pattern of one rule may stand for."""


class Bases:
    """rules: the patterns, by their number. found: path -> number of the rule that holds there.

    failed: (rule, path, why) of what could not be looked at.
    """

    def __init__(self, root: Directory, rules: Sequence[str]) -> None:
        """Raises GivenUpError."""
        self.failed: list[tuple[int, str, MetError]] = []
        self._rules = rules
        named: dict[str, int] = {}
        for number, pattern in enumerate(rules):
            for path in self._matching(root, number, pattern):
                if path not in named or self._rank(number) > self._rank(named[path]):
                    named[path] = number
        self.found: dict[str, int] = {}
        for path in sorted(named, key=lambda path: path.count("/")):
            if not self._is_held(path, named[path]):
                self.found[path] = named[path]

    def _rank(self, number: int) -> int:
        return specificity(self._rules[number])

    def hold(self, path: str) -> bool:
        """Whether a rule reaches down to a path."""
        return path in self.found or self._above(path) is not None

    def _above(self, path: str) -> int | None:
        """The rule that reaches down to a path from a directory above."""
        parts = path.split("/")
        for count in range(len(parts) - 1, max(0, len(parts) - 1 - DEPTH), -1):
            above = self.found.get("/".join(parts[:count]))
            if above is not None:
                return above
        return None

    def _is_held(self, path: str, number: int) -> bool:
        """Whether a more specific rule reaches down to it."""
        above = self._above(path)
        return above is not None and self._rank(above) >= self._rank(number)

    def _matching(self, root: Directory, number: int, pattern: str) -> list[str]:
        found: list[str] = []
        below = _below(root, pattern.split("/"), self.failed, number)
        try:
            found += itertools.islice(below, _MOST + 1)
        except MetError as error:
            self.failed.append((number, pattern, error))
        if len(found) > _MOST:
            too_many = MetError(f"stands for more than {_MOST} directories")
            self.failed.append((number, pattern, too_many))
        elif not found and not any(each[0] == number for each in self.failed):
            self.failed.append((number, pattern, MetError("there is no such directory")))
        return found[:_MOST]


def _below(
    view: Directory, parts: Sequence[str], failed: list[tuple[int, str, MetError]], number: int
) -> Iterator[str]:
    """The paths that parts of a pattern stand for. Raises MetError, GivenUpError."""
    if not parts:
        yield view.path
        return
    part, *rest = parts
    names = [part]
    if not is_literal(part):
        listed = view.entries().values()
        names = sorted(e.name for e in listed if e.kind == DIRECTORY and matches(part, e.name))
    for name in names:
        if name == own.BASE:
            continue
        try:
            below = view.enter(name)
            if below is None:
                continue
            try:
                yield from _below(below, rest, failed, number)
            finally:
                below.close()
        except MetError as error:
            failed.append((number, f"{view.path}/{name}".lstrip("/"), error))


def descend(root: Directory, path: str) -> Directory | None:
    """The directory of a path, the caller's to close; None where it is gone.

    Raises MetError, GivenUpError.
    """
    here = root.fork("")
    for name in filter(None, path.split("/")):
        try:
            below = here.enter(name)
        finally:
            here.close()
        if below is None:
            return None
        here = below
    return here

"""CHANGELOG.md read: its form is that of https://keepachangelog.com. Pure."""

import itertools
import re
from dataclasses import dataclass
from datetime import date, datetime

import versions
from versions import Problem, Version

CHANGELOG = "CHANGELOG.md"

_HEADING = re.compile(r"## \[(?P<name>[^\]]+)\](?: - (?P<when>\S+))?")
_REFERENCE = re.compile(r"\[[^\]]+\]: \S+")  # where a link leads, at the end of a document
_BULLET = re.compile(r"( *)[-*] +(.*)")


@dataclass
class Item:
    """A bullet, its lines joined; depth 0 is the outermost."""

    depth: int
    text: str


@dataclass(frozen=True)
class Entry:
    """What stands below a heading of CHANGELOG.md."""

    line: int
    version: Version | None  # None: [Unreleased]
    day: date | None  # None: unreleased
    items: tuple[Item, ...]

    @property
    def where(self) -> str:
        """Its place, for errors."""
        return f"{CHANGELOG}:{self.line}"


def parse(text: str) -> list[Entry]:
    """All entries, newest first. Raises Problem."""
    lines = text.splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith("## ")]
    if not starts:
        raise Problem(f"{CHANGELOG}: has no version; write '## [Unreleased]' and the changes below")
    ends = [*starts[1:], len(lines)]
    entries = [_entry(start, lines[start:end]) for start, end in zip(starts, ends, strict=True)]
    for newer, older in itertools.pairwise(entries):
        _check_order(newer, older)
    return entries


def _check_order(newer: Entry, older: Entry) -> None:
    if older.version is None or older.day is None:
        raise Problem(f"{older.where}: what is unreleased stands on top, and only there")
    if newer.version is not None and newer.version <= older.version:
        raise Problem(f"{older.where}: {older.version} stands below {newer.version}; newest first")
    if newer.day is not None and newer.day < older.day:
        raise Problem(f"{newer.where}: {newer.day} is before the day of {older.version}")


def _entry(index: int, lines: list[str]) -> Entry:
    where = f"{CHANGELOG}:{index + 1}"
    found = _HEADING.fullmatch(lines[0].rstrip())
    if found is None:
        raise Problem(f"{where}: write '## [0.1.0] - 2026-01-31', or Unreleased in place of either")
    name, when = found["name"], found["when"]
    version = None if name.lower() == "unreleased" else versions.parse(name, where)
    if (version is None) != (when is None):
        raise Problem(f"{where}: a version needs its day or 'Unreleased'; [Unreleased] has none")
    return Entry(index + 1, version, _day(when, where), _items(lines[1:]))


def _day(when: str | None, where: str) -> date | None:
    if when is None or when.lower() == "unreleased":
        return None
    try:
        return datetime.strptime(when, "%Y-%m-%d").date()  # noqa: DTZ007 - a day has no zone
    except ValueError as error:
        raise Problem(f"{where}: not a day: {when!r}; write 2026-01-31") from error


def _items(lines: list[str]) -> tuple[Item, ...]:
    """The bullets; those below '### Added' stand one deeper, below a bullet 'Added:'.

    A paragraph counts as a bullet. A kind without bullets is left out.
    """
    items: list[Item] = []
    kind: str | None = None  # until its first bullet
    base = 0
    last: Item | None = None  # until an empty line
    for line in lines:
        bullet = _BULLET.fullmatch(line)
        if line.startswith("### "):
            kind, base, last = line[4:].strip(), 1, None
        elif not line.strip() or _REFERENCE.fullmatch(line):
            last = None
        elif last is not None and bullet is None:
            last.text += " " + line.strip()
        else:
            if kind is not None:
                items.append(Item(0, f"{kind}:"))
                kind = None
            indent, text = (len(bullet[1]), bullet[2]) if bullet else (0, line)
            last = Item(base + indent // 2, text.strip())
            items.append(last)
    return tuple(items)

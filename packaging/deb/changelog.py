#!/usr/bin/python3
"""debian/changelog for one Debian release, made of CHANGELOG.md: deb-changelog(5)."""

import argparse
import os
import re
import sys
import textwrap
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from email.utils import format_datetime
from pathlib import Path

import versions
from keepachangelog import CHANGELOG, Entry, Item, parse
from versions import INIT, RELEASES, REPOSITORY, Problem, Version

PACKAGE = "gluster-ml-agent"
CONTROL = "packaging/deb/debian/control"
WIDTH = 79

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_BOLD = re.compile(r"\*\*(.+?)\*\*")


def released(entries: list[Entry], declared: Version) -> list[tuple[Version, Entry]]:
    """The entries that make the changelog, with their versions, newest first.

    declared: the version of the checkout, which an entry [Unreleased] takes. Raises Problem.
    """
    top, *older = entries
    if top.version is None and not top.items:  # kept on top for the next change
        if not older:
            raise Problem(f"{top.where}: has no changes; say what is new")
        return released(older, declared)
    if top.version is None:
        top = replace(top, version=declared)
        if older and older[0].version is not None and declared <= older[0].version:
            raise Problem(
                f"{top.where}: has changes, but {INIT} still says {declared}, which is released"
                f" ({older[0].where}); set __version__ to the coming version"
            )
    if top.version != declared:
        raise Problem(f"{top.where}: is about {top.version}, {INIT} says {declared}; make them one")
    for entry in (top, *older):
        if not entry.items:
            raise Problem(f"{entry.where}: {entry.version} has no changes; say what is new")
    return [(entry.version, entry) for entry in (top, *older) if entry.version is not None]


def render(
    entries: list[tuple[Version, Entry]],
    codename: str,
    maintainer: str,
    unreleased: datetime | None,
) -> str:
    """The text of debian/changelog.

    maintainer: Name <address>. unreleased: the time of the entry that has no day yet. Raises
    Problem.
    """
    days = [entry.day for _, entry in entries]
    return "\n".join(
        f"{PACKAGE} ({version.debian(codename)}) {codename}; urgency=medium\n"
        f"\n{plain(entry.items)}\n\n"
        f" -- {maintainer}  {format_datetime(_moment(entry, days[index + 1 :], unreleased))}\n"
        for index, (version, entry) in enumerate(entries)
    )


def _moment(entry: Entry, older: list[date | None], unreleased: datetime | None) -> datetime:
    """Midnight of its day; a minute later for each older version of that day, as time goes."""
    if entry.day is not None:
        midnight = datetime.combine(entry.day, time(), UTC)
        return midnight + timedelta(minutes=older.count(entry.day))
    if unreleased is None:
        raise Problem(
            f"{entry.where}: is unreleased, so its time is missing; pass --date SECONDS, the"
            " commit's: git log -1 --format=%ct"
        )
    return unreleased


def plain(items: tuple[Item, ...]) -> str:
    """The bullets without Markdown, wrapped."""
    return "\n".join(line for item in items for line in _bullet(item))


def _bullet(item: Item) -> list[str]:
    indent = " " * (2 + 2 * item.depth)
    mark = "*-+"[min(item.depth, 2)]
    text = _BOLD.sub(r"\1", _LINK.sub(r"\1", item.text))
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"{indent}{mark} ",
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def maintainer(control: str) -> str:
    """The Maintainer of the text of debian/control. Raises Problem."""
    found = re.search(r"^Maintainer: *(\S.* <\S+@\S+>)$", control, re.MULTILINE)
    if found is None:
        raise Problem(f"{CONTROL}: needs a line 'Maintainer: Name <address>'")
    return found[1]


def generate(root: Path, codename: str, unreleased: datetime | None) -> str:
    """debian/changelog of the checkout at root. Raises Problem, OSError."""
    entries = parse((root / CHANGELOG).read_text(encoding="utf-8"))
    control = (root / CONTROL).read_text(encoding="utf-8")
    declared = versions.of_checkout(root)
    return render(released(entries, declared), codename, maintainer(control), unreleased)


def main(arguments: list[str]) -> int:
    """Print it; 1 and one line on standard error where that can't be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", choices=RELEASES, required=True, help="of Debian")
    parser.add_argument(
        "--date",
        type=int,
        metavar="SECONDS",
        default=os.environ.get("SOURCE_DATE_EPOCH"),
        help="when an unreleased version was made, since the epoch; default: $SOURCE_DATE_EPOCH",
    )
    asked = parser.parse_args(arguments)
    unreleased = None if asked.date is None else datetime.fromtimestamp(asked.date, UTC)
    try:
        text = generate(REPOSITORY, asked.release, unreleased)
    except (Problem, OSError) as error:
        print(f"changelog: {error}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

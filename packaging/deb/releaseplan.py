"""What a release changes, and whether it may be: pure."""

import re
from dataclasses import dataclass
from datetime import date

import versions
from changelog import plain
from keepachangelog import CHANGELOG, Entry, parse
from versions import INIT, Problem, Version


@dataclass(frozen=True)
class State:
    """A checkout before the release."""

    branch: str  # "": a detached HEAD
    changes: tuple[str, ...]  # the lines of `git status --porcelain`
    tags: frozenset[str]
    changelog: str  # texts of the two files
    init: str


@dataclass(frozen=True)
class Plan:
    """What the release writes."""

    version: Version
    files: dict[str, str]  # path below the checkout -> its text
    subject: str  # of the commit
    tag: str
    notes: str  # the tag's message


def plan(state: State, wanted: str, today: date) -> Plan:
    """The release of version `wanted`. today: in UTC. Raises Problem where it may not be."""
    version = versions.parse(wanted, "make release VERSION=...")
    tag = f"v{version}"
    _check_tree(state)
    if tag in state.tags:
        raise Problem(f"the tag {tag} exists: {version} is released; take a higher version")
    entries = parse(state.changelog)
    top = entries[0]
    _check_entries(top, version)
    _check_higher(state, entries, version)
    return Plan(
        version=version,
        files={
            CHANGELOG: _with_heading(state.changelog, top, f"## [{version}] - {today.isoformat()}"),
            INIT: versions.declare(state.init, version),
        },
        subject=f"Version {version}",
        tag=tag,
        notes=f"gluster-ml-agent {version}\n\n{plain(top.items)}\n",
    )


def _check_tree(state: State) -> None:
    if not state.branch:
        raise Problem("HEAD is on no branch, so nothing could be pushed; git switch to one")
    if state.changes:
        shown = ", ".join(line[3:] for line in state.changes[:5])
        more = f" and {len(state.changes) - 5} more" if len(state.changes) > 5 else ""
        raise Problem(f"the tree has changes: {shown}{more}; commit them or take them out")


def _check_entries(top: Entry, version: Version) -> None:
    if top.day is not None and top.version == version:
        raise Problem(
            f"{top.where}: {version} has its day, but no tag v{version} is here. Without the tags:"
            " git fetch --tags. If a release was cut off: git reset --keep HEAD^, and again"
        )
    if top.day is not None or not top.items:
        raise Problem(
            f"{top.where}: nothing is written about {version}; put '## [Unreleased]' on top, and"
            " below it what is new"
        )


def _check_higher(state: State, entries: list[Entry], version: Version) -> None:
    """Higher than all that is released, and not lower than the tree says it is."""
    declared = versions.declared(state.init)
    planned = entries[0].version or declared
    if version < max(planned, declared):
        raise Problem(f"{version} is lower than {max(planned, declared)}, which the tree is on")
    numbers = [tag.removeprefix("v") for tag in state.tags if re.match(r"v\d", tag)]
    released = [entry.version for entry in entries[1:] if entry.version is not None]
    released += [versions.parse(text, f"tag v{text}") for text in numbers]
    newest = max(released, default=None)
    if newest is not None and version <= newest:
        raise Problem(f"{version} is not higher than {newest}, which is released")


def _with_heading(text: str, entry: Entry, heading: str) -> str:
    lines = text.splitlines(keepends=True)
    lines[entry.line - 1] = f"{heading}\n"
    return "".join(lines)

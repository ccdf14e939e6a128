"""The remap's code run in this process over a tree, and what hostile users do to that tree.

The paths are relative where the user is at work: what leads to them may be closed to him.
"""

import contextlib
import functools
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from agent.worker import channel, remap
from tests.system.layout_tree import Interrupt

OLD, NEW, OLD_GROUP, NEW_GROUP = 51001, 52001, 51002, 52002
FORTH = ({OLD: NEW}, {OLD_GROUP: NEW_GROUP})
BACK = ({NEW: OLD}, {NEW_GROUP: OLD_GROUP})
ODD = "\x1b[2J\nforged"
MOUNTED = "something else is mounted there"
Exchange = tuple[Mapping[int, int], Mapping[int, int]]


@dataclass(frozen=True)
class Told:
    """What a pass said. counts: its last ones, None where it did not come to an end."""

    counts: Mapping[str, Any] | None
    problems: tuple[tuple[str, str], ...]

    @property
    def reasons(self) -> set[str]:
        return {why for _, why in self.problems}


def run_pass(path: Path, ids: Exchange, threads: int = 0) -> Told:
    """One whole pass over a tree, by the worker's own code."""
    rows: list[dict[str, Any]] = []
    request: dict[str, object] = {
        "path": str(path),
        "device": None,
        "uids": ids[0],
        "gids": ids[1],
        "dry": False,
        "threads": threads,
        "after": "",
        "gentle": False,
        "turn": None,
    }
    with mock.patch.object(channel, "emit", rows.append):
        remap.answer(request)
    ends = [row for row in rows if row.get("whole")]
    problems = tuple((row["path"], row["problem"]) for row in rows if "problem" in row)
    return Told(ends[0] if ends else None, problems)


def owner(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid


ETC = (Path("/etc"), Path("/etc/passwd"), Path("/etc/shadow"))
LEVELS = {"tree": "home/tree", "house": "home/tree/house", "room": "home/tree/house/room"}
LEVELS["thing"] = f"{LEVELS['room']}/thing"
WAYS = ("outside", "etc", "decoy", "hard-link", "pipe", "gone")
ATTACKS = tuple((level, way) for level in LEVELS for way in WAYS)
ON_THE_WAY = "a symbolic link is on the way; name the real path"
NO_DIRECTORY = "Not a directory"
NOT_THERE = "No such file or directory"
INSIDE = 5
"""Names of the tree that have the old ids, itself included; and then there is the odd one."""


def reasons_of(level: str, way: str) -> set[str]:
    """What is told of an attack at one or the other step of a pass."""
    if way == "decoy" or level == "thing" or (way == "gone" and level != "tree"):
        return set()  # a user may do so with his own, and the pass finds nothing amiss
    if level != "tree":
        return {NO_DIRECTORY}
    return {"outside": {ON_THE_WAY}, "etc": {ON_THE_WAY}, "gone": {NOT_THERE}}.get(
        way, {NO_DIRECTORY}
    )


class Swap(Interrupt):
    CALLS = ("open", "scandir", "stat", "fstat", "chown", "chmod", "getxattr", "setxattr")


class Patches(contextlib.ExitStack):
    """What pytest's monkeypatch does; pytest is not where this runs in the lab."""

    def setattr(self, target: object, name: str, value: object) -> None:
        self.enter_context(mock.patch.object(target, name, value))


class Ground:
    """A tree whose every name users can swap, and beside it what no pass may touch.

    outside: has the old ids, too, and the same names; rootfile: root's, but can be linked to;
    decoys: the user's own, for him to put into the places of the tree's; aside: where what was
    there is meanwhile.
    """

    def __init__(self, top: Path) -> None:
        self.top = top
        self.outside = top / "outside"
        self.rootfile = top / "rootfile"
        self.aside = top / "aside"
        self.decoys = top / "decoys"
        self.tree = top / LEVELS["tree"]
        self.odd = self.tree / ODD
        self.stop = top / "stop"
        self.begun = self.aside / "begun"

    def make(self) -> None:
        """All of it, with the old ids."""
        self.rootfile.touch()
        self.rootfile.chmod(0o666)
        self.aside.mkdir()
        self.aside.chmod(0o777)
        for base in ("", "outside", "decoys"):
            for level, inside in LEVELS.items():
                path = self.top / base / (level if base == "decoys" else inside)
                if level == "thing":
                    path.touch()
                else:
                    path.mkdir(parents=True)
        self.odd.mkdir()
        (self.tree / "house/other").touch()
        for top in (self.outside, self.decoys, self.top / "home"):
            for path in (top, *sorted(top.rglob("*"))):
                os.chown(path, OLD, OLD_GROUP)
                path.chmod(0o777)

    def outsiders(self) -> dict[str, tuple[int, ...]]:
        """What must stay as it is, whatever happens; hard links change other things of a file."""
        seen = [self.outside, *sorted(self.outside.rglob("*"))]
        whole: dict[str, tuple[int, ...]] = {
            str(path): (s.st_ino, s.st_uid, s.st_gid, s.st_mode, s.st_mtime_ns, s.st_ctime_ns)
            for path in seen
            for s in [path.lstat()]
        }
        kept: dict[str, tuple[int, ...]] = {
            str(path): (*owner(path), path.stat().st_mode) for path in (self.rootfile, *ETC)
        }
        return whole | kept

    def insiders(self) -> set[tuple[int, int]]:
        """The owners of all that is the tree's, when all is in its place."""
        paths = [self.tree, *self.tree.rglob("*")]
        return {owner(path) for path in paths if self.odd not in (path, *path.parents)}

    def attack(self, level: str, way: str) -> None:
        """Put something else into the place of a name. Raises OSError."""
        place = self.top / LEVELS[level]
        place.rename(self.aside / level)
        match way:
            case "outside":
                place.symlink_to(self.outside.absolute() / LEVELS[level])
            case "etc":
                place.symlink_to("/etc/shadow" if level == "thing" else "/etc")
            case "decoy":
                (self.decoys / level).rename(place)
            case "hard-link":
                os.link(self.rootfile, place)
            case "pipe":
                os.mkfifo(place)

    def restore(self) -> None:
        """Put back what an attack, or half of one, has moved. Raises OSError."""
        for level, inside in LEVELS.items():
            kept, place = self.aside / level, self.top / inside
            if not kept.exists():
                continue
            with contextlib.suppress(FileNotFoundError):
                if (decoy := self.decoys / level).exists():
                    place.unlink()
                else:
                    place.rename(decoy)
            kept.rename(place)

    def disturb(self, chance: random.Random) -> int:
        """Attack and restore as fast as it goes, as the user, until told to stop; how often."""
        os.setgroups([])
        os.setgid(OLD_GROUP)
        os.setuid(OLD)
        rounds = 0
        while not self.stop.exists():
            self._disturb_once(chance)
            rounds += 1
            if rounds == len(ATTACKS):
                self.begun.touch()
        return rounds

    def _disturb_once(self, chance: random.Random) -> None:
        attack = functools.partial(self.attack, *chance.choice(ATTACKS))
        for step in (attack, self.restore):
            with contextlib.suppress(OSError):  # names of a volume can be out of reach for a while
                step()
            for _ in range(chance.randrange(3000)):
                pass

    def steps(self, level: str, way: str) -> tuple[int, set[str]]:
        """Passes forth and back, with the attack before each of their system calls in turn.

        How many passes, and what they told. Raises AssertionError.
        """
        before, reasons = self.outsiders(), set()
        at, happened = 0, True
        while happened:
            at += 1
            ids, new = (FORTH, (NEW, NEW_GROUP)) if at % 2 else (BACK, (OLD, OLD_GROUP))
            swap = Swap(at, lambda: self.attack(level, way))
            with Patches() as patches:
                swap.wrap(patches)
                told = run_pass(self.tree, ids)
            happened = swap.happened
            reasons |= told.reasons - {MOUNTED}
            self.restore()
            assert self.outsiders() == before, (level, way, at)
            run_pass(self.tree, ids)
            assert self.insiders() == {new}, (level, way, at)
        return at, reasons

    def rounds(self, count: int, threads: int) -> dict[str, Any]:
        """Passes over the tree forth and back, while somebody disturbs them."""
        reasons: dict[str, int] = {}
        whole = changed = 0
        for number in range(count):
            told = run_pass(self.tree.absolute(), BACK if number % 2 else FORTH, threads)
            for why in told.reasons:
                reasons[why] = reasons.get(why, 0) + 1
            if told.counts is not None:
                whole += 1
                changed += told.counts["changed"]
        return {"reasons": reasons, "whole": whole, "changed": changed}

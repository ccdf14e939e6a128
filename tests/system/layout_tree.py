"""The layout's code run in this process on a local directory, and what hostile users do to it."""

import asyncio
import contextlib
import os
import random
import shutil
import stat
import subprocess
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import Any, cast

from agent.config.identities_schema import IdentitiesConfig
from agent.config.layout_schema import LayoutConfig
from agent.layout.apply import Outcome, Pass
from agent.layout.plan import Mend
from agent.layout.seen import OddNames
from agent.model.mount import MountEntry
from agent.system.children import Children
from agent.worker import layout

ML = 20000
USER = 1001
IDENTITIES = IdentitiesConfig.model_validate(
    {"groups": {"ml": ML}, "users": {"alice": {"uid": 20001, "group": "ml"}}}
)
ENTRY = MountEntry(1, 1, 0, 1, "/", "/volume", "rw", "fuse.glusterfs", "node1:/vol", "")


class InProcess:
    """Children whose layout worker is its code on a directory, for thousands of rounds."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def stream(
        self, kind: str, _mount: str, request: Any, _patience: float
    ) -> AsyncGenerator[dict[str, Any], None]:
        assert kind == "layout"
        root = os.open(self._root, os.O_PATH | os.O_DIRECTORY)
        try:
            work = {"look": layout.look, "act": layout.act, "turn": layout.turn}[request["do"]]
            for row in work(root, request):
                yield row
        finally:
            os.close(root)


class Heard:
    """What a pass tells of what it mends."""

    def __init__(self) -> None:
        self.mends: list[tuple[Mend, bool]] = []

    def made(self, paths: list[str]) -> None:
        """The outcome has it, too."""

    def mended(self, mend: Mend, *, known: bool) -> None:
        self.mends.append((mend, known))


def wanted(**directories: dict[str, Any]) -> dict[str, Any]:
    return {
        "defaults": {"group": "ml", "mode": "2775", "acl": ["default:group::rwx"]},
        "directories": {name.replace("__", "/"): each for name, each in directories.items()},
    }


def run_pass(
    root: Path,
    settings: dict[str, Any],
    known: dict[str, OddNames] | None = None,
    heard: Heard | None = None,
) -> Outcome:
    """One whole pass over a local directory."""
    children = cast("Children", InProcess(root))
    declared = LayoutConfig.model_validate(settings)
    work = Pass(declared, IDENTITIES, children, ENTRY, lambda: True, heard or Heard())
    return asyncio.run(work.run(known or {}))


def owner_and_mode(path: Path) -> tuple[int, int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)


def snapshot(top: Path) -> dict[str, tuple[int, ...]]:
    """All that a chown, chmod, mkdir, write or rename below top would change."""
    return {
        str(path): (
            s.st_ino,
            s.st_uid,
            s.st_gid,
            s.st_mode,
            s.st_nlink,
            s.st_mtime_ns,
            s.st_ctime_ns,
        )
        for path in [top, *top.rglob("*")]
        for s in [path.lstat()]
    }


ETC = (Path("/etc"), Path("/etc/shadow"), Path("/etc/passwd"))


class Ground:
    """A volume with a declared directory in a place that others can write to, and what is outside.

    outside: what no pass may touch; private, decoy: directories of a user's that no pass may open.
    """

    settings = wanted(checkpoints={}, checkpoints__pretrain={})

    def __init__(self, volume: Path, outside: Path) -> None:
        self.volume = volume
        self.outside = outside
        self.parent = volume / "checkpoints"
        self.target = self.parent / "pretrain"
        self.aside = volume / "aside"
        self.decoy = volume / "decoy"
        self.private = volume / "private"
        self.rootfile = volume / "rootfile"

    def make(self) -> None:
        """All but what is declared."""
        self.outside.mkdir(mode=0o755)
        (self.outside / "pretrain").mkdir(mode=0o755)
        (self.outside / "shadow").write_text("secret")
        self.rootfile.write_text("root's own")
        self.rootfile.chmod(0o600)
        self.aside.mkdir()
        (self.decoy / "pretrain").mkdir(parents=True)
        self.private.mkdir()
        for path in (self.decoy, self.decoy / "pretrain", self.private):
            (path / ".mine").touch()
            os.chown(path, USER, USER)
            path.chmod(0o700)

    def outsiders(self) -> dict[str, tuple[int, ...]]:
        """What must stay as it is, whatever happens."""
        return snapshot(self.outside) | {str(path): owner_and_mode(path) for path in ETC}

    def insiders(self) -> list[tuple[int, int, int]]:
        """Nor may these be opened to anybody; to be asked when all is in its place."""
        private = (self.decoy, self.decoy / "pretrain", self.private)
        return [owner_and_mode(path) for path in (self.rootfile, *private)]

    def marked(self) -> list[tuple[int, int, int]]:
        """The user's directories wherever they are by now, as far as they can be found."""
        tops = [Path(top) for top, _, files in os.walk(self.volume) if ".mine" in files]
        return [owner_and_mode(top) for top in tops]

    def attacks(self) -> dict[str, Callable[[], None]]:
        return {
            "symlink": self._symlink,
            "etc": self._etc,
            "dangling": self._dangling,
            "parent-symlink": self._parent_symlink,
            "parent-swapped": self._parent_swapped,
            "swapped": self._swapped,
            "hard-link": self._hard_link,
            "pipe": self._pipe,
            "gone": self._gone,
        }

    def disturb(self, stop: Path, chance: random.Random) -> int:
        """Attack and put back as fast as it goes until there is a file `stop`; how often."""
        attacks = list(self.attacks().values())
        rounds = 0
        while not stop.exists():
            rounds += 1
            if rounds == 2:
                (self.volume / "begun").touch()
            for step in (attacks[rounds % len(attacks)], self.restore):
                with contextlib.suppress(OSError):  # the other one was faster
                    step()
                for _ in range(chance.randrange(3000)):
                    pass
        return rounds

    def _away(self, path: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            path.rename(self.aside / path.name)

    def _symlink(self) -> None:
        self._away(self.target)
        self.target.symlink_to(self.outside)

    def _etc(self) -> None:
        self._away(self.target)
        self.target.symlink_to("/etc")

    def _dangling(self) -> None:
        self._away(self.target)
        self.target.symlink_to("\x1b[31mnowhere\nGLUSTER_ML_EVENT=forged")

    def _parent_symlink(self) -> None:
        self._away(self.parent)
        self.parent.symlink_to(self.outside)

    def _parent_swapped(self) -> None:
        self._away(self.parent)
        self.decoy.rename(self.parent)

    def _swapped(self) -> None:
        self._away(self.target)
        self.private.rename(self.target)

    def _hard_link(self) -> None:
        self._away(self.target)
        os.link(self.rootfile, self.target)

    def _pipe(self) -> None:
        self._away(self.target)
        os.mkfifo(self.target)

    def _gone(self) -> None:
        self._away(self.target)

    def restore(self) -> None:
        """Put everything back to where it was; what is half made may be anywhere."""
        for path, kind in ((self.parent, self.decoy), (self.target, self.private)):
            if path.is_symlink() or path.is_file() or path.is_fifo():
                path.unlink()
            elif path.exists() and path.lstat().st_uid == USER:
                path.rename(kind)
        for name, home in (("checkpoints", self.parent), ("pretrain", self.target)):
            if (self.aside / name).exists():
                if home.exists():
                    shutil.rmtree(home)
                (self.aside / name).rename(home)


@contextlib.contextmanager
def bound(source: Path, place: Path) -> Iterator[None]:
    """A bind mount."""
    subprocess.run(["mount", "--bind", str(source), str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


class Interrupt:
    """Has something done just before the n-th system call by which the worker reaches the tree."""

    CALLS = ("open", "mkdir", "chown", "chmod", "setxattr", "getxattr", "fstat", "rename")

    def __init__(self, at: int, what: Callable[[], None]) -> None:
        self._left = at
        self._what = what
        self.happened = False

    def wrap(self, monkeypatch: Any) -> None:
        for name in self.CALLS:
            monkeypatch.setattr(os, name, self._wrapped(getattr(os, name)))

    def _wrapped(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                self.happened = True
                self._what()
            return call(*args, **named)

        return wrapped


TOLD = {
    "symlink": "checkpoints/pretrain: a symbolic link to ",
    "etc": "checkpoints/pretrain: a symbolic link to /etc stands there",
    "dangling": "checkpoints/pretrain: a symbolic link to \x1b",
    "parent-symlink": "checkpoints: a symbolic link to ",
    "parent-swapped": "checkpoints: another directory than the one that the agent made",
    "swapped": "checkpoints/pretrain: another directory than the one that the agent made",
    "hard-link": "checkpoints/pretrain: a file stands where a directory should be",
    "pipe": "checkpoints/pretrain: a pipe stands where a directory should be",
}
"""How the finding on an attack begins."""


def told_of(outcome: Outcome) -> set[str]:
    """The attacks that an outcome reports."""
    return {
        attack
        for attack, words in TOLD.items()
        if any(finding.startswith(words) for finding in outcome.findings)
    }

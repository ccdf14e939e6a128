"""A volume with runs of checkpoints, on a file system of its own, and what a cleaner does there."""

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.worker import manifest, trashbin, trashmove
from agent.worker.trashmove import Row, Volume

OWNER, OTHER = 51001, 52001
NOW = 1_796_000_000.0
TRASH = ".gluster-ml/trash"


def look(where: int, names: list[str]) -> tuple[str, str]:
    """As the survey's: of inode, size, mtime, ctime of all; and without the tops' ctime."""
    whole, lasting = hashlib.sha256(), hashlib.sha256()

    def add(parent: int, name: str, path: str) -> None:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        same = f"{path!r} {found.st_ino} {found.st_mode} {found.st_size} {found.st_mtime_ns}"
        whole.update(f"{same} {found.st_ctime_ns}\n".encode())
        lasting.update(f"{same} {found.st_ctime_ns if '/' in path else 0}\n".encode())
        if stat.S_ISDIR(found.st_mode):
            here = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
            try:
                for below in sorted(os.listdir(here)):
                    add(here, below, f"{path}/{below}")
            finally:
                os.close(here)

    for name in names:
        add(where, name, name.replace("/", ""))
    return whole.hexdigest(), lasting.hexdigest()


def nothing_speaks_against_it(run: int, here: int, names: list[str]) -> str:
    return ""


class World:
    def __init__(self, top: Path) -> None:
        self.top = top
        self.root = os.open(top, os.O_PATH | os.O_DIRECTORY)
        self.closing: list[Callable[[], None]] = []
        self.volume = Volume(self.root, None, trashbin.open_bin(self.root, make=True))

    def close(self) -> None:
        for close in self.closing:
            close()
        os.close(self.root)
        os.close(self.volume.trash)

    def run(self, path: str = "checkpoints/run", mode: int = 0o777) -> Path:
        run = self.top / path
        run.mkdir(parents=True, exist_ok=True)
        run.chmod(mode)
        os.chown(run, OWNER, OWNER)
        return run

    def checkpoint(self, run: Path, name: str, files: int = 3) -> Path:
        """A directory with some files and another directory in it; the owner's."""
        made = run / name
        (made / "global_step").mkdir(parents=True)
        for number in range(files):
            (made / f"file{number}").write_bytes(b"x" * number)
            (made / "global_step" / f"rank{number}").write_bytes(b"y")
        for path in (made, *made.rglob("*")):
            os.chown(path, OWNER, OWNER)
        return made

    def file(self, run: Path, name: str, data: bytes = b"weights") -> Path:
        made = run / name
        made.write_bytes(data)
        os.chown(made, OWNER, OWNER)
        return made

    def order(self, run: Path, *names: str, **changes: Any) -> Row:
        where = os.open(run, os.O_RDONLY)
        try:
            fingerprint = look(where, sorted(names))[0]
        finally:
            os.close(where)
        return {
            "run": str(run.relative_to(self.top)),
            "names": list(names),
            "fingerprint": fingerprint,
            "time": NOW,
            "rule": "checkpoints",
            "reasons": ["none of the 3 newest"],
            "size": 4096,
            "host": "gpu1",
            "version": "0.1.0",
            **changes,
        }

    def move(
        self,
        order: Row,
        look: trashmove.Look = look,
        still: trashmove.Still = nothing_speaks_against_it,
    ) -> Row:
        return trashmove.move(self.volume, order, look, still)

    def moved(self, run: Path, *names: str) -> str:
        """Into the trash: the entry's id."""
        row = self.move(self.order(run, *names))
        assert row["row"] == "moved", row
        return str(row["id"])

    def entry(self, id_: str) -> Path:
        return self.top / TRASH / id_

    def noted(self, id_: str) -> manifest.Manifest:
        found = trashbin.noted(self.volume.trash, id_)
        assert found is not None
        return found

    def in_trash(self) -> list[str]:
        """Names in it, the lock apart."""
        return sorted(set(os.listdir(self.top / TRASH)) - {"lock"})


def content(path: Path) -> dict[str, bytes | str | None]:
    """All below a path: what is in its files, where its links lead; None for a directory."""

    def one(each: Path) -> bytes | str | None:
        if each.is_symlink():
            return os.readlink(each)
        return None if each.is_dir() else each.read_bytes()

    paths = [path, *path.rglob("*")] if path.is_dir() and not path.is_symlink() else [path]
    return {str(each.relative_to(path)): one(each) for each in paths}


Swap = Callable[[], None]


def swapping(swap: Swap, at: int) -> trashmove.Look:
    """A look that lets somebody act just after it was taken for the at-th time, from 1."""
    calls = 0

    def looked(where: int, names: list[str]) -> tuple[str, str]:
        nonlocal calls
        calls += 1
        found = look(where, names)
        if calls == at:
            swap()
        return found

    return looked

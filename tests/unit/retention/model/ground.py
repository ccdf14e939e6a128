"""A directory in the place of a volume, for the model: what writers do, and what is there."""

import os
import stat
from pathlib import Path
from typing import NamedTuple

TRASH = ".gluster-ml/trash/"
HOLDING = 0o1700
"""The mode of an empty directory that the agent makes, for another to take its name."""


class Node(NamedTuple):
    """One name. path: below the root; size: -1 for a directory; mtime: nanoseconds.

    target: of a symbolic link, "" of anything else.
    """

    path: str
    size: int
    mtime: int
    target: str


Inventory = dict[int, Node]
"""By inode, which a tmpfs never gives twice."""


class Ground:
    """All that writers write has times by their clock, and no two the same.

    wall: nanoseconds since the epoch; each write is a bit later.
    """

    def __init__(self, top: Path) -> None:
        self.top = str(top)
        self.wall = 1_800_000_000_000_000_000
        self.deleted: set[int] = set()
        self.changed: set[int] = set()
        self.moved: set[int] = set()
        self._known: Inventory | None = None

    def at(self, path: str) -> str:
        """The absolute path."""
        return f"{self.top}/{path}"

    def is_there(self, path: str) -> bool:
        """Whether anything is, be it a link that leads nowhere."""
        return os.path.lexists(self.at(path))

    def inode(self, path: str) -> int:
        """0 where nothing is."""
        try:
            return os.lstat(self.at(path)).st_ino
        except FileNotFoundError:
            return 0

    def stamp(self, *paths: str, skew: float = 0.0) -> None:
        """They were written to just now, by a clock that is so many seconds ahead."""
        self.forget()
        self.wall += 1000
        then = self.wall + int(skew * 1e9)
        for path in paths:
            os.utime(self.at(path), ns=(then, then), follow_symlinks=False)
            self.changed.add(self.inode(path))

    def mkdir(self, path: str, skew: float = 0.0) -> None:
        """Raises FileNotFoundError where it would lie in nothing, FileExistsError."""
        self.forget()
        os.mkdir(self.at(path))
        self.stamp(path, os.path.dirname(path), skew=skew)

    def write(self, path: str, data: bytes, skew: float = 0.0) -> None:
        """Into the file that is there, or a new one. Raises FileNotFoundError."""
        with open(self.at(path), "wb") as file:
            file.write(data)
        self.stamp(path, os.path.dirname(path), skew=skew)

    def link(self, path: str, target: str) -> None:
        """A symbolic one, in the place of one that was there."""
        if self.is_there(path):
            self.remove(path)
        os.symlink(target, self.at(path))
        self.stamp(os.path.dirname(path))

    def remove(self, path: str) -> None:
        """A file or a link."""
        inode = self.inode(path)
        os.unlink(self.at(path))
        self.deleted.add(inode)
        self.stamp(os.path.dirname(path))

    def remove_all(self, path: str) -> None:
        """A directory with all that is in it, or a file."""
        if not os.path.isdir(self.at(path)) or os.path.islink(self.at(path)):
            self.remove(path)
            return
        for name in os.listdir(self.at(path)):
            self.remove_all(f"{path}/{name}")
        self.deleted.add(self.inode(path))
        os.rmdir(self.at(path))
        self.stamp(os.path.dirname(path))

    def rename(self, path: str, new: str) -> None:
        """Raises FileNotFoundError."""
        os.rename(self.at(path), self.at(new))
        self.moved.update(below(self.at(new), new))
        self.stamp(os.path.dirname(new))

    def inventory(self) -> Inventory:
        """All that users put there, in the trash too; what is the agent's own apart."""
        if self._known is None:
            found = below(self.top, "")
            self._known = {inode: n for inode, n in found.items() if is_users(n.path)}
        return self._known

    def forget(self) -> None:
        """Somebody may have changed something."""
        self._known = None


def is_users(path: str) -> bool:
    """Whether it is not the agent's own."""
    if not path.startswith(".gluster-ml"):
        return True
    inner = path.removeprefix(TRASH).partition("/")[2]
    return path.startswith(TRASH) and bool(inner) and not inner.startswith(".gluster-ml.json")


def below(at: str, path: str) -> Inventory:
    """What is at an absolute path and below it, itself included but for the root."""
    found: Inventory = {}
    if path:
        status = os.lstat(at)
        is_directory = stat.S_ISDIR(status.st_mode)
        size = -1 if is_directory else status.st_size
        found[status.st_ino] = Node(path, size, status.st_mtime_ns, "")
        if not is_directory:
            return found
    _walk(at, path, found)
    return found


def _walk(at: str, path: str, found: Inventory) -> None:
    with os.scandir(at) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            here = f"{path}/{entry.name}" if path else entry.name
            is_directory = entry.is_dir(follow_symlinks=False)
            size = -1 if is_directory else status.st_size
            if is_directory and status.st_mode & 0o7777 == HOLDING and not os.listdir(entry.path):
                continue
            target = os.readlink(entry.path) if entry.is_symlink() else ""
            found[status.st_ino] = Node(here, size, status.st_mtime_ns, target)
            if is_directory:
                _walk(f"{at}/{entry.name}", here, found)

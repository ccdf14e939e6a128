"""One-shot: looks at the declared directories of a volume, or makes and mends some of them.

Requests: {"do": "look", "path", "device", "directories", "names"}, {"do": "act", "path", "device",
"actions"}, {"do": "turn", "path", "device", "take"}; the rows of the answers are read by
agent/layout/seen.py. path: of the mount; what is not on that device is not touched. What is to be
done, and whether, is decided elsewhere; this sees to it that it is done to the very inode that was
looked at.
"""

import errno
import itertools
import os
import re
from collections.abc import Iterator

from agent.worker import channel, mending, place
from agent.worker.descent import GONE, GivenUpError, ObstacleError, Status, Tree
from agent.worker.marks import Marks
from agent.worker.own import RefusedError

_LISTED = 10_000
"""Entries of a directory whose names are looked at."""
_NAMED = 20
"""Names that don't fit, told one by one."""
Row = dict[str, object]


def main() -> int:
    """Answer the one request."""
    request = channel.request()
    os.umask(0)
    work = {"look": look, "act": act, "turn": turn}[str(request["do"])]
    try:
        root = place.open_path(str(request["path"]))
        is_there = place.device_of(root) == request["device"]
    except OSError as error:
        channel.emit(failure("opening the volume's root", error.errno or errno.EIO))
    else:
        rows = work(root, request) if is_there else [failure("finding the mount", errno.ENODEV)]
        for row in rows:
            channel.emit(row)
    channel.done()
    return 0


def failure(doing: str, number: int, *, held: bool = False) -> Row:
    """The row that says that nothing else was done."""
    return {"row": "failure", "doing": doing, "errno": number, "held": held}


def look(root: int, request: Row) -> Iterator[Row]:
    """A row for each directory, in their order (parents first), and for each listing of names.

    Nothing is written. Requests to the volume: one for each directory, and one for each ACL asked
    for; a mark is read only where something differs.
    """
    tree = Tree(root)
    marks = _Marks(root)
    try:
        for want in _list(request, "directories"):
            yield _seen(tree, marks, want)
        for listing in _list(request, "names"):
            yield from _odd_names(tree, listing)
    except (GivenUpError, RefusedError) as error:
        yield failure(error.doing, error.errno)
    finally:
        tree.close()
        marks.close()


class _Marks:
    """The marks, opened with the first question about one."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._marks: Marks | None = None

    def read(self, want: Row) -> Row | None:
        """Raises RefusedError."""
        if self._marks is None:
            self._marks = Marks(self._root, make=False)
        return self._marks.read(str(want["mark"]), str(want["path"]))

    def close(self) -> None:
        if self._marks is not None:
            self._marks.close()


def _list(request: Row, key: str) -> list[Row]:
    found = request[key]
    if not isinstance(found, list):
        raise TypeError(f"{key} is no list")
    return found


def _seen(tree: Tree, marks: _Marks, want: Row) -> Row:
    path = str(want["path"])
    row: Row = {
        "row": "seen",
        "path": path,
        **dict.fromkeys(("inode", "uid", "gid", "mode", "errno"), 0),
        **dict.fromkeys(("access", "default", "mark")),
        "empty": False,
        "detail": "",
    }
    try:
        descriptor, status = tree.enter(path)
    except ObstacleError as obstacle:
        kind = obstacle.kind if obstacle.path == path else "below"
        return {**row, "kind": kind, "errno": obstacle.errno, "detail": obstacle.detail}
    if status is None:
        raise ValueError("the root is no declared directory")
    row |= {"kind": "directory", "inode": status.inode, **_attributes(status)}
    try:
        for key, name in (("access", mending.ACCESS), ("default", mending.DEFAULT)):
            if want[key] is not None:
                row[key] = mending.acl(descriptor, name).hex()
    except OSError as error:
        if error.errno in GONE:
            raise GivenUpError(f"looking at the ACLs of {path}", error.errno) from None
        row["errno"] = error.errno
        return row
    if any(row[key] != want[key] for key in ("uid", "gid", "mode", "access", "default")):
        row["mark"] = marks.read(want)
        row["empty"] = mending.is_unfinished(status) and _is_empty(descriptor)
    return row


def _is_empty(descriptor: int) -> bool:
    try:
        return next(_entries(descriptor), None) is None
    except OSError:
        return False


def _attributes(status: Status) -> Row:
    return {"uid": status.uid, "gid": status.gid, "mode": status.bits}


def _odd_names(tree: Tree, listing: Row) -> Iterator[Row]:
    path, pattern = str(listing["path"]), re.compile(str(listing["pattern"]))
    row: Row = {"row": "names", "path": path, "count": 0, "names": [], "errno": 0}
    try:
        descriptor, status = tree.enter(path)
        if status is None or listing["stamp"] == status.changed:
            return
        odd = [name for name in _directories(descriptor) if not pattern.fullmatch(name)]
    except ObstacleError:
        return  # what stands there instead was told of above
    except OSError as error:
        yield {**row, "stamp": "", "errno": error.errno or errno.EIO}
        return
    yield {**row, "stamp": status.changed, "count": len(odd), "names": sorted(odd)[:_NAMED]}


def _directories(descriptor: int) -> Iterator[str]:
    for entry in itertools.islice(_entries(descriptor), _LISTED):
        if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
            yield entry.name


def _entries(descriptor: int) -> "Iterator[os.DirEntry[str]]":
    """Of the directory that an O_PATH descriptor is of. Raises OSError."""
    opened = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
    try:
        with os.scandir(opened) as entries:
            yield from entries
    finally:
        os.close(opened)


def act(root: int, request: Row) -> Iterator[Row]:
    """A row for each action, in their order, until one meets an error that the next would too."""
    tree = Tree(root)
    marks = None
    try:
        marks = Marks(root, make=True)
        if not marks.lock():
            yield failure("taking the volume's lock", 0, held=True)
            return
        for action in _list(request, "actions"):
            yield mending.carry_out(tree, marks, action)
    except (GivenUpError, RefusedError) as error:
        yield failure(error.doing, error.errno)
    finally:
        tree.close()
        if marks:
            marks.close()


def turn(root: int, request: Row) -> Iterator[Row]:
    """Whose turn it was; take: {"turn", "layout"} to leave word of a new one, or null."""
    marks = None
    take = request["take"]
    try:
        marks = Marks(root, make=take is not None)
        if isinstance(take, dict):
            marks.take_turn(str(take["turn"]), str(take["layout"]))
        yield {"row": "turn", **marks.turn()}
    except RefusedError as error:
        yield failure(error.doing, error.errno)
    except OSError as error:
        yield failure("leaving word in .gluster-ml/layout", error.errno or errno.EIO)
    finally:
        if marks:
            marks.close()

"""One-shot: gives the files of a tree that have old ids the new ones, or counts them.

Request: {"path", "device": [major, minor] | null, "uids": {old: new}, "gids": {old: new}, "dry",
"threads", "after", "gentle", "turn"}. Answer: every quarter of a second a row {"looked", "matched",
"changed", "failed", "at"}; a row {"problem", "path"} for what could not be done, at most 100 of
them; a last row of counts with "whole": all was walked. It can be killed and begun anew at any
time: what is done is found done; after: the "at" of the row to go on from. gentle: at rest half of
the time.

turn: null, or {"what", "now", "every", "host"}: one host at a time does it (row {"held": true}:
another one is at it), and none again within every seconds after one has done it all (row {"counts",
"host", "time"}). path is the volume's root then.
"""

import contextlib
import errno
import os
import stat
import threading
import time

from agent.worker import acl, channel, own, place, tree
from agent.worker.inode import Counts, Exchange

_DONE = ("counts", "host", "time")
_TOLD = 100
_INTERVAL = 0.25
_FAR = 4096
"""Characters of a path that are told: the deepest one would fill the channel."""
Row = dict[str, object]


def main() -> int:
    """Answer the one request."""
    answer(channel.request())
    channel.done()
    return 0


def answer(request: Row) -> None:
    """Do what it asks for, and tell of it."""
    try:
        top, inner = _open(str(request["path"]))
    except OSError as error:
        channel.emit({"problem": error.strerror, "path": request["path"]})
        return
    try:
        _remap(request, top, inner)
    finally:
        os.close(top)


def _remap(request: Row, top: int, inner: list[str]) -> None:
    path, device = str(request["path"]), request["device"]
    if device is not None and place.device_of(top) != device:
        channel.emit({"problem": "the volume is not mounted there", "path": path})
        return
    if own.BASE in inner[:1]:
        channel.emit({"problem": "belongs to the agent: nothing in it is remapped", "path": path})
        return
    turn = request["turn"]
    if not isinstance(turn, dict):
        channel.emit({**_walk(request, top, inner), "whole": True})
        return
    try:
        _in_turn(request, turn, top)
    except own.RefusedError as error:
        channel.emit({"problem": f"{os.strerror(error.errno)} to {error.doing}", "path": path})


def _in_turn(request: Row, turn: Row, top: int) -> None:
    """Raises own.RefusedError."""
    ours = own.directory(top, "remap", make=True)
    lock = own.lock(ours, "remap")
    if lock is None:
        channel.emit({"held": True})
        return
    done = own.read(ours, "done")
    if done is not None and _is_fresh(done, turn):
        channel.emit({key: done[key] for key in _DONE})
        return
    began = time.monotonic()
    counts = _walk(request, top, [])
    ended = float(str(turn["now"])) + time.monotonic() - began
    done = {"what": turn["what"], "time": ended, "host": turn["host"], "counts": counts}
    with contextlib.suppress(OSError):  # then another host does it all once more
        own.write(ours, "done", done)
    channel.emit({**counts, "whole": True})


def _is_fresh(done: Row, turn: Row) -> bool:
    """Whether a host has done the same lately, by its clock: a wrong one costs a walk at most."""
    time_, counts = done.get("time"), done.get("counts")
    if done.get("what") != turn["what"] or not isinstance(time_, int | float):
        return False
    if not isinstance(counts, dict) or not isinstance(done.get("host"), str):
        return False
    if any(type(counts.get(name)) is not int for name in Counts.__slots__) or "at" not in counts:
        return False
    age = float(str(turn["now"])) - time_
    return 0 <= age < float(str(turn["every"]))


def _walk(request: Row, top: int, inner: list[str]) -> Row:
    """The counts at the end."""
    uids, gids = _ids(request["uids"]), _ids(request["gids"])
    exchange = Exchange(uids, gids, top, dry=bool(request["dry"]))
    remap = Remap(exchange, gentle=bool(request["gentle"]))
    skip = frozenset() if inner else frozenset({own.BASE})
    threads, after = int(str(request["threads"])), str(request["after"])
    tree.walk(top, remap, skip=skip, threads=threads, after=after)
    return remap.row()


class Remap(tree.Visitor):
    """Carries an exchange of ids through a tree, and tells how far it is."""

    def __init__(self, exchange: Exchange, *, gentle: bool) -> None:
        self._exchange = exchange
        self._gentle = gentle
        self._lock = threading.Lock()
        self._told_at = time.monotonic()
        self._told = 0
        self._at = ""

    def row(self) -> Row:
        """How far it is."""
        return {**self._exchange.counts.row(), "at": self._at}

    def directory(self, descriptor: int, path: str) -> None:
        """As Visitor says."""
        self._exchange.looked(1)
        try:
            self._exchange.inode(descriptor)
        except (OSError, acl.OddError) as error:
            self._problem(path, error)
        self._tell()

    def batch(self, descriptor: int, names: list[str], path: str) -> None:
        """As Visitor says."""
        began = time.monotonic()
        for name in names:
            try:
                self._exchange.entry(descriptor, name)
            except (OSError, acl.OddError) as error:
                self._problem(os.path.join(path, name), error)
        self._exchange.looked(len(names))
        self._tell()
        if self._gentle:  # a volume that has much to do makes it slower, and the rest longer
            time.sleep(time.monotonic() - began)

    def reached(self, path: str) -> None:
        """As Visitor says; of a path that is too long, a directory that is above it."""
        self._at = path if len(path) <= _FAR else path[: path.rindex("/", 0, _FAR + 1)]

    def odd(self, path: str, error: OSError) -> None:
        """As Visitor says."""
        self._problem(path, error)

    def _problem(self, path: str, error: OSError | acl.OddError) -> None:
        self._exchange.failed()
        why = error.strerror if isinstance(error, OSError) else str(error)
        with self._lock:
            self._told += 1
            if self._told <= _TOLD:
                # JSON keeps the surrogates of names that are no UTF-8.
                channel.emit({"problem": why, "path": path[-_FAR:]})

    def _tell(self) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._told_at >= _INTERVAL:
                self._told_at = now
                channel.emit(self.row())


def _open(path: str) -> tuple[int, list[str]]:
    """The top of the tree, and where it lies on its mount: the names below the mount's root.

    No link is followed on the way to it. Raises OSError.
    """
    here = os.open("/", os.O_PATH | os.O_DIRECTORY)
    mount = place.mount_id(here)
    inner: list[str] = []
    for name in filter(None, path.split("/")):
        try:
            below = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=here)
        finally:
            os.close(here)
        here = below
        if stat.S_ISLNK(os.fstat(here).st_mode):
            os.close(here)
            raise OSError(errno.ELOOP, "a symbolic link is on the way; name the real path")
        inner.append(name)
        if place.mount_id(here) != mount:
            mount, inner = place.mount_id(here), []
    try:
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here), inner
    finally:
        os.close(here)


def _ids(given: object) -> dict[int, int]:
    if not isinstance(given, dict):
        raise TypeError("no mapping")
    return {int(old): int(new) for old, new in given.items()}

"""What an earlier survey found in directories that have not changed since.

A directory is kept with the state of all that was met while it was looked at: itself, each
directory below it that was listed or entered, each file that was read or asked for. Where all of it
has the same inode, size, mtime and ctime, what was found holds: nothing is listed or read then.
What was absent is told by the directory it would be in. Only what is an hour old is kept, since two
writes in one tick of a clock have the same times.

The file is root's, in the agent's state directory on this host. It is a cache: any doubt drops it.
What is to be kept is written beside it: whoever asked puts it in its place, once it is known that
all of the volume was seen. A listing with a brick down would be believed for ever otherwise.
"""

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator

from agent import __version__
from agent.retention.formats.registry import FAMILIES
from agent.retention.links import Link, Place
from agent.retention.runrows import from_row, to_row
from agent.worker.statx import Stat
from agent.worker.view import Directory, MetError

_SETTLED = 3600.0
"""Seconds since the last change of anything in it."""
_LARGEST = 32 << 20
"""Bytes of the file; what is more is not kept."""
NEW = ".new"
_KIND = ["survey", 1, __version__, [family.name for family in FAMILIES]]

State = tuple[int, int, int, int]


def state(found: Stat) -> State:
    """What changes with any change. A directory's size differs between bricks."""
    return (found.inode, 0 if found.is_directory else found.size, found.mtime, found.ctime)


class Note:
    """What is found in one directory, while it is looked at by several threads.

    about: all that the findings depend on beside the directory itself.
    """

    def __init__(self, view: Directory, about: list[object]) -> None:
        self.about = about
        self.is_spoilt = False
        self.below: list[tuple[str, bool]] = []
        self.links: list[Link] = []
        self.place: Place | None = None
        self._path = view.path
        self._lock = threading.Lock()
        self._met: dict[str, State] = {"": state(view.stat)}
        view.witness = self._witness

    def spoil(self) -> None:
        """Something could not be looked at, or was gone: nothing is kept of it."""
        self.is_spoilt = True

    def add(self, *links: Link) -> None:
        """Links that were found there, or in its checkpoints."""
        with self._lock:
            self.links += links

    def _witness(self, path: str, found: Stat) -> None:
        inner = os.path.relpath(path, self._path) if self._path else path
        with self._lock:
            if self._met.setdefault(inner, state(found)) != state(found):
                self.is_spoilt = True

    def row(self, now: float) -> dict[str, object] | None:
        """To be kept; None where it changes still."""
        newest = max(max(met[2], met[3]) for met in self._met.values()) / 1e9
        if self.is_spoilt or now - newest < _SETTLED:
            return None
        return {
            "path": self._path,
            "about": self.about,
            "met": self._met,
            "below": self.below,
            "links": [[link.directory, link.name, link.text] for link in self.links],
            "runs": [to_row(run) for run in self.place.runs] if self.place else [],
            "names": sorted(self.place.names) if self.place else [],
        }


class Recalled:
    """What was found in a directory earlier, if it still is as it was."""

    def __init__(self, row: dict[str, object]) -> None:
        """Raises KeyError, TypeError, ValueError."""
        met = row["met"]
        if not isinstance(met, dict):
            raise TypeError("no mapping")
        self.met: dict[str, list[int]] = met
        self.about: list[object] = _list(row["about"])
        self.below = [(str(name), bool(hunt)) for name, hunt in _list(row["below"])]
        self.links = [Link(*map(str, link)) for link in _list(row["links"])]
        runs = tuple(from_row(run) for run in _list(row["runs"]))
        self.place = Place(runs, frozenset(_list(row["names"]))) if runs else None

    def parts(self) -> Iterator[tuple[str, dict[str, list[int]]]]:
        """The names in the directory that were looked at, each with what was met below it."""
        found: dict[str, dict[str, list[int]]] = {}
        for path, met in self.met.items():
            name, _, inner = path.partition("/")
            if name:
                found.setdefault(name, {})[inner] = met
        yield from found.items()


def holds(above: Directory, name: str, met: dict[str, list[int]]) -> bool:
    """Whether a name, and all that was met below it, is as it was. Raises GivenUpError."""
    view = above.fork(name)
    try:
        return _holds(view, name, met)
    except MetError:
        return False
    finally:
        view.close()


def _holds(view: Directory, name: str, met: dict[str, list[int]]) -> bool:
    """Raises MetError, GivenUpError."""
    inner: dict[str, dict[str, list[int]]] = {}
    for path, said in met.items():
        first, _, rest = path.partition("/")
        if first:
            inner.setdefault(first, {})[rest] = said
    if not inner:
        found = view.status(name)
        return found is not None and list(state(found)) == met.get("")
    below = view.enter(name)
    if below is None:
        return False
    try:
        if list(state(below.stat)) != met.get(""):
            return False
        return all(_holds(below, part, said) for part, said in inner.items())
    finally:
        below.close()


class Known:
    """All that is kept. path: of the file, "" for none."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._old = _read(path) if path else {}
        self._new: dict[str, bytes] = {}
        self._size = 0
        self._lock = threading.Lock()

    def recall(self, path: str, about: list[object]) -> Recalled | None:
        """What was found there, about the same things."""
        line = self._old.get(path)
        if line is None:
            return None
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
            found = Recalled(json.loads(line))
            if found.about == about:
                return found
        return None

    def keep(self, path: str) -> None:
        """What was recalled still holds."""
        self._put(path, self._old[path])

    def note(self, path: str, note: Note) -> None:
        """What was found just now."""
        row = note.row(time.time()) if self._path else None
        if row is not None:
            self._put(path, json.dumps(row, separators=(",", ":")).encode())

    def _put(self, path: str, line: bytes) -> None:
        with self._lock:
            if self._size + len(line) < _LARGEST:
                self._size += len(line) + 1
                self._new[path] = line

    def save(self) -> None:
        """Write what is to be the file next time, beside it. Raises OSError."""
        if not self._path:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(os.open(f"{self._path}{NEW}", flags, 0o600), "wb") as file:
            file.write(json.dumps(_KIND).encode() + b"\n")
            for path, line in self._new.items():
                file.write(json.dumps(path).encode() + b"\t" + line + b"\n")


def _read(path: str) -> dict[str, bytes]:
    """The lines by path; none where the file is not what it should be."""
    found: dict[str, bytes] = {}
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if os.fstat(descriptor).st_size > 2 * _LARGEST or json.loads(file.readline()) != _KIND:
                return {}
            for line in file:
                name, _, rest = line.rstrip(b"\n").partition(b"\t")
                found[json.loads(name)] = rest
    except (OSError, ValueError, TypeError, RecursionError):
        return {}
    return found


def _list(value: object) -> list:  # type: ignore[type-arg]
    if not isinstance(value, list):
        raise TypeError("no list")
    return value

"""What the worker saw and did: its rows as values. Names in them are anybody's."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agent.codec import decode


class Kind(StrEnum):
    """What stands at a declared path.

    ELSEWHERE: on another file system, or behind another mount. BELOW: nothing, as a parent is not
    there either, or is no directory of the volume.
    """

    DIRECTORY = "directory"
    MISSING = "missing"
    BELOW = "below"
    SYMLINK = "symlink"
    OTHER = "other"
    ELSEWHERE = "elsewhere"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Mark:
    """What is remembered on the volume of a path: the inode that was made or mended there.

    made: the agent made it; False: it was there before, and was mended under `repair: true`.
    """

    inode: int
    made: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """A declared path as it was found. mode: the twelve bits.

    access, default: values of the ACLs' xattrs, None where they were not asked for. empty, mark:
    only looked for where something differs; empty only of directories that are as one is made.
    errno: why it is unreadable, or an ACL is. detail: where a link points, or what else is there.
    """

    path: str
    kind: Kind
    inode: int = 0
    uid: int = 0
    gid: int = 0
    mode: int = 0
    access: bytes | None = None
    default: bytes | None = None
    empty: bool = False
    mark: Mark | None = None
    errno: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class OddNames:
    """Run directories below path whose names don't fit: how many, and the first of them.

    stamp: of the listing; the same one again means that nothing changed. errno: why there is none.
    """

    path: str
    stamp: str
    count: int
    names: tuple[str, ...]
    errno: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """Word of the last pass on the volume: another text each time, and what layout it was about."""

    turn: str = ""
    layout: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """The worker gave up all else: at what, and why. held: another host has the volume's lock."""

    doing: str
    errno: int
    held: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """What became of an action: ok, or changed meanwhile (look again), or failed with errno.

    half: it failed when something of the directory may have been changed already.

    uid, gid, mode: what the directory has now.
    """

    path: str
    result: str
    uid: int = 0
    gid: int = 0
    mode: int = 0
    errno: int = 0
    doing: str = ""


Row = Seen | OddNames | Turn | Failure | Done


_KINDS: dict[str, type[Row]] = {
    "seen": Seen,
    "names": OddNames,
    "turn": Turn,
    "failure": Failure,
    "done": Done,
}


def row(value: dict[str, Any]) -> Row:
    """One row of the worker's. Raises ValueError where it is none."""
    kind = _KINDS.get(str(value.get("row")))
    if kind is None:
        raise ValueError("a row of no kind that is known")
    return decode(kind, value)

"""The trash of a volume, by its worker: what is in it, back from it, or gone for good."""

import contextlib
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.errors import AgentError, ChildGone
from agent.system.children import Children

PATIENCE = 180.0
"""Seconds without a sign of life; a volume with a silent server answers after 84 by default."""
THREADS = 8
"""Names removed at once where each is a round trip over a network."""

_KIND = "trash"


@dataclass(frozen=True, slots=True)
class Place:
    """A mount: its path, and (major, minor) of what must be mounted there, None for anything."""

    path: str
    device: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. run, names: where it came from, "" and none where nothing says so.

    inode: of its directory; owner: a uid; size: allocated bytes, None where unknown; time: epoch
    seconds by the clock of host, which moved it by rule for these reasons; whole: it can be
    restored.
    """

    id: str
    inode: int
    run: str
    names: tuple[str, ...]
    owner: int
    size: int | None
    time: float
    rule: str
    reasons: tuple[str, ...]
    host: str
    whole: bool

    @property
    def path(self) -> str:
        """Where it came from, relative to the volume's root: by the first of its names."""
        return f"{self.run}/{self.names[0]}" if self.names else ""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a trash holds. total, free: bytes of the volume; 0 where two readings disagreed."""

    entries: tuple[Entry, ...]
    total: int = 0
    free: int = 0


@dataclass(frozen=True, slots=True)
class Restored:
    """An entry is back in its run, as these names."""

    id: str
    run: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """What can't be done, or stays, and why."""

    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Purged:
    """An entry is gone."""

    id: str


@dataclass(frozen=True, slots=True)
class Returned:
    """A move that broke off was undone: names of a run, by what they are now."""

    run: str
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Removing:
    """So many names were removed."""

    removed: int


@dataclass(frozen=True, slots=True)
class Held:
    """Another host is at work in the trash."""


Row = Restored | Refused | Purged | Returned | Removing | Held


async def look(children: Children, place: Place) -> Contents:
    """What is in it: for root all, for others what is theirs. Raises AgentError."""
    found: list[Entry] = []
    total = free = 0
    async for row in _ask(children, place, {"do": "list"}):
        if row.get("row") == "space":
            total, free = _number(row, "total"), _number(row, "free")
        else:
            found.append(_entry(row))
    return Contents(tuple(found), total, free)


def _number(row: Mapping[str, Any], key: str) -> int:
    value = row.get(key)
    if type(value) is not int:
        raise ChildGone("the worker trash talks nonsense")
    return value


async def restore(children: Children, place: Place, id_: str) -> Restored | Refused:
    """Put an entry back, pinned, as whoever this process is. Raises AgentError."""
    async for row in _ask(children, place, {"do": "restore", "ids": [id_]}):
        found = read_row(row)
        if isinstance(found, Restored | Refused):
            return found
    raise ChildGone("the worker trash says nothing")


async def purge(
    children: Children, place: Place, wanted: Sequence[Entry], *, threads: int, rest: float
) -> AsyncGenerator[Row, None]:
    """Remove entries, and go on with what broke off; rows as the work goes on.

    rest: seconds of rest for each second of work. Abandoned, it is gone on with by the next one.
    Raises AgentError.
    """
    request: dict[str, object] = {
        "do": "purge",
        "entries": {entry.id: entry.inode for entry in wanted},
        "threads": threads,
        "rest": rest,
    }
    rows = _ask(children, place, request)
    async with contextlib.aclosing(rows):
        async for row in rows:
            yield read_row(row)


async def _ask(
    children: Children, place: Place, request: dict[str, object]
) -> AsyncGenerator[Mapping[str, Any], None]:
    """Raises AgentError."""
    asked = {**request, "path": place.path, "device": place.device}
    rows = children.stream(_KIND, place.path, asked, PATIENCE)
    async with contextlib.aclosing(rows):
        try:
            async for row in rows:
                if row.get("row") == "failure":
                    raise read_failure(place.path, row)
                yield row
        except TimeoutError as error:
            raise AgentError(
                "trash-hangs",
                f"{place.path}: the trash has not answered for {PATIENCE:g} s",
                "see: gluster-ml-agent status",
            ) from error


def read_failure(path: str, row: Mapping[str, Any]) -> AgentError:
    """Why the worker of the volume mounted at path gave up."""
    what, number = row.get("what"), row.get("errno")
    if not isinstance(what, str) or type(number) is not int:
        return ChildGone("the worker trash talks nonsense")
    return AgentError("trash-failed", f"{path}: {what}: {os.strerror(number)}")


def _entry(row: Mapping[str, Any]) -> Entry:
    try:
        size = row["size"]
        return Entry(
            id=str(row["id"]),
            inode=int(row["inode"]),
            run=str(row["run"]),
            names=tuple(map(str, row["names"])),
            owner=int(row["owner"]),
            size=None if size is None else int(size),
            time=float(row["time"]),
            rule=str(row["rule"]),
            reasons=tuple(map(str, row["reasons"])),
            host=str(row["host"]),
            whole=row["state"] == "kept",
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ChildGone("the worker trash talks nonsense") from error


def read_row(row: Mapping[str, Any]) -> Row:
    """One row of the worker's. Raises ChildGone where it makes no sense."""
    try:
        match row["row"]:
            case "restored":
                return Restored(str(row["id"]), str(row["run"]), tuple(map(str, row["names"])))
            case "refused" | "odd":
                return Refused(str(row["id"]), str(row["why"]))
            case "purged":
                return Purged(str(row["id"]))
            case "back":
                names = {str(name): str(new) for name, new in dict(row["names"]).items()}
                return Returned(str(row["run"]), names)
            case "removing":
                return Removing(int(row["removed"]))
            case "held":
                return Held()
    except (KeyError, TypeError, ValueError) as error:
        raise ChildGone("the worker trash talks nonsense") from error
    raise ChildGone("the worker trash talks nonsense")

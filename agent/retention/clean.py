"""Has a worker make one pass of the cleaner over a volume, and tells what it does."""

import contextlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.errors import AgentError, ChildGone
from agent.retention.survey import PATIENCE, Found, Progress, Surveyed, Wanted, request
from agent.retention.trash import Held, Refused, Returned, read_failure, read_row
from agent.system.children import Children

_KIND = "clean"


@dataclass(frozen=True, slots=True)
class Pass:
    """memory: a local file that every pass on this host over that volume gets.

    host, version: for the manifests. wants: a fingerprint of what this host's file says of it,
    which all hosts of the volume must have alike, or nothing is moved. move: the paths of the rules
    by which something is moved. turn: the word that is left on the volume at the end, "" for none.
    idle: only when nothing else wants the processor.
    """

    memory: Path
    host: str
    version: str
    wants: str
    move: tuple[str, ...]
    turn: str = ""
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Ripe:
    """How many checkpoints may go now, of how many bytes; waiting: for their second look."""

    count: int
    size: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Moved:
    """names of a run are in the trash, as the entry id. size: bytes, None where it is unknown."""

    run: str
    names: tuple[str, ...]
    rule: str
    reasons: tuple[str, ...]
    size: int | None
    id: str

    @property
    def path(self) -> str:
        """The first of its names."""
        return f"{self.run}/{self.names[0]}"


@dataclass(frozen=True, slots=True)
class Left:
    """names of a run stay though they were planned to go, and why."""

    run: str
    names: tuple[str, ...]
    why: str

    @property
    def path(self) -> str:
        """The first of its names."""
        return f"{self.run}/{self.names[0]}"


@dataclass(frozen=True, slots=True)
class Differing:
    """These hosts want something else, so nothing is moved."""

    hosts: tuple[str, ...]


Row = Progress | Surveyed | Ripe | Moved | Left | Differing | Held | Refused | Returned


async def clean(children: Children, wanted: Wanted, how: Pass) -> AsyncGenerator[Row, None]:
    """Rows as it goes on: what was found, what may go, and what went. Raises AgentError.

    Abandoned at any point, nothing is lost: what was being moved goes back by the next pass.
    """
    asked = {
        **request(wanted),
        "memory": str(how.memory),
        "host": how.host,
        "version": how.version,
        "wants": how.wants,
        "move": how.move,
        "turn": how.turn,
        "idle": how.idle,
    }
    found = Found(wanted.rules)
    rows = children.stream(_KIND, wanted.root, asked, PATIENCE)
    async with contextlib.aclosing(rows):
        try:
            async for row in rows:
                if "row" in row:
                    yield _row(wanted.root, row)
                elif "looked" in row:
                    yield Progress(int(row["looked"]), str(row["at"]))
                else:
                    found.add(row)
                    if found.is_whole:
                        yield found.whole()
        except TimeoutError as error:
            raise AgentError(
                "clean-hangs",
                f"{wanted.root}: nothing could be looked at or moved for {PATIENCE:g} s",
                "see gluster-ml-agent status",
            ) from error
        except (KeyError, TypeError, ValueError) as error:
            raise ChildGone("the worker clean talks nonsense") from error


def _row(root: str, row: Mapping[str, Any]) -> Row:
    """Raises AgentError, KeyError, TypeError, ValueError."""
    match row["row"]:
        case "failure":
            raise read_failure(root, row)
        case "ripe":
            return Ripe(int(row["count"]), int(row["bytes"]), int(row["waiting"]))
        case "differing":
            return Differing(tuple(map(str, row["hosts"])))
        case "moved":
            return Moved(
                run=str(row["run"]),
                names=tuple(map(str, row["names"])),
                rule=str(row["rule"]),
                reasons=tuple(map(str, row["reasons"])),
                size=None if row["size"] is None else int(row["size"]),
                id=str(row["id"]),
            )
        case "left":
            return Left(str(row["run"]), tuple(map(str, row["names"])), str(row["why"]))
    found = read_row(row)
    if isinstance(found, Held | Refused | Returned):
        return found
    raise ValueError("no such row")

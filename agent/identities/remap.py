"""Has a worker give the files of a tree their new ids, or count them, and tells how far it is."""

import contextlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from agent.errors import AgentError, ChildGone
from agent.identities.exchange import Exchange
from agent.system.children import Children

PATIENCE = 180.0
"""Seconds without a sign of life; a volume with a silent server answers after 84 by default."""
THREADS = 8
"""Names at work at once where each is a round trip over a network."""


@dataclass(frozen=True, slots=True)
class Progress:
    """looked: names; matched: files with an old id; changed: which have none now; failed: not done.

    at: a directory that is being looked at. whole: the tree was walked to its end.
    """

    looked: int
    matched: int
    changed: int
    failed: int
    at: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Problem:
    """What could not be looked at or changed, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Tree:
    """device: (major, minor) of the mount that path must be on, None for any; threads: from 0.

    after: the `at` of a count, to go on from there; gentle: at rest half of the time.
    """

    path: str
    device: tuple[int, int] | None
    threads: int
    after: str = ""
    gentle: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One host of a volume at a time, and nobody again within every seconds after it is done.

    what: the ids and the mode, as text that is equal on all hosts; now: epoch seconds.
    """

    what: str
    now: float
    every: float
    host: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another host's turn: it is at it, or (counts, at time, epoch seconds) has done it lately."""

    host: str = ""
    time: float = 0.0
    counts: Progress | None = None


Row = Progress | Problem | Elsewhere


async def remap(
    children: Children, tree: Tree, ids: Exchange, *, dry: bool, turn: Turn | None = None
) -> AsyncGenerator[Row, None]:
    """Rows as the work goes on. Raises AgentError where the worker ends early or hangs.

    Abandoned half way, it leaves a tree that a later call completes.
    """
    request: dict[str, object] = {
        "path": tree.path,
        "device": tree.device,
        "uids": dict(ids.uids),
        "gids": dict(ids.gids),
        "dry": dry,
        "threads": tree.threads,
        "after": tree.after,
        "gentle": tree.gentle,
        "turn": None if turn is None else asdict(turn),
    }
    rows = children.stream("remap", tree.path, request, PATIENCE)
    async with contextlib.aclosing(rows):
        try:
            async for row in rows:
                yield _row(row)
        except TimeoutError as error:
            raise AgentError(
                "remap-hangs",
                f"{tree.path}: no file could be looked at or changed for {PATIENCE:g} s",
                "see gluster-ml-agent status; the same command goes on where it stopped",
            ) from error


def _row(row: Mapping[str, Any]) -> Row:
    try:
        if "problem" in row:
            return Problem(str(row["path"]), str(row["problem"]))
        if "held" in row:
            return Elsewhere()
        if "counts" in row:
            return Elsewhere(str(row["host"]), float(row["time"]), _progress(row["counts"]))
        return _progress(row)
    except (KeyError, TypeError, ValueError) as error:
        raise ChildGone("the worker remap talks nonsense") from error


def _progress(row: Mapping[str, Any]) -> Progress:
    return Progress(
        looked=int(row["looked"]),
        matched=int(row["matched"]),
        changed=int(row["changed"]),
        failed=int(row["failed"]),
        at=str(row["at"]),
        whole=bool(row.get("whole")),
    )

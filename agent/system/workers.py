"""The one-shot workers as typed calls. Every deadline is in seconds from now.

All of them raise Busy while an earlier one of the kind lives on the mount, ChildGone when the
worker broke, OSError when none could be started.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agent.errors import ChildGone
from agent.model.mount import Client, ClientState, Holder, MountEntry, ProcessId
from agent.system.children import Children


@dataclass(frozen=True, slots=True)
class Holders:
    """Processes that hold a mount; complete: all were looked at before the deadline."""

    found: tuple[Holder, ...]
    complete: bool


class GuardState(StrEnum):
    """What became of the bare directory's immutable flag."""

    SET = "set"
    CLEAR = "clear"
    MOUNTED = "mounted"
    UNSUPPORTED = "unsupported"
    REFUSED = "refused"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Guard:
    """How a mount point was prepared.

    errno, detail: why not, where state is unsupported or refused; strays: entries in the bare
    directory, counted up to 1000.
    """

    state: GuardState
    errno: int = 0
    detail: str = ""
    strays: int = 0


class Workers:
    """Asks one-shot workers."""

    def __init__(self, children: Children) -> None:
        self._children = children

    async def find_client(
        self,
        mount: str,
        entry: MountEntry,
        pids: tuple[int, ...],
        layer: tuple[int, int],
        deadline: float,
    ) -> Client:
        """The client process of a mount; GONE where there is none, UNKNOWN where it can't be told.

        pids: those in the mount's own unit, if known; layer: (k, n) for the k-th, from 0 at the
        bottom, of n GlusterFS mounts at the same path.
        """
        request: dict[str, object] = {
            "path": entry.path,
            "minor": entry.minor,
            "pids": pids,
            "layer": layer,
        }
        answer = await self._children.run_once("client", mount, request, deadline)
        for row in answer.rows:
            if row.get("pid") is None:
                return Client(ClientState.GONE)
            process = ProcessId(_int(row, "pid"), _int(row, "start_time"))
            return Client(ClientState.ALIVE, process)
        return Client(ClientState.UNKNOWN)

    async def holders(self, mount: str, device: tuple[int, int], deadline: float) -> Holders:
        """Who holds the mount of that device, also after it was detached, in any namespace.

        The kernel gives the number of a detached mount that nobody holds to the next mount: if
        the new mount has the old one's device, nobody holds the old one, and this is not to be
        asked.
        """
        answer = await self._children.run_once("holders", mount, {"device": device}, deadline)
        found = tuple(
            Holder(
                pid=_int(row, "pid"),
                comm=_str(row, "comm"),
                uid=_int(row, "uid"),
                where=_str(row, "where"),
                how=_str(row, "how"),
            )
            for row in answer.rows
        )
        return Holders(found, answer.done)

    async def guard(self, mount: str, path: str, *, immutable: bool, deadline: float) -> Guard:
        """Make the mount point and let its bare directory refuse writes, or take them again."""
        request: dict[str, object] = {"path": path, "immutable": immutable}
        answer = await self._children.run_once("guard", mount, request, deadline)
        for row in answer.rows:
            return Guard(
                state=GuardState(_str(row, "state")),
                errno=_int(row, "errno"),
                detail=_str(row, "detail"),
                strays=_int(row, "strays"),
            )
        return Guard(GuardState.LATE)


def _int(row: dict[str, Any], key: str) -> int:
    value = row.get(key)
    if type(value) is not int:
        raise ChildGone(f"a worker's answer lacks {key}")
    return value


def _str(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise ChildGone(f"a worker's answer lacks {key}")
    return value

"""The one-shot workers as typed calls. Every deadline is in seconds from now.

All of them raise Busy while an earlier one of the kind lives on the mount, ChildGone when the
worker broke, OSError when none could be started.
"""

from dataclasses import dataclass
from enum import StrEnum

from agent.model.mount import Client, ClientState, Holder, MountEntry, ProcessId
from agent.system.children import Children, told


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
            return Client(ClientState.ALIVE, told(ProcessId, row))
        return Client(ClientState.UNKNOWN)

    async def holders(self, mount: str, device: tuple[int, int], deadline: float) -> Holders:
        """Who holds the mount of that device, also after it was detached, in any namespace.

        The kernel gives the number of a detached mount that nobody holds to the next mount: if
        the new mount has the old one's device, nobody holds the old one, and this is not to be
        asked.
        """
        answer = await self._children.run_once("holders", mount, {"device": device}, deadline)
        return Holders(tuple(told(Holder, row) for row in answer.rows), answer.done)

    async def guard(self, mount: str, path: str, *, immutable: bool, deadline: float) -> Guard:
        """Make the mount point and let its bare directory refuse writes, or take them again."""
        request: dict[str, object] = {"path": path, "immutable": immutable}
        answer = await self._children.run_once("guard", mount, request, deadline)
        for row in answer.rows:
            return told(Guard, row)
        return Guard(GuardState.LATE)

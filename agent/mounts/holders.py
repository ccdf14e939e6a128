"""Names the processes that still hold a mount which was replaced, until none is left.

They see errors or the old client until they are restarted, and nobody tells them but this. Those
that keep a mount from being unmounted are named too, so that one knows what is waited for.
"""

import asyncio
import contextlib

from agent.errors import AgentError
from agent.events import Event
from agent.model import Holder
from agent.mounts.chronicle import Chronicle
from agent.mounts.edges import Edges
from agent.mounts.facts import Facts

DEADLINE = 20.0
"""Seconds for one search; it may wait for processes that are stuck themselves."""
EVERY = 60.0
"""Seconds between searches while some are left."""
AGAIN = 5.0
"""Seconds from a search that could not be made to the next; the last one may not have ended yet."""


class HolderSearch:
    """Follows the holders of the mount that was replaced last.

    users: who was seen to use the present mount when it was to be unmounted.
    """

    def __init__(self, edges: Edges, chronicle: Chronicle) -> None:
        self.found: tuple[Holder, ...] = ()
        self._edges = edges
        self._chronicle = chronicle
        self._task: asyncio.Task[None] | None = None
        self.users: tuple[Holder, ...] = ()
        self._look: asyncio.Task[None] | None = None

    def follow(self, name: str, facts: Facts) -> None:
        """Search for who holds the topmost layer of these facts, which has been detached."""
        top = facts.top
        if top is None:
            return
        self.close()
        self._task = asyncio.get_running_loop().create_task(
            self._follow(name, top.path, top.device)
        )

    def name_users(self, name: str, facts: Facts) -> None:
        """Look once for who uses the topmost layer of these facts; whether any does, EBUSY says."""
        if facts.top is not None and (self._look is None or self._look.done()):
            self._look = asyncio.get_running_loop().create_task(
                self._name_users(name, facts.top.device)
            )

    def close(self) -> None:
        """Search no more."""
        if self._look is not None:
            self._look.cancel()
            self._look = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _name_users(self, name: str, device: tuple[int, int]) -> None:
        with contextlib.suppress(AgentError, OSError):
            search = await self._edges.workers.holders(name, device, DEADLINE)
            # A namespace that merely has the mount keeps nobody from unmounting it.
            self.users = tuple(h for h in search.found if h.how != "mount namespace")

    async def _follow(self, name: str, path: str, device: tuple[int, int]) -> None:
        told: set[int] = set()
        trouble = ""
        while not self._taken_again(device):
            try:
                search = await self._edges.workers.holders(name, device, DEADLINE)
            except (AgentError, OSError) as error:
                if str(error) != trouble:
                    trouble = str(error)
                    self._chronicle.tell(
                        Event.FINDING, f"who still holds the replaced mount is not known: {error}"
                    )
                await asyncio.sleep(AGAIN)
                continue
            if self._taken_again(device):
                break  # while it searched: what it found may be the new mount's
            self.found = search.found
            for holder in search.found:
                if holder.pid not in told:
                    told.add(holder.pid)
                    self._chronicle.tell(
                        Event.HOLDERS, _sentence(holder, path), pid=holder.pid, comm=holder.comm
                    )
            if not search.found and search.complete:
                return
            await asyncio.sleep(EVERY)
        self.found = ()

    def _taken_again(self, device: tuple[int, int]) -> bool:
        """The kernel gives a device number to another mount only when nobody holds the old one."""
        return any(entry.device == device for entry in self._edges.mount_table())


def _sentence(holder: Holder, path: str) -> str:
    where = f", {holder.where}" if holder.where else ""
    return (
        f"process {holder.pid} ({holder.comm}, uid {holder.uid}{where}) still holds the replaced "
        f"mount of {path} ({holder.how}); restart it to bring it to the new one"
    )

"""The bare directory under a mount: it is to refuse writes, or jobs fill the local disk there."""

from agent.errors import MountFailed
from agent.events import Event
from agent.mounts.chronicle import Chronicle
from agent.mounts.edges import Edges
from agent.system.workers import Guard, GuardState

DEADLINE = 10.0
"""Seconds for the worker, or PID 1, to set or clear the flag."""


class BareDirectory:
    """Guards one mount point, and tells each reason why it can't be guarded once."""

    def __init__(self, edges: Edges, chronicle: Chronicle) -> None:
        self._edges = edges
        self._tell = chronicle.tell
        self._told = ""

    async def prepare(
        self, key: str, path: str, *, immutable: bool, before: bool, strays: bool
    ) -> bool:
        """Make the directory, set or clear the flag; True if it is immutable now.

        key: of the mount; before: whether the agent had set the flag; strays: tell of entries that
        lie in it. Raises MountFailed where the directory can't be one that is mounted on,
        ChildGone.
        """
        guard = await self._edges.workers.guard(key, path, immutable=immutable, deadline=DEADLINE)
        if guard.state is GuardState.MOUNTED:
            raise MountFailed(f"{path}: something was mounted there meanwhile")
        if guard.state is GuardState.REFUSED:
            raise MountFailed(f"{path}: {guard.detail}")
        if guard.state is GuardState.LATE:
            raise MountFailed(f"{path}: the directory does not answer")
        self._tell_trouble(path, guard, strays=strays)
        guarded = guard.state is GuardState.SET
        if guarded != before:
            self._tell_change(path, guarded=guarded)
        return guarded

    async def prepare_covered(self, path: str, *, immutable: bool) -> bool:
        """Set or clear the flag below what is mounted there now; True if it was done.

        Between a dead mount's going and the new one's coming jobs would write there.
        """
        try:
            await self._edges.host.guard_covered(path, DEADLINE, immutable=immutable)
        except MountFailed as error:
            self._tell(Event.GUARD, str(error), path=path)
            return False
        self._tell_change(path, guarded=immutable)
        return True

    def _tell_change(self, path: str, *, guarded: bool) -> None:
        said = "is guarded: it refuses writes (chattr +i)" if guarded else "takes writes again"
        self._tell(Event.GUARD_CHANGED, f"{path}: the bare directory {said}", path=path)

    def _tell_trouble(self, path: str, guard: Guard, *, strays: bool) -> None:
        told = guard.detail if guard.state is GuardState.UNSUPPORTED else ""
        if guard.strays and strays:
            told = f"entries in the bare directory, hidden by the mount: {guard.strays}; {told}"
        if told and told != self._told:
            self._tell(Event.GUARD, f"{path}: {told.removesuffix('; ')}", path=path)
        self._told = told

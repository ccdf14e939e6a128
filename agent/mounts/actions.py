"""What can be done to a mount, as values: decided in recovery.py, carried out in act.py alone.

Each action says by `describe()` what it will do; that text is the journal line.
"""

from dataclasses import dataclass

from agent.model.mount import ProcessId


@dataclass(frozen=True, slots=True)
class Detach:
    """Take a mount out of the tree; whoever still uses it keeps it.

    device: the only one to be detached; layers: how many of it lie on top.
    """

    path: str
    device: tuple[int, int]
    layers: int
    why: str

    def describe(self) -> str:
        """One line for the journal."""
        what = "mount" if self.layers == 1 else f"{self.layers} mounts"
        return f"detach the {self.why} {what} at {self.path}"


@dataclass(frozen=True, slots=True)
class Abort:
    """Abort the mount's own FUSE connection, which frees everybody who waits on it.

    minor: the connection's number; client: killed where the connection can't be reached.
    """

    path: str
    minor: int
    client: ProcessId | None

    def describe(self) -> str:
        """One line for the journal."""
        return f"abort FUSE connection {self.minor} of the hung mount at {self.path}"


@dataclass(frozen=True, slots=True)
class KillClient:
    """End the client process of a mount that was aborted and detached."""

    client: ProcessId

    def describe(self) -> str:
        """One line for the journal."""
        return f"kill the client process {self.client.pid} of the aborted mount"


@dataclass(frozen=True, slots=True)
class Unmount:
    """Unmount the device if nobody uses it: the kernel's EBUSY decides."""

    path: str
    device: tuple[int, int]
    why: str

    def describe(self) -> str:
        """One line for the journal."""
        return f"unmount {self.path} if nothing uses it: {self.why}"


@dataclass(frozen=True, slots=True)
class Mount:
    """Mount the volume through a server that answers. cause: what made it necessary."""

    path: str
    cause: str

    def describe(self) -> str:
        """One line for the journal."""
        return f"mount {self.path} ({self.cause})"


@dataclass(frozen=True, slots=True)
class Forget:
    """The mount was taken out of the file and is gone, or was never the agent's."""

    path: str
    volume: str

    def describe(self) -> str:
        """One line for the journal."""
        return f"{self.volume} at {self.path} is no longer looked after"


Action = Detach | Abort | KillClient | Unmount | Mount | Forget

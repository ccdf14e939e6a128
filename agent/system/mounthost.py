"""Who makes and unmakes mounts: the small interface with two implementations.

`systemd.py` lets PID 1 do it over D-Bus, so that the clients live in units of their own and mounts
are seen by everybody; `direct.py` calls mount(8) and umount(8) where PID 1 isn't systemd.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class MountRequest:
    """One mount to make. options: as after `-o`, comma-separated, ready for mount.glusterfs."""

    name: str
    source: str
    path: str
    options: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A mount unit of the administrator's: of fstab's generator or from a unit file.

    origin: what to name in messages, e.g. "/etc/fstab" or "/etc/systemd/system/mnt-a.mount";
    source: what it mounts.
    """

    name: str
    origin: str
    source: str


class MountHost(Protocol):
    """Every call ends by its timeout (seconds) or raises; none touches a mount itself.

    A mount that failed takes up to 5 s more, to clear away what it left.
    """

    async def administrator_unit(self, path: str) -> Unit | None:
        """The unit by which the administrator manages this path, if there is one."""

    async def mount(self, request: MountRequest, timeout: float) -> None:
        """Make the mount; success is to be verified by the caller.

        Raises MountFailed with what is known of the cause; what a failed or late helper started
        (client, half mount) is gone then. Also where something is mounted at the path already.
        """

    async def start_unit(self, unit: Unit, path: str, timeout: float) -> None:
        """Mount through the administrator's unit. Raises MountFailed."""

    async def unmount(self, path: str, timeout: float) -> bool:
        """Plain unmount: True when done, False when the kernel says EBUSY. Raises MountFailed.

        Of the topmost mount at path; True too where nothing is mounted. A frozen or dead mount
        doesn't make it wait (see umount.py), and jobs that require the mount's unit live on.
        """

    async def detach(self, path: str, timeout: float) -> None:
        """Lazy unmount of the topmost mount at path. Raises MountFailed."""

    async def guard_covered(self, path: str, timeout: float, *, immutable: bool) -> None:
        """Set or clear the immutable flag of the directory that a mount at path covers.

        Raises MountFailed.
        """

    async def client_pids(self, path: str) -> tuple[int, ...]:
        """The processes in the mount's own unit, () where there is none or it is not known."""

    async def close(self) -> None:
        """Let go of connections."""

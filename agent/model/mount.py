"""What is known of a mount: its entry, its client, its bricks, who holds it, what hinders it."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class MountEntry:
    """One line of /proc/self/mountinfo (proc_pid_mountinfo(5)), unescaped."""

    mount_id: int
    parent_id: int
    major: int
    minor: int
    root: str
    path: str
    options: str
    fstype: str
    source: str
    super_options: str

    @property
    def device(self) -> tuple[int, int]:
        """(major, minor): st_dev of everything on it, and for FUSE the connection's number."""
        return (self.major, self.minor)


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process that can't be mistaken for a later one with the same pid.

    start_time: field 22 of /proc/PID/stat, clock ticks since boot.
    """

    pid: int
    start_time: int


class ClientState(StrEnum):
    """What is known of the glusterfs client process behind a FUSE mount."""

    ALIVE = "alive"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Client:
    """The client process of a mount, as far as it is known."""

    state: ClientState
    process: ProcessId | None = None


@dataclass(frozen=True, slots=True)
class Brick:
    """One brick as the client sees it (`.meta/graphs/active/<volume>-client-N`)."""

    name: str
    host: str
    path: str
    connected: bool

    @property
    def label(self) -> str:
        """host:path, as `gluster volume info` prints it."""
        return f"{self.host}:{self.path}"


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds a mount, never with its arguments: these may be secret.

    where: the container or systemd unit it runs in, "" if neither; how: "open file", "cwd", ...
    """

    pid: int
    comm: str
    uid: int
    where: str
    how: str


@dataclass(frozen=True, slots=True)
class Space:
    """statvfs of the mount, in bytes; free is what an ordinary user may still write."""

    total: int
    free: int


class ObstacleKind(StrEnum):
    """What stands in the way of a mount: what a server did with a connection, or said to a client.

    SILENT: no answer, or no way there.
    """

    UNRESOLVABLE = "unresolvable"
    REFUSED = "refused"
    SILENT = "silent"
    NO_VOLUME = "no-volume"
    NO_BRICK = "no-brick"
    NOT_ALLOWED = "not-allowed"
    NO_DIRECTORY = "no-directory"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What a volfile server put in the way of a mount."""

    kind: ObstacleKind
    server: str

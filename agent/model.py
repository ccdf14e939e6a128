"""Frozen facts, verdicts and status: the words that all parts of the agent share.

Times called `*_at` or `now` are seconds of the monotonic clock; `since` and `time` are seconds of
the wall clock (epoch). Sizes are bytes.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """What is true of a mount. Declared in the order of judgement: the first that fits wins."""

    PAUSED = "paused"
    FOREIGN = "foreign"
    ABSENT = "absent"
    DEAD = "dead"
    HUNG = "hung"
    SLOW = "slow"
    NO_QUORUM = "no-quorum"
    FULL = "full"
    READ_ONLY = "read-only"
    STALE_OPTIONS = "stale-options"
    DEGRADED = "degraded"
    HEALTHY = "healthy"

    @property
    def exit_code(self) -> int:
        """The exit code of `status`, as Nagios counts: 0 healthy, 1 warning, 2 critical."""
        if self is Verdict.HEALTHY:
            return 0
        return 1 if self in _WARNINGS else 2

    @property
    def usable(self) -> bool:
        """Whether a job may start on the mount: what `wait` waits for."""
        return self in _USABLE

    @property
    def meaning(self) -> str:
        """What it says of the mount, for the documents and the manual page."""
        return _MEANINGS[self][0]

    @property
    def response(self) -> str:
        """What the agent does about it; the agent is the subject."""
        return _MEANINGS[self][1]


UNKNOWN = 3
"""The exit code of `status` where nobody can tell the verdict."""

_WARNINGS = frozenset(
    {Verdict.PAUSED, Verdict.SLOW, Verdict.STALE_OPTIONS, Verdict.DEGRADED},
)
_USABLE = frozenset({Verdict.HEALTHY, Verdict.DEGRADED, Verdict.STALE_OPTIONS})

_MEANINGS = {
    Verdict.PAUSED: ("an operator said so; what is observed stands beside it", "only watches"),
    Verdict.FOREIGN: ("something else is mounted there, or on top", "leaves it alone"),
    Verdict.ABSENT: ("nothing is mounted there", "mounts, with back-off, never giving up"),
    Verdict.DEAD: (
        "the client process is gone",
        "detaches and remounts at once; again within 5 min: with back-off",
    ),
    Verdict.HUNG: (
        "no answer for hung_after",
        "acts by recovery.hung: reports, or aborts and remounts",
    ),
    Verdict.SLOW: ("the answer is late, but less than that", "waits"),
    Verdict.NO_QUORUM: (
        "I/O fails, but the client lives: heals when bricks return",
        "never remounts",
    ),
    Verdict.FULL: ("no space or quota left for the probe's write", "reports"),
    Verdict.READ_ONLY: ("writing fails with EROFS, unasked", "reports"),
    Verdict.STALE_OPTIONS: (
        "the mount was made with other options than the file has now",
        "acts by recovery.new_options",
    ),
    Verdict.DEGRADED: (
        "I/O works, but bricks or all volfile servers are away, or the probe met an I/O error",
        "reports",
    ),
    Verdict.HEALTHY: ("the right volume, a true round trip, every brick connected", "does nothing"),
}


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


class RemapState(StrEnum):
    """What is known of the files with old ids on a volume."""

    PENDING = "pending"
    WALKING = "walking"
    ELSEWHERE = "elsewhere"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RemapStatus:
    """Files with old ids on one volume, by the newest walk of any host.

    mode: report or enforce; looked, matched, changed, failed: as in identities.remap.Progress;
    ended: when the walk had looked at all, None before; host: who walked, "" for this one;
    problems: what was left, and why.
    """

    state: RemapState
    mode: str
    looked: int = 0
    matched: int = 0
    changed: int = 0
    failed: int = 0
    ended: float | None = None
    host: str = ""
    problems: tuple[str, ...] = ()


class RetentionState(StrEnum):
    """How far a look at the checkpoints of a volume is."""

    PENDING = "pending"
    WORKING = "working"
    ELSEWHERE = "elsewhere"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RetentionStatus:
    """Checkpoints on one volume, by the newest pass of this host.

    mode: report or enforce; kept: checkpoints that stay; planned, planned_bytes: that go by the
    rules; waiting: of these, for their second look; moved, moved_bytes: to the trash, by that pass;
    trashed, trashed_bytes: what the trash holds; ended: when the pass came to its end, None before;
    host: who cleans the volume, "" for this one or nobody; findings: for people.
    """

    state: RetentionState
    mode: str
    kept: int = 0
    planned: int = 0
    planned_bytes: int = 0
    waiting: int = 0
    moved: int = 0
    moved_bytes: int = 0
    trashed: int = 0
    trashed_bytes: int = 0
    ended: float | None = None
    host: str = ""
    findings: tuple[str, ...] = ()


class LayoutState(StrEnum):
    """How far the layout of a mount is."""

    PENDING = "pending"
    APPLIED = "applied"
    FINDINGS = "findings"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LayoutStatus:
    """What is told of a mount's layout.

    looked: when a pass last came to its end. directories: declared ones, and parents of such. made,
    mended: since the agent started. findings: what is not as declared, or why the pass failed.
    """

    state: LayoutState
    directories: int
    looked: float | None = None
    made: int = 0
    mended: int = 0
    findings: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class MountStatus:
    """All that is told of one mount, in every output: journal, status.json, terminal, metrics.

    obstacles: what the advice goes by where no server can be mounted from; evidence tells of them.
    """

    name: str
    path: str
    volume: str
    verdict: Verdict
    since: float
    evidence: str
    advice: str = ""
    observed: Verdict | None = None
    server: str | None = None
    client: ProcessId | None = None
    adopted: bool = False
    bricks: tuple[Brick, ...] | None = None
    space: Space | None = None
    findings: tuple[str, ...] = ()
    pending: str = ""
    holders: tuple[Holder, ...] = ()
    recoveries: int = 0
    last_recovery: str = ""
    probe_seconds: float | None = None
    attempts: int = 0
    removing: bool = False
    client_log: str = ""
    layout: LayoutStatus | None = None
    obstacles: tuple[Obstacle, ...] = ()
    remap: RemapStatus | None = None
    retention: RetentionStatus | None = None


class IdentitiesState(StrEnum):
    """How the host's users and groups stand to the map of the file."""

    SETTLED = "settled"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class IdentitiesStatus:
    """The map of users and groups on this host; all texts are for people.

    error: why the name service could not be asked; checked: when it last answered, else 0; missing:
    what the host lacks; failed: what a tool could not create; conflicts: names and numbers that are
    another's here; crowded: users in more groups than GlusterFS serves.
    """

    state: IdentitiesState
    error: str = ""
    checked: float = 0.0
    missing: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    crowded: tuple[str, ...] = ()


class ConfigState(StrEnum):
    """Which configuration is in force."""

    VALID = "valid"
    REJECTED = "rejected"
    LAST_GOOD = "last-good"


@dataclass(frozen=True, slots=True)
class ConfigStatus:
    """What became of the configuration file; errors and warnings are whole lines for people.

    seen: which state of the file this is about, see file_state; "" while it was never read.
    """

    state: ConfigState
    path: str
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    fingerprint: str = ""
    seen: str = ""


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """Everything status.json holds.

    unjudged: configured mounts on which there is no verdict yet, by name: the first answer is out.
    identities: None where the file has no map, or nothing is known yet.
    """

    host: str
    version: str
    time: float
    pid: ProcessId
    config: ConfigStatus
    mounts: tuple[MountStatus, ...] = field(default=())
    unjudged: tuple[str, ...] = ()
    identities: IdentitiesStatus | None = None

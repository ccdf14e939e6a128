"""What the agent tells of itself and of each mount, in every output."""

from dataclasses import dataclass, field
from enum import StrEnum

from agent.codec import Epoch
from agent.model.mount import Brick, Holder, Obstacle, ProcessId, Space
from agent.model.verdict import Verdict


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
    ended: Epoch | None = None
    host: str = ""
    problems: tuple[str, ...] = ()


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
    looked: Epoch | None = None
    made: int = 0
    mended: int = 0
    findings: tuple[str, ...] = ()


class RetentionState(StrEnum):
    """Where the cleaning of a mount's volume stands."""

    PENDING = "pending"
    LOOKING = "looking"
    ELSEWHERE = "elsewhere"
    DIFFERING = "differing"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RetentionStatus:
    """What is told of a mount's retention. mode: report or enforce.

    kept: checkpoints that stay; planned, planned_bytes: that the rules let go, and their bytes as
    far as known; waiting: of these, for their second look. moved, moved_bytes, purged: since the
    agent started. trash, trash_bytes: entries in the trash. ended: when a pass last came to its
    end. host: who cleans, "" for this one. problems: what could not be done or judged, or why the
    pass failed.
    """

    state: RetentionState
    mode: str
    kept: int = 0
    planned: int = 0
    planned_bytes: int = 0
    waiting: int = 0
    moved: int = 0
    moved_bytes: int = 0
    purged: int = 0
    trash: int = 0
    trash_bytes: int = 0
    ended: Epoch | None = None
    host: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MountStatus:
    """All that is told of one mount, in every output: journal, status.json, terminal, metrics.

    whole: each replica set, disperse set or lone brick that files are spread over is up and has
    quorum; False also where it is not known. obstacles: what the advice goes by where no server can
    be mounted from; evidence tells of them.
    """

    name: str
    path: str
    volume: str
    verdict: Verdict
    since: Epoch
    evidence: str
    advice: str = ""
    observed: Verdict | None = None
    server: str | None = None
    client: ProcessId | None = None
    adopted: bool = False
    bricks: tuple[Brick, ...] | None = None
    whole: bool = False
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

    @property
    def complete(self) -> bool:
        """Whether work may be done that must see all of the volume: no listing lacks anything."""
        return self.verdict in (Verdict.HEALTHY, Verdict.DEGRADED) and self.whole


class IdentitiesState(StrEnum):
    """How the host's users and groups stand to the map of the file."""

    SETTLED = "settled"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class IdentitiesStatus:
    """The map of users and groups on this host; all texts are for people.

    error: why the name service could not be asked; checked: when it answered, None if it did not;
    missing: what the host lacks; failed: what a tool could not create; conflicts: names and numbers
    that are another's here; crowded: users in more groups than GlusterFS serves.
    """

    state: IdentitiesState
    error: str = ""
    checked: Epoch | None = None
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
    time: Epoch
    pid: ProcessId
    config: ConfigStatus
    mounts: tuple[MountStatus, ...] = field(default=())
    unjudged: tuple[str, ...] = ()
    identities: IdentitiesStatus | None = None

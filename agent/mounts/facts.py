"""What is observed of a mount and what is asked of it: the values that judging works on."""

from dataclasses import dataclass

from agent.model.mount import Client, MountEntry, Obstacle
from agent.model.verdict import Verdict
from agent.protocol import ProbeReply, Step
from agent.system.mountinfo import GLUSTER_FSTYPE, parse_source

DEFAULT_PING_TIMEOUT = 42
"""Seconds: network.ping-timeout of a volume that doesn't set it (glusterd-volume-set.c)."""

CONFIRM_DEATH = 1.0
"""Seconds that the probe may take to confirm that the mount of a vanished client is dead."""
RECONFIRM_DEATH = 1.0
"""Seconds after which such a confirmation is asked for anew: another mount may lie there by now."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the file asks of the mount, as far as judging needs it. Times in seconds.

    hung_after: None means auto, twice the volume's own ping timeout and 30 s.
    """

    path: str
    volume: str
    subdir: str
    read_only: bool
    probe_timeout: float
    hung_after: float | None
    fingerprint: str

    @property
    def full_volume(self) -> str:
        """`volume` or `volume/sub/dir`, as the file has it."""
        return f"{self.volume}/{self.subdir}" if self.subdir else self.volume


@dataclass(frozen=True, slots=True)
class ProbeSeen:
    """A probe's answer, and when it was asked and answered (monotonic seconds)."""

    asked_at: float
    answered_at: float
    reply: ProbeReply


@dataclass(frozen=True, slots=True)
class Facts:
    """What is observed of one mount at one moment. Times are monotonic seconds.

    layers: entries of mountinfo at the path, bottom to top. probe: the newest answer about the
    topmost layer. write: the newest outcome of writing through it, which is tried less often than
    reading. pending_since: when the probe that is still out was asked. blind_since, blind_why:
    since when, and why, no worker could make a probe. client_gone_at: when its end was seen;
    client_stopped_at: since when its process is seen stopped (state T); client_certain: False where
    only a record says that this process was the mount's; identifying: the search for it has not
    ended yet. fingerprint: the options of the agent's own mount, None for a mount that somebody
    else made. attempt_error: why the last attempt to mount failed. servers_reachable: any volfile
    server answers on its port. obstacles: what kept the last attempt from it, or, where something
    is mounted, what would keep the next. guarded: the bare directory refuses writes.
    leaving: the volume that lies on top, where that is the agent's own mount of before. user: whose
    process the agent is, by number.
    """

    layers: tuple[MountEntry, ...]
    client: Client
    probe: ProbeSeen | None = None
    write: Step | None = None
    pending_since: float | None = None
    blind_since: float | None = None
    blind_why: str = ""
    client_gone_at: float | None = None
    client_stopped_at: float | None = None
    client_certain: bool = True
    identifying: bool = False
    fingerprint: str | None = None
    attempt_error: str = ""
    servers_reachable: bool | None = None
    servers_detail: str = ""
    obstacles: tuple[Obstacle, ...] = ()
    guarded: bool = False
    leaving: str = ""
    paused: bool = False
    user: int = 0

    @property
    def top(self) -> MountEntry | None:
        """The layer that a path look-up reaches."""
        return self.layers[-1] if self.layers else None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, the evidence for it in one sentence, and what else should be known.

    observed: beside `paused`, the verdict that the facts would have given. obstacles: of the
    servers, where these are the evidence.
    """

    verdict: Verdict
    evidence: str
    findings: tuple[str, ...] = ()
    observed: Verdict | None = None
    obstacles: tuple[Obstacle, ...] = ()


def serves(entry: MountEntry, wanted: Wanted) -> bool:
    """Whether this layer is the configured volume, whichever server it was fetched from."""
    return entry.fstype == GLUSTER_FSTYPE and serves_source(entry.source, wanted)


def serves_source(text: str, wanted: Wanted) -> bool:
    """Whether a source as mount(8) takes it names the configured volume."""
    source = parse_source(text)
    return source is not None and (source.volume, source.subdir) == (wanted.volume, wanted.subdir)


def hung_after(wanted: Wanted, ping_timeout: int) -> float:
    """Seconds without an answer after which a mount counts as hung.

    A client blocks for one ping timeout, at most two, while it gives up a silent brick (83 s
    measured with the default of 42 s), and then goes on by itself: that must not count as hung.
    """
    if wanted.hung_after is not None:
        return wanted.hung_after
    return 2.0 * ping_timeout + 30.0

"""What is true of a mount, in one word."""

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

"""What a survey finds on a volume: plain values, the same for every framework.

Paths are relative to what is said, times are seconds since the epoch, sizes are bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Named:
    """What one whole name says, to the family that matches it; nothing in it was looked at yet.

    All names of a run with the same unit() stay or go together: a model and its state, versions of
    one step.
    """

    name: str
    family: str
    """As it stands in `format:` and in what `plan` prints."""
    series: str
    """Only numbers of one series can be compared: "step", "epoch", "hpc"."""
    order: int
    step: int | None
    """None where the name has an epoch only."""
    stem: str = ""
    """Runs that lie in one directory are told apart by it (kohya, NeMo); "" elsewhere."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Those that stand in the name."""
    side: bool = False
    """It goes with its model (kohya's `-state`), and is no checkpoint where that is missing."""
    pointer: bool = False
    """It repeats another (NeMo's `-last`, Lightning's `last.ckpt`): kept, and not counted."""

    def unit(self) -> tuple[str, str, str, int]:
        """What the names of one unit have in common."""
        return (self.family, self.stem, self.series, self.order)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a look into a checkpoint says."""

    genuine: bool
    """It holds something that only this framework writes."""
    complete: bool
    why: str = ""
    """Where it is not genuine or not complete: what is missing, in a few words."""
    broken: bool = False
    """A state file is there and can't be read: in the newest one, the run is left alone."""


@dataclass(frozen=True, slots=True)
class Records:
    """What a run says of its checkpoints, beside them or in the newest of them."""

    pointed: Mapping[str, str] = field(default_factory=dict)
    """Name of a checkpoint -> what points to it: "latest", "link last"."""
    best: Mapping[str, str] | None = None
    """Name -> what calls it the best one; None: the framework recorded none."""
    metrics: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """By step: those that were logged. Values are finite."""
    upto: int | None = None
    """No checkpoint with a greater order is complete yet; None: nothing says so."""
    leave: str = ""
    """Why the whole run is left alone, "" if it isn't."""
    findings: tuple[str, ...] = ()
    """What people should know; changes nothing."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A checkpoint: one or more names of a run that stay or go together."""

    names: tuple[str, ...]
    """In the run's directory, sorted."""
    series: str
    order: int
    step: int | None
    complete: bool
    newest: float
    """The newest mtime in it; of its names and their evidence alone until it was walked."""
    why: str = ""
    """Why it is not complete."""
    broken: bool = False
    pointer: bool = False
    pinned: str = ""
    """What pins it: its `.keep`; "" if nothing does."""
    busy: str = ""
    """What in it says that it is in use: `.nfs0001`, a staging name."""
    skipped: str = ""
    """Why it is left alone, whatever the rule says: another file system is mounted in it."""
    linked: str = ""
    """A link elsewhere on the volume that leads to it or into it."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Those in its name."""
    walked: bool = False
    """All in it was looked at: newest and fingerprint are of the whole, size is known."""
    size: int | None = None
    """Allocated bytes; None: not asked for."""
    fingerprint: str = ""
    """Of inode, size, mtime and ctime of all in it."""


@dataclass(frozen=True, slots=True)
class Run:
    """The checkpoints of one format, and for some one stem, in one directory."""

    path: str
    """Relative to the volume's root; "" is that root."""
    family: str
    stem: str
    units: tuple[Unit, ...]
    """By series, then ascending order."""
    records: Records = Records()
    pinned: str = ""
    """`.keep` in its directory; "" if there is none."""
    linked: str = ""
    """A link that leads to the run itself: all of it stays."""
    unreadable: str = ""
    """What of it could not be read: all of it stays."""
    odd: tuple[tuple[str, str], ...] = ()
    """Names that look like checkpoints and are left alone, each with the reason."""


@dataclass(frozen=True, slots=True)
class Space:
    """Of the file system, by two readings that agree on the total."""

    total: int
    free: int
    in_trash: int = 0
    """What the trash still holds, and free does not count yet."""

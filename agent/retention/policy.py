"""What the file says of one mount's retention, as plain values that a worker can be sent.

Durations are seconds, sizes are bytes. A row is what JSON holds; from_row() reads what to_row()
wrote, and nothing else.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from agent.config.sizes import Amount, Share

Row = Mapping[str, Any]
Mode = Literal["report", "enforce"]
Direction = Literal["min", "max"]

QUIET_FOR = 900.0
EVERY = 3600.0
KEEP_FOR = 259200.0


def amount_of(amount: Amount, total: int) -> int:
    """Bytes, on a file system of that size."""
    return total * amount.percent // 100 if isinstance(amount, Share) else amount


@dataclass(frozen=True, slots=True)
class Best:
    """Which are the best. metric and mode: both None where the framework's own pointer says it."""

    count: int
    metric: str | None = None
    mode: Direction | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    """What is kept; at least one of them is given. They unite."""

    last: int | None = None
    every_steps: int | None = None
    best: Best | None = None
    newer_than: float | None = None


@dataclass(frozen=True, slots=True)
class FreeSpace:
    """When the optional part shrinks, and until how much is free."""

    start_below: Amount
    stop_above: Amount


@dataclass(frozen=True, slots=True)
class Rule:
    """What holds for the runs below the directories that a pattern names."""

    path: str
    """A pattern, see agent.config.patterns; relative to the root of what is mounted."""
    keep: Keep
    quiet_for: float = QUIET_FOR
    format: str | None = None
    """The family whose names need no other evidence here."""
    free_space: FreeSpace | None = None
    max_size: int | None = None

    def to_row(self) -> dict[str, Any]:
        """For a worker's request."""
        return asdict(self)

    @classmethod
    def from_row(cls, row: Row) -> "Rule":
        """What to_row() wrote."""
        keep, space = row["keep"], row["free_space"]
        best = keep["best"] and Best(**keep["best"])
        return cls(
            **{
                **row,
                "keep": Keep(**{**keep, "best": best}),
                "free_space": space and FreeSpace(**{k: _amount(v) for k, v in space.items()}),
            }
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """All of it. rules: in the order of the file; the most specific one that fits wins."""

    mode: Mode = "report"
    every: float = EVERY
    keep_for: float = KEEP_FOR
    """How long what was deleted stays in the trash."""
    rules: tuple[Rule, ...] = field(default=())

    def to_row(self) -> dict[str, Any]:
        """For a worker's request."""
        return asdict(self)

    @classmethod
    def from_row(cls, row: Row) -> "Policy":
        """What to_row() wrote."""
        return cls(**{**row, "rules": tuple(Rule.from_row(rule) for rule in row["rules"])})


def _amount(value: Any) -> Amount:
    return int(value) if isinstance(value, int) else Share(*value)

"""How long entries have been in the trash, and which of them go. Pure.

By this host's own clock that can't be set (CLOCK_MONOTONIC), from when it first saw them: the time
in a manifest is by another host's clock, and whose is wrong could only be guessed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.retention.policy import Rule, amount_of
from agent.retention.trash import Entry

AN_HOUR = 3600.0
"""Seconds: what is younger does not go before its time."""


@dataclass(frozen=True, slots=True)
class Ages:
    """boot, at: which boot of the host, and its monotonic clock, when they were taken.

    of: by an entry's id, for how many seconds it was seen.
    """

    boot: str = ""
    at: float = 0.0
    of: Mapping[str, float] = field(default_factory=dict)

    def to_row(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"boot": self.boot, "at": self.at, "of": dict(self.of)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Ages":
        """What to_row() wrote. Raises KeyError, TypeError, ValueError."""
        ages = {str(id_): float(age) for id_, age in dict(row["of"]).items()}
        return cls(str(row["boot"]), float(row["at"]), ages)

    def now(self, entries: Sequence[Entry], boot: str, at: float) -> "Ages":
        """The entries that are there, that much older; after a boot, by the time since that."""
        passed = at - self.at if boot == self.boot else at
        known = {e.id: self.of[e.id] + max(0.0, passed) for e in entries if e.id in self.of}
        return Ages(boot, at, {e.id: known.get(e.id, 0.0) for e in entries})


def due(entries: Sequence[Entry], ages: Ages, keep_for: float) -> list[Entry]:
    """Those whose time is over."""
    return [entry for entry in entries if ages.of.get(entry.id, 0.0) >= keep_for]


def early(
    entries: Sequence[Entry], ages: Ages, rules: Sequence[Rule], total: int, free: int
) -> list[Entry]:
    """Those that go before their time, the oldest first, as the volume has too little space.

    total, free: bytes, 0 where nothing is known; entries: what is not due anyway. Just as many as
    are needed, as far as sizes are known, and none that is younger than an hour.
    """
    short = [
        rule.free_space
        for rule in rules
        if total > 0 and rule.free_space and free < amount_of(rule.free_space.start_below, total)
    ]
    wanted = max((amount_of(each.stop_above, total) for each in short), default=0)
    old = [entry for entry in entries if ages.of.get(entry.id, 0.0) >= AN_HOUR]
    gone: list[Entry] = []
    for entry in sorted(old, key=lambda entry: -ages.of[entry.id]):
        if free >= wanted:
            break
        gone.append(entry)
        free += entry.size or 0
    return gone

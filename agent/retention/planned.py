"""What a plan holds: every checkpoint that a rule is about, with the reasons for what it decides.

Paths are relative to the volume's root; a checkpoint's is that of its first name. Steps are None
where names have epochs only. Foreign text in reasons is as it was found: who prints it, escapes it.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Kept:
    """A checkpoint that stays. reasons: never empty."""

    path: str
    step: int | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Doomed:
    """A checkpoint that no keeper wants. reasons: never empty."""

    path: str
    step: int | None
    reasons: tuple[str, ...]
    size: int | None
    """Allocated bytes; None: not asked for."""
    names: tuple[str, ...]
    """All that goes, in the run's directory."""
    fingerprint: str
    """Of all in it; "" until it was walked."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A run, a checkpoint or another entry that is left alone, whatever the rule says."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run. keep, delete: steps ascending; the checkpoints of a skipped run are in keep too."""

    path: str
    format: str
    keep: tuple[Kept, ...] = ()
    delete: tuple[Doomed, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    findings: tuple[str, ...] = ()
    """What people should know; changes nothing."""
    stem: str = ""
    """Runs that lie in one directory are told apart by it."""

    def to_row(self) -> dict[str, Any]:
        """As `plan --json` prints it."""
        return {
            "path": self.path,
            "format": self.format,
            "keep": [
                {"path": kept.path, "step": kept.step, "reasons": list(kept.reasons)}
                for kept in self.keep
            ],
            "delete": [
                {
                    "path": doomed.path,
                    "step": doomed.step,
                    "reasons": list(doomed.reasons),
                    "bytes": doomed.size,
                }
                for doomed in self.delete
            ],
            "skipped": [{"path": each.path, "reason": each.reason} for each in self.skipped],
            "findings": list(self.findings),
        }


@dataclass(frozen=True, slots=True)
class RulePlan:
    """What one rule says of the runs that it is the most specific one for."""

    path: str
    """The rule's own, as in the file."""
    runs: tuple[RunPlan, ...] = field(default=())
    findings: tuple[str, ...] = ()
    """On the rule as a whole."""

    def to_row(self) -> dict[str, Any]:
        """As `plan --json` prints it."""
        return {
            "path": self.path,
            "runs": [run.to_row() for run in self.runs],
            "findings": list(self.findings),
        }

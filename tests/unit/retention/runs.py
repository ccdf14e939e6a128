"""Runs as a survey finds them, in few words."""

from collections.abc import Sequence
from typing import Any

from agent.retention.facts import Records, Run, Space, Unit
from agent.retention.plan import plan_rule
from agent.retention.planned import Doomed, Kept, RulePlan, RunPlan
from agent.retention.policy import Best, Keep, Rule

NOW = 1_800_000_000.0
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
GIB = 1 << 30


def unit(number: int, **changes: Any) -> Unit:
    """A complete checkpoint; the greater its number, the less old, by minutes."""
    given: dict[str, Any] = {
        "names": (f"checkpoint-{number}",),
        "series": "step",
        "order": number,
        "step": number,
        "complete": True,
        "newest": NOW - 1000 * DAY + number * MINUTE,
        "walked": True,
        "size": GIB,
        "fingerprint": f"of {number}",
    }
    return Unit(**(given | changes))


def epoch(number: int, **changes: Any) -> Unit:
    given = {"names": (f"n-{number:06}.pt",), "series": "epoch", "step": None}
    return unit(number, **(given | changes))


def run(*units: Unit, **changes: Any) -> Run:
    ordered = tuple(sorted(units, key=lambda each: (each.series, each.order)))
    given: dict[str, Any] = {"path": "checkpoints/a", "family": "hf", "stem": "", "units": ordered}
    return Run(**(given | changes))


def rule(last: int | None = None, **changes: Any) -> Rule:
    """With what belongs to its `keep` and what belongs beside it."""
    keep = {key: changes.pop(key) for key in ("every_steps", "best", "newer_than") & changes.keys()}
    if isinstance(keep.get("best"), int):
        keep["best"] = Best(keep["best"])
    return Rule("checkpoints", Keep(last=last, **keep), **changes)


def planned(
    rule: Rule, *runs: Run, now: float = NOW, space: Space | None = None, whole: bool = True
) -> RulePlan:
    return plan_rule(rule, runs, now=now, space=space, whole=whole)


def only(rule: Rule, one: Run, **more: Any) -> RunPlan:
    (found,) = planned(rule, one, **more).runs
    return found


def gone(plan: RunPlan) -> list[int]:
    """Steps, or numbers of epochs, by the names of what goes."""
    return [int("".join(filter(str.isdigit, each.names[0]))) for each in plan.delete]


def stays(plan: RunPlan) -> list[int]:
    return [int("".join(filter(str.isdigit, each.path))) for each in plan.keep]


def why(plan: RunPlan, step: int) -> tuple[str, ...]:
    """The reasons for what becomes of a checkpoint."""
    told: list[Kept | Doomed] = [*plan.keep, *plan.delete]
    (found,) = [each for each in told if each.path.endswith(f"-{step}")]
    return found.reasons


def steps(*numbers: int, **changes: Any) -> list[Unit]:
    return [unit(number, **changes) for number in numbers]


def logged(metric: str, values: dict[int, float]) -> Records:
    return Records(metrics={step: {metric: value} for step, value in values.items()})


def paths(found: Sequence[Any]) -> list[str]:
    return [each.path for each in found]

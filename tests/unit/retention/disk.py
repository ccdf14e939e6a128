"""Trees of tests/unit/retention/trees.py on a real disk, and surveys of them by the real worker."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.cli.surveying import looked_at
from agent.retention.planned import RunPlan
from agent.retention.policy import Keep, Rule
from agent.retention.survey import Surveyed, Wanted
from tests.unit.retention.trees import Link, Sized, Tree

NOW = time.time()
OLD = 10 * 86400.0
"""Seconds: long before any `quiet_for`, and a leftover may go."""


def grow(path: Path, tree: Tree, age: float = OLD) -> Path:
    """Make it below path; everything in it was last written to so many seconds ago."""
    path.mkdir(parents=True, exist_ok=True)
    for name, node in tree.items():
        _grow(path / name, node, age)
    _date(path, age)
    return path


def _grow(path: Path, node: object, age: float) -> None:
    if isinstance(node, Mapping):
        grow(path, node, age)
        return
    if isinstance(node, Link):
        path.symlink_to(node.target)
    elif isinstance(node, Sized):
        path.write_bytes(node.head)
        os.truncate(path, node.size)
    elif isinstance(node, bytes):
        path.write_bytes(node)
    else:
        os.mkfifo(path)
    _date(path, age)


def _date(path: Path, age: float) -> None:
    then = NOW - age
    os.utime(path, (then, then), follow_symlinks=False)


def hf(*steps: int, **more: bytes) -> dict[str, Any]:
    """A run of the Trainer with these steps."""
    state = b'{"global_step": %d, "log_history": [], "best_model_checkpoint": null}'
    return {
        f"checkpoint-{step}": {"trainer_state.json": state % step, "model.bin": b"w" * 100, **more}
        for step in steps
    }


def keep(path: str = "runs", **wishes: object) -> Rule:
    """A rule; last=1 where nothing else is said."""
    return Rule(path=path, keep=Keep(**(wishes or {"last": 1})))  # type: ignore[arg-type]


def look(
    root: Path,
    *rules: Rule,
    threads: int = 2,
    mounted_at: str = "",
    device: tuple[int, int] | None = None,
    within: tuple[str, ...] = (),
) -> Surveyed:
    """What the worker says of a directory in the place of a volume."""
    wanted = Wanted(
        root=str(root),
        device=device,
        mounted_at=mounted_at or str(root),
        rules=rules or (keep(),),
        threads=threads,
        within=within,
    )
    return looked_at(wanted)


def runs(found: Surveyed) -> dict[str, RunPlan]:
    """The runs by path, where each directory has one."""
    return {run.path: run for run in _all(found)}


def _all(found: Surveyed) -> list[RunPlan]:
    return [run for rule in found.rules for run in rule.runs]


def gone(found: Surveyed) -> list[str]:
    """The paths of all that is planned to go."""
    return [each.path for run in _all(found) for each in run.delete]


def why(found: Surveyed, path: str) -> str:
    """The reasons of one that is kept."""
    kept = {each.path: each.reasons for run in _all(found) for each in run.keep}
    return "; ".join(kept[path])


def skipped(found: Surveyed) -> dict[str, str]:
    """All that is left alone or could not be read: path -> reason."""
    of_runs = {s.path: s.reason for run in _all(found) for s in run.skipped}
    return of_runs | {each.path: each.reason for _, each in found.failed}

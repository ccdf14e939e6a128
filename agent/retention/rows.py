"""The plan of a run as the rows that a worker sends, however many checkpoints it has. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agent.retention.planned import Doomed, Kept, RunPlan, Skipped

_PIECE = 200_000
"""Characters of JSON in a row, roughly; a channel's line takes five times as many."""
_LISTS = ("keep", "delete", "skipped", "findings")


def rows(rule: int, plan: RunPlan) -> Iterator[dict[str, object]]:
    """The pieces in their order; all but the last have "more"."""
    head = {"rule": rule, "run": plan.path, "format": plan.format, "stem": plan.stem}
    piece: dict[str, list[object]] = {name: [] for name in _LISTS}
    room = _PIECE
    for name, item in _items(plan):
        if room <= 0:
            yield {**head, **piece, "more": True}
            piece, room = {name: [] for name in _LISTS}, _PIECE
        piece[name].append(item)
        room -= len(json.dumps(item))
    yield {**head, **piece, "more": False}


def _items(plan: RunPlan) -> Iterator[tuple[str, object]]:
    for kept in plan.keep:
        yield "keep", [kept.path, kept.step, kept.reasons]
    for gone in plan.delete:
        yield (
            "delete",
            [gone.path, gone.step, gone.reasons, gone.size, gone.names, gone.fingerprint],
        )
    for skipped in plan.skipped:
        yield "skipped", [skipped.path, skipped.reason]
    for finding in plan.findings:
        yield "findings", finding


class Joined:
    """Puts the pieces of one run after the other together."""

    def __init__(self) -> None:
        self._pieces: list[Mapping[str, Any]] = []

    def add(self, row: Mapping[str, Any]) -> tuple[int, RunPlan] | None:
        """The rule and the plan, once a row is the last of its run.

        Raises KeyError, TypeError, ValueError.
        """
        self._pieces.append(row)
        if row["more"]:
            return None
        pieces, self._pieces = self._pieces, []
        lists = {name: [item for piece in pieces for item in piece[name]] for name in _LISTS}
        return int(row["rule"]), RunPlan(
            path=str(row["run"]),
            format=str(row["format"]),
            stem=str(row["stem"]),
            keep=tuple(Kept(path, step, tuple(why)) for path, step, why in lists["keep"]),
            delete=tuple(
                Doomed(path, step, tuple(why), size, tuple(names), fingerprint)
                for path, step, why, size, names, fingerprint in lists["delete"]
            ),
            skipped=tuple(Skipped(path, reason) for path, reason in lists["skipped"]),
            findings=tuple(lists["findings"]),
        )

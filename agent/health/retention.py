"""What became of a volume's checkpoints, as text for people. Pure."""

from collections.abc import Iterator

from agent.health.text import plural, size
from agent.model import RetentionState, RetentionStatus

SHOWN = 5
"""Findings that `status` shows; status.json has them all."""


def lines(found: RetentionStatus) -> Iterator[tuple[str, str]]:
    """The lines of a mount's block, each with its label."""
    match found.state:
        case RetentionState.PENDING:
            yield "retention", f"mode {found.mode}, not looked at yet"
            return
        case RetentionState.ELSEWHERE:
            yield "retention", f"{found.host or 'another host'} looks after the checkpoints"
            return
        case RetentionState.FAILED:
            yield "retention", "the last pass failed and is tried again"
        case RetentionState.WORKING | RetentionState.DONE:
            yield "retention", _plan(found)
    if found.moved:
        moved = plural(found.moved, "checkpoint")
        yield "", f"{moved} moved to the trash by the last pass ({size(found.moved_bytes)})"
    if found.trashed:
        held = plural(found.trashed, "entry", "entries")
        yield "", f"the trash holds {held} ({size(found.trashed_bytes)})"
    yield from (("", line) for line in found.findings[:SHOWN])
    if len(found.findings) > SHOWN:
        yield "", f"and {len(found.findings) - SHOWN} more: gluster-ml-agent plan"


def _plan(found: RetentionStatus) -> str:
    going = f"{found.planned} to go ({size(found.planned_bytes)})"
    words = f"mode {found.mode}: {plural(found.kept, 'checkpoint')} kept, {going}"
    return f"{words}, {found.waiting} of them after a second look" if found.waiting else words

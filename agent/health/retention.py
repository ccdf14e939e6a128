"""Where the cleaning of a mount's volume stands, as text for people. Pure."""

from collections.abc import Iterator

from agent.health.text import plural, size
from agent.model.status import RetentionState, RetentionStatus

SHOWN = 5
"""Problems that `status` shows; status.json has them all."""


def lines(found: RetentionStatus) -> Iterator[tuple[str, str]]:
    """The lines of a mount's block, each with its label."""
    yield "retention", f"{_state(found)}, mode is {found.mode}"
    if found.trash:
        count = plural(found.trash, "entry", "entries")
        yield "trash", f"{count} ({size(found.trash_bytes)})"
    yield from (("", line) for line in found.problems[:SHOWN])
    if len(found.problems) > SHOWN:
        yield "", f"and {len(found.problems) - SHOWN} more"


def _state(found: RetentionStatus) -> str:
    kept = plural(found.kept, "checkpoint")
    planned = f"{kept} kept, {found.planned} may go ({size(found.planned_bytes)})"
    if found.waiting:
        planned += f", {found.waiting} after a second look"
    match found.state:
        case RetentionState.PENDING:
            return "not looked at yet"
        case RetentionState.LOOKING:
            return "the checkpoints are being looked at"
        case RetentionState.ELSEWHERE:
            return f"{found.host or 'another host'} is cleaning"
        case RetentionState.DIFFERING:
            return f"{planned}; nothing is moved, as other hosts' files differ"
        case RetentionState.DONE:
            moved = f"; {found.moved} moved since the agent started" if found.moved else ""
            return f"{planned}{moved}"
        case RetentionState.FAILED:
            return "it failed and is tried again"

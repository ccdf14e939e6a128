"""Has a worker say who cleaned a volume last, and leave word of what this host wants of it."""

from agent.errors import ChildGone
from agent.retention.trash import Place, read_failure
from agent.retention.turns import Word
from agent.system.children import Children

DEADLINE = 30.0
"""Seconds."""


async def last(children: Children, place: Place, *, host: str, wants: str) -> Word:
    """Raises AgentError, OSError."""
    request: dict[str, object] = {
        "path": place.path,
        "device": place.device,
        "host": host,
        "wants": wants,
    }
    answer = await children.run_once("cleaners", place.path, request, DEADLINE)
    for row in answer.rows:
        if row.get("row") == "failure":
            raise read_failure(place.path, row)
        if isinstance(row.get("host"), str) and isinstance(row.get("turn"), str):
            return Word(row["host"], row["turn"])
    raise ChildGone(f"the volume at {place.path} did not say who cleans it")

"""One question to a one-shot worker, from a command."""

from collections.abc import Mapping
from typing import Any

from agent.errors import AgentError, ChildGone
from agent.retention.survey import PATIENCE
from agent.system.children import Children


async def ask(kind: str, path: str, request: dict[str, object]) -> Mapping[str, Any]:
    """The one row of its answer. path: what it is about.

    Raises AgentError, also with the problem that the row tells of.
    """
    children = Children()
    try:
        answer = await children.run_once(kind, path, request, PATIENCE)
    finally:
        await children.close()
    if not answer.done:
        raise AgentError(
            "mount-hangs",
            f"{path}: no answer for {PATIENCE:g} s",
            "see gluster-ml-agent status",
        )
    if len(answer.rows) != 1:
        raise ChildGone(f"the worker {kind} talks nonsense")
    (row,) = answer.rows
    if "problem" in row:
        raise AgentError("not-done", f"{row['path']}: {row['problem']}")
    return row

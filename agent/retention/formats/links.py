"""Pointers that are symbolic links. They are read, never followed."""

from agent.retention.formats.text import last_part, shown
from agent.retention.view import UnreadableError, View


def link(run: View, pointer: str) -> str | None:
    """The name in the run that the link of that name leads to; None where there is no such link.

    It counts by its last part, as a link may hold a path below another root. Raises UnreadableError
    where nothing of that name is in the run: half a listing looks like that too.
    """
    target = run.target(pointer)
    if target is None:
        return None
    name = last_part(target)
    if name not in run.entries():
        raise UnreadableError(f"leads to {shown(target)}, which is gone")
    return name

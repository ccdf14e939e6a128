"""How the host's users and groups stand to the map, as text for people. Pure."""

from collections.abc import Iterator

from agent.health.text import plural, wrapped
from agent.model.status import IdentitiesStatus, RemapState, RemapStatus

LABEL = 11
"""Columns of the words before a line's text."""
SHOWN = 10
"""Differences that `status` shows; status.json has them all."""


def differences(found: IdentitiesStatus) -> list[tuple[str, str]]:
    """Each with the word for what it is; empty where all is as the file says."""
    return [
        *(("error", line) for line in (found.error,) if line),
        *(("failed", line) for line in found.failed),
        *(("lacks", line) for line in found.missing),
        *(("conflict", line) for line in found.conflicts),
        *(("finding", line) for line in found.crowded),
    ]


def remapped(found: RemapStatus) -> Iterator[tuple[str, str]]:
    """The lines of a mount's block, each with its label."""
    what = f"{plural(found.looked, 'file')} looked at, {found.matched} with an old id"
    if found.mode == "enforce":
        what += f", {found.changed} changed"
    match found.state:
        case RemapState.PENDING:
            yield "old ids", "not looked for yet"
        case RemapState.WALKING:
            yield "old ids", f"{what} so far"
        case RemapState.ELSEWHERE:
            yield "old ids", "another host is looking for them"
        case RemapState.DONE:
            yield "old ids", f"{what}, by {found.host}" if found.host else what
        case RemapState.FAILED:
            yield "old ids", f"{what}; it failed and is tried again"
    yield from (("", line) for line in found.problems[:SHOWN])
    if len(found.problems) > SHOWN:
        yield "", f"and {len(found.problems) - SHOWN} more"


def lines(found: IdentitiesStatus) -> Iterator[str]:
    """A block of `status`; nothing where nothing is to be told."""
    told = differences(found)
    if not told:
        return
    yield from ("", f"users and groups: {found.state.value}")
    for label, line in told[:SHOWN]:
        yield from wrapped(line, f"  {label:<{LABEL - 2}}", " " * LABEL)
    if len(told) > SHOWN:
        yield f"{'':<{LABEL}}{len(told) - SHOWN} more: gluster-ml-agent ids check"

"""One mount's block of `status`, as text for people. Pure."""

from collections.abc import Iterator
from datetime import tzinfo

from agent.health import identities, retention
from agent.health.text import clock, duration, painted, plural, size, wrapped
from agent.model.mount import Holder
from agent.model.status import LayoutState, LayoutStatus, MountStatus
from agent.model.verdict import Verdict

MAX_HOLDERS = 10
"""Processes shown of one mount; status.json has them all."""
MAX_FINDINGS = 10
"""Findings on a layout that are shown; status.json has them all."""

_LABEL = identities.LABEL


def lines(mount: MountStatus, now: float, zone: tzinfo | None, *, colour: bool) -> Iterator[str]:
    """Verdict, evidence and advice first. zone: None is local time."""
    verdict = painted(verdict_words(mount), mount.verdict.exit_code, colour=colour)
    since = f"since {clock(mount.since, now, zone)} ({duration(now - mount.since)})"
    yield f"{mount.name}: {verdict} {since}"
    for label, text in _facts(mount):
        yield from wrapped(text, f"  {label:<{_LABEL - 2}}", " " * _LABEL)


def _facts(mount: MountStatus) -> Iterator[tuple[str, str]]:
    told = {"evidence": mount.evidence, "do": mount.advice, "pending": mount.pending}
    yield from ((label, text) for label, text in told.items() if text)
    if mount.removing:
        yield "leaving", "no longer configured; unmounted as soon as nothing uses it"
    for finding in mount.findings:
        yield "finding", finding
    yield "volume", f"{mount.volume} at {mount.path}"
    if mount.server or mount.client:
        yield "client", _client(mount)
    if mount.client_log:
        yield "log", mount.client_log
    if mount.bricks is not None:
        yield "bricks", _bricks(mount)
    if mount.space is not None and mount.space.total > 0:
        share = 100 * mount.space.free // mount.space.total
        yield "space", f"{size(mount.space.free)} free of {size(mount.space.total)} ({share} %)"
    yield from _work(mount)
    if mount.recoveries:
        yield "recovery", _recoveries(mount)
    yield from _holders(mount.holders)


def _work(mount: MountStatus) -> Iterator[tuple[str, str]]:
    """What the agent does on the volume itself."""
    if mount.layout is not None:
        yield from _layout(mount.layout)
    if mount.remap is not None:
        yield from identities.remapped(mount.remap)
    if mount.retention is not None:
        yield from retention.lines(mount.retention)


def _holders(holders: tuple[Holder, ...]) -> Iterator[tuple[str, str]]:
    """Of the old mount that was replaced: the one that is there now may well be healthy."""
    for position, holder in enumerate(holders[:MAX_HOLDERS]):
        where = f", {holder.where}" if holder.where else ""
        how = f"{holder.how} on the old mount" if holder.how else "the old mount"
        words = f"pid {holder.pid} {holder.comm} (uid {holder.uid}{where}): {how}"
        yield "" if position else "held by", words
    if len(holders) > MAX_HOLDERS:
        yield "", f"and {len(holders) - MAX_HOLDERS} more"


def _layout(layout: LayoutStatus) -> Iterator[tuple[str, str]]:
    what = plural(layout.directories, "directory", "directories")
    match layout.state:
        case LayoutState.PENDING:
            yield "layout", f"{what}, not looked at yet"
        case LayoutState.APPLIED:
            yield "layout", f"{what} as declared"
        case LayoutState.FAILED:
            yield "layout", f"{what}, which can't be looked after: {'; '.join(layout.findings)}"
        case LayoutState.FINDINGS:
            yield "layout", f"{what}, {plural(len(layout.findings), 'finding')}"
            yield from (("", finding) for finding in layout.findings[:MAX_FINDINGS])
            if len(layout.findings) > MAX_FINDINGS:
                yield "", f"and {len(layout.findings) - MAX_FINDINGS} more"


def _client(mount: MountStatus) -> str:
    parts = []
    if mount.client:
        parts.append(f"pid {mount.client.pid}")
    if mount.server:
        parts.append(f"volfile server {mount.server}")
    if mount.adopted:
        parts.append("adopted")
    return ", ".join(parts)


def _bricks(mount: MountStatus) -> str:
    bricks = mount.bricks or ()
    down = [brick.label for brick in bricks if not brick.connected]
    words = f"{len(bricks) - len(down)} of {len(bricks)} connected"
    return f"{words}; not connected: {', '.join(down)}" if down else words


def _recoveries(mount: MountStatus) -> str:
    times = "once" if mount.recoveries == 1 else f"{mount.recoveries} times"
    return f"{times}; last: {mount.last_recovery}" if mount.last_recovery else times


def verdict_words(mount: MountStatus) -> str:
    """The verdict, and what is observed of a paused mount."""
    if mount.verdict is Verdict.PAUSED and mount.observed is not None:
        return f"paused (observed: {mount.observed.value})"
    return mount.verdict.value

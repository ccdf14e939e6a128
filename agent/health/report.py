"""The agent's status as text for people: `status` and systemd's status line. Pure."""

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from agent.health import identities, retention
from agent.health.text import clean, clock, duration, plural, size, wrapped
from agent.model import (
    UNKNOWN,
    AgentStatus,
    ConfigState,
    ConfigStatus,
    Holder,
    LayoutState,
    LayoutStatus,
    MountStatus,
    Verdict,
)

MAX_SENTENCE = 300
MAX_NAMED = 3
"""Mounts named one by one in the status sentence."""
MAX_HOLDERS = 10
"""Processes shown of one mount; status.json has them all."""

MAX_FINDINGS = 10
"""Findings on a layout that are shown; status.json has them all."""

CRITICAL = 2
"""The exit code of `status` where a mount is critical: it outweighs UNKNOWN."""

_LABEL = identities.LABEL
_WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
_COLOURS = ("\x1b[32m", "\x1b[33m", "\x1b[1;31m", "\x1b[33m")
_PLAIN = "\x1b[0m"


def exit_code(status: AgentStatus, only: str | None = None) -> int:
    """0 healthy, 1 warning, 2 critical: the worst of the mounts, or that of the named one.

    A configuration that was not accepted is a warning of its own. UNKNOWN: a mount has no verdict
    yet, and none is critical, so that all may be well or nothing.
    """
    config = 0 if status.config.state is ConfigState.VALID else 1
    worst = max([config, *(m.verdict.exit_code for m in _chosen(status, only))])
    return UNKNOWN if worst < CRITICAL and _unjudged(status, only) else worst


def status_sentence(
    mounts: Sequence[MountStatus],
    config: ConfigStatus,
    now: float,
    zone: tzinfo | None = None,
    *,
    unjudged: Sequence[str] = (),
) -> str:
    """One sentence on the whole host, without newlines; zone: None is local time.

    unjudged: names of mounts without a verdict yet.
    """
    bad = sorted(
        (m for m in mounts if m.verdict is not Verdict.HEALTHY),
        key=lambda m: (-m.verdict.exit_code, m.since),
    )
    parts = [_one(mount, now, zone) for mount in bad[:MAX_NAMED]]
    if len(bad) > MAX_NAMED:
        parts.append(f"{len(bad) - MAX_NAMED} more not healthy")
    healthy = len(mounts) - len(bad)
    if healthy:
        parts.append(f"{healthy} healthy" if bad else f"{plural(healthy, 'mount')} healthy")
    if unjudged:
        parts.append(_no_verdict(unjudged))
    in_force = config.state is not ConfigState.REJECTED or config.fingerprint
    if in_force and not (mounts or unjudged):
        parts.append(f"no mounts configured; edit {config.path}")
    return clean("; ".join([*_config_sentence(config), *parts]), MAX_SENTENCE)


def _one(mount: MountStatus, now: float, zone: tzinfo | None) -> str:
    words = f"{mount.name} {_verdict_words(mount)} since {clock(mount.since, now, zone)}"
    return f"{words} ({mount.evidence})" if mount.evidence else words


def _config_sentence(config: ConfigStatus) -> list[str]:
    errors = plural(len(config.errors), "error")
    if config.state is ConfigState.REJECTED and not config.fingerprint:
        return [f"configuration rejected: {errors}, none is in force"]
    if config.state is ConfigState.REJECTED:
        return [f"configuration rejected: {errors}, the one before stays in force"]
    if config.state is ConfigState.LAST_GOOD:
        return [f"configuration invalid: {errors}, the last good one is in force"]
    return []


def status_text(
    status: AgentStatus,
    now: float,
    *,
    colour: bool = False,
    only: str | None = None,
    zone: tzinfo | None = None,
) -> str:
    """All of it, the host's state in the first line, then a block a mount.

    only: the one mount to tell of. zone: None is local time. 80 columns wide, but a word longer
    than that (a path to copy) stays whole.
    """
    mounts = _chosen(status, only)
    lines = [_headline(status, mounts, only, colour=colour)]
    lines += _config_lines(status.config)
    for mount in mounts:
        lines += ["", *_block(mount, now, zone, colour=colour)]
    if only is None and status.identities is not None:
        lines += identities.lines(status.identities)
    return "\n".join(lines) + "\n"


def _unjudged(status: AgentStatus, only: str | None) -> list[str]:
    return [name for name in status.unjudged if only in (None, name)]


def _no_verdict(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"no verdict yet on {', '.join(names[:MAX_NAMED])}{more}"


def _chosen(status: AgentStatus, only: str | None) -> list[MountStatus]:
    return [mount for mount in status.mounts if only in (None, mount.name)]


def _headline(
    status: AgentStatus, mounts: list[MountStatus], only: str | None, *, colour: bool
) -> str:
    code = exit_code(status, only)
    healthy = sum(mount.verdict is Verdict.HEALTHY for mount in mounts)
    unjudged = _unjudged(status, only)
    if not mounts and unjudged:
        what = _no_verdict(unjudged)
    elif not mounts:
        what = "no mounts configured"
    elif healthy == len(mounts):
        what = f"{plural(healthy, 'mount')} healthy"
    else:
        what = f"{healthy} of {plural(len(mounts), 'mount')} healthy"
        worst = max(mounts, key=lambda m: m.verdict.exit_code)
        what += f", {worst.name} {_verdict_words(worst)}"
    if mounts and unjudged:
        what += f", {_no_verdict(unjudged)}"
    if status.config.state is not ConfigState.VALID:
        what += f", configuration {status.config.state.value}"
    return f"{clean(status.host, 64)}: {_painted(_WORDS[code], code, colour=colour)}: {what}"


def _config_lines(config: ConfigStatus) -> Iterator[str]:
    if not config.errors and not config.warnings:
        return
    sentence = _config_sentence(config)
    if sentence:
        yield from wrapped(sentence[0], "", "")
    for line in config.errors:
        yield from wrapped(line, "  ", "      ")
    for line in config.warnings:
        yield from wrapped(f"warning: {line}", "  ", "      ")


def _block(mount: MountStatus, now: float, zone: tzinfo | None, *, colour: bool) -> Iterator[str]:
    verdict = _painted(_verdict_words(mount), mount.verdict.exit_code, colour=colour)
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
    """What the agent does on the volume."""
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


def _verdict_words(mount: MountStatus) -> str:
    if mount.verdict is Verdict.PAUSED and mount.observed is not None:
        return f"paused (observed: {mount.observed.value})"
    return mount.verdict.value


def _painted(text: str, code: int, *, colour: bool) -> str:
    return f"{_COLOURS[code]}{text}{_PLAIN}" if colour else text

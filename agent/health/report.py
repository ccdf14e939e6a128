"""The agent's status as text for people: `status` and systemd's status line. Pure."""

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from agent.health import identities, mountblock
from agent.health.mountblock import verdict_words
from agent.health.text import clean, clock, painted, plural, wrapped
from agent.model.status import AgentStatus, ConfigState, ConfigStatus, MountStatus
from agent.model.verdict import UNKNOWN, Verdict

MAX_SENTENCE = 300
"""Characters of the status sentence."""
MAX_NAMED = 3
"""Mounts named one by one in the status sentence."""
CRITICAL = 2
"""The exit code of `status` where a mount is critical: it outweighs UNKNOWN."""

_WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")


def exit_code(status: AgentStatus) -> int:
    """0 healthy, 1 warning, 2 critical: the worst of the mounts.

    A configuration that was not accepted is a warning of its own. UNKNOWN: a mount has no verdict
    yet, and none is critical, so that all may be well or nothing.
    """
    config = 0 if status.config.state is ConfigState.VALID else 1
    worst = max([config, *(mount.verdict.exit_code for mount in status.mounts)])
    return UNKNOWN if worst < CRITICAL and status.unjudged else worst


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
    words = f"{mount.name} {verdict_words(mount)} since {clock(mount.since, now, zone)}"
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
    zone: tzinfo | None = None,
) -> str:
    """All of it, the host's state in the first line, then a block a mount.

    zone: None is local time. 80 columns wide, but a word longer than that (a path to copy) stays
    whole.
    """
    lines = [_headline(status, colour=colour)]
    lines += _config_lines(status.config)
    for mount in status.mounts:
        lines += ["", *mountblock.lines(mount, now, zone, colour=colour)]
    if status.identities is not None:
        lines += identities.lines(status.identities)
    return "\n".join(lines) + "\n"


def _no_verdict(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"no verdict yet on {', '.join(names[:MAX_NAMED])}{more}"


def _headline(status: AgentStatus, *, colour: bool) -> str:
    code = exit_code(status)
    mounts, unjudged = status.mounts, status.unjudged
    healthy = sum(mount.verdict is Verdict.HEALTHY for mount in mounts)
    if not mounts and unjudged:
        what = _no_verdict(unjudged)
    elif not mounts:
        what = "no mounts configured"
    elif healthy == len(mounts):
        what = f"{plural(healthy, 'mount')} healthy"
    else:
        what = f"{healthy} of {plural(len(mounts), 'mount')} healthy"
        worst = max(mounts, key=lambda m: m.verdict.exit_code)
        what += f", {worst.name} {verdict_words(worst)}"
    if mounts and unjudged:
        what += f", {_no_verdict(unjudged)}"
    if status.config.state is not ConfigState.VALID:
        what += f", configuration {status.config.state.value}"
    return f"{clean(status.host, 64)}: {painted(_WORDS[code], code, colour=colour)}: {what}"


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

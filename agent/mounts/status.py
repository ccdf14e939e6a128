"""What is told of a mount: from settings, judgement and facts to a MountStatus."""

from agent.model.mount import Brick, ClientState, Holder, Space
from agent.model.status import MountStatus
from agent.model.verdict import Verdict
from agent.mounts.edges import Settings
from agent.mounts.facts import Facts, Judgement, serves
from agent.protocol import GraphView
from agent.system.mountinfo import parse_source


def status_of(
    settings: Settings,
    judgement: Judgement,
    facts: Facts,
    space: Space | None,
    users: tuple[Holder, ...] = (),
) -> MountStatus:
    """The status as far as the facts of this moment give it; `since` is left to the caller.

    users: who was last seen to keep the mount from being unmounted.
    """
    wanted = settings.wanted
    source = None
    if facts.top is not None and serves(facts.top, wanted):
        source = parse_source(facts.top.source)
    alive = facts.client.state is ClientState.ALIVE
    graph = _graph(judgement, facts)
    return MountStatus(
        name=settings.name,
        path=wanted.path,
        volume=wanted.full_volume,
        verdict=judgement.verdict,
        since=0.0,
        evidence=judgement.evidence,
        observed=judgement.observed,
        server=source.server if source else None,
        client=facts.client.process if alive else None,
        bricks=None if graph is None else tuple(Brick(*brick) for brick in graph.bricks),
        whole=graph is not None and all(up for _, _, up in graph.subvolumes),
        space=space,
        findings=judgement.findings,
        pending=_pending(settings, judgement, users),
        probe_seconds=facts.probe.reply.seconds if facts.probe else None,
        removing=settings.config is None,
        obstacles=judgement.obstacles,
    )


def _graph(judgement: Judgement, facts: Facts) -> GraphView | None:
    """From the newest answer only: without quorum, or while none comes, no one knows."""
    late = (judgement.observed or judgement.verdict) in (Verdict.DEAD, Verdict.HUNG, Verdict.SLOW)
    return facts.probe.reply.graph if facts.probe and not late else None


def _pending(settings: Settings, judgement: Judgement, users: tuple[Holder, ...]) -> str:
    using = f"in use by {_named(users)}" if users else ""
    if settings.config is None:
        return using  # `removing` says the rest
    if Verdict.STALE_OPTIONS not in (judgement.verdict, judgement.observed):
        return ""
    match settings.config.recovery.new_options:
        case "manual":
            return "new options are applied at the next mount (new_options: manual)"
        case _:
            waits = "new options are applied when nothing uses the mount"
            return f"{waits}; {using}" if using else waits


def _named(users: tuple[Holder, ...], most: int = 4) -> str:
    names = [f"{u.pid} ({u.comm}{f', {u.where}' if u.where else ''})" for u in users[:most]]
    more = f" and {len(users) - most} more" if len(users) > most else ""
    return ", ".join(names) + more

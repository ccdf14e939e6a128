"""What is true of a mount: a pure function from observed facts to a verdict and its evidence.

The order of judgement is the order of `Verdict`: the first that fits wins. Which state shows which
signs was measured; docs/gluster-facts.md has the table.
"""

import errno

from agent.model.mount import ClientState, MountEntry
from agent.model.verdict import Verdict
from agent.mounts.facts import (
    CONFIRM_DEATH,
    RECONFIRM_DEATH,
    Facts,
    Judgement,
    Wanted,
    hung_after,
    serves,
)
from agent.protocol import ProbeReply, Step

_DISCONNECTED = frozenset({errno.ENOTCONN, errno.ECONNABORTED})
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


def decide(wanted: Wanted, facts: Facts, ping_timeout: int, now: float) -> Judgement | None:
    """The verdict on a mount; None while the first answer is still out and not yet late."""
    judgement = _observed(wanted, facts, ping_timeout, now)
    if judgement is None or not facts.paused:
        return judgement
    return Judgement(
        Verdict.PAUSED,
        f"an operator paused it; observed: {judgement.verdict}, {judgement.evidence}",
        judgement.findings,
        judgement.verdict,
    )


def _observed(wanted: Wanted, facts: Facts, ping_timeout: int, now: float) -> Judgement | None:
    top = facts.top
    if top is None:
        evidence = f"nothing is mounted at {wanted.path}"
        if facts.guarded:
            evidence += ", where the bare directory refuses writes (guarded)"
        if facts.attempt_error:
            evidence += f"; the last attempt failed: {facts.attempt_error}"
        return Judgement(Verdict.ABSENT, evidence, obstacles=facts.obstacles)
    if facts.leaving:
        return Judgement(
            Verdict.ABSENT,
            f"{wanted.full_volume} is not mounted yet: {facts.leaving} still is, the agent's own "
            "mount of before; it goes as soon as nothing uses it",
        )
    if not serves(top, wanted):
        return Judgement(
            Verdict.FOREIGN,
            f"{top.source} ({top.fstype}) is mounted at {wanted.path}, not {wanted.full_volume}",
        )
    return _of_our_volume(wanted, facts, top, ping_timeout, now)


def _of_our_volume(
    wanted: Wanted, facts: Facts, top: MountEntry, ping_timeout: int, now: float
) -> Judgement | None:
    reply = facts.probe.reply if facts.probe else None
    if reply is not None and not reply.on_device:
        return Judgement(
            Verdict.FOREIGN, f"{wanted.path} does not lead to {top.source}: something hides it"
        )
    if facts.client_stopped_at is not None and (death := _aborted(facts, now)):
        return death
    if facts.client.state is ClientState.GONE and facts.client_gone_at is not None:
        death = _of_orphan(wanted, facts, facts.client_gone_at, now)
        if death is not None or facts.client_certain:
            return death
        reply = None  # older than that end, it counts no more
    late = 0.0 if facts.pending_since is None else now - facts.pending_since
    limit = hung_after(wanted, ping_timeout)
    if late >= limit:
        return Judgement(
            Verdict.HUNG, f"no answer for {late:.0f} s (hung_after is {limit:.0f} s){_who(facts)}"
        )
    if late >= wanted.probe_timeout:
        return Judgement(
            Verdict.SLOW,
            f"no answer for {late:.0f} s, counts as hung after {limit:.0f} s{_who(facts)}",
        )
    if (blind := _blind(wanted, facts, now)) is not None or reply is None:
        return blind
    return _of_answer(wanted, facts, reply)


def _blind(wanted: Wanted, facts: Facts, now: float) -> Judgement | None:
    """An answer of old says nothing of now; but the want of new ones is no fault of the mount's."""
    if facts.blind_since is None or now - facts.blind_since < wanted.probe_timeout:
        return None
    return Judgement(
        Verdict.SLOW,
        f"no probe could be made for {now - facts.blind_since:.0f} s: {facts.blind_why}",
    )


def _aborted(facts: Facts, now: float) -> Judgement | None:
    """A stopped client answers nothing: where statvfs fails at once, its connection was aborted."""
    probe, stopped_at = facts.probe, facts.client_stopped_at
    if probe is None or stopped_at is None or probe.asked_at < stopped_at:
        return None
    if now - probe.asked_at > 2 * RECONFIRM_DEATH or not _failed(probe.reply.statvfs):
        return None
    return Judgement(Verdict.DEAD, f"{_client(facts)} is stopped and its connection was aborted")


def _of_orphan(wanted: Wanted, facts: Facts, gone_at: float, now: float) -> Judgement | None:
    """The client's process is gone: dead, as soon as the mount says so too, or nothing at all.

    None while the answer that will tell is still out. An older one doesn't count: the mount that
    is there may be a new one, under the numbers of the old.
    """
    probe, pending_since = facts.probe, facts.pending_since
    if probe is not None and probe.answered_at >= gone_at:
        broken = next((s for s in _steps(probe.reply) if _failed(s)), None)
        if broken is None and probe.asked_at >= gone_at:
            return _of_answer(wanted, facts, probe.reply)
        if broken is not None and now - probe.asked_at <= 2 * RECONFIRM_DEATH:
            return Judgement(Verdict.DEAD, f"{_client(facts)} is gone; {broken}")
    if pending_since is None or not facts.client_certain:
        # Silence alone is no proof where the process may never have been this mount's.
        return _blind(wanted, facts, now)
    if now - max(pending_since, gone_at) >= CONFIRM_DEATH:
        return Judgement(Verdict.DEAD, f"{_client(facts)} is gone, and the mount does not answer")
    return None


def _of_answer(wanted: Wanted, facts: Facts, reply: ProbeReply) -> Judgement | None:
    write = None if wanted.read_only else facts.write
    steps = [s for s in (reply.statvfs, reply.read, write) if s is not None]
    findings = _findings(facts, write)
    broken = next((s for s in steps if _failed(s)), None)
    if broken is not None:
        if facts.identifying or facts.client_stopped_at is not None:
            return None  # the next answer, or its absence, tells whether anybody is there
        who = "the client lives" if facts.client.state is ClientState.ALIVE else "a client may live"
        return Judgement(
            Verdict.NO_QUORUM,
            f"{broken}, but {who}{_bricks(reply)}; it heals when bricks return",
            findings,
        )
    if write is not None and write.errno in _NO_SPACE:
        return Judgement(Verdict.FULL, str(write), findings)
    if write is not None and write.errno == errno.EROFS:
        return Judgement(Verdict.READ_ONLY, f"{write}, unasked", findings)
    if facts.fingerprint is not None and facts.fingerprint != wanted.fingerprint:
        return Judgement(
            Verdict.STALE_OPTIONS, "mounted with other options than the file has now", findings
        )
    return _of_bricks(facts, reply, steps, findings)


def _of_bricks(
    facts: Facts, reply: ProbeReply, steps: list[Step], findings: tuple[str, ...]
) -> Judgement:
    denied_write = facts.write is not None and facts.write.denied
    broken = next((s for s in steps if s.errno and not (denied_write and s is facts.write)), None)
    if broken is not None:
        return Judgement(Verdict.DEGRADED, str(broken), findings)
    if bricks := _bricks(reply):
        return Judgement(Verdict.DEGRADED, bricks.removeprefix("; "), findings)
    if facts.servers_reachable is False:
        return Judgement(
            Verdict.DEGRADED,
            f"I/O works, but no volfile server is reachable: {facts.servers_detail}",
            findings,
            obstacles=facts.obstacles,
        )
    graph = reply.graph
    total = f", {len(graph.bricks)} of {len(graph.bricks)} bricks connected" if graph else ""
    return Judgement(Verdict.HEALTHY, f"a true round trip works{total}", findings)


def _findings(facts: Facts, write: Step | None) -> tuple[str, ...]:
    found = []
    if write is not None and write.denied:
        found.append(f"{write}: {_why_denied(facts, write)}, so writing can't be probed")
    if len(facts.layers) > 1:
        below = ", ".join(entry.source for entry in facts.layers[:-1])
        found.append(f"{len(facts.layers)} mounts are stacked on the path; below: {below}")
    if facts.client.state is ClientState.UNKNOWN and not facts.identifying:
        found.append("the client process of the mount could not be found")
    return tuple(found)


def _why_denied(facts: Facts, write: Step) -> str:
    """A squashed root gets EACCES (measured); the probe itself says EPERM of another's."""
    if facts.user != 0:
        return f"the agent does not run as root, but as user {facts.user}"
    if write.errno == errno.EACCES:
        return "the volume squashes root (server.root-squash)"
    return "root may not, as the directory is another's or the volume squashes root"


def _bricks(reply: ProbeReply) -> str:
    """'; 1 of 3 bricks not connected: node2:/brick' or ''."""
    if reply.graph is None:
        return ""
    down = [f"{host}:{path}" for _, host, path, connected in reply.graph.bricks if not connected]
    without = [name for name, _, up in reply.graph.subvolumes if not up]
    text = ""
    if down:
        text = f"; {len(down)} of {len(reply.graph.bricks)} bricks not connected: {_some(down)}"
    if without:
        text += f"; without quorum: {_some(without)}"
    return text


def _some(names: list[str], most: int = 4) -> str:
    """A list for a sentence: a volume can have hundreds of bricks."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _who(facts: Facts) -> str:
    process = facts.client.process
    if process is None or facts.client.state is not ClientState.ALIVE:
        return ""
    if facts.client_stopped_at is None:
        return f"; the client process {process.pid} lives"
    return f"; the client process {process.pid} is stopped: kill -CONT {process.pid} lets it go on"


def _steps(reply: ProbeReply) -> list[Step]:
    return [s for s in (reply.statvfs, reply.read, reply.write) if s is not None]


def _failed(step: Step | None) -> bool:
    """Whether nobody was there to answer."""
    return step is not None and step.errno in _DISCONNECTED


def _client(facts: Facts) -> str:
    process = facts.client.process
    return f"the client process {process.pid}" if process else "the client process"

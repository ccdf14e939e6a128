"""What to do about a verdict: a pure function from judgement and history to actions."""

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

from agent.model.mount import ClientState
from agent.model.verdict import Verdict
from agent.mounts.actions import Abort, Action, Detach, Forget, KillClient, Mount, Unmount
from agent.mounts.facts import Facts, Judgement, Wanted, serves

DEATHS_WINDOW = 300.0
"""Seconds: a second death of the client within them is answered with back-off."""
RETRY_DEAD_MOST = 60.0
"""Seconds: the longest pause before a client that keeps dying is replaced once more."""
RETRY_MOUNT_MOST = 15.0
"""Seconds: the longest pause between attempts to mount that cost a helper and a client.

The volume is back unannounced, and jobs wait for it; 5,000 hosts are then some 450 attempts a
second at most, each of which costs the servers one volfile.
"""
RETRY_SERVERS_MOST = 3.0
"""Seconds: the longest pause while no server answers; looking costs a few TCP connects."""
RETRY_UNMOUNT = 10.0
"""Seconds between attempts to unmount a mount that was in use."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator's file allows.

    own: the agent itself made the mount that lies on top; own_below: it made one below that.
    confirmed: as far as it can be seen; the record's device number may be another mount's by now.
    replaced: it is removed for another volume's sake.
    """

    hung: Literal["report", "remount"]
    new_options: Literal["when-idle", "now", "manual"]
    removing: bool
    own: bool
    own_below: bool = False
    confirmed: bool = True
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """What was tried lately. Times are monotonic seconds; failures: mounts in a row that failed."""

    failures: int = 0
    next_attempt_at: float = 0.0
    next_unmount_at: float = 0.0
    deaths: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions to carry out in order, stopping at the first that fails; when to look again."""

    actions: tuple[Action, ...] = ()
    wake_at: float | None = None


def backoff(failures: int, most: float, jitter: float) -> float:
    """Seconds to wait after so many failures in a row; jitter: 0 to 1, drawn by the caller.

    Half of it is random, so that a cluster whose storage returns does not mount in step.
    """
    return float(min(most, 2.0 ** min(failures - 1, 16)) * (0.5 + 0.5 * jitter))


def note_failure(history: History, now: float, jitter: float, *, no_server: bool) -> History:
    """An action failed; no_server: none answered, so no client was even started."""
    failures = history.failures + 1
    most = RETRY_SERVERS_MOST if no_server else RETRY_MOUNT_MOST
    return replace(
        history,
        failures=failures,
        next_attempt_at=now + backoff(failures, most, jitter),
        next_unmount_at=now + RETRY_UNMOUNT,
    )


def note_death(history: History, now: float, jitter: float) -> History:
    """A client's death was seen: the first is answered at once, the next ones with back-off."""
    recent = tuple(at for at in history.deaths if now - at < DEATHS_WINDOW)
    wait = backoff(len(recent), RETRY_DEAD_MOST, jitter) if recent else 0.0
    return replace(history, deaths=(*recent, now), next_attempt_at=now + wait)


def note_usable(history: History) -> History:
    """A mount works: failures are forgotten, deaths are not."""
    return replace(history, failures=0, next_attempt_at=0.0)


def note_busy(history: History, now: float) -> History:
    """The kernel said EBUSY: try again later."""
    return replace(history, next_unmount_at=now + RETRY_UNMOUNT)


def plan(
    wanted: Wanted, facts: Facts, judgement: Judgement, policy: Policy, history: History, now: float
) -> Plan:
    """The actions that the verdict demands and the operator's file allows."""
    if judgement.verdict is Verdict.PAUSED:
        return Plan()
    if policy.removing:
        return _remove(wanted, facts, judgement, policy, history, now)
    return _keep(wanted, facts, judgement, policy, history, now)


def _keep(
    wanted: Wanted, facts: Facts, judgement: Judgement, policy: Policy, history: History, now: float
) -> Plan:
    path = wanted.path
    match judgement.verdict:
        case Verdict.ABSENT if facts.top is None:
            actions: tuple[Action, ...] = (Mount(path, "it was not mounted"),)
        case Verdict.DEAD:
            # A stopped client whose connection was aborted ends in no other way.
            client = facts.client.process if facts.client.state is ClientState.ALIVE else None
            actions = (
                *_detach(wanted, facts, "dead"),
                *((KillClient(client),) if client else ()),
                Mount(path, "the client died"),
            )
        case Verdict.HUNG if policy.hung == "remount" and facts.top is not None:
            client = facts.client.process
            actions = (
                Abort(path, facts.top.minor, client),
                Detach(path, facts.top.device, 1, "hung"),
                *((KillClient(client),) if client else ()),
                Mount(path, "the client hung"),
            )
        case Verdict.STALE_OPTIONS if policy.new_options != "manual":
            return _apply_options(facts, policy, history, now)
        case _:
            return Plan()
    if now < history.next_attempt_at:
        return Plan(wake_at=history.next_attempt_at)
    return Plan(actions)


def _detach(wanted: Wanted, facts: Facts, why: str) -> tuple[Action, ...]:
    """All layers of a dead connection go, but none of what lies between or below them."""
    top = facts.top
    if top is None:
        return ()
    same = takewhile(lambda e: e.device == top.device and serves(e, wanted), reversed(facts.layers))
    return (Detach(wanted.path, top.device, len(list(same)), why),)


def _apply_options(facts: Facts, policy: Policy, history: History, now: float) -> Plan:
    top = facts.top
    if top is None or not policy.confirmed:
        return Plan()
    if now < history.next_unmount_at:
        return Plan(wake_at=history.next_unmount_at)
    mount = Mount(top.path, "the options changed")
    if policy.new_options == "now":
        return Plan((Detach(top.path, top.device, 1, "outdated"), mount))
    return Plan((Unmount(top.path, top.device, "its options changed"), mount))


def _remove(
    wanted: Wanted, facts: Facts, judgement: Judgement, policy: Policy, history: History, now: float
) -> Plan:
    path, top = wanted.path, facts.top
    if now < history.next_attempt_at:
        return Plan(wake_at=history.next_attempt_at)
    if top is None or not (policy.own or policy.own_below):
        return Plan((Forget(path, wanted.full_volume),))
    if not policy.own:
        return Plan()  # what lies on top is somebody else's
    match judgement.verdict:
        case Verdict.DEAD:
            return Plan((*_detach(wanted, facts, "dead"), Forget(path, wanted.full_volume)))
        case Verdict.FOREIGN | Verdict.HUNG | Verdict.SLOW:
            return Plan()
    if not policy.confirmed:
        return Plan()
    if now < history.next_unmount_at:
        return Plan(wake_at=history.next_unmount_at)
    why = "another volume takes its place" if policy.replaced else "it was taken out of the file"
    return Plan((Unmount(path, top.device, why), Forget(path, wanted.full_volume)))

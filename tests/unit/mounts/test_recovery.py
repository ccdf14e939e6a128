"""What each verdict leads to, and above all what it never leads to."""

from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.mount import Client, ClientState
from agent.model.verdict import Verdict
from agent.mounts import recovery
from agent.mounts.actions import Abort, Detach, Forget, KillClient, Mount, Unmount
from agent.mounts.facts import Facts, Judgement
from agent.mounts.recovery import History, Plan, Policy
from tests.unit.mounts.test_verdict import ALIVE, HEALTHY, OURS, WANTED

CAREFUL = Policy("report", "manual", removing=False, own=True)
BOLD = Policy("remount", "now", removing=False, own=True)
NOW = 1000.0
FRESH = History()
NOTHING = Facts(layers=(), client=Client(ClientState.UNKNOWN))


def plan(
    verdict: Verdict, policy: Policy, history: History = FRESH, facts: Facts = HEALTHY
) -> Plan:
    return recovery.plan(WANTED, facts, Judgement(verdict, "because"), policy, history, NOW)


def kinds(found: Plan) -> list[type]:
    return [type(action) for action in found.actions]


def test_absent_is_mounted_with_back_off() -> None:
    assert kinds(plan(Verdict.ABSENT, CAREFUL, facts=NOTHING)) == [Mount]
    history = recovery.note_failure(History(), NOW, 1.0, no_server=False)
    waiting = plan(Verdict.ABSENT, CAREFUL, history, NOTHING)
    assert waiting == Plan(wake_at=NOW + 1.0)


def test_dead_is_detached_and_mounted_at_once_the_second_time_later() -> None:
    first = recovery.note_death(History(), NOW, 1.0)
    gone = replace(HEALTHY, client=replace(ALIVE, state=ClientState.GONE))
    assert kinds(plan(Verdict.DEAD, CAREFUL, first, gone)) == [Detach, Mount]
    second = recovery.note_death(first, NOW, 1.0)
    assert plan(Verdict.DEAD, CAREFUL, second).wake_at == NOW + 1.0
    much_later = recovery.note_death(first, NOW + 301, 1.0)
    assert much_later.next_attempt_at <= NOW + 301


def test_the_stopped_client_of_an_aborted_mount_is_ended() -> None:
    found = plan(Verdict.DEAD, CAREFUL)
    assert kinds(found) == [Detach, KillClient, Mount]
    assert ALIVE.process
    assert found.actions[1] == KillClient(ALIVE.process)


def test_all_layers_of_a_dead_connection_are_detached() -> None:
    facts = replace(HEALTHY, layers=(OURS, replace(OURS, mount_id=8)))
    actions = plan(Verdict.DEAD, CAREFUL, facts=facts).actions
    assert actions[0] == Detach("/mnt/a", OURS.device, 2, "dead")


def test_hung_is_touched_only_if_the_file_says_so() -> None:
    assert plan(Verdict.HUNG, CAREFUL) == Plan()
    assert kinds(plan(Verdict.HUNG, BOLD)) == [Abort, Detach, KillClient, Mount]


@pytest.mark.parametrize(
    ("new_options", "expected"),
    [("manual", []), ("when-idle", [Unmount, Mount]), ("now", [Detach, Mount])],
)
def test_stale_options_follow_the_file(
    new_options: Literal["when-idle", "now", "manual"], expected: list[type]
) -> None:
    policy = replace(CAREFUL, new_options=new_options)
    assert kinds(plan(Verdict.STALE_OPTIONS, policy)) == expected


def test_a_busy_mount_is_asked_again_later() -> None:
    policy = replace(CAREFUL, new_options="when-idle")
    history = recovery.note_busy(History(), NOW)
    found = plan(Verdict.STALE_OPTIONS, policy, history)
    assert found == Plan(wake_at=NOW + recovery.RETRY_UNMOUNT)


class TestRemoving:
    POLICY = replace(CAREFUL, removing=True)

    def test_what_the_agent_did_not_mount_is_left(self) -> None:
        adopted = replace(self.POLICY, own=False)
        for verdict in Verdict:
            if verdict is not Verdict.PAUSED:
                assert kinds(plan(verdict, adopted)) == [Forget]

    def test_its_own_is_unmounted_plainly(self) -> None:
        assert kinds(plan(Verdict.HEALTHY, self.POLICY)) == [Unmount, Forget]

    def test_a_mount_that_does_not_answer_is_not_even_asked(self) -> None:
        assert plan(Verdict.HUNG, self.POLICY) == Plan()
        assert plan(Verdict.SLOW, self.POLICY) == Plan()

    def test_a_dead_one_is_detached(self) -> None:
        assert kinds(plan(Verdict.DEAD, self.POLICY)) == [Detach, Forget]

    def test_gone_already(self) -> None:
        assert kinds(plan(Verdict.ABSENT, self.POLICY, facts=NOTHING)) == [Forget]


POLICIES = st.builds(
    Policy,
    hung=st.sampled_from(["report", "remount"]),
    new_options=st.sampled_from(["when-idle", "now", "manual"]),
    removing=st.booleans(),
    own=st.booleans(),
)
HISTORIES = st.builds(
    History,
    failures=st.integers(0, 50),
    next_attempt_at=st.sampled_from([0.0, NOW + 5]),
    next_unmount_at=st.sampled_from([0.0, NOW + 5]),
)


@given(verdict=st.sampled_from(Verdict), policy=POLICIES, history=HISTORIES)
def test_a_live_mount_is_torn_down_only_by_the_operators_word(
    verdict: Verdict, policy: Policy, history: History
) -> None:
    found = plan(verdict, policy, history)
    violent = [a for a in found.actions if isinstance(a, Detach | Abort | KillClient)]
    if violent:
        assert verdict is Verdict.DEAD or (
            (verdict is Verdict.HUNG and policy.hung == "remount")
            or (verdict is Verdict.STALE_OPTIONS and policy.new_options == "now")
        )
    if any(isinstance(a, Unmount) for a in found.actions):
        assert policy.removing or policy.new_options == "when-idle"
        assert policy.own or not policy.removing
    assert verdict is not Verdict.PAUSED or found == Plan()
    assert all(action.describe() for action in found.actions)


@given(failures=st.integers(1, 10_000), jitter=st.floats(0, 1))
def test_back_off_never_gives_up_and_never_waits_long(failures: int, jitter: float) -> None:
    for most in (recovery.RETRY_MOUNT_MOST, recovery.RETRY_SERVERS_MOST):
        assert 0.5 <= recovery.backoff(failures, most, jitter) <= most


def test_what_lies_between_two_layers_of_a_dead_connection_is_left_alone() -> None:
    other = replace(OURS, mount_id=8, minor=82, source="node1:/other")
    facts = replace(HEALTHY, layers=(OURS, other, replace(OURS, mount_id=9)))
    actions = plan(Verdict.DEAD, CAREFUL, facts=facts).actions
    assert actions[0] == Detach("/mnt/a", OURS.device, 1, "dead")


def test_what_may_be_another_mount_by_now_is_not_unmounted() -> None:
    unsure = replace(BOLD, confirmed=False)
    assert plan(Verdict.STALE_OPTIONS, unsure) == Plan()
    assert plan(Verdict.HEALTHY, replace(unsure, removing=True)) == Plan()

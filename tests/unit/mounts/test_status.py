"""What is told of a mount, by plain values."""

from dataclasses import replace

import pytest

from agent.config.schema import MountConfig
from agent.model.mount import Holder
from agent.model.status import MountStatus
from agent.model.verdict import Verdict
from agent.mounts.edges import from_config
from agent.mounts.facts import Facts, Judgement, ProbeSeen
from agent.mounts.status import status_of
from tests.unit.mounts.test_verdict import HEALTHY, NOW, WORKS

SETTINGS = from_config("a", MountConfig(volume="vol", servers=("node1",), path="/mnt/a"))
NO_META = replace(HEALTHY, probe=ProbeSeen(NOW - 1.0, NOW - 0.9, replace(WORKS, graph=None)))


def told(verdict: Verdict, facts: Facts = HEALTHY, observed: Verdict | None = None) -> MountStatus:
    return status_of(SETTINGS, Judgement(verdict, "evidence", observed=observed), facts, None)


def test_bricks_are_those_of_the_newest_answer() -> None:
    bricks = told(Verdict.DEGRADED).bricks
    assert bricks is not None
    assert [brick.label for brick in bricks] == ["node1:/b0", "node2:/b1"]


def test_bricks_are_not_known_where_the_client_could_not_tell() -> None:
    assert told(Verdict.NO_QUORUM, NO_META).bricks is None
    assert told(Verdict.ABSENT, replace(HEALTHY, probe=None)).bricks is None


@pytest.mark.parametrize("verdict", [Verdict.SLOW, Verdict.HUNG, Verdict.DEAD])
def test_an_old_answer_says_nothing_of_bricks_now(verdict: Verdict) -> None:
    assert told(verdict).bricks is None
    assert told(Verdict.PAUSED, observed=verdict).bricks is None


def test_a_volume_is_whole_only_where_all_of_it_is_known_to_be_up() -> None:
    assert told(Verdict.DEGRADED).whole
    assert told(Verdict.DEGRADED).complete
    assert not told(Verdict.NO_QUORUM).complete
    assert not told(Verdict.DEGRADED, NO_META).whole
    assert not told(Verdict.SLOW).whole
    graph = WORKS.graph
    assert graph is not None
    half = replace(graph, subvolumes=(("r0", "replicate", True), ("r1", "replicate", False)))
    reply = ProbeSeen(NOW - 1.0, NOW - 0.9, replace(WORKS, graph=half))
    assert not told(Verdict.DEGRADED, replace(HEALTHY, probe=reply)).whole


def test_who_is_waited_for_is_named() -> None:
    users = tuple(Holder(pid, "python3", 0, "job.service", "open file") for pid in range(1, 7))
    stale = Judgement(Verdict.STALE_OPTIONS, "evidence")
    pending = status_of(SETTINGS, stale, HEALTHY, None, users).pending
    assert pending.startswith("new options are applied when nothing uses the mount; in use by 1 (")
    assert pending.endswith("4 (python3, job.service) and 2 more")
    removing = status_of(SETTINGS.retired(), stale, HEALTHY, None, users[:1]).pending
    assert removing == "in use by 1 (python3, job.service)"
    assert status_of(SETTINGS.retired(), stale, HEALTHY, None).pending == ""

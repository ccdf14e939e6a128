"""Bricks that go and come back: the client heals by itself, and the agent lets it."""

import time
from collections.abc import Callable

import pytest

from tests.lab import faults
from tests.lab.cluster import Cluster
from tests.lab.faults import Fault
from tests.lab.volume import Volume
from tests.system.agents import QuickAgent, config
from tests.system.training import assert_left_alone, training

LOST: dict[str, tuple[Callable[[Volume], Fault], int]] = {
    "two of three killed": (lambda volume: faults.bricks_killed(volume, volume.bricks[:2]), 60),
    "all killed": (lambda volume: faults.bricks_killed(volume, volume.bricks), 5),
    "stopped and started": (faults.volume_stopped, 5),
}
"""What happens, and for how many seconds after the verdict: longer than any back-off, and a few
probes."""


@pytest.mark.slow
@pytest.mark.parametrize("how", LOST)
def test_quorum_lost_and_found(quick_agent: QuickAgent, shared_volume: Volume, how: str) -> None:
    agent = quick_agent
    client = agent.begin(config(shared_volume.name))
    fault, seconds = LOST[how]
    with training(agent.machine, may_fail={"ENOTCONN"}) as job:
        with fault(shared_volume):
            lost = agent.await_verdict("no-quorum")
            assert "client lives" in lost["evidence"]
            job.await_failure("ENOTCONN")
            time.sleep(seconds)
            assert agent.verdict() == "no-quorum"
        agent.await_verdict("healthy")
        job.await_records(5)
    assert_left_alone(agent, client)


def test_a_disperse_set_without_enough_bricks(
    quick_agent: QuickAgent, make_volume: Callable[..., Volume]
) -> None:
    agent, volume = quick_agent, make_volume(disperse=3, redundancy=1)
    client = agent.begin(config(volume.name))
    # An open file of a disperse set does not outlive its redundancy: its writes go on failing.
    with training(agent.machine, reopen=True, may_fail={"ENOTCONN", "EIO"}) as job:
        with faults.bricks_killed(volume, volume.bricks[:1]):
            degraded = agent.await_verdict("degraded")
            assert f"1 of 3 bricks not connected: {volume.bricks[0].label}" in degraded["evidence"]
            job.await_records(5)
            with faults.bricks_killed(volume, volume.bricks[1:2]):
                agent.await_verdict("no-quorum")
        agent.await_verdict("healthy")
        job.await_records(5)
    assert_left_alone(agent, client)


def test_one_of_two_replica_sets_is_down(
    quick_agent: QuickAgent, make_volume: Callable[..., Volume]
) -> None:
    agent, volume = quick_agent, make_volume(replica=3, bricks=6)
    client = agent.begin(config(volume.name))
    with training(agent.machine, may_fail={"ENOTCONN"}) as job:
        with faults.bricks_killed(volume, volume.bricks[3:]):
            degraded = agent.await_verdict("degraded")
            assert "3 of 6 bricks not connected" in degraded["evidence"]
            assert f"without quorum: {volume.name}-replicate-1" in degraded["evidence"]
            assert degraded["bricks"]["down"] == [brick.label for brick in volume.bricks[3:]]
        agent.await_verdict("healthy")
        job.await_records(5)
    assert_left_alone(agent, client)


def test_a_server_falls_silent_during_a_write(
    cluster: Cluster, quick_agent: QuickAgent, shared_volume: Volume
) -> None:
    agent = quick_agent
    with faults.option_set(shared_volume, "network.ping-timeout", "6"):
        client = agent.begin(config(shared_volume.name, probe="{interval: 1s, timeout: 2s}"))
        with training(agent.machine) as job:
            with faults.silent(cluster.server("node2")):
                agent.await_verdict("slow")
                agent.await_verdict("degraded")
                job.await_records(5)
            agent.await_verdict("healthy")
            job.await_records(5)
            assert job.report().longest_stall > 2
    assert set(agent.verdicts()) == {"healthy", "slow", "degraded"}
    assert_left_alone(agent, client)

"""Bricks that go and come back: the client heals by itself, and the agent lets it."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.lab import faults
from tests.lab.cell import Process
from tests.lab.cluster import Cluster
from tests.lab.volume import Volume
from tests.system.agents import QuickAgent, config
from tests.system.training import training

ACTIONS = {"aborted", "detached", "unmounted", "recovered", "mount-attempt-failed"}
LOST: dict[str, Callable[[Volume], AbstractContextManager[object]]] = {
    "two of three killed": lambda volume: faults.bricks_killed(volume, volume.bricks[:2]),
    "all killed": lambda volume: faults.bricks_killed(volume, volume.bricks),
    "stopped and started": faults.volume_stopped,
}


@pytest.mark.slow
@pytest.mark.parametrize("how", LOST)
def test_quorum_lost_and_found(quick_agent: QuickAgent, volume: Volume, how: str) -> None:
    agent = quick_agent
    agent.configure(config(volume.name))
    agent.start()
    agent.await_verdict("healthy")
    client = agent.machine.glusterfs("/mnt/a")
    with training(agent.machine) as job:
        with LOST[how](volume):
            lost = agent.await_verdict("no-quorum")
            assert "client lives" in lost["evidence"]
            time.sleep(60)
            assert agent.verdict() == "no-quorum"
        agent.await_verdict("healthy")
        job.await_records(5)
    assert_nothing_done(agent, client)


def test_a_disperse_set_without_enough_bricks(
    quick_agent: QuickAgent, make_volume: Callable[..., Volume]
) -> None:
    agent, volume = quick_agent, make_volume(disperse=3, redundancy=1)
    agent.configure(config(volume.name))
    agent.start()
    agent.await_verdict("healthy")
    client = agent.machine.glusterfs("/mnt/a")
    # An open file of a disperse set does not outlive its redundancy: its writes go on failing.
    with training(agent.machine, reopen=True) as job:
        with faults.bricks_killed(volume, volume.bricks[:1]):
            degraded = agent.await_verdict("degraded")
            assert f"1 of 3 bricks not connected: {volume.bricks[0].label}" in degraded["evidence"]
            job.await_records(5)
            with faults.bricks_killed(volume, volume.bricks[1:2]):
                agent.await_verdict("no-quorum")
        agent.await_verdict("healthy")
        job.await_records(5)
    assert_nothing_done(agent, client)


def test_one_of_two_replica_sets_is_down(
    quick_agent: QuickAgent, make_volume: Callable[..., Volume]
) -> None:
    agent, volume = quick_agent, make_volume(replica=3, bricks=6)
    agent.configure(config(volume.name))
    agent.start()
    agent.await_verdict("healthy")
    client = agent.machine.glusterfs("/mnt/a")
    with training(agent.machine) as job:
        with faults.bricks_killed(volume, volume.bricks[3:]):
            degraded = agent.await_verdict("degraded")
            assert "3 of 6 bricks not connected" in degraded["evidence"]
            assert f"without quorum: {volume.name}-replicate-1" in degraded["evidence"]
            assert degraded["bricks"]["down"] == [brick.label for brick in volume.bricks[3:]]
        agent.await_verdict("healthy")
        job.await_records(5)
    assert_nothing_done(agent, client)


@pytest.mark.parametrize("ping_timeout", [6, pytest.param(42, marks=pytest.mark.slow)])
def test_a_server_falls_silent_during_a_write(
    cluster: Cluster, quick_agent: QuickAgent, volume: Volume, ping_timeout: int
) -> None:
    agent = quick_agent
    volume.set("network.ping-timeout", str(ping_timeout))
    agent.configure(config(volume.name, probe="{interval: 1s, timeout: 2s}"))
    agent.start()
    agent.await_verdict("healthy")
    client = agent.machine.glusterfs("/mnt/a")
    with training(agent.machine) as job:
        with faults.silent(cluster.server("node2")):
            agent.await_verdict("slow")
            agent.await_verdict("degraded", timeout=3 * ping_timeout)
            job.await_records(5)
        agent.await_verdict("healthy")
        job.await_records(5)
        report = job.report()
    assert report.failures == []
    assert report.longest_stall > 2
    assert set(agent.verdicts()) == {"healthy", "slow", "degraded"}
    assert_nothing_done(agent, client)


def assert_nothing_done(agent: QuickAgent, client: Process) -> None:
    assert agent.machine.glusterfs("/mnt/a") == client
    assert not ACTIONS & {entry.event for entry in agent.log()}

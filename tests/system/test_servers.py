"""Volfile servers that fail: another serves, the preferred one is used again in good time."""

import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.lab import faults
from tests.lab.cluster import Cluster
from tests.lab.faults import Fault
from tests.lab.volume import Volume
from tests.system.agents import Agent, QuickAgent, UnitAgent, config
from tests.system.training import REPLACED, training

USABLE = ("healthy", "degraded")

FIRST_FAILS: dict[str, Callable[[Cluster, Agent], Fault]] = {
    "refuses": lambda lab, agent: faults.glusterd_stopped(lab.server("node1")),
    "is silent on its port": lambda lab, agent: faults.port_silent(lab.server("node1")),
    "is silent altogether": lambda lab, agent: faults.silent(lab.server("node1")),
    "has no address": lambda lab, agent: faults.unresolvable(agent.machine, "node1"),
}


@pytest.mark.parametrize("how", FIRST_FAILS)
def test_the_first_server_fails(
    cluster: Cluster, quick_agent: QuickAgent, shared_volume: Volume, how: str
) -> None:
    agent = quick_agent
    agent.configure(config(shared_volume.name))
    with ExitStack() as stack:
        with FIRST_FAILS[how](cluster, agent):
            begun = time.monotonic()
            agent.start()
            mounted = agent.await_verdict(*USABLE)
            # A client itself waits 10 s for a brick of a silent host.
            assert time.monotonic() - begun < 20
            assert mounted["server"] == "node2"
            client = agent.machine.glusterfs("/mnt/a")
            replaced = training(agent.machine, reopen=True, may_fail=REPLACED)
            job = stack.enter_context(replaced)
        agent.await_verdict("healthy")
        time.sleep(3)
        job.await_records(5)
        assert agent.machine.glusterfs("/mnt/a") == client
        assert agent.entries("detached") == agent.entries("unmounted") == []
        with faults.client_killed(agent.machine, "/mnt/a"):
            agent.await_log("recovered")
        assert agent.await_verdict("healthy")["server"] == "node1"


ALL_FAIL: dict[str, tuple[Callable[[Cluster, Agent, Volume], list[Fault]], str, int]] = {
    "silent": (
        lambda lab, agent, volume: [faults.silent(each) for each in lab.servers],
        "node1 silent",
        60,
    ),
    "without an address": (
        lambda lab, agent, volume: [no_addresses(agent)],
        "node1 unresolvable",
        10,
    ),
    "without bricks": (
        lambda lab, agent, volume: [faults.bricks_killed(volume, volume.bricks)],
        "the last attempt failed",
        15,
    ),
}
"""What fails, what the evidence says, and for how many seconds it lasts."""


@pytest.mark.slow
def test_the_first_server_takes_connections_but_answers_nothing(
    cluster: Cluster, quick_agent: QuickAgent, shared_volume: Volume
) -> None:
    agent = quick_agent
    agent.configure(config(shared_volume.name))
    with faults.glusterd_frozen(cluster.server("node1")):
        agent.start()
        [failed] = agent.await_log("mount-attempt-failed", timeout=90)
        assert "nothing was mounted within 60 s" in failed.message
        assert agent.await_verdict(*USABLE)["server"] == "node2"


@pytest.mark.slow
@pytest.mark.parametrize("how", ALL_FAIL)
def test_all_servers_fail_at_the_start(
    cluster: Cluster, bare_agent: UnitAgent, shared_volume: Volume, how: str
) -> None:
    agent, machine = bare_agent, bare_agent.machine
    agent.configure(config(shared_volume.name))
    make, evidence, seconds = ALL_FAIL[how]
    with ExitStack() as stack:
        for fault in make(cluster, agent, shared_volume):
            stack.enter_context(fault)
        begun = time.monotonic()
        agent.start()
        ready_after = time.monotonic() - begun
        assert ready_after < 30
        assert evidence in agent.await_verdict("absent")["evidence"]
        for _ in range(seconds):
            assert len(children(agent)) <= 2
            assert len(machine.processes("glusterfs")) <= 1
            time.sleep(1)
        assert agent.verdict() == "absent"
    returned = time.monotonic()
    agent.await_verdict("healthy")
    assert time.monotonic() - returned < 20
    assert len(machine.processes("glusterfs")) == 1
    with training(machine):
        pass
    assert agent.verdicts() == ["absent", "healthy"]


def no_addresses(agent: Agent) -> Fault:
    before = agent.machine.read("/etc/hosts")
    return Fault(
        lambda: agent.machine.write("/etc/hosts", "127.0.0.1 localhost\n"),
        lambda: agent.machine.write("/etc/hosts", before),
    )


def children(agent: Agent) -> list[str]:
    pid = agent.pid()
    return agent.machine.read(f"/proc/{pid}/task/{pid}/children").split()

"""A client that dies is replaced, while a job goes on."""

import re
from collections.abc import Callable

import pytest

from tests.lab import faults
from tests.lab.attempts import attempt
from tests.lab.client import Mounts
from tests.lab.faults import Fault
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import Agent, QuickAgent, config
from tests.system.training import REPLACED, standing_in, training


@pytest.mark.parametrize("how", [faults.client_killed, faults.client_out_of_memory])
def test_a_client_that_is_killed_is_replaced(
    agent: Agent, shared_volume: Volume, how: Callable[[Mounts, str], Fault]
) -> None:
    old = agent.begin(config(shared_volume.name))
    with training(agent.machine, reopen=True, may_fail=REPLACED) as job:
        with how(agent.machine, "/mnt/a"):
            agent.await_log("recovered")
        job.await_records(5)
        after = agent.await_verdict("healthy")
    assert agent.machine.glusterfs("/mnt/a") != old
    assert agent.verdicts() == ["healthy", "dead", "healthy"]
    assert len(agent.entries("recovered")) == 1
    assert after["recoveries"] == 1


def test_what_the_kernel_remembers_of_a_dead_mount_deceives_nobody(
    agent: Agent, shared_volume: Volume
) -> None:
    agent.begin(config(shared_volume.name, options="{attribute-timeout: 600, entry-timeout: 600}"))
    with training(agent.machine, reopen=True, may_fail=REPLACED):
        assert attempt(agent.machine, "stat", "/mnt/a") == "ok"
        with faults.client_killed(agent.machine, "/mnt/a"):
            agent.await_log("recovered")
    assert agent.verdicts() == ["healthy", "dead", "healthy"]
    assert len(agent.entries("recovered")) == 1


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_client_that_died_while_no_agent_ran_is_replaced(
    quick_agent: QuickAgent, shared_volume: Volume, end: str
) -> None:
    agent = quick_agent
    agent.begin(config(shared_volume.name))
    with training(agent.machine, reopen=True, may_fail=REPLACED):
        getattr(agent, end)()
        with faults.client_killed(agent.machine, "/mnt/a"):
            agent.start()
            agent.await_log("recovered")
        agent.await_verdict("healthy")
    assert agent.verdicts() == ["healthy", "dead", "healthy"]
    assert len(agent.entries("recovered")) == 1


def test_who_holds_the_dead_mount_is_named(agent: Agent, shared_volume: Volume) -> None:
    agent.begin(config(shared_volume.name))
    with standing_in(agent.machine, "/mnt/a", "--token=hunter2") as holder:
        with faults.client_killed(agent.machine, "/mnt/a"):
            agent.await_log("recovered")
        [told] = agent.await_log("holders")
        assert f"process {holder.inner} ({holder.comm}, uid 0" in told.message
        until(lambda: agent.mount()["holders"], 30, "the status names the holder")
        [named] = agent.mount()["holders"]
        assert (named["pid"], named["comm"], named["uid"]) == (holder.inner, holder.comm, 0)
        assert named["how"] == "cwd"
        everything = agent.command("status", "--json").stdout + agent.command("status").stdout
        assert str(holder.inner) in everything
        assert "hunter2" not in everything + "".join(entry.message for entry in agent.log())


def test_a_client_that_dies_again_and_again_is_replaced_with_back_off(
    quick_agent: QuickAgent, shared_volume: Volume
) -> None:
    agent = quick_agent
    agent.begin(config(shared_volume.name))
    with training(agent.machine, reopen=True, may_fail=REPLACED):
        for deaths in range(1, 4):
            with faults.client_killed(agent.machine, "/mnt/a"):
                agent.await_log("recovered", count=deaths)
            agent.await_verdict("healthy")
    first, second, third = (_seconds(entry.message) for entry in agent.entries("recovered"))
    assert first < 0.5 <= second
    assert third >= 1.0


def _seconds(message: str) -> float:
    found = re.search(r"works again after ([0-9.]+) s", message)
    assert found, message
    return float(found[1])

"""A client that dies is replaced, while a job goes on."""

from tests.lab import faults
from tests.lab.volume import Volume
from tests.system.agents import Agent, config


def test_a_killed_client_is_replaced(agent: Agent, volume: Volume) -> None:
    agent.configure(config(volume.name))
    agent.start()
    before = agent.await_verdict("healthy")
    with faults.client_killed(agent.machine, "/mnt/a"):
        agent.await_log("recovered")
    after = agent.await_verdict("healthy")
    assert after["client_pid"] != before["client_pid"]
    assert agent.verdicts() == ["healthy", "dead", "healthy"]
    assert len(agent.entries("recovered")) == 1

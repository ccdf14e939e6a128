"""A configuration of a later version, pushed to all hosts before the agent was upgraded."""

from tests.lab.host import Host
from tests.lab.jobs import RunningJob
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import UnitAgent, config

FUTURE = "telemetry: {to: nowhere}\n"


def await_state(agent: UnitAgent, state: str) -> list[str]:
    until(lambda: agent.status().get("config", {}).get("state") == state, 60, f"it is {state}")
    return list(agent.status()["config"]["errors"])


def test_it_is_refused_and_at_boot_the_last_good_one_serves(
    machine: Host, agent: UnitAgent, store: Volume, jobs: list[RunningJob]
) -> None:
    good = config(store.name)
    agent.configure(good)
    before = agent.await_verdict("healthy")
    jobs.append(RunningJob(machine, "/mnt/a"))
    agent.configure(config(store.name, parallel="4") + FUTURE)
    errors = await_state(agent, "rejected")
    assert [any(key in line for line in errors) for key in ("parallel", "telemetry")] == [
        True,
        True,
    ]
    assert agent.command("check").returncode == 1
    assert len(agent.entries("config-rejected")) == 2
    jobs[0].await_records(10)
    report = jobs[0].stop()
    assert (report.missing, report.failures) == (0, [])
    assert agent.mount()["client_pid"] == before["client_pid"]

    machine.shut_down()
    machine.boot_again()
    assert agent.await_verdict("healthy")["path"] == "/mnt/a"
    assert await_state(agent, "last-good") == errors
    assert machine.entry("/mnt/a") is not None
    assert machine.run(["ls", "/mnt/a"]).stdout
    agent.configure(good)
    assert await_state(agent, "valid") == []

"""A client that stops answering: what is waited for, what is reported, what is done about it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.lab import faults
from tests.lab.cell import Inside
from tests.lab.client import FUSECTL, Mounts
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import Agent, QuickAgent, UnitAgent, config
from tests.system.training import REPLACED, assert_left_alone, training

SOON = {"probe": "{interval: 1s, timeout: 2s}"}
REMOUNT = {**SOON, "recovery": "{hung: remount, hung_after: 4s}"}
REPORT = {**SOON, "recovery": "{hung: report, hung_after: 4s}"}


@pytest.mark.slow
def test_a_client_that_pauses_for_20_s_is_slow_and_keeps_its_process(
    quick_agent: QuickAgent, shared_volume: Volume
) -> None:
    agent = quick_agent
    client = agent.begin(config(shared_volume.name, **SOON))
    with training(agent.machine) as job:
        with faults.client_frozen(agent.machine, "/mnt/a"):
            agent.await_verdict("slow")
            time.sleep(20)
            assert agent.verdict() == "slow"
        agent.await_verdict("healthy")
        job.await_records(5)
    assert agent.verdicts() == ["healthy", "slow", "healthy"]
    assert_left_alone(agent, client)


def test_a_hung_client_is_replaced_where_the_file_says_so(
    agent: Agent, shared_volume: Volume
) -> None:
    old = agent.begin(config(shared_volume.name, **REMOUNT))
    machine = agent.machine
    minor = machine.connection("/mnt/a")
    replaced = training(machine, reopen=True, may_fail=REPLACED)
    with replaced as job, faults.client_frozen(machine, "/mnt/a"):
        with waiting(machine, 3) as stuck:
            agent.await_log("recovered")
            until(lambda: all(p.poll() is not None for p in stuck), 10, "all are freed")
        job.await_records(5)
        until(lambda: old not in machine.processes(), 10, "the hung client has ended")
        assert len(machine.processes("glusterfs")) == 1
    assert agent.verdicts() == ["healthy", "slow", "hung", "healthy"]
    [evidence] = agent.entries("hung-evidence")
    assert f"its client process {old.inner} is in state T" in evidence.message
    assert "requests wait" in evidence.message
    [aborted] = agent.entries("aborted")
    assert f"connection {minor} " in aborted.message
    told = [entry.event for entry in agent.log()]
    steps = ["hung-evidence", "aborted", "detached", "mounted", "recovered"]
    assert [event for event in told if event in steps[:3]] == steps[:3]
    assert told.index("detached") < len(told) - told[::-1].index("mounted")
    assert len(agent.entries("recovered")) == 1


@pytest.mark.slow
def test_a_hung_client_is_not_touched_where_the_file_says_report_and_all_else_goes_on(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    agent = bare_agent
    second = config(shared_volume.name, path="/mnt/b", **SOON).removeprefix("mounts:\n  a:\n")
    client = agent.begin(config(shared_volume.name, **REPORT) + "  b:\n" + second)
    agent.await_verdict("healthy", name="b")
    with training(agent.machine) as waits, training(agent.machine, path="/mnt/b") as works:
        with faults.client_frozen(agent.machine, "/mnt/a"):
            agent.await_verdict("hung")
            used = resources(agent)
            for _ in range(20):
                begun = time.monotonic()
                assert agent.command("status", "b").returncode == 0
                assert time.monotonic() - begun < 2
                assert resources(agent) == used
                time.sleep(1)
            assert works.report().longest_stall < 2
            assert agent.verdict() == "hung"
        agent.await_verdict("healthy")
        waits.await_records(5)
    assert agent.verdicts() == ["healthy", "slow", "hung", "healthy"]
    assert agent.verdicts("b") == ["healthy"], agent.tail()
    assert_left_alone(agent, client)


def test_an_agent_killed_between_abort_and_detach_is_finished_by_the_next(
    agent: Agent, shared_volume: Volume
) -> None:
    old = agent.begin(config(shared_volume.name, **REMOUNT))
    machine = agent.machine
    agent_pid = agent.pid()
    with training(machine, reopen=True, may_fail=REPLACED) as job:
        with killed_after_abort(agent), faults.client_frozen(machine, "/mnt/a"):
            until(lambda: not agent_lives(agent, agent_pid), 30, "the agent was killed")
            if isinstance(agent, QuickAgent):
                agent.start()
            agent.await_log("recovered")
            agent.await_verdict("healthy")
            until(lambda: old not in machine.processes(), 10, "the hung client has ended")
            assert len(machine.processes("glusterfs")) == 1
        job.await_records(5)
    assert agent.entries("aborted") == []
    assert agent.verdicts() == ["healthy", "slow", "hung", "dead", "healthy"]


def test_the_agent_stops_in_time_beside_a_hung_mount(agent: Agent, shared_volume: Volume) -> None:
    client = agent.begin(config(shared_volume.name, **REPORT))
    entry = agent.machine.entry("/mnt/a")
    with training(agent.machine), faults.client_frozen(agent.machine, "/mnt/a"):
        agent.await_verdict("hung")
        begun = time.monotonic()
        agent.stop()
        assert time.monotonic() - begun < 5
        assert agent.machine.entry("/mnt/a") == entry
        assert agent.machine.glusterfs("/mnt/a") == client


@contextmanager
def waiting(machine: Mounts, number: int) -> Iterator[list[Inside]]:
    """So many processes that want something of the mount."""
    processes = [machine.popen(["ls", "/mnt/a"]) for _ in range(number)]
    try:
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                process.abandon()


@contextmanager
def killed_after_abort(agent: Agent) -> Iterator[None]:
    """SIGKILL meets the agent as it closes the `abort` file, in which it has written."""
    abort = f"{FUSECTL}/{agent.machine.connection('/mnt/a')}/abort"
    inject = ["-e", "trace=close", "-e", "inject=close:signal=SIGKILL"]
    argv = ["strace", "-q", "-o", "/dev/null", "-P", abort, *inject, "-p", str(agent.pid())]
    tracer = agent.machine.popen(argv)
    status = f"/proc/{agent.pid()}/status"
    try:
        traced = "TracerPid:\t0\n"
        until(lambda: traced not in agent.machine.read(status), 10, "the agent is traced")
        yield
        assert tracer.wait(30) is not None
    finally:
        if tracer.poll() is None:
            tracer.abandon()


def agent_lives(agent: Agent, pid: int) -> bool:
    return any(process.inner == pid for process in agent.machine.processes())


def resources(agent: Agent) -> dict[str, int]:
    """How many children, threads and descriptors the agent keeps.

    The least of several looks: during one of them a file may be open that is read at once.
    """
    looks = []
    for _ in range(5):
        looks.append(_resources(agent))
        time.sleep(0.02)
    return {what: min(look[what] for look in looks) for what in looks[0]}


def _resources(agent: Agent) -> dict[str, int]:
    pid = agent.pid()
    folder = agent.machine.path(f"/proc/{pid}")
    task = (folder / f"task/{pid}/children").read_text().split()
    return {
        "children": len(task),
        "threads": len(list((folder / "task").iterdir())),
        "descriptors": len(list((folder / "fd").iterdir())),
    }

"""The agent's own process never touches a mount: what its system calls say."""

import re
from collections.abc import Iterator

from tests.lab import faults
from tests.lab.volume import Volume
from tests.system.agents import UNIT, UnitAgent, config
from tests.system.training import REPLACED, training

TRACE = "/run/agent.trace"
TRACED = f"""[Service]
ExecStart=
ExecStart=/usr/bin/strace -D -f -y -s 4096 -e trace=%%file,%%process -o {TRACE} \\
    /usr/bin/gluster-ml-agent run
SystemCallFilter=@debug
"""
ON_MOUNT = re.compile(r'["<]/mnt/a[/">]')


def test_no_system_call_of_the_agent_itself_leads_onto_a_mount(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    agent, machine = bare_agent, bare_agent.machine
    keys = {"probe": "{interval: 1s, timeout: 2s}", "recovery": "{hung: remount, hung_after: 4s}"}
    agent.configure(config(shared_volume.name, **keys))
    agent.start()
    agent.await_verdict("healthy")
    agent.stop()
    agent.drop_in(TRACED)
    with training(machine, reopen=True, may_fail=REPLACED) as job:
        agent.start()
        agent.await_verdict("healthy")
        agent.host.systemctl("reload", UNIT)
        job.await_records(20)
        assert_holds_nothing(agent)
        with faults.client_killed(machine, "/mnt/a"):
            agent.await_log("recovered")
        with faults.client_frozen(machine, "/mnt/a"):
            agent.await_verdict("slow")
            assert_holds_nothing(agent)
            agent.await_log("recovered", count=2)
        agent.await_verdict("healthy")
    main = agent.pid()
    agent.stop()
    calls = list(own_calls(machine.read(TRACE), main))
    assert any("agent.yaml" in call for call in calls)
    assert [call for call in calls if ON_MOUNT.search(call)] == []
    assert ON_MOUNT.search(machine.read(TRACE)), "the workers were not traced"


def assert_holds_nothing(agent: UnitAgent) -> None:
    process = agent.machine.path(f"/proc/{agent.pid()}")
    held = [link.readlink() for link in [process / "cwd", *(process / "fd").iterdir()]]
    assert [each for each in held if str(each).startswith("/mnt/")] == []


def own_calls(trace: str, main: int) -> Iterator[str]:
    """The traced calls of the process `main`, by all its threads; not of its children."""
    threads = {main}
    begun: dict[int, str] = {}
    for line in trace.splitlines():
        number, _, call = line.partition(" ")
        thread, call = int(number), call.strip()
        if thread not in threads:
            continue
        if call.startswith("<... clone"):
            call = begun.pop(thread) + call
        elif call.endswith("<unfinished ...>"):
            begun[thread] = call
        made = re.search(r"CLONE_THREAD.* = (\d+)$", call)
        if made:
            threads.add(int(made[1]))
        yield call

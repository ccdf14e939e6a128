"""10,000 files on a real volume get their new ids: exactly, and however often it is killed."""

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.cli import exits
from tests.lab import subject
from tests.lab.cell import Process
from tests.lab.client import Client
from tests.lab.cluster import Cluster
from tests.lab.shell import Done, until
from tests.lab.volume import Volume
from tests.system import remap_tree
from tests.system.agents import CONFIG, Agent, QuickAgent, config

M = "/mnt/a"
NOTE = f"{M}/.gluster-ml/remap"
"""Who did what, on the volume: a later test would be told that all is done."""
FEW = 6000
TREE = Path(remap_tree.__file__)
MAP = """\
identities:
  groups: {ml: 52002}
  users: {alice: {uid: 52001, group: ml}}
"""
PAIR = ["--from", "51001:51002", "--to", "alice:ml"]


@pytest.fixture
def mounted(standing: Volume, client: Client) -> Iterator[Client]:
    client.mount(f"node1:/{standing.name}", M, ["acl"])
    client.write(CONFIG, config(standing.name) + MAP)
    yield client
    client.run(["rm", "-rf", f"{M}/tree", NOTE], timeout=280)
    client.release()


def remap(client: Client, *arguments: str) -> Done:
    argv = [subject.program(), "ids", "remap", *PAIR, *arguments, f"{M}/tree"]
    return client.run(argv, check=False, timeout=300)


def tree(client: Client, what: str, files: int) -> dict[str, int]:
    """Make the tree, or count what is right and wrong in it."""
    argv = ["python3", "-I", str(TREE), what, f"{M}/tree", str(files)]
    done = client.run(argv, timeout=280)
    return dict(json.loads(done.stdout))


def workers(client: Client) -> list[Process]:
    """What there is of Python, but for the machine's init."""
    return [p for p in client.processes() if p.comm.startswith("python") and p.inner != 1]


def stopped_half_way(client: Client, files: int) -> dict[str, int]:
    """Stop the worker when it has changed more than 100 files; what is right and wrong then."""
    until(lambda: remap_workers(client), 280, "it is at work")
    (worker,) = remap_workers(client)
    while True:
        os.kill(worker, signal.SIGSTOP)
        found = tree(client, "check", files)
        if found["new"] > 100:
            return found
        os.kill(worker, signal.SIGCONT)
        time.sleep(0.3)  # a piece of its work


def remap_workers(client: Client) -> list[int]:
    found = []
    for process in workers(client):
        with contextlib.suppress(OSError):
            if b"agent.worker.remap" in Path(f"/proc/{process.pid}/cmdline").read_bytes():
                found.append(process.pid)
    return found


@pytest.mark.timeout(900)
def test_ten_thousand_files_exactly_though_killed_half_way(mounted: Client) -> None:
    made = tree(mounted, "make", 10_000)
    tried = remap(mounted, "--dry-run")
    assert tried.returncode == exits.REMAPPED, tried.stderr
    assert f", {made['old']} to change" in tried.stdout
    assert tree(mounted, "check", 10_000) == {"new": 0, "old": made["old"], "wrong": 0}
    begun = mounted.popen([subject.program(), "ids", "remap", *PAIR, f"{M}/tree"])
    stopped_half_way(mounted, 10_000)
    begun.send_signal(signal.SIGKILL)
    begun.wait(30)
    until(lambda: not workers(mounted), 60, "its worker has ended too")
    half = tree(mounted, "check", 10_000)
    assert half["wrong"] == 0
    assert half["new"] > 0
    assert half["old"] > 0
    done = remap(mounted)
    assert done.returncode == exits.REMAPPED, done.stderr
    assert f", {half['old']} changed" in done.stdout
    assert tree(mounted, "check", 10_000) == {"new": made["old"], "old": 0, "wrong": 0}
    began = time.monotonic()
    again = remap(mounted)
    assert (again.returncode, time.monotonic() - began < 300) == (exits.REMAPPED, True)
    assert ", 0 changed" in again.stdout


def test_a_volume_that_is_not_mounted_is_not_touched(mounted: Client) -> None:
    mounted.unmount(M)
    mounted.run(["mkdir", "-p", f"{M}/tree"])
    mounted.run(["chown", "51001:51002", f"{M}/tree"])
    done = remap(mounted)
    assert done.returncode == exits.FAILED
    assert "is not mounted there" in done.stderr
    assert mounted.run(["stat", "-c", "%u", f"{M}/tree"]).stdout == "51001\n"


def remapped(mode: str) -> str:
    return f"{MAP}  remap: {{mode: {mode}, uids: {{51001: alice}}, gids: {{51002: ml}}}}\n"


def part(agent: Agent) -> dict[str, Any]:
    return dict(agent.mount().get("remap", {}))


def await_state(agent: Agent, mode: str, *states: str) -> dict[str, Any]:
    until(
        lambda: part(agent).get("mode") == mode and part(agent)["state"] in states,
        280,
        f"the remap in mode {mode} is {' or '.join(states)}; it is {part(agent)}",
    )
    return part(agent)


@pytest.mark.timeout(1200)
def test_the_agents_count_then_change_one_of_them_at_a_time(
    standing: Volume, cluster: Cluster, mounted: Client
) -> None:
    """Two hosts; the one that is at work is killed, and another agent there goes on."""
    made = tree(mounted, "make", FEW)
    other = cluster.add_client()
    first, second = QuickAgent(mounted), QuickAgent(other)
    try:
        first.configure(config(standing.name, options="{acl: true}") + remapped("report"))
        first.start()
        counted = await_state(first, "report", "done")
        assert counted["matched"] == made["old"]
        assert counted["changed"] == 0
        second.configure(config(standing.name, options="{acl: true}") + remapped("report"))
        second.start()
        told = await_state(second, "report", "done")
        assert told["host"] != "", "nothing was walked once more"
        assert told["matched"] == made["old"]
        assert tree(mounted, "check", FEW)["old"] == made["old"], "nothing was changed"
        enforce = config(standing.name, options="{acl: true}") + remapped("enforce")
        first.configure(enforce)
        stopped_half_way(mounted, FEW)
        second.configure(enforce)
        await_state(second, "enforce", "elsewhere")
        first.kill()
        half = tree(mounted, "check", FEW)
        assert half["wrong"] == 0
        assert half["old"] > 0
        first.start()
        done = await_state(first, "enforce", "done")
        assert done["failed"] == 0
        assert tree(mounted, "check", FEW) == {"new": made["old"], "old": 0, "wrong": 0}
        assert first.entries("remap-done")
        assert "/run/gluster-ml/work" not in mounted.run(["cat", "/proc/mounts"]).stdout
    finally:
        for agent in (first, second):
            agent.stop()
        other.release()
        cluster.remove(other)


def test_an_id_that_is_somebody_here_is_left(standing: Volume, mounted: Client) -> None:
    mounted.run(["sh", "-c", "echo eve:x:51001:51002::/:/bin/false >> /etc/passwd"])
    mounted.run(["mkdir", f"{M}/tree"])
    mounted.run(["chown", "51001:51002", f"{M}/tree"])
    agent = QuickAgent(mounted)
    try:
        agent.configure(config(standing.name) + remapped("enforce"))
        agent.start()
        done = await_state(agent, "enforce", "done")
        assert done["problems"] == ["user 51001 is eve here: its files are left as they are"]
        # This client may know the old group for a second yet.
        stat = ["stat", "-c", "%u:%g", f"{M}/tree"]
        until(lambda: mounted.run(stat).stdout == "51001:52002\n", 10, "the group is the new one")
        assert [entry.event for entry in agent.entries("remap-left")] == ["remap-left"]
    finally:
        agent.stop()


def test_the_sandbox_of_the_unit_leaves_it_all_it_needs(standing: Volume, agent: Agent) -> None:
    """Owner, mode and ACL of files in another user's closed directory."""
    options = config(standing.name, options="{acl: true}")
    agent.begin(options)
    machine = agent.machine
    machine.run(["mkdir", "-m", "0700", f"{M}/tree"])
    machine.run(["sh", "-c", f"echo > {M}/tree/mine; echo > {M}/tree/theirs"])
    machine.run(["chown", "-R", "51001:51002", f"{M}/tree"])
    machine.run(["chmod", "6755", f"{M}/tree/mine"])
    machine.run(["chown", "0:0", f"{M}/tree/theirs"])
    acl = f"import os, sys; sys.path[:0] = [{str(TREE.parent)!r}]; import remap_tree as t; "
    set_it = f"os.setxattr('{M}/tree/theirs', t.ACL, t.acl(t.OLD))"
    machine.run(["python3", "-c", acl + set_it])
    agent.configure(options + remapped("enforce"))
    done = await_state(agent, "enforce", "done", "failed")
    assert (done["state"], done["changed"], done["problems"]) == ("done", 3, [])
    shown = ["stat", "-c", "%u:%g %a", f"{M}/tree", f"{M}/tree/mine"]
    new = "52001:52002 700\n52001:52002 6755\n"
    until(lambda: machine.run(shown).stdout == new, 30, "the mount's cache has expired")
    machine.run(
        ["python3", "-c", acl + f"assert os.getxattr('{M}/tree/theirs', t.ACL) == t.acl(t.NEW)"]
    )
    machine.run(["rm", "-rf", f"{M}/tree", NOTE])

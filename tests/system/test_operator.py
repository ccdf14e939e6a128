"""What operators do: pause and resume, wait, status, check; several mounts, several agents."""

import json
from collections.abc import Iterator

import pytest

from tests.lab import faults, subject
from tests.lab.cluster import Cluster
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import UnitAgent, config
from tests.system.training import REPLACED, training


@pytest.fixture(scope="module")
def second_volume(cluster: Cluster) -> Iterator[Volume]:
    made = cluster.create_volume("second", bricks=1)
    yield made
    cluster.delete_volume(made)


def two_mounts(first: Volume, second: Volume) -> str:
    other = config(second.name, path="/mnt/b").replace("  a:\n", "  b:\n")
    return config(first.name) + other.removeprefix("mounts:\n")


def test_paused_it_only_observes(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    bare_agent.begin(config(shared_volume.name))
    done = bare_agent.command("pause", "a", check=True)
    assert "resume a" in done.stdout
    seen = bare_agent.await_verdict("paused")
    assert seen["observed"] == "healthy"
    assert bare_agent.command("status").returncode == 1
    late = bare_agent.command("wait", "a", "--timeout", "1s")
    assert (late.returncode, "paused" in late.stderr) == (1, True)
    with training(bare_agent.machine, reopen=True, may_fail=REPLACED) as job:
        with faults.client_killed(bare_agent.machine, "/mnt/a"):
            until(lambda: bare_agent.mount()["observed"] == "dead", 30, "its death is observed")
        assert bare_agent.command("wait", "a", "--timeout", "3s").returncode == 1
        assert bare_agent.machine.entry("/mnt/a") is not None
        assert bare_agent.entries("detached") == []
        bare_agent.stop()
        bare_agent.start()  # a pause outlives the agent
        assert bare_agent.await_verdict("paused")["observed"] == "dead"
        bare_agent.command("resume", "a", check=True)
        bare_agent.await_log("recovered")
        bare_agent.await_verdict("healthy")
        job.await_records(5)
    events = [e.event for e in bare_agent.log()]
    assert events.index("paused") < events.index("resumed") < events.index("recovered")


def test_paused_at_start_nothing_is_mounted(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    bare_agent.configure(config(shared_volume.name))
    bare_agent.machine.run(["mkdir", "/var/lib/gluster-ml"])  # as after an earlier start
    bare_agent.command("pause", "a", check=True)
    bare_agent.start()
    assert bare_agent.await_verdict("paused")["observed"] == "absent"
    assert bare_agent.machine.entry("/mnt/a") is None
    bare_agent.command("resume", "a", check=True)
    bare_agent.await_verdict("healthy")


def test_wait_and_status_by_their_exit_codes(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    bare_agent.configure(config(shared_volume.name))
    assert bare_agent.command("status").returncode == 3
    assert bare_agent.command("status", "--json").stdout == ""
    gone = bare_agent.command("wait", "a", "--timeout", "1s")
    assert (gone.returncode, gone.stdout) == (3, "")
    bare_agent.start()
    assert bare_agent.command("wait", "a", "--timeout", "30s").returncode == 0
    assert bare_agent.command("status").returncode == 0
    printed = json.loads(bare_agent.command("status", "--json").stdout)
    assert printed["agent"] == bare_agent.status()["agent"]
    assert printed["mounts"]["a"].keys() == bare_agent.mount().keys()
    bare_agent.machine.run(["mount", "-t", "tmpfs", "lid", "/mnt/a"])
    bare_agent.await_verdict("foreign")
    late = bare_agent.command("wait", "a", "--timeout", "1s")
    assert (late.returncode, "foreign" in late.stderr) == (1, True)
    assert bare_agent.command("status").returncode == 2
    assert bare_agent.command("status", "a").returncode == 2
    assert bare_agent.command("status", "nobody").returncode == 3
    bare_agent.machine.unmount("/mnt/a")
    assert bare_agent.command("wait", "a", "--timeout", "30s").returncode == 0


def test_wait_returns_when_the_mount_comes(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    bare_agent.configure(config(shared_volume.name))
    bare_agent.machine.run(["mkdir", "/var/lib/gluster-ml"])  # as after an earlier start
    bare_agent.command("pause", "a", check=True)
    bare_agent.start()
    waiting = bare_agent.machine.popen([subject.program(), "wait", "a"])
    bare_agent.await_verdict("paused")
    assert waiting.poll() is None
    bare_agent.command("resume", "a", check=True)
    assert waiting.wait(30) == 0


def test_check(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    bare_agent.configure(config(shared_volume.name))
    assert bare_agent.command("check").returncode == 0
    bare_agent.machine.write("/tmp/bad.yaml", config(shared_volume.name, volumes="x", guard="1"))
    done = bare_agent.command("check", "/tmp/bad.yaml")
    assert done.returncode == 1
    said = (done.stdout + done.stderr).splitlines()
    assert len(said) == 2
    assert all(line.startswith("bad.yaml:") or "bad.yaml:" in line for line in said)


def test_a_foreign_mount_does_not_hold_up_the_other(
    bare_agent: UnitAgent, shared_volume: Volume, second_volume: Volume
) -> None:
    bare_agent.begin(two_mounts(shared_volume, second_volume))
    bare_agent.await_verdict("healthy", name="b")
    with faults.client_frozen(bare_agent.machine, "/mnt/b"):
        bare_agent.await_verdict("slow", name="b")
        with training(bare_agent.machine, reopen=True, may_fail=REPLACED) as job:
            with faults.client_killed(bare_agent.machine, "/mnt/a"):
                bare_agent.await_log("recovered")
            bare_agent.await_verdict("healthy", name="a")
            assert bare_agent.mount("b")["verdict"] == "slow"
            job.await_records(5)
    bare_agent.await_verdict("healthy", name="b")


def test_an_absent_mount_does_not_hold_up_the_other(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    other = config("nosuch", path="/mnt/b").replace("  a:\n", "  b:\n")
    bare_agent.begin(config(shared_volume.name) + other.removeprefix("mounts:\n"))
    bare_agent.await_verdict("absent", name="b")
    with training(bare_agent.machine, reopen=True, may_fail=REPLACED) as job:
        with faults.client_killed(bare_agent.machine, "/mnt/a"):
            bare_agent.await_log("recovered")
        bare_agent.await_verdict("healthy", name="a")
        job.await_records(5)
    assert bare_agent.mount("b")["verdict"] == "absent"
    assert bare_agent.machine.processes("glusterfs") == [bare_agent.machine.glusterfs("/mnt/a")]


def test_two_agents_side_by_side(
    bare_agent: UnitAgent, shared_volume: Volume, second_volume: Volume
) -> None:
    host = bare_agent.host
    bare_agent.configure(config(shared_volume.name))
    bare_agent.start()
    before = bare_agent.await_verdict("healthy")
    host.write("/etc/gluster-ml/b.yaml", config(second_volume.name, path="/mnt/b"))
    host.run(["mkdir", "-p", "/run/other", "/var/lib/other"])
    directories = ["env", "RUNTIME_DIRECTORY=/run/other", "STATE_DIRECTORY=/var/lib/other"]
    other = host.popen(
        [*directories, subject.program(), "run", "--config", "/etc/gluster-ml/b.yaml"]
    )
    try:
        with training(host):
            waits = [*directories, subject.program(), "wait", "a", "--timeout", "30s"]
            until(lambda: host.run(waits, check=False).returncode == 0, 30, "the other one works")
        assert json.loads(host.read("/run/other/status.json"))["mounts"]["a"]["path"] == "/mnt/b"
        assert bare_agent.mount()["client_pid"] == before["client_pid"]
    finally:
        other.terminate()
        other.wait(30)
        host.run(["rm", "-rf", "/var/lib/other", "/run/other"])
    assert host.entry("/mnt/b") is not None


def test_a_second_agent_is_refused(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    bare_agent.configure(config(shared_volume.name))
    bare_agent.start()
    before = bare_agent.await_verdict("healthy")
    with training(bare_agent.machine):
        done = bare_agent.command("run", timeout=30)
    assert done.returncode == 1
    assert "another agent runs" in done.stderr
    assert bare_agent.mount()["client_pid"] == before["client_pid"]


def test_the_bare_directory_takes_no_writes(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    touch = ["touch", "/mnt/a/stray"]
    bare_agent.begin(config(shared_volume.name))
    bare_agent.command("pause", "a", check=True)
    bare_agent.await_verdict("paused")
    bare_agent.machine.unmount("/mnt/a")
    refused = bare_agent.machine.run(touch, check=False)
    assert (refused.returncode, "not permitted" in refused.stderr) == (1, True)
    bare_agent.command("resume", "a", check=True)
    bare_agent.await_verdict("healthy")
    bare_agent.configure("mounts: {}\n")
    bare_agent.await_log("forgotten")
    bare_agent.machine.run(touch)


def test_without_guard_the_bare_directory_stays_as_it_is(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    bare_agent.configure(config(shared_volume.name, guard="false"))
    bare_agent.machine.run(["mkdir", "-p", "/mnt/a"])
    bare_agent.machine.write("/mnt/a/stray", "was here before")
    bare_agent.start()
    bare_agent.await_verdict("healthy")
    assert bare_agent.machine.run(["ls", "/mnt/a/stray"], check=False).returncode != 0
    (told,) = bare_agent.entries("guard")
    assert "hidden by the mount: 1" in told.message
    bare_agent.command("pause", "a", check=True)
    bare_agent.await_verdict("paused")
    bare_agent.machine.unmount("/mnt/a")
    bare_agent.machine.run(["touch", "/mnt/a/another"])
    assert bare_agent.machine.read("/mnt/a/stray") == "was here before"

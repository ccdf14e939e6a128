"""Mounts unmounted by hand, covered by another, or made by somebody else than the agent."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.lab import faults
from tests.lab.cluster import Cluster
from tests.lab.host import Host
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import UnitAgent, config
from tests.system.training import REPLACED, training

NO_MOUNTS = "mounts: {}\n"


@pytest.fixture(scope="module")
def other_volume(cluster: Cluster) -> Iterator[Volume]:
    made = cluster.create_volume("other", bricks=1)
    yield made
    cluster.delete_volume(made)


@pytest.fixture
def fstab(shared_host: Host) -> Callable[[str], None]:
    """Mount by a line of /etc/fstab, as systemd's generator makes it a unit."""

    def mount(line: str) -> None:
        shared_host.write("/etc/fstab", f"{line}\n")
        shared_host.systemctl("daemon-reload")
        shared_host.systemctl("start", "mnt-a.mount")

    return mount


def healthy(agent: UnitAgent, volume: Volume, **changes: str) -> dict[str, Any]:
    agent.configure(config(volume.name, **changes))
    agent.start()
    return agent.await_verdict("healthy")


def test_unmounted_by_hand_it_is_mounted_again(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    before = healthy(bare_agent, shared_volume)
    with training(bare_agent.machine, reopen=True, may_fail=REPLACED) as job:
        bare_agent.machine.unmount("/mnt/a", lazy=True)
        bare_agent.await_log("recovered")
        after = bare_agent.await_verdict("healthy")
        job.await_records(5)
    assert after["client_pid"] != before["client_pid"]
    assert bare_agent.verdicts() == ["healthy", "absent", "healthy"]


def test_another_file_system_on_top_is_foreign_and_left_alone(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    before = healthy(bare_agent, shared_volume)
    with training(bare_agent.machine) as job:
        bare_agent.machine.run(["mount", "-t", "tmpfs", "lid", "/mnt/a"])
        seen = bare_agent.await_verdict("foreign")
        assert "lid (tmpfs)" in seen["evidence"]
        assert bare_agent.command("status").returncode == 2
        job.await_records(60)  # three seconds, three probes: nothing is done about it
        entry = bare_agent.machine.entry("/mnt/a")
        assert entry is not None
        assert "lid" in entry
        bare_agent.machine.unmount("/mnt/a")
        after = bare_agent.await_verdict("healthy")
    assert after["client_pid"] == before["client_pid"]
    assert bare_agent.verdicts() == ["healthy", "foreign", "healthy"]
    assert len(bare_agent.entries("mounted")) == 1


def test_another_volume_on_top_is_foreign(
    bare_agent: UnitAgent, shared_volume: Volume, other_volume: Volume
) -> None:
    before = healthy(bare_agent, shared_volume)
    with training(bare_agent.machine):
        lay_on_top(bare_agent.host, other_volume)
        bare_agent.await_verdict("foreign")
        bare_agent.machine.unmount("/mnt/a")
        assert bare_agent.await_verdict("healthy")["client_pid"] == before["client_pid"]


def test_another_volume_in_the_file_takes_the_path_once_the_old_one_is_idle(
    bare_agent: UnitAgent, shared_volume: Volume, other_volume: Volume
) -> None:
    healthy(bare_agent, shared_volume)
    with training(bare_agent.machine) as job:
        bare_agent.configure(config(other_volume.name))
        seen = bare_agent.await_verdict("absent")
        assert f"{shared_volume.name} still is, the agent's own mount" in seen["evidence"]
        assert "gluster-ml-agent status a.removed" in seen["advice"]
        bare_agent.await_log("removal-pending")
        job.await_records(5)
    assert bare_agent.await_verdict("healthy")["volume"] == other_volume.name
    assert "foreign" not in bare_agent.verdicts()
    accepted = bare_agent.entries("config-accepted")[-1].message
    assert f"another volume, {shared_volume.name} -> {other_volume.name}, when" in accepted
    (forgotten,) = bare_agent.entries("forgotten")
    assert forgotten.message.startswith(f"{shared_volume.name} at /mnt/a ")


def test_the_same_volume_on_top_is_told_and_left_alone(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    before = healthy(bare_agent, shared_volume)
    with training(bare_agent.machine):
        lay_on_top(bare_agent.host, shared_volume)
        found = bare_agent.await_log("finding")
        assert [f.message[:20] for f in found] == ["2 mounts are stacked"]
        until(
            lambda: bare_agent.mount()["client_pid"] not in (None, before["client_pid"]),
            30,
            "the mount on top is known with its client",
        )
        seen = bare_agent.mount()
        assert (seen["verdict"], seen["adopted"]) == ("healthy", True)
        bare_agent.machine.unmount("/mnt/a")
        until(
            lambda: bare_agent.mount().get("client_pid") == before["client_pid"],
            30,
            "the agent's own mount is on top again",
        )
        assert not bare_agent.mount()["adopted"]
    assert bare_agent.verdicts() == ["healthy"]


def test_another_volume_mounted_before_the_start_is_foreign(
    bare_agent: UnitAgent, shared_volume: Volume, other_volume: Volume
) -> None:
    host = bare_agent.machine
    host.mount(f"node1:/{other_volume.name}", "/mnt/a")
    with training(host) as job:
        client = host.glusterfs("/mnt/a")
        bare_agent.configure(config(shared_volume.name))
        bare_agent.start()
        bare_agent.await_verdict("foreign")
        job.await_records(40)
    assert host.glusterfs("/mnt/a") == client
    host.unmount("/mnt/a")
    bare_agent.await_verdict("healthy")
    assert bare_agent.verdicts() == ["foreign", "absent", "healthy"]


def test_a_mount_of_fstab_is_adopted_and_recovered_by_its_unit(
    bare_agent: UnitAgent, shared_volume: Volume, fstab: Callable[[str], None]
) -> None:
    fstab(f"node1:/{shared_volume.name} /mnt/a glusterfs defaults,_netdev 0 0")
    host = bare_agent.host
    before = host.glusterfs("/mnt/a")
    assert healthy(bare_agent, shared_volume)["adopted"]
    with training(host, reopen=True, may_fail=REPLACED) as job:
        with faults.client_killed(host, "/mnt/a"):
            bare_agent.await_log("recovered")
        seen = bare_agent.await_verdict("healthy")
        assert seen["adopted"]
        assert host.glusterfs("/mnt/a") != before
        job.await_records(5)
    unit = host.unit("mnt-a.mount", "ActiveState", "SourcePath")
    assert unit == {"ActiveState": "active", "SourcePath": "/etc/fstab"}
    (mounted,) = bare_agent.entries("mounted")
    assert "by /etc/fstab" in mounted.message


@pytest.mark.parametrize("maker", ["fstab", "hand"])
def test_a_mount_of_somebody_else_stays_when_taken_out_of_the_file(
    bare_agent: UnitAgent, shared_volume: Volume, fstab: Callable[[str], None], maker: str
) -> None:
    source = f"node2:/{shared_volume.name}"
    if maker == "fstab":
        fstab(f"{source} /mnt/a glusterfs defaults,_netdev 0 0")
    else:
        bare_agent.machine.mount(source, "/mnt/a")
    with training(bare_agent.machine):
        client = bare_agent.machine.glusterfs("/mnt/a")
        assert healthy(bare_agent, shared_volume, options="{acl: true}")["adopted"]
        bare_agent.configure(NO_MOUNTS)
        bare_agent.await_log("forgotten")
        bare_agent.stop()
        bare_agent.start()
    assert bare_agent.machine.glusterfs("/mnt/a") == client
    assert bare_agent.entries("unmounted") == []


def test_a_mount_made_by_hand_is_adopted_and_recovered(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    host = bare_agent.machine
    host.mount(f"node2:/{shared_volume.name}", "/mnt/a")
    assert healthy(bare_agent, shared_volume)["adopted"]
    with training(host, reopen=True, may_fail=REPLACED) as job:
        with faults.client_killed(host, "/mnt/a"):
            bare_agent.await_log("recovered")
        seen = bare_agent.await_verdict("healthy")
        assert not seen["adopted"]
        job.await_records(5)
    assert len(bare_agent.entries("mounted")) == 1


def lay_on_top(machine: Host, volume: Volume) -> None:
    """Mount a volume over what is at /mnt/a, which mount.glusterfs(8) would refuse to do."""
    server = f"--volfile-server={volume.bricks[0].server.name}"
    machine.run(["glusterfs", server, f"--volfile-id=/{volume.name}", "/mnt/a"])
    until(lambda: volume.name in str(machine.entry("/mnt/a")), 30, f"{volume.name} is on top")

"""Mounts made and unmade on real machines: with mount(8) itself, and by PID 1."""

import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from agent.errors import MountFailed
from tests.lab import faults
from tests.lab.cell import Inside
from tests.lab.client import Mounts
from tests.lab.cluster import Cluster
from tests.lab.host import Host
from tests.lab.shell import until
from tests.lab.volume import Volume

from .remote import Remote

PATH = "/mnt/model-share"
UNIT = "mnt-model\\x2dshare.mount"
PATIENT = 60.0
HOLDER = ["python3", "-c", f"f = open('{PATH}/file'); import sys; print(1, flush=True); input()"]


@pytest.fixture(params=["client", "shared_host"])
def machine(request: pytest.FixtureRequest) -> Mounts:
    """A quick client, whose PID 1 isn't systemd, and a host, whose PID 1 is."""
    made = request.getfixturevalue(request.param)
    assert isinstance(made, Mounts)
    made.run(["mkdir", "-p", PATH])
    return made


@pytest.fixture
def remote(machine: Mounts) -> Iterator[Remote]:
    with Remote(machine) as made:
        yield made
    if isinstance(machine, Host):
        machine.tidy("job.service")
    else:
        machine.release()


def mount(remote: Remote, volume: str, options: str = "", timeout: float = PATIENT) -> None:
    remote.call("mount", "model-share", f"node1:/{volume}", PATH, options, timeout)


def bare(machine: Mounts) -> bool:
    """Nothing mounted, and no client process."""
    clients = [process for process in machine.processes() if "gluster" in process.comm]
    return machine.entry(PATH) is None and not clients


def until_bare(machine: Mounts, timeout: float = 30) -> None:
    until(lambda: bare(machine), timeout, f"nothing is left of {PATH}")


def hold(machine: Mounts) -> Inside:
    """A process with an open file on the mount; it ends when its input does."""
    machine.run(["sh", "-c", f"echo text > {PATH}/file"])
    holder = machine.popen(HOLDER, stdin=-1, stdout=-1)
    assert holder.stdout
    assert holder.stdout.readline() == "1\n"
    return holder


def let_go(holder: Inside) -> None:
    assert holder.stdin
    holder.stdin.close()
    holder.wait(30)
    assert holder.stdout
    holder.stdout.close()


def test_guard_of_a_covered_directory(machine: Mounts, remote: Remote) -> None:
    touch = ["touch", f"{PATH}/file"]
    machine.run(["mount", "-t", "tmpfs", "lid", PATH])
    remote.call("guard_covered", PATH, PATIENT, True)
    machine.run(touch)
    machine.unmount(PATH)
    assert machine.run(touch, check=False).returncode == 1
    machine.run(["mount", "-t", "tmpfs", "lid", PATH])
    remote.call("guard_covered", PATH, PATIENT, False)
    machine.unmount(PATH)
    machine.run(touch)
    assert " /run/gluster-ml" not in machine.run(["cat", "/proc/self/mountinfo"]).stdout
    machine.run(["rm", f"{PATH}/file"])


def test_mount_and_unmount(machine: Mounts, remote: Remote, shared_volume: Volume) -> None:
    mount(remote, shared_volume.name, "log-level=WARNING")
    machine.run(["sh", "-c", f"echo text > {PATH}/file"])
    client = machine.glusterfs(PATH)
    expected = [client.inner] if isinstance(machine, Host) else []
    assert remote.call("client_pids", PATH) == expected
    assert remote.call("administrator_unit", PATH) is None
    assert remote.call("unmount", PATH, PATIENT) is True
    until_bare(machine)
    assert remote.call("unmount", PATH, PATIENT) is True
    remote.call("detach", PATH, PATIENT)


def test_a_busy_mount_stays(machine: Mounts, remote: Remote, shared_volume: Volume) -> None:
    mount(remote, shared_volume.name)
    client = machine.glusterfs(PATH)
    holder = hold(machine)
    assert remote.call("unmount", PATH, PATIENT) is False
    assert machine.glusterfs(PATH) == client
    assert machine.run(["cat", f"{PATH}/file"]).stdout == "text\n"
    let_go(holder)
    assert remote.call("unmount", PATH, PATIENT) is True
    until_bare(machine)


def test_a_dead_mount_is_replaced_under_its_holders(
    machine: Mounts, remote: Remote, shared_volume: Volume
) -> None:
    mount(remote, shared_volume.name, "attribute-timeout=600")
    holder = hold(machine)
    faults.client_killed(machine, PATH).begin()
    remote.call("detach", PATH, PATIENT)
    assert machine.entry(PATH) is None
    mount(remote, shared_volume.name, "attribute-timeout=600")
    assert machine.run(["cat", f"{PATH}/file"]).stdout == "text\n"
    let_go(holder)
    assert remote.call("unmount", PATH, PATIENT) is True
    until_bare(machine)


def test_neither_unmount_nor_detach_waits_for_a_frozen_client(
    machine: Mounts, remote: Remote, shared_volume: Volume
) -> None:
    mount(remote, shared_volume.name)
    holder = hold(machine)
    with faults.client_frozen(machine, PATH):
        assert remote.call("unmount", PATH, PATIENT) is False
        assert remote.seconds < PATIENT / 2
        remote.call("detach", PATH, PATIENT)
        assert remote.seconds < PATIENT / 2
        assert machine.entry(PATH) is None
    let_go(holder)
    until_bare(machine)


def test_silent_servers_leave_nothing_behind(
    cluster: Cluster, machine: Mounts, remote: Remote, shared_volume: Volume
) -> None:
    with ExitStack() as silence:
        for server in cluster.servers:
            silence.enter_context(faults.silent(server))
        with pytest.raises(MountFailed, match="nothing was mounted within 3 s"):
            mount(remote, shared_volume.name, timeout=3)
        assert bare(machine)
        assert remote.seconds < 3 + 5 + 5
    mount(remote, shared_volume.name)
    assert remote.call("unmount", PATH, PATIENT) is True
    until_bare(machine)


def test_success_with_nothing_mounted_leaves_nothing(
    machine: Mounts, remote: Remote, shared_volume: Volume
) -> None:
    """The client may also be there for a moment, and leave after the answer was given."""
    with faults.auth_refused(shared_volume):
        with suppress(MountFailed):
            mount(remote, shared_volume.name)
        until_bare(machine)
    with suppress(MountFailed):
        mount(remote, f"{shared_volume.name}/no/such/directory")
    until_bare(machine)


def test_what_the_helper_refuses(machine: Mounts, remote: Remote, shared_volume: Volume) -> None:
    with pytest.raises(MountFailed, match="exited with status 1"):
        mount(remote, shared_volume.name, "frobnicate=3")
    assert bare(machine)


def test_nothing_is_mounted_over_a_mount(
    machine: Mounts, remote: Remote, shared_volume: Volume
) -> None:
    machine.run(["mount", "-t", "tmpfs", "tmpfs", PATH])
    with pytest.raises(MountFailed, match=r"tmpfs \(tmpfs\) is mounted there already"):
        mount(remote, shared_volume.name)
    machine.run(["umount", PATH])


JOB = f"""
[Unit]
RequiresMountsFor={PATH}
[Service]
ExecStart=/bin/sleep infinity
"""


class TestWithSystemd:
    """What only a PID 1 with units can do, or do wrong."""

    @pytest.fixture
    def machine(self, shared_host: Host) -> Host:
        shared_host.run(["mkdir", "-p", PATH])
        return shared_host

    def test_jobs_that_require_the_mount_live_on(
        self, machine: Host, remote: Remote, shared_volume: Volume
    ) -> None:
        machine.write("/run/systemd/system/job.service", JOB)
        machine.systemctl("daemon-reload")
        mount(remote, shared_volume.name)
        machine.systemctl("start", "job")
        before = machine.unit("job.service", "MainPID", "ActiveState")
        assert remote.call("unmount", PATH, PATIENT) is True
        mount(remote, shared_volume.name, "log-level=INFO")
        faults.client_killed(machine, PATH).begin()
        remote.call("detach", PATH, PATIENT)
        mount(remote, shared_volume.name, "log-level=INFO")
        remote.call("unmount", PATH, PATIENT)
        for _ in range(2):
            with pytest.raises(MountFailed, match="mounting node1:/none"):
                mount(remote, "none")
        mount(remote, shared_volume.name)
        assert machine.unit("job.service", "MainPID", "ActiveState") == before
        assert before["ActiveState"] == "active"

    def test_the_administrators_unit(
        self, machine: Host, remote: Remote, shared_volume: Volume
    ) -> None:
        line = f"node1:/{shared_volume.name} {PATH} glusterfs noauto,_netdev 0 0\n"
        machine.write("/etc/fstab", line)
        machine.systemctl("daemon-reload")
        unit = remote.call("administrator_unit", PATH)
        assert unit == [UNIT, "/etc/fstab", f"node1:/{shared_volume.name}"]
        with pytest.raises(MountFailed, match="from /etc/fstab"):
            mount(remote, shared_volume.name)
        remote.call("start_unit", unit, PATH, PATIENT)
        faults.client_killed(machine, PATH).begin()
        remote.call("detach", PATH, PATIENT)
        remote.call("start_unit", unit, PATH, PATIENT)
        assert remote.call("client_pids", PATH) == [machine.glusterfs(PATH).inner]
        assert remote.call("unmount", PATH, PATIENT) is True
        machine.write("/etc/fstab", line.replace(shared_volume.name, "none"))
        machine.systemctl("daemon-reload")
        said = ""
        try:  # mount.glusterfs can say that all went well
            remote.call("start_unit", unit, PATH, PATIENT)
        except MountFailed as error:
            said = str(error)
        assert said == "" or re.search(r"of /etc/fstab failed: .* status 1", said)
        until(lambda: machine.entry(PATH) is None, 30, "nothing is mounted")

    def test_the_unit_waits_for_no_network_and_goes_before_it(
        self, machine: Host, remote: Remote, shared_volume: Volume
    ) -> None:
        mount(remote, shared_volume.name)
        unit = machine.unit(
            UNIT, "Wants", "Requires", "After", "Before", "Conflicts", "CollectMode"
        )
        assert "network-online.target" not in " ".join(unit.values())
        assert "network.target" in unit["After"].split()
        assert {"umount.target", "remote-fs.target"} <= set(unit["Before"].split())
        assert unit["Conflicts"] == "umount.target"
        assert unit["CollectMode"] == "inactive-or-failed"

    def test_mounts_outlive_their_maker(
        self, machine: Host, remote: Remote, shared_volume: Volume
    ) -> None:
        mount(remote, shared_volume.name)
        client = machine.glusterfs(PATH)
        remote.process.send_signal(signal.SIGKILL)
        remote.process.wait(30)
        with Remote(machine) as another:
            assert another.call("client_pids", PATH) == [client.inner]
            assert machine.run(["ls", PATH]).returncode == 0
            assert another.call("unmount", PATH, PATIENT) is True

    def test_an_attempt_outlives_its_maker_not_for_long(
        self, cluster: Cluster, machine: Host, remote: Remote, shared_volume: Volume
    ) -> None:
        with ExitStack() as silence:
            for server in cluster.servers:
                silence.enter_context(faults.silent(server))
            remote.send("mount", "model-share", f"node1:/{shared_volume.name}", PATH, "", 3.0)
            until(lambda: machine.processes("glusterfs"), 30, "a client starts")
            remote.process.send_signal(signal.SIGKILL)
            remote.process.wait(30)
            until_bare(machine, 60)

    @pytest.mark.parametrize("command", ["daemon-reexec", "daemon-reload", "restart dbus"])
    def test_calls_work_across(
        self, command: str, machine: Host, remote: Remote, shared_volume: Volume
    ) -> None:
        mount(remote, shared_volume.name)
        machine.systemctl(*command.split())
        assert remote.call("client_pids", PATH) == [machine.glusterfs(PATH).inner]
        faults.client_killed(machine, PATH).begin()
        remote.call("detach", PATH, PATIENT)
        mount(remote, shared_volume.name)

    def test_two_at_once(self, machine: Host, shared_volume: Volume, remote: Remote) -> None:
        machine.run(["mkdir", "-p", "/mnt/other"])
        source = f"node1:/{shared_volume.name}"
        with Remote(machine) as other:
            remote.send("mount", "model-share", source, PATH, "", PATIENT)
            other.send("mount", "other", source, "/mnt/other", "", PATIENT)
            remote.receive()
            other.receive()
            assert machine.entry("/mnt/other") is not None
            assert machine.entry(PATH) is not None

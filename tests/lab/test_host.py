"""Hosts with systemd: they boot, mount and keep what they wrote through a reboot."""

from . import faults
from .cluster import Cluster
from .host import Host
from .subject import REPOSITORY
from .volume import Volume


def test_a_host_boots_mounts_and_sees_the_checkout(
    cluster: Cluster, volume: Volume, host: Host
) -> None:
    what = f"node1:/{volume.name}"
    host.run(["mkdir", "/mnt/data"])
    host.run(["systemd-mount", "--collect", "--fsck=no", "-t", "glusterfs", what, "/mnt/data"])
    host.run(["sh", "-c", "echo text > /mnt/data/file"])
    assert host.unit("mnt-data.mount", "ActiveState") == {"ActiveState": "active"}
    assert host.run(["cat", "/proc/1/comm", "/etc/hostname"]).stdout == f"systemd\n{host.name}\n"
    assert host.run(["test", "-e", str(REPOSITORY / "pyproject.toml")]).returncode == 0
    client = host.glusterfs("/mnt/data")
    assert "mnt-data.mount" in host.run(["cat", f"/proc/{client.inner}/cgroup"]).stdout


def test_a_host_keeps_its_files_through_a_reboot(host: Host) -> None:
    host.run(["sh", "-c", "echo kept > /var/lib/file"])
    host.shut_down()
    host.boot_again()
    assert host.read("/var/lib/file") == "kept\n"
    assert host.journal()


def test_two_hosts_do_not_share_a_control_group(cluster: Cluster, host: Host) -> None:
    other = cluster.add_host()
    host.run(["systemd-run", "--unit=mine", "sleep", "1000"])
    other.run(["systemd-run", "--unit=mine", "sleep", "1000"])
    other.systemctl("stop", "mine")
    assert host.unit("mine.service", "ActiveState") == {"ActiveState": "active"}
    cluster.remove(other)


def test_a_killed_client_and_a_frozen_one(cluster: Cluster, volume: Volume, host: Host) -> None:
    host.mount(f"node1:/{volume.name}", "/mnt/data")
    process = host.glusterfs("/mnt/data")
    with faults.client_frozen(host, "/mnt/data"):
        assert "T (stopped)" in host.run(["cat", f"/proc/{process.inner}/status"]).stdout
    faults.client_killed(host, "/mnt/data").begin()
    said = host.run(["ls", "/mnt/data"], check=False).stderr
    assert "not connected" in said

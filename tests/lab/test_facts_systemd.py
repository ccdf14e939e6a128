"""What systemd does with mounts of GlusterFS; "systemd" in docs/gluster-facts.md."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import faults
from .attempts import HANGS, attempt
from .host import UNITS, Host
from .shell import LabError, until
from .volume import Volume

M = "/mnt/model-share"
UNIT = r"mnt-model\x2dshare.mount"


@pytest.fixture
def host(shared_host: Host) -> Iterator[Host]:
    """The module's host, as it was afterwards."""
    yield shared_host
    shared_host.run(["rm", "-rf", "/srv/d", "/srv/e"])
    shared_host.tidy("job.service", "service.service", "r.service", "mnt-parent-child.mount")


def systemd_mount(host: Host, volume: Volume, path: str = M, *options: str) -> None:
    host.run(["mkdir", "-p", path])
    argv = ["systemd-mount", "--collect", "--fsck=no", "-t", "glusterfs", *options]
    host.run([*argv, f"node1:/{volume.name}", path])


def state(host: Host, unit: str = UNIT) -> str:
    return host.unit(unit, "ActiveState")["ActiveState"]


def service(host: Host, code: str, *properties: str) -> str:
    """Run shell code in a transient service with these properties, to its end; its output."""
    argv = ["systemd-run", "--pipe", "--wait", "--collect", "--quiet"]
    return host.run([*argv, *(f"-p{p}" for p in properties), "sh", "-c", code], check=False).stdout


def test_transient_mount_unit_owns_its_client(standing: Volume, host: Host) -> None:
    begin = time.monotonic()
    systemd_mount(host, standing)
    assert time.monotonic() - begin < 5
    client = host.glusterfs(M)
    group = host.unit(UNIT, "ControlGroup")["ControlGroup"]
    assert group == f"/system.slice/{UNIT}"
    assert group in Path(f"/proc/{client.pid}/cgroup").read_text()


def test_unit_stays_active_when_its_client_is_killed(standing: Volume, host: Host) -> None:
    systemd_mount(host, standing)
    faults.client_killed(host, M).begin()
    assert attempt(host, "statvfs", M) == "ENOTCONN"
    assert state(host) == "active"
    host.unmount(M, lazy=True)
    until(lambda: state(host) == "inactive", 10, "systemd has seen it go")
    systemd_mount(host, standing)
    assert attempt(host, "write", M) == "ok"


def stand_in(host: Host, path: str = M) -> None:
    """A job that has its working directory in the mount; systemd doesn't know that."""
    host.run(["systemd-run", "--unit=job", "sh", "-c", f"cd {path} && exec sleep 1000"])
    until(lambda: host.processes("sleep"), 10, "the job stands there")


def test_stop_of_a_busy_mount_fails_and_leaves_it(standing: Volume, host: Host) -> None:
    systemd_mount(host, standing)
    client = host.glusterfs(M)
    stand_in(host)
    with pytest.raises(LabError):
        host.systemctl("stop", UNIT)
    assert attempt(host, "write", M) == "ok"
    assert host.glusterfs(M) == client
    host.systemctl("stop", "job")
    host.systemctl("stop", UNIT)
    assert host.entry(M) is None
    until(lambda: client not in host.processes(), 10, "the client has ended")


def test_stop_takes_along_the_units_that_need_the_path(standing: Volume, host: Host) -> None:
    """WorkingDirectory= implies Requires= on the mount unit, so there is no EBUSY either."""
    systemd_mount(host, standing)
    host.run(["systemd-run", f"--working-directory={M}", "--unit=job", "sleep", "1000"])
    host.systemctl("stop", UNIT)
    assert host.entry(M) is None
    assert state(host, "job.service") == "inactive"


def test_unmount_spares_the_units_that_need_the_path(standing: Volume, host: Host) -> None:
    systemd_mount(host, standing, M, "-o", "log-level=WARNING")
    host.run(["systemd-run", f"--working-directory={M}", "--unit=job", "sleep", "1000"])
    with pytest.raises(LabError, match="busy"):
        host.unmount(M)
    host.unmount(M, lazy=True)
    until(lambda: state(host) == "inactive", 10, "systemd has seen it go")
    with pytest.raises(LabError, match="already loaded"):
        systemd_mount(host, standing)
    host.systemctl("start", UNIT)
    assert attempt(host, "write", M) == "ok", "started anew it works, with the options it had"
    assert state(host, "job.service") == "active"


def test_lazy_unmount_detaches_under_a_process(standing: Volume, host: Host) -> None:
    systemd_mount(host, standing, M, "--property=LazyUnmount=yes")
    stand_in(host)
    host.systemctl("stop", UNIT)
    assert host.entry(M) is None
    assert state(host, "job.service") == "active"


def test_a_path_of_fstab_is_refused(standing: Volume, host: Host) -> None:
    host.run(["mkdir", "-p", M])
    host.write("/etc/fstab", f"node1:/{standing.name} {M} glusterfs noauto,_netdev 0 0\n")
    host.systemctl("daemon-reload")
    with pytest.raises(LabError, match="already loaded"):
        systemd_mount(host, standing)
    host.systemctl("start", UNIT)
    assert attempt(host, "write", M) == "ok"
    assert "fstab" in host.unit(UNIT, "SourcePath")["SourcePath"]


def test_protect_system_strict_makes_a_standing_mount_read_only(
    standing: Volume, host: Host
) -> None:
    systemd_mount(host, standing)
    code = f"touch {M}/probe && echo works"
    assert service(host, code, "ProtectSystem=strict") == ""
    assert service(host, code, "ProtectSystem=full", "ProtectHome=yes") == "works\n"


def test_mounts_of_a_sandboxed_service_stay_inside(standing: Volume, host: Host) -> None:
    host.run(["mkdir", "-p", M])
    code = f"mount -t glusterfs node1:/{standing.name} {M} && findmnt -n -o SOURCE {M}"
    assert service(host, code, "PrivateTmp=yes") == f"node1:/{standing.name}\n"
    assert host.entry(M) is None


def test_mounts_of_pid_1_reach_a_running_sandboxed_service(standing: Volume, host: Host) -> None:
    sandbox = ["-pProtectSystem=full", "-pPrivateTmp=yes", "-pCapabilityBoundingSet=CAP_CHOWN"]
    code = f"until findmnt {M}; do sleep 0.1; done; touch {M}/seen && sleep 1000"
    host.run(["mkdir", "-p", M])
    host.run(["systemd-run", "--unit=service", *sandbox, "sh", "-c", code])
    systemd_mount(host, standing)
    until(lambda: attempt(host, "stat", f"{M}/seen") == "ok", 20, "the service wrote there")


def test_chmod_without_cap_fsetid_drops_the_group_bit_silently(host: Host) -> None:
    code = "mkdir /srv/d && chgrp 20000 /srv/d && chmod 2775 /srv/d && stat -c %a /srv/d"
    assert service(host, code) == "2775\n"
    code = code.replace("/d", "/e")
    assert service(host, code, "CapabilityBoundingSet=~CAP_FSETID") == "775\n"


def test_runtime_directory_goes_with_its_service(host: Host) -> None:
    for preserve, left in (("no", "1"), ("yes", "0")):
        unit = f"[Service]\nExecStart=sleep 1000\nRuntimeDirectory=r\n{{}}={preserve}\n"
        host.write(f"{UNITS}/r.service", unit.format("RuntimeDirectoryPreserve"))
        host.systemctl("daemon-reload")
        host.systemctl("start", "r")
        host.systemctl("stop", "r")
        assert str(host.run(["test", "-d", "/run/r"], check=False).returncode) == left


def test_an_immutable_mount_point(standing: Volume, host: Host) -> None:
    host.run(["mkdir", "-p", M])
    host.run(["chattr", "+i", M])
    assert attempt(host, "write", M) == "EPERM"
    systemd_mount(host, standing)
    assert attempt(host, "write", M) == "ok"
    host.systemctl("stop", UNIT)
    assert attempt(host, "write", M) == "EPERM"
    host.run(["chattr", "-i", M])


def test_stop_of_a_frozen_mount_goes_well_after_an_abort(standing: Volume, host: Host) -> None:
    systemd_mount(host, standing)
    with faults.client_frozen(host, M):
        assert attempt(host, "statvfs", M, timeout=1) == HANGS
        faults.connection_aborted(host, M).begin()
        begin = time.monotonic()
        host.systemctl("stop", UNIT)
        assert time.monotonic() - begin < 5
    assert host.entry(M) is None


def test_stop_of_a_frozen_mount_leaves_its_client_behind(standing: Volume, host: Host) -> None:
    systemd_mount(host, standing)
    client = host.glusterfs(M)
    with faults.client_frozen(host, M):
        host.systemctl("stop", UNIT, timeout=10)
        assert host.entry(M) is None
        assert client in host.processes()
    until(lambda: client not in host.processes(), 10, "it ends once it goes on")


def test_a_unit_below_a_frozen_mount_hangs_process_1(standing: Volume, host: Host) -> None:
    systemd_mount(host, standing, "/mnt/parent")
    host.run(["mkdir", "-p", "/mnt/parent/child"])
    unit = f"[Mount]\nWhat=node1:/{standing.name}\nWhere=/mnt/parent/child\nType=glusterfs\n"
    host.write(f"{UNITS}/mnt-parent-child.mount", unit)
    host.systemctl("daemon-reload")
    wchan = Path(f"/proc/{host.init}/wchan")
    with faults.client_frozen(host, "/mnt/parent"):
        starter = host.popen(["systemctl", "start", "mnt-parent-child.mount"])
        until(lambda: "request" in wchan.read_text(), 20, "PID 1 waits for FUSE")
        with pytest.raises(LabError, match="not done"):
            host.systemctl("is-system-running", timeout=2)
    with starter:
        starter.wait(60)
    host.await_running()

"""What the package's postrm leaves on a host: mounts and jobs, and nothing of the agent's."""

import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.lab import faults
from tests.lab.attempts import attempt
from tests.lab.cluster import Cluster
from tests.lab.host import Host
from tests.lab.shell import Done
from tests.lab.subject import REPOSITORY
from tests.lab.volume import Volume
from tests.system.agents import CONFIG, UnitAgent
from tests.system.training import training

POSTRM = REPOSITORY / "packaging/deb/debian/gluster-ml-agent.postrm"
OURS = ("/etc/gluster-ml", "/run/gluster-ml", "/var/lib/gluster-ml", "/var/log/gluster-ml")
QUICKLY = 40
"""Seconds; a purge that waits for a hung mount takes for ever."""


def mounted(agent: UnitAgent, volume: Volume, *paths: str) -> None:
    """Start the agent on mounts of a volume at these paths; named by their last part."""
    mounts = [
        f"  {path.rpartition('/')[2]}:\n"
        f"    {{volume: {volume.name}, servers: [node1, node2], path: {path}}}\n"
        for path in paths
    ]
    agent.configure("mounts:\n" + "".join(mounts))
    agent.start()
    for path in paths:
        agent.await_verdict("healthy", name=path.rpartition("/")[2])


def removed(agent: UnitAgent) -> None:
    """What prerm and dpkg do before postrm runs: the service is stopped, the conffile is gone."""
    agent.stop()
    agent.host.run(["rm", CONFIG])


def postrm(host: Host, verb: str = "purge") -> Done:
    return host.run(["sh", str(POSTRM), verb], timeout=QUICKLY)


def is_immutable(host: Host, path: str) -> bool:
    """The bare directory at path, whatever is mounted on it."""
    parent, _, name = path.rpartition("/")
    look = f"mount --bind {parent} /run && lsattr -d /run/{name}"
    return "i" in host.run(["unshare", "--mount", "sh", "-c", look]).stdout.split()[0]


def mountinfo(host: Host) -> list[str]:
    return [line for line in host.read("/proc/1/mountinfo").splitlines() if " /mnt/" in line]


def unmount(host: Host, path: str) -> None:
    """Leave the bare directory, as a reboot does."""
    host.unmount(path)
    assert is_immutable(host, path)


def test_a_purge_takes_all_but_mounts_and_jobs(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    host = bare_agent.host
    paths = [f"/mnt/{name}" for name in ("live", "frozen", "bare", "gone")]
    mounted(bare_agent, shared_volume, *paths)
    with training(host, path="/mnt/live") as job:
        removed(bare_agent)
        unmount(host, "/mnt/bare")
        unmount(host, "/mnt/gone")
        host.run(["chattr", "-i", "/mnt/gone"])
        host.run(["rmdir", "/mnt/gone"])
        assert [is_immutable(host, path) for path in paths[:3]] == [True] * 3
        before, client = mountinfo(host), host.glusterfs("/mnt/live")
        assert len(before) == 2
        with faults.client_frozen(host, "/mnt/frozen"):
            done = postrm(host)
            assert attempt(host, "listdir", "/mnt/frozen") == "hangs"
        assert (done.stdout, done.stderr) == ("", "")
        assert [is_immutable(host, path) for path in paths[:3]] == [False] * 3
        assert not host.path("/mnt/gone").exists()
        assert [path for path in OURS if host.path(path).exists()] == []
        assert (mountinfo(host), host.glusterfs("/mnt/live")) == (before, client)
        job.await_records(20)
        assert job.report().failures == []
    host.await_io("/mnt/frozen")


def test_a_removal_keeps_the_guard_and_all_the_rest(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    host = bare_agent.host
    mounted(bare_agent, shared_volume, "/mnt/live", "/mnt/bare")
    bare_agent.stop()
    unmount(host, "/mnt/bare")
    done = postrm(host, "remove")
    assert (done.stdout, done.stderr) == ("", "")
    assert is_immutable(host, "/mnt/live")
    assert is_immutable(host, "/mnt/bare")
    assert [path for path in OURS if not host.path(path).exists()] == []
    assert postrm(host).stderr == ""
    assert not is_immutable(host, "/mnt/live")
    assert not is_immutable(host, "/mnt/bare")
    # Not the agent's own, and so not the package's: the administrator's file, and its folder.
    assert host.path(CONFIG).exists()


def test_no_link_is_followed(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    host = bare_agent.host
    paths = ["/mnt/link", "/mnt/below/deep"]
    mounted(bare_agent, shared_volume, *paths)
    removed(bare_agent)
    host.run(["mkdir", "-p", "/mnt/others/deep"])
    for path in paths:
        unmount(host, path)
        host.run(["chattr", "-i", path])
        host.run(["rmdir", path])
    host.run(["rmdir", "/mnt/below"])
    host.run(["chattr", "+i", "/mnt/others/deep"])
    host.run(["ln", "-s", "/mnt/others/deep", "/mnt/link"])
    host.run(["ln", "-s", "/mnt/others", "/mnt/below"])
    done = postrm(host)
    others = is_immutable(host, "/mnt/others/deep")
    host.run(["chattr", "-i", "/mnt/others/deep"])
    assert others
    assert "/mnt/below has become a symbolic link" in done.stderr
    assert "/mnt/link" not in done.stderr
    assert not host.path("/var/lib/gluster-ml").exists()


@pytest.mark.parametrize("client_reads", [False, True])
def test_what_hangs_on_the_way_to_a_directory_holds_nothing_up(
    cluster: Cluster, bare_agent: UnitAgent, shared_volume: Volume, *, client_reads: bool
) -> None:
    """The directory's parent is a mount by now. Who asks a client that reads can't be killed."""
    host = bare_agent.host
    mounted(bare_agent, shared_volume, "/mnt/on/way", "/mnt/free")
    removed(bare_agent)
    unmount(host, "/mnt/on/way")
    host.mount(f"node1:/{shared_volume.name}", "/mnt/on")
    frozen = faults.client_frozen(host, "/mnt/on")
    silent = [faults.silent(server) for server in cluster.servers]
    with ExitStack() as hanging:
        for fault in silent if client_reads else [frozen]:
            hanging.enter_context(fault)
        done = postrm(host)
        assert attempt(host, "listdir", "/mnt/on") == "hangs"
    assert re.findall("/mnt/on does not answer", done.stderr) == ["/mnt/on does not answer"]
    assert not host.path("/var/lib/gluster-ml").exists()
    host.await_io("/mnt/on")
    host.unmount("/mnt/on")
    assert is_immutable(host, "/mnt/on/way")
    assert not is_immutable(host, "/mnt/free")
    host.run(["chattr", "-i", "/mnt/on/way"])


def test_what_could_not_be_done_is_told_with_the_command_for_it(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    host = bare_agent.host
    mounted(bare_agent, shared_volume, "/mnt/live")
    removed(bare_agent)
    host.run(["mv", "/usr/bin/chattr", "/usr/bin/chattr.away"])
    try:
        done = postrm(host)
    finally:
        host.run(["mv", "/usr/bin/chattr.away", "/usr/bin/chattr"])
    assert "/mnt/live" in done.stderr
    assert "chattr: not found" in done.stderr
    assert not host.path("/var/lib/gluster-ml").exists()
    assert is_immutable(host, "/mnt/live")
    (command,) = re.findall(r"^ +(unshare .*)$", done.stderr, re.MULTILINE)
    host.run(["sh", "-c", command])
    assert not is_immutable(host, "/mnt/live")
    assert attempt(host, "write", "/mnt/live") == "ok"


def test_a_mount_in_one_of_our_directories_is_not_emptied(bare_agent: UnitAgent) -> None:
    host = bare_agent.host
    host.run(["mkdir", "-p", "/var/lib/gluster-ml/theirs"])
    host.run(["mount", "-t", "tmpfs", "none", "/var/lib/gluster-ml/theirs"])
    try:
        host.write("/var/lib/gluster-ml/theirs/data", "text")
        host.write("/var/lib/gluster-ml/last-good.yaml", "ours")
        done = postrm(host)
        assert "/var/lib/gluster-ml/theirs" in done.stderr
        assert host.read("/var/lib/gluster-ml/theirs/data") == "text"
        assert not host.path("/var/lib/gluster-ml/last-good.yaml").exists()
    finally:
        host.run(["umount", "/var/lib/gluster-ml/theirs"])


@pytest.mark.parametrize("verb", ["remove", "purge", "upgrade", "abort-install", "disappear"])
def test_on_a_host_where_the_agent_never_ran_nothing_is_said(shared_host: Host, verb: str) -> None:
    done = postrm(shared_host, verb)
    assert (done.stdout, done.stderr) == ("", "")


def test_it_is_a_script_for_debhelper() -> None:
    lines = Path(POSTRM).read_text().splitlines()
    assert lines[0] == "#!/bin/sh"
    assert "set -e" in lines
    assert lines.count("#DEBHELPER#") == 1

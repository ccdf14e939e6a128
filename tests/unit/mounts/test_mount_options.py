"""What mount.glusterfs is told; where it is installed, also what it really makes of it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.options_table import KNOWN, Choice, Flag, Number, Switch, Text
from agent.config.schema import MountConfig
from agent.mounts.options import fingerprint, render

HELPER = Path("/sbin/mount.glusterfs")
CLIENT = Path("/usr/sbin/glusterfs")


def mount(**changes: Any) -> MountConfig:
    keys = {"volume": "v", "servers": ["n1", "n2", "n3"], "path": "/mnt/a"}
    return MountConfig(**(keys | changes))


def test_source_and_backups() -> None:
    assert render(mount(), ["n2", "n1", "n3"]) == ("n2:/v", "backup-volfile-servers=n1:n3")
    assert render(mount(volume="v/a/b"), ["n1"]) == ("n1:/v/a/b", "")
    assert render(mount(), ["n1", "n2", "n1", "n2"]) == ("n1:/v", "backup-volfile-servers=n2")


def test_ipv6() -> None:
    servers = ["fd00::1", "fd00::2", "n1", "fe80::1%eth0"]
    assert render(mount(), servers) == ("fd00::1:/v", "backup-volfile-servers=[fd00::2]:n1")
    assert render(mount(), ["fe80::1%eth0"]) == ("fe80::1%eth0:/v", "")


def test_options_in_the_order_of_the_file() -> None:
    options = {
        "log-level": "warning",
        "acl": True,
        "ro": False,
        "use-readdirp": False,
        "entry-timeout": 0.25,
        "attribute-timeout": 600,
        "exec": False,
        "_netdev": True,
    }
    assert render(mount(options=options, port=24008), ["n1"])[1] == (
        "log-level=WARNING,acl,use-readdirp=no,entry-timeout=0.25,attribute-timeout=600,noexec,"
        "server-port=24008"
    )


def test_the_log_that_the_agent_chose() -> None:
    chosen = render(mount(options={"acl": True}), ["n1", "n2"], "/var/log/gluster-ml/a.log")[1]
    assert chosen == "acl,log-file=/var/log/gluster-ml/a.log,backup-volfile-servers=n2"


def test_fingerprint_is_of_what_demands_a_remount() -> None:
    base = fingerprint(mount(options={"acl": True, "lru-limit": 5}))
    same = [
        mount(options={"lru-limit": 5, "acl": True}),
        mount(options={"acl": True, "lru-limit": 5, "entry-timeout": 1, "log-level": "info"}),
        mount(options={"acl": True, "lru-limit": 5, "ro": False, "use-readdirp": True}),
        mount(options={"acl": True, "lru-limit": 5, "sync": True}, port=24007, guard=False),
        mount(options={"acl": True, "lru-limit": 5}, servers=["n9"], probe={"interval": "9s"}),
    ]
    assert {fingerprint(m) for m in same} == {base}
    other = [
        mount(options={"acl": True}),
        mount(options={"acl": True, "lru-limit": 6}),
        mount(options={"acl": True, "lru-limit": 5, "use-readdirp": False}),
        mount(options={"acl": True, "lru-limit": 5}, port=24008),
    ]
    assert len({base, *map(fingerprint, other)}) == 5


def sample(name: str) -> object:
    match KNOWN[name]:
        case Flag(opposite=opposite):
            return not opposite
        case Switch(default=default):
            return not default
        case Number(high=high):
            return high
        case Choice(words=words):
            return words[-1]
        case Text(like=like):
            return like


@given(st.dictionaries(st.sampled_from(sorted(KNOWN)), st.just(None)))
def test_no_option_splits_the_list(names: dict[str, None]) -> None:
    names = {name: None for name in names if not name.startswith("no") or name == "noatime"}
    options = {name: sample(name) for name in names}
    text = render(mount(options=options), ["n1"])[1]
    assert len(text.split(",")) == max(1, len(mount(options=options).options))
    assert not set(text) & set(" \t\n\\\"'`$;&|<>(){}?!#")


@pytest.fixture
def helper(tmp_path: Path) -> Path:
    """A copy of the installed helper that runs a recorder in the place of glusterfs."""
    if not HELPER.exists():
        pytest.skip("mount.glusterfs is not installed")
    recorder = tmp_path / "recorder"
    recorder.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/said\n')
    recorder.chmod(0o755)
    text = HELPER.read_text()
    real = 'cmd_line=$(echo "${exec_prefix}/sbin/glusterfs");'
    assert real in text
    text = text.replace(real, f'cmd_line="{recorder}";')
    text = text.replace("UPDATEDBCONF=/etc/updatedb.conf", "UPDATEDBCONF=/nonexistent")
    copy = tmp_path / "mount.glusterfs"
    copy.write_text(text)
    (tmp_path / "mnt").mkdir()
    return copy


def told(helper: Path, source: str, options: str) -> list[str]:
    """The arguments that glusterfs gets."""
    result = subprocess.run(
        ["sh", str(helper), source, str(helper.parent / "mnt"), "-o", options or "rw"],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return (helper.parent / "said").read_text().splitlines()


def test_the_helper_understands_servers(helper: Path) -> None:
    for servers, expected in (
        (["n1", "n2"], ["n1", "n2"]),
        (["fd00::1", "fd00::2", "n1"], ["fd00::1", "fd00::2", "n1"]),
        (["fe80::1%eth0", "fd00::2"], ["fe80::1%eth0", "fd00::2"]),
        (["10.0.0.1", "n_2.example.org", "n" * 63], ["10.0.0.1", "n_2.example.org", "n" * 63]),
    ):
        said = told(helper, *render(mount(volume="v/a/b", port=24008), servers))
        given_ = [arg.partition("=")[2] for arg in said if arg.startswith("--volfile-server=")]
        assert given_ == expected
        assert "--volfile-server-port=24008" in said
        assert "--volfile-id=/v" in said
        assert "--subdir-mount=/a/b" in said


def test_the_helper_passes_the_log_on(helper: Path) -> None:
    log = f"/var/log/gluster-ml/{'aZ0._-'.ljust(64, 'x')}.log"
    assert f"--log-file={log}" in told(helper, *render(mount(), ["n1", "n2"], log))


def test_why_a_zone_is_no_backup(helper: Path) -> None:
    """The helper's awk takes the % for a format and dies: all later servers are lost."""
    result = subprocess.run(
        [
            "sh",
            str(helper),
            "n1:/v",
            str(helper.parent / "mnt"),
            "-o",
            "backup-volfile-servers=[fe80::1%eth0]:n2",
        ],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = (helper.parent / "said").read_text() if result.returncode == 0 else ""
    assert "n2" not in said


NEEDS_A_SERVER = {"global-threading", "thin-client"}
"""Where there is no server, 10.3 never ends with the one and crashes with the other."""


@pytest.mark.parametrize("name", sorted(set(KNOWN) - {"inode-table-size"}))  # GlusterFS 11
def test_every_option_is_understood_by_helper_and_client(helper: Path, name: str) -> None:
    said = told(helper, *render(mount(options={name: sample(name)}), ["n1"]))
    assert said[-1] == str(helper.parent / "mnt")
    if name not in NEEDS_A_SERVER and CLIENT.exists():
        understood_by_client(helper.parent, said[:-1])


def understood_by_client(folder: Path, said: list[str]) -> None:
    arguments = [arg for arg in said if not arg.startswith(("--volfile-server", "--volfile-id"))]
    arguments = [arg.replace("/var/log/glusterfs", str(folder)) for arg in arguments]
    # No mount point and no volfile: it reads its arguments and ends, and nothing can be mounted.
    command = [str(CLIENT), "--no-daemon", "--volfile=/nonexistent/volfile", *arguments]
    result = subprocess.run(
        [*command, f"--log-file={folder}/log"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.stderr == ""
    assert result.returncode not in {0, 64, 255}  # 64 and 255: it did not like its arguments


def test_the_client_tells_of_a_bad_argument() -> None:
    """That the test above can fail: the way in which the client refuses."""
    if not CLIENT.exists():
        pytest.skip("glusterfs is not installed")
    for argument, status in (("--mem-accounting", 64), ("--lru-limit=1.5", 255)):
        command = [str(CLIENT), "--no-daemon", "--volfile=/nonexistent/volfile", argument]
        result = subprocess.run(command, capture_output=True, timeout=120, check=False)
        assert result.returncode == status
        assert result.stderr

"""Where a path leads, told by the table of mounts and by links outside of these."""

import os
from pathlib import Path

import pytest

from agent.model.mount import MountEntry
from agent.system.links import mount_on_the_way


def entry(path: Path | str, fstype: str = "fuse.glusterfs") -> MountEntry:
    return MountEntry(1, 0, 0, 42, "/", str(path), "rw", fstype, "source", "rw")


@pytest.fixture
def trail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every path that is looked at."""
    seen: list[str] = []
    readlink = os.readlink

    def recorded(path: str) -> str:
        seen.append(path)
        return readlink(path)

    monkeypatch.setattr(os, "readlink", recorded)
    return seen


@pytest.mark.parametrize(
    "link",
    [
        {"etc/agent.yaml": "{root}/mnt/a/conf/agent.yaml"},
        {"etc/agent.yaml": "../mnt/a/agent.yaml"},
        {"etc": "mnt/a/conf"},
        {"etc": "srv", "srv": "./mnt/./a"},
        {"etc/agent.yaml": "{root}/srv/../mnt//a/agent.yaml"},
        {"etc": "sub/deep", "sub/deep": "../x/..//mnt/a"},
    ],
)
@pytest.mark.parametrize("fstype", ["fuse.glusterfs", "nfs4"])
def test_a_link_onto_a_mount_is_found_and_the_mount_not_asked(
    tmp_path: Path, trail: list[str], link: dict[str, str], fstype: str
) -> None:
    mount = tmp_path / "mnt/a"
    for name, target in link.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target.format(root=tmp_path))
    table = [entry("/", "ext4"), entry(mount, fstype)]
    assert mount_on_the_way(f"{tmp_path}/etc/agent.yaml", table) == str(mount)
    assert [path for path in trail if path.startswith(str(mount))] == []


def test_the_path_itself_may_be_on_the_mount(tmp_path: Path, trail: list[str]) -> None:
    assert mount_on_the_way(f"{tmp_path}/a/b/c", [entry(tmp_path / "a")]) == f"{tmp_path}/a"
    assert mount_on_the_way(f"{tmp_path}/a", [entry(tmp_path / "a")]) == f"{tmp_path}/a"


def test_local_disks_and_a_root_on_the_network_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("")
    (tmp_path / "link").symlink_to("agent.yaml")
    table = [entry("/", "nfs4"), entry(tmp_path, "xfs"), entry("/mnt/a"), entry(f"{tmp_path}/x")]
    for name in ("agent.yaml", "link", "none", "xy", "a\0b", "n" * 300):
        assert mount_on_the_way(f"{tmp_path}/{name}", table) == ""


def test_links_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert mount_on_the_way(f"{tmp_path}/a/x", [entry("/mnt/a")]) == ""


def test_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert mount_on_the_way("a/agent.yaml", [entry(tmp_path / "a")]) == f"{tmp_path}/a"
    assert mount_on_the_way("agent.yaml", [entry(tmp_path / "a")]) == ""

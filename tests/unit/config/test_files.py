"""Reading the file, whatever stands in its place; the last good copy."""

import os
import socket
import stat
from pathlib import Path

import pytest

from agent.config import files, lastgood
from agent.config.problems import ConfigInvalid, ConfigUnreadable
from agent.config.tree import MAX_BYTES

SHIPPED = Path(__file__).parents[3] / "etc/gluster-ml/agent.yaml"


def said(path: Path) -> str:
    with pytest.raises(ConfigUnreadable) as caught:
        files.read_file(str(path))
    (line,) = caught.value.lines
    assert line.startswith(f"{path}: ")
    return line.removeprefix(f"{path}: ")


def test_whatever_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    assert said(path) == "is not there"
    os.mkfifo(path)
    assert said(path) == "is a named pipe, not a file"
    path.unlink()
    path.mkdir()
    assert said(path) == "is a directory, not a file"
    assert said(path / "x" / "y") == "is not there"
    path.rmdir()
    path.symlink_to(path)
    assert said(path) == "can't be opened: ELOOP (Too many levels of symbolic links)"
    path.unlink()
    path.symlink_to("/dev/zero")
    assert said(path) == "is a device, not a file"
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        assert said(path).startswith("can't be opened: ENXIO")
    path.unlink()
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    assert said(path) == "is larger than 1024 KiB"
    path.write_bytes(b"#" * MAX_BYTES)
    assert len(files.read_file(str(path))) == MAX_BYTES


def test_a_name_that_is_none(tmp_path: Path) -> None:
    assert said(tmp_path / "a\0b") == "can't be opened: the path is not one"
    assert said(tmp_path / ("a" * 300)) == "can't be opened: ENAMETOOLONG (File name too long)"


def test_the_shipped_file_is_valid_and_idle() -> None:
    loaded = files.load_file(str(SHIPPED), mount_table=())
    assert loaded.config.mounts == {}
    assert loaded.warnings == ()


def test_the_example_in_the_shipped_file_is_valid(tmp_path: Path) -> None:
    text = SHIPPED.read_text()
    head, example = text.split("mounts: {}\n")
    path = tmp_path / "agent.yaml"
    path.write_text(head + "\n".join(line.removeprefix("#") for line in example.split("\n")))
    loaded = files.load_file(str(path), mount_table=())
    assert loaded.warnings == ()
    (share,) = loaded.config.mounts.values()
    assert share.path == "/mnt/model-share"


def test_real_directories(tmp_path: Path) -> None:
    """tmp_path is below /tmp, which everybody can write to."""
    path = tmp_path / "agent.yaml"
    path.write_text(f"mounts: {{m: {{volume: v, servers: [n], path: {tmp_path}/mnt}}}}\n")
    with pytest.raises(ConfigInvalid, match="others than root can write to"):
        files.load_file(str(path), mount_table=())


def test_the_real_lstat(tmp_path: Path) -> None:
    assert files.lstat(str(tmp_path / "none")) is None
    (tmp_path / "file").touch()
    assert files.lstat(str(tmp_path / "file/below")) is None
    (tmp_path / "link").symlink_to("file")
    facts = files.lstat(str(tmp_path / "link"))
    assert facts is not None
    assert stat.S_ISLNK(facts.mode)


GOOD = b"mounts: {}\n# note\n"


def test_last_good_comes_back(tmp_path: Path) -> None:
    lastgood.save(str(tmp_path), GOOD)
    path = Path(lastgood.path_in(str(tmp_path)))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert lastgood.restore(str(tmp_path), mount_table=()).config.mounts == {}
    before = path.stat().st_ino
    lastgood.save(str(tmp_path), GOOD)
    assert path.stat().st_ino == before
    lastgood.save(str(tmp_path), GOOD + b"health: {log_level: debug}\n")
    restored = lastgood.restore(str(tmp_path), mount_table=())
    assert restored.config.health.log_level == "debug"
    assert os.listdir(tmp_path) == [path.name]


def test_last_good_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigUnreadable, match="is not there"):
        lastgood.restore(str(tmp_path), mount_table=())


def test_damage_anywhere_is_found(tmp_path: Path) -> None:
    lastgood.save(str(tmp_path), GOOD)
    path = Path(lastgood.path_in(str(tmp_path)))
    content = path.read_bytes()
    damaged = [content[:end] for end in range(len(content))]
    damaged += [content[:i] + b"~" + content[i + 1 :] for i in range(len(content))]
    damaged += [content + b"\n", GOOD]
    for bad in damaged:
        path.write_bytes(bad)
        with pytest.raises(ConfigUnreadable, match="is damaged"):
            lastgood.restore(str(tmp_path), mount_table=())


def test_last_good_replaces_damage_links_and_leftovers(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("keep")
    state = tmp_path / "state"
    state.mkdir()
    Path(lastgood.path_in(str(state))).symlink_to(victim)
    Path(f"{state}/.last-good.yaml.{os.getpid()}").symlink_to(victim)
    lastgood.save(str(state), GOOD)
    assert victim.read_text() == "keep"
    assert lastgood.restore(str(state), mount_table=()).config.mounts == {}


def test_last_good_that_a_newer_rule_refuses(tmp_path: Path) -> None:
    lastgood.save(str(tmp_path), b"mounts: {}\nfoo: 1\n")
    with pytest.raises(ConfigInvalid) as caught:
        lastgood.restore(str(tmp_path), mount_table=())
    assert caught.value.problems[0].line == 3  # of the file that is named, with its first line


def test_a_full_disk_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lastgood.save(str(tmp_path), GOOD)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            lastgood.save(str(tmp_path), GOOD * 2)
    assert lastgood.restore(str(tmp_path), mount_table=()).config.mounts == {}
    assert os.listdir(tmp_path) == ["last-good.yaml"]


def test_a_mount_that_came_since_the_table_was_read_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What can hang is told from what can't by its type; here that of the test's own directory."""
    found = files.lstat(str(tmp_path))
    assert found is not None
    assert stat.S_ISDIR(found.mode)
    asked: list[int] = []

    def refuse(descriptor: int) -> os.stat_result:
        asked.append(descriptor)
        raise AssertionError("fstat can hang")

    own_mount = next(path for path in ("/dev/shm", "/proc", "/sys") if os.path.ismount(path))
    with monkeypatch.context() as patch:
        patch.setattr(files, "can_hang", lambda _: True)
        patch.setattr("agent.config.files.os.fstat", refuse)
        assert files.lstat(own_mount) is None
    assert asked == []


def test_a_link_is_seen_as_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    found = files.lstat(str(tmp_path / "link"))
    assert found is not None
    assert stat.S_ISLNK(found.mode)
    assert files.lstat(str(tmp_path / "link" / "below")) is None
    assert files.lstat(str(tmp_path / "missing")) is None

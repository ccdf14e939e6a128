"""The client's log, whatever lies at its path."""

import os
from pathlib import Path

import pytest

from agent.mounts import clientlog
from agent.mounts.clientlog import ClientLog, choose
from tests.unit.mounts.world import config


@pytest.fixture
def glusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What /var/log/glusterfs is."""
    directory = tmp_path / "glusterfs"
    directory.mkdir()
    monkeypatch.setattr(clientlog, "GLUSTER_DIR", directory)
    return directory


@pytest.mark.parametrize("kind", ["missing", "directory", "pipe", "link"])
def test_what_is_no_file_says_nothing(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "mnt-a.log"
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/etc/passwd")
    assert clientlog.tail(path, 0) == ""


def test_only_what_was_appended_is_read_also_after_a_rotation(tmp_path: Path) -> None:
    path = tmp_path / "mnt-a.log"
    path.write_text("old\n")
    since = clientlog.position(path)
    with path.open("a") as file:
        file.write("new\n")
    assert clientlog.tail(path, since) == "new\n"
    path.write_text("x\n")
    assert clientlog.tail(path, since) == "x\n"


def test_the_directory_is_made_for_everybody_to_read_and_root_to_write(tmp_path: Path) -> None:
    umask = os.umask(0o077)
    try:
        log = choose(tmp_path / "gluster-ml", "a.b", config())
    finally:
        os.umask(umask)
    path = tmp_path / "gluster-ml/a.b.log"
    assert log == ClientLog(path, str(path))
    assert path.parent.stat().st_mode & 0o7777 == 0o755
    assert path.read_text() == ""


def test_what_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    (tmp_path / "a.log").write_text("old\n")
    assert choose(tmp_path, "a", config()).trouble == ""
    assert tmp_path.stat().st_mode & 0o777 == 0o750
    assert (tmp_path / "a.log").read_text() == "old\n"


def test_a_log_that_the_file_names_is_the_operators(tmp_path: Path) -> None:
    named = config(options={"log-file": "/srv/logs/a.log"})
    assert choose(tmp_path / "gluster-ml", "a", named) == ClientLog(Path("/srv/logs/a.log"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("no parent", "No such file or directory"),
        ("file", "no directory"),
        ("link", "no directory"),
        ("open to others", "others than root can write"),
        ("log is a directory", "Is a directory"),
        ("log is a link", "Too many levels of symbolic links"),
        ("log is a pipe", "No such device or address"),
        ("log is a pipe that is read", "it is no file"),
    ],
)
def test_what_can_not_be_written_makes_way_for_the_clients_own(
    tmp_path: Path, glusters: Path, kind: str, why: str, request: pytest.FixtureRequest
) -> None:
    directory = tmp_path / "gluster-ml"
    path = directory / "a.log"
    match kind:
        case "no parent":
            directory = tmp_path / "none/gluster-ml"
            path = directory / "a.log"
        case "file":
            directory.write_text("")
        case "link":
            directory.symlink_to(glusters)
        case _:
            directory.mkdir()
    match kind:
        case "open to others":
            directory.chmod(0o777)
        case "log is a directory":
            path.mkdir()
        case "log is a link":
            path.symlink_to(tmp_path / "elsewhere")
        case "log is a pipe":
            os.mkfifo(path)
        case "log is a pipe that is read":
            os.mkfifo(path)
            reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            request.addfinalizer(lambda: os.close(reader))
    log = choose(directory, "a", config())
    own = glusters / "mnt-a.log"
    assert (log.path, log.option) == (own, "")
    assert str(path) in log.trouble
    assert why in log.trouble
    assert log.trouble.endswith(f"logs to {own}")
    assert not (tmp_path / "elsewhere").exists()


def test_with_no_log_at_all_the_mount_is_made_all_the_same(tmp_path: Path, glusters: Path) -> None:
    (tmp_path / "gluster-ml").write_text("")
    (glusters / "mnt-a.log").mkdir()
    log = choose(tmp_path / "gluster-ml", "a", config())
    assert (log.path, log.option) == (Path("/dev/null"), "/dev/null")

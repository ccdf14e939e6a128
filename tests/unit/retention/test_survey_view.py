"""Directories as recognisers see them, by descriptors."""

import os
import time
from pathlib import Path

import pytest

from agent.retention.view import DIRECTORY, FILE, LINK, OTHER, UnreadableError
from agent.worker import place, statx, whole
from agent.worker.view import Directory, opened
from tests.unit.retention.disk import grow
from tests.unit.retention.trees import ODD, Link, Sized


@pytest.fixture
def view(tmp_path: Path) -> Directory:
    tree = {
        "file": b"0123456789",
        "empty": b"",
        "large": Sized(1 << 20, b"begin"),
        "link": Link("file"),
        "odd": ODD,
        "dir": {"inner": b"x"},
        "dirlink": Link("dir"),
    }
    return view_of(grow(tmp_path / "tree", tree))


def view_of(path: Path) -> Directory:
    descriptor = place.open_path(str(path))
    try:
        return opened(descriptor, "")
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("listed", [False, True])
def test_every_question(view: Directory, listed: bool) -> None:
    if listed:
        kinds = {entry.name: entry.kind for entry in view.entries().values()}
        assert kinds == {
            "file": FILE,
            "empty": FILE,
            "large": FILE,
            "link": LINK,
            "odd": OTHER,
            "dir": DIRECTORY,
            "dirlink": LINK,
        }
    assert [view.size(n) for n in ("file", "empty", "link", "dir", "none")] == [
        10,
        0,
        None,
        None,
        None,
    ]
    assert view.read("file") == b"0123456789"
    assert (view.read("empty"), view.read("none")) == (b"", None)
    assert (view.head("file", 3), view.head("none", 3), view.head("link", 3)) == (
        b"012",
        None,
        None,
    )
    assert (view.tail("file", 3), view.tail("file", 99)) == (b"789", b"0123456789")
    assert (view.head("large", 5), view.tail("large", 2)) == (b"begin", b"\0\0")
    assert (view.target("link"), view.target("file"), view.target("none")) == ("file", None, None)
    assert (view.below("dirlink"), view.below("file"), view.below("none")) == (None, None, None)
    below = view.below("dir")
    assert below is not None
    assert below.read("inner") == b"x"
    for name, limit in (("file", 9), ("large", 1 << 10), ("dir", 99), ("link", 99), ("odd", 99)):
        with pytest.raises(UnreadableError):
            view.read(name, limit)
    assert view.read("file", 10) == b"0123456789"


def test_each_question_is_asked_once(view: Directory, tmp_path: Path) -> None:
    assert view.read("file") == b"0123456789"
    assert len(view.entries()) == 7
    (tmp_path / "tree/file").write_bytes(b"another")
    (tmp_path / "tree/new").touch()
    assert view.read("file") == b"0123456789"
    assert "new" not in view.entries()


def test_forks_meet_things_by_themselves(tmp_path: Path) -> None:
    grow(tmp_path, {"a": {"x": b"1"}, "tracker": b"1"}, age=1000)
    new = time.time()
    (tmp_path / "tracker").write_bytes(b"2")
    fork = view_of(tmp_path).fork("a")
    inside = fork.below("a")
    assert inside is not None
    assert (inside.read("x"), fork.read("tracker")) == (b"1", b"2")
    assert 0 < fork.seen.newest / 1e9 < new - 900  # a run's own files say nothing of the checkpoint


def test_what_rests_is_found_again_unless_it_was_exchanged(tmp_path: Path) -> None:
    grow(tmp_path, {"a": {"x": b"1", "y": b"2"}})
    view = view_of(tmp_path)
    inside = view.below("a")
    assert inside is not None
    assert inside.read("x") == b"1"
    before = len(os.listdir("/proc/self/fd"))
    view.keep("a", inside)
    assert len(os.listdir("/proc/self/fd")) == before - 1
    assert inside.read("x") == b"1"
    assert inside.read("y") == b"2"
    inside.rest()
    (tmp_path / "a").rename(tmp_path / "b")
    grow(tmp_path, {"a": {"x": b"another", "z": b"3"}})
    assert inside.read("x") == b"1"
    with pytest.raises(UnreadableError, match="replaced"):
        inside.read("z")


def test_nothing_stays_open(tmp_path: Path) -> None:
    grow(tmp_path, {"a": {"b": {"c": b"1"}}})
    before = os.listdir("/proc/self/fd")
    view = view_of(tmp_path)
    for _ in range(3):
        fork = view.fork("a")
        a = fork.below("a")
        assert a is not None
        b = a.below("b")
        assert b is not None
        b.entries()
        b.head("c", 1)
        fork.close()
    view.close()
    assert os.listdir("/proc/self/fd") == before


def test_statx_says_what_stat_says(tmp_path: Path) -> None:
    grow(tmp_path, {"file": b"12345", "link": Link("file"), "dir": {}})
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        for name in ("file", "link", "dir"):
            found = statx.at(here, name)
            known = os.stat(name, dir_fd=here, follow_symlinks=False)
            assert (found.inode, found.mode, found.size) == (
                known.st_ino,
                known.st_mode,
                known.st_size,
            )
            assert (found.mtime, found.ctime) == (known.st_mtime_ns, known.st_ctime_ns)
            assert (found.uid, found.gid, found.links) == (
                known.st_uid,
                known.st_gid,
                known.st_nlink,
            )
            assert found.allocated == known.st_blocks * 512
        assert statx.of(here).mount == place.mount_id(here)
        with pytest.raises(FileNotFoundError):
            statx.at(here, "none")
    finally:
        os.close(here)


def test_a_fingerprint_is_of_all_and_survives_a_rename(tmp_path: Path) -> None:
    grow(tmp_path, {"run": {"c": {"x": b"1", "d": {"y": b"2"}}, "c-state": {"z": b"3"}}, "to": {}})
    names = ("c", "c-state")
    run, to = (os.open(tmp_path / name, os.O_RDONLY) for name in ("run", "to"))
    try:
        first, lasting = whole.fingerprints(run, names)
        assert whole.fingerprints(run, names) == (first, lasting)
        for name in names:
            os.rename(tmp_path / "run" / name, tmp_path / "to" / name)
        moved = whole.fingerprints(to, names)
        assert moved[0] != first
        assert moved[1] == lasting
        os.utime(tmp_path / "to/c/d/y", (1, 1))
        assert whole.fingerprints(to, names)[1] != lasting
        with pytest.raises(FileNotFoundError):
            whole.fingerprints(run, names)
    finally:
        os.close(run)
        os.close(to)


def test_hard_links_are_counted_once_and_the_newest_is_of_all(tmp_path: Path) -> None:
    grow(tmp_path, {"c": {"a": b"1" * 5000, "deep": {"x": b""}}}, age=5000)
    os.link(tmp_path / "c/a", tmp_path / "c/b")
    run = os.open(tmp_path, os.O_RDONLY)
    try:
        found = whole.look(run, ["c"])
        known = sum((tmp_path / p).lstat().st_blocks for p in ("c", "c/a", "c/deep", "c/deep/x"))
        assert found.size == known * 512
        os.utime(tmp_path / "c/deep/x", (2e9, 2e9))
        assert whole.look(run, ["c"], threads=2).newest == 2e9
    finally:
        os.close(run)

"""The walk over a tree: in its order, with several directories at work at a time."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.worker import tree

PATIENCE = 30


class Watcher(tree.Visitor):
    """What a walk calls, in its order."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.reached_paths: list[str] = []

    def directory(self, descriptor: int, path: str) -> None:
        assert os.fstat(descriptor)
        self.seen.append(path)

    def batch(self, descriptor: int, names: list[str], path: str) -> None:
        for name in names:
            assert os.stat(name, dir_fd=descriptor)
            self.seen.append(os.path.join(path, name))

    def reached(self, path: str) -> None:
        self.reached_paths.append(path)

    def odd(self, path: str, error: OSError) -> None:
        raise AssertionError(path) from error


@pytest.fixture
def top(tmp_path: Path) -> Iterator[int]:
    """Directories a, b and c of 40 files each, and c/d of one."""
    for folder in ("a", "b", "c", "c/d"):
        (tmp_path / folder).mkdir()
    for number in range(40):
        for folder in ("a", "b", "c"):
            (tmp_path / folder / f"f{number}").touch()
    (tmp_path / "c/d/file").touch()
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def files_open() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("threads", [0, 1, 8])
def test_each_name_once_and_nothing_left_open(top: int, threads: int) -> None:
    before = files_open()
    watcher = Watcher()
    tree.walk(top, watcher, skip=frozenset({"b"}), threads=threads)
    folders = ["", "a", "c", "c/d"]
    files = [f"{folder}/f{number}" for folder in ("a", "c") for number in range(40)]
    assert sorted(watcher.seen) == sorted([*folders, *files, "c/d/file"])
    assert files_open() == before
    assert threading.active_count() == 1


def test_without_threads_one_directory_after_the_other(top: int) -> None:
    watcher = Watcher()
    tree.walk(top, watcher, skip=frozenset(), threads=0)
    assert watcher.reached_paths == ["", "a", "b", "c", "c/d"]


def test_a_slow_file_holds_up_the_place_and_nobody_else(top: int) -> None:
    """A place in the walk is told only when nothing before it is left to be done."""

    class Slow(Watcher):
        deeper = threading.Event()

        def batch(self, descriptor: int, names: list[str], path: str) -> None:
            if path == "a" and "f0" in names:
                assert self.deeper.wait(PATIENCE), "c/d waits for a"
                assert self.reached_paths[-1] == "a"
            super().batch(descriptor, names, path)
            if path == "c/d":
                self.deeper.set()

    watcher = Slow()
    tree.walk(top, watcher, skip=frozenset(), threads=2)
    assert watcher.seen.index("c/d/file") < watcher.seen.index("a/f0")


@pytest.mark.parametrize("threads", [0, 1, 8])
def test_a_bug_in_any_thread_ends_the_walk(top: int, threads: int) -> None:
    class Buggy(Watcher):
        def batch(self, descriptor: int, names: list[str], path: str) -> None:
            if "f1" in names:
                raise LookupError(path)
            super().batch(descriptor, names, path)

    before = files_open()
    with pytest.raises(LookupError):
        tree.walk(top, Buggy(), skip=frozenset(), threads=threads)
    assert threading.active_count() == 1
    assert files_open() == before

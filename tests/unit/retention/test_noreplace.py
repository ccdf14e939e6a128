"""Renames that replace nothing, on a file system that can do so at once, and the longer way."""

import os
from pathlib import Path
from typing import Any

import pytest

from agent.worker import noreplace
from tests.unit.retention.trash_world import content


@pytest.fixture(params=["at once", "the longer way"], autouse=True)
def flags(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param != "at once":  # a flag that no kernel knows: EINVAL, as on GlusterFS
        monkeypatch.setattr(noreplace, "_RENAME_NOREPLACE", 1 << 20)
    return str(request.param)


class Two:
    """Two directories, the first with an `old` of some kind."""

    def __init__(self, top: Path, kind: str) -> None:
        self.source, self.target = top / "source", top / "target"
        self.source.mkdir()
        self.target.mkdir()
        make(self.source / "old", kind)
        self.before = content(self.source / "old")
        self._descriptors = [os.open(path, os.O_PATH) for path in (self.source, self.target)]

    def rename(self) -> None:
        noreplace.rename(self._descriptors[0], "old", self._descriptors[1], "new", true_view=True)

    def is_free(self) -> bool:
        return noreplace.is_free(self._descriptors[0], "old", self._descriptors[1], "new")

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)


def make(path: Path, kind: str) -> None:
    match kind:
        case "file":
            path.write_bytes(path.name.encode())
        case "link":
            path.symlink_to(path.name)
        case "empty":
            path.mkdir()
        case "directory":
            path.mkdir()
            (path / "file").write_bytes(path.name.encode())


KINDS = ["file", "link", "empty", "directory"]


@pytest.mark.parametrize("kind", KINDS)
def test_to_a_free_name(tmp_path: Path, kind: str) -> None:
    two = Two(tmp_path, kind)
    assert two.is_free()
    inode = (two.source / "old").lstat().st_ino
    two.rename()
    assert content(two.target / "new") == two.before
    assert (two.target / "new").lstat().st_ino == inode
    assert os.listdir(two.source) == []
    two.close()


@pytest.mark.parametrize("there", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_to_a_name_that_is_taken(tmp_path: Path, kind: str, there: str) -> None:
    two = Two(tmp_path, kind)
    make(two.target / "new", there)
    kept, inode = content(two.target / "new"), (two.target / "new").lstat().st_ino
    assert not two.is_free()
    with pytest.raises(FileExistsError):
        two.rename()
    assert (content(two.target / "new"), (two.target / "new").lstat().st_ino) == (kept, inode)
    assert content(two.source / "old") == two.before
    two.close()


def test_broken_off_it_is_completed(tmp_path: Path, flags: str) -> None:
    for kind in ("file", "directory"):
        (tmp_path / kind).mkdir()
        two = Two(tmp_path / kind, kind)
        if kind == "file":
            os.link(two.source / "old", two.target / "new")
        else:
            (two.target / "new").mkdir(0o700)
            (two.target / "new").chmod(0o1700)
        assert two.is_free()
        if flags == "at once":
            with pytest.raises(FileExistsError):
                two.rename()
        else:
            two.rename()
            assert content(two.target / "new") == two.before
            assert os.listdir(two.source) == []
        two.close()


def test_what_is_not_there(tmp_path: Path) -> None:
    two = Two(tmp_path, "file")
    (two.source / "old").unlink()
    with pytest.raises(FileNotFoundError):
        two.rename()
    assert os.listdir(two.target) == []
    two.close()


def test_what_a_second_one_is_faster_with(
    tmp_path: Path, flags: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leaves nothing at the place that it would have had."""
    if flags == "at once":
        return
    two = Two(tmp_path, "directory")
    mkdir = os.mkdir

    def faster(*arguments: Any, **more: Any) -> None:
        mkdir(*arguments, **more)
        (two.source / "old").rename(tmp_path / "aside")

    monkeypatch.setattr(os, "mkdir", faster)
    with pytest.raises(FileNotFoundError):
        two.rename()
    assert os.listdir(two.target) == []
    two.close()

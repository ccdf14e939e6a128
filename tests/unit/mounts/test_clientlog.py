"""The client's log, whatever lies at its path."""

import os
from pathlib import Path

import pytest

from agent.mounts import clientlog


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

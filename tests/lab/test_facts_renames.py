"""What a rename does on a GlusterFS volume; "Renames" in docs/gluster-facts.md."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from .client import Client
from .volume import Volume

M, OTHER = "/mnt/a", "/mnt/b"

ABOUT = """
import errno, json, os, sys
os.chdir(sys.argv[1])
told = {}
def number(path):
    return os.lstat(path).st_ino
def tried(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "ok"
"""


@pytest.fixture(params=["replicate", "distribute-replicate"])
def mounted(
    request: pytest.FixtureRequest, make_volume: Callable[..., Volume], client: Client
) -> Client:
    """A client with the volume mounted twice: the second one sees what is there."""
    shapes: dict[str, dict[str, int]] = {
        "replicate": {"replica": 3},
        "distribute-replicate": {"replica": 3, "bricks": 6},
    }
    volume = make_volume(**shapes[request.param])
    client.mount(f"node1:/{volume.name}", M)
    uncached = ["entry-timeout=0", "attribute-timeout=0", "negative-timeout=0"]
    uncached.append(f"xlator-option={volume.name}-md-cache.md-cache-timeout=0")
    client.mount(f"node2:/{volume.name}", OTHER, uncached)
    return client


def told(client: Client, code: str) -> dict[str, Any]:
    argv = ["/usr/bin/python3", "-I", "-S", "-c", ABOUT + code + "\nprint(json.dumps(told))", M]
    found: dict[str, Any] = json.loads(client.run(argv).stdout)
    return found


MOVED = """
os.makedirs("run/checkpoint-1/inner"); os.makedirs("trash/entry")
for i in range(20):
    open(f"run/checkpoint-1/{i}", "w").write("x" * 1000)
    open(f"run/checkpoint-1/inner/{i}", "w").write("x")
open("run/file", "w").write("weights"); os.symlink("checkpoint-1", "run/link")
paths = ["", "/inner", *(f"/{i}" for i in range(20)), *(f"/inner/{i}" for i in range(20))]
def states(top):
    return [
        (s.st_ino, s.st_mtime_ns, s.st_ctime_ns) for s in (os.lstat(top + p) for p in paths)
    ]
before = states("run/checkpoint-1")
inodes = [number(f"run/{name}") for name in ("checkpoint-1", "file", "link")]
for name in ("checkpoint-1", "file", "link"):
    os.rename(f"run/{name}", f"trash/entry/{name}")
after = states("trash/entry/checkpoint-1")
told["inodes"] = inodes == [number(f"trash/entry/{n}") for n in ("checkpoint-1", "file", "link")]
told["below"] = before[1:] == after[1:]
told["top"] = [a == b for a, b in zip(before[0], after[0])]
told["left"] = os.listdir("run")
"""


def test_a_rename_to_another_directory_keeps_inodes_and_times(mounted: Client) -> None:
    found = told(mounted, MOVED)
    assert found["inodes"], "of a directory, a file and a link"
    assert found["below"], "inode, mtime and ctime of all in the directory"
    assert found["top"] == [True, True, False], "its own ctime is the moment of the rename"
    assert found["left"] == []
    there = mounted.run(["ls", f"{OTHER}/trash/entry/checkpoint-1"]).stdout.split()
    assert len(there) == 21, "another client sees it whole"
    assert mounted.run(["ls", f"{OTHER}/run"]).stdout == ""


WRITTEN = """
os.makedirs("run/checkpoint-1"); os.makedirs("trash")
here = os.open("run", os.O_RDONLY)
file = open("run/checkpoint-1/file", "w"); file.write("before "); file.flush()
os.rename("run/checkpoint-1", "trash/checkpoint-1")
file.write("after"); file.flush(); os.fsync(file.fileno())
told["read"] = open("trash/checkpoint-1/file").read()
told["inode"] = os.fstat(file.fileno()).st_ino == number("trash/checkpoint-1/file")
told["again"] = tried(os.makedirs, "run/checkpoint-1"), os.listdir("run/checkpoint-1")
os.rename("run", "moved")
told["by descriptor"] = tried(lambda: os.mkdir("made", dir_fd=here)), os.listdir("moved")
"""


def test_who_has_a_file_open_writes_on_where_it_was_moved_to(mounted: Client) -> None:
    found = told(mounted, WRITTEN)
    assert (found["read"], found["inode"]) == ("before after", True)
    assert found["again"] == ["ok", []], "the name is free at once"
    assert found["by descriptor"][0] == "ok", "and a directory's descriptor goes with it"
    assert sorted(found["by descriptor"][1]) == ["checkpoint-1", "made"]


ONTO = """
os.makedirs("trash/checkpoint-1/inner"); open("trash/checkpoint-1/file", "w").write("kept")
inode = number("trash/checkpoint-1")
os.makedirs("run/empty"); os.chmod("run/empty", 0o1700)
open("run/file", "w").close(); os.symlink("empty", "run/link")
told["file"] = tried(os.rename, "trash/checkpoint-1", "run/file")
told["link"] = tried(os.rename, "trash/checkpoint-1", "run/link")
results = set()
for i in range(12):  # on a distribute volume each file lies on another brick
    os.mkdir(f"run/full{i}"); open(f"run/full{i}/{i}", "w").close()
    results.add(tried(os.rename, "trash/checkpoint-1", f"run/full{i}"))
told["full"] = sorted(results)
told["empty"] = tried(os.rename, "trash/checkpoint-1", "run/empty")
told["is it"] = number("run/empty") == inode, open("run/empty/file").read()
told["mode"] = oct(os.stat("run/empty").st_mode & 0o7777)
"""


def test_a_directory_is_renamed_onto_an_empty_one_and_onto_nothing_else(mounted: Client) -> None:
    found = told(mounted, ONTO)
    assert (found["file"], found["link"]) == ("ENOTDIR", "ENOTDIR")
    assert found["full"] == ["ENOTEMPTY"]
    assert (found["empty"], found["is it"], found["mode"]) == ("ok", [True, "kept"], "0o755")


LINKED = """
os.makedirs("run"); os.makedirs("trash"); open("trash/file", "w").write("weights")
os.symlink("nowhere", "trash/link"); os.utime("trash/file", (1, 2))
inode = number("trash/file")
for name in ("file", "link"):
    os.link(f"trash/{name}", f"run/{name}", follow_symlinks=False)
    told[name] = tried(lambda: os.link(f"trash/{name}", f"run/{name}", follow_symlinks=False))
    os.unlink(f"trash/{name}")
told["is it"] = number("run/file") == inode, os.stat("run/file").st_mtime, os.readlink("run/link")
told["content"] = open("run/file").read()
"""


def test_a_second_name_is_refused_where_it_is_taken(mounted: Client) -> None:
    found = told(mounted, LINKED)
    assert (found["file"], found["link"]) == ("EEXIST", "EEXIST")
    assert found["is it"] == [True, 2, "nowhere"]
    assert found["content"] == "weights"

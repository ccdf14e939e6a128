"""Old ids exchanged in a tree on a local file system, where nobody disturbs."""

import asyncio
import fcntl
import json
import os
import signal
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.cli import exits
from agent.errors import AgentError
from agent.identities.exchange import Exchange
from agent.identities.remap import Elsewhere, Problem, Progress, Row, Tree, Turn, remap
from agent.system.child import Child
from agent.system.children import Children

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

OLD, NEW, OLD_GROUP, NEW_GROUP = 51001, 52001, 51002, 52002
IDS = Exchange({OLD: NEW}, {OLD_GROUP: NEW_GROUP})
REST = {"after": "", "gentle": False}
ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own."""
    path = tmp_path / "volume"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(path)], check=True)
    yield path
    subprocess.run(["umount", "--recursive", str(path)], check=True)


def rows_of(tree: Tree, *, dry: bool = False, turn: Turn | None = None) -> list[Row]:
    """All that the worker says."""

    async def all_rows() -> list[Row]:
        children = Children()
        try:
            return [row async for row in remap(children, tree, IDS, dry=dry, turn=turn)]
        finally:
            await children.close()

    return asyncio.run(all_rows())


def run(
    path: Path, *, dry: bool = False, threads: int = 4, device: tuple[int, int] | None = None
) -> tuple[Progress | None, list[Problem]]:
    """The last count, None if the walk did not come to an end, and all problems."""
    rows = rows_of(Tree(str(path), device, threads), dry=dry)
    ends = [row for row in rows if isinstance(row, Progress) and row.whole]
    return (ends[0] if ends else None), [row for row in rows if isinstance(row, Problem)]


def done(path: Path, **changes: Any) -> Progress:
    """A walk without a problem."""
    progress, problems = run(path, **changes)
    assert problems == []
    assert progress is not None
    return progress


def owner(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid


def file(path: Path, uid: int = OLD, gid: int = OLD_GROUP, mode: int = 0o644) -> Path:
    path.touch()
    os.chown(path, uid, gid)
    path.chmod(mode)
    return path


def listed(*named: tuple[int, int]) -> bytes:
    """An ACL with entries for these users (tag 2) and groups (tag 8)."""
    nobody = 0xFFFFFFFF
    entries = [(1, 7, nobody), (4, 5, nobody), (16, 7, nobody), (32, 5, nobody)]
    entries += [(tag, 6, who) for tag, who in named]
    packed = [struct.pack("<HHI", *entry) for entry in sorted(entries)]
    return struct.pack("<I", 2) + b"".join(packed)


def test_owner_and_group_each_by_itself(volume: Path) -> None:
    both, user = file(volume / "both"), file(volume / "user", gid=100)
    group, other = file(volume / "group", uid=100), file(volume / "other", 100, OLD)
    (volume / "dir").mkdir()
    os.chown(volume / "dir", OLD, OLD_GROUP)
    found = done(volume, dry=True)
    assert (found.looked, found.matched, found.changed) == (6, 4, 0)
    assert owner(both) == (OLD, OLD_GROUP)
    assert done(volume).changed == 4
    assert owner(both) == owner(volume / "dir") == (NEW, NEW_GROUP)
    assert owner(user) == (NEW, 100)
    assert owner(group) == (100, NEW_GROUP)
    assert owner(other) == (100, OLD), "a user's old number is no group's"
    assert (done(volume).matched, done(volume, dry=True).matched) == (0, 0)


def test_setuid_and_setgid_bits_stay(volume: Path) -> None:
    modes = [0o4755, 0o2755, 0o6755, 0o2644, 0o755, 0o1644]
    files = [file(volume / oct(mode), mode=mode) for mode in modes]
    folder = volume / "dir"
    folder.mkdir()
    os.chown(folder, OLD, OLD_GROUP)
    folder.chmod(0o3775)
    done(volume)
    assert [stat.S_IMODE(each.stat().st_mode) for each in files] == modes
    assert stat.S_IMODE(folder.stat().st_mode) == 0o3775


def test_setuid_is_not_given_back_where_others_could_have_written_meanwhile(volume: Path) -> None:
    for mode in (0o4775, 0o2757, 0o6777):
        path = file(volume / oct(mode), mode=mode)
        os.setxattr(path, ACCESS, listed((2, OLD)))
        path.chmod(mode)
    progress, problems = run(volume)
    assert progress is not None
    assert progress.failed == 3
    why = "it lost its setuid and setgid bits: others can write to it"
    assert {problem.why for problem in problems} == {why}
    for mode in (0o4775, 0o2757, 0o6777):
        path = volume / oct(mode)
        assert owner(path) == (NEW, NEW_GROUP)
        assert stat.S_IMODE(path.stat().st_mode) == mode & 0o777
        assert os.getxattr(path, ACCESS) != b""
    assert done(volume).matched == 0


def test_a_place_too_long_to_be_told_is_told_by_what_is_above_it(volume: Path) -> None:
    """JSON makes six characters of each odd one: the deepest path would fill the channel."""
    here, path = os.open(volume, os.O_RDONLY), Path()
    for _ in range(40):
        name = "\x1b" * 200
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here, path = below, path / name
    os.close(here)
    (row,) = rows_of(Tree(str(volume), None, 4))
    assert isinstance(row, Progress)
    assert row.whole
    assert 0 < len(row.at) <= 4096
    assert path.is_relative_to(row.at)
    (again,) = rows_of(Tree(str(volume), None, 4, row.at))
    assert isinstance(again, Progress)
    assert again.looked == 41


def test_entries_of_acls_also_of_files_that_are_another_s(volume: Path) -> None:
    other = file(volume / "other", 100, 100)
    os.setxattr(other, ACCESS, listed((2, OLD), (2, 60000), (8, OLD_GROUP)))
    folder = volume / "dir"
    folder.mkdir()
    os.setxattr(folder, DEFAULT, listed((2, OLD)))
    assert done(volume).changed == 2
    assert os.getxattr(other, ACCESS) == listed((2, NEW), (2, 60000), (8, NEW_GROUP))
    assert os.getxattr(folder, DEFAULT) == listed((2, NEW))
    assert owner(other) == (100, 100)


def test_an_acl_that_names_both_is_told_and_left(volume: Path) -> None:
    odd = file(volume / "odd", 100, 100)
    os.setxattr(odd, ACCESS, listed((2, OLD), (2, NEW)))
    progress, problems = run(volume)
    assert progress is not None
    assert progress.failed == 1
    assert problems == [Problem("odd", "its ACL has an entry for the old id and for the new one")]
    assert os.getxattr(odd, ACCESS) == listed((2, OLD), (2, NEW))


def test_a_hard_link_is_one_file_and_a_link_is_itself(volume: Path, tmp_path: Path) -> None:
    outside = file(tmp_path / "outside")
    first = file(volume / "first")
    for number in range(200):
        os.link(first, volume / f"link{number}")
    (volume / "symlink").symlink_to(outside)
    (volume / "dangling").symlink_to("nowhere")
    for name in ("symlink", "dangling"):
        os.lchown(volume / name, OLD, OLD_GROUP)
    os.mkfifo(volume / "fifo")
    os.chown(volume / "fifo", OLD, OLD_GROUP)
    assert done(volume, dry=True).matched == 4
    assert done(volume).changed == 4
    assert owner(volume / "symlink") == owner(volume / "dangling") == (NEW, NEW_GROUP)
    assert owner(first) == owner(volume / "fifo") == (NEW, NEW_GROUP)
    assert owner(outside) == (OLD, OLD_GROUP)


def test_other_mounts_and_the_agent_s_own_directory_are_left(volume: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    within = file(elsewhere / "file")
    for name in ("bind", "own", "tmpfs"):
        (volume / name).mkdir()
    aside = file(volume / "own" / "file")
    single = file(volume / "single")
    subprocess.run(["mount", "--bind", str(elsewhere), str(volume / "bind")], check=True)
    subprocess.run(["mount", "--bind", str(volume / "own"), str(volume / "tmpfs")], check=True)
    subprocess.run(["mount", "--bind", str(within), str(single)], check=True)
    trash = volume / ".gluster-ml" / "trash"
    trash.mkdir(parents=True)
    kept = file(trash / "file")
    (volume / "deep" / ".gluster-ml").mkdir(parents=True)
    theirs = file(volume / "deep" / ".gluster-ml" / "file")
    progress, problems = run(volume)
    assert progress is not None
    assert {problem.path for problem in problems} == {"bind", "tmpfs", "single"}
    assert {problem.why for problem in problems} == {"something else is mounted there"}
    assert owner(within) == owner(kept) == (OLD, OLD_GROUP)
    assert owner(aside) == owner(theirs) == (NEW, NEW_GROUP)


def test_what_is_not_begun(volume: Path, tmp_path: Path) -> None:
    inside = file(volume / "file")
    (volume / ".gluster-ml").mkdir()
    (tmp_path / "link").symlink_to(volume)
    (volume / "dir").mkdir()
    for path, device, why in [
        (volume / ".gluster-ml", None, "belongs to the agent"),
        (tmp_path / "link", None, "a symbolic link is on the way"),
        (tmp_path / "link" / "dir", None, "a symbolic link is on the way"),
        (volume / "nothing", None, "No such file"),
        (inside, None, "Not a directory"),
        (volume, (0, 1), "the volume is not mounted there"),
    ]:
        progress, problems = run(path, device=device)
        assert progress is None
        assert [why in problem.why for problem in problems] == [True], (path, problems)
    assert owner(inside) == (OLD, OLD_GROUP)


def test_names_of_any_bytes_and_a_deep_tree(volume: Path) -> None:
    names = [b"new\nline", b"\x1b[31m", b"\xff\xfe", b"x" * 255]
    for name in names:
        path = Path(os.fsdecode(os.path.join(os.fsencode(volume), name)))
        file(path)
    here = os.open(volume, os.O_RDONLY)
    for _ in range(520):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    progress, problems = run(volume)
    assert progress is not None
    assert progress.changed == len(names)
    assert [problem.why for problem in problems] == ["is deeper than 500 levels"]


def test_killed_half_way_it_is_completed_by_the_next_one(volume: Path) -> None:
    for folder in range(50):
        (volume / f"d{folder}").mkdir()
        for number in range(100):
            file(volume / f"d{folder}" / f"f{number}")

    def left() -> int:
        return sum(owner(path)[0] == OLD for path in volume.rglob("f*"))

    request = {"path": str(volume), "device": None, "uids": IDS.uids, "gids": IDS.gids}
    worker = subprocess.Popen(
        [sys.executable, "-c", "from agent.worker.remap import main; main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    worker.send_signal(signal.SIGSTOP)
    assert worker.stdin is not None
    worker.stdin.write(
        json.dumps({**request, "dry": False, "threads": 0, "turn": None, **REST}).encode() + b"\n"
    )
    worker.stdin.flush()
    deadline = time.monotonic() + 60
    while left() == 5000:  # asked while it is stopped: it is faster than the question
        assert time.monotonic() < deadline
        worker.send_signal(signal.SIGCONT)
        time.sleep(0.01)  # a piece of its work
        worker.send_signal(signal.SIGSTOP)
    worker.kill()
    worker.communicate(timeout=60)
    before = left()
    assert 0 < before < 5000
    assert done(volume).changed == before
    assert left() == 0


def test_it_goes_on_from_any_place_in_the_order_of_the_names(volume: Path) -> None:
    """Whatever came before is done or not; from there on all is, and what is above it too."""
    folders = ["a", "a/x", "b", "b/m", "b/m/deep", "b/n", "c", "c/y"]
    for folder in folders:
        (volume / folder).mkdir()
    paths = [file(volume / folder / "file") for folder in folders]
    top = file(volume / "file")
    for threads in (0, 4):
        for after in ["", *folders, "b/gone", "b/m/deep/gone", "zzz"]:
            for path in (*paths, top):
                os.chown(path, OLD, OLD_GROUP)
            (row,) = rows_of(Tree(str(volume), None, threads, after))
            assert isinstance(row, Progress)
            assert row.whole
            assert owner(top) == (NEW, NEW_GROUP)
            for folder, path in zip(folders, paths, strict=True):
                is_left = owner(path) == (OLD, OLD_GROUP)
                comes_after = folder.split("/") >= after.split("/") if after else True
                assert is_left is not (comes_after or after.startswith(f"{folder}/")), after


def turn(**changes: Any) -> Turn:
    return Turn(**{"what": "w", "now": 1000.0, "every": 100.0, "host": "here", **changes})


def test_one_host_at_a_time_and_none_again_so_soon(volume: Path) -> None:
    file(volume / "file")
    tree = Tree(str(volume), None, 0)
    (first,) = rows_of(tree, turn=turn())
    assert isinstance(first, Progress)
    assert (first.whole, first.changed) == (True, 1)
    for when in (1060.0, 1099.0):
        (again,) = rows_of(tree, turn=turn(now=when, host="there"))
        assert isinstance(again, Elsewhere)
        assert again.counts is not None
        assert (again.host, again.counts.changed) == ("here", 1)
        assert 1000.0 <= again.time < 1060.0
    for other in (turn(now=1200.0), turn(what="other"), turn(now=1150.0)):
        (row,) = rows_of(tree, turn=other)
        assert isinstance(row, Progress), other
    (ahead,) = rows_of(tree, turn=turn(now=10.0))
    assert isinstance(ahead, Progress), "a clock that is ahead puts nothing off"
    lock = os.open(volume / ".gluster-ml/remap/lock", os.O_RDWR)
    fcntl.lockf(lock, fcntl.LOCK_EX)
    assert rows_of(tree, turn=turn(now=5000.0)) == [Elsewhere()]
    os.close(lock)
    kept = (volume / ".gluster-ml/remap").stat()
    assert (kept.st_uid, stat.S_IMODE(kept.st_mode)) == (0, 0o700)


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"[]",
        b"{}",
        b'{"what": "w", "time": 999, "host": "x", "counts": {}}',
        b'{"what": "w", "time": "now", "host": "x", "counts": {}}',
        b"\xff" * 9000,
    ],
)
def test_a_note_that_is_none_puts_nothing_off(volume: Path, note: bytes) -> None:
    (volume / ".gluster-ml/remap").mkdir(parents=True)
    (volume / ".gluster-ml/remap/done").write_bytes(note)
    (row,) = rows_of(Tree(str(volume), None, 0), turn=turn())
    assert isinstance(row, Progress)
    assert row.whole


def test_a_forged_directory_of_the_agent_s_is_not_used(volume: Path, tmp_path: Path) -> None:
    """A user who may write at the root was there before the agent."""
    for forged in ("link", "theirs", "file"):
        base = volume / ".gluster-ml"
        if forged == "link":
            base.symlink_to(tmp_path)
        elif forged == "theirs":
            base.mkdir()
            os.chown(base, 53001, 53001)
        else:
            base.touch()
        (problem,) = rows_of(Tree(str(volume), None, 0), turn=turn())
        assert isinstance(problem, Problem)
        assert ".gluster-ml" in problem.why
        if base.is_dir() and not base.is_symlink():
            base.rmdir()
        else:
            base.unlink()
    assert list(tmp_path.iterdir()) == [volume]


def command(*arguments: str, config: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "agent", "ids", "remap", "--config", str(config), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)


def test_the_command_counts_and_changes_and_leaves_who_is_known_here(
    volume: Path, tmp_path: Path
) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text(
        "mounts: {}\nidentities:\n  groups: {ml: 52002}\n"
        "  users: {alice: {uid: 52001, group: ml}}\n"
    )
    path = file(volume / "file")
    pair = ["--from", f"{OLD}:{OLD_GROUP}", "--to", "alice:ml", str(volume)]
    tried = command("--dry-run", *pair, config=config)
    assert (tried.returncode, tried.stderr) == (exits.REMAPPED, "")
    told = f"user {OLD} -> {NEW}, group {OLD_GROUP} -> {NEW_GROUP}: 2 files looked at, "
    assert tried.stdout == f"{told}1 to change\n"
    assert owner(path) == (OLD, OLD_GROUP)
    made = command(*pair, config=config)
    assert (made.returncode, made.stdout) == (exits.REMAPPED, f"{told}1 changed\n")
    assert owner(path) == (NEW, NEW_GROUP)
    wrong = command("--from", "0", "--to", "alice", str(volume), config=config)
    assert wrong.returncode == exits.FAILED
    assert "is root, and never mapped" in wrong.stderr
    subprocess.run(["umount", str(volume)], check=True)
    try:
        config.write_text(
            "mounts: {m: {volume: v, servers: [n], path: " + str(volume) + "}}\n"
            "identities: {groups: {ml: 52002}, users: {alice: {uid: 52001, group: ml}}}\n"
        )
        bare = command(*pair, config=config)
        assert bare.returncode == exits.FAILED
    finally:
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(volume)], check=True)


def test_a_worker_that_hangs_is_given_up(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped as it starts, as a server that keeps silent would hold it."""
    module = sys.modules[remap.__module__]
    monkeypatch.setattr(module, "PATIENCE", 0.5)

    async def hang() -> None:
        children = Children()
        spawn = children.spawn

        def stopped(kind: str, mount: str) -> Child:
            child = spawn(kind, mount)
            os.kill(child.process.pid, signal.SIGSTOP)
            return child

        monkeypatch.setattr(children, "spawn", stopped)
        rows = remap(children, Tree(str(volume), None, 0), IDS, dry=False)
        with pytest.raises(AgentError, match=r"no file could be looked at or changed for 0\.5 s"):
            await anext(aiter(rows))
        await children.close(10)

    asyncio.run(hang())

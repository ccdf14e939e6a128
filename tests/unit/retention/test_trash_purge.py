"""Entries of the trash removed for good, and nothing else."""

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from agent.worker import own, purge, trashbin, trashmend
from agent.worker.descent import GivenUpError
from agent.worker.removal import Pace, Removal
from agent.worker.trashmove import Row, Volume
from tests.unit.retention.test_trash_restore import ask
from tests.unit.retention.trash_world import OTHER, OWNER, World, content


def remove(world: World, *ids: str, threads: int = 4) -> list[Row]:
    """The rows, those that count apart."""
    wanted = {id_: world.entry(id_).stat().st_ino for id_ in ids}
    rows = purge.purge(world.volume, wanted, threads, Pace(0))
    return [row for row in rows if row["row"] != "removing"]


def test_what_is_named_goes_and_nothing_else(world: World) -> None:
    run = world.run()
    ids = []
    for number in range(3):
        world.checkpoint(run, f"checkpoint-{number}", files=100)
        ids.append(world.moved(run, f"checkpoint-{number}"))
    kept = content(world.entry(ids[2]))
    rows = remove(world, *ids[:2])
    assert sorted(str(row["id"]) for row in rows if row["row"] == "purged") == sorted(ids[:2])
    assert len(rows) == 2
    assert world.in_trash() == [ids[2], f"{ids[2]}.json"]
    assert content(world.entry(ids[2])) == kept


def test_an_entry_that_is_another_one_now_stays(world: World) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-1")
    id_ = world.moved(run, "checkpoint-1")
    inode = world.entry(id_).stat().st_ino
    assert list(purge.purge(world.volume, {id_: inode + 1}, 1, Pace(0))) == [
        {"row": "removing", "removed": 0}
    ]
    assert world.in_trash() == [id_, f"{id_}.json"]


def test_links_are_removed_and_what_they_lead_to_is_not(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"kept")
    run = world.run()
    checkpoint = world.checkpoint(run, "checkpoint-1")
    (checkpoint / "to-directory").symlink_to(outside)
    (checkpoint / "to-file").symlink_to(outside / "file")
    (checkpoint / "nowhere").symlink_to("nowhere")
    os.mkfifo(checkpoint / "fifo")
    linked = world.file(world.run("other"), "mine", b"kept")
    os.link(linked, checkpoint / "hard")
    rows = remove(world, id_ := world.moved(run, "checkpoint-1"))
    assert rows == [{"row": "purged", "id": id_}]
    assert content(outside) == {".": None, "file": b"kept"}
    assert linked.read_bytes() == b"kept"
    assert world.in_trash() == []


def test_nothing_of_another_mount_is_entered(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"kept")
    run = world.run()
    world.checkpoint(run, "checkpoint-1")
    id_ = world.moved(run, "checkpoint-1")
    inner = world.entry(id_) / "checkpoint-1"
    same = world.run("same")
    (same / "file").write_bytes(b"kept")
    subprocess.run(["mount", "--bind", str(outside), str(inner / "global_step")], check=True)
    (inner / "bind").mkdir()
    subprocess.run(["mount", "--bind", str(same), str(inner / "bind")], check=True)
    rows = remove(world, id_)
    told = {(str(row["id"]), str(row["why"])) for row in rows if row["row"] == "odd"}
    assert {
        ("global_step", "Invalid cross-device link"),
        ("bind", "Invalid cross-device link"),
    } <= told
    assert content(outside) == content(same) == {".": None, "file": b"kept"}
    assert world.in_trash() == [f"{id_}.gone", f"{id_}.json"]
    subprocess.run(
        ["umount", str(inner.parent.with_name(f"{id_}.gone") / "checkpoint-1/bind")], check=True
    )
    subprocess.run(
        ["umount", str(inner.parent.with_name(f"{id_}.gone") / "checkpoint-1/global_step")],
        check=True,
    )
    assert remove(world) == [{"row": "purged", "id": id_}], "the next one goes on with it"
    assert world.in_trash() == []
    assert content(outside) == {".": None, "file": b"kept"}


def test_deep_and_wide_trees_and_names_of_any_bytes(world: World) -> None:
    run = world.run()
    checkpoint = world.checkpoint(run, "checkpoint-1")
    for name in (b"new\nline", b"\x1b[31m", b"\xff\xfe", b"x" * 255):
        path = os.path.join(os.fsencode(checkpoint), name)
        os.mkdir(path)
        with open(os.path.join(path, name), "wb"):
            pass
    for folder in range(60):
        (checkpoint / f"d{folder}").mkdir()
        for number in range(40):
            (checkpoint / f"d{folder}" / str(number)).touch()
    here = os.open(checkpoint, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    id_ = world.moved(run, "checkpoint-1")
    before = len(os.listdir("/proc/self/fd"))
    assert remove(world, id_) == [{"row": "purged", "id": id_}]
    assert world.in_trash() == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_few_directories_are_open_at_a_time(world: World) -> None:
    for one in range(20):
        for two in range(20):
            folder = world.top / f"tree/{one}/{two}"
            for three in range(10):
                (folder / str(three)).mkdir(parents=True)
                (folder / str(three) / "file").touch()
    here = os.open(world.top, os.O_RDONLY)
    removal = Removal(here, 8, Pace(0))
    removal.add("tree")
    most = 0
    while not removal.wait(0.0):
        most = max(most, len(os.listdir("/proc/self/fd")))
    removal.close()
    os.close(here)
    assert removal.removed == 1 + 20 + 400 + 4000 + 4000
    assert not (world.top / "tree").exists()
    assert most < 500


def test_while_it_is_at_work_nobody_gets_half_of_it(world: World) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-1", files=50)
    id_ = world.moved(run, "checkpoint-1")
    pace = Pace(10_000)
    rows = purge.purge(world.volume, {id_: world.entry(id_).stat().st_ino}, 1, pace)
    assert next(rows)["row"] == "removing"
    gone = world.entry(f"{id_}.gone").stat()
    assert (gone.st_uid, stat.S_IMODE(gone.st_mode)) == (0, 0o1700)
    (told,) = ask(world, do="list")
    assert (told["state"], told["run"]) == ("gone", "checkpoints/run")
    for uid in (0, OWNER):
        (answer,) = ask(world, uid, do="restore", ids=[id_])
        assert (answer["row"], answer["why"]) == ("refused", "no such entry")
    pace.change(0)
    assert {"row": "purged", "id": id_} in list(rows)


def test_a_pace_is_kept_and_changed() -> None:
    pace = Pace(4.0)
    began = time.monotonic()
    pace.after(0.05)
    assert time.monotonic() - began >= 0.2
    threading.Timer(0.1, lambda: pace.change(0.0)).start()
    pace.after(1000.0)


def test_most_of_the_work_is_rested_from(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-1", files=2000)
    id_ = world.moved(run, "checkpoint-1")
    worked = []
    monkeypatch.setattr(Pace, "after", lambda self, spent: worked.append(spent))
    began = time.monotonic()
    assert {"row": "purged", "id": id_} in remove(world, id_, threads=1)
    assert sum(worked) > (time.monotonic() - began) / 2
    assert len(worked) > 4000 / 64


def test_the_pace_is_changed_while_it_works(world: World) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-1", files=500)
    id_ = world.moved(run, "checkpoint-1")
    pace = Pace(10_000)
    rows = purge.purge(world.volume, {id_: world.entry(id_).stat().st_ino}, 2, pace)
    threading.Timer(0.3, lambda: pace.change(0.0)).start()
    assert [row["row"] for row in rows if row["row"] != "removing"] == ["purged"]


def test_one_host_at_a_time(world: World) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-1")
    id_ = world.moved(run, "checkpoint-1")
    request: dict[str, Any] = {"do": "purge", "threads": 2, "rest": 0.0}
    request["entries"] = {id_: world.entry(id_).stat().st_ino}
    child = os.fork()
    if child == 0:
        held = own.lock(world.volume.trash, "trash")
        world.file(world.top, "held")
        time.sleep(60)
        os._exit(held or 0)
    while not (world.top / "held").exists():
        time.sleep(0.01)
    assert ask(world, **request) == [{"row": "held"}]
    os.kill(child, 9)
    os.waitpid(child, 0)
    rows = ask(world, **request)
    assert [row for row in rows if row["row"] != "removing"] == [{"row": "purged", "id": id_}]
    assert world.in_trash() == []


def test_a_volume_that_is_not_the_one_is_not_touched(world: World) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-1")
    id_ = world.moved(run, "checkpoint-1")
    world.volume = Volume(world.root, [0, 1], world.volume.trash)
    with pytest.raises(GivenUpError, match="finding the mount"):
        remove(world, id_)
    assert world.in_trash() == [id_, f"{id_}.json"]


def test_an_entry_that_its_owner_emptied_goes_by_itself(world: World) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-1")
    id_ = world.moved(run, "checkpoint-1")
    (world.entry(id_) / "checkpoint-1").rename(run / "checkpoint-1")
    assert list(trashmend.mend(world.volume)) == []
    assert world.in_trash() == []


def test_what_is_none_of_ours_is_left(world: World) -> None:
    trash = world.top / ".gluster-ml/trash"
    (trash / "20261130T000000Z-0123456").mkdir()
    (trash / "notes.txt").touch()
    (trash / "20261130T000000Z-01234567").symlink_to("/etc")
    (trash / "20261130T000000Z-01234567.gone").symlink_to("/etc")
    before = world.in_trash()
    assert list(trashmend.mend(world.volume)) == []
    assert remove(world) == []
    assert trashbin.entries(world.volume.trash) == []
    assert world.in_trash() == before


ATTACK = """
import os, sys
top, uid = sys.argv[1], int(sys.argv[2])
os.chdir(top); os.setgroups([]); os.setgid(uid); os.setuid(uid)
outside = os.path.abspath("outside")
def attempt(call, *arguments, **more):
    try:
        return call(*arguments, **more)
    except OSError:
        return None
print("ready", flush=True)
while True:
    # A descriptor of what lies in the trash is had before root takes the entry.
    for entry in os.listdir(".gluster-ml/trash"):
        here = attempt(os.open, f".gluster-ml/trash/{entry}/checkpoint-1", os.O_RDONLY)
        if here is None:
            continue
        for _ in range(50):
            attempt(os.rename, "victim", "aside", src_dir_fd=here, dst_dir_fd=here)
            attempt(os.symlink, outside, "victim", dir_fd=here)
            attempt(os.unlink, "victim", dir_fd=here)
            attempt(os.rename, "aside", "victim", src_dir_fd=here, dst_dir_fd=here)
            attempt(os.symlink, outside, f"more{_}", dir_fd=here)
            attempt(os.mkdir, f"dir{_}", dir_fd=here)
            attempt(os.link, "outside/mine", f"link{_}", dst_dir_fd=here)
        os.close(here)
"""


def test_an_owner_who_swaps_names_meanwhile_gets_nothing_else_removed(world: World) -> None:
    """For 5 seconds: entries are filled and purged again and again."""
    run = world.run()
    outside = world.run("outside")
    secret = world.file(outside, "file", b"secret")
    os.chown(secret, OTHER, OTHER)
    mine = world.file(outside, "mine", b"mine")
    attack = subprocess.Popen(
        [sys.executable, "-c", ATTACK, str(world.top), str(OWNER)],
        stdout=subprocess.PIPE,
        text=True,
    )
    purged = 0
    try:
        assert attack.stdout is not None
        assert attack.stdout.readline() == "ready\n"
        until = time.monotonic() + 5
        while time.monotonic() < until:
            checkpoint = world.checkpoint(run, "checkpoint-1", files=20)
            (checkpoint / "global_step").rename(checkpoint / "victim")
            id_ = world.moved(run, "checkpoint-1")
            time.sleep(0.002)
            purged += {"row": "purged", "id": id_} in remove(world, id_)
            assert sorted(os.listdir(outside)) == ["file", "mine"]
            assert (secret.read_bytes(), mine.read_bytes()) == (b"secret", b"mine")
    finally:
        attack.kill()
        attack.communicate()
    assert purged > 5
    remove(world)
    list(trashmend.mend(world.volume))
    assert world.in_trash() == []


def test_a_comb_that_keeps_all_threads_busy_comes_to_an_end(world: World) -> None:
    """With the queue full, each level was entered from the one above: too deep for a stack."""
    run = world.run()
    checkpoint = world.checkpoint(run, "checkpoint-1")
    for number in range(200):
        (checkpoint / f"filler{number}").mkdir()
    for comb in range(4):
        here = os.open(checkpoint, os.O_RDONLY)
        for level in range(400):
            name = f"{comb}"
            for each in (name, *(f"{name}-{level}-{tooth}" for tooth in range(3))):
                os.mkdir(each, dir_fd=here)
            below = os.open(name, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
    id_ = world.moved(run, "checkpoint-1")
    rows = []
    removal = purge.purge(world.volume, {id_: world.entry(id_).stat().st_ino}, 2, Pace(0))
    until = time.monotonic() + 60
    for row in removal:
        rows.append(row)
        assert time.monotonic() < until, "it never ends"
    assert {"row": "purged", "id": id_} in rows
    assert world.in_trash() == []

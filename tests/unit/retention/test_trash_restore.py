"""Checkpoints restored from the trash: by root, and by whoever owns them."""

import json
import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agent.codec import iso
from agent.health.text import clock
from agent.worker import trashback, trashbin, trashmend
from tests.unit.retention.trash_world import OTHER, OWNER, World, content

REPOSITORY = Path(__file__).parents[3]
WORKER = """
import os, sys
sys.path.append({repository!r})
import agent.worker.trash as worker
os.chdir({top!r}); os.setgroups([]); os.setgid({uid}); os.setuid({uid})
worker.main()
"""


def ask(world: World, uid: int = 0, **request: Any) -> list[dict[str, Any]]:
    """What the worker answers to that user."""
    source = WORKER.format(repository=str(REPOSITORY), top=str(world.top), uid=uid)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        worker = subprocess.Popen(
            [sys.executable, "-c", source], stdin=theirs.fileno(), stdout=theirs.fileno()
        )
        theirs.close()
        # Root's own temporary directories are closed to others.
        ours.sendall(json.dumps({"path": ".", "device": None, **request}).encode() + b"\n")
        with ours.makefile("rb") as lines:
            rows = [json.loads(line) for line in lines]
    assert worker.wait() == 0
    assert rows.pop() == {"done": True}
    return [row for row in rows if row["row"] != "space"]


def restore(world: World, id_: str, uid: int = 0) -> dict[str, Any]:
    (row,) = ask(world, uid, do="restore", ids=[id_])
    return row


@pytest.mark.parametrize("uid", [0, OWNER])
def test_it_is_there_as_it_was_and_pinned(world: World, uid: int) -> None:
    run = world.run()
    checkpoint = world.checkpoint(run, "checkpoint-100")
    before, inode = content(checkpoint), checkpoint.stat().st_ino
    mtime = (checkpoint / "file0").stat().st_mtime_ns
    id_ = world.moved(run, "checkpoint-100")
    row = restore(world, id_, uid)
    told = {"row": "restored", "id": id_, "run": "checkpoints/run"}
    assert row == {**told, "names": ["checkpoint-100"]}
    assert content(checkpoint) == {**before, ".keep": b""}
    assert (checkpoint.stat().st_ino, checkpoint.stat().st_uid) == (inode, OWNER)
    assert (checkpoint / "file0").stat().st_mtime_ns == mtime
    assert list(trashmend.mend(world.volume)) == []
    assert world.in_trash() == []


@pytest.mark.parametrize("uid", [0, OWNER])
def test_a_file_is_pinned_by_one_beside_it(world: World, uid: int) -> None:
    run = world.run()
    world.checkpoint(run, "lora-000001-state")
    world.file(run, "lora-000001.safetensors")
    id_ = world.moved(run, "lora-000001.safetensors")
    assert restore(world, id_, uid)["row"] == "restored"
    names = ["lora-000001-state", "lora-000001.safetensors", "lora-000001.safetensors.keep"]
    assert sorted(os.listdir(run)) == names


@pytest.mark.parametrize("uid", [0, OWNER])
@pytest.mark.parametrize("kind", ["directory", "empty", "file", "link"])
def test_nothing_is_replaced(world: World, uid: int, kind: str) -> None:
    run = world.run()
    before = content(world.checkpoint(run, "checkpoint-100"))
    id_ = world.moved(run, "checkpoint-100")
    new = run / "checkpoint-100"
    match kind:
        case "directory":
            world.checkpoint(run, "checkpoint-100", files=1)
        case "empty":
            new.mkdir()
        case "file":
            new.write_bytes(b"new")
        case "link":
            new.symlink_to("nowhere")
    there, inode = content(new), new.lstat().st_ino
    row = restore(world, id_, uid)
    assert row["row"] == "refused"
    assert row["why"] == "checkpoints/run/checkpoint-100 is there already, and is not replaced"
    assert (content(new), new.lstat().st_ino) == (there, inode)
    assert content(world.entry(id_) / "checkpoint-100") == before
    assert world.entry(id_).stat().st_uid == OWNER


def test_all_of_a_unit_or_nothing(world: World) -> None:
    run = world.run()
    names = ["lora-000001-state", "lora-000001.safetensors"]
    world.checkpoint(run, names[0])
    world.file(run, names[1])
    id_ = world.moved(run, *names)
    world.file(run, names[1], b"new")
    assert restore(world, id_)["row"] == "refused"
    assert os.listdir(run) == [names[1]]
    (run / names[1]).unlink()
    assert restore(world, id_)["row"] == "restored"
    assert set(os.listdir(run)) == set(names)


def test_what_its_owner_put_in_its_place_is_not_put_back_by_root(world: World) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-100")
    id_ = world.moved(run, "checkpoint-100")
    entry = world.entry(id_)
    (entry / "checkpoint-100").rename(entry / "aside")
    (entry / "checkpoint-100").symlink_to("/etc")
    assert restore(world, id_)["why"] == "checkpoint-100 is not what was moved"
    assert entry.stat().st_uid == 0, "of several owners"
    (entry / "checkpoint-100").unlink()
    (entry / "aside").rename(entry / "checkpoint-100")
    (entry / "more").mkdir()
    assert restore(world, id_)["row"] == "restored"
    assert os.listdir(run) == ["checkpoint-100"]
    assert world.in_trash() == [id_, f"{id_}.json"], "with what the owner has left in it"


def test_another_user_gets_nothing(world: World) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-100")
    id_ = world.moved(run, "checkpoint-100")
    assert ask(world, OTHER, do="list") == []
    row = restore(world, id_, OTHER)
    assert (row["row"], row["why"]) == ("refused", "Permission denied")
    assert ask(world, OTHER, do="purge", entries={}, threads=1, rest=0) == [
        {"row": "failure", "what": "can't lock .gluster-ml/trash/lock", "errno": 13}
    ]
    assert (world.entry(id_) / "checkpoint-100").exists()


def test_the_owner_needs_to_be_let_into_the_run(world: World) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-100")
    id_ = world.moved(run, "checkpoint-100")
    os.chown(run, 0, 0)
    run.chmod(0o755)
    row = restore(world, id_, OWNER)
    assert (row["row"], row["why"]) == ("refused", "Permission denied")
    assert (world.entry(id_) / "checkpoint-100").exists()
    run.chmod(0o777)
    assert restore(world, id_, OWNER)["row"] == "restored"


def test_root_puts_nothing_into_a_run_that_became_another_s(world: World) -> None:
    """Its files may be open to all, and only their directory was not."""
    run = world.run(mode=0o700)
    world.checkpoint(run, "checkpoint-100")
    id_ = world.moved(run, "checkpoint-100")
    run.rename(run.with_name("aside"))
    os.chown(world.run(), OTHER, OTHER)
    row = restore(world, id_)
    assert row["why"] == "checkpoints/run is another directory now, and not its owner's"
    os.chown(run, OWNER, OWNER)
    assert restore(world, id_)["row"] == "restored"


@pytest.mark.parametrize("uid", [0, OWNER])
def test_not_by_a_link_nor_to_where_nothing_is(world: World, uid: int, tmp_path: Path) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-100")
    id_ = world.moved(run, "checkpoint-100")
    run.rename(run.with_name("real"))
    assert restore(world, id_, uid)["why"] == "checkpoints/run is not there any more"
    run.symlink_to("real")
    assert restore(world, id_, uid)["why"] == "checkpoints/run is no directory"
    run.unlink()
    run.write_bytes(b"")
    assert restore(world, id_, uid)["why"] == "checkpoints/run is no directory"
    assert (world.entry(id_) / "checkpoint-100").exists()
    assert os.listdir(run.with_name("real")) == []


def test_who_is_told_of_what(world: World) -> None:
    run = world.run("über\n\udcff/run")
    world.checkpoint(run, "checkpoint-100")
    os.chown(world.checkpoint(run, "checkpoint-200"), OTHER, OTHER)
    first, second = world.moved(run, "checkpoint-100"), world.moved(run, "checkpoint-200")
    rows = ask(world, do="list")
    assert {row["id"] for row in rows} == {first, second}
    (row,) = ask(world, OWNER, do="list")
    (same,) = [each for each in rows if each["id"] == first]
    assert row == same
    assert (row["run"], row["names"]) == ("über\n\udcff/run", ["checkpoint-100"])
    told = ("owner", "rule", "reasons", "size", "host", "state")
    wanted = [OWNER, "checkpoints", ["none of the 3 newest"], 4096, "gpu1", "kept"]
    assert [row[key] for key in told] == wanted


FORGED = [
    b"",
    b"{",
    b"[" * 100_000,
    b"{}",
    b'{"run": "/etc", "place": 1, "inodes": {"passwd": 1}}',
    b'{"run": "a/../../b", "place": 1, "inodes": {"c": 1}}',
    b'{"run": "a", "place": 1, "inodes": {"../c": 1}}',
    b'{"run": "a", "place": 1e999, "inodes": {"c": NaN}}',
    b'{"run": "a", "place": 1, "inodes": {"c": -1}}',
    b'{"run": ".gluster-ml/trash", "place": 1, "inodes": {"c": 1}}',
    b'{"run": "a", "place": 1, "inodes": {"c": 1}, "owner": "x", "size": 1e999}' + b" " * 300_000,
]


@pytest.mark.parametrize("forged", FORGED)
def test_a_manifest_that_makes_no_sense_restores_nothing(world: World, forged: bytes) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-100")
    id_ = world.moved(run, "checkpoint-100")
    entry = world.entry(id_)
    entry.with_name(f"{id_}.json").write_bytes(forged)
    (entry / ".gluster-ml.json").write_bytes(forged)
    (row,) = ask(world, do="list")
    assert (row["id"], row["run"], row["names"], row["owner"]) == (id_, "", [], OWNER)
    assert restore(world, id_)["why"] == "nothing says where it came from"
    assert list(trashmend.mend(world.volume)) == []
    assert (entry / "checkpoint-100").exists()


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_a_manifest_that_is_no_file_is_not_waited_for(world: World, kind: str) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-100")
    id_ = world.moved(run, "checkpoint-100")
    note = world.entry(id_).with_name(f"{id_}.json")
    note.rename(world.top / "aside")
    match kind:
        case "link":
            note.symlink_to(world.top / "aside")
        case "fifo":
            os.mkfifo(note)
        case "directory":
            note.mkdir()
    (row,) = ask(world, do="list")
    assert row["run"] == "checkpoints/run", "from the note in the entry"


def test_what_the_manifest_says_of_the_owner_gives_nobody_anything(world: World) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-100")
    id_ = world.moved(run, "checkpoint-100")
    note = world.entry(id_).with_name(f"{id_}.json")
    note.write_text(json.dumps({**json.loads(note.read_text()), "owner": OTHER, "group": OTHER}))
    assert restore(world, id_, OTHER)["row"] == "refused"
    assert restore(world, id_)["row"] == "restored"
    assert (run / "checkpoint-100").stat().st_uid == OWNER


ATTACK = """
import os, sys, time
top, trash, run, uid = *sys.argv[1:4], int(sys.argv[4])
os.chdir(top); os.setgroups([]); os.setgid(uid); os.setuid(uid)
print("ready", flush=True)
secret = os.path.abspath("secret/file")
def attempt(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        pass
while True:
    time.sleep(0.05)  # or on a slow volume nothing is ever where it was
    attempt(os.rename, run, "aside")
    attempt(os.symlink, os.path.abspath("secret"), run)
    attempt(os.unlink, run)
    attempt(os.rename, "aside", run)
    attempt(os.symlink, secret, run + "/checkpoint-100")
    attempt(os.unlink, run + "/checkpoint-100")
    for entry in os.listdir(trash):
        attempt(os.rename, f"{trash}/{entry}/checkpoint-100", "stolen")
        attempt(os.symlink, secret, f"{trash}/{entry}/checkpoint-100")
        attempt(os.unlink, f"{trash}/{entry}/checkpoint-100")
        attempt(os.rename, "stolen", f"{trash}/{entry}/checkpoint-100")
"""


def test_an_owner_who_swaps_names_meanwhile_gets_nothing_but_what_is_theirs(world: World) -> None:
    """Moved and restored by root again and again, while its owner interferes."""
    world.top.chmod(0o777)
    run = world.run()
    run.parent.chmod(0o777)
    world.checkpoint(run, "checkpoint-100")
    secret = world.run("secret", mode=0o700)
    os.chown(secret, OTHER, OTHER)
    (secret / "file").write_bytes(b"secret")
    arguments = [str(world.top), ".gluster-ml/trash", "checkpoints/run", str(OWNER)]
    attack = subprocess.Popen(
        [sys.executable, "-c", ATTACK, *arguments], stdout=subprocess.PIPE, text=True
    )
    moved = restored = 0
    try:
        assert attack.stdout is not None
        assert attack.stdout.readline() == "ready\n"
        began = time.monotonic()
        while time.monotonic() < began + (5 if moved and restored else 60):
            moved += one_move(world, run)
            for id_ in world.in_trash():
                restored += restored_here(world, id_)
            assert content(secret) == {".": None, "file": b"secret"}
            assert stat.S_IMODE(secret.stat().st_mode) == 0o700
    finally:
        attack.kill()
        attack.communicate()
    assert moved > 0
    assert restored > 0
    for path in world.top.rglob("*"):
        if path.lstat().st_uid == OTHER:
            assert path == secret


def one_move(world: World, run: Path) -> bool:
    try:
        order = world.order(run, "checkpoint-100")
    except OSError:
        return False
    return world.move(order)["row"] == "moved"


def restored_here(world: World, id_: str) -> bool:
    return trashbin.is_id(id_) and trashback.restore(world.volume, id_)["row"] == "restored"


@pytest.mark.parametrize("time_", ["1" + "0" * 400, "1e300", "-1e300", "NaN", '"now"', "true"])
def test_a_forged_time_keeps_nobody_from_the_trash(world: World, time_: str) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-1")
    id_ = world.moved(run, "checkpoint-1")
    noted = world.entry(id_).with_name(f"{id_}.json")
    told = json.loads(noted.read_text())
    text = json.dumps(told | {"time": "HERE"}).replace('"HERE"', time_)
    noted.write_text(text)
    (row,) = ask(world, do="list")
    assert row["id"] == id_
    assert clock(float(row["time"]), time.time())
    assert iso(float(row["time"]))
    assert restore(world, id_)["row"] == "restored"


@pytest.mark.parametrize("uid", [0, OWNER])
def test_what_its_owner_took_out_is_not_told_to_be_back(world: World, uid: int) -> None:
    run = world.run()
    model, state = "a-step00000100.safetensors", "a-step00000100-state"
    world.file(run, model)
    world.checkpoint(run, state)
    id_ = world.moved(run, state, model)
    assert min(state, model) == state
    (world.entry(id_) / state).rename(world.top / "elsewhere")
    row = restore(world, id_, uid)
    assert row["names"] == [model]
    assert sorted(os.listdir(run)) == [model, f"{model}.keep"]  # what is back is pinned


def test_what_was_put_back_and_removed_since_is_not_called_restored(world: World) -> None:
    """The one who put it back was killed before the entry was gone."""
    run = world.run()
    world.file(run, "lora.ckpt")
    id_ = world.moved(run, "lora.ckpt")
    (world.entry(id_) / "lora.ckpt").unlink()
    world.entry(id_).rename(world.entry(f"{id_}.back"))
    row = trashback.restore(world.volume, id_)
    assert row["row"] == "refused"
    assert "gone from its run" in str(row["why"])
    assert world.in_trash() == []

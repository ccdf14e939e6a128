"""Checkpoints moved to the trash, and what keeps them from it."""

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.worker import own, trashbin, trashmend
from agent.worker.descent import GivenUpError
from agent.worker.trashmove import Volume
from tests.unit.retention.trash_world import OTHER, OWNER, World, content, swapping


def test_a_directory_goes_as_it_is_and_is_noted(world: World) -> None:
    run = world.run()
    checkpoint = world.checkpoint(run, "checkpoint-100")
    before, inode, place = content(checkpoint), checkpoint.stat().st_ino, run.stat().st_ino
    id_ = world.moved(run, "checkpoint-100")
    assert id_.startswith("20261130T")
    assert os.listdir(run) == []
    entry = world.entry(id_)
    assert content(entry / "checkpoint-100") == before
    assert (entry / "checkpoint-100").stat().st_ino == inode
    found = entry.stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (OWNER, 0o700)
    note = entry.with_name(f"{id_}.json").stat()
    assert (note.st_uid, stat.S_IMODE(note.st_mode)) == (0, 0o600)
    told = world.noted(id_)
    assert (told.run, told.place, told.inodes) == (
        "checkpoints/run",
        place,
        {"checkpoint-100": inode},
    )
    assert told.told == {
        "owner": OWNER,
        "group": OWNER,
        "rule": "checkpoints",
        "reasons": ["none of the 3 newest"],
        "size": 4096,
        "time": 1_796_000_000.0,
        "host": "gpu1",
        "version": "0.1.0",
    }
    trash = world.top / ".gluster-ml"
    assert [stat.S_IMODE(p.stat().st_mode) for p in (trash, trash / "trash")] == [0o711, 0o755]


def test_all_names_of_a_unit_go_together(world: World) -> None:
    run = world.run()
    world.file(run, "lora-000001.safetensors")
    world.checkpoint(run, "lora-000001-state")
    id_ = world.moved(run, "lora-000001.safetensors", "lora-000001-state")
    assert os.listdir(run) == []
    assert set(os.listdir(world.entry(id_))) >= {"lora-000001-state", "lora-000001.safetensors"}
    assert world.entry(id_).stat().st_uid == OWNER


def test_what_several_own_is_root_s(world: World) -> None:
    run = world.run()
    world.file(run, "lora-000001.safetensors")
    os.chown(world.checkpoint(run, "lora-000001-state"), OTHER, OTHER)
    found = world.entry(world.moved(run, "lora-000001.safetensors", "lora-000001-state")).stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (0, 0o700)


@pytest.mark.parametrize("name", [b"new\nline", b"\x1b[31m", b"\xff\xfe-100", b"x" * 255, b" "])
def test_names_of_any_bytes(world: World, name: bytes) -> None:
    run, text = world.run("über\n\udcff/run"), os.fsdecode(name)
    world.checkpoint(run, text)
    id_ = world.moved(run, text)
    assert os.listdir(run) == []
    told = world.noted(id_)
    assert (told.run, told.names) == ("über\n\udcff/run", [text])


def test_what_changed_since_it_was_decided_on_stays(world: World) -> None:
    run = world.run()
    checkpoint = world.checkpoint(run, "checkpoint-100")
    order = world.order(run, "checkpoint-100")
    (checkpoint / "global_step" / "rank0").write_bytes(b"z")
    row = world.move(order)
    assert (row["row"], row["why"]) == ("left", "changed since it was looked at")
    assert checkpoint.exists()
    assert world.in_trash() == []


def test_what_something_speaks_against_stays(world: World) -> None:
    run = world.run()
    checkpoint = world.checkpoint(run, "checkpoint-100")
    order = world.order(run, "checkpoint-100")
    row = world.move(order, still=lambda run, here, names: "latest points to it")
    assert (row["row"], row["why"]) == ("left", "latest points to it")
    assert checkpoint.exists()
    assert world.in_trash() == []


def test_what_is_pointed_to_by_the_time_it_has_moved_goes_back(world: World) -> None:
    run = world.run()
    before = content(world.checkpoint(run, "checkpoint-100"))
    asked: list[bool] = []

    def still(run: int, here: int, names: list[str]) -> str:
        asked.append(os.path.exists(f"/proc/self/fd/{here}/{names[0]}"))
        return "latest points to it" if run != here else ""

    row = world.move(world.order(run, "checkpoint-100"), still=still)
    assert (row["row"], row["why"]) == ("left", "latest points to it")
    assert asked == [True, True]
    assert content(run / "checkpoint-100") == before
    assert world.in_trash() == []


def test_what_vanished_is_as_good(world: World) -> None:
    run = world.run()
    checkpoint = world.checkpoint(run, "checkpoint-100")
    order = world.order(run, "checkpoint-100")
    checkpoint.rename(run / "elsewhere")
    assert world.move(order)["why"] == "vanished"
    (run / "elsewhere").rename(world.top / "elsewhere")
    run.rmdir()
    assert world.move(order)["why"] == "vanished"
    assert world.in_trash() == []


def to_link(path: Path, outside: Path) -> None:
    path.rename(path.with_name("aside"))
    path.symlink_to(outside)


def to_directory(path: Path, outside: Path) -> None:
    path.rename(path.with_name("aside"))
    outside.rename(path)


def to_fifo(path: Path, outside: Path) -> None:
    path.rename(path.with_name("aside"))
    os.mkfifo(path)


def to_hard_link(path: Path, outside: Path) -> None:
    path.rename(path.with_name("aside"))
    os.link(outside / "file0", path)


@pytest.mark.parametrize("swap", [to_link, to_directory, to_fifo, to_hard_link])
def test_what_is_exchanged_just_before_the_rename_goes_back(
    world: World, swap: Callable[[Path, Path], None]
) -> None:
    run = world.run()
    checkpoint = world.checkpoint(run, "checkpoint-100")
    outside = world.checkpoint(world.run("outside"), "checkpoint-7")
    order, before = world.order(run, "checkpoint-100"), content(checkpoint)
    row = world.move(order, swapping(lambda: swap(checkpoint, outside), at=1))
    assert (row["row"], row["why"]) == ("left", "was exchanged meanwhile")
    assert content(run / "aside") == before
    kind = stat.S_IFMT(checkpoint.lstat().st_mode)
    if swap is to_directory:
        assert content(checkpoint) == before
    else:
        assert content(outside) == before
        wanted = {"to_link": stat.S_IFLNK, "to_fifo": stat.S_IFIFO, "to_hard_link": stat.S_IFREG}
        assert kind == wanted[swap.__name__]
    assert world.in_trash() == []


def test_a_run_that_is_exchanged_meanwhile_keeps_what_is_in_it(world: World) -> None:
    run, mine = world.run(), world.run("mine")
    world.checkpoint(run, "checkpoint-100")
    kept = world.checkpoint(mine, "checkpoint-100")
    order, before = world.order(run, "checkpoint-100"), content(kept)

    def swap() -> None:
        run.rename(world.top / "moved")
        mine.rename(run)

    row = world.move(order, swapping(swap, at=1))
    assert row["row"] == "moved", "by its directory, wherever that is"
    assert content(run / "checkpoint-100") == before
    assert os.listdir(world.top / "moved") == []


@pytest.mark.parametrize("at", ["", "checkpoints", "checkpoints/run"])
def test_links_on_the_way_are_not_followed(world: World, at: str) -> None:
    run = world.run()
    checkpoint = world.checkpoint(run, "checkpoint-100")
    order = world.order(run, "checkpoint-100")
    if not at:
        order["run"] = "../volume/checkpoints/run"
    else:
        (world.top / at).rename(world.top / "real")
        (world.top / at).symlink_to("real" if at == "checkpoints" else "../real")
    assert world.move(order)["row"] == "left"
    assert checkpoint.exists()
    assert world.in_trash() == []


def test_nothing_of_another_mount_is_moved(world: World, tmp_path: Path) -> None:
    run = world.run()
    for number in (100, 200):
        world.checkpoint(run, f"checkpoint-{number}")
    orders = [world.order(run, f"checkpoint-{number}") for number in (100, 200)]
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run(["mount", "--bind", str(other), str(run / "checkpoint-100")], check=True)
    row = world.move(orders[0])
    assert row["why"] == "checkpoint-100: something else is mounted there"
    subprocess.run(["mount", "--bind", str(run), str(run)], check=True)
    assert world.move(orders[1])["why"] == "checkpoints/run: in the way"
    assert world.in_trash() == []


def test_a_volume_that_is_not_the_one_is_not_touched(world: World) -> None:
    run = world.run()
    checkpoint = world.checkpoint(run, "checkpoint-100")
    world.volume = Volume(world.root, [0, 1], world.volume.trash)
    with pytest.raises(GivenUpError, match="finding the mount"):
        world.move(world.order(run, "checkpoint-100"))
    assert checkpoint.exists()


def test_what_is_written_to_meanwhile_goes_back(world: World) -> None:
    run = world.run()
    checkpoint = world.checkpoint(run, "checkpoint-100")
    order = world.order(run, "checkpoint-100")
    with (checkpoint / "file1").open("ab") as writer:

        def write() -> None:
            writer.write(b"more")
            writer.flush()

        row = world.move(order, swapping(write, at=1))
    assert (row["row"], row["why"]) == ("left", "changed while it was moved")
    assert (checkpoint / "file1").read_bytes() == b"xmore"
    assert world.in_trash() == []


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_what_goes_back_replaces_nothing(world: World, kind: str) -> None:
    run = world.run()
    make = world.checkpoint if kind == "directory" else world.file
    made = make(run, "checkpoint-100")
    order, before = world.order(run, "checkpoint-100"), content(made)

    def still(there: int, here: int, names: list[str]) -> str:
        if there == here:
            return ""
        world.file(run, "checkpoint-100", b"new")
        world.file(run, "checkpoint-100.restored-1", b"new")
        return "latest points to it"

    row = world.move(order, still=still)
    assert row["why"] == "latest points to it; checkpoint-100 is checkpoint-100.restored-2 now"
    assert content(run / "checkpoint-100.restored-2") == before
    assert content(run / "checkpoint-100") == {".": b"new"}
    assert world.in_trash() == []


def test_what_can_not_go_back_stays_in_the_trash(world: World) -> None:
    run = world.run()
    before = content(world.checkpoint(run, "checkpoint-100"))

    def still(there: int, here: int, names: list[str]) -> str:
        if there == here:
            return ""
        run.rmdir()
        return "latest points to it"

    row = world.move(world.order(run, "checkpoint-100"), still=still)
    id_ = world.in_trash()[0]
    why = (
        f"latest points to it; checkpoint-100 could not be put back, and lies in the trash as {id_}"
    )
    assert (row["row"], row["why"]) == ("left", why)
    assert content(world.entry(id_) / "checkpoint-100") == before
    assert world.noted(id_).run == "checkpoints/run"
    assert list(trashmend.mend(world.volume)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"run": ".gluster-ml/trash"},
        {"run": ""},
        {"run": "/etc"},
        {"run": "checkpoints/../.."},
        {"names": []},
        {"names": [".."]},
        {"names": ["a/b"]},
        {"names": [".gluster-ml.json"]},
    ],
)
def test_places_that_nothing_is_moved_from(world: World, change: dict[str, object]) -> None:
    run = world.run()
    world.checkpoint(run, "checkpoint-100")
    row = world.move({**world.order(run, "checkpoint-100"), **change})
    assert (row["row"], row["why"]) == ("left", "is no place that anything is moved from")


def test_a_trash_that_others_can_write_to_is_not_used(world: World) -> None:
    (world.top / ".gluster-ml/trash").chmod(0o777)
    with pytest.raises(own.RefusedError, match="others may write to"):
        trashbin.open_bin(world.root, make=True)


def test_names_that_no_manifest_could_hold_stay(world: World) -> None:
    """Six characters for each byte in no encoding: it could not be read, and nothing restored."""
    run = world.run()
    names = [f"{number:03}" + "\udcff" * 240 for number in range(200)]
    for name in names:
        world.file(run, name)
    row = world.move(world.order(run, *names))
    assert (row["row"], row["why"]) == ("left", "its names are too long for a manifest")
    assert sorted(os.listdir(run)) == names
    assert world.in_trash() == []

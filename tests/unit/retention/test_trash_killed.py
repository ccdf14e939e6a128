"""Killed at every step: a checkpoint is then, after the next pass, wholly here or wholly there.

A child does the work, and kills itself just before the n-th thing it asks of the file system, for
every n until it comes to its end. What resolves that is killed likewise. With flags that the kernel
does not know renames go the longer way, as on GlusterFS.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from agent.worker import noreplace, purge, trashback, trashbin, trashmend
from agent.worker.removal import Pace
from tests.unit.retention.trash_world import OWNER, World, content, look

NAMES = ["lora-000001-state", "lora-000001.safetensors"]
CALLS = ["rename", "link", "mkdir", "rmdir", "remove", "chown", "chmod", "scandir"]
EVENTS = frozenset(["open", *(f"os.{name}" for name in CALLS)])


@pytest.fixture(params=["as on tmpfs", "as on GlusterFS"], autouse=True)
def flags(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "as on GlusterFS":
        monkeypatch.setattr(noreplace, "_RENAME_NOREPLACE", 1 << 20)
        monkeypatch.setattr(noreplace, "_SETTLED", 0.0)  # a local file system has no such caches


def killed_before(step: int, work: Callable[[], object]) -> bool:
    """Whether the child was killed: it asked for more than step - 1 things."""
    child = os.fork()
    if child == 0:
        left = step

        def hook(event: str, arguments: object) -> None:
            nonlocal left
            if event in EVENTS:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        code = 1
        try:
            sys.addaudithook(hook)
            work()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the work itself failed"
    return os.WIFSIGNALED(status)


def steps(work: Callable[[], object]) -> Iterator[int]:
    """Every n for which it gets as far as the n-th thing; the last one does all of it."""
    for step in range(1, 1000):
        if not killed_before(step, work):
            assert step > 5, "nothing was done at all"
            return
        yield step
    raise AssertionError("it comes to no end")


def unit(world: World) -> tuple[Path, dict[str, bytes | str | None]]:
    """A run with a unit of two names, and what is in it."""
    run = world.run()
    world.checkpoint(run, NAMES[0])
    world.file(run, NAMES[1])
    return run, content(run)


def where(world: World, run: Path, before: dict[str, bytes | str | None]) -> str:
    """The entry's id, "" if the unit is in its run; wholly, or this fails."""
    if content(run) == before:
        assert world.in_trash() == []
        return ""
    assert content(run) == {".": None}
    id_, note = world.in_trash()
    assert note == f"{id_}.json"
    found = content(world.entry(id_))
    assert found.pop(".gluster-ml.json")
    assert found == before
    assert world.noted(id_).names == NAMES
    assert world.entry(id_).stat().st_uid == OWNER
    return id_


def mend(world: World) -> None:
    for _ in trashmend.mend(world.volume):
        pass


def put_back(world: World, id_: str) -> None:
    row = trashback.restore(world.volume, id_)
    assert row["row"] == "restored", row


def remove(world: World, *ids: str) -> None:
    wanted = {id_: world.entry(id_).stat().st_ino for id_ in ids if world.entry(id_).exists()}
    for row in purge.purge(world.volume, wanted, 1, Pace(0)):
        assert row["row"] != "odd", row


def begun_anew(world: World, run: Path, before: dict[str, bytes | str | None]) -> None:
    """The unit is in its run again, as it was, wherever it is now."""
    if id_ := where(world, run, before):
        put_back(world, id_)
        (run / NAMES[0] / ".keep").unlink()
    assert not where(world, run, before)


def test_a_move_is_done_or_undone(world: World) -> None:
    run, before = unit(world)
    orders = [world.order(run, *NAMES)]
    for _ in steps(lambda: world.move(orders[-1])):
        mend(world)
        begun_anew(world, run, before)
        orders.append(world.order(run, *NAMES))
    assert where(world, run, before)


def test_so_it_is_when_what_undoes_it_is_killed_too(world: World) -> None:
    run, before = unit(world)
    rounds = 0
    for step in range(1, 1000):
        inner = 0
        killed = True
        while killed:
            if not killed_before(step, partial(world.move, world.order(run, *NAMES))):
                assert rounds > 100
                return
            inner += 1
            killed = killed_before(inner, lambda: mend(world))
            mend(world)
            begun_anew(world, run, before)
            rounds += 1


def test_a_restored_one_is_there_or_in_the_trash(world: World) -> None:
    run, before = unit(world)
    id_ = world.moved(run, *NAMES)
    pinned = {**before, f"{NAMES[0]}/.keep": b""}
    for _ in steps(lambda: trashback.restore(world.volume, id_)):  # noqa: B023  the newest one
        mend(world)
        if content(run) != {".": None}:
            assert content(run) in (pinned, before)
            assert world.in_trash() == []
            (run / NAMES[0] / ".keep").unlink(missing_ok=True)
            id_ = world.moved(run, *NAMES)
        else:
            assert world.in_trash() == [id_, f"{id_}.json"]
            (world.entry(id_) / NAMES[0] / ".keep").unlink(missing_ok=True)
            assert where(world, run, before) == id_
    assert content(run) == pinned


def test_restoring_goes_on_by_itself(world: World) -> None:
    run, before = unit(world)
    id_ = world.moved(run, *NAMES)
    for _ in steps(lambda: trashback.restore(world.volume, id_)):  # noqa: B023  the newest one
        if world.in_trash():
            row = trashback.restore(world.volume, id_)
            if row["row"] == "refused":
                assert row["why"] == "no such entry", row
                mend(world)
        assert {**content(run), f"{NAMES[0]}/.keep": b""} == {**before, f"{NAMES[0]}/.keep": b""}
        mend(world)
        assert world.in_trash() == []
        (run / NAMES[0] / ".keep").unlink(missing_ok=True)
        id_ = world.moved(run, *NAMES)


def test_a_purge_is_gone_on_with(world: World) -> None:
    run, before = unit(world)
    id_ = world.moved(run, *NAMES)

    def work() -> None:
        remove(world, id_)

    for _ in steps(work):
        mend(world)
        if id_ in world.in_trash():
            assert where(world, run, before) == id_, "nothing is gone of what can be restored"
        remove(world, id_)
        mend(world)
        assert world.in_trash() == []
        world.checkpoint(run, NAMES[0])
        world.file(run, NAMES[1])
        id_ = world.moved(run, *NAMES)


def test_killed_at_any_time(world: World) -> None:
    """Not between two things, but anywhere: 300 rounds over 8 units."""
    run = world.run()
    lot = random.Random(5)  # noqa: S311
    names = [f"checkpoint-{number}" for number in range(8)]
    for name in names:
        world.checkpoint(run, name)
    before = content(run)
    for _ in range(300):
        child = os.fork()
        if child == 0:
            try:
                while True:
                    mend(world)
                    for name in os.listdir(run):
                        world.move(world.order(run, name))
                    for id_ in list(world.in_trash()):
                        if trashbin.is_id(id_):
                            trashback.restore(world.volume, id_)
            finally:
                os._exit(1)
        time.sleep(lot.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), "the work itself failed"
        mend(world)
        assert all_of(world, run, names) == before


def all_of(world: World, run: Path, names: list[str]) -> dict[str, bytes | str | None]:
    """What is in the run and in kept entries together, each unit in one place; pins apart."""
    found = content(run)
    for name in world.in_trash():
        if trashbin.is_id(name):
            assert f"{name}.json" in world.in_trash()
            below = content(world.entry(name))
            assert below.pop(".gluster-ml.json")
            assert not (found.keys() & below.keys()) - {"."}, "it is in two places"
            found |= below
    assert not os.path.lexists(run / ".gluster-ml.json")
    return {path: data for path, data in found.items() if not path.endswith(".keep")}


@pytest.mark.long
def test_two_at_once_end_at_the_same(world: World) -> None:
    """One moves and restores while another one, who has no lock, takes all for left by the dead."""
    run = world.run()
    names = [f"checkpoint-{number}" for number in range(4)]
    for name in names:
        world.checkpoint(run, name)
    before = content(run)
    children = []
    for which in range(3):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                until = time.monotonic() + 3
                while time.monotonic() < until:
                    if which == 0:
                        mend(world)
                        continue
                    for name in names:
                        if (run / name).exists():
                            attempt(world, run, name)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    mend(world)
    assert all_of(world, run, names) == before


def attempt(world: World, run: Path, name: str) -> None:
    try:
        order = world.order(run, name)
    except OSError:
        return  # moved by the other one meanwhile
    if not (run / name / "file0").exists():
        return  # an empty directory that holds the name: no plan has that for a checkpoint
    row = world.move(order, look)
    if row["row"] == "moved":
        trashback.restore(world.volume, str(row["id"]))

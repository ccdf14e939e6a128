"""Passes of the cleaner over real directories, by the real worker; what may go is in the trash."""

import asyncio
import contextlib
import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.retention import trash
from agent.retention.clean import Differing, Left, Moved, Pass, Ripe, Row, clean
from agent.retention.policy import Rule
from agent.retention.survey import Wanted, request
from agent.retention.trash import Held, Returned
from agent.system.children import Children
from agent.worker import again, channel, gather, hosts, own, survey, whole
from agent.worker import clean as worker
from agent.worker.survey import Survey
from tests.unit.retention.disk import grow, hf, keep
from tests.unit.retention.saved import kohya_model, kohya_state
from tests.unit.retention.trash_world import World, content
from tests.unit.retention.trees import Link, Tree

NOW = keep(last=1)
RULE = Rule(NOW.path, NOW.keep, quiet_for=0.01)
"""The second look may be at once."""
WANTS = "0123456789ab"


def cleaned(world: World, tmp_path: Path, *rules: Rule, move: bool = True) -> list[Row]:
    """One pass: all rows that say more than how far it is."""
    wanted_rules = rules or (RULE,)
    wanted = Wanted(
        root=str(world.top),
        device=None,
        mounted_at=str(world.top),
        rules=wanted_rules,
        threads=2,
    )
    paths = tuple(rule.path for rule in wanted_rules) if move else ()
    how = Pass(tmp_path / "memory.json", "gpu1", "0.1.0", WANTS, paths)

    async def rows() -> list[Row]:
        children = Children()
        try:
            return [row async for row in clean(children, wanted, how)]
        finally:
            await children.close()

    return [
        row
        for row in asyncio.run(rows())
        if isinstance(row, Ripe | Moved | Left | Differing | Held | Returned)
    ]


def steps(world: World, path: str = "runs") -> list[int]:
    """Those of the checkpoints that are at their place."""
    return sorted(
        int(each.name.partition("-")[2]) for each in (world.top / path).glob("checkpoint-*")
    )


def test_what_two_passes_plan_goes_to_the_trash(world: World, tmp_path: Path) -> None:
    grow(world.top, {"runs": hf(9, 10, 100)})
    before = content(world.top / "runs/checkpoint-9")
    assert cleaned(world, tmp_path) == [Ripe(0, 0, waiting=2)]
    assert steps(world) == [9, 10, 100]
    time.sleep(0.02)
    ripe, first, second = cleaned(world, tmp_path)
    assert isinstance(ripe, Ripe)
    assert (ripe.count, ripe.waiting) == (2, 0)
    assert isinstance(first, Moved)
    assert isinstance(second, Moved)
    assert [first.path, second.path] == ["runs/checkpoint-9", "runs/checkpoint-10"]
    assert steps(world) == [100]
    assert content(world.entry(first.id) / "checkpoint-9") == before
    told = json.loads((world.entry(first.id).with_name(f"{first.id}.json")).read_text())
    assert told["reasons"] == list(first.reasons)
    assert (told["rule"], told["host"], told["version"]) == ("runs", "gpu1", "0.1.0")
    assert told["size"] == first.size
    assert cleaned(world, tmp_path) == [Ripe(0, 0, waiting=0)]


def test_the_second_look_waits_for_quiet_for(world: World, tmp_path: Path) -> None:
    grow(world.top, {"runs": hf(1, 2)})
    slow = Rule(NOW.path, NOW.keep, quiet_for=900)
    for _ in range(3):
        assert cleaned(world, tmp_path, slow) == [Ripe(0, 0, waiting=1)]
    assert steps(world) == [1, 2]


def test_only_rules_that_are_told_to_move_anything(world: World, tmp_path: Path) -> None:
    grow(world.top, {"runs": hf(1, 2), "more": hf(1, 2)})
    more = Rule("more", NOW.keep, quiet_for=0.01)
    cleaned(world, tmp_path, RULE, more)
    time.sleep(0.02)
    assert [type(row) for row in cleaned(world, tmp_path, RULE, more, move=False)] == [Ripe]
    assert steps(world) == steps(world, "more") == [1, 2]


@pytest.mark.parametrize("what", ["touched", "pinned", "replaced", "linked", "forgotten"])
def test_what_changed_between_the_looks_stays(world: World, tmp_path: Path, what: str) -> None:
    grow(world.top, {"runs": hf(1, 2)})
    cleaned(world, tmp_path)
    checkpoint = world.top / "runs/checkpoint-1"
    match what:
        case "touched":
            old = (checkpoint / "model.bin").stat()
            (checkpoint / "model.bin").write_bytes(b"W" * 100)
            os.utime(checkpoint / "model.bin", ns=(old.st_atime_ns, old.st_mtime_ns))
        case "pinned":
            (checkpoint / ".keep").touch()
        case "replaced":
            checkpoint.rename(world.top / "aside")
            grow(world.top / "runs", hf(1))
        case "linked":
            (world.top / "runs/mine").symlink_to("checkpoint-1")
        case "forgotten":
            (tmp_path / "memory.json").write_text('{"boot": "another", "looks": []}')
    time.sleep(0.02)
    rows = cleaned(world, tmp_path)
    assert [type(row) for row in rows] == [Ripe]
    assert steps(world) == [1, 2]


def test_a_model_goes_with_its_state(world: World, tmp_path: Path) -> None:
    run: dict[str, bytes | Tree] = {}
    for epoch in (1, 2, 3):
        run[f"lora-{epoch:06}.safetensors"] = kohya_model("lora")
        run[f"lora-{epoch:06}-state"] = kohya_state()
    grow(world.top, {"runs": run})
    cleaned(world, tmp_path)
    time.sleep(0.02)
    moved = [row for row in cleaned(world, tmp_path) if isinstance(row, Moved)]
    assert [row.names for row in moved] == [
        ("lora-000001-state", "lora-000001.safetensors"),
        ("lora-000002-state", "lora-000002.safetensors"),
    ]
    assert sorted(os.listdir(world.top / "runs")) == [
        "lora-000003-state",
        "lora-000003.safetensors",
    ]


def test_one_host_at_a_time(world: World, tmp_path: Path) -> None:
    grow(world.top, {"runs": hf(1, 2)})
    child = os.fork()
    if child == 0:
        own.lock(world.volume.trash, "trash")
        (tmp_path / "held").touch()
        time.sleep(60)
        os._exit(0)
    while not (tmp_path / "held").exists():
        time.sleep(0.01)
    assert cleaned(world, tmp_path) == [Held()]
    os.kill(child, 9)
    os.waitpid(child, 0)
    assert cleaned(world, tmp_path) == [Ripe(0, 0, waiting=1)]


def test_hosts_that_want_something_else_keep_all_from_cleaning(
    world: World, tmp_path: Path
) -> None:
    grow(world.top, {"runs": hf(1, 2)})
    cleaned(world, tmp_path)
    now = time.time()
    for host, wanted, age in [
        ("same", WANTS, 60.0),
        ("gone", "another", 86500.0),
        ("odd", "another", 3600.0),
        ("ahead", "another", -1e6),
    ]:
        hosts.publish(world.root, host, wanted, now - age)
    directory = world.top / ".gluster-ml/hosts"
    (directory / "forged.json").write_text("[" * 100_000)
    (directory / "link.json").symlink_to("odd.json")
    time.sleep(0.02)
    assert cleaned(world, tmp_path)[0] == Differing(("ahead", "odd"))
    assert steps(world) == [1, 2]
    hosts.publish(world.root, "ahead", WANTS, now)
    hosts.publish(world.root, "odd", WANTS, now)
    assert [type(row) for row in cleaned(world, tmp_path)] == [Ripe, Moved]
    assert json.loads((directory / "gpu1.json").read_text())["wants"] == WANTS


def test_what_broke_off_is_put_back_first(world: World, tmp_path: Path) -> None:
    grow(world.top, {"runs": hf(1, 2)})
    before = content(world.top / "runs")
    id_ = world.moved(world.top / "runs", "checkpoint-1")
    world.entry(id_).chmod(0o1700)
    os.chown(world.entry(id_), 0, 0)
    back, ripe = cleaned(world, tmp_path)
    assert back == Returned("runs", {"checkpoint-1": "checkpoint-1"})
    assert ripe == Ripe(0, 0, waiting=1)
    assert content(world.top / "runs") == before


def test_restored_it_stays(world: World, tmp_path: Path) -> None:
    grow(world.top, {"runs": hf(1, 2)})
    cleaned(world, tmp_path)
    time.sleep(0.02)
    (moved,) = [row for row in cleaned(world, tmp_path) if isinstance(row, Moved)]

    async def restored() -> trash.Restored | trash.Refused:
        children = Children()
        try:
            place = trash.Place(str(world.top), None)
            return await trash.restore(children, place, moved.id)
        finally:
            await children.close()

    assert isinstance(asyncio.run(restored()), trash.Restored)
    for _ in range(2):
        time.sleep(0.02)
        assert cleaned(world, tmp_path) == [Ripe(0, 0, waiting=0)]
    assert steps(world) == [1, 2]


RUN = "runs/r"
"""In the rule's own directory a pin means nothing."""


class Planned:
    """A survey of the world that is made and not yet acted on, in this process."""

    def __init__(self, world: World, *rules: Rule) -> None:
        self.world = world
        request: dict[str, object] = {
            "rules": [rule.to_row() for rule in rules or (RULE,)],
            "mounted_at": str(world.top),
            "within": [],
            "sizes": False,
            "space": False,
            "in_trash": 0,
            "threads": 0,
            "cache": "",
        }
        root = survey.open_root(str(world.top), None)
        world.closing.append(root.close)
        made = Survey(request, root)
        self.rules = made.plan()
        self.again = again.Again(made.basis())

    def move(self, name: str) -> dict[str, object]:
        order = self.world.order(self.world.top / RUN, name)
        (doomed,) = [d for r in self.rules for run in r.runs for d in run.delete if name in d.names]
        order["fingerprint"] = doomed.fingerprint

        def still(run: int, here: int, names: list[str]) -> str:
            return self.again.speaks_against(RUN, run, here, names)

        return self.world.move(order, whole.fingerprints, still)


def pin(run: Path) -> None:
    (run / "checkpoint-1/.keep").touch()


def pin_run(run: Path) -> None:
    (run / ".keep").touch()


def link(run: Path) -> None:
    (run / "best").symlink_to("checkpoint-1")


def write(run: Path) -> None:
    (run / "checkpoint-1/model.bin").write_bytes(b"new")


def newest_goes(run: Path) -> None:
    (run / "checkpoint-2").rename(run.parent / "aside")


def newest_breaks(run: Path) -> None:
    (run / "checkpoint-2/trainer_state.json").write_bytes(b"{")


def in_use(run: Path) -> None:
    (run / "checkpoint-1/.nfs0001").touch()


def best(run: Path) -> None:
    state = {"global_step": 2, "best_model_checkpoint": "/home/me/r/checkpoint-1"}
    (run / "checkpoint-2/trainer_state.json").write_text(json.dumps(state))


CHANGES = [pin, pin_run, link, write, newest_goes, newest_breaks, in_use, best]


@pytest.mark.parametrize("change", CHANGES)
def test_what_came_about_since_the_plan_keeps_it(
    world: World, change: Callable[[Path], None]
) -> None:
    grow(world.top, {"runs": {"a": hf(5), "r": hf(1, 2)}})
    planned = Planned(world)
    change(world.top / RUN)
    row = planned.move("checkpoint-1")
    assert row["row"] == "left", row
    assert 1 in steps(world, RUN)
    assert world.in_trash() == []


def test_nothing_came_about(world: World) -> None:
    grow(world.top, {"runs": {"a": hf(5), "r": hf(1, 2, 3)}})
    (world.top / "runs/r/best").symlink_to("checkpoint-2")
    planned = Planned(world)
    assert planned.move("checkpoint-1")["row"] == "moved"
    assert steps(world, RUN) == [2, 3]


@pytest.mark.parametrize("change", [link, pin_run, newest_breaks, newest_goes, best])
def test_what_came_about_while_it_moved_brings_it_back(
    world: World, change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(world.top, {"runs": {"r": {**hf(1, 2), "checkpoint-3": {"model.bin": b"begun"}}}})
    planned = Planned(world)
    before = again.Again.speaks_against

    def changing(self: again.Again, path: str, run: int, here: int, names: list[str]) -> str:
        said = before(self, path, run, here, names) if run == here else ""
        if run == here and not said:
            change(world.top / RUN)
            return ""
        return said or before(self, path, run, here, names)

    monkeypatch.setattr(again.Again, "speaks_against", changing)
    row = planned.move("checkpoint-1")
    assert row["row"] == "left", row
    assert 1 in steps(world, RUN)
    assert world.in_trash() == []


def test_a_link_out_of_a_checkpoint_that_goes_does_not_bring_it_back(world: World) -> None:
    grow(world.top, {"runs": {"r": hf(1, 2, 3)}})
    grow(world.top / RUN / "checkpoint-1", {"previous": Link("../checkpoint-2")})
    planned = Planned(world)
    assert planned.move("checkpoint-1")["row"] == "moved"
    assert steps(world, RUN) == [2, 3]


def test_a_host_s_forged_time_is_no_reason_to_end(world: World) -> None:
    hosts.publish(world.root, "gpu1", WANTS, time.time())
    forged = world.top / own.BASE / "hosts/gpu2.json"
    forged.write_text('{"wants": "", "time": 1%s}' % ("0" * 400))
    assert hosts.differing(world.root, "gpu1", WANTS, time.time()) == ["gpu2"]
    forged.write_text('{"wants": "", "time": -1%s}' % ("0" * 400))
    assert hosts.differing(world.root, "gpu1", WANTS, time.time()) == []


def test_what_is_forged_among_the_agent_s_files_is_not_opened(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To open a device can be to act on it: a watchdog begins to count, a tape is rewound."""
    hosts.publish(world.root, "gpu1", WANTS, time.time())
    os.mknod(world.top / own.BASE / "hosts/gpu2.json", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    (world.top / ".gluster-ml/trash/lock").unlink(missing_ok=True)
    os.mknod(world.top / ".gluster-ml/trash/lock", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    really = os.open
    opened = []

    def spied(path: str, flags: int, *args: int, **kwargs: int) -> int:
        descriptor = really(path, flags, *args, **kwargs)
        if not flags & os.O_PATH and stat.S_ISCHR(os.fstat(descriptor).st_mode):
            opened.append(path)
        return descriptor

    monkeypatch.setattr(os, "open", spied)
    assert hosts.differing(world.root, "gpu1", WANTS, time.time()) == []
    with pytest.raises(own.RefusedError):
        own.lock(world.volume.trash, "trash")
    assert opened == []


def test_a_large_checkpoint_is_a_sign_of_life_while_it_moves(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or who waits for one would give the pass up, and each after it."""
    grow(world.top, {"runs": hf(1, 2)})
    told = []
    monkeypatch.setattr(gather, "_INTERVAL", 0.0)
    monkeypatch.setattr(survey, "_tell", lambda looked, at: told.append(at))
    asked = {
        **request(Wanted(str(world.top), None, str(world.top), (RULE,), threads=0)),
        "memory": str(tmp_path / "memory.json"),
        "host": "gpu1",
        "version": "0.1.0",
        "wants": WANTS,
        "move": ["runs"],
        "turn": "",
    }
    rows: list[dict[str, object]] = []
    monkeypatch.setattr(channel, "emit", rows.append)
    asked = json.loads(json.dumps(asked))
    before = set(os.listdir("/proc/self/fd"))
    list(worker.clean(asked))
    time.sleep(0.02)
    after: list[int] = []
    for row in worker.clean(asked):
        if row.get("row") == "ripe":
            after.append(len(told))
        if row.get("row") == "moved":
            after.append(len(told))
    for descriptor in set(os.listdir("/proc/self/fd")) - before:
        with contextlib.suppress(OSError):  # a worker ends with its one request
            os.close(int(descriptor))
    ripe, moved = after
    assert moved - ripe >= 6  # three walks over two inodes, and the run itself

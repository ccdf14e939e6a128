"""A volume with writers and cleaners, each step of which is checked against what must never be."""

import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from agent.retention.policy import Best, Keep, Rule
from agent.worker import clean, hosts, manifest, place, purge, trashback, trashbin
from agent.worker.clock import Clock
from agent.worker.removal import Pace
from agent.worker.trashmove import Row, Volume
from tests.unit.retention.model.effects import Killed, Watch, descriptors, watching
from tests.unit.retention.model.ground import TRASH, Ground, Inventory
from tests.unit.retention.model.oracle import Now, must_stay
from tests.unit.retention.model.writers import Training, Unit

QUIET = 100.0
RULES = (
    Rule("p0", Keep(last=1), QUIET),
    Rule("p1", Keep(last=2, every_steps=4), QUIET),
    Rule("p2", Keep(last=1, best=Best(1, "eval_loss", "min")), QUIET),
    Rule("p3", Keep(newer_than=5000.0), QUIET),
)
WANTS, OTHERS = "0123456789ab", "ba9876543210"
STALE = "gpu9"
counted: Counter[str] = Counter()
"""What happened, in all runs of the model together."""
Act = Callable[[], None]


class Host(Clock):
    """A cleaner. skew: seconds that its clock is ahead.

    looks: (what the model counted, monotonic) of the passes that remembered what they planned.
    """

    def __init__(self, world: "World", number: int, memory: Path) -> None:
        self.world = world
        self.name = f"gpu{number}"
        self.memory = memory
        self.skew = 0.0
        self.looks: list[tuple[int, float]] = []
        self.asked = 0
        self.watch: Watch | None = None

    def now(self) -> float:
        return self.world.ground.wall / 1e9 + self.skew

    def monotonic(self) -> float:
        self.asked = self.world.touch()
        if self.watch is not None:
            self.watch.begin()
        return self.world.monotonic

    def reboot(self) -> None:
        """What it remembered is another boot's."""
        self.memory.unlink(missing_ok=True)
        self.looks = []

    def remembered(self) -> int:
        """Tells one memory from another."""
        return self.memory.stat().st_mtime_ns if self.memory.exists() else 0


class World:
    def __init__(self, top: Path, aside: Path) -> None:
        self.ground = Ground(top)
        self.monotonic = 1000.0
        self.count = 0
        self.stale_since: float | None = None
        self.runs: list[Training] = []
        self.hosts = [Host(self, number, aside / f"memory{number}") for number in (0, 1)]
        self._allowed: set[int] = set()
        self._judged: set[Unit] = set()
        self._depth = 0
        for rule in RULES:
            self.ground.mkdir(rule.path)
            self.ground.mkdir(f"{rule.path}/links")

    def add(self, rule: int, family: str) -> None:
        """One more run, with something of somebody's beside the checkpoints."""
        path = f"p{rule % len(RULES)}/run-{len(self.runs)}"
        self.ground.mkdir(path)
        self.ground.mkdir(f"{path}/checkpoint-500-merged")
        self.ground.write(f"{path}/checkpoint-500-merged/model.bin", b"mine")
        self.runs.append(Training(self.ground, path, family))

    def touch(self) -> int:
        """The time of a change, as the model counts."""
        self.count += 1
        return self.count

    def units(self) -> list[Unit]:
        """Those that are at their place."""
        return [unit for run in self.runs for unit in run.units if unit.is_there()]

    def entries(self) -> list[trashbin.Entry]:
        """What is in the trash."""
        with descriptors():
            volume = self._volume()
            return trashbin.entries(volume.trash) if volume.trash >= 0 else []

    def clean(self, host: Host, watch: Watch | None = None) -> None:
        """One pass of the cleaner."""
        host.watch = watch
        before = host.remembered()
        rows: list[Row] = []
        is_stale = self.stale_since is not None and host.now() - self.stale_since < 86400

        def work() -> None:
            for row in clean.clean(self._request(host), host):
                rows.append(row)  # noqa: PERF402 - those before it was killed count

        disturbed = self._checked(work, watch or Watch(), host)
        if host.remembered() != before:
            host.looks.append((host.asked, self.monotonic))
        moved = [row for row in rows if row.get("row") == "moved"]
        assert not (is_stale and moved), "a stale host is there"
        assert all(row.get("row") != "failure" for row in rows), rows
        if not disturbed:
            self._deed(rows, is_stale=is_stale)
        counted["passes"] += 1
        counted["moved"] += len(moved)
        counted["left"] += sum(row.get("row") == "left" for row in rows)
        counted["back"] += sum(row.get("row") == "back" for row in rows)

    def restore(self, id_: str, watch: Watch) -> None:
        """By root."""
        rows: list[Row] = []
        disturbed = self._checked(
            lambda: rows.append(trashback.restore(self._volume(), id_)),
            watch,
            None,
        )
        for row in rows:
            counted[str(row["row"])] += 1
            if row["row"] == "restored" and not disturbed:
                path = self.ground.at(f"{row['run']}/{names_of(row)[0]}")
                assert os.path.lexists(f"{path}/.keep") or os.path.lexists(f"{path}.keep")
                assert not self.ground.is_there(f"{TRASH}{id_}")

    def purge(self, ids: list[str], watch: Watch) -> None:
        """Of whole entries."""
        wanted, gone = self.allow(ids)
        rows: list[Row] = []

        def work() -> None:
            try:
                for row in purge.purge(self._volume(), wanted, 1, Pace(0)):
                    rows.append(row)  # noqa: PERF402
            finally:
                for thread in set(threading.enumerate()) - {threading.current_thread()}:
                    thread.join()  # what it has open must not become somebody else's

        disturbed = self._checked(work, watch, None)
        counted["purged"] += sum(row["row"] == "purged" for row in rows)
        if not disturbed:
            assert not any(self.ground.is_there(path) for path in gone)

    def allow(self, ids: list[str]) -> tuple[dict[str, int], list[str]]:
        """What of these, and of what others began to remove, goes for good: from now on it may.

        Entries by their inodes, and their paths.
        """
        wanted = {e.id: e.inode for e in self.entries() if e.state == "kept" and e.id in ids}
        gone = [f"{TRASH}{id_}" for id_ in wanted]
        gone += [f"{TRASH}{e.name}" for e in self.entries() if e.state == "gone"]
        for path in gone:
            id_ = path.removeprefix(TRASH).partition(".")[0]
            assert self.ground.is_there(f"{TRASH}{id_}.json"), "it goes without a manifest"
        self._allowed.update(
            inode
            for inode, node in self.ground.inventory().items()
            if any(node.path.startswith((f"{path}/", f"{path}.")) for path in gone)
        )
        return wanted, gone

    def leave_stale(self, seconds: float) -> None:
        """A host with other rules was seen last so many seconds ago."""
        with descriptors():
            self.stale_since = self.ground.wall / 1e9 - seconds
            hosts.publish(place.open_path(self.ground.top), STALE, OTHERS, self.stale_since)

    def update_stale(self) -> None:
        """It has the rules of all by now."""
        with descriptors():
            root = place.open_path(self.ground.top)
            hosts.publish(root, STALE, WANTS, self.ground.wall / 1e9)
        self.stale_since = None

    def _volume(self) -> Volume:
        root = place.open_path(self.ground.top)
        return Volume(root, None, trashbin.open_bin(root, make=False))

    def _request(self, host: Host) -> Row:
        return {
            "path": self.ground.top,
            "device": None,
            "mounted_at": self.ground.top,
            "rules": [rule.to_row() for rule in RULES],
            "within": [],
            "space": False,
            "in_trash": 0,
            "sizes": False,
            "threads": 0,
            "cache": "",
            "libraries": "",
            "memory": str(host.memory),
            "host": host.name,
            "version": "0.1.0",
            "wants": WANTS,
            "move": [rule.path for rule in RULES],
            "turn": str(self.touch()),
        }

    def _checked(self, work: Act, watch: Watch, host: Host | None) -> bool:
        """Do it; whether it was killed, or somebody acted meanwhile. host: who cleans, if any."""
        before = self.ground.inventory()
        there = set(self.units())
        if self._depth == 0:
            self._forget()
        acted: list[bool] = []
        act = watch.act

        def acting() -> None:
            acted.append(True)
            self.ground.forget()
            self._judge([u for u in there if not u.is_partly_there()], before, host)
            act()
            self.ground.forget()

        watch.act = acting
        self._depth += 1
        try:
            with descriptors(), watching(watch):
                work()
        except Killed:
            counted["killed"] += 1
        finally:
            self._depth -= 1
            self.ground.forget()
        counted["effects"] += watch.effects
        counted["acted"] += len(acted)
        after = self.ground.inventory()
        self._compare(before, after)
        self._judge([unit for unit in there if not unit.is_there()], before, host)
        return watch.is_dead or bool(acted)

    def _forget(self) -> None:
        self._judged = set()
        self.ground.deleted.clear()
        self.ground.changed.clear()
        self.ground.moved.clear()

    def _judge(self, gone: list[Unit], before: Inventory, host: Host | None) -> None:
        """Whether they had to stay; those that were taken by the agent."""
        found = self.ground.inventory()
        for unit in gone:
            taken = [
                inode
                for inode in unit.inodes.values()
                if inode in found and found[inode].path.startswith(TRASH)
            ]
            if not taken or unit in self._judged:
                continue
            self._judged.add(unit)
            assert host is not None, "something went to the trash, and nobody cleaned"
            self._manifest(unit, found[taken[0]].path)
            rule = next(rule for rule in RULES if unit.run.path.startswith(f"{rule.path}/"))
            why = must_stay(unit, Now(self.ground, rule, host.now(), before))
            assert not why, f"{unit.paths} went: {why}"
            assert any(
                seen > unit.touched and self.monotonic - at >= rule.quiet_for
                for seen, at in host.looks
            ), f"{unit.paths} went at the first look"

    def _manifest(self, unit: Unit, path: str) -> None:
        """What is in the trash has one that tells where it came from."""
        with descriptors():
            trash = self._volume().trash
            id_ = path.removeprefix(TRASH).partition("/")[0].partition(".")[0]
            noted = trashbin.noted(trash, id_)
        assert isinstance(noted, manifest.Manifest), f"{path} has no manifest"
        assert noted.inodes.items() >= unit.inodes.items()

    def _compare(self, before: Inventory, after: Inventory) -> None:
        """Nothing is gone, and nothing was written to, but by users."""
        ground = self.ground
        for inode, was in before.items():
            if inode in ground.deleted or inode in self._allowed:
                continue
            assert inode in after, f"{was.path} is gone"
            now = after[inode]
            if now.size >= 0 and inode not in ground.changed:
                assert (now.size, now.mtime) == (was.size, was.mtime), f"{now.path} was changed"
            if now.path != was.path and inode not in ground.moved:
                self._passage(was.path, now.path)

    def _passage(self, was: str, now: str) -> None:
        """From its place into the trash, or back to it, or from one state to the next in there."""
        if was.startswith(TRASH) and now.startswith(TRASH):
            return
        if now.startswith(TRASH):
            top = was.split("/")[2]
            assert now.split("/")[3] == top, f"{was} is {now}"
        elif was.startswith(TRASH):
            top = was.split("/")[3]
            back = now.split("/")[2]
            assert back == top or back.startswith(f"{top}.restored-"), f"{was} is {now}"
        else:
            # Put back: by another name, or into a run that got another one meanwhile.
            top, back = was.split("/")[2], now.split("/")[2]
            assert back == top or back.startswith(f"{top}.restored-"), f"{was} is {now}"
            assert now.rpartition(f"/{back}")[0] in {run.path for run in self.runs}

    def _deed(self, rows: list[Row], *, is_stale: bool) -> None:
        """Undisturbed, a pass moves what it planned and may, and leaves nothing half done."""
        (ripe,) = [row for row in rows if row.get("row") == "ripe"]
        moved = [row for row in rows if row.get("row") == "moved"]
        left = [row for row in rows if row.get("row") == "left"]
        assert not left, left
        assert len(moved) == (0 if is_stale else ripe["count"])
        for row in moved:
            for name in names_of(row):
                assert self.ground.is_there(f"{TRASH}{row['id']}/{name}")
                assert not self.ground.is_there(f"{row['run']}/{name}")
        assert all(e.state in ("kept", "gone") and e.noted for e in self.entries())


def names_of(row: Row) -> list[str]:
    """Of a unit, in a row."""
    names = row["names"]
    assert isinstance(names, list)
    return names

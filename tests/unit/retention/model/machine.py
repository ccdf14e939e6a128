"""The cleaner against a model of all who have to do with a volume: writers, users, hosts, crashes.

Every step is one of theirs: a writer's next step, a user's doing, a pass of a cleaner, which may be
killed before any change it makes, or meet somebody else's doing before any thing it asks of the
file system. The agent's code is the real one, on real files.
"""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from agent.worker import noreplace
from tests.unit.retention.model.effects import Watch
from tests.unit.retention.model.ground import Ground
from tests.unit.retention.model.volume import World, counted
from tests.unit.retention.model.writers import FAMILIES, Training, Unit

any_of = st.integers(0, 30)
numbers = st.integers(0, 1 << 16)
waits = st.sampled_from([1.0, 60.0, 101.0, 101.0, 101.0, 5001.0, 90000.0])
skews = st.sampled_from([0.0] * 8 + [-7200.0, 7200.0, 1e8, -1e8])
ACTS = [
    "go on",
    "save",
    "prune",
    "touch",
    "pin",
    "link",
    "rename",
    "move run",
    "use",
    "clean",
    "restore",
    "purge",
    "write anew",
]

top = Path()


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.where = Path(tempfile.mkdtemp(dir=top))
        (self.where / "volume").mkdir(mode=0o755)
        self.world = World(self.where / "volume", self.where)

    @initialize(
        kinds=st.lists(
            st.tuples(any_of, st.sampled_from(sorted(FAMILIES))), min_size=2, max_size=3
        ),
        far=st.booleans(),
    )
    def begin(self, kinds: list[tuple[int, str]], *, far: bool) -> None:
        noreplace._RENAME_NOREPLACE = 1 << 20 if far else 1  # as on GlusterFS, as on a tmpfs
        for number, family in kinds:
            self.world.add(number, family)
        for run in self.world.runs:
            for order in (1, 2):
                self.save(run, order)
                while run.go_on(self.world.touch()):
                    pass

    def teardown(self) -> None:
        shutil.rmtree(self.where)

    def save(self, run: Training, number: int) -> None:
        highest = max((unit.order for unit in run.units), default=0)
        # Now and then a new training in an old directory.
        order = number % max(highest, 1) + 1 if number % 8 == 0 else highest + 1 + number % 2
        run.begin(order, (number * 7919 + order) % 10007 / 10007)

    def run(self, number: int) -> Training:
        return self.world.runs[number % len(self.world.runs)]

    def unit(self, number: int) -> Unit | None:
        there = self.world.units()
        if number % 4:  # that which is likely to go next
            run = self.run(number)
            there = sorted((u for u in there if u.run is run), key=lambda u: u.order)[:1] or there
        return there[number % len(there)] if there else None

    @rule(which=any_of, number=numbers, steps=st.sampled_from([1, 2, 3, 4, 9, 9, 9, 9]))
    def saves(self, which: int, number: int, steps: int) -> None:
        counted["steps"] += 1
        self.save(self.run(which), number)
        for _ in range(steps):
            self.run(which).go_on(self.world.touch())

    @rule(which=any_of)
    def goes_on(self, which: int) -> None:
        counted["steps"] += 1
        self.run(which).go_on(self.world.touch())

    @rule(which=any_of)
    def crashes(self, which: int) -> None:
        counted["steps"] += 1
        self.run(which).stop()

    @rule(what=st.sampled_from(ACTS[:9]), which=any_of, number=numbers)
    def somebody_acts(self, what: str, which: int, number: int) -> None:
        counted["steps"] += 1
        self.act(what, which, number)

    @rule(seconds=waits)
    def time_passes(self, seconds: float) -> None:
        counted["steps"] += 1
        self.world.monotonic += seconds
        self.world.ground.wall += int(seconds * 1e9)

    @rule(which=any_of, writer=skews, cleaner=skews)
    def clocks_jump(self, which: int, writer: float, cleaner: float) -> None:
        counted["steps"] += 1
        self.run(which).skew = writer
        self.world.hosts[which % 2].skew = cleaner

    @rule(which=any_of)
    def reboots(self, which: int) -> None:
        counted["steps"] += 1
        self.world.hosts[which % 2].reboot()

    @rule(seconds=st.sampled_from([60.0, 90000.0, -1e6]), updated=st.integers(0, 3))
    def is_left_behind(self, seconds: float, updated: int) -> None:
        counted["steps"] += 1
        if updated or self.world.stale_since is not None:
            self.world.update_stale()
        else:
            self.world.leave_stale(seconds)

    @rule(which=st.integers(0, 1))
    def cleans(self, which: int) -> None:
        counted["steps"] += 1
        self.world.clean(self.world.hosts[which])

    def ripen(self, which: int, number: int, seconds: float) -> None:
        """Save one more, and have what it makes needless planned to go."""
        self.saves(number, number, 9)
        self.time_passes(seconds)
        self.cleans(which)
        self.time_passes(1.0 if number % 5 == 0 else 101.0)

    @rule(which=st.integers(0, 1), number=numbers, seconds=waits)
    def cleans_twice(self, which: int, number: int, seconds: float) -> None:
        self.ripen(which, number, seconds)
        self.cleans(which)

    @rule(which=st.integers(0, 1), number=numbers, dies=st.integers(1, 25), late=st.booleans())
    def cleans_and_is_killed(self, which: int, number: int, dies: int, *, late: bool) -> None:
        self.ripen(which, number, 101.0)
        counted["steps"] += 1
        self.world.clean(self.world.hosts[which], Watch(dies, late=late))

    @rule(
        which=st.integers(0, 1),
        acts=st.integers(1, 90),
        dies=st.sampled_from([0] * 20 + list(range(1, 21))),
        late=st.booleans(),
        what=st.sampled_from(ACTS),
        number=numbers,
    )
    def cleans_while_somebody_acts(
        self,
        which: int,
        acts: int,
        dies: int,
        what: str,
        number: int,
        *,
        late: bool,
    ) -> None:
        self.ripen(which, number, 101.0)
        counted["steps"] += 1
        watch = Watch(dies, acts, late=late)
        watch.act = lambda: self.act(what, number, number, other=1 - which)
        self.world.clean(self.world.hosts[which], watch)

    @rule(number=numbers, dies=st.integers(0, 12))
    def restores(self, number: int, dies: int) -> None:
        counted["steps"] += 1
        self.restore(number, dies)

    @rule(number=numbers, dies=st.integers(0, 5))
    def purges(self, number: int, dies: int) -> None:
        counted["steps"] += 1
        self.purge(number, dies)

    def act(self, what: str, which: int, number: int, other: int = 0) -> None:
        """What somebody does, as far as there is something to do it to."""
        run, unit = self.run(which), self.unit(number)
        match what:
            case "go on":
                run.go_on(self.world.touch())
            case "save":
                self.save(run, number)
                run.go_on(self.world.touch())
            case "write anew":
                self.write_anew(run, number)
            case "clean":
                self.world.clean(self.world.hosts[other])
            case "restore":
                self.restore(number)
            case "purge":
                self.purge(number)
            case "prune":
                self.prune(run, number)
            case "move run":
                self.move_run(run)
            case _ if unit is not None:
                self.act_on(what, unit, number)

    def act_on(self, what: str, unit: Unit, number: int) -> None:
        ground = self.world.ground
        first = unit.paths[-1]
        is_directory = os.path.isdir(ground.at(first))
        match what:
            case "touch":
                # Some write with the times of something old, as `cp -p` does.
                skew = -1e5 if number % 2 else unit.run.skew
                self.touch(unit, first, skew, is_directory=is_directory)
            case "pin":
                self.pin(unit, first, number, is_directory=is_directory)
            case "link":
                if number % 2:
                    ground.link(f"{unit.run.path}/mine", os.path.basename(first))
                elif ground.is_there(f"{unit.run.path}/mine"):
                    ground.remove(f"{unit.run.path}/mine")
            case "use" if is_directory:
                toggle(ground, f"{first}/.nfs0001")
                unit.touched = self.world.touch()
            case "rename":
                for path in filter(ground.is_there, unit.paths):
                    ground.rename(path, f"{unit.run.path}/mine-{number}-{self.world.touch()}")
                unit.run.units.remove(unit)

    def pin(self, unit: Unit, first: str, number: int, *, is_directory: bool) -> None:
        ground = self.world.ground
        of_run = f"{unit.run.path}/.keep"
        if number % 8 == 0 or ground.is_there(of_run):
            toggle(ground, of_run)
        elif is_directory:
            toggle(ground, f"{first}/.keep")
            unit.touched = self.world.touch()
        else:
            toggle(ground, f"{first}.keep")

    def touch(self, unit: Unit, first: str, skew: float, *, is_directory: bool) -> None:
        ground = self.world.ground
        inside = f"{first}/model.bin" if is_directory else first
        if ground.is_there(inside):
            ground.stamp(inside, skew=skew)
        elif is_directory:
            ground.write(f"{first}/more", b"more", skew)
        unit.touched = self.world.touch()

    def prune(self, run: Training, number: int) -> None:
        """The oldest one goes, at times but half of it."""
        complete = [unit for unit in run.units if unit.complete and unit.is_there()]
        if len(complete) < 2:
            return
        oldest = min(complete, key=lambda unit: unit.order)
        if oldest is run.unit:
            run.stop()
        ground, first = self.world.ground, oldest.paths[-1]
        oldest.complete = False
        oldest.touched = self.world.touch()
        if number % 4 == 0 and ground.is_there(f"{first}/model.bin"):
            ground.remove(f"{first}/model.bin")
            return
        for path in oldest.paths:
            if ground.is_there(path):
                ground.remove_all(path)
        run.units.remove(oldest)

    def move_run(self, run: Training) -> None:
        run.renamed += 1
        new = f"{run.path.partition('.')[0]}.{run.renamed}"
        self.world.ground.rename(run.path, new)
        run.path = new

    def write_anew(self, run: Training, number: int) -> None:
        """What went to the trash, or is on its way there, is written once more."""
        gone = [unit for unit in run.units if not unit.is_partly_there() and unit.inodes]
        if not gone:
            return
        unit = gone[number % len(gone)]
        run.units.remove(unit)
        run.begin(unit.order, unit.loss)
        run.go_on(self.world.touch())

    def kept(self, number: int) -> str:
        kept = [entry.id for entry in self.world.entries() if entry.state in ("kept", "back")]
        return kept[number % len(kept)] if kept else ""

    def restore(self, number: int, dies: int = 0) -> None:
        if id_ := self.kept(number):
            self.world.restore(id_, Watch(dies))

    def purge(self, number: int, dies: int = 0) -> None:
        if id_ := self.kept(number):
            self.world.purge([id_], Watch(dies))


def toggle(ground: Ground, path: str) -> None:
    """Remove the file, or make it."""
    if ground.is_there(path):
        ground.remove(path)
    else:
        ground.write(path, b"")

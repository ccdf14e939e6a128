"""What may never go to the trash, told without any of the agent's own code.

It knows what the writers did, where the agent has to find it out; and it says less than the plan:
not all that should go, only what must not.
"""

import json
import posixpath
from collections.abc import Iterator

from agent.retention.policy import Rule
from tests.unit.retention.model.ground import Ground, Inventory, Node
from tests.unit.retention.model.writers import Training, Unit

LEFTOVER_AFTER = 86400.0
_BY_METRIC = ("hf", "hf, renamed", "orbax")
_TRACKER = "latest_checkpointed_iteration.txt"


class Now:
    """The state of things at one moment. seconds: by the clock of the cleaner's host.

    before: what was there when the cleaner began. What was quiet then may be relied on, though it
    is written to meanwhile: it is there.
    """

    def __init__(self, ground: Ground, rule: Rule, seconds: float, before: Inventory) -> None:
        self.ground = ground
        self.rule = rule
        self.seconds = seconds
        self.before = before
        self.nodes = ground.inventory()

    def newest(self, unit: Unit) -> float:
        """The newest mtime in it, wherever it is now; seconds."""
        return _newest(unit, self.nodes)

    def inside(self, unit: Unit) -> list[str]:
        """The names in it, wherever it is."""
        tops = [self.nodes[i].path for i in unit.inodes.values() if i in self.nodes]
        return [
            posixpath.basename(node.path)
            for node in self.nodes.values()
            if any(node.path.startswith(f"{top}/") for top in tops)
        ]

    def is_older(self, unit: Unit, seconds: float) -> bool:
        """By so much, by the cleaner's clock."""
        return self.seconds - self.newest(unit) >= seconds

    def counts(self, unit: Unit) -> bool:
        """Whether it is one that a cleaner may rely on."""
        if not unit.looks_so or not unit.is_there():
            return False
        return self.seconds - self.oldest(unit) >= self.rule.quiet_for

    def oldest(self, unit: Unit) -> float:
        """Its newest mtime, now or when the cleaner began."""
        return min(self.newest(unit), _newest(unit, self.before))


def must_stay(unit: Unit, now: Now) -> str:
    """Why, "" if it may go."""
    return next(_reasons(unit, now), "")


def _reasons(unit: Unit, now: Now) -> Iterator[str]:
    run = unit.run
    yield from _of_run(run, now)
    yield from _guards(unit, now)
    counted = [each for each in run.units if each is not unit and now.counts(each)]
    newer = [each for each in counted if each.order > unit.order]
    last = now.rule.keep.last or 1
    if not any(each.complete for each in newer):
        yield "no newer complete one is there"
    if unit.looks_so and len(newer) < last:
        yield f"among the last {last}"
    newest = now.newest(unit)
    later = [each for each in counted if now.newest(each) >= newest]
    if len(later) < (last if unit.looks_so else 1):
        yield f"among the last {last} by time"
    if unit.looks_so:
        yield from _wanted(unit, counted, now)
    elif not now.is_older(unit, LEFTOVER_AFTER):
        yield "incomplete, and written to within a day"


def _of_run(run: Training, now: Now) -> Iterator[str]:
    ground = run.ground
    if ground.is_there(f"{run.path}/.keep"):
        yield "the run is pinned"
    for node in now.nodes.values():
        if node.target and (path := _leads_to(node)).startswith(f"{run.path}/"):
            name = path.removeprefix(f"{run.path}/").partition("/")[0]
            if not ground.is_there(f"{run.path}/{name}"):
                yield f"{node.path} leads to {name}, which is gone"
    there = [each for each in run.units if each.is_partly_there()]
    top = max(there, key=lambda each: each.order, default=None)
    if top is not None and run.family == "hf" and not top.complete and _is_torn(run, top):
        yield "the newest state is torn"
    if run.family == "megatron":
        said = _tracked(run)
        if not said or not ground.is_there(f"{run.path}/iter_{int(said):07}"):
            yield "the tracker names nothing that is there"


def _guards(unit: Unit, now: Now) -> Iterator[str]:
    run, names = unit.run, now.inside(unit)
    if ".keep" in names or any(now.ground.is_there(f"{path}.keep") for path in unit.paths):
        yield "pinned"
    if any(name.startswith(".nfs") for name in names):
        yield "in use"
    if not now.is_older(unit, now.rule.quiet_for):
        yield "written to just now"
    for node in now.nodes.values():
        if node.target and any(_is_in(_leads_to(node), path) for path in unit.paths):
            yield f"{node.path} leads to it"
    if run.family == "megatron" and f"iter_{int(_tracked(run) or 0):07}" in unit.names:
        yield "the tracker names it"
    if run.best:
        there = [each for each in run.units if each.looks_so and each.is_there()]
        newest = max(there, key=lambda each: each.order, default=None)
        if newest is not None and run.best.get(newest.order) in unit.names:
            yield "the newest state calls it the best"


def _wanted(unit: Unit, counted: list[Unit], now: Now) -> Iterator[str]:
    keep = now.rule.keep
    if keep.every_steps and unit.run.family != "kohya" and unit.order % keep.every_steps == 0:
        yield "every_steps"
    if keep.newer_than is not None and not now.is_older(unit, keep.newer_than):
        yield "newer_than"
    is_recorded = keep.best is not None and unit.run.family in _BY_METRIC
    if is_recorded and all(unit.loss < each.loss for each in counted):
        yield "the best"


def _newest(unit: Unit, nodes: Inventory) -> float:
    tops = [nodes[inode].path for inode in unit.inodes.values() if inode in nodes]
    inside = (n.mtime for n in nodes.values() if any(_is_in(n.path, top) for top in tops))
    return max(inside, default=0) / 1e9


def _leads_to(node: Node) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(node.path), node.target))


def _is_in(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}/")


def _is_torn(run: Training, unit: Unit) -> bool:
    try:
        with open(run.ground.at(f"{unit.paths[0]}/trainer_state.json"), "rb") as file:
            json.loads(file.read())
    except FileNotFoundError:
        return False
    except ValueError:
        return True
    return False


def _tracked(run: Training) -> str:
    try:
        with open(run.ground.at(f"{run.path}/{_TRACKER}"), encoding="ascii") as file:
            return file.read()
    except FileNotFoundError:
        return ""

"""The client is killed: how long until a read through the new mount succeeds?

From the moment of the kill to the first look at the mount that goes well, by a process that looks
all the time. By hand is the same on the same machine, alternately: `umount -l`, then mount(8) with
the same options, begun the moment after the kill.
"""

from tests.bench.figures import Figure, median, ratio
from tests.bench.stage import HAND, KEPT, Stage


def measure(stage: Stage, rounds: int) -> list[Figure]:
    kept, hand, native_unit = [], [], []
    for _ in range(rounds):
        stage.settle()
        kept.append(stage.do(KEPT, stage.client(KEPT)).seconds)
        stage.settle()
        hand.append(_by_hand(stage, stage.mount_by_hand("node1")))
        if stage.kind == "systemd":
            stage.settle()
            native_unit.append(_by_hand(stage, _systemd_mount(stage)))
    name = f"client killed ({stage.kind})"
    agent = median(f"{name}: agent", kept, at_most=1000)
    bare = median(f"{name}: umount -l and mount by hand", hand)
    figures = [agent, bare]
    if native_unit:
        figures.append(median(f"{name}: umount -l and systemd-mount by hand", native_unit))
    return [*figures, ratio(f"{name}: agent / mount by hand", agent, bare, 2)]


def _by_hand(stage: Stage, mount: list[str]) -> float:
    return stage.do(HAND, stage.client(HAND), ["umount", "-l", HAND], mount).seconds


def _systemd_mount(stage: Stage) -> list[str]:
    *_, options, what, path = stage.mount_by_hand("node1")
    unit = ["systemd-mount", "--quiet", "--collect", "--fsck=no"]
    return [*unit, "-t", "glusterfs", "-o", options, what, path]

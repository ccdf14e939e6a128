"""The client is killed: how long until a read through the new mount succeeds?

From the moment of the kill to the first look at the mount that goes well, by a process that looks
all the time. By hand is the same on the same machine, alternately: `umount -l`, then the very
mount(8) command that the agent gives, its backup servers included, begun the moment after the
kill. Where PID 1 is systemd, systemd-mount(1) by hand is printed beside it: it makes what the
agent makes, a mount unit.
"""

from tests.bench.figures import Figure, median, ratio
from tests.bench.stage import HAND, KEPT, Stage

BACKUPS = "backup-volfile-servers=node2:node3"


def measure(stage: Stage, rounds: int) -> list[Figure]:
    kept, hand, native_unit = [], [], []
    unmount = ["umount", "-l", HAND]
    for _ in range(rounds):
        stage.settle()
        kept.append(stage.killed(KEPT))
        stage.settle()
        hand.append(stage.killed(HAND, unmount, stage.mount_by_hand("node1", BACKUPS)))
        if stage.kind == "systemd":
            stage.settle()
            native_unit.append(stage.killed(HAND, unmount, _systemd_mount(stage)))
    name = f"client killed ({stage.kind})"
    agent = median(f"{name}: agent", kept, at_most=1000)
    bare = median(f"{name}: umount -l and mount by hand", hand)
    figures = [agent, bare, ratio(f"{name}: agent / mount by hand", agent, bare, 2)]
    if native_unit:
        unit = median(f"{name}: umount -l and systemd-mount by hand", native_unit)
        figures += [unit, ratio(f"{name}: agent / systemd-mount by hand", agent, unit)]
    return figures


def _systemd_mount(stage: Stage) -> list[str]:
    *_, options, what, path = stage.mount_by_hand("node1", BACKUPS)
    unit = ["systemd-mount", "--quiet", "--collect", "--fsck=no"]
    return [*unit, "-t", "glusterfs", "-o", options, what, path]

"""The preferred volfile server does not answer: what does the mount cost?

From the end of an unmount by hand to the first look at the agent's new mount that goes well:
noticing it is in the figure. Against it mount(8) given a live server first, from its beginning to
the first look that goes well; beside it what mount(8) makes of the same servers by itself.
"""

from collections.abc import Callable

from tests.bench.figures import Figure, median, ratio
from tests.bench.stage import HAND, KEPT, Stage
from tests.lab import faults
from tests.lab.faults import Fault
from tests.lab.server import Server

BACKUPS = "backup-volfile-servers=node2:node3"


def refusing(stage: Stage, rounds: int) -> list[Figure]:
    """Nobody listens on the first server's port 24007; its bricks serve."""
    return _measure(stage, rounds, "refuses", faults.port_refusing, at_most=3, native=rounds)


def silent(stage: Stage, rounds: int) -> list[Figure]:
    """The first server's host is gone without a word, its brick with it.

    Every client waits 10 s for such a brick, by hand or not; and no less if only port 24007 is
    silent, where a client asks for its bricks' ports.
    """
    return _measure(stage, rounds, "is silent", faults.silent, at_most=1.2, native=1)


def _measure(
    stage: Stage,
    rounds: int,
    what: str,
    fault: Callable[[Server], Fault],
    *,
    at_most: float,
    native: int,
) -> list[Figure]:
    kept, live, slow = [], [], []
    stage.settle()
    with fault(stage.lab.server("node1")):
        for number in range(rounds):
            stage.quiet()
            kept.append(stage.unmounted(KEPT))
            stage.quiet()
            live.append(stage.unmounted(HAND, stage.mount_by_hand("node2")))
            if number < native:
                stage.quiet()
                slow.append(stage.unmounted(HAND, stage.mount_by_hand("node1", BACKUPS)))
    stage.agent.await_verdict("healthy")
    name = f"first server {what} ({stage.kind})"
    agent = median(f"{name}: agent", kept)
    hand = median(f"{name}: mount, a live server first", live)
    alone = median(f"{name}: mount with {BACKUPS}", slow)
    return [
        *(agent, hand, alone),
        ratio(f"{name}: agent / mount, a live server first", agent, hand, at_most),
    ]

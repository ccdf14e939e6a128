"""`python -m tests.demo`: play it. Exit 0 as expected, 1 not so, 130 interrupted."""

import signal
import sys
import time

from tests.demo.acts import Demo
from tests.demo.narrator import Narrator, NotAsExpected
from tests.lab import base, runs
from tests.lab.cluster import Cluster
from tests.lab.shell import LabError

INTERRUPTED = 130


def main() -> int:
    """From an empty machine to an empty machine."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    narrator = Narrator()
    demo: Demo | None = None
    lab: Cluster | None = None
    code = 1
    try:
        if not base.is_built():
            print("Building a small Debian for the GPU host: once, a minute or two.", flush=True)
            base.tree()
            narrator = Narrator()
        began = time.monotonic()
        lab = Cluster.start(servers=3)
        narrator.figure(f"lab {lab.run.id}: three storage servers are up", _since(began))
        demo = Demo(lab, narrator)
        demo.play()
        code = 0
    except (NotAsExpected, LabError, AssertionError) as error:
        print(f"\nNOT AS EXPECTED: {error}", flush=True)
    except KeyboardInterrupt:
        print("\ninterrupted", flush=True)
        code = INTERRUPTED
    # The rest is to be done whatever comes.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    return _clear_up(lab) or code


def _clear_up(lab: Cluster | None) -> int:
    """1 if something of the lab is still there."""
    if lab is None:
        return 0
    began = time.monotonic()
    lab.down()
    left = runs.leftovers(lab.run)
    for thing in left:
        print(f"   LEFT BEHIND: {thing}", flush=True)
    if not left:
        print(
            f"\nThe lab is gone again, {_since(began):.1f} s; nothing of it is left behind.",
            flush=True,
        )
    return 1 if left else 0


def _since(moment: float) -> float:
    return time.monotonic() - moment


if __name__ == "__main__":
    sys.exit(main())

"""Runs inside a machine of the lab: a tree with old ids, users who disturb, passes over it.

Called with what to do, the folder on the mount, and more; prints one line of JSON.
"""

import json
import os
import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.system.remap_ground import Ground

THREADS = 8
"""As by hand on a network's file system."""


def main() -> object:
    do, top, more = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    ground = Ground(top)
    match do, more:
        case "make", []:
            top.mkdir()
            ground.make()
        case "steps", [level, way]:
            steps, reasons = ground.steps(level, way)
            return {"steps": steps, "reasons": sorted(reasons)}
        case "disturb", []:
            os.chdir(top)
            return Ground(Path()).disturb(random.Random(1))  # noqa: S311
        case "rounds", [count]:
            return ground.rounds(int(count), THREADS)
        case "outsiders", []:
            return ground.outsiders()
        case "insiders", []:
            return sorted(ground.insiders())
    return None


if __name__ == "__main__":
    print(json.dumps(main()))

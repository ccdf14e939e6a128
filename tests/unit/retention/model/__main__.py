"""So many steps of the model on a tmpfs: python -m tests.unit.retention.model STEPS SEED.

For root. Prints what happened, as JSON; a failure with the steps that show it.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.unit.retention.model import effects, machine
from tests.unit.retention.model.volume import counted

EACH = 50
"""What hypothesis chooses on one volume; some choices are several steps."""


def main() -> None:
    steps, number = map(int, sys.argv[1:])
    os.umask(0)  # as the worker's
    effects.install()
    with tempfile.TemporaryDirectory(prefix="model-") as where:
        machine.top = Path(where)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", where], check=True)
        try:
            while (left := steps - counted["steps"]) > 0:
                run_state_machine_as_test(seed(number)(machine.Model), settings=_settings(left))
                number += 1000
        finally:
            subprocess.run(["umount", "--lazy", where], check=True)
    print(json.dumps(counted))


def _settings(steps: int) -> settings:
    return settings(
        max_examples=max(1, steps // (2 * EACH)),
        stateful_step_count=EACH,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


if __name__ == "__main__":
    main()

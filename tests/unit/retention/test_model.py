"""The cleaner against a model of all who have to do with a volume: see model/machine.py."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
STEPS = int(os.environ.get("MODEL_STEPS", "100000"))
SEEDS = os.environ.get("MODEL_SEEDS", "1 2").split()
"""A process for each, with its share of the steps."""


@pytest.mark.slow
@pytest.mark.timeout(0 if "MODEL_STEPS" in os.environ else 600)
def test_nothing_needed_ever_goes() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    share = str(STEPS // len(SEEDS))
    command = [sys.executable, "-m", "tests.unit.retention.model", share]
    models = [
        subprocess.Popen(
            ["unshare", "--mount", "--", *command, number], cwd=REPOSITORY, stdout=subprocess.PIPE
        )
        for number in SEEDS
    ]
    happened: Counter[str] = Counter()
    for model in models:
        said = model.communicate()[0]
        assert model.returncode == 0, said.decode()
        happened.update(json.loads(said.splitlines()[-1]))
    print(dict(happened))
    assert happened["steps"] >= STEPS
    # What never happens can't go wrong.
    for what in ("moved", "back", "killed", "acted", "restored", "purged", "refused", "left"):
        assert happened[what] * 10000 >= STEPS, what

"""What several tests need: the manual pages and the completion, as the generator makes them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
DATE = "2026-01-02"


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with everything that packaging/man/generate.py writes.

    GLUSTER_ML_MADE names one that was filled before, with another release's docutils and shtab.
    """
    if before := os.environ.get("GLUSTER_ML_MADE"):
        return Path(before)
    directory = tmp_path_factory.mktemp("made") / "new"
    generator = REPOSITORY / "packaging/man/generate.py"
    # Nothing of this run's environment: as in a build of the package.
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY)}
    environ["SOURCE_DATE_EPOCH"] = "1767312000"
    subprocess.run([sys.executable, generator, directory], check=True, env=environ, timeout=120)
    return directory

"""The demo plays to its end as expected, and leaves nothing behind, also when interrupted."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lab import runs

REPOSITORY = Path(__file__).parents[2]


@contextmanager
def demo() -> Iterator[subprocess.Popen[str]]:
    """The demo in a session of its own, as a terminal would have it."""
    with subprocess.Popen(
        # Whoever runs these tests in the background has the shell ignore SIGINT for them.
        ["env", "--default-signal=INT", sys.executable, "-m", "tests.demo"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()


def run_of(text: str) -> runs.Run:
    found = re.search(r"lab (\w+):", text)
    assert found, text
    return runs.Run(found[1])


@pytest.mark.timeout(600)
def test_it_plays_as_expected() -> None:
    with demo() as process:
        text, _ = process.communicate()
    assert process.returncode == 0, text
    assert "ok: not one record is lost" in text
    assert runs.leftovers(run_of(text)) == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_nothing_behind(number: signal.Signals) -> None:
    with demo() as process:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if "a job starts" in line:
                break
        os.killpg(process.pid, number)
        said += process.stdout.read()
    assert process.returncode == 130, said
    assert runs.leftovers(run_of(said)) == []

"""Frameworks themselves write checkpoints: the agent's survey holds its own against them."""

import functools
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.retention.facts import Run
from agent.worker import latest
from tests.unit.retention import real

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / "build/frameworks/bin/python"
"""Of the venv that `make test-frameworks` makes."""
PATIENCE = 900.0
"""Seconds for a writer: most of them go by while its libraries are loaded."""
CUT = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".distcp", ".json", "_METADATA")
pytestmark = pytest.mark.timeout(PATIENCE + 300)


@pytest.fixture(scope="session")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Has a writer write, once."""

    @functools.cache
    def written(writer: str) -> Path:
        directory = tmp_path_factory.mktemp(writer)
        done = subprocess.run(
            [PYTHON, HERE / f"writers/{writer}.py", directory],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-5000:]
        return directory

    return written


@pytest.fixture(params=sorted(real.FAMILIES))
def writer(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def surveyed(directory: Path) -> tuple[Run, ...]:
    """By the worker's own view and search."""
    view, _ = latest._opened(str(directory))
    try:
        return latest._runs(view, 0)
    finally:
        view.close()


def newest(directory: Path) -> str | None:
    """What `checkpoints latest` answers."""
    view, stem = latest._opened(str(directory))
    try:
        answer = latest._answer(view, stem, 0).get("latest")
    finally:
        view.close()
    return None if answer is None else str(answer)


def test_all_that_a_framework_wrote_is_found(write: Callable[[str], Path], writer: str) -> None:
    directory = write(writer)
    whole = real.of_writer(directory)
    real.check(surveyed(directory / "run"), writer, whole.truth)
    assert newest(directory / "run") == whole.truth["latest"]
    if os.environ.get("RECORD"):
        real.record(whole, writer)


def test_a_save_that_was_cut_counts_for_nothing(write: Callable[[str], Path], writer: str) -> None:
    directory = write(writer)
    whole = real.of_writer(directory)
    assert len(whole.cuts) > 2
    for path, cut in zip(sorted((directory / "cuts").iterdir()), whole.cuts, strict=True):
        real.check_cut(surveyed(path), writer, cut, whole)
        name = newest(path)
        assert name is None or real.is_whole(name, writer, cut, whole), path


def test_latest_passes_over_what_is_torn(
    write: Callable[[str], Path], writer: str, tmp_path: Path
) -> None:
    directory = write(writer)
    name = real.of_writer(directory).truth["latest"]
    run = tmp_path / "run"
    shutil.copytree(directory / "run", run, symlinks=True)
    files = [run / name] if (run / name).is_file() else sorted((run / name).rglob("*"))
    torn = [each for each in files if each.name.endswith(CUT) and each.is_file()]
    assert torn
    for file in torn:
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
        assert newest(run) != name, file.name
        file.write_bytes(content)
    assert newest(run) == name

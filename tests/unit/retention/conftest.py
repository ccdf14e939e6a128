"""A volume for the tests of the trash: a file system of its own, and so root is needed."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.retention.trash_world import World


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--on-volume",
        metavar="PATH",
        type=Path,
        help="test the trash in directories below PATH, on GlusterFS, instead of on a tmpfs",
    )


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    given: Path | None = request.config.getoption("--on-volume", None)
    top = given / tmp_path.name if given else tmp_path / "volume"
    top.mkdir()
    if given is None:
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(top)], check=True)
    top.chmod(0o755)
    umask = os.umask(0)  # as the worker's
    try:
        made = World(top)
        yield made
        made.close()
    finally:
        os.umask(umask)
        for line in Path("/proc/self/mountinfo").read_text().splitlines()[::-1]:
            if (path := line.split()[4]).startswith(f"{top}/"):
                subprocess.run(["umount", "--lazy", path], check=True)
        if given is None:
            subprocess.run(["umount", str(top)], check=True)
        else:
            shutil.rmtree(top)

"""The package bundles just what the tests ran with."""

import re
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
TESTED = REPOSITORY / "requirements.txt"
BUNDLED = REPOSITORY / "packaging/deb/requirements.txt"


def pins(file: Path) -> dict[str, str]:
    found = re.findall(r"^([\w.-]+)==([\w.]+)", file.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


def test_bundled_libraries_have_the_tested_versions() -> None:
    tested = pins(TESTED)
    assert {name: tested.get(name) for name in pins(BUNDLED)} == pins(BUNDLED)


def test_every_dependency_is_bundled() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[<>=!~ ]", line)[0].lower() for line in project["dependencies"]}
    assert names <= set(pins(BUNDLED))


def test_every_bundled_file_has_its_hash() -> None:
    entries = re.split(r"^(?=\S+==)", BUNDLED.read_text(), flags=re.MULTILINE)[1:]
    assert entries
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", entry) for entry in entries)

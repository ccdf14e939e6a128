"""`ids check` against this machine's own name service."""

import subprocess
import sys
from pathlib import Path

MAP = """\
mounts: {}
identities:
  groups: {gml-test: 59990}
  users: {gml-user: {uid: 59991, group: gml-test}}
"""


def check(directory: Path, text: str) -> tuple[int, str, str]:
    file = directory / "agent.yaml"
    file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "agent", "ids", "check", "--config", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def test_each_difference_is_a_line(tmp_path: Path) -> None:
    code, out, err = check(tmp_path, MAP)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "lacks group gml-test with number 59990",
        "lacks user gml-user with number 59991 and group 59990",
    ]


def test_without_a_map_there_is_nothing_to_differ_from(tmp_path: Path) -> None:
    code, out, err = check(tmp_path, "mounts: {}\n")
    assert (code, err) == (0, "")
    assert out.endswith("agent.yaml has no identities\n")


def test_a_file_that_is_not_valid_is_told_by_its_line(tmp_path: Path) -> None:
    code, out, err = check(tmp_path, MAP.replace("59990", "0"))
    assert (code, out) == (1, "")
    assert "agent.yaml:3:22: identities.groups.gml-test: " in err

"""The script for login shells: the variables, and nothing else, whatever the file holds."""

import os
import subprocess
from pathlib import Path

import pytest

from agent.config.load import load
from agent.environment import file
from tests.unit.environment.shells import CONFIG, EXPECTED, SHELLS, environ, pairs, shell

PROFILE = Path(__file__).parents[3] / "etc/profile.d/gluster-ml-agent.sh"


@pytest.fixture
def login(tmp_path: Path) -> Path:
    """The script as shipped, but for the file it reads: `environment` beside it."""
    text = PROFILE.read_text()
    assert text.count("/run/gluster-ml/environment") == 3
    script = tmp_path / PROFILE.name
    script.write_text(text.replace("/run/gluster-ml/environment", str(tmp_path / file.NAME)))
    file.write(tmp_path, load(CONFIG, "f").config)
    return script


STRICT = ["", "set -e; ", "set -u; ", "set -eu; ", "set -f; ", "IFS=/; "]


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("before", STRICT)
def test_a_login_gets_them(login: Path, name: str, before: str) -> None:
    found = environ(shell(name, "-c", f"{before}. {login}; env -0"), LC_ALL="C")
    assert found == pairs(EXPECTED)
    found = environ(shell(name, "-c", f"{before}. {login}; env -0"), LC_ALL="C.UTF-8")
    assert found == pairs(EXPECTED)


@pytest.mark.parametrize("name", SHELLS)
def test_a_login_is_left_as_it_was_otherwise(login: Path, name: str) -> None:
    def state(script: str) -> list[str]:
        done = subprocess.run(
            shell(name, "-c", f"{script}; set; set +o; alias"),
            check=True,
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"]},
        )
        lines = done.stdout.splitlines()
        return [line for line in lines if not line.startswith(("BASH_", "_=", "LINENO", "RANDOM"))]

    added = [line for line in state(f". {login}") if line not in state(":")]
    assert {line.partition("=")[0] for line in added} <= {*pairs(EXPECTED), "argv"}


@pytest.mark.parametrize("name", SHELLS)
def test_nothing_in_the_file_is_run(login: Path, name: str) -> None:
    trap = login.with_name("trapped")
    evil = f"""\
A=/x$(touch {trap})
B=/x`touch {trap}`
C=/x; touch {trap}
touch {trap}
$(touch {trap})=/x
D=/a'b"c\\d *
PATH=/evil
LD_PRELOAD=/evil.so
PYTHONPATH=/evil
ENV=/evil
BASH_ENV=/evil
lower=/x
E[0]=/x
F+=/x
1G=/x
=/x
H
I=relative
J=
"""
    login.with_name(file.NAME).write_text(evil + "Z=/last-and-without-a-newline")
    found = environ(shell(name, "-c", f". {login}; env -0"))
    assert found == {
        "A": f"/x$(touch {trap})",
        "B": f"/x`touch {trap}`",
        "C": f"/x; touch {trap}",
        "D": "/a'b\"c\\d *",
    }
    assert not trap.exists()


@pytest.mark.parametrize("name", SHELLS)
def test_a_login_without_the_file(login: Path, name: str) -> None:
    login.with_name(file.NAME).unlink()
    assert environ(shell(name, "-c", f"set -eu; . {login}; env -0")) == {}
    login.with_name(file.NAME).write_text("")
    assert environ(shell(name, "-c", f"set -eu; . {login}; env -0")) == {}


@pytest.mark.parametrize("name", SHELLS)
def test_a_login_starts_no_process_and_looks_at_no_mount(login: Path, name: str) -> None:
    """A path that can't be looked at, as the program for it isn't there, and strace sees all."""
    trace = login.with_name("trace")
    command = ["strace", "-f", "-o", str(trace), "-e", "trace=%file,%process"]
    subprocess.run([*command, *shell(name, "-c", f". {login}")], check=True, timeout=60)
    calls = trace.read_text()
    assert str(login.with_name(file.NAME)) in calls
    assert "/mnt/" not in calls
    assert "fork" not in calls
    assert "clone" not in calls
    assert calls.count("execve(") == 1

"""The completion, in a real bash on a terminal."""

import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.environment.forms import Form
from agent.health import statusfile
from tests.unit.health.samples import HEALTHY, HUNG, agent_status
from tests.unit.test_documents import commands


class Bash:
    """An interactive bash with nothing of the user's, which has read the completion."""

    def __init__(self, completion: Path, directory: Path, runtime_dir: Path) -> None:
        self._terminal, inner = os.openpty()
        wide = struct.pack("HHHH", 24, 500, 0, 0)
        fcntl.ioctl(inner, termios.TIOCSWINSZ, wide)
        self._process = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            cwd=directory,
            env={
                "PATH": os.environ["PATH"],
                "TERM": "dumb",
                "INPUTRC": "/dev/null",
                "RUNTIME_DIRECTORY": f"{runtime_dir}:/elsewhere",
            },
            start_new_session=True,
        )
        os.close(inner)
        self._read: bytes = b""
        self.run(f"source {completion}; echo '<>'")

    def run(self, typed: str) -> str:
        """Types a line, and returns what it prints between < and >, at the beginning of a line."""
        self._read = b""
        os.write(self._terminal, typed.encode() + b"\n")
        deadline = time.monotonic() + 60
        while not (found := re.search(rb"\n<(.*?)>\r\n", self._read, re.DOTALL)):
            assert select.select([self._terminal], [], [], deadline - time.monotonic())[0], self
            self._read += os.read(self._terminal, 65536)
        return found[1].decode()

    def tab(self, line: str) -> str:
        """What becomes of a line when TAB is pressed at its end."""
        at_the_beginning, at_the_end = "\x01", "\x05"
        return self.run(f'{line}\t{at_the_beginning}echo "<{at_the_end}>"')

    def offered(self, line: str) -> set[str]:
        """All words that are offered for the last word of a line."""
        words = " ".join(f"'{word}'" for word in line.split(" "))
        return set(
            self.run(
                f"COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
                'COMPREPLY=(); _gluster_ml_agent; echo "<${COMPREPLY[*]-}>"'
            ).split()
        )

    def end(self) -> None:
        self._process.kill()
        self._process.wait(60)
        os.close(self._terminal)

    def __repr__(self) -> str:
        return f"bash said {self._read!r}"


@pytest.fixture
def bash(made: Path, tmp_path: Path) -> Iterator[Bash]:
    """In a directory with files, and one named as a mount is; the agent has two mounts."""
    (tmp_path / "run").mkdir()
    statusfile.write(tmp_path / "run", agent_status(HEALTHY, HUNG))
    work = tmp_path / "work"
    work.mkdir()
    (work / HUNG.name).mkdir()
    (work / "my new.yaml").touch()
    (work / "site").mkdir()
    shell = Bash(made / "gluster-ml-agent", work, tmp_path / "run")
    yield shell
    shell.end()


def test_commands_and_options(bash: Bash) -> None:
    first = {name.split()[0] for name in commands()}
    assert bash.offered("gluster-ml-agent ") == first
    assert bash.offered("gluster-ml-agent r") == {"run", "resume"}
    assert bash.offered("gluster-ml-agent --") == {"--help", "--version", "--config"}
    assert bash.offered("gluster-ml-agent --config a.yaml ") == first
    assert bash.offered("gluster-ml-agent ids ") == {"check", "remap"}
    for name, command in commands().items():
        options = {option for a in command._actions for option in a.option_strings}
        assert bash.offered(f"gluster-ml-agent {name} -") == options


def test_mounts_where_one_can_be_named(bash: Bash) -> None:
    names = {HEALTHY.name, HUNG.name}
    for command in (
        "status",
        "wait",
        "pause",
        "resume",
        "status --json",
        "wait --timeout 2m",
        "env --mount",
    ):
        assert bash.offered(f"gluster-ml-agent {command} ") == names
    assert bash.offered(f"gluster-ml-agent wait {HUNG.name[:3]}") == {HUNG.name}
    assert bash.offered("gluster-ml-agent wait --timeout ") == set()
    assert bash.offered(f"gluster-ml-agent wait {HUNG.name} ") == set()


def test_the_forms_of_the_environment(bash: Bash) -> None:
    assert bash.offered("gluster-ml-agent env --format ") == {form.value for form in Form}
    assert bash.offered("gluster-ml-agent env --format do") == {"docker"}


def test_no_agent_no_mounts(bash: Bash, tmp_path: Path) -> None:
    (tmp_path / "run/status.json").unlink()
    assert bash.offered("gluster-ml-agent wait ") == set()
    statusfile.write(tmp_path / "run", agent_status())
    assert bash.offered("gluster-ml-agent wait ") == set()


def test_a_mounts_name_is_not_looked_up_as_a_file(bash: Bash) -> None:
    """A directory of that name gets no slash: nobody looked whether there is one."""
    beginning = f"gluster-ml-agent status {HUNG.name}"
    assert bash.tab(beginning[:-3]) == f"{beginning} "
    assert bash.tab("gluster-ml-agent sta") == "gluster-ml-agent status "


def test_files_where_one_is_wanted(bash: Bash) -> None:
    assert bash.tab("gluster-ml-agent check si") == "gluster-ml-agent check site/"
    assert bash.tab("gluster-ml-agent check my") == "gluster-ml-agent check my\\ new.yaml "
    assert bash.tab("gluster-ml-agent --config si") == "gluster-ml-agent --config site/"
    assert bash.tab("gluster-ml-agent run --config si") == "gluster-ml-agent run --config site/"
    assert bash.tab("gluster-ml-agent status si") == "gluster-ml-agent status si"


def test_nothing_is_left_in_the_users_shell(bash: Bash) -> None:
    bash.offered("gluster-ml-agent wait ")
    shown = bash.run('echo "<${prefix-} ${word_index-} ${sub_parsers-} ${current_action-}>"')
    assert shown.strip() == ""

import argparse
import subprocess
import sys
import types
from pathlib import Path

import pytest

from agent.cli import main as program
from agent.cli.arguments import parser
from agent.errors import AgentError


def install(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Puts a command in the place of `status` that ends by an error."""

    def execute(_args: argparse.Namespace) -> int:
        raise error

    module = types.ModuleType("agent.cli.status")
    vars(module)["execute"] = execute
    monkeypatch.setitem(sys.modules, "agent.cli.status", module)


def test_an_agent_error_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, AgentError("code", "it failed\nbadly", "try this"))
    assert program.main(["status"]) == 1
    assert capsys.readouterr().err == "gluster-ml-agent: it failed\\x0abadly; try this\n"


@pytest.mark.parametrize("debug", [False, True])
def test_a_bug_shows_its_traceback_only_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, debug: bool
) -> None:
    install(monkeypatch, RuntimeError("boom"))
    monkeypatch.setenv("GLUSTER_ML_DEBUG", "1" if debug else "")
    assert program.main(["status"]) == 70
    err = capsys.readouterr().err
    assert ("Traceback" in err) == debug
    assert "internal error, a bug of the agent: RuntimeError: boom" in err.splitlines()[-1]


def test_interrupted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    install(monkeypatch, KeyboardInterrupt())
    assert program.main(["status"]) == 130
    assert capsys.readouterr().err == ""


def test_config_before_and_after_the_command() -> None:
    parse = parser().parse_args
    assert str(parse(["status"]).config) == "/etc/gluster-ml/agent.yaml"
    assert str(parse(["--config", "a", "status"]).config) == "a"
    assert str(parse(["status", "--config", "b"]).config) == "b"
    assert str(parse(["--config", "a", "status", "--config", "b"]).config) == "b"


def closed(tmp_path: Path, redirections: str, *arguments: str) -> tuple[int, str]:
    """Run the program with these; its exit code, and what it says on what is left open."""
    file = tmp_path / "agent.yaml"
    file.write_text("mounts: {}\n")
    argv = [sys.executable, "-m", "agent", "--config", str(file), *arguments]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirections}', "sh", *argv],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_change_the_exit_code(tmp_path: Path, streams: str) -> None:
    code, said = closed(tmp_path, streams, "check")
    assert code == 0
    assert said.endswith("valid, 0 mounts\n") == (">&-" not in streams.split())
    assert closed(tmp_path, streams, "check", "/nonexistent")[0] == 1


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_full_disk_is_told_of_by_options_that_only_print(tmp_path: Path, option: str) -> None:
    code, said = closed(tmp_path, "> /dev/full", option)
    assert code == 1
    assert said == "gluster-ml-agent: can't write the output: No space left on device\n"

import argparse
import sys
import types

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

import json
import os
import pty
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import agent
from agent.cli import pause
from agent.cli.main import main
from agent.files import file_state
from agent.health import pausefile, statusfile
from agent.model.mount import ProcessId
from agent.model.status import AgentStatus, ConfigState
from agent.model.verdict import Verdict
from tests.unit.health.samples import HEALTHY, HUNG, IDENTITIES, agent_status, config

CONFIG = """\
mounts:
  model-share:
    volume: model-store
    servers: [node1, node2]
    path: /mnt/model-share
"""


@dataclass
class Host:
    """Directories of an agent, and the program run against them as a user would."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "agent.yaml"

    @property
    def run_dir(self) -> Path:
        return self.root / "run"

    @property
    def state_dir(self) -> Path:
        return self.root / "state"

    def start(self, *arguments: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
        environ = {
            "PATH": os.environ["PATH"],
            "RUNTIME_DIRECTORY": f"{self.run_dir}:/elsewhere",
            "STATE_DIRECTORY": str(self.state_dir),
            "TZ": "UTC",
        }
        return subprocess.Popen(
            [sys.executable, "-m", "agent", "--config", str(self.config), *arguments],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    def call(self, *arguments: str) -> tuple[int, str, str]:
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def say(self, *mounts: object, **changes: object) -> AgentStatus:
        status = agent_status(*mounts, **{"time": time.time(), **changes})  # type: ignore[arg-type]
        statusfile.write(self.run_dir, status)
        return status


@pytest.fixture
def host(tmp_path: Path) -> Host:
    made = Host(tmp_path)
    made.run_dir.mkdir()
    made.state_dir.mkdir()
    return made


def test_version_and_usage(host: Host) -> None:
    assert host.call("--version") == (0, f"gluster-ml-agent {agent.__version__}\n", "")
    code, out, err = host.call("mend")
    assert (code, out) == (64, "")
    assert len(err.splitlines()) == 1
    assert host.call("wait", "a", "--timeout", "30")[0] == 64


@pytest.mark.parametrize(
    ("verdict", "code", "word"),
    [(Verdict.HEALTHY, 0, "OK"), (Verdict.SLOW, 1, "WARNING"), (Verdict.HUNG, 2, "CRITICAL")],
)
def test_status_exits_as_monitoring_counts(
    host: Host, verdict: Verdict, code: int, word: str
) -> None:
    host.say(HEALTHY, replace(HUNG, verdict=verdict))
    found, out, err = host.call("status")
    assert (found, err) == (code, "")
    assert out.startswith(f"gpu-17: {word}: ")
    assert host.call("status", "datasets")[0] == 0


def test_status_of_one_mount_is_about_that_one(host: Host) -> None:
    host.say(HEALTHY, HUNG, identities=IDENTITIES)
    _, out, _ = host.call("status", "datasets")
    assert out.splitlines()[0] == "gpu-17: OK: 1 mount healthy"
    assert "model-share" not in out
    assert "users and groups" not in out
    assert "users and groups" in host.call("status")[1]


def test_status_as_json_is_the_file(host: Host) -> None:
    host.say(HEALTHY, HUNG)
    code, out, _ = host.call("status", "--json")
    assert code == 2
    assert json.loads(out) == json.loads((host.run_dir / "status.json").read_text())
    code, out, _ = host.call("status", "datasets", "--json")
    assert code == 0
    assert json.loads(out)["mounts"].keys() == {"datasets"}


def test_status_of_a_host_with_a_rejected_configuration_warns(host: Host) -> None:
    host.say(HEALTHY, config=config(ConfigState.REJECTED, "agent.yaml:1:2: wrong"))
    code, out, _ = host.call("status")
    assert code == 1
    assert "agent.yaml:1:2: wrong" in out


def test_status_without_an_agent(host: Host) -> None:
    code, out, err = host.call("status")
    assert (code, err) == (3, "")
    assert "UNKNOWN: the agent isn't running" in out
    code, out, err = host.call("status", "--json")
    assert (code, out) == (3, "")
    assert "UNKNOWN" in err
    host.say(HEALTHY, pid=ProcessId(1, 2**60))
    assert host.call("status")[0] == 3
    host.say(HEALTHY, time=time.time() - 200)
    assert host.call("status")[0] == 3


def test_status_of_an_unknown_mount(host: Host) -> None:
    host.say(HEALTHY)
    code, out, _ = host.call("status", "other")
    assert code == 3
    assert "there is: datasets" in out


def test_status_of_a_mount_without_a_verdict(host: Host) -> None:
    host.say(HEALTHY, unjudged=("model-share",))
    assert host.call("status", "datasets")[0] == 0
    code, out, _ = host.call("status", "model-share")
    assert code == 3
    assert "UNKNOWN: no verdict yet on model-share" in out
    code, out, _ = host.call("status", "--json")
    assert (code, json.loads(out)["unjudged"]) == (3, ["model-share"])


def test_status_into_a_closed_pipe_says_nothing(host: Host) -> None:
    host.say(*(replace(HUNG, name=f"m{n}") for n in range(500)))
    with host.start("status") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""


@pytest.mark.parametrize("verdict", Verdict)
def test_wait_ends_at_once_where_the_mount_is_usable(host: Host, verdict: Verdict) -> None:
    host.say(replace(HUNG, verdict=verdict, removing=False))
    code, out, err = host.call("wait", "model-share", "--timeout", "0s")
    assert out == ""
    if verdict in {Verdict.HEALTHY, Verdict.DEGRADED, Verdict.STALE_OPTIONS}:
        assert (code, err) == (0, "")
    else:
        assert code == 1
        assert err.startswith(f"gluster-ml-agent: model-share is {verdict.value}: no answer")


def test_wait_lets_no_job_start_on_a_mount_that_is_about_to_go(host: Host) -> None:
    host.say(replace(HEALTHY, removing=True))
    code, _, err = host.call("wait", "datasets", "--timeout", "0s")
    assert code == 1
    assert "no longer configured" in err


def test_wait_sees_the_mount_become_usable(host: Host) -> None:
    host.say(HUNG)
    with host.start("wait", "model-share") as process:
        timer = threading.Timer(
            1, lambda: host.say(replace(HUNG, verdict=Verdict.HEALTHY, removing=False))
        )
        timer.start()
        assert process.wait(60) == 0
        timer.join()


def test_wait_does_not_take_the_status_of_the_file_before(host: Host) -> None:
    host.config.write_text(CONFIG)
    read = replace(config(), path=str(host.config), seen=file_state(str(host.config)))
    host.say(HEALTHY, config=read)
    assert host.call("wait", HEALTHY.name, "--timeout", "0s")[0] == 0
    host.config.write_text(CONFIG + "# saved again\n")
    code, _, err = host.call("wait", HEALTHY.name, "--timeout", "0s")
    assert (code, "has not read" in err) == (1, True)
    with host.start("wait", HEALTHY.name, "--timeout", "1m") as process:
        host.say(HEALTHY, config=replace(read, seen=file_state(str(host.config))))
        assert process.wait(60) == 0


def test_wait_waits_for_an_agent_that_starts(host: Host) -> None:
    with host.start("wait", "datasets", "--timeout", "1m") as process:
        timer = threading.Timer(1, lambda: host.say(HEALTHY))
        timer.start()
        assert process.wait(60) == 0
        timer.join()


def test_wait_without_an_agent(host: Host) -> None:
    code, _, err = host.call("wait", "datasets", "--timeout", "1s")
    assert code == 3
    assert "isn't running" in err


def test_wait_for_a_mount_that_the_agent_does_not_know(host: Host) -> None:
    host.say(HEALTHY, config=config(ConfigState.REJECTED, "agent.yaml:1:2: wrong"))
    code, _, err = host.call("wait", "other", "--timeout", "1s")
    assert code == 1
    assert "no mount named other; there is: datasets" in err
    assert "agent.yaml:1:2: wrong" in err


def test_wait_for_a_mount_without_a_verdict(host: Host) -> None:
    host.say(HEALTHY, unjudged=("model-share",))
    code, _, err = host.call("wait", "model-share", "--timeout", "1s")
    assert (code, err) == (1, "gluster-ml-agent: there is no verdict on model-share yet\n")


def on_a_terminal(host: Host, *arguments: str, then: Callable[[], object]) -> list[str]:
    """What a command says on stderr where that is a terminal; then: done once it said a line."""
    ours, theirs = pty.openpty()
    with host.start(*arguments, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 4096):
                if b"\n" in said + piece and b"\n" not in said:
                    then()
                said += piece
        except OSError:  # EIO: the other end was closed
            os.close(ours)
        process.wait(60)
    return said.decode().splitlines()


def test_wait_tells_a_terminal_what_it_waits_for_and_when_that_changes(host: Host) -> None:
    absent = replace(HUNG, verdict=Verdict.ABSENT, removing=False, advice="")
    host.say(replace(absent, evidence="no server answers"))

    def change() -> None:
        for seconds in (3, 4):
            host.say(replace(absent, evidence=f"no such volume since {seconds} s"))
            time.sleep(0.5)

    said = on_a_terminal(host, "wait", HUNG.name, "--timeout", "4s", then=change)
    waiting = f"gluster-ml-agent: waiting: {HUNG.name} is absent: "
    assert said[0] == f"{waiting}no server answers"
    assert said[1].startswith(f"{waiting}no such volume since ")  # 3 s, or 4 s on a slow machine
    assert said[2:] == [f"gluster-ml-agent: {HUNG.name} is absent: no such volume since 4 s"]


def test_wait_tells_a_terminal_that_it_gives_a_new_name_time(host: Host) -> None:
    host.say(HEALTHY)
    found = replace(HEALTHY, name="other")
    said = on_a_terminal(host, "wait", "other", then=lambda: host.say(found))
    assert len(said) == 1
    assert "waiting: the running agent has no mount named other" in said[0]
    assert "up to 10 s" in said[0]


PAUSED = replace(HUNG, verdict=Verdict.PAUSED, observed=Verdict.HUNG)


def test_pause_and_resume(host: Host) -> None:
    host.say(PAUSED)
    code, out, _ = host.call("pause", "model-share")
    assert code == 0
    assert "gluster-ml-agent resume model-share" in out
    assert pausefile.paused(host.state_dir) == {"model-share"}
    assert host.call("pause", "model-share")[:2] == (0, "model-share was paused before\n")
    host.say(HUNG)
    assert host.call("resume", "model-share")[:2] == (0, "model-share is resumed\n")
    assert pausefile.paused(host.state_dir) == frozenset()
    assert host.call("resume", "model-share")[:2] == (0, "model-share was not paused\n")


def test_pause_ends_only_when_the_agent_has_taken_it_up(host: Host) -> None:
    host.say(HUNG)
    with host.start("pause", "model-share") as process:
        deadline = time.monotonic() + 30
        while not pausefile.paused(host.state_dir) and time.monotonic() < deadline:
            time.sleep(0.01)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        host.say(PAUSED)
        assert process.wait(30) == 0


def test_pause_says_when_the_agent_does_not_take_it_up(
    host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host.say(HUNG)
    monkeypatch.setattr(pause, "TAKEN_UP", 0.2)
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(host.run_dir))
    monkeypatch.setenv("STATE_DIRECTORY", str(host.state_dir))
    assert main(["pause", "model-share"]) == 1
    assert "has not paused model-share" in capsys.readouterr().err


def test_pause_knows_a_mount_from_the_file_while_no_agent_runs(host: Host) -> None:
    host.config.write_text(CONFIG)
    code, out, _ = host.call("pause", "model-share")
    assert code == 0
    assert "the agent isn't running" in out


@pytest.mark.parametrize("name", ["other", "../x", "a/b", ".", ""])
def test_pause_refuses_what_is_no_mount(host: Host, name: str) -> None:
    host.say(HEALTHY)
    for command in ("pause", "resume"):
        code, out, err = host.call(command, name)
        assert (code, out) == (1, "")
        assert "no mount is named" in err
    assert list(host.state_dir.iterdir()) == []


def test_resume_removes_the_pause_of_a_mount_that_is_gone(host: Host) -> None:
    pausefile.pause(host.state_dir, "gone")
    host.say(HEALTHY)
    assert host.call("resume", "gone")[0] == 0
    assert pausefile.paused(host.state_dir) == frozenset()


def test_a_state_directory_that_is_none_is_one_line(host: Host) -> None:
    host.say(HEALTHY)
    host.state_dir.rmdir()
    host.state_dir.write_text("")
    code, _, err = host.call("pause", "datasets")
    assert code == 1
    assert err == "gluster-ml-agent: cannot pause datasets: Not a directory\n"


def test_check(host: Host) -> None:
    host.config.write_text(CONFIG)
    assert host.call("check") == (0, f"{host.config}: valid, 1 mount\n", "")
    other = host.root / "other.yaml"
    other.write_text(CONFIG.replace("volume:", "volumes:").replace("servers: [node1, node2]", ""))
    code, out, err = host.call("check", str(other))
    assert (code, out) == (1, "")
    assert len(err.splitlines()) >= 2
    assert all(line.startswith(f"{other}:") for line in err.splitlines())
    assert host.call("check", "--config", str(other))[0] == 1
    assert host.call("check", str(host.root / "none"))[0] == 1


def test_check_shows_warnings_and_stays_valid(host: Host) -> None:
    host.config.write_text(CONFIG.replace("node2", "node1"))
    code, out, err = host.call("check")
    assert (code, out) == (0, f"{host.config}: valid, 1 mount\n")
    assert err.count("(warning)\n") == 1


def test_status_and_wait_start_without_the_slow_libraries(host: Host) -> None:
    host.say(HEALTHY)
    code = (
        "import sys; from agent.cli.main import main; main(sys.argv[1:]);"
        "slow = {'pydantic', 'yaml', 'asyncio', 'structlog', 'dbus_fast'};"
        "print(*sorted(slow & set(sys.modules)))"
    )
    for command in (["status"], ["wait", "datasets"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *command],
            env={"RUNTIME_DIRECTORY": str(host.run_dir)},
            check=True,
            capture_output=True,
            text=True,
        )
        assert done.stdout.splitlines()[-1] == ""


def test_output_that_cannot_be_written_is_one_line(host: Host) -> None:
    host.say(HEALTHY)
    with Path("/dev/full").open("w") as full, host.start("status") as process:
        process.communicate(timeout=60)
        assert process.returncode == 0
        done = subprocess.run(
            [*process.args],  # type: ignore[misc]
            env={"RUNTIME_DIRECTORY": str(host.run_dir)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == ("gluster-ml-agent: can't write the output: No space left on device\n")


def test_a_runtime_directory_that_cannot_be_made_is_one_line(host: Host) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agent", "run"],
        env={"RUNTIME_DIRECTORY": "/proc/none", "STATE_DIRECTORY": str(host.state_dir)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "gluster-ml-agent: /proc/none: No such file or directory\n"

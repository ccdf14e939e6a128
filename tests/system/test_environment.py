"""The environment for jobs on a real host: who gets it, with no agent, beside a hung mount."""

import time
from collections.abc import Iterator

import pytest

from tests.lab import faults, subject
from tests.lab.host import Host
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import CONFIG, UnitAgent, config

FILE = "/run/gluster-ml/environment"
USER = "alice"
ODD = "c a/*?[]{}()~;&|<>!%^=,:@+ä"
"""Whatever may stand in a value and means something to somebody."""
JOBS = {
    "HF_HUB_CACHE": "/mnt/a/cache/huggingface/hub",
    "ROOT": "/mnt/a",
    "ODD": f"/mnt/a/{ODD}",
}
ENVIRONMENT = f'{{HF_HUB_CACHE: cache/huggingface/hub, ROOT: ., ODD: "{ODD}"}}'
PROMPT = 20.0
"""Seconds for a login on a busy machine; nothing in it waits for a mount."""


@pytest.fixture(scope="module", autouse=True)
def user(shared_host: Host) -> None:
    shared_host.run(["useradd", "--create-home", "--shell=/bin/bash", USER])


@pytest.fixture
def running(bare_agent: UnitAgent, shared_volume: Volume) -> Iterator[UnitAgent]:
    """An agent with a healthy mount and variables."""
    bare_agent.configure(config(shared_volume.name, environment=ENVIRONMENT))
    bare_agent.start()
    bare_agent.await_verdict("healthy")
    yield bare_agent
    bare_agent.host.run(["rm", "-rf", FILE])


def pairs(said: str) -> dict[str, str]:
    items = (item.partition("=") for item in said.split("\0") if item)
    return {name: value for name, _, value in items if name in {*JOBS, "LATER"}}


def service(host: Host) -> dict[str, str]:
    """What a service with the file gets."""
    unit = ["systemd-run", "--wait", "--pipe", "--quiet", "--collect", f"--property=User={USER}"]
    said = host.run([*unit, f"--property=EnvironmentFile={FILE}", "env", "-0"])
    return pairs(said.stdout)


def login(host: Host, program: str = "/bin/bash") -> dict[str, str]:
    """What a login shell of a user's gets."""
    said = host.run(["su", f"--shell={program}", "--login", USER, "-c", "env -0"], timeout=PROMPT)
    assert said.stderr == ""
    return pairs(said.stdout)


def everybody(host: Host) -> list[dict[str, str]]:
    return [service(host), login(host), login(host, "/bin/dash"), script(host)]


def script(host: Host) -> dict[str, str]:
    """What a user's script gets by the command."""
    text = f'eval "$({subject.program()} env)"; env -0'
    user = ["setpriv", f"--reuid={USER}", "--clear-groups"]
    said = host.run([*user, "sh", "-c", text])
    return pairs(said.stdout)


def test_services_logins_and_scripts_get_it(running: UnitAgent) -> None:
    host = running.host
    assert host.run(["stat", "--format=%U %a", FILE]).stdout == "root 644\n"
    assert everybody(host) == [JOBS] * 4
    for form in ("systemd", "docker"):
        printed = running.command("env", "--format", form, "--mount", "a").stdout
        assert printed == "".join(f"{name}={value}\n" for name, value in JOBS.items())


def test_it_is_there_while_the_agent_is_stopped(running: UnitAgent) -> None:
    running.stop()
    assert everybody(running.host) == [JOBS] * 4


def test_a_hung_mount_locks_nobody_out(running: UnitAgent) -> None:
    host = running.host
    with faults.client_frozen(host, "/mnt/a"):
        running.await_verdict("slow", "hung")
        begun = time.monotonic()
        assert [login(host), login(host, "/bin/dash")] == [JOBS] * 2
        assert service(host) == JOBS
        assert script(host) == JOBS
        assert time.monotonic() - begun < 4 * PROMPT
    running.await_verdict("healthy")


def test_a_dead_or_missing_mount_changes_nothing(running: UnitAgent) -> None:
    host = running.host
    running.stop()
    host.unmount("/mnt/a")
    assert everybody(host) == [JOBS] * 4


def test_a_change_holds_for_who_starts_then(running: UnitAgent, shared_volume: Volume) -> None:
    host = running.host
    running.configure(config(shared_volume.name, environment="{LATER: x}"))
    until(lambda: "LATER" in host.read(FILE), 30, "the change is in force")
    assert everybody(host) == [{"LATER": "/mnt/a/x"}] * 4
    running.configure("mounts: {}\n")
    until(lambda: "LATER" not in host.read(FILE), 30, "the change is in force")
    assert everybody(host) == [{}] * 4


def test_an_invalid_file_changes_nothing(running: UnitAgent) -> None:
    host, before = running.host, running.host.read(FILE)
    running.configure(host.read(CONFIG).replace("ROOT", "PATH"))
    running.await_log("config-rejected")
    assert host.read(FILE) == before
    assert [service(host), login(host)] == [JOBS] * 2
    said = running.command("env", "--format", "docker")
    assert pairs(said.stdout.replace("\n", "\0")) == JOBS
    assert "environment.PATH: decides which code programs run" in said.stderr
    # The last good file serves after a restart, and /run is empty after a boot.
    running.stop()
    host.run(["rm", FILE])
    running.start()
    assert host.read(FILE) == before


def test_readers_see_the_old_one_or_the_new_one(running: UnitAgent, shared_volume: Volume) -> None:
    host = running.host
    file = host.path(FILE)
    texts = {file.read_bytes()}
    seen = set()
    for turn in range(10):
        later = ", ".join(f"LATER{turn}_{number}: x/{number}" for number in range(100))
        running.configure(config(shared_volume.name, environment=f"{{{later}}}"))
        wanted = f"LATER{turn}_99=/mnt/a/x/99\n".encode()
        deadline = time.monotonic() + 60
        while not (text := file.read_bytes()).endswith(wanted):
            seen.add(text)
            assert time.monotonic() < deadline
        texts.add(text)
    assert seen <= texts


def test_where_it_can_t_be_written_the_mounts_go_on(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    host = bare_agent.host
    host.run(["mkdir", "--parents", FILE])
    bare_agent.configure(config(shared_volume.name, environment=ENVIRONMENT))
    bare_agent.start()
    try:
        bare_agent.await_verdict("healthy")
        [entry] = bare_agent.entries("internal-error")
        assert entry.message.startswith(f"{FILE} can't be written: ")
    finally:
        host.run(["rmdir", FILE])

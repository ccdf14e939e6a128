"""Whatever Python modules and variables a host has, the agent runs with its own."""

from collections.abc import Iterator

import pytest

from tests.lab.host import Host
from tests.lab.volume import Volume
from tests.system.agents import UNIT, UnitAgent, config

TRACE = "/run/strangers-ran"
STRANGER = f"open({TRACE!r}, 'a').write(__name__ + ' ')\n"
BROKEN = f"{STRANGER}raise ImportError('broken')\n"
MODULES = (
    "pydantic/__init__",
    "yaml/__init__",
    "agent/__init__",
    "watchdog",
    "json/__init__",
    "typing",
)
HOOKS = ("sitecustomize", "usercustomize")
VARIABLES = {
    "PYTHONPATH": "/opt/strangers",
    "PYTHONHOME": "/opt/strangers",
    "PYTHONSTARTUP": "/opt/strangers/yaml/__init__.py",
    "PYTHONWARNINGS": "error",
    "PYTHONSAFEPATH": "",
}


def folders(host: Host) -> list[str]:
    """Where python3 looks for modules of the system, the host and root; and one to point it at."""
    ask = "import sys, site; print(sys.version_info.minor, site.getusersitepackages())"
    minor, user = host.run(["python3", "-c", ask]).stdout.split()
    local = f"/usr/local/lib/python3.{minor}/dist-packages"
    return ["/usr/lib/python3/dist-packages", local, user, "/opt/strangers"]


@pytest.fixture
def strangers(machine: Host, agent: UnitAgent) -> Iterator[list[str]]:
    """Modules that leave a trace and break whoever imports them, everywhere."""
    made = []
    for folder in folders(machine):
        made += [f"{folder}/{name}.py" for name in (*MODULES, *HOOKS)]
    made = [path for path in made if not machine.path(path).exists()]
    for path in made:
        machine.write(path, STRANGER if any(hook in path for hook in HOOKS) else BROKEN)
    for folder in folders(machine):
        made.append(f"{folder}/stranger.pth")
        machine.write(made[-1], f"import os; open({TRACE!r}, 'a').write('pth ')\n")
    yield made
    machine.run(["rm", *made])


def test_strange_modules_and_variables_change_nothing(
    machine: Host, agent: UnitAgent, strangers: list[str], store: Volume
) -> None:
    machine.run(["python3", "-c", "pass"])
    assert "pth" in machine.read(TRACE)  # they do act on who is not isolated
    machine.run(["rm", TRACE])
    agent.drop_in("[Service]\n" + "".join(f"Environment={k}={v}\n" for k, v in VARIABLES.items()))
    try:
        machine.systemctl("restart", UNIT)
        agent.configure(config(store.name))
        agent.await_verdict("healthy")
        environment = machine.run(["cat", f"/proc/{agent.pid()}/environ"]).stdout
        assert "PYTHONHOME=/opt/strangers" in environment
    finally:
        machine.run(["rm", "-r", f"/etc/systemd/system/{UNIT}.d"])
        machine.systemctl("daemon-reload")
    around = ["--chdir=/opt/strangers", *(f"{k}={v}" for k, v in VARIABLES.items())]
    for command in (["status"], ["check"], ["wait", "a"]):
        done = machine.run(["env", *around, "gluster-ml-agent", *command])
        assert done.stderr == ""
    assert not machine.path(TRACE).exists()

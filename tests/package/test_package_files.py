"""What the package puts on a host: nothing but what is expected, and nobody's but root's."""

import re
from pathlib import Path

from tests.lab.host import Host
from tests.package.apt import NAME, apt
from tests.package.deb import field
from tests.system.agents import UnitAgent

PROGRAMS = ["/usr/bin/gluster-ml-agent", "/usr/share/python3/runtime.d/gluster-ml-agent.rtupdate"]
SYSTEM = {
    "/etc/gluster-ml/agent.yaml",
    "/etc/logrotate.d/gluster-ml-agent",
    "/etc/profile.d/gluster-ml-agent.sh",
    *PROGRAMS,
    "/usr/lib/systemd/system/gluster-ml-agent.service",
    "/usr/lib/systemd/system/gluster-ml-agent-logrotate.service",
    "/usr/lib/systemd/system/gluster-ml-agent-logrotate.timer",
    "/usr/lib/systemd/catalog/gluster-ml-agent.catalog",
    "/usr/share/bash-completion/completions/gluster-ml-agent",
    "/usr/share/man/man5/agent.yaml.5.gz",
    "/usr/share/man/man8/gluster-ml-agent.8.gz",
}
OWN = re.compile(
    r"/usr/(lib|share/doc)/gluster-ml-agent/|/usr/share/lintian/overrides/gluster-ml-agent$"
)


def listed(host: Host) -> list[str]:
    """All paths of the package, files and folders."""
    return host.run(["dpkg", "--listfiles", NAME]).stdout.split("\n")[1:-1]


def test_nothing_but_what_is_expected(machine: Host, agent: UnitAgent) -> None:
    files = {path for path in listed(machine) if not machine.path(path).is_dir()}
    # Debian 12 has /lib for /usr/lib.
    system = {re.sub("^/lib/", "/usr/lib/", path) for path in files if not OWN.match(path)}
    assert system == SYSTEM
    assert not [path for path in files if "dist-packages" in path or "site-packages" in path]
    assert [path for path in files if path.endswith("/agent/__init__.py")]


def test_all_is_roots_and_nobody_else_can_write(machine: Host, agent: UnitAgent) -> None:
    own = [path for path in listed(machine) if re.search("gluster-ml|/agent.yaml", path)]
    said = machine.run(["stat", "--format=%U:%G %a %F %n", *own]).stdout.splitlines()
    usual = r"root:root (755 directory|644 regular (empty )?file|777 symbolic link) "
    assert [line for line in said if not re.match(usual, line)] == [
        f"root:root 755 regular file {path}" for path in PROGRAMS
    ]


def test_manual_and_completion_are_found(machine: Host, agent: UnitAgent) -> None:
    apt(machine, "install", "man-db", "bash-completion")
    assert "GLUSTER-ML-AGENT(8)" in machine.run(["man", "gluster-ml-agent"]).stdout
    assert "AGENT.YAML(5)" in machine.run(["man", "agent.yaml"]).stdout
    load = "_completion_loader $0; complete -p $0"
    load = f"source /usr/share/bash-completion/bash_completion; {load}"
    assert machine.run(["bash", "-c", load, NAME]).stdout.endswith(f" {NAME}\n")


def test_a_running_agent_changes_nothing_of_it(machine: Host, agent: UnitAgent) -> None:
    assert machine.run(["dpkg", "--verify", NAME]).stdout == ""
    compiled = machine.run(["find", f"/usr/lib/{NAME}", "-name", "*.pyc"]).stdout.split()
    assert len(compiled) > 100  # by root, at install: else each start would compile them anew


def test_it_is_of_a_reasonable_size(package: Path) -> None:
    assert package.stat().st_size < 8 << 20
    assert int(field(package, "Installed-Size")) < 25 << 10

"""The sandbox of the shipped unit: what it forbids, and that it leaves the agent its work."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import subject
from tests.lab.client import FUSECTL
from tests.lab.host import Host
from tests.lab.shell import LabError, until
from tests.lab.volume import Volume
from tests.system import standin, trespass
from tests.system.sandbox import (
    CAPABILITIES,
    FORBIDDEN,
    FORBIDDEN_TWICE,
    LEFT_OUT,
    NEEDED,
    SETTINGS,
    WORK,
)
from tests.system.unitfile import install_copy, shows

STANDIN, TRESPASS = Path(standin.__file__), Path(trespass.__file__)
ONCE = ("Type=oneshot", "Restart=no", "TimeoutStartSec=120", "ExecStart=")
"""What makes a copy of the unit one that runs a program to its end."""
# Of an i386: exit(42).
FOREIGN = bytes.fromhex(
    "7f454c46010101000000000000000000020003000100000054800408340000000000000000000000"
    "340020000100000000000000010000000000000000800408008004086000000060000000"
    "0500000000100000"
    "b801000000bb2a000000cd80"
)


class Stage:
    """A host with all that the steps and acts need, and copies of the unit that try them."""

    def __init__(self, host: Host, source: str, stranger: int) -> None:
        self.host = host
        self._source = source
        self._stranger = stranger

    def work(self, *wanted: str, service: tuple[str, ...] = ()) -> dict[str, object]:
        """What comes of these steps of the work, or of all; service: more settings.

        What ends the stand-in itself comes of each step.
        """
        steps = " ".join(json.dumps(step) for step in wanted)
        python = " ".join(subject.python())
        try:
            self._run(f"{python} {STANDIN} {self._source} {self._stranger} {steps}", service)
        except LabError as error:
            return dict.fromkeys(wanted, str(error))
        return dict(json.loads(self.host.read("/run/trial/standin.json")))

    def acts(self, *service: str) -> dict[str, str]:
        """What comes of the forbidden acts in the sandbox; service: more settings."""
        return dict(
            json.loads(self._said(f"/usr/bin/python3 {TRESPASS} {self._stranger}", *service))
        )

    def status(self) -> str:
        """A process of the sandbox, as the kernel tells it (proc_pid_status(5))."""
        return self._said("/usr/bin/cat /proc/self/status")

    def _said(self, command: str, *service: str) -> str:
        self._run(command, ("StandardOutput=truncate:/run/said", *service))
        return self.host.read("/run/said")

    def acts_outside(self) -> dict[str, str]:
        """And to root without one."""
        done = self.host.run(["/usr/bin/python3", str(TRESPASS), str(self._stranger)])
        return dict(json.loads(done.stdout))

    def _run(self, command: str, service: tuple[str, ...]) -> None:
        name = install_copy(self.host, "trial", *ONCE, f"ExecStart={command}", *service)
        self.host.systemctl("start", name, timeout=150)


@pytest.fixture(scope="module")
def stage(shared_host: Host, shared_volume: Volume) -> Iterator[Stage]:
    host, source = shared_host, f"node1:/{shared_volume.name}"
    host.mount(source, standin.OLD)
    host.mount(source, standin.WITH_ACL, ["acl"])
    host.run(["mkdir", "-p", "/mnt/new", "/mnt/old/alice", "/mnt/old/group", *standin.ELSEWHERE])
    host.run(["chmod", "700", "/mnt/old/alice"])
    host.run(["chown", "1234:1234", "/mnt/old/alice"])
    host.run(["chgrp", "1234", "/mnt/old/group"])
    for path in standin.ELSEWHERE:
        host.run(["mount", "-t", "tmpfs", "tmpfs", path])
    for path in (trespass.HOST_TMP, trespass.MODULE, str(standin.TEXTFILE)):
        host.write(path, "")
    host.run(["chown", "--recursive", "1234", "/var/lib/prometheus"])
    for folder in ("/etc/ssh", "/etc/ssl/private", "/root/.ssh"):
        host.write(f"{folder}/{trespass.KEYS}", "")
    host.path(trespass.FOREIGN).write_bytes(FOREIGN)
    host.run(["chmod", "755", trespass.FOREIGN])
    argv = ["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", "sleep", "infinity"]
    stranger = host.popen(["env", f"--chdir={standin.OLD}", *argv])
    until(lambda: host.processes("sleep"), 30, "the stranger runs")
    (pid,) = (process.inner for process in host.processes("sleep"))
    yield Stage(host, source, pid)
    stranger.kill()
    stranger.wait(30)


@pytest.fixture(scope="module")
def work(stage: Stage) -> dict[str, object]:
    return stage.work()


@pytest.fixture(scope="module")
def acts(stage: Stage) -> dict[str, str]:
    return stage.acts()


@pytest.fixture(scope="module")
def acts_outside(stage: Stage) -> dict[str, str]:
    return stage.acts_outside()


@pytest.mark.parametrize("step", WORK)
def test_the_sandbox_leaves_the_agent_its_work(work: dict[str, object], step: str) -> None:
    assert work[step] == WORK[step]


def test_all_steps_and_acts_are_looked_at(
    work: dict[str, object], acts: dict[str, str], acts_outside: dict[str, str]
) -> None:
    assert set(work) == set(WORK)
    assert set(acts) == set(acts_outside) == set(FORBIDDEN)


@shows(*SETTINGS)
@pytest.mark.parametrize("act", FORBIDDEN)
def test_the_sandbox_forbids(acts: dict[str, str], acts_outside: dict[str, str], act: str) -> None:
    assert acts[act] in FORBIDDEN[act][0].split(" or ")
    assert acts_outside[act] == ("exit 42" if act == "run foreign code" else "done")


@pytest.mark.parametrize("setting", sorted(SETTINGS - FORBIDDEN_TWICE))
def test_without_the_setting_it_would_not_be_forbidden(
    stage: Stage, acts_outside: dict[str, str], setting: str
) -> None:
    acts = stage.acts(loosened(setting))
    mine = [act for act, (_, *settings) in FORBIDDEN.items() if setting in settings]
    assert any(acts[act] == acts_outside[act] for act in mine)


def loosened(setting: str) -> str:
    """The line that takes the setting back."""
    key, _, value = setting.partition("=")
    if value in ("yes", "full"):
        return f"{key}=no"
    return f"{key}={value[1:]}" if value.startswith("~") else f"{key}="


@shows(*NEEDED)
@pytest.mark.parametrize("permission", NEEDED)
def test_every_permission_is_needed(stage: Stage, permission: str) -> None:
    step, failure = NEEDED[permission]
    done = stage.work(step, service=(without(permission),))[step]
    assert done != WORK[step]
    assert failure in str(done)


def without(permission: str) -> str:
    """The line that takes one word of a list away again."""
    key, _, word = permission.partition("=")
    return f"{key}=" if key == "ReadWritePaths" else f"{key}=~{word}"


@shows("ReadWritePaths=-/sys/fs/fuse/connections")
def test_the_abort_switch_is_needed_where_sys_is_read_only(stage: Stage) -> None:
    """ProtectKernelTunables= means fusectl, too, with systemd 252 though not with 257."""
    alone = ["systemd-run", "--wait", "--pipe", "--quiet", "--property=ProtectKernelTunables=yes"]
    shown = ["findmnt", "--noheadings", "--output=VFS-OPTIONS", FUSECTL]
    writable_anyway = stage.host.run([*alone, *shown]).stdout.startswith("rw")
    done = stage.work("mount", "abort and detach", service=("ReadWritePaths=",))
    assert done["abort and detach"] is writable_anyway


@pytest.mark.parametrize("setting", LEFT_OUT)
def test_what_is_left_out_would_end_the_work(stage: Stage, setting: str) -> None:
    step, failure = LEFT_OUT[setting]
    done = stage.work(step, service=(setting,))[step]
    assert done != WORK[step]
    assert failure in str(done)


def test_a_hidden_proc_would_hide_nothing(stage: Stage) -> None:
    """From root's own group: the line would lower the figure, and nothing else."""
    step = "what strangers hold"
    for hidden in ("ProtectProc=invisible", "ProtectProc=noaccess"):
        assert stage.work(step, service=(hidden,))[step] == WORK[step]


@shows("NoNewPrivileges=yes", *(f"CapabilityBoundingSet={name}" for name in CAPABILITIES))
def test_the_process_has_these_powers_and_no_other(stage: Stage) -> None:
    bounding = sum(1 << number for number in CAPABILITIES.values())
    expected = {
        "CapPrm": bounding,
        "CapEff": bounding,
        "CapBnd": bounding,
        "CapAmb": 0,
        "NoNewPrivs": 1,
        "Umask": 0x77,
    }
    lines = (line.split(":\t", 1) for line in stage.status().splitlines())
    assert {key: int(value, 16) for key, value in lines if key in expected} == expected

"""Install it, edit one file, read the journal: the three things that its users do."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.lab.cell import Inside
from tests.lab.host import Host
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.package.apt import NAME, apt, version
from tests.system.agents import CONFIG, UNIT, UnitAgent

MOUNT = "model-share"
PATH = f"/mnt/{MOUNT}"
SEEN = f"until test -e {PATH}/from-the-volume; do sleep 0.2; done"
APART = ["systemd-run", "--quiet", "--wait", "--property=PrivateTmp=yes"]
STORY = (
    "in force: mounts none",
    "in force: model-share is new",
    "mounted node",
    "/mnt/model-share is healthy",
)


def filled_in(shipped: str, volume: str) -> str:
    """The shipped file with its example put in the place of `mounts: {}`, and the volume's name."""
    assert shipped.count("\nmounts: {}\n") == 1
    (example,) = re.findall(r"^#mounts:\n(?:#.*\n)+", shipped, re.MULTILINE)
    in_force = re.sub(r"^#", "", example, flags=re.MULTILINE)
    return (
        shipped.replace("mounts: {}\n", "")
        .replace(example, in_force)
        .replace("model-store", volume)
    )


@contextmanager
def waiting(host: Host, argv: list[str]) -> Iterator[Inside]:
    """A job that ends once it sees what lies on the volume."""
    job = host.popen([*argv, "sh", "-c", SEEN])
    try:
        yield job
    finally:
        job.abandon()


def test_install_edit_one_file_read_the_journal(machine: Host, store: Volume) -> None:
    if version(machine):
        apt(machine, "purge", NAME)
    before = machine.cursor()
    with ExitStack() as jobs:
        plain, apart = (jobs.enter_context(waiting(machine, argv)) for argv in ([], APART))
        apt(machine, "install", NAME)
        assert machine.unit(UNIT, "ActiveState", "UnitFileState", "NRestarts") == {
            "ActiveState": "active",
            "UnitFileState": "enabled",
            "NRestarts": "0",
        }
        timer = machine.unit(f"{NAME}-logrotate.timer", "ActiveState", "UnitFileState")
        assert list(timer.values()) == ["active", "enabled"]
        status = machine.unit(UNIT, "StatusText", "MainPID")
        assert status["StatusText"] == f"no mounts configured; edit {CONFIG}"
        assert machine.run(["systemctl", "is-system-running"]).stdout == "running\n"

        agent = UnitAgent(machine)
        agent.cursor = before
        agent.configure(filled_in(machine.read(CONFIG), store.name))
        agent.await_verdict("healthy", name=MOUNT)
        assert f" {PATH} " in machine.read("/proc/1/mountinfo")
        machine.run(["touch", f"{PATH}/from-the-volume"])
        assert (plain.wait(60), apart.wait(60)) == (0, 0)
    assert machine.unit(UNIT, "MainPID")["MainPID"] == status["MainPID"]
    tells_the_story(machine, before)
    explains_itself(machine, before)


def tells_the_story(host: Host, cursor: str) -> None:
    told = [str(entry["MESSAGE"]) for entry in host.journal(UNIT, cursor)]
    at = 0
    for part in STORY:
        found = [number for number, message in enumerate(told) if part in message and number >= at]
        assert found, f"{part!r} does not come next: {told[at:]}"
        at = found[0]


def explains_itself(host: Host, cursor: str) -> None:
    """Each entry has its text; one may come between the two readings."""
    until(lambda: explained(host, cursor), 30, "each entry is explained")


def explained(host: Host, cursor: str) -> bool:
    entries = [e for e in host.journal(UNIT, cursor) if "GLUSTER_ML_EVENT" in e]
    argv = ["journalctl", "-x", "--no-pager", "-u", NAME, f"--after-cursor={cursor}"]
    return host.run(argv).stdout.count(f"Defined-By: {NAME}") == len(entries)

"""The map of users and groups, on a real host with systemd, in the sandbox of the shipped unit."""

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.cli import exits
from tests.lab.host import Host
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import UnitAgent, config

MAP = """\
identities:
  missing: {missing}
  groups: {{ml: 20000, ops: 20010, taken: 20020}}
  users:
    alice: {{uid: 20001, group: ml, groups: [ops]}}
    bob: {{uid: 20002, group: ml, groups: [ops, taken]}}
    carol: {{uid: 20003, group: ml}}
    dave: {{uid: 20004, group: ml}}
    erin: {{uid: 20005, group: taken}}
"""
SILENT = """
import signal, socket
listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listener.bind(("127.0.0.1", 53))
signal.pause()
"""
NO_MOUNTS = "mounts: {}\n"
DIRECTORY = Path(__file__).with_name("directory.py")
RECORDS = {
    "alice.passwd": "alice:*:20001:20000:Alice:/home/alice:/bin/bash",
    "20001.uid": "alice:*:20001:20000:Alice:/home/alice:/bin/bash",
    "dave.passwd": "dave:*:5004:20000:Dave:/home/dave:/bin/bash",
    "zoe.passwd": "zoe:*:20003:20000:Zoe:/home/zoe:/bin/bash",
    "20003.uid": "zoe:*:20003:20000:Zoe:/home/zoe:/bin/bash",
    "ml.group": "ml:*:20000:",
    "20000.gid": "ml:*:20000:",
    "render.group": "render:*:20020:",
    "20020.gid": "render:*:20020:",
}
"""Of the directory: alice and her group as in the map, and others who are in the way."""


@pytest.fixture
def host(shared_host: Host) -> Iterator[Host]:
    """With the module's host's own files of users as they were before, afterwards."""
    files = ("passwd", "group", "shadow", "gshadow", "subuid", "subgid", "nsswitch.conf")
    shared_host.run(["mkdir", "-p", "/root/before"])
    for file in files:
        shared_host.run(["cp", "-a", f"/etc/{file}", "/root/before/"])
    yield shared_host
    for file in files:
        shared_host.run(["cp", "-a", f"/root/before/{file}", f"/etc/{file}"])


def state(agent: UnitAgent) -> str:
    return str(agent.status().get("identities", {}).get("state", ""))


def await_state(agent: UnitAgent, wanted: str) -> None:
    until(lambda: state(agent) == wanted, 90, f"the identities are {wanted}")


def entry(host: Host, database: str, key: str) -> str:
    return host.run(["getent", database, key], check=False).stdout.strip()


def test_who_lacks_is_created_and_who_is_in_the_way_is_left(
    host: Host, bare_agent: UnitAgent
) -> None:
    """Names taken (dave), numbers taken (carol's, the group's), one there already (bob)."""
    host.run(["groupadd", "--gid", "20000", "ml"])
    host.run(["groupadd", "--gid", "5020", "taken"])
    host.run(["useradd", "--uid", "20002", "--gid", "20000", "--home-dir", "/home/bob", "bob"])
    host.run(["useradd", "--uid", "20003", "--no-user-group", "zoe"])
    host.run(["useradd", "--uid", "5004", "--no-user-group", "dave"])
    before = {name: entry(host, "passwd", name) for name in ("bob", "zoe", "dave")}
    bare_agent.configure(NO_MOUNTS + MAP.format(missing="create"))
    bare_agent.start()
    await_state(bare_agent, "differs")
    assert entry(host, "group", "ops") == "ops:x:20010:alice,bob"
    assert entry(host, "passwd", "alice") == "alice:x:20001:20000::/nonexistent:/usr/sbin/nologin"
    assert entry(host, "shadow", "alice").split(":")[1] in ("!", "!!", "*"), "it has no password"
    assert host.run(["test", "-e", "/nonexistent"], check=False).returncode == 1
    assert {name: entry(host, "passwd", name) for name in before} == before
    assert entry(host, "passwd", "carol") == ""
    assert entry(host, "passwd", "erin") == "", "her first group is another's number here"
    assert entry(host, "group", "taken") == "taken:x:5020:", "no place in a wrong group"
    told = bare_agent.status()["identities"]
    assert told["missing"] == told["failed"] == []
    assert sorted(told["conflicts"]) == [
        "group taken is number 20020 in the file, and number 5020 on this host",
        "number 20003 is user carol in the file, and user zoe on this host",
        "user dave is number 20004 in the file, and number 5004 on this host",
        "user erin can't be created: this host has no group taken as in the file",
    ]
    assert len(bare_agent.entries("identity-conflict")) == 4
    assert [e.message for e in bare_agent.entries("identity-created")] == [
        "this host has now group ops with number 20010",
        "this host has now user alice with number 20001 and group 20000, also in 20010",
        "this host has now user bob in group ops",
    ]
    checked = bare_agent.command("ids", "check")
    assert checked.returncode == exits.DIFFERS
    assert "conflict: user dave is number 20004 in the file" in checked.stdout
    host.run(["userdel", "zoe"])
    host.run(["userdel", "dave"])
    host.run(["groupmod", "--gid", "20020", "taken"])
    bare_agent.stop()
    bare_agent.start()
    await_state(bare_agent, "settled")
    assert entry(host, "passwd", "erin") == "erin:x:20005:20020::/nonexistent:/usr/sbin/nologin"
    assert bare_agent.entries("identities-settled")
    checked = bare_agent.command("ids", "check")
    assert (checked.returncode, checked.stderr) == (exits.AS_MAPPED, "")


def test_with_report_nobody_is_created(host: Host, bare_agent: UnitAgent) -> None:
    bare_agent.configure(NO_MOUNTS + MAP.format(missing="report"))
    bare_agent.start()
    await_state(bare_agent, "differs")
    assert len(bare_agent.status()["identities"]["missing"]) == 8
    assert entry(host, "group", "ml") == entry(host, "passwd", "alice") == ""
    assert len(bare_agent.entries("identity-missing")) == 8
    shown = bare_agent.command("status").stdout
    assert "lacks    group ml with number 20000" in shown


def test_who_holds_the_lock_of_the_files_delays_it(host: Host, bare_agent: UnitAgent) -> None:
    """Another program (here PID 1) holds the lock: the tool is quoted, and tried again."""
    host.run(["sh", "-c", "printf 1 > /etc/group.lock"])
    bare_agent.configure(NO_MOUNTS + "identities: {groups: {ml: 20000}, users: {}}\n")
    bare_agent.start()
    bare_agent.await_log("identity-failed", timeout=120)
    assert "cannot lock /etc/group" in bare_agent.entries("identity-failed")[0].message
    host.run(["rm", "-f", "/etc/group.lock"])
    until(lambda: state(bare_agent) == "settled", 120, "it was tried again")
    assert entry(host, "group", "ml") == "ml:x:20000:"


@contextlib.contextmanager
def asking(host: Host, databases: str, program: str, *arguments: str) -> Iterator[None]:
    """These come from glibc's Hesiod, too: a directory in the DNS, whose server is the program."""
    host.write("/etc/hesiod.conf", "lhs=.ns\nrhs=.example\n")
    host.write("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:30 attempts:5\n")
    server = host.popen(["python3", "-c", program, *arguments])
    change = f"s/^({databases}):.*/\\1: files hesiod/"
    host.run(["sed", "-i", "-E", change, "/etc/nsswitch.conf"])
    try:
        yield
    finally:
        host.run(["cp", "-a", "/root/before/nsswitch.conf", "/etc/nsswitch.conf"])
        host.run(["rm", "/etc/hesiod.conf", "/etc/resolv.conf"])
        server.send_signal(signal.SIGKILL)
        server.wait(30)


def local(host: Host, database: str) -> list[str]:
    """The names in a file of the host's own."""
    return [line.split(":")[0] for line in host.read(f"/etc/{database}").splitlines()]


def test_who_is_in_a_directory_service_is_not_made_again(host: Host, bare_agent: UnitAgent) -> None:
    """Names and numbers of others there are conflicts, as in the host's own files."""
    crowd = "".join(f"crowd{number}:x:{number}:alice\n" for number in range(30000, 30086))
    host.write("/etc/group", host.read("/etc/group") + crowd)
    with asking(host, "passwd|group", DIRECTORY.read_text(), json.dumps(RECORDS)):
        until(lambda: entry(host, "passwd", "alice"), 60, "the directory answers")
        bare_agent.configure(NO_MOUNTS + MAP.format(missing="create"))
        bare_agent.start()
        await_state(bare_agent, "differs")
        told = bare_agent.status()["identities"]
        assert entry(host, "group", "ops") == "ops:x:20010:alice,bob"
        assert entry(host, "passwd", "bob").startswith("bob:x:20002:20000:")
    assert sorted(told["conflicts"]) == [
        "number 20003 is user carol in the file, and user zoe on this host",
        "number 20020 is group taken in the file, and group render on this host",
        "user dave is number 20004 in the file, and number 5004 on this host",
        "user erin can't be created: this host has no group taken as in the file",
    ]
    (crowded,) = told["crowded"]
    assert crowded.startswith("user alice is in 88 groups: GlusterFS serves none with more than 87")
    assert told["missing"] == told["failed"] == []
    assert {"alice", "carol", "dave", "erin", "zoe"}.isdisjoint(local(host, "passwd"))
    assert {"ml", "render", "taken"}.isdisjoint(local(host, "group"))


def test_a_name_service_that_hangs_holds_up_nothing_else(
    host: Host, bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    """Its server takes each question and is silent."""
    with asking(host, "group", SILENT):
        asked = ["timeout", "3", "getent", "group", "ml"]
        until(lambda: host.run(asked, check=False).returncode == 124, 60, "name service hangs")
        bare_agent.begin(config(shared_volume.name) + MAP.format(missing="create"))
        await_state(bare_agent, "unknown")
        assert bare_agent.verdict() == "healthy"
        assert "no answer within 15 s" in bare_agent.status()["identities"]["error"]
        assert entry(host, "passwd", "alice") == ""
        assert bare_agent.command("ids", "check").returncode == exits.UNASKED
    until(lambda: state(bare_agent) == "settled", 120, "it was asked again")
    assert entry(host, "passwd", "alice").startswith("alice:x:20001:20000:")
    bare_agent.stop()
    host.unmount("/mnt/a")

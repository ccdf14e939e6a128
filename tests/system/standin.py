"""Runs as the service in the agent's place: tries, in its sandbox, all that the agent must do.

`standin.py SOURCE STRANGER [STEP...]`: the steps named, or all. The outcome is standin.json in the
runtime directory: of each step its value, or its error.
"""

import asyncio
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from agent.files import replace_file
from agent.mounts.records import BOOT_ID
from agent.system import fuse
from agent.system.layers import layers
from agent.system.mounthost import MountRequest
from agent.system.net import ServerRace
from agent.system.systemd import SystemdHost
from agent.worker import guard, host

OLD, NEW = "/mnt/old", "/mnt/new"
WITH_ACL = "/mnt/acl"
"""With the option acl the client checks permissions, without it the kernel, by capabilities."""
ALICE = 1234
ELSEWHERE = ("/home/share", "/root/share", "/srv/share", "/usr/local/share/models", "/var/share")
"""Where else volumes are mounted before the service starts."""
UNCOVERED = (
    "/data/a",
    "/home/a",
    "/media/a",
    "/mnt/a",
    "/opt/a",
    "/srv/a",
    "/usr/local/a",
    "/var/a",
)
"""Where else a bare directory is to be made and guarded."""
TEXTFILE = Path("/var/lib/prometheus/node-exporter/gluster_ml.prom")
METRICS_PORT = 9469
DEFAULT_ACL = struct.pack(
    "<I" + "HHI" * 3, 2, 0x01, 7, 2**32 - 1, 0x04, 7, 2**32 - 1, 0x20, 5, 2**32 - 1
)
"""`setfacl -d -m u::rwx,g::rwx,o::rx`, as linux/posix_acl_xattr.h has it."""
IDLE = ["ionice", "-c3", "nice", "-n19", "chrt", "--idle", "0"]
TELL = "nice; ionice -p $$; chrt -p $$"
Step = Callable[[], Awaitable[object]]


def write(folder: str) -> str:
    file = Path(folder, "probe")
    file.write_text("text")
    try:
        return file.read_text()
    finally:
        file.unlink()


def give_away() -> list[int]:
    folder = Path(OLD, "given")
    folder.mkdir()
    try:
        os.chown(folder, ALICE, ALICE)
        found = folder.stat()
        return [found.st_uid, found.st_gid]
    finally:
        folder.rmdir()


def set_mode(path: str, mode: int) -> str:
    os.chmod(path, mode)
    return f"{stat.S_IMODE(os.stat(path).st_mode):o}"


def set_acl(path: str) -> bool:
    os.setxattr(path, "system.posix_acl_default", DEFAULT_ACL)
    return os.getxattr(path, "system.posix_acl_default") == DEFAULT_ACL


def guard_at(path: str) -> list[object]:
    """Guards the bare directory, tries to write, and takes the guard away."""
    made = guard.guard(path, immutable=True)
    try:
        return [made["state"], write(path)]
    except OSError as error:
        return [made["state"], error.strerror]
    finally:
        guard.guard(path, immutable=False)


def strangers(pid: int) -> dict[str, object]:
    return {
        "seen": pid in host.pids() and host.uid(pid) == ALICE,
        "cwd": host.link(f"/proc/{pid}/cwd"),
        "files": [host.link(f"/proc/{pid}/fd/{number}") for number in host.descriptors(pid)][:1],
        "maps": host.read(f"/proc/{pid}/maps") != b"",
        "namespace": host.read(f"/proc/{pid}/mountinfo") != b"",
    }


def names() -> list[str]:
    """The families of a name with both; and an address with a zone is one."""
    socket.getaddrinfo("fe80::1%lo", METRICS_PORT)
    found = socket.getaddrinfo("node1", METRICS_PORT, type=socket.SOCK_STREAM)
    return sorted(family.name for family, *_ in found)


def listen() -> bool:
    """On the host's own addresses of both families, and be reached there."""
    for family, server in ((socket.AF_INET, "node1-v4"), (socket.AF_INET6, "node1-v6")):
        with socket.socket(family, socket.SOCK_DGRAM) as towards:
            towards.connect((server, METRICS_PORT))
            address = towards.getsockname()[0]
        with (
            socket.create_server((address, METRICS_PORT), family=family) as listening,
            socket.create_connection((address, METRICS_PORT), 10),
        ):
            listening.accept()[0].close()
    return True


def publish() -> str:
    replace_file(TEXTFILE, b"text\n", 0o644)
    return f"{stat.S_IMODE(TEXTFILE.stat().st_mode):o}"


def idle_child() -> list[str]:
    done = subprocess.run([*IDLE, "sh", "-c", TELL], capture_output=True, text=True, check=True)
    return sorted({"19", "idle", "SCHED_IDLE"} & set(done.stdout.split()))


def log_of_client() -> str:
    Path("/var/log/gluster-ml").mkdir(exist_ok=True)
    return write("/var/log/gluster-ml")


def sync(function: Callable[..., object], *arguments: object) -> Step:
    async def step() -> object:
        return function(*arguments)

    return step


def steps(manager: SystemdHost, source: str, stranger: int) -> dict[str, Step]:
    async def abort() -> object:
        (client,) = await manager.client_pids(NEW)
        os.kill(client, signal.SIGSTOP)
        try:
            return fuse.abort(layers(NEW)[-1].minor)
        finally:
            await manager.detach(NEW, 30)
            os.kill(client, signal.SIGKILL)

    async def servers() -> object:
        return (await ServerRace().race(("node1-v4",), 24007, 10))["node1-v4"].outcome

    request = MountRequest("new", source, NEW, "log-level=WARNING")
    return {
        "write on a mount from before": sync(write, OLD),
        "write on others from before": sync(lambda: [write(path) for path in ELSEWHERE]),
        "mount": lambda: manager.mount(request, 60),
        "write on a mount from after": sync(write, NEW),
        "unmount": lambda: manager.unmount(NEW, 30),
        "guard": sync(guard_at, NEW),
        "guard elsewhere": sync(lambda: [guard_at(path) for path in UNCOVERED]),
        "mount again": lambda: manager.mount(request, 60),
        "abort and detach": abort,
        "give a directory away": sync(give_away),
        "setgid": sync(set_mode, f"{OLD}/group", 0o2775),
        "mode of a user's directory": sync(set_mode, f"{OLD}/alice", 0o700),
        "ACL of a user's directory": sync(set_acl, f"{WITH_ACL}/alice"),
        "write in a user's directory": sync(write, f"{OLD}/alice"),
        "what strangers hold": sync(strangers, stranger),
        "names": sync(names),
        "servers": servers,
        "listen": sync(listen),
        "textfile": sync(publish),
        "idle child": sync(idle_child),
        "which boot": sync(lambda: len(BOOT_ID.read_text())),
        "log of a client": sync(log_of_client),
        "runtime directory": sync(write, os.environ["RUNTIME_DIRECTORY"]),
        "state directory": sync(write, os.environ["STATE_DIRECTORY"]),
    }


async def outcomes(source: str, stranger: int, wanted: list[str]) -> dict[str, object]:
    manager = SystemdHost()
    known = steps(manager, source, stranger)
    found: dict[str, object] = {}
    for name in wanted or known:
        try:
            found[name] = await known[name]()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the outcome
            found[name] = repr(error)
    await manager.close()
    return found


def main(source: str, stranger: int, wanted: list[str]) -> None:
    found = asyncio.run(outcomes(source, stranger, wanted))
    Path(os.environ["RUNTIME_DIRECTORY"], "standin.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])

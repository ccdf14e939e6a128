"""Runs as the service in the agent's place: tries, in its sandbox, all that the agent must do.

The outcome is standin.json in the runtime directory: for each step its value, or its error.
"""

import asyncio
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from agent.system import fuse
from agent.system.layers import layers
from agent.system.mounthost import MountRequest
from agent.system.systemd import SystemdHost

OLD, NEW = "/mnt/old", "/mnt/new"
FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, IMMUTABLE = 0x80086601, 0x40086602, 0x10
STUCK = f"""
import os
while True:
    os.listdir("{OLD}")
    os.close(os.open("{OLD}/w%d", os.O_CREAT | os.O_RDWR))
"""
Step = Callable[[], Awaitable[object]]


def write(folder: str) -> str:
    file = Path(folder, "probe")
    file.write_text("text")
    try:
        return file.read_text()
    finally:
        file.unlink()


def shared_directory() -> str:
    folder = Path(NEW, "shared")
    folder.mkdir()
    os.chown(folder, 1234, 1234)
    folder.chmod(0o2775)
    return f"{folder.stat().st_uid} {folder.stat().st_mode & 0o7777:o}"


def guard() -> str:
    """Sets the flag, tries to write, takes the flag away."""
    folder = os.open(NEW, os.O_RDONLY | os.O_DIRECTORY)
    flags = bytearray(8)
    fcntl.ioctl(folder, FS_IOC_GETFLAGS, flags)
    (before,) = struct.unpack("l", flags)
    fcntl.ioctl(folder, FS_IOC_SETFLAGS, struct.pack("l", before | IMMUTABLE))
    try:
        return write(NEW)
    except OSError as error:
        return error.strerror or ""
    finally:
        fcntl.ioctl(folder, FS_IOC_SETFLAGS, struct.pack("l", before))
        os.close(folder)


def steps(host: SystemdHost, source: str, stranger: int) -> dict[str, Step]:
    async def abort() -> object:
        (client,) = await host.client_pids(NEW)
        os.kill(client, signal.SIGSTOP)
        try:
            return fuse.abort(layers(NEW)[-1].minor)
        finally:
            await host.detach(NEW, 30)
            os.kill(client, signal.SIGKILL)

    def sync(function: Callable[..., object], *arguments: object) -> Step:
        async def step() -> object:
            return function(*arguments)

        return step

    request = MountRequest("new", source, NEW, "log-level=WARNING")
    mount_here = ["mount", "-t", "tmpfs", "tmpfs", "/media"]
    return {
        "write on a mount from before": sync(write, OLD),
        "mount": lambda: host.mount(request, 60),
        "write on a mount from after": sync(write, NEW),
        "shared directory": sync(shared_directory),
        "unmount": lambda: host.unmount(NEW, 30),
        "guard": sync(guard),
        "mount again": lambda: host.mount(request, 60),
        "abort and detach": abort,
        "what strangers hold": sync(lambda: str(Path(f"/proc/{stranger}/cwd").readlink())),
        "names": sync(lambda: len(socket.getaddrinfo("node1", 24007)) > 0),
        "runtime directory": sync(write, os.environ["RUNTIME_DIRECTORY"]),
        "state directory": sync(write, os.environ["STATE_DIRECTORY"]),
        "mount by itself": sync(lambda: subprocess.run(mount_here, check=False).returncode != 0),
    }


async def outcomes(source: str, stranger: int) -> dict[str, object]:
    host = SystemdHost()
    found: dict[str, object] = {}
    for name, step in steps(host, source, stranger).items():
        try:
            found[name] = await step()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the outcome
            found[name] = repr(error)
    await host.close()
    return found


def main(source: str, stranger: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    found = asyncio.run(outcomes(source, stranger))
    Path(os.environ["RUNTIME_DIRECTORY"], "standin.json").write_text(json.dumps(found))
    for number in range(4):
        subprocess.Popen([sys.executable, "-c", STUCK % number])
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.connect(os.environ["NOTIFY_SOCKET"])
        notify.send(b"READY=1")
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

"""What the agent's sandbox forbids, tried: `trespass.py STRANGER` prints what came of each act.

As JSON: "done", the errno's name, or the signal that ended it. Run in the sandbox and, to see that
nothing else stands in the way, as root outside. Nothing here changes the machine's state.
"""

import ctypes
import errno
import json
import mmap
import os
import platform
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

Act = Callable[[], object]
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x00020000
ADDR_NO_RANDOMIZE = 0x0040000
SIZE_OF_KERNEL_LOG = 10
NUMBERS = {
    "x86_64": {"io_setup": 206, "keyctl": 250, "userfaultfd": 323},
    "aarch64": {"io_setup": 0, "keyctl": 219, "userfaultfd": 282},
}
HOST_TMP, MODULE, KEYS = "/tmp/of-the-host", "/usr/lib/modules/of-the-host", "of-the-host"
FOREIGN = "/srv/foreign"
"""A program for another architecture that this machine runs, too."""


def libc(name: str, *arguments: object) -> None:
    """Call it. Raises OSError."""
    if getattr(LIBC, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def system_call(name: str, *arguments: object) -> None:
    """One that libc has no function for. Raises OSError."""
    libc("syscall", ctypes.c_long(NUMBERS[platform.machine()][name]), *arguments)


def write(path: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.close(descriptor)
    os.unlink(path)


def make_control_group() -> None:
    root = Path("/sys/fs/cgroup")
    folder = next(
        p for p in (root, root / "unified", root / "systemd") if (p / "cgroup.procs").exists()
    )
    (folder / "trespass").mkdir()
    (folder / "trespass").rmdir()


def run_foreign_code() -> None:
    os.execv(FOREIGN, [FOREIGN])  # noqa: S606 - becoming it is the act


def make_device() -> None:
    os.mknod("/srv/device", 0o020600, os.makedev(1, 3))
    os.unlink("/srv/device")


def mount() -> None:
    libc("mount", b"tmpfs", b"/media", b"tmpfs", 0, None)
    libc("umount2", b"/media", 0)


def share_memory() -> None:
    """A segment that is gone with its only user."""
    segment = LIBC.shmget(0, 4096, 0o1600)
    if segment < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    libc("shmctl", segment, 0, None)


def tune_the_kernel() -> None:
    """Whether it could; no file there is harmless and on every machine."""
    if os.statvfs("/sys/kernel/debug").f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, "read-only")


def open_socket(family: int, kind: int = socket.SOCK_RAW, protocol: int = 0) -> None:
    socket.socket(family, kind, protocol).close()


def listen_below_1024() -> None:
    socket.create_server(("127.0.0.1", 999)).close()


def map_writable_code() -> None:
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


def read_foreign_memory() -> None:
    """Of this very process: what counts is the system call."""
    libc("process_vm_readv", os.getpid(), None, 0, None, 0, 0)


def set_groups() -> None:
    os.setgroups([])


def acts(stranger: int) -> dict[str, Act]:
    return {
        "write in /etc": lambda: write("/etc/trespass"),
        "write in /usr": lambda: write("/usr/bin/trespass"),
        "see the host's /tmp": lambda: os.stat(HOST_TMP),
        "see the host's /dev": lambda: os.stat("/dev/fuse"),
        "make a control group": make_control_group,
        "see kernel modules": lambda: os.stat(MODULE),
        "ask the kernel's log": lambda: libc("klogctl", SIZE_OF_KERNEL_LOG, None, 0),
        "ask to adjust the clock": lambda: libc("adjtimex", ctypes.create_string_buffer(512)),
        "tune the kernel": tune_the_kernel,
        "see ssh's keys": lambda: os.stat(f"/etc/ssh/{KEYS}"),
        "see TLS keys": lambda: os.stat(f"/etc/ssl/private/{KEYS}"),
        "see root's keys": lambda: os.stat(f"/root/.ssh/{KEYS}"),
        "talk netlink": lambda: open_socket(socket.AF_NETLINK),
        "sniff packets": lambda: open_socket(socket.AF_PACKET),
        "talk to the hypervisor": lambda: open_socket(socket.AF_VSOCK, socket.SOCK_STREAM),
        "make a user namespace": lambda: libc("unshare", CLONE_NEWUSER),
        "make a mount namespace": lambda: libc("unshare", CLONE_NEWNS),
        "run in real time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
        "change personality": lambda: libc("personality", ADDR_NO_RANDOMIZE),
        "map writable code": map_writable_code,
        "run foreign code": run_foreign_code,
        "mount": mount,
        "kill a stranger": lambda: os.kill(stranger, 0),
        "listen below 1024": listen_below_1024,
        "send raw packets": lambda: open_socket(socket.AF_INET, protocol=socket.IPPROTO_ICMP),
        "make a device": make_device,
        "change root": lambda: os.chroot("/"),
        "become another group": set_groups,
        "pin to a processor": lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),
        "share memory": share_memory,
        "read another's memory": read_foreign_memory,
        "ask for a keyring": lambda: system_call("keyctl", 0, ctypes.c_long(-3), 1),
        "lock memory": lambda: libc("mlock", ctypes.create_string_buffer(1), 1),
        "submit asynchronous reads": lambda: system_call(
            "io_setup", 1, ctypes.byref(ctypes.c_ulong(0))
        ),
        "handle page faults": lambda: system_call("userfaultfd", 0),
    }


def outcome(act: Act) -> str:
    """Of the act, in a process of its own: none leaves anything for the next."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            act()
            said = "done"
        except OSError as error:
            said = errno.errorcode.get(error.errno or 0, repr(error))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the outcome
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said or (signal.Signals(-status).name if status < 0 else f"exit {status}")


def main(stranger: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(json.dumps({name: outcome(act) for name, act in acts(stranger).items()}))


if __name__ == "__main__":
    main(int(sys.argv[1]))

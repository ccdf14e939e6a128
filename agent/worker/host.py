"""Reads /proc for the one-shot workers: processes that come and go, any of them somebody's."""

import os
from collections.abc import Iterator


def pids() -> Iterator[int]:
    """All processes, lowest pid first."""
    yield from sorted(int(name) for name in os.listdir("/proc") if name.isdigit())


def read(path: str) -> bytes:
    """A file below /proc; empty where it is gone or not ours to read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def link(path: str) -> str:
    """A link below /proc; "" where it is gone or not ours to read."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def mount_points(fstype: str) -> set[str]:
    """Where file systems of a type are mounted, as this process sees it."""
    found = set()
    for line in read("/proc/self/mountinfo").splitlines():
        before, _, after = line.partition(b" - ")
        if after.split(b" ", 1)[0] == fstype.encode():
            path = before.split(b" ")[4]
            for escaped, plain in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\134", b"\\")):
                path = path.replace(escaped, plain)
            found.add(path.decode("utf-8", "surrogateescape"))
    return found


def comm(pid: int) -> str:
    """The process's own short name, which it may choose freely."""
    return read(f"/proc/{pid}/comm").rstrip(b"\n").decode("utf-8", "backslashreplace")


def uid(pid: int) -> int:
    """Its effective user; -1 if it is gone. The owner of /proc/PID would be root's at times."""
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"Uid:"):
            return int(line.split()[2])
    return -1


def start_time(pid: int) -> int | None:
    """Clock ticks since boot; None if it is gone or a zombie."""
    _, closing, after = read(f"/proc/{pid}/stat").rpartition(b")")
    fields = after.split()
    if not closing or len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    return int(fields[19])


def descriptors(pid: int) -> list[str]:
    """The numbers of its open files; empty if it is gone or not ours to look at."""
    try:
        return os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return []


def fdinfo(pid: int, descriptor: str) -> dict[bytes, bytes]:
    """The fields of /proc/PID/fdinfo/N; empty if it is gone."""
    fields = {}
    for line in read(f"/proc/{pid}/fdinfo/{descriptor}").splitlines():
        key, colon, value = line.partition(b":")
        if colon:
            fields[key] = value.strip()
    return fields

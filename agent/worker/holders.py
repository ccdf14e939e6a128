"""One-shot: which processes still hold a mount, also one that was detached.

Request: {"device": [major, minor]}; answer: a row {"pid", "comm", "uid", "where", "how"} a process,
as they are found. Never their arguments: these may be secret.

Nothing here asks the mount's file system anything: it may be dead or hung.
"""

import ctypes
import os
import struct

from agent.worker import cgroup, channel, host

_LIMIT = 1000
"""Rows; more would only bury the ones that matter."""

_AT_EMPTY_PATH = 0x1000
_AT_STATX_DONT_SYNC = 0x4000
_STATX_SIZE = 256
_STATX_DEVICE = 136
"""Offset of stx_dev_major, stx_dev_minor (linux/stat.h)."""


def main() -> int:
    """Answer the one request; without the closing line if there were too many."""
    request = channel.request()
    device = request["device"]
    if not isinstance(device, list):
        raise TypeError("device is no list")
    search = Search((int(device[0]), int(device[1])))
    if search.run():
        channel.done()
    return 0


class Search:
    """One look at all processes for those that hold the device."""

    def __init__(self, device: tuple[int, int]) -> None:
        self._device = device
        self._devices: dict[int, tuple[int, int] | None] = {}
        self._namespaces = {host.link("/proc/self/ns/mnt")}
        self._rows = 0

    def run(self) -> bool:
        """Emit a row for each holder; False if the limit ended it."""
        rest = []
        for pid in host.pids():
            if pid == os.getpid():
                continue
            how = [*self._places(pid), *self._open_files(pid), *self._namespace(pid)]
            if not how:
                rest.append(pid)
            elif not self._emit(pid, ", ".join(how)):
                return False
        # Last, because maps can block on a process that is stuck in a page fault.
        mapped = b" %02x:%02x " % self._device
        return all(
            self._emit(pid, "mapped file")
            for pid in rest
            if mapped in host.read(f"/proc/{pid}/maps")
        )

    def _emit(self, pid: int, how: str) -> bool:
        channel.emit(
            {
                "pid": pid,
                "comm": host.comm(pid),
                "uid": host.uid(pid),
                "where": cgroup.where(host.read(f"/proc/{pid}/cgroup").decode("utf-8", "replace")),
                "how": how,
            }
        )
        self._rows += 1
        return self._rows < _LIMIT

    def _places(self, pid: int) -> list[str]:
        return [name for name in ("cwd", "root") if self._is_on_device(f"/proc/{pid}/{name}")]

    def _open_files(self, pid: int) -> list[str]:
        for descriptor in host.descriptors(pid):
            path = f"/proc/{pid}/fd/{descriptor}"
            number = host.fdinfo(pid, descriptor).get(b"mnt_id", b"")
            if not number:
                continue
            mount_id = int(number)
            if mount_id not in self._devices:
                # Sockets, pipes and the like are on no mount that anybody could have made.
                is_file = host.link(path).startswith("/")
                self._devices[mount_id] = self._device_at(path) if is_file else None
            if self._devices[mount_id] == self._device:
                return ["open file"]
        return []

    def _namespace(self, pid: int) -> list[str]:
        """Whether it is the first of a mount namespace, of a container say, that has the mount."""
        namespace = host.link(f"/proc/{pid}/ns/mnt")
        if namespace in self._namespaces:
            return []
        self._namespaces.add(namespace)
        wanted = b"%d:%d" % self._device
        lines = host.read(f"/proc/{pid}/mountinfo").splitlines()
        has = any(line.split(b" ", 3)[2:3] == [wanted] for line in lines)
        return ["mount namespace"] if has else []

    def _is_on_device(self, path: str) -> bool:
        return self._device_at(path) == self._device

    def _device_at(self, path: str) -> tuple[int, int] | None:
        """The device of what a magic link of /proc leads to; None if it can't be told."""
        try:
            descriptor = os.open(path, os.O_PATH)
        except OSError:
            return None
        try:
            return _cached_device(descriptor)
        finally:
            os.close(descriptor)


def _cached_device(descriptor: int) -> tuple[int, int] | None:
    """st_dev without a request to the file system, which os.fstat might make."""
    buffer = ctypes.create_string_buffer(_STATX_SIZE)
    flags = _AT_EMPTY_PATH | _AT_STATX_DONT_SYNC
    if _LIBC.statx(descriptor, b"", flags, 0, buffer) != 0:
        return None
    major, minor = struct.unpack_from("=II", buffer.raw, _STATX_DEVICE)
    return (major, minor)


_LIBC = ctypes.CDLL(None)

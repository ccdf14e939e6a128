"""A quick client: a cell that mounts with mount(8), without systemd; up in a fraction of a second.

Its mount namespace is its own: names of the lab resolve inside, mounts are seen inside only.
"""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from . import subject
from .cell import Cell, Process
from .shell import LabError, until

FUSECTL = "/sys/fs/fuse/connections"


class Mounts(Cell):
    """What quick clients and systemd hosts have in common: mounts of GlusterFS inside."""

    def mount(
        self,
        source: str,
        path: str,
        options: Sequence[str] = (),
        *,
        timeout: float = 60,
        verify: bool = True,
    ) -> None:
        """`mount -t glusterfs`. source: "node1:/vol". verify: raise LabError if nothing came."""
        self.run(["mkdir", "-p", path])
        given = ["-o", ",".join(options)] if options else []
        self.run(["mount", "-t", "glusterfs", *given, source, path], timeout=timeout)
        if verify and self.entry(path) is None:
            raise LabError(f"mount of {source} ended well, but nothing is mounted on {path}")

    def unmount(self, path: str, *, lazy: bool = False) -> None:
        self.run(["umount", *(["--lazy"] if lazy else []), path])

    def unmount_all(self) -> None:
        """Abort and detach every GlusterFS mount inside, in whatever state it is."""
        lines = Path(f"/proc/{self.init}/mountinfo").read_text().splitlines()
        entries = [line.split(" ") for line in lines if " - fuse.glusterfs " in line]
        for entry in reversed(entries):
            with contextlib.suppress(OSError):
                self.write(f"{FUSECTL}/{entry[2].split(':')[1]}/abort", "1")
            self.unmount(entry[4].replace("\\040", " "), lazy=True)

    def release(self) -> None:
        """Unmount all below /mnt and remove the folders; until every client has ended."""
        for line in reversed(self.run(["cat", "/proc/self/mountinfo"]).stdout.splitlines()):
            path = line.split(" ")[4]
            if path.startswith("/mnt/"):
                # A quick client hides mounts of the machine's own under its /mnt.
                self.run(["umount", "--lazy", path], check=False)
        until(lambda: not self.processes("glusterfs"), 30, "the clients have ended")
        for folder in sorted(self.path("/mnt").iterdir()):
            inside = f"/mnt/{folder.name}"
            self.run(["chattr", "-i", inside], check=False)
            self.run(["rm", "-r", "--one-file-system", inside])

    def entry(self, path: str) -> list[str] | None:
        """The fields of the topmost line of mountinfo at path, or None."""
        text = Path(f"/proc/{self.init}/mountinfo").read_text()
        lines = [line.split(" ") for line in text.splitlines()]
        found = [fields for fields in lines if fields[4] == path]
        return found[-1] if found else None

    def connection(self, path: str) -> int:
        """The FUSE connection's number: the minor of the mount's device. Raises LabError."""
        entry = self.entry(path)
        if entry is None:
            raise LabError(f"nothing is mounted on {path}")
        return int(entry[2].split(":")[1])

    def glusterfs(self, path: str) -> Process:
        """The client process of the mount at path. Raises LabError if there is none."""
        for process in self.processes():
            if not process.comm.startswith("gluster"):
                continue
            arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
            if arguments[-2:-1] == [path.encode()]:
                return process
        raise LabError(f"{self.name} has no client process for {path}")

    def await_io(self, path: str, timeout: float = 60) -> None:
        """Until a listing of the mount works. timeout: seconds."""
        until(
            lambda: self.run(["ls", path], check=False, timeout=timeout).returncode == 0,
            timeout,
            f"{path} of {self.name} works",
        )


class Client(Mounts):
    """A GPU host without systemd."""

    def left_behind(self) -> list[str]:
        """Processes other than the init, in words; what a test must not leave."""
        return [f"{p.comm} ({p.inner})" for p in self.processes() if p.inner != 1]

    def boot(self, hosts: str) -> None:
        """Start the cell. hosts: text of its /etc/hosts."""
        log = self.folder / "log"
        log.mkdir(exist_ok=True)
        package = subject.package()
        laid = f"lowerdir={subject.unpacked(package)}/usr:/usr" if package else ""
        self.start(
            [
                *([["-t", "overlay", "-o", laid, "overlay", "/usr"]] if laid else []),
                ["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"],
                ["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/mnt"],
                self._overlay("/etc"),
                self._overlay("/var/lib"),
                self._overlay("/var/log"),
                ["--mkdir", "--bind", str(log), "/var/log/glusterfs"],
                ["-t", "sysfs", "sysfs", "/sys"],
                ["-t", "fusectl", "fusectl", FUSECTL],
            ]
        )
        self.write("/etc/hosts", hosts)

    def _overlay(self, path: str) -> list[str]:
        """What is written at path inside stays in the cell's folder."""
        layer = self.folder / path.strip("/").replace("/", "-")
        upper, work = layer / "upper", layer / "work"
        for folder in (upper, work):
            folder.mkdir(parents=True, exist_ok=True)
        layers = f"lowerdir={path},upperdir={upper},workdir={work}"
        return ["-t", "overlay", "-o", layers, "overlay", path]

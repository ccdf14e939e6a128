"""A storage server: a cell with a glusterd of its own."""

import shutil
from pathlib import Path, PurePosixPath

from .cell import Cell, Process
from .shell import Done, LabError, until

PORT = 24007
"""Where glusterd serves volfiles and management."""


CONFIG = """volume management
    type mgmt/glusterd
    option working-directory /var/lib/glusterd
    option transport-type socket
    option transport.address-family {family}
    option transport.socket.keepalive-time 10
    option transport.socket.keepalive-interval 2
    option transport.socket.read-fail-log off
    option transport.socket.listen-port 24007
    option ping-timeout 0
    option event-threads 1
    option max-port 60999
end-volume
"""
BRICKS = "/srv/bricks"


class Server(Cell):
    """glusterd keeps its state in fixed places, so each server sees private ones there."""

    def boot(self, hosts: str, family: str) -> None:
        """Start the cell and its glusterd. hosts: text of /etc/hosts; family: "inet", "inet6"."""
        state, log, bricks = (self.folder / part for part in ("state", "log", "bricks"))
        for folder in (state, log, bricks):
            folder.mkdir(exist_ok=True)
        # The packaged hooks are left out: they edit the machine's Samba, NFS and CTDB settings.
        shutil.copytree("/var/lib/glusterd/groups", state / "groups", dirs_exist_ok=True)
        (self.folder / "hosts").write_text(hosts)
        (self.folder / "glusterd.vol").write_text(CONFIG.format(family=family))
        self.start(
            [
                ["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"],
                ["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/srv"],
                ["--bind", str(state), "/var/lib/glusterd"],
                ["--bind", str(log), "/var/log/glusterfs"],
                ["--bind", str(self.folder / "hosts"), "/etc/hosts"],
                ["--bind", str(self.folder / "glusterd.vol"), "/etc/glusterfs/glusterd.vol"],
                ["--mkdir", "--bind", str(bricks), BRICKS],
            ]
        )
        self.start_glusterd()

    def start_glusterd(self) -> None:
        """Start it and wait until it answers."""
        self.run(["glusterd", "-p", "/run/glusterd.pid"])
        self.await_glusterd()

    def await_glusterd(self, timeout: float = 60) -> None:
        """Until it answers. timeout: seconds."""
        answers = ["gluster", "--mode=script", "peer", "status"]
        until(
            lambda: self.run(answers, check=False).returncode == 0,
            timeout,
            f"glusterd of {self.name} answers",
        )

    def glusterd(self) -> Process | None:
        """The running one, if any."""
        running = self.processes("glusterd")
        return running[0] if running else None

    def gluster(self, *arguments: str, timeout: float = 120, check: bool = True) -> Done:
        """The gluster command, never asking back. Raises LabError."""
        return self.run(["gluster", "--mode=script", *arguments], timeout=timeout, check=check)

    def make_brick(self, path: str, size: str | None) -> None:
        """A folder for a brick, on a small disk of its own above it if a size is given.

        size: as truncate(1) takes it, e.g. "64M".
        """
        above = str(PurePosixPath(path).parent)
        if size:
            disk = str(self._disk(above))
            self.run(["truncate", "--size", size, disk])
            self.run(["mkfs.ext4", "-q", "-m", "0", disk])
            self.mount_disk(above)
        self.run(["mkdir", "-p", path])

    def mount_disk(self, above: str) -> None:
        """Mount the small disk made for a brick on the folder above that brick."""
        self.run(["mount", "--mkdir", "-o", "loop", str(self._disk(above)), above])

    def remove_brick(self, path: str) -> None:
        """With its data, and the small disk if it has one."""
        above = str(PurePosixPath(path).parent)
        disk = self._disk(above)
        if disk.exists():
            self.run(["umount", "--lazy", above])
            disk.unlink()
        self.run(["rm", "-rf", above])

    def _disk(self, above: str) -> Path:
        """Its image: a file of the machine, at the same path inside."""
        return self.folder / f"{PurePosixPath(above).name}.disk"

    def brick_process(self, brick: str) -> Process | None:
        """The process that serves the brick of that path, if it runs."""
        found = self._brick_pid(brick)
        if found is None:
            return None
        try:
            return self.process(found)
        except LabError:
            return None

    def _brick_pid(self, brick: str) -> int | None:
        """glusterd notes it in vols/VOLUME/HOST-PATH-WITH-DASHES.pid below /run/gluster."""
        ending = brick.replace("/", "-") + ".pid"
        for note in self.path("/run/gluster/vols").glob("*/*.pid"):
            if note.name.endswith(ending) and (text := note.read_text().strip()):
                return int(text)
        return None

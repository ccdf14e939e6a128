"""A volume of the cluster and its bricks."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from .cell import Process
from .server import Server
from .shell import LabError, until


@dataclass(frozen=True)
class Brick:
    """One brick: a folder of one server."""

    server: Server
    path: str

    @property
    def label(self) -> str:
        """host:path, as gluster prints it."""
        return f"{self.server.name}:{self.path}"

    @property
    def mount_point(self) -> str:
        """Of the small disk it is on, where it was made with a size."""
        return str(PurePosixPath(self.path).parent)

    def process(self) -> Process | None:
        """The process that serves it, if it runs."""
        return self.server.brick_process(self.path)


class Volume:
    """Made by Cluster.create_volume; all work is done through the first server."""

    def __init__(self, name: str, bricks: tuple[Brick, ...]) -> None:
        self.name = name
        self.bricks = bricks

    @property
    def _admin(self) -> Server:
        """A server whose glusterd runs: the tests stop some."""
        for brick in self.bricks:
            if brick.server.glusterd():
                return brick.server
        raise LabError("no glusterd runs")

    def set(self, option: str, value: str) -> None:
        """For example set("network.ping-timeout", "5")."""
        self._admin.gluster("volume", "set", self.name, option, value)

    def reset(self, option: str) -> None:
        self._admin.gluster("volume", "reset", self.name, option)

    def start(self, *, force: bool = False) -> None:
        """force: also starts again those bricks of a started volume that were killed."""
        self._admin.gluster("volume", "start", self.name, *(["force"] if force else []))
        self.await_bricks()

    def stop(self) -> None:
        self._admin.gluster("volume", "stop", self.name)

    def delete(self) -> None:
        """Stop it if need be, delete it and its bricks' data."""
        self._admin.gluster("volume", "stop", self.name, "force", check=False)
        self._admin.gluster("volume", "delete", self.name)
        for brick in self.bricks:
            brick.server.remove_brick(brick.path)

    def await_bricks(self, timeout: float = 60) -> None:
        """Until every brick's process is there. timeout: seconds."""
        for brick in self.bricks:
            until(
                lambda brick=brick: brick.process(),  # type: ignore[misc]
                timeout,
                f"{brick.label} runs",
            )

    def info(self) -> Mapping[str, str]:
        """`gluster volume info` as a mapping: "Type", "Status", "network.ping-timeout", ..."""
        lines = self._admin.gluster("volume", "info", self.name).stdout.splitlines()
        pairs = (line.partition(":") for line in lines if ":" in line)
        return {key.strip(): value.strip() for key, _, value in pairs}

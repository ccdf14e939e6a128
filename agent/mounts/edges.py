"""What a keeper needs of the world, handed to it: nothing in agent/mounts reaches out by itself."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from agent.config.schema import GLUSTERD_PORT, MountConfig
from agent.events import Emitter
from agent.model.mount import MountEntry
from agent.model.status import MountStatus
from agent.mounts.facts import Wanted
from agent.mounts.options import fingerprint
from agent.mounts.records import Record, Records
from agent.mounts.recovery import Policy
from agent.system.children import Children
from agent.system.mounthost import MountHost
from agent.system.net import ServerRace
from agent.system.workers import Workers


class Reporter(Emitter, Protocol):
    """Where a keeper's news go."""

    def changed(self, status: MountStatus) -> None:
        """The newest status of a mount, at least once a probe."""

    def gone(self, name: str) -> None:
        """A mount is no longer looked after, or bears another name."""


@dataclass(frozen=True, slots=True)
class Edges:
    """The host's edges and the clocks (seconds) that all keepers share.

    jitter: draws from 0 to 1. write_name: the file that this agent's write probes create. log_dir:
    where the clients log, a file a mount; made when it is needed. user: whose process the agent is.
    """

    host: MountHost
    mount_table: Callable[[], tuple[MountEntry, ...]]
    children: Children
    workers: Workers
    servers: ServerRace
    records: Records
    report: Reporter
    monotonic: Callable[[], float]
    wall: Callable[[], float]
    jitter: Callable[[], float]
    write_name: str
    log_dir: Path
    user: int


@dataclass(frozen=True, slots=True)
class Settings:
    """One mount as its keeper needs it. config: None once it was taken out of the file.

    replaced: another volume is to be mounted on the path, so the guard stays when this one goes.
    replaces: the volumes of before, whose mounts there go as soon as nothing uses them.
    """

    name: str
    wanted: Wanted
    config: MountConfig | None
    interval: float
    replaced: bool = False
    replaces: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What makes it the same mount whatever its name: the volume and the path."""
        return f"{self.wanted.full_volume} at {self.wanted.path}"

    def retired(self) -> "Settings":
        """The same mount, to be unmounted when idle."""
        return replace(self, config=None)

    @property
    def port(self) -> int:
        """TCP port of glusterd on the volfile servers."""
        return self.config.port if self.config else GLUSTERD_PORT

    def policy(self, *, own: bool, own_below: bool) -> Policy:
        """What the operator allows now; see Policy for what is the agent's own."""
        if self.config is None:
            return Policy(
                "report",
                "manual",
                removing=True,
                own=own,
                own_below=own_below,
                replaced=self.replaced,
            )
        recovery = self.config.recovery
        return Policy(recovery.hung, recovery.new_options, removing=False, own=own)


def from_config(name: str, config: MountConfig) -> Settings:
    """The settings of a mount that stands in the file."""
    wanted = Wanted(
        path=config.path,
        volume=config.volume_name,
        subdir=config.subdir,
        read_only=config.read_only,
        probe_timeout=config.probe.timeout,
        hung_after=config.recovery.hung_after,
        fingerprint=fingerprint(config),
    )
    return Settings(name, wanted, config, config.probe.interval)


def from_record(record: Record) -> Settings:
    """The settings of a mount that was taken out of the file: it is only to be unmounted."""
    volume, _, subdir = record.volume.partition("/")
    wanted = Wanted(
        path=record.path,
        volume=volume,
        subdir=subdir,
        read_only=True,
        probe_timeout=10.0,
        hung_after=None,
        fingerprint=record.fingerprint,
    )
    return Settings(record.name, wanted, None, 5.0)

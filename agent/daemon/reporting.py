"""Where the keepers' news go: the journal, status.json and STATUS= of sd_notify."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from agent.config.schema import GLUSTERD_PORT, Config, MountConfig
from agent.events import Event
from agent.health import advice, statusfile
from agent.health.journal import Journal
from agent.health.notify import Notify
from agent.health.report import status_sentence
from agent.model.mount import ProcessId
from agent.model.status import (
    AgentStatus,
    ConfigStatus,
    IdentitiesStatus,
    LayoutStatus,
    MountStatus,
    RemapStatus,
    RetentionStatus,
)
from agent.model.verdict import Verdict

COALESCE = 0.05
"""Seconds that changes are gathered for before they are written."""
REFRESH = 30.0
"""Seconds between writes where nothing changes: readers take an old file for a dead agent."""


class Reporting:
    """The reporter that all keepers share. wall: the clock of the outputs, epoch seconds.

    emit: one journal entry.
    """

    def __init__(
        self,
        journal: Journal,
        notify: Notify,
        runtime_dir: Path,
        identity: tuple[str, str, ProcessId],
        wall: Callable[[], float],
    ) -> None:
        self.emit = journal.emit
        self._notify = notify
        self._runtime_dir = runtime_dir
        self._host, self._version, self._process = identity
        self._wall = wall
        self._mounts: dict[str, MountStatus] = {}
        self._configs: dict[str, MountConfig] = {}
        self._config_status: ConfigStatus | None = None
        self._identities: IdentitiesStatus | None = None
        self._layouts: dict[str, LayoutStatus] = {}
        self._remaps: dict[str, RemapStatus] = {}
        self._retentions: dict[str, RetentionStatus] = {}
        self._listeners: list[Callable[[MountStatus], None]] = []
        self._dirty = asyncio.Event()
        self._write_failed = ""

    def listen(self, listener: Callable[[MountStatus], None]) -> None:
        """Have it called with each status of a mount."""
        self._listeners.append(listener)

    def laid_out(self, name: str, status: LayoutStatus | None) -> None:
        """The newest status of a mount's layout; None: it has none any more."""
        self._layouts.pop(name, None)
        if status is not None:
            self._layouts[name] = status
        self._dirty.set()

    def remapped(self, name: str, status: RemapStatus | None) -> None:
        """Where the search for old ids on a mount stands; None: there are none to look for."""
        self._remaps.pop(name, None)
        if status is not None:
            self._remaps[name] = status
        self._dirty.set()

    def retained(self, name: str, status: RetentionStatus | None) -> None:
        """Where the cleaning of a mount's volume stands; None: it has no retention any more."""
        self._retentions.pop(name, None)
        if status is not None:
            self._retentions[name] = status
        self._dirty.set()

    def changed(self, status: MountStatus) -> None:
        """The newest status of a mount; written soon if it says something new."""
        for listener in self._listeners:
            listener(status)
        known = self._mounts.get(status.name)
        self._mounts[status.name] = status
        if known is None or _news(known) != _news(status):
            self._dirty.set()

    def gone(self, name: str) -> None:
        """A mount is no longer looked after, or bears another name."""
        if self._mounts.pop(name, None) is not None:
            self._dirty.set()

    def identities(self, status: IdentitiesStatus | None) -> None:
        """How the host's users and groups stand to the map; None: there is none."""
        if status != self._identities:
            self._identities = status
            self._dirty.set()

    def configured(self, config: Config, status: ConfigStatus) -> None:
        """Which configuration is in force."""
        self._configs = dict(config.mounts)
        self._config_status = status
        self._dirty.set()

    def sentence(self) -> str:
        """The one sentence of STATUS=."""
        if self._config_status is None:
            return "starting"
        mounts = tuple(self._mounts.values())
        return status_sentence(mounts, self._config_status, self._wall(), unjudged=self._unjudged())

    def write(self) -> None:
        """Write status.json and STATUS= now."""
        if self._config_status is None:
            return
        mounts = tuple(self._advised(status) for status in self._mounts.values())
        status = AgentStatus(
            self._host,
            self._version,
            self._wall(),
            self._process,
            self._config_status,
            mounts,
            self._unjudged(),
            self._identities,
        )
        try:
            statusfile.write(self._runtime_dir, status)
            self._write_failed = ""
        except OSError as error:
            if str(error) != self._write_failed:
                self._write_failed = str(error)
                self.emit(Event.INTERNAL_ERROR, f"status.json can't be written: {error}")
        self._notify.status(self.sentence())

    async def run(self) -> None:
        """Write on each change, and from time to time."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REFRESH):
                    await self._dirty.wait()
            await asyncio.sleep(COALESCE)
            self._dirty.clear()
            self.write()

    def _unjudged(self) -> tuple[str, ...]:
        return tuple(name for name in self._configs if name not in self._mounts)

    def _leaving(self, path: str) -> str:
        """The name of the mount on its way out that lies on top there, "" if there is none."""
        found = (m for m in self._mounts.values() if m.removing and m.path == path)
        return next((m.name for m in found if m.verdict is not Verdict.FOREIGN), "")

    def _advised(self, status: MountStatus) -> MountStatus:
        config = self._configs.get(status.name)
        situation = advice.Situation(
            name=status.name,
            path=status.path,
            volume=status.volume,
            verdict=status.verdict,
            hung_policy=config.recovery.hung if config else "report",
            new_options=config.recovery.new_options if config else "manual",
            bricks=status.bricks,
            client=status.client,
            client_log=status.client_log,
            removing=status.removing,
            leaving=self._leaving(status.path),
            obstacles=status.obstacles,
            port=config.port if config else GLUSTERD_PORT,
        )
        work = status.name if not status.removing else ""
        return replace(
            status,
            advice=advice.advise(situation),
            layout=self._layouts.get(work),
            remap=self._remaps.get(work),
            retention=self._retentions.get(work),
        )


def _news(status: MountStatus) -> MountStatus:
    """The status without what changes with every probe."""
    return replace(status, probe_seconds=None, space=None)

"""The agent's life: start, the loop's events, reload, stop."""

import asyncio
import contextlib
import gc
import os
import random
import signal
import time
from pathlib import Path

import agent
from agent.config.schema import Config
from agent.config.watch import watch_directory, watch_file
from agent.daemon import whoami
from agent.daemon.inforce import InForce
from agent.daemon.keepers import Keepers, Moves
from agent.daemon.reporting import Reporting
from agent.daemon.volumes import Volumes
from agent.environment import file as environment
from agent.events import Event
from agent.health import pausefile, statusfile
from agent.health.journal import Journal
from agent.health.notify import Notify
from agent.identities import keeper as identities
from agent.mounts.edges import Edges
from agent.mounts.records import Records
from agent.system import booted, mounttable
from agent.system.children import Children
from agent.system.mountwatch import MountWatch
from agent.system.net import ServerRace
from agent.system.tools import tools
from agent.system.workers import Workers

LOG_DIR = Path("/var/log/gluster-ml")
"""Where the clients log. Not LogsDirectory= of the unit: no failure there may stop the agent."""
FIRST_ROUND = 20.0
"""Seconds after which READY=1 is sent though a mount has not settled."""
KEEPER_STALLED = 180.0
"""Seconds without a step after which a keeper counts as stuck, and the watchdog is starved."""
TICK = 5.0
"""Seconds between looks at the watchdog where systemd asks for none."""


def run(config_path: Path, runtime_dir: Path, state_dir: Path) -> int:
    """Be the agent until SIGTERM. Raises AgentError if another one has the directory."""
    runtime_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(OSError):  # a disk that is full or read-only stops no agent
        # So that inotify sees the very first pause; only the poll would see the directory appear.
        pausefile.directory(state_dir).mkdir(mode=0o755, exist_ok=True)
    with whoami.only_one(runtime_dir):
        asyncio.run(Daemon(config_path, runtime_dir, state_dir).run())
    return 0


class Daemon:
    """One agent. It owns everything that lives as long as it does."""

    def __init__(self, config_path: Path, runtime_dir: Path, state_dir: Path) -> None:
        self._runtime_dir = runtime_dir
        self._state_dir = state_dir
        self._config_path = config_path
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._ready = False
        self._failure: BaseException | None = None
        self._paused: frozenset[str] = frozenset()

    async def run(self) -> None:
        """From start to stop."""
        self._notify = Notify()
        self._journal = Journal()
        self._reporting = Reporting(
            self._journal, self._notify, self._runtime_dir, whoami.identity(), time.time
        )
        self._children = Children()
        self._servers = ServerRace()
        self._host = booted.mount_host()
        edges = self._edges()
        self._keepers = Keepers(edges, self._move_pauses)
        self._volumes = Volumes(edges, self._runtime_dir, self._state_dir, self._reporting)
        self._reporting.listen(self._volumes.judged)
        self._identities = identities.IdentitiesKeeper(
            identities.Edges(self._children, tools(), self._reporting, time.time)
        )
        self._in_force = InForce(
            self._config_path, self._runtime_dir, self._state_dir, self._reporting
        )
        try:
            await self._begin()
            await self._stop.wait()
        finally:
            await self._end()
        if self._failure is not None:
            raise self._failure

    def _edges(self) -> Edges:
        return Edges(
            host=self._host,
            mount_table=mounttable.read,
            children=self._children,
            workers=Workers(self._children),
            servers=self._servers,
            records=Records(self._state_dir),
            report=self._reporting,
            monotonic=time.monotonic,
            wall=time.time,
            jitter=random.random,
            write_name=whoami.write_name(self._state_dir),
            log_dir=LOG_DIR,
            user=os.geteuid(),
        )

    async def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        self._reporting.emit(
            Event.STARTED,
            f"gluster-ml-agent {agent.__version__} started",
            pid=os.getpid(),
        )
        self._mount_watch = MountWatch(self._keepers.wake)
        self._watches = (
            watch_file(str(self._config_path), self._config_changed, away=self._in_force.away),
            watch_directory(str(pausefile.directory(self._state_dir)), self._pause_changed),
        )
        # Before the first reading, or a change between the two would never be seen.
        for watch in self._watches:
            watch.start()
        if self._in_force.start():
            self._apply()
        self._tasks = [
            loop.create_task(self._reporting.run()),
            loop.create_task(self._be_watched()),
            loop.create_task(self._tell_ready()),
            loop.create_task(self._identities.run()),
            loop.create_task(self._volumes.sweep()),
        ]
        for task in self._tasks:
            task.add_done_callback(self._task_ended)

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        """Without one of them the agent would look alive and say nothing: better a new agent."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._reporting.emit(
                Event.INTERNAL_ERROR, "the agent ends, to be started anew", error=error
            )
            self._failure = error
            self._stop.set()

    async def _tell_ready(self) -> None:
        await self._keepers.settled(FIRST_ROUND)
        self._reporting.write()
        self._notify.ready(self._reporting.sentence())
        self._ready = True
        # What came with the modules stays for good. A walk through all of it stops the loop for
        # 15 to 30 ms (measured), and the next one would be due about when the first client dies.
        gc.collect()
        gc.freeze()

    async def _be_watched(self) -> None:
        """Ping the watchdog while the loop turns and every keeper steps."""
        interval = self._notify.watchdog_interval or TICK
        while True:
            now = time.monotonic()
            if now - self._keepers.oldest_turn(now) < KEEPER_STALLED:
                self._notify.watchdog()
            self._journal.flush()
            await asyncio.sleep(interval)

    def _config_changed(self) -> None:
        if self._in_force.look():
            self._apply()

    def _reload(self) -> None:
        if not self._ready:
            self._config_changed()
            return
        self._notify.reloading(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)
        self._config_changed()
        self._notify.ready(self._reporting.sentence())

    def _apply(self) -> None:
        config = self._in_force.config
        self._journal.set_level(config.health.log_level)
        self._export(config)
        self._keepers.apply(config, self._read_paused())
        self._volumes.apply(config, enforce=not self._in_force.is_last_good)
        self._identities.change(config.identities)

    def _export(self, config: Config) -> None:
        """Before the mounts are: what jobs are told does not depend on how a mount is."""
        try:
            environment.write(self._runtime_dir, config)
        except OSError as error:
            path = self._runtime_dir / environment.NAME
            self._reporting.emit(Event.INTERNAL_ERROR, f"{path} can't be written: {error}")

    def _pause_changed(self) -> None:
        self._keepers.pause(self._read_paused())

    def _read_paused(self) -> frozenset[str]:
        """Where the directory can't be read, what was known before holds."""
        try:
            self._paused = pausefile.paused(self._state_dir)
        except OSError as error:
            self._reporting.emit(Event.FINDING, f"who is paused can't be read: {error}")
        return self._paused

    def _move_pauses(self, moves: Moves) -> None:
        """Names may have been swapped: the old ones go before the new ones come."""
        try:
            for old, _ in moves:
                pausefile.resume(self._state_dir, old)
            for _, new in moves:
                pausefile.pause(self._state_dir, new)
        except OSError as error:
            self._reporting.emit(Event.FINDING, f"pauses can't go along with new names: {error}")

    async def _end(self) -> None:
        """Let go of everything but the mounts, in bounded time."""
        self._notify.stopping("stopping; the mounts stay")
        self._reporting.emit(Event.STOPPING, "stopping; the mounts stay as they are")
        for watch in getattr(self, "_watches", ()):
            await watch.stop()
        for task in self._tasks:
            task.cancel()
        await self._volumes.close()
        await self._keepers.close()
        await self._children.close()
        self._mount_watch.close()
        await self._host.close()
        (self._runtime_dir / statusfile.NAME).unlink(missing_ok=True)
        self._journal.flush()
        self._journal.close()
        self._notify.close()

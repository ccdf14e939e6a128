"""Carries out the actions of a plan: the one place where mounts are made, detached and aborted."""

import asyncio
from dataclasses import replace

from agent.errors import AgentError, MountFailed
from agent.events import Event
from agent.model import MountEntry, ProcessId
from agent.mounts import clientlog
from agent.mounts.actions import Abort, Action, Detach, Forget, KillClient, Mount, Unmount
from agent.mounts.bare import BareDirectory
from agent.mounts.chronicle import Chronicle
from agent.mounts.edges import Edges, Settings
from agent.mounts.facts import serves, serves_source
from agent.mounts.observe import Observer
from agent.mounts.options import render
from agent.mounts.records import Record
from agent.mounts.servers import by_failures, describe, order
from agent.system import fuse, proc
from agent.system.mounthost import MountRequest
from agent.system.mountinfo import layers_at
from agent.system.net import Contact, Outcome

MOUNT_TIMEOUT = 60.0
"""Seconds. A client waits 10 s for bricks on a silent host (measured), and longer for several."""
UNMOUNT_TIMEOUT = 20.0
DETACH_TIMEOUT = 10.0


class NoServer(MountFailed):
    """No volfile server answers: nothing was started."""


class InUse(AgentError):
    """The kernel refused to unmount: somebody uses the mount."""

    def __init__(self, path: str) -> None:
        super().__init__("in-use", f"{path} is in use")


class Executor:
    """Acts on one mount. settings may be replaced at any time."""

    def __init__(
        self, settings: Settings, edges: Edges, observer: Observer, chronicle: Chronicle
    ) -> None:
        self.settings = settings
        self._edges = edges
        self._observer = observer
        self._tell = chronicle.tell
        self._bare = BareDirectory(edges, chronicle)
        self._look_at_guard = False
        self._failed_at: dict[str, float] = {}
        self._save_told = ""
        self._tried: dict[str, Contact] = {}

    async def run(self, action: Action) -> None:
        """Do it and say so. Raises MountFailed, NoServer, InUse, ChildGone."""
        match action:
            case Detach():
                await self._detach(action)
            case Abort():
                self._abort(action)
            case KillClient():
                proc.kill(action.client)
            case Unmount():
                await self._unmount(action)
            case Mount():
                await self._mount(action)
            case Forget():
                await self._forget(action)

    def record(self) -> Record:
        """What is remembered of the mount, or an empty record."""
        path, volume = self.settings.wanted.path, self.settings.wanted.full_volume
        found = self._edges.records.load(path, volume)
        return found or self._edges.records.new(self.settings.name, path, volume)

    def remember_client(self, process: ProcessId, device: tuple[int, int]) -> bool:
        """Note which process serves the agent's own mount, for an agent that starts later.

        False: another process than the recorded one serves it, so it is somebody else's mount
        that came to the same device number.
        """
        record = self.record()
        if record.client is None:
            self._save(replace(record, device=device, client=process))
        return record.client in (None, process)

    def layers(self) -> tuple[MountEntry, ...]:
        """What is mounted at the path now, bottom to top."""
        return layers_at(self._edges.mount_table(), self.settings.wanted.path)

    def forget_made(self) -> None:
        """Nothing is mounted: whatever comes to lie there is not the mount on record."""
        record = self.record()
        if record.fingerprint:
            self._save(replace(record, fingerprint="", device=None, client=None))

    def _save(self, record: Record) -> None:
        """A full disk must not keep a mount from being healed: without the file it goes on."""
        try:
            self._edges.records.save(record)
            self._save_told = ""
        except OSError as error:
            if str(error) != self._save_told:
                self._save_told = str(error)
                self._tell(
                    Event.FINDING,
                    f"the record of {record.path} can't be kept: {error}; an agent that starts "
                    "later would take the mount for somebody else's",
                )

    async def _detach(self, action: Detach) -> None:
        config = self.settings.config
        if config is not None and config.guard and not self.record().guarded:
            await self._guard_covered(immutable=True)
        # The mount that follows needs to know who answers, and jobs wait for the sum of both.
        trying = asyncio.create_task(self._try_servers())
        try:
            for _ in range(action.layers):
                self._require_top(action.path, action.device)
                await self._edges.host.detach(action.path, DETACH_TIMEOUT)
            self._observer.forget()
            self._tried = await trying
        finally:
            trying.cancel()
        self._tell(Event.DETACHED, f"{action.describe()}: done", path=action.path)

    def _abort(self, action: Abort) -> None:
        if fuse.abort(action.minor):
            self._tell(Event.ABORTED, f"{action.describe()}: done", minor=action.minor)
            return
        # Without fusectl the end of the client does the same to the connection.
        if action.client is None or not proc.kill(action.client):
            raise MountFailed(
                f"{action.path}: FUSE connection {action.minor} can't be aborted",
                "mount -t fusectl none /sys/fs/fuse/connections",
            )
        self._tell(Event.ABORTED, f"killed the hung client of {action.path}", minor=action.minor)

    def _require_top(self, path: str, device: tuple[int, int]) -> None:
        """What was decided on an earlier look holds for the mount that was seen then, no other."""
        layers = self.layers()
        if not layers or layers[-1].device != device:
            raise MountFailed(f"{path}: another mount lies there by now, or none")

    async def _unmount(self, action: Unmount) -> None:
        self._require_top(action.path, action.device)
        if not await self._edges.host.unmount(action.path, UNMOUNT_TIMEOUT):
            raise InUse(action.path)
        self._observer.forget()
        self._tell(Event.UNMOUNTED, f"unmounted {action.path}: {action.why}", path=action.path)

    async def _forget(self, action: Forget) -> None:
        record = self.record()
        guarded = record.guarded and not self.settings.keep_guard
        if guarded and self.layers():
            await self._guard_covered(immutable=False)
        elif guarded:
            await self._guard(immutable=False)
        self._edges.records.forget(record)
        self._tell(Event.FORGOTTEN, action.describe(), path=action.path)

    async def _guard(self, *, immutable: bool) -> bool:
        settings = self.settings
        return await self._bare.prepare(
            settings.key,
            settings.wanted.path,
            immutable=immutable,
            strays=settings.config is not None,
        )

    async def _guard_covered(self, *, immutable: bool) -> None:
        if await self._bare.prepare_covered(self.settings.wanted.path, immutable=immutable):
            self._save(replace(self.record(), guarded=immutable))

    async def _try_servers(self) -> dict[str, Contact]:
        """How the servers of the file take it, in the order in which they are to be preferred."""
        if self.settings.config is None:
            return {}
        now = self._edges.monotonic()
        servers = by_failures(self.settings.config.servers, self._failed_at, now)
        return await self._edges.servers.race(servers, self.settings.port)

    async def _mount(self, action: Mount) -> None:
        settings = self.settings  # those that the mount is made with, whatever comes meanwhile
        tried, self._tried = self._tried, {}
        config = settings.config
        if config is None:
            raise MountFailed(f"{action.path} was taken out of the file")
        record = self.record()
        if not record.guarded or not config.guard or self._look_at_guard:
            record = replace(record, guarded=await self._guard(immutable=config.guard))
        contacts = tried if tried.keys() == set(config.servers) else await self._try_servers()
        if not any(c.outcome is Outcome.ANSWERED for c in contacts.values()):
            raise NoServer(f"no volfile server answers: {describe(contacts.values())}")
        servers = order(contacts, contacts)
        source, options = render(config, servers)
        log = clientlog.log_path(config)
        since = clientlog.position(log)
        unit = await self._edges.host.administrator_unit(action.path)
        if unit and not serves_source(unit.source, settings.wanted):
            raise MountFailed(
                f"{action.path}: {unit.origin} mounts {unit.source} there, not "
                f"{settings.wanted.full_volume}",
                "take the one or the other away",
            )
        fingerprint = "" if unit else settings.wanted.fingerprint
        record = replace(record, fingerprint=fingerprint, device=None, client=None)
        self._save(record)
        try:
            if unit:
                await self._edges.host.start_unit(unit, action.path, MOUNT_TIMEOUT)
            else:
                request = MountRequest(settings.name, source, action.path, options)
                await self._edges.host.mount(request, MOUNT_TIMEOUT)
            top = self._verify(record)
        except MountFailed as error:
            self._failed_at[servers[0]] = self._edges.monotonic()
            self._look_at_guard = True
            self._save(replace(record, fingerprint=""))
            raise self._explained(error, clientlog.cause(clientlog.tail(log, since))) from error
        self._look_at_guard = False
        by = f" by {unit.origin}" if unit else ""
        self._tell(
            Event.MOUNTED,
            f"mounted {top.source} at {action.path}{by}: {action.cause}",
            source=top.source,
            options=options,
            servers=describe(contacts.values()),
        )
        self._observer.forget()

    def _verify(self, record: Record) -> MountEntry:
        """mount(8) can exit 0 with nothing mounted: believe the mount table only."""
        layers = self.layers()
        if not layers or not serves(layers[-1], self.settings.wanted):
            raise MountFailed(f"mount reported success, but nothing is mounted at {record.path}")
        self._save(replace(record, device=layers[-1].device))
        return layers[-1]

    def _explained(self, error: MountFailed, cause: str) -> MountFailed:
        return MountFailed(f"{error.message}; the client's log says: {cause}") if cause else error

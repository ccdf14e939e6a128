"""Carries out the actions of a plan: the one place where mounts are made, detached and aborted."""

import asyncio
from dataclasses import replace

from agent.config.schema import MountConfig
from agent.errors import AgentError, MountFailed
from agent.events import Event
from agent.model.mount import MountEntry, ProcessId
from agent.mounts import clientlog
from agent.mounts.actions import Abort, Action, Detach, Forget, KillClient, Mount, Unmount
from agent.mounts.bare import BareDirectory
from agent.mounts.chronicle import Chronicle
from agent.mounts.clientlog import ClientLog
from agent.mounts.edges import Edges, Settings
from agent.mounts.mounting import Mounter, Outlook
from agent.mounts.observe import Observer
from agent.mounts.records import Record
from agent.mounts.servers import describe
from agent.system import fuse, proc
from agent.system.mountinfo import layers_at

UNMOUNT_TIMEOUT = 20.0
DETACH_TIMEOUT = 10.0


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
        self._mounter = Mounter(edges)
        self._outlook: Outlook | None = None
        self._save_told = ""
        self._log_told = ""

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

    def client_log(self, *, adopted: bool) -> str:
        """Where the client logs, or logged last, or will log first.

        adopted: the mount is somebody else's. Once the name of the agent's own changed, its client
        logs on under the old name.
        """
        settings = self.settings
        recorded = self.record().client_log
        if recorded and not adopted:
            return recorded
        if adopted or settings.config is None:
            return str(clientlog.untold(settings.wanted.path))
        return str(clientlog.meant(self._edges.log_dir, settings.name, settings.config))

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
        looking = None
        if config is not None:
            looking = asyncio.create_task(self._mounter.look_ahead(self.settings))
        try:
            for _ in range(action.layers):
                self._require_top(action.path, action.device)
                await self._edges.host.detach(action.path, DETACH_TIMEOUT)
            self._observer.forget()
            self._outlook = await looking if looking else None
        finally:
            if looking:
                looking.cancel()
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
        guarded = record.guarded and not self.settings.replaced
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
            before=self.record().guarded,
            strays=settings.config is not None,
        )

    async def _guard_covered(self, *, immutable: bool) -> None:
        if await self._bare.prepare_covered(self.settings.wanted.path, immutable=immutable):
            self._save(replace(self.record(), guarded=immutable))

    async def _mount(self, action: Mount) -> None:
        settings = self.settings  # those that the mount is made with, whatever comes meanwhile
        outlook, self._outlook = self._outlook, None
        config = settings.config
        if config is None:
            raise MountFailed(f"{action.path} was taken out of the file")
        record = self.record()
        if not record.guarded or not config.guard or self._look_at_guard:
            record = replace(record, guarded=await self._guard(immutable=config.guard))
            if record.guarded != self.record().guarded:  # also where no server answers, for long
                self._save(record)
        if outlook is None or outlook.contacts.keys() != set(config.servers):
            outlook = await self._mounter.look_ahead(settings)
        self._mounter.require_usable(settings, outlook)
        log = self._choose_log(settings, config, outlook)
        fingerprint = "" if outlook.unit else settings.wanted.fingerprint
        record = replace(
            record, fingerprint=fingerprint, device=None, client=None, client_log=str(log.path)
        )
        self._save(record)
        try:
            top, options = await self._mounter.mount(settings, outlook, log)
        except MountFailed:
            self._look_at_guard = True
            self._save(replace(record, fingerprint=""))
            raise
        self._save(replace(record, device=top.device))
        self._look_at_guard = False
        by = f" by {outlook.unit.origin}" if outlook.unit else ""
        self._tell(
            Event.MOUNTED,
            f"mounted {top.source} at {action.path}{by}: {action.cause}",
            source=top.source,
            options=options,
            servers=describe(outlook.contacts.values()),
        )
        self._observer.forget()

    def _choose_log(self, settings: Settings, config: MountConfig, outlook: Outlook) -> ClientLog:
        """An administrator's unit has options of its own; what is wrong with a log is told once."""
        if outlook.unit:
            return ClientLog(clientlog.untold(config.path))
        log = clientlog.choose(self._edges.log_dir, settings.name, config)
        if log.trouble and log.trouble != self._log_told:
            self._tell(Event.FINDING, f"{config.path}: {log.trouble}")
        self._log_told = log.trouble
        return log

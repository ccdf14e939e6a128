"""Which configuration is in force: a valid file whole, else what was in force before."""

from collections.abc import Iterator
from pathlib import Path

from agent.config import lastgood
from agent.config.diff import Added, Altered, Change, Removed, diff
from agent.config.files import load_file
from agent.config.load import Loaded
from agent.config.problems import ConfigInvalid, ConfigUnreadable
from agent.config.schema import Config
from agent.daemon.reporting import Reporting
from agent.events import Event
from agent.files import file_state
from agent.model.status import ConfigState, ConfigStatus
from agent.system import mounttable
from agent.system.links import mount_on_the_way


class InForce:
    """The configuration in force, and what became of the newest look at the file.

    config: starts as one without mounts, which stays until a file is accepted.
    """

    def __init__(
        self,
        path: Path,
        runtime_dir: Path,
        state_dir: Path,
        reporting: Reporting,
    ) -> None:
        self.config = Config(mounts={})
        self._path = str(path)
        self._state_dir = str(state_dir)
        self._own_paths = (self._path, str(runtime_dir), self._state_dir)
        self._reporting = reporting
        self._state = ConfigState.REJECTED
        self._fingerprint = ""
        self._warnings: tuple[str, ...] = ()
        self._errors: tuple[str, ...] = ()
        self._seen = ""

    @property
    def is_last_good(self) -> bool:
        """Whether what is in force is not what the file says: nothing is to be lost by it."""
        return self._state is ConfigState.LAST_GOOD

    def start(self) -> bool:
        """The first look: where the file is of no use, the last good one serves.

        False: there is neither, so nothing is known of what the operator wants, which is another
        thing than wanting no mounts.
        """
        if self.look():
            return True
        try:
            loaded = lastgood.restore(
                self._state_dir, mount_table=mounttable.read(), own_paths=self._own_paths
            )
        except (ConfigInvalid, ConfigUnreadable) as error:
            self._tell(Event.CONFIG_REJECTED, f"no configuration is in force: {error}")
            return False
        self._take(loaded, ConfigState.LAST_GOOD)
        self._tell(
            Event.CONFIG_LAST_GOOD,
            f"{self._path} is of no use, so the last good configuration serves: "
            f"mounts {', '.join(loaded.config.mounts) or 'none'}",
        )
        return True

    def look(self) -> bool:
        """Read the file; True if another configuration came into force."""
        if mount := self.away():
            self._seen = ""
            why = "is not read, as the agent would hang with it; keep it on a local disk"
            self._reject((f"{self._path}: leads onto the mount at {mount}, and {why}",))
            return False
        self._seen = file_state(self._path)
        try:
            loaded = load_file(self._path, mount_table=mounttable.read(), own_paths=self._own_paths)
        except (ConfigInvalid, ConfigUnreadable) as error:
            self._reject(error.lines)
            return False
        changes = diff(self.config, loaded.config)
        new = loaded.fingerprint != self._fingerprint
        if new or self._state is not ConfigState.VALID:
            self._accepted(loaded, changes)
        self._take(loaded, ConfigState.VALID)
        return new

    def away(self) -> str:
        """The network or FUSE mount that the file is on, "" if it is on none."""
        return mount_on_the_way(self._path, mounttable.read())

    def _tell(self, event: Event, message: str) -> None:
        self._reporting.emit(event, message)

    def _accepted(self, loaded: Loaded, changes: tuple[Change, ...]) -> None:
        for line in loaded.warning_lines:
            self._tell(Event.CONFIG_WARNING, line)
        said = "; ".join(told(changes)) or "no mount changes"
        if not self._fingerprint:
            said = f"mounts {', '.join(loaded.config.mounts) or 'none'}"
        self._tell(Event.CONFIG_ACCEPTED, f"{self._path} is in force: {said}")
        try:
            lastgood.save(self._state_dir, loaded.data)
        except OSError as error:
            self._tell(Event.INTERNAL_ERROR, f"the accepted configuration can't be kept: {error}")

    def _take(self, loaded: Loaded, state: ConfigState) -> None:
        self.config = loaded.config
        self._state = state
        self._fingerprint = loaded.fingerprint
        self._warnings = loaded.warning_lines
        if state is ConfigState.VALID:
            self._errors = ()
        self._report()

    def _reject(self, lines: tuple[str, ...]) -> None:
        if self._state is ConfigState.VALID:
            self._state = ConfigState.REJECTED
        if lines != self._errors:
            self._errors = lines
            for line in lines:
                self._tell(Event.CONFIG_REJECTED, line)
        self._report()

    def _report(self) -> None:
        status = ConfigStatus(
            self._state, self._path, self._errors, self._warnings, self._fingerprint, self._seen
        )
        self._reporting.configured(self.config, status)


def told(changes: tuple[Change, ...]) -> Iterator[str]:
    """Each in words; a volume that takes another's path is one change to whoever made it."""
    taken_out = {change.mount.path: change for change in changes if isinstance(change, Removed)}
    new = {change.mount.path: change for change in changes if isinstance(change, Added)}
    for change in changes:
        if isinstance(change, Added) and (old := taken_out.get(change.mount.path)):
            was = "" if change.name == old.name else f" (before: {old.name})"
            volumes = f"{old.mount.volume} -> {change.mount.volume}"
            yield f"{change.name}{was}: another volume, {volumes}, when the old one is idle"
        elif not (isinstance(change, Removed) and change.mount.path in new):
            yield _words(change)


def _words(change: Change) -> str:
    match change:
        case Added():
            return f"{change.name} is new"
        case Removed():
            return f"{change.name} is taken out"
        case Altered(renamed=True):
            return f"{change.old_name} is now called {change.name}"
        case _:
            return f"{change.name} has other {', '.join(sorted(change.parts))}"

"""Which configuration is in force: a valid file whole, else what was in force before."""

from pathlib import Path

from agent.config.files import load_file
from agent.config.lastgood import LastGood
from agent.config.load import Loaded
from agent.config.problems import ConfigInvalid, ConfigUnreadable
from agent.config.schema import Config
from agent.daemon.reporting import Reporting
from agent.errors import AgentError
from agent.events import Event
from agent.model import ConfigState, ConfigStatus
from agent.system.mounttable import MountTable

NOTHING = Config(mounts={})


class InForce:
    """The configuration in force, and what became of the newest look at the file."""

    def __init__(
        self,
        path: Path,
        own_dirs: tuple[str, ...],
        last_good: LastGood,
        table: MountTable,
        reporting: Reporting,
    ) -> None:
        self.config = NOTHING
        self._path = str(path)
        self._own_dirs = own_dirs
        self._last_good = last_good
        self._table = table
        self._reporting = reporting
        self._state = ConfigState.REJECTED
        self._fingerprint = ""
        self._warnings: tuple[str, ...] = ()
        self._told: tuple[str, ...] = ()

    def start(self) -> None:
        """The first look: where the file is of no use, the last good one serves."""
        if self.look():
            return
        try:
            loaded = self._last_good.load(self._table.read())
        except AgentError as error:
            self._reporting.emit(
                Event.CONFIG_REJECTED,
                f"no configuration is in force; of the last good one: {error}",
            )
            return
        self._take(loaded, ConfigState.LAST_GOOD)
        self._reporting.emit(
            Event.CONFIG_LAST_GOOD,
            f"{self._path} is of no use; the last good configuration serves: "
            f"{len(loaded.config.mounts)} mounts",
        )

    def look(self) -> bool:
        """Read the file; True if another configuration came into force."""
        try:
            loaded = load_file(self._path, mount_table=self._table.read(), own_paths=self._own_dirs)
        except (ConfigInvalid, ConfigUnreadable) as error:
            self._reject(error.lines)
            return False
        known = self._state is not ConfigState.REJECTED or self._fingerprint != ""
        new = not known or loaded.fingerprint != self._fingerprint
        news = new or self._state is not ConfigState.VALID
        self._take(loaded, ConfigState.VALID)
        if news:
            self._accepted(loaded)
        return new

    def _accepted(self, loaded: Loaded) -> None:
        for line in loaded.warning_lines:
            self._reporting.emit(Event.CONFIG_WARNING, line)
        count = len(loaded.config.mounts)
        self._reporting.emit(
            Event.CONFIG_ACCEPTED,
            f"{self._path} is in force: {count} mount{'' if count == 1 else 's'}",
            fields={"fingerprint": loaded.fingerprint},
        )
        try:
            self._last_good.save(loaded)
        except OSError as error:
            self._reporting.emit(
                Event.INTERNAL_ERROR, f"the accepted configuration can't be kept: {error}"
            )

    def _take(self, loaded: Loaded, state: ConfigState) -> None:
        self.config = loaded.config
        self._state = state
        self._fingerprint = loaded.fingerprint
        self._warnings = loaded.warning_lines
        if state is ConfigState.VALID:
            self._told = ()
        self._report()

    def _reject(self, lines: tuple[str, ...]) -> None:
        if self._state is ConfigState.VALID:
            self._state = ConfigState.REJECTED
        if lines != self._told:
            self._told = lines
            for line in lines:
                self._reporting.emit(Event.CONFIG_REJECTED, line)
        self._report()

    def _report(self) -> None:
        status = ConfigStatus(
            self._state, self._path, self._told, self._warnings, self._fingerprint
        )
        self._reporting.configured(self.config, status)

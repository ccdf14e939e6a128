"""What the agent remembers of the mounts it made, so that a restarted one knows its own.

One small file a mount in the state directory, by volume and path: a mount whose name in the
configuration changes keeps its record. Written before a mount is made and again once it is known
which one it became: an agent that dies between the two still recognises it.

Beside them lies `guarded`: the paths whose bare directory the agent made immutable, one a line,
for a reader without JSON (the package's postrm). Like every path of the configuration they hold no
control characters.
"""

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

from agent import codec
from agent.files import replace_file
from agent.model.mount import MountEntry, ProcessId
from agent.system.mountinfo import GLUSTER_FSTYPE, parse_source

_LATER = {"client_log": ""}
"""What an earlier version didn't write."""

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Record:
    """A mount of the agent's own.

    boot_id: of the boot it was made in: devices and pids mean nothing in another. device: None
    while the mount is being made. fingerprint: of the options it was made with. guarded: the bare
    directory below it was made immutable by the agent. client_log: where the client of the last
    attempt logs, "" where none was made.
    """

    name: str
    path: str
    volume: str
    boot_id: str
    fingerprint: str
    device: tuple[int, int] | None = None
    client: ProcessId | None = None
    guarded: bool = False
    client_log: str = ""

    def made(self, entry: MountEntry) -> bool:
        """Whether this mount is the recorded one, or the one that was being made."""
        return self.fingerprint != "" and self.device in (None, entry.device)


class Records:
    """The records in one state directory. Raises OSError where that can't be written."""

    def __init__(self, state_dir: Path) -> None:
        self._dir = state_dir / "mounts"
        self._guarded = state_dir / "guarded"
        self._boot_id = BOOT_ID.read_text().strip()
        self._known: dict[tuple[str, str], Record | None] = {}

    def new(self, name: str, path: str, volume: str) -> Record:
        """A record for a mount that doesn't have one."""
        return Record(name, path, volume, self._boot_id, "")

    def load(self, path: str, volume: str) -> Record | None:
        """The record of a volume's mount at a path.

        Of a former boot's only what is still true counts: the guard, and where the log is.
        """
        key = (path, volume)
        if key not in self._known:
            self._known[key] = self._read(path, volume)
        return self._known[key]

    def _read(self, path: str, volume: str) -> Record | None:
        try:
            fields = json.loads(self._file(path, volume).read_bytes())
            record = codec.decode(Record, {**_LATER, **fields})
        except (OSError, ValueError, TypeError):
            return None
        if (record.path, record.volume) != (path, volume):
            return None
        if record.boot_id != self._boot_id:
            return replace(record, boot_id=self._boot_id, fingerprint="", device=None, client=None)
        return record

    def save(self, record: Record) -> None:
        """Keep the record, atomically. Raises OSError; it is known then all the same.

        Not synced: after a power loss only the guard would count, and on a busy disk a sync can
        hold up the loop for seconds.
        """
        self._known[record.path, record.volume] = record
        content = json.dumps(codec.encode(record)).encode()
        try:
            self._dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._file(record.path, record.volume), content, 0o600, durable=False)
        finally:
            self._list_guarded()

    def forget(self, record: Record) -> None:
        """The mount is no longer looked after."""
        self._known.pop((record.path, record.volume), None)
        with contextlib.suppress(OSError):  # a read-only disk; the mount is gone all the same
            self._file(record.path, record.volume).unlink()
        with contextlib.suppress(OSError):
            self._list_guarded()

    def _list_guarded(self) -> None:
        """Bring the list up to date. Raises OSError.

        Compared with what the file holds, not with what was written last, so that it mends itself.
        """
        records = {*self.all(), *filter(None, self._known.values())}
        paths = sorted({os.fsencode(record.path) for record in records if record.guarded})
        content = b"".join(path + b"\n" for path in paths)
        try:
            held = self._guarded.read_bytes()
        except OSError:
            held = b""
        if held != content:
            replace_file(self._guarded, content, 0o600, durable=False)

    def all(self) -> tuple[Record, ...]:
        """Every record, for mounts that were taken out of the file while no agent ran."""
        if not self._dir.is_dir():
            return ()
        keys = []
        for name in sorted(os.listdir(self._dir)):
            try:
                fields = json.loads((self._dir / name).read_bytes())
                keys.append((str(fields["path"]), str(fields["volume"])))
            except (OSError, ValueError, KeyError, TypeError):
                continue
        found = (self.load(path, volume) for path, volume in keys)
        return tuple(record for record in found if record is not None)

    def made_of(self, entry: MountEntry | None, volumes: tuple[str, ...]) -> str:
        """Which of these volumes the agent made this mount of; "" for none."""
        source = parse_source(entry.source) if entry else None
        if entry is None or source is None or entry.fstype != GLUSTER_FSTYPE:
            return ""
        volume = f"{source.volume}/{source.subdir}".rstrip("/")
        record = self.load(entry.path, volume) if volume in volumes else None
        return volume if record and record.made(entry) else ""

    def _file(self, path: str, volume: str) -> Path:
        # A path may be longer than a file name can be.
        key = hashlib.sha256(f"{volume}@{path}".encode(errors="surrogateescape"))
        return self._dir / f"{key.hexdigest()[:24]}.json"

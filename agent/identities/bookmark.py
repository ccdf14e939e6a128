"""How far a walk over a volume is, for the agent that comes after this one."""

import contextlib
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from agent import codec
from agent.config.schema import MountConfig
from agent.files import replace_file


@dataclass(frozen=True, slots=True)
class Bookmark:
    """at: where to go on, "" for the beginning; the counts of what was walked by then."""

    at: str = ""
    looked: int = 0
    matched: int = 0
    changed: int = 0


class Bookmarks:
    """One small file for each volume and path. To lose one costs a walk from the beginning."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self, mount: MountConfig, what: str) -> Bookmark:
        """The place of a walk that was about the same; else the beginning."""
        try:
            found = json.loads(self._file(mount).read_bytes())
            if found["what"] != what:
                return Bookmark()
            return codec.decode(Bookmark, found)
        except (OSError, ValueError, KeyError, TypeError):
            return Bookmark()

    def save(self, mount: MountConfig, what: str, mark: Bookmark) -> None:
        """Never raises: a full disk stops no walk."""
        content = json.dumps({"what": what, **codec.encode(mark)}).encode()
        with contextlib.suppress(OSError):
            self._directory.mkdir(mode=0o700, exist_ok=True)
            replace_file(self._file(mount), content, 0o600, durable=False)

    def remove(self, mount: MountConfig) -> None:
        """It is done."""
        with contextlib.suppress(OSError):
            self._file(mount).unlink(missing_ok=True)

    def _file(self, mount: MountConfig) -> Path:
        key = hashlib.sha256(f"{mount.volume} {mount.path}".encode()).hexdigest()[:16]
        return self._directory / f"{key}.json"

"""The log of a mount's client: where it goes, and what it tells of a failure.

mount(8) often says nothing but "failed", or exits 0: the cause stands in the log alone. It lies on
the local disk. Unless told, a client logs to /var/log/glusterfs/<path with dashes>.log
(glusterfsd.c, gf_set_log_file_path), where /mnt/a/b and /mnt/a-b share a file. The agent names one
a mount, in a directory of its own. A client that can't open its log gives up (logging.c,
gf_log_init), so that each is tried before a client is told of it.
"""

import errno
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from agent.config.schema import MountConfig
from agent.model.mount import ObstacleKind

GLUSTER_DIR = Path("/var/log/glusterfs")
MOST = 1 << 18
"""Bytes of the log that are looked at."""

_LINE = re.compile(r"^\[[^\]]+\] (?P<level>[ECW]) (?:\[MSGID: \d+\] )?\[[^\]]*\] (?P<text>.*)$")
_TELLING = re.compile(
    r"authentication failed|permission denied|remote-error|not found|no such|failed to get the"
    r"|refused|subdir|ssl|certificate|could not|unable",
    re.IGNORECASE,
)

_OBSTACLES = (
    ("failed to get the 'volume file' from server", ObstacleKind.NO_VOLUME),
    ("remote-error=subdirectory for mount", ObstacleKind.NO_DIRECTORY),
    ("remote-error=Authentication failed", ObstacleKind.NOT_ALLOWED),
    ("failed to get the port number for remote subvolume", ObstacleKind.NO_BRICK),
)
"""What a client logs (glusterfsd-mgmt.c, client-handshake.c), and what it says of the server.

The first that any line has counts: a brick that doesn't run may stand beside one that refuses.
"""


@dataclass(frozen=True, slots=True)
class ClientLog:
    """Where a client is to log. option: what mount.glusterfs is told, "" where it needs no telling.

    trouble: why it isn't where it was meant to be, "" where it is.
    """

    path: Path
    option: str = ""
    trouble: str = ""


def untold(mount_path: str) -> Path:
    """Where the client of a mount logs that nobody told."""
    return GLUSTER_DIR / (mount_path.strip("/").replace("/", "-") + ".log")


def meant(directory: Path, name: str, config: MountConfig) -> Path:
    """Where the client of a mount should log: as its options say, else in the agent's directory."""
    named = config.options.get("log-file")
    return Path(named) if isinstance(named, str) else directory / f"{name}.log"


def choose(directory: Path, name: str, config: MountConfig) -> ClientLog:
    """Where the client that is about to be started logs; the directory is made where it lacks.

    Whatever is wrong there (a full disk, a read-only one, something else under the name), the
    mount is made: with the log of an untold client, or with none.
    """
    path = meant(directory, name, config)
    if "log-file" in config.options:
        return ClientLog(path)
    try:
        _require_directory(directory)
        _make(path)
    except OSError as error:
        fallback, option = _fallback(config.path)
        trouble = f"the client can't log to {path} ({error.strerror}) and logs to {fallback}"
        return ClientLog(fallback, option, trouble)
    return ClientLog(path, str(path))


def position(path: Path) -> int:
    """How long the log is now, in bytes; 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def tail(path: Path, since: int) -> str:
    """What was appended since that position, at most the last MOST bytes; "" if unreadable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return ""
        start = since if found.st_size >= since else 0  # rotated meanwhile
        return os.pread(descriptor, MOST, max(start, found.st_size - MOST)).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def cause(text: str) -> str:
    """The line that tells why the client gave up, without its time and place; "" if none does.

    Lines of a known obstacle come first, then those that name a reason, then those that only say
    that something failed; errors before warnings; of equals the first, since later ones are its
    consequences.
    """
    lines = [match for line in text.splitlines() if (match := _LINE.match(line))]
    ranked = sorted(
        lines,
        key=lambda m: (_rank(m["text"]), not _TELLING.search(m["text"]), m["level"] == "W"),
    )
    return ranked[0]["text"].strip()[:300] if ranked else ""


def obstacle(text: str) -> ObstacleKind | None:
    """What a server put in the way, where the line of `cause` says so in words that are known."""
    rank = _rank(cause(text))
    return _OBSTACLES[rank][1] if rank < len(_OBSTACLES) else None


def _rank(line: str) -> int:
    """Which of the obstacles a line tells of; beyond them if none."""
    found = (rank for rank, (words, _) in enumerate(_OBSTACLES) if words in line)
    return next(found, len(_OBSTACLES))


def _fallback(mount_path: str) -> tuple[Path, str]:
    """(path, option) of a log that can be written."""
    path = untold(mount_path)
    try:
        _make(path)
    except OSError:
        return Path(os.devnull), os.devnull
    return path, ""


def _require_directory(directory: Path) -> None:
    """Make it, or see that nobody else can put a link into it. Raises OSError."""
    try:
        os.mkdir(directory)
    except FileExistsError:
        found = os.lstat(directory)
        if not stat.S_ISDIR(found.st_mode):
            raise OSError(errno.ENOTDIR, f"{directory} is no directory") from None
        if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise OSError(errno.EPERM, f"others than root can write to {directory}") from None
    else:
        os.chmod(directory, 0o755)  # noqa: S103  for all to see, whatever the umask is


def _make(path: Path) -> None:
    """Open the file as a client will, and make it where it lacks. Raises OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no file")
    finally:
        os.close(descriptor)

"""Why a client failed, from its own log: mount(8) often says nothing but "failed", or exits 0.

The log lies on the local disk, /var/log/glusterfs/<path with dashes>.log where no `log-file` is
set (glusterfsd.c, set_fuse_log_file). Only what was written after an attempt began is read.
"""

import os
import re
import stat
from pathlib import Path

from agent.config.schema import MountConfig

LOG_DIR = Path("/var/log/glusterfs")
MOST = 1 << 18
"""Bytes of the log that are looked at."""

_LINE = re.compile(r"^\[[^\]]+\] (?P<level>[ECW]) (?:\[MSGID: \d+\] )?\[[^\]]*\] (?P<text>.*)$")
_TELLING = re.compile(
    r"authentication failed|permission denied|remote-error|not found|no such|failed to get the"
    r"|refused|subdir|ssl|certificate|could not|unable",
    re.IGNORECASE,
)


def log_path(config: MountConfig) -> Path:
    """Where the client of this mount logs."""
    named = config.options.get("log-file")
    if isinstance(named, str):
        return Path(named)
    return LOG_DIR / (config.path.strip("/").replace("/", "-") + ".log")


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

    Errors come before warnings, and lines that name a reason before those that only say that
    something failed; of equals the first, since later ones are its consequences.
    """
    lines = [match for line in text.splitlines() if (match := _LINE.match(line))]
    ranked = sorted(
        lines,
        key=lambda m: (not _TELLING.search(m["text"]), m["level"] == "W"),
    )
    return ranked[0]["text"].strip()[:300] if ranked else ""

"""FUSE's control files, /sys/fs/fuse/connections (the kernel's filesystems/fuse.rst).

A connection bears the minor device number of its mount. Nothing here waits for a FUSE server.
"""

import os
from pathlib import Path

_CONNECTIONS = Path("/sys/fs/fuse/connections")


def waiting(minor: int) -> int | None:
    """Requests on their way to or from the server; None where it can't be told."""
    try:
        return int((_CONNECTIONS / str(minor) / "waiting").read_bytes()[:32])
    except (OSError, ValueError):
        return None


def abort(minor: int) -> bool:
    """End the connection: every waiting caller gets ECONNABORTED. False if it could not be told.

    Drops writes in flight; afterwards nothing on the mount can hang, and nothing works.
    """
    try:
        descriptor = os.open(_CONNECTIONS / str(minor) / "abort", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(descriptor, b"1")
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True

"""umount(8) as the agent calls it, and what its answer means: pure functions.

`--no-canonicalize` and `--internal-only` leave a single system call on the path: umount2(2), which
does not ask the file system anything. Without them umount(8) looks the path up and hangs on a
frozen client. Measured with util-linux 2.38: with them neither a plain nor a lazy unmount of a
frozen or dead mount waits, and EBUSY is told of a frozen one just as well.
"""

from enum import Enum

from agent.errors import MountFailed

_OPTIONS = ("--no-canonicalize", "--internal-only")


class Unmounted(Enum):
    """What a call of umount(8) came to."""

    DONE = "done"
    BUSY = "busy"
    NOTHING = "nothing was mounted"


def umount_argv(path: str, *, lazy: bool) -> tuple[str, ...]:
    """The arguments, program first; to be run with LC_ALL=C, so that its words can be read."""
    return ("umount", *_OPTIONS, *(("--lazy",) if lazy else ()), "--", path)


def outcome(path: str, *, ok: bool, words: str) -> Unmounted:
    """The meaning of an exit (ok: status 0) with these words on stderr. Raises MountFailed."""
    if ok:
        return Unmounted.DONE
    # umount(8) has one exit status (32) for every failure, so its words must tell them apart.
    if "target is busy" in words:
        return Unmounted.BUSY
    if "not mounted" in words:
        return Unmounted.NOTHING
    raise MountFailed(f"{path}: unmounting failed: {last_line(words) or 'no reason given'}")


def last_line(words: str) -> str:
    """The last line with something on it: where tools put the reason."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[-1] if lines else ""

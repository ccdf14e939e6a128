"""Which mount a descriptor is on, told without a word to the mount's file system."""

import os


def open_path(path: str) -> int:
    """A descriptor of the directory that makes no request to its file system. Raises OSError.

    O_PATH does not open the directory, so this works on the root of a dead or hung FUSE mount.
    """
    return os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)


def mount_id(descriptor: int) -> int:
    """The mount it is on, as mountinfo numbers them (proc_pid_fdinfo(5)). Raises OSError."""
    # Without a buffered file: whoever walks a tree asks often.
    info = os.open(f"/proc/self/fdinfo/{descriptor}", os.O_RDONLY)
    try:
        _, found, rest = os.read(info, 4096).partition(b"\nmnt_id:")
    finally:
        os.close(info)
    if not found:
        raise OSError("no mnt_id in fdinfo")
    return int(rest.split(b"\n", 1)[0])


def device_of(descriptor: int) -> list[int] | None:
    """[major, minor] of the mount it is on; None for one that was detached.

    fstat would tell too, but asks the file system, and fails where the FUSE client is dead.
    """
    wanted = b"%d" % mount_id(descriptor)
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            fields = line.split(b" ", 3)
            if fields[0] == wanted:
                major, _, minor = fields[2].partition(b":")
                return [int(major), int(minor)]
    return None

"""Renames without replacing anything, also where the file system can't do that at once.

GlusterFS knows no RENAME_NOREPLACE (docs/gluster-facts.md). There a file gets its new name as a
second one first, and a directory is renamed onto an empty one that is made for it: both fail where
the name is taken.
"""

import contextlib
import ctypes
import errno
import os
import stat
import time

_LIBC = ctypes.CDLL(None, use_errno=True)
_RENAME_NOREPLACE = 1
_UNKNOWN = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR)
_SETTLED = 1.5
"""Seconds after which even a client that was given another xlator-option (workmount.py) has
forgotten what it saw before."""
_HOLDING = 0o1700
"""How the empty directory is made: one of ours that is so was left by a crash, and may be used."""


def rename(source: int, name: str, target: int, new: str, *, true_view: bool) -> None:
    """Give it its new name in the directory target, if nothing has that. Raises OSError.

    true_view: on a mount whose caches don't answer. There a second call with the same words
    completes what was killed half way; elsewhere the name of what was moved away may still be seen
    at its old place, and that is no reason to remove the other one.
    """
    old, wanted = os.fsencode(name), os.fsencode(new)
    if _LIBC.renameat2(source, old, target, wanted, _RENAME_NOREPLACE) == 0:
        return
    number = ctypes.get_errno()
    if number not in _UNKNOWN:
        raise OSError(number, os.strerror(number))
    found = os.stat(name, dir_fd=source, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode):
        _directory(source, name, target, new)
    else:
        _file(source, name, target, new, true_view=true_view)


def is_free(source: int, name: str, target: int, new: str) -> bool:
    """Whether that name is free for it, or was taken by such a rename that broke off.

    Raises OSError.
    """
    try:
        there = os.stat(new, dir_fd=target, follow_symlinks=False)
    except FileNotFoundError:
        return True
    here = os.stat(name, dir_fd=source, follow_symlinks=False)
    if stat.S_ISDIR(here.st_mode):
        return _is_held(there)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _is_held(found: os.stat_result) -> bool:
    return found.st_mode == stat.S_IFDIR | _HOLDING and found.st_uid == os.geteuid()


def _directory(source: int, name: str, target: int, new: str) -> None:
    try:
        os.mkdir(new, _HOLDING, dir_fd=target)
    except FileExistsError:
        if not is_free(source, name, target, new):
            raise
    try:
        os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)
    except OSError as error:
        with contextlib.suppress(OSError):  # also where a second one was faster with the other
            if _is_held(os.stat(new, dir_fd=target, follow_symlinks=False)):
                os.rmdir(new, dir_fd=target)
        if error.errno in _TAKEN:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        raise


def _file(source: int, name: str, target: int, new: str, *, true_view: bool) -> None:
    try:
        os.link(name, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    except FileExistsError:
        if not true_view or not is_free(source, name, target, new):
            raise
        time.sleep(_SETTLED)
        if not is_free(source, name, target, new):
            raise
    os.unlink(name, dir_fd=source)

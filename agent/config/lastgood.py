"""The last accepted configuration, kept for a start with an invalid one."""

import contextlib
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from agent.config.files import load_file, read_file
from agent.config.load import Loaded
from agent.config.problems import ConfigUnreadable
from agent.files import replace_file
from agent.model.mount import MountEntry

_NAME = "last-good.yaml"
_MARK = b"# The last configuration that gluster-ml-agent accepted. sha256 of all below: "


def path_in(state_directory: str) -> str:
    """The file that keeps it."""
    return os.path.join(state_directory, _NAME)


def save(state_directory: str, data: bytes) -> None:
    """Keeps the bytes of an accepted file, whole or not at all. Raises OSError."""
    path = path_in(state_directory)
    content = _MARK + _digest(data) + b"\n" + data
    with contextlib.suppress(ConfigUnreadable):
        if read_file(path) == content:
            return
    replace_file(Path(path), content, 0o600)


def restore(
    state_directory: str, *, mount_table: Sequence[MountEntry], own_paths: Sequence[str] = ()
) -> Loaded:
    """What save() kept. Raises ConfigUnreadable (none, or damaged) or ConfigInvalid.

    A cut or altered file could still be valid YAML with mounts missing, and these would be
    unmounted: so nothing is taken that doesn't have its checksum.
    """
    path = path_in(state_directory)
    head, _, data = read_file(path).partition(b"\n")
    if head != _MARK + _digest(data):
        raise ConfigUnreadable(path, "is damaged: its checksum does not fit; it is not used")
    return load_file(path, mount_table=mount_table, own_paths=own_paths)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()

"""Whether the files of a checkpoint can be loaded, as far as their ends tell: for who resumes.

An evidence says that the framework was done; a crash of the host may still have cut what was not
yet written back.
"""

from agent.retention.formats import archive, safetensors, shards
from agent.retention.view import DIRECTORY, FILE, Entry, UnreadableError, View

DEPTH = 4
"""Of directories in a checkpoint: frameworks nest ranks, roles and items no deeper."""
_ARCHIVES = (".ckpt", ".pt", ".pth", ".bin", ".distcp")
"""The last is, as a rule, one after the other (torch/distributed/checkpoint/filesystem.py)."""
_NEVER_EMPTY = (*_ARCHIVES, ".safetensors", ".json", "_METADATA", ".pkl", ".npz", ".metadata")
_JSON = (".json", "_METADATA")
"""The last are Orbax's."""
_CLOSING = {b"{": b"}", b"[": b"]"}
_END = 64
"""Bytes in which a JSON text's last bracket lies: at most white space follows."""


def unsound(view: View, entry: Entry, depth: int = DEPTH) -> str:
    """Of an entry, and all below it: which file is torn, or can't be read, and how; "" if none."""
    try:
        return _unsound(view, entry, depth)
    except UnreadableError as error:
        return f"{entry.name} can't be read: {error}"


def _unsound(view: View, entry: Entry, depth: int) -> str:
    if entry.kind == FILE:
        why = _torn(view, entry.name)
        return why and f"{entry.name} {why}"
    inside = view.below(entry.name) if entry.kind == DIRECTORY and depth else None
    if inside is None:
        return ""
    entries = inside.entries()
    lacks = shards.missing(entries)
    whys = (unsound(inside, entries[name], depth - 1) for name in sorted(entries))
    why = lacks or next(filter(None, whys), "")
    return why and f"{entry.name}: {why}"


def _torn(view: View, name: str) -> str:
    if not name.endswith(_NEVER_EMPTY):
        return ""
    first = view.head(name, 1)
    if first == b"":
        return "is empty"
    if name.endswith(_JSON) and first in _CLOSING:
        end = (view.tail(name, _END) or b"").rstrip()
        return "" if end.endswith(_CLOSING[first]) else "is torn"
    if name.endswith(".safetensors"):
        return safetensors.torn(view, name, safetensors.header(view, name))
    if name.endswith(_ARCHIVES) and not archive.is_other(view, name):
        return archive.torn(view, name)
    return ""

"""Headers of safetensors files: what they say of themselves, and whether the file is whole.

safetensors/src/tensor.rs: eight bytes with the header's length, the header in JSON, of at most 100
MB, then the tensors without gaps; `data_offsets` count from the header's end. `__metadata__` holds
text only.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from agent.retention.formats.text import json_value
from agent.retention.view import READABLE, UnreadableError, View

_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Header:
    """What the first bytes of a file say."""

    metadata: Mapping[str, str]
    size: int
    """Bytes that the file has when it is whole."""


def header(view: View, name: str) -> Header | None:
    """None where the file does not begin with a whole header, or there is no such file.

    Raises UnreadableError, also where the header is longer than the READABLE bytes of any record.
    """
    size = view.size(name)
    first = view.head(name, _LENGTH) or b""
    length = int.from_bytes(first, "little")
    if size is None or len(first) < _LENGTH or not 2 <= length <= size - _LENGTH:
        return None
    if length > READABLE:
        raise UnreadableError(f"has a header of {length} bytes")
    return _parsed((view.head(name, _LENGTH + length) or b"")[_LENGTH:], length)


def torn(view: View, name: str, said: Header | None) -> str:
    """Why the file is not what its header says, "" if it is. Raises UnreadableError."""
    size = view.size(name)
    if not size:
        return "is gone" if size is None else "is empty"
    if said is None:
        return "has no whole header"
    return "" if said.size == size else f"has {size} of {said.size} bytes"


def _parsed(raw: bytes, length: int) -> Header | None:
    if len(raw) < length or raw[:1] != b"{":
        return None
    try:
        tensors = json_value(raw)
    except UnreadableError:
        # What is not JSON is no header: half a file that is still being written, or another format.
        return None
    if not isinstance(tensors, dict):
        return None
    metadata = tensors.pop("__metadata__", {})
    ends = [_end(tensor) for tensor in tensors.values()]
    if None in ends or not isinstance(metadata, dict):
        return None
    texts = {key: value for key, value in metadata.items() if isinstance(value, str)}
    return Header(texts, _LENGTH + length + max((end for end in ends if end), default=0))


def _end(tensor: object) -> int | None:
    match tensor:
        case {"data_offsets": [int(begin), int(end)]} if 0 <= begin <= end:
            return end
    return None

"""The archives that torch.save writes: whether they are whole.

They are zip archives of stored, uncompressed entries, the pickle first (PyTorch:
torch/serialization.py, caffe2/serialize/inline_container.cc): the first keys of a dict stand
readable in the first bytes. The end of the central directory is written last, and without a comment
(APPNOTE.TXT of zip, 4.3.16). Nothing is ever unpickled.
"""

import struct

from agent.retention.view import View

OTHER = "is no archive of torch.save"
_ENTRY = b"PK\x03\x04"
_END = struct.Struct("<4s4H2LH")
"""Signature, four counts, length and offset of the central directory, length of the comment."""
_SIGNATURE = b"PK\x05\x06"
_ELSEWHERE = 0xFFFFFFFF
"""Of archives beyond 4 GiB: that number stands in another record, before this one."""


def is_other(view: View, name: str) -> bool:
    """Whether something else is in it: a pickle of old days, which nothing says to be whole.

    Raises UnreadableError.
    """
    first = view.head(name, len(_ENTRY))
    return bool(first) and first != _ENTRY


def torn(view: View, name: str) -> str:
    """Why the archive is not whole, "" if it is. Raises UnreadableError."""
    size = view.size(name)
    if not size:
        return "is gone" if size is None else "is empty"
    tail = view.tail(name, _END.size) or b""
    if len(tail) < _END.size:
        return "is torn"
    signature, _, _, _, _, length, offset, comment = _END.unpack(tail)
    fits = _ELSEWHERE in {length, offset} or offset + length <= size - _END.size
    return "" if signature == _SIGNATURE and not comment and fits else "is torn"

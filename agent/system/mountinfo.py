"""Reads /proc/PID/mountinfo (proc_pid_mountinfo(5)). Pure: bytes in, facts out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.model.mount import MountEntry

GLUSTER_FSTYPE = "fuse.glusterfs"


@dataclass(frozen=True, slots=True)
class Source:
    """What a GlusterFS mount was made from; subdir: "" or "sub/dir" within the volume."""

    server: str
    volume: str
    subdir: str


def parse(data: bytes) -> tuple[MountEntry, ...]:
    """All entries in the kernel's order; a line that is none is skipped.

    Names that are not UTF-8 come with surrogate escapes, as everywhere in Python.
    """
    return tuple(entry for line in data.split(b"\n") if (entry := _entry(line)) is not None)


def layers_at(entries: Sequence[MountEntry], path: str) -> tuple[MountEntry, ...]:
    """The mounts stacked at path that a walk from `/` arrives at, bottom to top.

    An entry of the same path below a parent that was mounted over is not among them: nothing
    reaches it any more, though the kernel still lists it.
    """
    by_place = {(entry.parent_id, entry.path): entry for entry in entries}
    root = next((entry for entry in entries if entry.path == "/"), None)
    if root is None:
        return tuple(entry for entry in entries if entry.path == path)
    # A root mounted over is listed before what covers it, like any other layer.
    layers = [root, *_climb(by_place, root, "/")]
    for place in _prefixes(path):
        found = [*_climb(by_place, layers[-1], place)]
        if found:
            layers = found
    return tuple(layers) if layers[-1].path == path else ()


def parse_source(source: str) -> Source | None:
    """Server, volume and sub-directory of `server:/volume/sub/dir`; None if it is not of that form.

    The first slash is optional. IPv6 servers come with or without brackets: the colon before the
    volume is the last one of those before the first slash that follows it.
    """
    if source.startswith("["):
        server, bracket, rest = source[1:].partition("]:")
        if not bracket:
            return None
    else:
        head, slash, tail = source.partition("/")
        server, colon, start = head.rpartition(":")
        if not colon:
            return None
        rest = start + slash + tail
    volume, _, subdir = rest.removeprefix("/").partition("/")
    if not server or not volume:
        return None
    return Source(server, volume, subdir.strip("/"))


def _entry(line: bytes) -> MountEntry | None:
    fields = line.split(b" ")
    try:
        # Optional fields stand between the sixth field and a lone hyphen.
        hyphen = fields.index(b"-", 6)
        major, minor = fields[2].split(b":")
        numbers = [int(text) for text in (fields[0], fields[1], major, minor)]
        fstype, source, super_options = (_text(field) for field in fields[hyphen + 1 : hyphen + 4])
    except ValueError:
        return None
    return MountEntry(
        mount_id=numbers[0],
        parent_id=numbers[1],
        major=numbers[2],
        minor=numbers[3],
        root=_text(fields[3]),
        path=_text(fields[4]),
        options=_text(fields[5]),
        fstype=fstype,
        source=source,
        super_options=super_options,
    )


def _text(field: bytes) -> str:
    """Undo the kernel's octal escapes of space, tab, newline, backslash and `#`."""
    if b"\\" in field:
        first, *rest = field.split(b"\\")
        field = first + b"".join(_unescape(part) for part in rest)
    return field.decode("utf-8", "surrogateescape")


def _unescape(part: bytes) -> bytes:
    digits = part[:3]
    if len(digits) == 3 and all(digit in b"01234567" for digit in digits):
        code = int(digits, 8)
        if code < 256:
            return bytes([code]) + part[3:]
    return b"\\" + part


def _climb(
    by_place: dict[tuple[int, str], MountEntry], base: MountEntry, place: str
) -> Iterator[MountEntry]:
    seen = {base.mount_id}
    while (base := by_place.get((base.mount_id, place), base)).mount_id not in seen:
        seen.add(base.mount_id)
        yield base


def _prefixes(path: str) -> Iterator[str]:
    parts = path.strip("/").split("/")
    for count in range(1, len(parts) + 1):
        if parts[count - 1]:
            yield "/" + "/".join(parts[:count])

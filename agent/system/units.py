"""Names that systemd gives to things: pure functions, as systemd.unit(5) documents them."""

from string import ascii_letters, digits

_PLAIN = frozenset((ascii_letters + digits + ":_.").encode())
_LABEL = frozenset((ascii_letters + digits).encode())
_OBJECTS = "/org/freedesktop/systemd1/unit/"


def escape_path(path: str) -> str:
    """What `systemd-escape --path` prints for an absolute path without `..`.

    Raises ValueError for any other path.
    """
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if not path.startswith("/") or ".." in parts:
        raise ValueError(f"{path!r}: not an absolute, normal path")
    if not parts:
        return "-"
    text = "/".join(parts)
    escaped = "".join(_escape(byte) for byte in text.encode(errors="surrogateescape"))
    return "\\x2e" + escaped[1:] if escaped.startswith(".") else escaped


def _escape(byte: int) -> str:
    if byte == ord("/"):
        return "-"
    return chr(byte) if byte in _PLAIN else f"\\x{byte:02x}"


def mount_unit(path: str) -> str:
    """The only name that a mount unit for this path can have. Raises ValueError."""
    return escape_path(path) + ".mount"


def unit_object(name: str) -> str:
    """The D-Bus object of a unit: all but letters and digits, and a leading digit, as _hex."""
    raw = name.encode(errors="surrogateescape")
    label = "".join(
        chr(byte) if byte in _LABEL and not (i == 0 and chr(byte) in digits) else f"_{byte:02x}"
        for i, byte in enumerate(raw)
    )
    return _OBJECTS + (label or "_")

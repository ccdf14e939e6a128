"""Names in agent.yaml: of mounts, volumes and servers. Each check raises ValueError."""

import ipaddress
import re

from agent.config.problems import Place, Several

MAX_SERVER_NAME = 63
"""mount.glusterfs drops a longer server without a word (HOST_NAME_MAX=64, newline counted)."""

_MOUNT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_VOLUME_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,254}", re.ASCII)
_SUBDIR_PART = re.compile(r"[A-Za-z0-9._+@=~-]{1,255}", re.ASCII)
_HOST_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?", re.ASCII)
_ZONE = re.compile(r"[A-Za-z0-9._-]{1,15}", re.ASCII)

QUOTE_IT = "is not text to YAML: quote it"


def mount_name(name: str) -> str:
    """The name of a mount, as given."""
    if _MOUNT_NAME.fullmatch(name):
        return name
    raise ValueError(
        "is no name for a mount: use 1 to 64 letters, digits, dots, hyphens and underscores,"
        " with a letter or digit first"
    )


def volume(value: object) -> str:
    """`volume` or `volume/sub/dir`, as given."""
    if not isinstance(value, str):
        return _no_text(value)
    if ":" in value:
        raise ValueError("is the volume's name only, e.g. model-store; servers stand in servers:")
    if value.startswith("/"):
        raise ValueError("must not begin with a slash; write volume or volume/sub/dir")
    name, *parts = value.split("/")
    if not _VOLUME_NAME.fullmatch(name):
        raise ValueError("is no volume name: letters, digits, hyphens and underscores only")
    if name == "snaps" and parts:
        raise ValueError("is a snapshot; mounting snapshots is not supported")
    for part in parts:
        if part in {"", ".", ".."}:
            raise ValueError("has an empty part, . or .. in it; write volume or volume/sub/dir")
        if not _SUBDIR_PART.fullmatch(part):
            raise ValueError(
                "has a character in its sub-directory that mount.glusterfs does not pass on:"
                " use letters, digits and . _ + @ = ~ -"
            )
    return value


def servers(value: object) -> tuple[str, ...]:
    """The servers as given, but without brackets and repetitions (those `repeated` names)."""
    if isinstance(value, str):
        raise ValueError("must be a list, e.g. [node1, node2]")
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list of names or addresses, e.g. [node1, node2, node3]")
    if not value:
        raise ValueError("is empty; name at least one server of the volume")
    good: list[str] = []
    bad: list[tuple[Place, str]] = []
    for place, item in enumerate(value):
        try:
            good.append(server(item))
        except ValueError as error:
            bad.append(((place,), str(error)))
    if bad:
        raise Several(bad)
    return tuple(dict.fromkeys(good))


def repeated(value: object) -> list[int]:
    """Positions in a `servers` list that name a server a second time."""
    seen: set[str] = set()
    found = []
    for place, item in enumerate(value if isinstance(value, list) else []):
        try:
            name = server(item)
        except ValueError:
            continue
        if name in seen:
            found.append(place)
        seen.add(name)
    return found


def server(value: object) -> str:
    """A host name in lower case, an IPv4 address, or an IPv6 address without brackets."""
    if not isinstance(value, str):
        return _no_text(value)
    if not value:
        raise ValueError("is empty; remove it")
    if value.startswith("[") or value.count(":") > 1:
        return _ipv6(value)
    host, colon, _ = value.partition(":")
    if colon:
        hint = "the port is a key of the mount (port: 24007)"
        raise ValueError(f"must be a server only; {hint}" if host else "is no server name")
    if len(value) > MAX_SERVER_NAME:
        raise ValueError(
            f"is longer than {MAX_SERVER_NAME} characters, which mount.glusterfs drops:"
            " use a shorter name or an address"
        )
    labels = value.removesuffix(".").split(".")
    if labels[-1].isdecimal():
        try:
            return str(ipaddress.IPv4Address(value))
        except ValueError:
            raise ValueError("is neither a host name nor an IPv4 address") from None
    if not all(_HOST_LABEL.fullmatch(label) for label in labels):
        raise ValueError("is no host name: letters, digits, hyphens and dots only")
    return value.lower()


def _ipv6(value: str) -> str:
    inner = value
    if value.startswith("["):
        inner, bracket, rest = value[1:].partition("]")
        if rest.startswith(":"):
            raise ValueError("must be a server only; the port is a key of the mount (port: 24007)")
        if not bracket or rest:
            raise ValueError("is no IPv6 address in brackets")
    text, percent, zone = inner.partition("%")
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        raise ValueError("is neither a host name nor an IPv6 address") from None
    if percent and not _ZONE.fullmatch(zone):
        raise ValueError("has a zone that is no interface name")
    if address.is_link_local and not percent:
        raise ValueError("is a link-local address: it needs its interface, e.g. fe80::1%eth0")
    return f"{address.compressed}%{zone}" if percent else address.compressed


def _no_text(value: object) -> str:
    if value is None:
        raise ValueError("is empty")
    if isinstance(value, list | dict):
        raise ValueError("must be text")
    raise ValueError(QUOTE_IT)

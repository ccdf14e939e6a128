"""What a reload changes: old and new configuration in, what each keeper must hear out. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from agent.config.schema import Config, MountConfig


class Part(StrEnum):
    """A part of a mount that can change while it stays the same mount.

    OPTIONS: the options or the port; whether a remount is due, mounts.options.fingerprint tells.
    """

    OPTIONS = "options"
    SERVERS = "servers"
    PROBE = "probe"
    RECOVERY = "recovery"
    GUARD = "guard"
    LAYOUT = "layout"
    ENVIRONMENT = "environment"
    RETENTION = "retention"


@dataclass(frozen=True, slots=True)
class Removed:
    """To be unmounted as soon as no process uses it."""

    name: str
    mount: MountConfig


@dataclass(frozen=True, slots=True)
class Altered:
    """The same volume on the same path. old_name: differs from name where the key was renamed."""

    name: str
    old_name: str
    old: MountConfig
    new: MountConfig
    parts: frozenset[Part]

    @property
    def renamed(self) -> bool:
        """Whether everything known under old_name now belongs to name."""
        return self.name != self.old_name


@dataclass(frozen=True, slots=True)
class Added:
    """To be mounted. Its name or path may be that of one Removed just before."""

    name: str
    mount: MountConfig


Change = Removed | Altered | Added


def diff(old: Config, new: Config) -> tuple[Change, ...]:
    """First all Removed, then Altered, then Added; what did not change is not there.

    A mount is known by volume and path, not by its name. `identities` and `health` are
    for the caller to compare.
    """
    before = {_identity(mount): name for name, mount in old.mounts.items()}
    after = {_identity(mount) for mount in new.mounts.values()}
    removed = [
        Removed(name, mount) for name, mount in old.mounts.items() if _identity(mount) not in after
    ]
    altered: list[Change] = []
    added: list[Change] = []
    for name, mount in new.mounts.items():
        old_name = before.get(_identity(mount))
        if old_name is None:
            added.append(Added(name, mount))
            continue
        was = old.mounts[old_name]
        parts = frozenset(_parts(was, mount))
        if parts or name != old_name:
            altered.append(Altered(name, old_name, was, mount, parts))
    return (*removed, *altered, *added)


def _identity(mount: MountConfig) -> tuple[str, str]:
    return (mount.volume, mount.path)


def _parts(old: MountConfig, new: MountConfig) -> Iterator[Part]:
    if (old.options, old.port) != (new.options, new.port):
        yield Part.OPTIONS
    if old.servers != new.servers:
        yield Part.SERVERS
    if old.probe != new.probe:
        yield Part.PROBE
    if old.recovery != new.recovery:
        yield Part.RECOVERY
    if old.guard != new.guard:
        yield Part.GUARD
    if old.layout != new.layout:
        yield Part.LAYOUT
    if old.environment != new.environment:
        yield Part.ENVIRONMENT
    if old.retention != new.retention:
        yield Part.RETENTION

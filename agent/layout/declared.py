"""What the file declares of one mount's directories, in numbers and in order. Pure."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from agent.config.accounts import ROOT
from agent.config.acl import AclEntry
from agent.config.identities_schema import IdentitiesConfig
from agent.config.inner_paths import with_parents
from agent.config.layout_schema import DirectoryDefaults, LayoutConfig
from agent.layout import acl
from agent.layout.acl import Acl, Entry, Tag


@dataclass(frozen=True, slots=True)
class Declared:
    """One directory as it is to be. path: relative to the volume's root, `checkpoints/pretrain`.

    mode: all twelve bits. access, default: the ACLs; None: nothing is declared, so the directory's
    own is not looked at.
    """

    path: str
    uid: int
    gid: int
    mode: int
    access: Acl | None = None
    default: Acl | None = None


class Names:
    """The names that the file may use: root, and those of the map; for messages."""

    def __init__(self, identities: IdentitiesConfig) -> None:
        self._users = {user.uid: name for name, user in identities.users.items()} | {0: ROOT}
        self._groups = {gid: name for name, gid in identities.groups.items()} | {0: ROOT}

    def user(self, uid: int) -> str:
        """The name of the map, or the number."""
        return self._users.get(uid, str(uid))

    def group(self, gid: int) -> str:
        """The name of the map, or the number."""
        return self._groups.get(gid, str(gid))


def declared(layout: LayoutConfig, identities: IdentitiesConfig) -> tuple[Declared, ...]:
    """Every declared directory and every parent of one, parents first.

    A parent that is not declared itself is as the defaults say.
    """
    paths = {part for path in layout.directories for part in with_parents(path)}
    ordered = sorted(paths, key=lambda path: path.split("/"))
    return tuple(_one(path, layout.settings(path), identities) for path in ordered)


def run_directories(layout: LayoutConfig) -> tuple[str, ...]:
    """Where the children are runs: the declared directories below `checkpoints` without others."""
    if layout.run_names is None:
        return ()
    parents = {above for path in layout.directories for above in with_parents(path)[:-1]}
    return tuple(
        path
        for path in sorted(layout.directories)
        if path.split("/")[0] == "checkpoints" and path not in parents
    )


def fingerprint(wanted: Sequence[Declared]) -> str:
    """12 hex digits over what is declared: equal on all hosts that want the same directories."""
    return hashlib.sha256(repr(tuple(wanted)).encode()).hexdigest()[:12]


def _one(path: str, wanted: DirectoryDefaults, identities: IdentitiesConfig) -> Declared:
    access = [_entry(each, identities) for each in wanted.acl if not each.default]
    default = [_entry(each, identities) for each in wanted.acl if each.default]
    return Declared(
        path,
        identities.uid(wanted.owner),
        identities.gid(wanted.group),
        wanted.mode,
        acl.access_acl(access, wanted.mode),
        acl.default_acl(default, wanted.mode) if default else None,
    )


def _entry(entry: AclEntry, identities: IdentitiesConfig) -> Entry:
    who, perm = entry.who, entry.permissions
    if who is None:
        return acl.plain(_UNNAMED[entry.tag], perm)
    if entry.tag == "user":
        return Entry(Tag.USER, identities.uid(who), perm)
    return Entry(Tag.GROUP, identities.gid(who), perm)


_UNNAMED = {
    "user": Tag.USER_OBJ,
    "group": Tag.GROUP_OBJ,
    "mask": Tag.MASK,
    "other": Tag.OTHER,
}

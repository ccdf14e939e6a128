"""What the name service of a host says of the names and numbers of a map. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class User:
    """A user as passwd(5) has it."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Group:
    """A group as group(5) has it."""

    name: str
    gid: int


@dataclass(frozen=True, slots=True)
class Known:
    """Everybody who has a name or a number that was asked for, by what was asked.

    The name under a key may be another one: directory services have aliases. memberships: of each
    user found by name, the numbers of all groups, the primary one among them.
    """

    users: Mapping[str, User] = field(default_factory=dict)
    uids: Mapping[int, User] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    gids: Mapping[int, Group] = field(default_factory=dict)
    memberships: Mapping[str, frozenset[int]] = field(default_factory=dict)

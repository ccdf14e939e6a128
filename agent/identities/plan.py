"""What is to be done so that this host has the users and groups of the map. Pure.

Nobody is ever renumbered or removed, nor taken out of a group: where a name or a number of the map
belongs to somebody else here, both sides are told, and the rest goes on.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from agent.config.identities_schema import IdentitiesConfig, UserConfig
from agent.identities.facts import Known

MOST_GROUPS = 87
"""Groups that a user may be in, the primary one included: GlusterFS puts them into each request,
and serves no user with more (docs/gluster-facts.md), unless the servers look the groups up."""


@dataclass(frozen=True, slots=True)
class CreateGroup:
    """A group that this host lacks."""

    name: str
    gid: int

    def describe(self) -> str:
        """As one says what was done, or is to be."""
        return f"group {self.name} with number {self.gid}"

    def argv(self) -> tuple[str, ...]:
        """groupadd(8)."""
        return ("/usr/sbin/groupadd", "--gid", str(self.gid), "--", self.name)


@dataclass(frozen=True, slots=True)
class CreateUser:
    """A user that this host lacks: no password, no home, no shell to log in with."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]

    def describe(self) -> str:
        """As one says what was done, or is to be."""
        also = f", also in {_numbers(self.groups)}" if self.groups else ""
        return f"user {self.name} with number {self.uid} and group {self.gid}{also}"

    def argv(self) -> tuple[str, ...]:
        """useradd(8). The sparse lastlog would seem to have a size of 300 bytes a uid."""
        groups = ("--groups", ",".join(map(str, self.groups))) if self.groups else ()
        return (
            *("/usr/sbin/useradd", "--uid", str(self.uid), "--gid", str(self.gid), *groups),
            *("--no-user-group", "--no-create-home", "--home-dir", "/nonexistent"),
            *("--shell", "/usr/sbin/nologin", "--no-log-init", "--", self.name),
        )


@dataclass(frozen=True, slots=True)
class AddMember:
    """A user who is there, but not in a group of the map."""

    user: str
    group: str

    def describe(self) -> str:
        """As one says what was done, or is to be."""
        return f"user {self.user} in group {self.group}"

    def argv(self) -> tuple[str, ...]:
        """gpasswd(1), which adds users of a directory service to local groups too."""
        return ("/usr/bin/gpasswd", "--add", self.user, self.group)


Step = CreateGroup | CreateUser | AddMember


@dataclass(frozen=True, slots=True)
class Plan:
    """steps: in their order; conflicts: what only a person can solve; crowded: too many groups."""

    steps: tuple[Step, ...]
    conflicts: tuple[str, ...]
    crowded: tuple[str, ...]


def plan(wanted: IdentitiesConfig, known: Known) -> Plan:
    """Steps, conflicts and users with too many groups, from the map and what is there."""
    planner = _Planner(wanted, known)
    for name, gid in wanted.groups.items():
        planner.group(name, gid)
    for name, user in wanted.users.items():
        planner.user(name, user)
    return Plan(tuple(planner.steps), tuple(planner.conflicts), tuple(planner.crowded))


class _Planner:
    def __init__(self, wanted: IdentitiesConfig, known: Known) -> None:
        self._wanted = wanted
        self._known = known
        self.steps: list[Step] = []
        self.conflicts: list[str] = []
        self.crowded: list[str] = []

    def group(self, name: str, gid: int) -> None:
        mine, holder = self._known.groups.get(name), self._known.gids.get(gid)
        if mine is None and holder is None:
            self.steps.append(CreateGroup(name, gid))
        elif mine is not None and mine.gid != gid:
            self._clash(f"group {name}", f"number {gid}", f"number {mine.gid}")
        elif holder is not None and holder.name not in (name, mine and mine.name):
            self._clash(f"number {gid}", f"group {name}", f"group {holder.name}")

    def user(self, name: str, user: UserConfig) -> None:
        mine, holder = self._known.users.get(name), self._known.uids.get(user.uid)
        if mine is not None and mine.uid != user.uid:
            self._clash(f"user {name}", f"number {user.uid}", f"number {mine.uid}")
            return
        if holder is not None and holder.name not in (name, mine and mine.name):
            self._clash(f"number {user.uid}", f"user {name}", f"user {holder.name}")
        if mine is not None:
            self._member(name, user, mine.gid)
        elif holder is None:
            self._newcomer(name, user)

    def _newcomer(self, name: str, user: UserConfig) -> None:
        primary = self._gid(user.group)
        if primary is None:
            self.conflicts.append(
                f"user {name} can't be created: this host has no group {user.group} as in the file"
            )
            return
        others = dict.fromkeys(gid for _, gid in self._others(user) if gid != primary)
        self._count(name, {primary, *others})
        self.steps.append(CreateUser(name, user.uid, primary, tuple(others)))

    def _member(self, name: str, user: UserConfig, gid: int) -> None:
        primary = self._wanted.groups[user.group]
        if gid != primary:
            self._clash(f"the first group of user {name}", f"{user.group} ({primary})", f"{gid}")
        member_of = {*self._known.memberships.get(name, ()), gid}
        for group, number in self._others(user):
            if number not in member_of:
                self.steps.append(AddMember(name, group))
                member_of.add(number)
        self._count(name, member_of)

    def _others(self, user: UserConfig) -> Iterator[tuple[str, int]]:
        """The user's further groups; one that is another's here is told where it is looked at."""
        for group in user.groups:
            gid = self._gid(group)
            if gid is not None:
                yield group, gid

    def _gid(self, group: str) -> int | None:
        """The number of a group, where it is there as the file says, or is to be created so."""
        mine, gid = self._known.groups.get(group), self._wanted.groups[group]
        if mine is not None:
            return gid if mine.gid == gid else None
        return None if gid in self._known.gids else gid

    def _count(self, name: str, gids: set[int]) -> None:
        if len(gids) > MOST_GROUPS:
            self.crowded.append(
                f"user {name} is in {len(gids)} groups: GlusterFS serves none with more than"
                f" {MOST_GROUPS}, unless the volume has server.manage-gids on"
            )

    def _clash(self, what: str, file: str, host: str) -> None:
        self.conflicts.append(f"{what} is {file} in the file, and {host} on this host")


def _numbers(gids: tuple[int, ...]) -> str:
    return ", ".join(map(str, gids))

"""A host as the name service shows it, and what the tools make of it: for tests of the map."""

from dataclasses import dataclass, field

from agent.config.identities_schema import IdentitiesConfig
from agent.identities.facts import Group, Known, User
from agent.identities.plan import AddMember, CreateGroup, CreateUser, Step


@dataclass
class Host:
    """users: name -> (uid, primary gid); groups: name -> gid; members: name -> further gids."""

    users: dict[str, tuple[int, int]] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    members: dict[str, set[int]] = field(default_factory=dict)

    def known(self, wanted: IdentitiesConfig) -> Known:
        uids = {uid: name for name, (uid, _) in self.users.items()}
        gids = {gid: name for name, gid in self.groups.items()}
        return Known(
            users={n: User(n, *self.users[n]) for n in wanted.users if n in self.users},
            uids={
                u.uid: User(uids[u.uid], *self.users[uids[u.uid]])
                for u in wanted.users.values()
                if u.uid in uids
            },
            groups={n: Group(n, self.groups[n]) for n in wanted.groups if n in self.groups},
            gids={g: Group(gids[g], g) for g in wanted.groups.values() if g in gids},
            memberships={
                n: frozenset({self.users[n][1], *self.members.get(n, ())})
                for n in wanted.users
                if n in self.users
            },
        )

    def do(self, step: Step) -> None:
        """As groupadd, useradd and gpasswd do: who is there already makes them fail."""
        match step:
            case CreateGroup(name, gid):
                assert name not in self.groups
                assert gid not in self.groups.values()
                self.groups[name] = gid
            case CreateUser(name, uid, gid, groups):
                assert name not in self.users
                assert uid not in {taken for taken, _ in self.users.values()}
                assert {gid, *groups} <= set(self.groups.values())
                self.users[name] = (uid, gid)
                self.members[name] = set(groups)
            case AddMember(user, group):
                assert user in self.users
                self.members.setdefault(user, set()).add(self.groups[group])


def a_map(groups: dict[str, int], users: dict[str, tuple[int, str, list[str]]]) -> IdentitiesConfig:
    """users: name -> (uid, primary group, further groups)."""
    return IdentitiesConfig.model_validate(
        {
            "groups": groups,
            "users": {
                name: {"uid": uid, "group": group, "groups": more}
                for name, (uid, group, more) in users.items()
            },
        }
    )

"""`identities`: users and groups with the numbers they have on every host, and old numbers."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from agent.config.accounts import IDS, Account, account_id, account_name, number, source_id
from agent.config.names import QUOTE_IT
from agent.config.problems import Place, Several
from agent.config.strict import FREEZE, KEY, THAW, Strict, kind

Name = Annotated[str, AfterValidator(account_name)]
Id = Annotated[int, BeforeValidator(account_id)]
OldId = Annotated[int, BeforeValidator(source_id)]

_ID = kind(IDS)
_Found = list[tuple[Place, str]]


class UserConfig(Strict):
    """One user. group: the primary one; groups: the others, each once; all are names of the map."""

    uid: Annotated[Id, Field(description="The user's number on every host.", json_schema_extra=_ID)]
    group: Annotated[str, Field(description="The user's primary group, of identities.groups.")]
    groups: Annotated[
        tuple[str, ...],
        Field(description="Further groups of the user, of identities.groups."),
    ] = ()

    @field_validator("groups", mode="before")
    @classmethod
    def _a_list(cls, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            raise ValueError("must be a list, e.g. [ml]")
        wrong: _Found = [((i,), QUOTE_IT) for i, v in enumerate(value) if not isinstance(v, str)]
        if wrong:
            raise Several(wrong)
        return tuple(dict.fromkeys(value))


class RemapConfig(Strict):
    """Old ids of files on the volumes -> names of the map."""

    mode: Annotated[
        Literal["report", "enforce"],
        Field(description="Whether files with an old id are counted, or given the new one."),
    ] = "report"
    uids: Annotated[
        Mapping[OldId, str],
        FREEZE,
        THAW,
        Field(validate_default=True, description="Old user ids, and whose the files are now."),
    ] = {}
    gids: Annotated[
        Mapping[OldId, str],
        FREEZE,
        THAW,
        Field(validate_default=True, description="Old group ids, and whose the files are now."),
    ] = {}

    def __bool__(self) -> bool:
        return bool(self.uids or self.gids)


class IdentitiesConfig(Strict):
    """Who is who on every host. groups, users: in the order of the file, by name."""

    missing: Annotated[
        Literal["create", "report"],
        Field(description="What to do about a user or group that the host lacks."),
    ] = "create"
    groups: Annotated[
        Mapping[Name, Id],
        FREEZE,
        THAW,
        Field(validate_default=True, description="Groups and their numbers."),
    ] = {}
    users: Annotated[
        Mapping[Name, UserConfig],
        FREEZE,
        THAW,
        Field(validate_default=True, description="Users, by their names."),
    ] = {}
    remap: Annotated[
        RemapConfig,
        Field(
            description="Files on the volumes that still have an old id. An old id is none that the"
            " map gives to somebody.",
        ),
    ] = RemapConfig()

    @field_validator("groups", mode="after")
    @classmethod
    def _one_group_an_id(cls, groups: Mapping[str, int]) -> Mapping[str, int]:
        _refuse(((name,), why) for name, why in _shared(groups))
        return groups

    @field_validator("users", mode="after")
    @classmethod
    def _users_fit(
        cls, users: Mapping[str, UserConfig], info: ValidationInfo
    ) -> Mapping[str, UserConfig]:
        found: _Found = [
            ((name, "uid"), why)
            for name, why in _shared({name: user.uid for name, user in users.items()})
        ]
        groups = info.data.get("groups")
        if groups is not None:
            for name, user in users.items():
                found += _unknown_groups(name, user, groups)
        _refuse(found)
        return users

    @field_validator("remap", mode="after")
    @classmethod
    def _remap_fits(cls, remap: RemapConfig, info: ValidationInfo) -> RemapConfig:
        users, groups = info.data.get("users"), info.data.get("groups")
        found: _Found = []
        if users is not None:
            uids = {name: user.uid for name, user in users.items()}
            found += _misdirected("uids", remap.uids, uids)
        if groups is not None:
            found += _misdirected("gids", remap.gids, groups)
        _refuse(found)
        return remap

    def uid(self, who: Account) -> int:
        """The number of an owner in the file."""
        if isinstance(who, str) and who in self.users:
            return self.users[who].uid
        return number(who, {})

    def gid(self, who: Account) -> int:
        """The number of a group in the file."""
        return number(who, self.groups)


def _refuse(found: Iterator[tuple[Place, str]] | _Found) -> None:
    found = list(found)
    if found:
        raise Several(found)


def _shared(ids: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    owners: dict[int, str] = {}
    for name, given in ids.items():
        if given in owners:
            yield name, f"is the id of {owners[given]} too; each needs its own"
        owners.setdefault(given, name)


def _unknown_groups(name: str, user: UserConfig, groups: Mapping[str, int]) -> _Found:
    given: list[tuple[Place, str]] = [((name, "group"), user.group)]
    given += [((name, "groups", place), group) for place, group in enumerate(user.groups)]
    return [
        (place, "is no group of identities.groups; add it there with its number")
        for place, group in given
        if group not in groups
    ]


def _misdirected(kind_of: str, remap: Mapping[int, str], ids: Mapping[str, int]) -> _Found:
    names = {given: name for name, given in ids.items()}
    where = "users" if kind_of == "uids" else "groups"
    found: _Found = []
    for old, name in remap.items():
        if old in names:
            message = f"is the id of {names[old]} in the map: an old id is nobody's any more"
            found.append(((kind_of, str(old), KEY), message))
        if name not in ids:
            message = f"is no name of identities.{where}; add it there with its number"
            found.append(((kind_of, str(old)), message))
    return found

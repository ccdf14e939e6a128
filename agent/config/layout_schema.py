"""The `layout` of a mount: directories on the volume, their owners, modes and ACLs."""

import re
import string
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from agent.config import inner_paths
from agent.config.accounts import IDS, ROOT, Account, account
from agent.config.acl import AclEntry, entries
from agent.config.strict import FREEZE, THAW, Strict, kind
from agent.config.tree import Ambiguous

RUN_FIELDS = ("user", "project", "timestamp")
"""What a `run_names` template may have in braces."""

MOST = 20_000
"""Directories of one layout, parents counted: a pass looks at each, and each has a mark."""

_MODE = re.compile(r"0?[0-7]{3,4}", re.ASCII)
_SETUID = 0o4000
_ACCOUNT = kind(f"root, a name of identities, or a number ({IDS})")
_OCTAL = kind("octal, in quotes")
_ENTRIES = kind("list of text")


def octal_mode(value: object) -> int:
    """A directory's mode, from text in octal. Raises ValueError."""
    if isinstance(value, Ambiguous) or (isinstance(value, int) and not isinstance(value, bool)):
        raise ValueError('is a number to YAML: write the mode in quotes, e.g. "2775"')
    if not isinstance(value, str) or not _MODE.fullmatch(value):
        raise ValueError('must be a mode in octal and in quotes, e.g. "2775"')
    mode = int(value, 8)
    if mode & _SETUID:
        raise ValueError('has the setuid bit, which means nothing on a directory, e.g. "2775"')
    return mode


def run_name_template(value: object) -> str:
    """A template such as {user}_{project}_{timestamp}. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError('must be text in quotes, e.g. "{user}_{project}_{timestamp}"')
    try:
        parts = list(string.Formatter().parse(value))
    except ValueError:
        raise ValueError("has a brace without its other; a field is written {user}") from None
    names = [name for _, name, _, _ in parts if name is not None]
    if any(spec or conversion for _, _, spec, conversion in parts):
        raise ValueError("has more than a name in braces; a field is written {user}")
    if not set(names) <= set(RUN_FIELDS):
        raise ValueError(f"has a field it can't; there are {{{'}, {'.join(RUN_FIELDS)}}}")
    if not names:
        raise ValueError(f"has no field; there are {{{'}, {'.join(RUN_FIELDS)}}}")
    if len(set(names)) < len(names):
        raise ValueError("has a field twice")
    literals = [text for text, _, _, _ in parts]
    if any(
        "/" in text or not text.isprintable() or "{" in text or "}" in text for text in literals
    ):
        raise ValueError("must be the name of one directory: no /, no braces but for the fields")
    if any(not text for text in literals[1:]):
        raise ValueError("needs something between its fields, e.g. {user}_{project}")
    return value


def _not_too_many(directories: Mapping[str, object]) -> Mapping[str, object]:
    found: set[str] = set()
    for path in directories:
        found.update(inner_paths.with_parents(path))
        if len(found) > MOST:
            raise ValueError(
                f"has more than {MOST} directories, their parents counted; declare what users"
                " share, not what they make"
            )
    return directories


class DirectoryDefaults(Strict):
    """What holds for a declared directory that does not say otherwise. mode: without type bits."""

    owner: Annotated[
        Account,
        BeforeValidator(account),
        Field(
            description="Who owns a directory, where it does not say so itself.",
            json_schema_extra=_ACCOUNT,
        ),
    ] = ROOT
    group: Annotated[
        Account,
        BeforeValidator(account),
        Field(
            description="The group of a directory, where it does not say so itself.",
            json_schema_extra=_ACCOUNT,
        ),
    ] = ROOT
    mode: Annotated[
        int,
        BeforeValidator(octal_mode),
        Field(
            description="The mode of a directory: 2 in front hands its group on to what is made in"
            " it, 1 lets users delete only what is theirs, 3 does both.",
            json_schema_extra=_OCTAL,
        ),
    ] = 0o755
    acl: Annotated[
        tuple[AclEntry, ...],
        BeforeValidator(entries),
        Field(
            description="ACL entries as setfacl(1) takes them; those that begin with default: hold"
            " for what is made inside, whatever the umask. Needs the mount option acl.",
            json_schema_extra=_ENTRIES,
        ),
    ] = ()


class DirectoryConfig(Strict):
    """One directory. None: as the defaults say."""

    owner: Annotated[
        Account | None,
        BeforeValidator(account),
        Field(description="Who owns this directory.", json_schema_extra=_ACCOUNT),
    ] = None
    group: Annotated[
        Account | None,
        BeforeValidator(account),
        Field(description="The group of this directory.", json_schema_extra=_ACCOUNT),
    ] = None
    mode: Annotated[
        int | None,
        BeforeValidator(octal_mode),
        Field(description="The mode of this directory.", json_schema_extra=_OCTAL),
    ] = None
    acl: Annotated[
        tuple[AclEntry, ...] | None,
        BeforeValidator(entries),
        Field(
            description="The ACL entries of this directory; [] leaves its ACLs alone.",
            json_schema_extra=_ENTRIES,
        ),
    ] = None


class LayoutConfig(Strict):
    """The directories that every host is to see alike. directories: in the order of the file."""

    repair: Annotated[
        bool,
        Field(
            description="A directory that was there before the agent and has another owner, mode"
            " or ACL: false reports it, true mends it."
        ),
    ] = False
    defaults: Annotated[
        DirectoryDefaults,
        Field(description="What holds for a directory that does not say otherwise."),
    ] = DirectoryDefaults()
    directories: Annotated[
        Mapping[Annotated[str, AfterValidator(inner_paths.directory)], DirectoryConfig],
        AfterValidator(_not_too_many),
        FREEZE,
        THAW,
        Field(
            description="The directories, by their paths below the mount's; {} for one that is as"
            " the defaults say."
        ),
    ]
    run_names: Annotated[
        str | None,
        BeforeValidator(run_name_template),
        Field(
            description="The form that names of run directories have, of {user}, {project} and"
            " {timestamp}; others are reported.",
            json_schema_extra=kind("text with fields in braces"),
        ),
    ] = None

    def settings(self, directory: str) -> DirectoryDefaults:
        """What a directory is to be, declared or a parent of one that is."""
        own = self.directories.get(directory, DirectoryConfig())
        return self.defaults.model_copy(
            update={name: value for name, value in own if value is not None}
        )

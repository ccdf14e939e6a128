"""What is to be done about the declared directories: declared and seen in, a plan out. Pure.

Whoever may rename in a parent can put another directory in a declared place. So a directory is kept
as declared only where the volume's mark says that the agent made this very inode; what was there
before is mended only under `repair: true`, and what took the place of a marked one never.
"""

import errno as errnos
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.layout import acl
from agent.layout.declared import Declared, Names
from agent.layout.seen import Done, Failure, Kind, OddNames, Seen

UNFINISHED = 0o1700
"""The mode with which the agent makes a directory of root's, before it has its owner, ACLs and
mode: nothing else does so. An empty one like that was left by an agent that was killed, or whose
work was moved away under its hands and back again."""
_UNFINISHED_BITS = 0o1777


@dataclass(frozen=True, slots=True)
class Make:
    """Make a directory that is not there."""

    want: Declared

    def describe(self) -> str:
        """For the journal."""
        return f"make {self.want.path}"


@dataclass(frozen=True, slots=True)
class Mend:
    """Give a directory the declared owner, group, mode and ACLs.

    made: the agent made it; otherwise it was there before, and `repair` allows it.
    """

    want: Declared
    seen: Seen
    made: bool
    differs: str

    def describe(self) -> str:
        """For the journal; with what it had before."""
        why = "made by the agent" if self.made else "there before the agent; repair: true"
        return f"mend {self.want.path} ({why}): {self.differs}"


Action = Make | Mend


@dataclass(frozen=True, slots=True)
class Plan:
    """actions: parents first; findings: sentences, each on one directory, in the same order."""

    actions: tuple[Action, ...]
    findings: tuple[str, ...]


def plan(
    declared: Sequence[Declared],
    seen: Mapping[str, Seen],
    known: Names,
    *,
    repair: bool,
) -> Plan:
    """What to do. seen: by path; what is not in it was not looked at, and nothing is done there."""
    actions: list[Action] = []
    findings = []
    makes: set[str] = set()
    barred = _barred(seen)
    for want in declared:
        found = seen.get(want.path)
        if found is None:
            continue
        if found.kind is Kind.MISSING or (found.kind is Kind.BELOW and _parent(want.path) in makes):
            makes.add(want.path)
            actions.append(Make(want))
        elif found.kind is Kind.DIRECTORY:
            judged = _directory(want, found, known, repair=repair)
            if isinstance(judged, Mend):
                actions.append(judged)
            elif judged:
                findings.append(judged)
        elif found.kind is Kind.UNREADABLE:
            findings += _unreadable(found, barred.pop((_parent(want.path), found.errno), 0))
        elif found.kind is not Kind.BELOW:  # the parent has a finding of its own
            findings.append(_obstacle(found))
    return Plan(tuple(actions), tuple(findings))


def _barred(seen: Mapping[str, Seen]) -> dict[tuple[str, int], int]:
    """How many of one directory's can't be looked at, for one reason: it is one finding."""
    found = (each for each in seen.values() if each.kind is Kind.UNREADABLE)
    return dict(Counter((_parent(each.path), each.errno) for each in found))


def _unreadable(found: Seen, count: int) -> list[str]:
    if not count:
        return []  # told with the first of its siblings
    more = f" and {count - 1} more beside it" if count > 1 else ""
    why = errno_words(found.errno) + _HINTS.get(found.errno, "")
    return [f"{found.path}{more}: can't be looked at: {why}"]


def _directory(want: Declared, found: Seen, known: Names, *, repair: bool) -> Mend | str:
    if found.errno:
        return f"{want.path}: its ACLs can't be read: {errno_words(found.errno)}"
    differs = "; ".join(_differences(want, found, known))
    if not differs:
        return ""
    mark = found.mark
    if found.empty and (found.uid, found.mode & _UNFINISHED_BITS) == (0, UNFINISHED):
        return Mend(want, found, made=True, differs="an agent was interrupted while making it")
    if mark is not None and mark.inode != found.inode:
        whose = "made" if mark.made else "mended"
        return f"{want.path}: another directory than the one that the agent {whose}: {differs}"
    if mark is not None and mark.made:
        return Mend(want, found, made=True, differs=differs)
    if repair:
        return Mend(want, found, made=False, differs=differs)
    return f"{want.path}: was there before the agent: {differs}"


def _differences(want: Declared, found: Seen, known: Names) -> Iterator[str]:
    if found.uid != want.uid:
        yield f"owner {known.user(found.uid)}, declared {known.user(want.uid)}"
    if found.gid != want.gid:
        yield f"group {known.group(found.gid)}, declared {known.group(want.gid)}"
    if found.mode != want.mode:
        yield f"mode {found.mode:04o}, declared {want.mode:04o}"
    for name, wanted, value in (
        ("ACL", want.access, found.access),
        ("default ACL", want.default, found.default),
    ):
        if wanted is not None and (value is None or acl.decode(value) != wanted):
            yield f"{name} {_acl_words(value)}, declared {acl.shown(wanted)}"


def _acl_words(value: bytes | None) -> str:
    entries = acl.decode(value or b"")
    return "unreadable" if entries is None else acl.shown(entries) or "none"


def _obstacle(found: Seen) -> str:
    match found.kind:
        case Kind.SYMLINK:
            return f"{found.path}: a symbolic link to {found.detail} stands there, not followed"
        case Kind.ELSEWHERE:
            return f"{found.path}: something else is mounted there, not entered"
        case _:
            return f"{found.path}: {found.detail} stands where a directory should be"


def odd_names(found: OddNames, template: str) -> str:
    """The finding on run directories whose names don't fit; "" where all do."""
    if found.errno:
        return f"{found.path}: its names can't be listed: {errno_words(found.errno)}"
    if not found.count:
        return ""
    more = f" and {found.count - len(found.names)} more" if found.count > len(found.names) else ""
    return f"{found.path}: names that don't fit {template}: {', '.join(found.names)}{more}"


def shortfall(want: Declared, done: Done, known: Names) -> str:
    """The finding on an action that did not bring what was declared; "" where it did."""
    if done.result in ("failed", "half"):
        return f"{want.path}: {done.doing} it failed: {errno_words(done.errno)}"
    if done.result != "ok" or (done.uid, done.gid, done.mode) == (want.uid, want.gid, want.mode):
        return ""
    has = f"{known.user(done.uid)}:{known.group(done.gid)} {done.mode:04o}"
    given = f"{known.user(want.uid)}:{known.group(want.gid)} {want.mode:04o}"
    return f"{want.path}: has {has} though it was given {given}"


def failure_words(failure: Failure) -> str:
    """One sentence on a pass that came to nothing."""
    if failure.held:
        return f"{failure.doing}: another host has it"
    hint = _HINTS.get(failure.errno, "")
    return f"{failure.doing} failed: {errno_words(failure.errno)}{hint}"


def errno_words(number: int) -> str:
    """The errno's name; the words for it are the host's matter, and the name can be searched."""
    return errnos.errorcode.get(number, str(number))


_HINTS = {
    errnos.EACCES: "; root may not do it: is server.root-squash on?",
    errnos.EPERM: "; root may not do it: is server.root-squash on?",
    errnos.EROFS: "; the volume is read-only",
    errnos.ENOTCONN: "; it is tried again when the volume answers",
    errnos.EOPNOTSUPP: "; ACLs need the mount option acl",
}


def _parent(path: str) -> str:
    return path.rpartition("/")[0]

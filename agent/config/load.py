"""agent.yaml -> Config: everything that is wrong with it at once, by line and column.

Pure over the text, but for the `lstat` it is given. A text at the size limit takes seconds: a
caller with a loop to keep alive runs it in a thread.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from agent.config import between, explain, later, names, options_check, places
from agent.config.environment_schema import TOKENS_TOO
from agent.config.problems import ConfigInvalid, Place, Problem
from agent.config.schema import Config
from agent.config.strict import KEY
from agent.config.tree import MAX_BYTES, Tree, TreeInvalid, read
from agent.model.mount import MountEntry

_PATH_OPTIONS = ("log-file", "dump-fuse")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid configuration.

    warnings: sorted by line; file: as to be shown in messages; data: the text it was made of, to
    be kept as the last good one.
    """

    config: Config
    warnings: tuple[Problem, ...]
    file: str
    data: bytes = field(repr=False)

    @property
    def warning_lines(self) -> tuple[str, ...]:
        """One line for each warning, with file, line and column."""
        return tuple(problem.text(self.file) for problem in self.warnings)

    @property
    def fingerprint(self) -> str:
        """12 hex digits over what the file means: equal on all hosts with the same settings."""
        meaning = json.dumps(self.config, default=dict, sort_keys=True)
        return hashlib.sha256(meaning.encode()).hexdigest()[:12]


def load(
    data: bytes | str,
    file: str,
    *,
    mount_table: Sequence[MountEntry] = (),
    lstat: places.Lstat | None = None,
    own_paths: Sequence[str] = (),
) -> Loaded:
    """Raises ConfigInvalid with every problem.

    file: how messages call it. mount_table: what is mounted on this host; no path on or below one
    of its network or FUSE mounts is given to lstat. lstat: None leaves out the rules on local
    directories. own_paths: what the agent itself reads and writes (its configuration, state and
    runtime directories), which no mount may cover.
    """
    data = data.encode(errors="surrogatepass") if isinstance(data, str) else data
    try:
        tree = read(_text(data))
    except TreeInvalid as error:
        raise ConfigInvalid(file, [error.problem]) from None
    shape = _shape(tree)
    if shape:
        raise ConfigInvalid(file, sorted([*tree.problems, shape]))
    refused_by_name = later.take_out(tree)
    try:
        config = Config.model_validate(tree.value)
        found = list(tree.problems)
    except ValidationError as error:
        config = None
        found = list(explain.problems(error, tree))
        refused = {(problem.line, problem.column, problem.where) for problem in tree.problems}
        found = [p for p in found if (p.line, p.column, p.where) not in refused]
        found += tree.problems
    found += refused_by_name
    found += _between_sections(tree)
    found += _between_mounts(tree, own_paths)
    found += _on_this_host(tree, mount_table, lstat)
    if found or config is None:
        raise ConfigInvalid(file, sorted(set(found)))
    return Loaded(config, tuple(sorted(_warnings(tree))), file, data)


def _text(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise TreeInvalid(Problem(1, 1, "", f"is larger than {MAX_BYTES >> 10} KiB"))
    zero = data.find(b"\0")
    if zero >= 0:
        raise TreeInvalid(Problem(*_position(data[:zero]), "", "holds a NUL byte: is it text?"))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = _position(data[: error.start])
        raise TreeInvalid(Problem(*place, "", "is not UTF-8; save it as UTF-8")) from None
    if not text.strip():
        raise TreeInvalid(Problem(1, 1, "", f"is empty; {explain.NO_MOUNTS}"))
    return text


def _position(before: bytes) -> tuple[int, int]:
    line_start = before.rfind(b"\n") + 1
    column = len(before[line_start:].decode(errors="replace")) + 1
    return (before.count(b"\n") + 1, column)


def _shape(tree: Tree) -> Problem | None:
    """What is wrong with the file as a whole, where its parts can't be looked at."""
    if tree.value is None:
        return Problem(1, 1, "", f"holds no settings, only comments or null; {explain.NO_MOUNTS}")
    if not isinstance(tree.value, dict):
        return tree.problem((), "must be keys and values, beginning with mounts:")
    return None


def _mounts(tree: Tree) -> Iterator[tuple[Place, dict[str, Any]]]:
    mounts = tree.value.get("mounts") if isinstance(tree.value, dict) else None
    for name, mount in mounts.items() if isinstance(mounts, dict) else ():
        if isinstance(mount, dict):
            yield ("mounts", name), mount


def _paths(tree: Tree) -> dict[str, str]:
    found = {}
    for (_, name), mount in _mounts(tree):
        try:
            found[str(name)] = places.mount_path(mount.get("path"))
        except ValueError:
            continue
    return found


def _between_sections(tree: Tree) -> Iterator[Problem]:
    for place, message in between.problems(tree.value):
        yield tree.problem(place, message)


def _between_mounts(tree: Tree, own_paths: Sequence[str]) -> Iterator[Problem]:
    paths = _paths(tree)
    for name, message in places.conflicts(paths):
        yield tree.problem(("mounts", name, "path"), message)
    for name, path in paths.items():
        for own in own_paths:
            if places.inside(own, path):
                message = f"would hide {own}, which the agent itself needs"
                yield tree.problem(("mounts", name, "path"), message)
    for place, mount in _mounts(tree):
        options = mount.get("options")
        given = options if isinstance(options, Mapping) else {}
        for option in _PATH_OPTIONS:
            target = given.get(option)
            if isinstance(target, str) and any(places.inside(target, p) for p in paths.values()):
                message = "is on one of the mounts: a client that writes there waits for itself"
                yield tree.problem((*place, "options", option), message)


def _on_this_host(
    tree: Tree, table: Sequence[MountEntry], lstat: places.Lstat | None
) -> Iterator[Problem]:
    for name, path in _paths(tree).items():
        message = places.refusal(path, table, lstat)
        if message:
            yield tree.problem(("mounts", name, "path"), message)


def _warnings(tree: Tree) -> Iterator[Problem]:
    for place, mount in _mounts(tree):
        for index in names.repeated(mount.get("servers")):
            message = "is in the list already; this repetition is dropped"
            yield tree.problem((*place, "servers", index), message)
        for option, message in options_check.warnings(mount.get("options")):
            yield tree.problem((*place, "options", option, KEY), message)
        variables = mount.get("environment")
        for variable in variables if isinstance(variables, Mapping) else ():
            if variable in TOKENS_TOO:
                message = (
                    "also holds users' access tokens, and whoever logs in first makes it 0700;"
                    " HF_HUB_CACHE is the cache alone"
                )
                yield tree.problem((*place, "environment", variable, KEY), message)

"""What the commands about checkpoints share: which mount, its rules, and a look at it."""

import argparse
import asyncio
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from agent.cli.progress import CounterLine
from agent.config.files import load_file
from agent.config.places import can_hang, inside
from agent.config.schema import Config, MountConfig
from agent.errors import AgentError
from agent.health import statusfile
from agent.model.verdict import Verdict
from agent.retention.declared import policy
from agent.retention.policy import Policy
from agent.retention.survey import THREADS, Progress, Surveyed, Wanted, survey
from agent.system import mountinfo, mounttable
from agent.system.children import Children

_UNSEEN = frozenset(
    {Verdict.FOREIGN, Verdict.ABSENT, Verdict.DEAD, Verdict.HUNG, Verdict.NO_QUORUM}
)
"""With these verdicts a look would hang, or see something else than the volume."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One of the file, with its retention."""

    name: str
    path: str
    policy: Policy


class Host:
    """The configuration of this host, and what is mounted."""

    def __init__(self, args: argparse.Namespace) -> None:
        """Raises AgentError where the file is not valid."""
        self.table = mounttable.read()
        self.config: Config = load_file(str(args.config), mount_table=self.table).config
        self._file = args.config
        self._runtime_dir: Path = args.runtime_dir

    def chosen(self, name: str | None) -> Mount:
        """The mount of that name, or the only one with retention. Raises AgentError."""
        if name is not None and name not in self.config.mounts:
            there = ", ".join(self.config.mounts) or "none"
            raise AgentError("unknown-mount", f"no mount is named {name}; there is: {there}")
        named = {n: m for n, m in self.config.mounts.items() if name in (None, n)}
        found = [_mount(n, m) for n, m in named.items() if m.retention is not None]
        if not found:
            which = f"the mount {name}" if name else "no mount"
            has = "has no retention" if name else "has retention"
            raise AgentError("no-retention", f"{self._file}: {which} {has}", "see man agent.yaml")
        if len(found) > 1:
            names = ", ".join(mount.name for mount in found)
            raise AgentError("which-mount", f"several mounts have retention: {names}; add --mount")
        return found[0]

    def around(self, path: str) -> Mount | None:
        """The mount of the file that an absolute path is on."""
        for name, mount in self.config.mounts.items():
            if inside(path, mount.path):
                return _mount(name, mount)
        return None

    def wanted(self, mount: Mount, *within: str) -> Wanted:
        """The volume as it is mounted, so that nothing else is looked at. Raises AgentError."""
        self._require_seen(mount)
        layers = mountinfo.layers_at(self.table, mount.path)
        if not layers or layers[-1].fstype != mountinfo.GLUSTER_FSTYPE:
            raise AgentError(
                "not-mounted",
                f"{mount.path}: {mount.name} is not mounted there",
                f"see: gluster-ml-agent status {mount.name}",
            )
        return Wanted(
            root=mount.path,
            device=layers[-1].device,
            mounted_at=mount.path,
            rules=mount.policy.rules,
            threads=THREADS,
            within=within,
            with_space=True,
        )

    def elsewhere(self, directory: str, mount: Mount | None, *within: str) -> Wanted:
        """Any directory in the place of the mount, or by itself."""
        over = [entry for entry in self.table if inside(directory, entry.path)]
        remote = bool(over) and can_hang(max(over, key=lambda entry: len(entry.path)).fstype)
        return Wanted(
            root=directory,
            device=None,
            mounted_at=mount.path if mount else directory,
            rules=mount.policy.rules if mount else (),
            threads=THREADS if remote else 0,
            within=within,
        )

    def _require_seen(self, mount: Mount) -> None:
        """Where there is an agent, its word counts."""
        try:
            status = statusfile.read(self._runtime_dir)
            statusfile.check_current(status, time.time())
        except AgentError:
            return
        verdict = next((m.verdict for m in status.mounts if m.name == mount.name), None)
        if verdict in _UNSEEN:
            raise AgentError(
                "not-now",
                f"{mount.name} is {verdict}, so its checkpoints can't be looked at",
                f"see: gluster-ml-agent status {mount.name}",
            )


def _mount(name: str, mount: MountConfig) -> Mount:
    return Mount(name, mount.path, policy(mount.retention) if mount.retention else Policy())


def looked_at(wanted: Wanted) -> Surveyed:
    """With a line on the terminal meanwhile. Raises AgentError."""
    return asyncio.run(_looked_at(wanted))


async def _looked_at(wanted: Wanted) -> Surveyed:
    children = Children()
    line = CounterLine(sys.stderr)
    try:
        async for row in survey(children, wanted):
            if not isinstance(row, Progress):
                return row
            line.show(row.looked, "", row.at)
    finally:
        line.clear()
        await children.close()
    raise AssertionError("a survey ends with what it found")

"""Which mount a command is about, and whether it is there to be worked on."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from agent.config.files import load_file
from agent.config.schema import Config, MountConfig
from agent.daemon.loop import LOG_DIR
from agent.daemon.volume import mounted
from agent.errors import AgentError
from agent.health import statusfile
from agent.health.text import clean
from agent.model.mount import MountEntry
from agent.system import booted, mountinfo
from agent.system.net import ServerRace
from agent.system.workmount import WorkMounts


@dataclass(frozen=True, slots=True)
class OnMount:
    """A mount of the file, and what is mounted at its path."""

    name: str
    mount: MountConfig
    entry: MountEntry
    config: Config


def find(config_file: Path, name: str | None) -> OnMount:
    """The named mount of the file, or the only one. Raises AgentError."""
    table = mountinfo.parse(Path("/proc/self/mountinfo").read_bytes())
    config = load_file(str(config_file), mount_table=table).config
    if name is None and len(config.mounts) == 1:
        (name,) = config.mounts
    there = ", ".join(config.mounts) or "none"
    if name is None:
        raise AgentError("which-mount", f"which mount? there is: {there}", "say --mount NAME")
    if name not in config.mounts:
        raise AgentError("unknown-mount", f"no mount is named {name}; there is: {there}")
    mount = config.mounts[name]
    layers = mountinfo.layers_at(table, mount.path)
    if not layers or not _is_its(mount, layers[-1]):
        raise AgentError(
            "not-mounted",
            f"{mount.path}: {mount.volume} is not mounted there",
            "see: gluster-ml-agent status",
        )
    return OnMount(name, mount, layers[-1], config)


@contextlib.asynccontextmanager
async def true_view(runtime_dir: Path, where: OnMount) -> AsyncIterator[MountEntry]:
    """The volume as it truly is, by a mount of the agent's own, which is there meanwhile.

    For root. Raises AgentError, OSError.
    """
    await asyncio.to_thread(runtime_dir.mkdir, mode=0o755, parents=True, exist_ok=True)
    host = booted.mount_host()
    try:
        around = (ServerRace(), LOG_DIR, WorkMounts(host, runtime_dir))
        async with mounted("by-hand", where.name, where.mount, *around) as entry:
            yield entry
    finally:
        await host.close()


def _is_its(mount: MountConfig, top: MountEntry) -> bool:
    source = mountinfo.parse_source(top.source)
    wanted = (mount.volume_name, mount.subdir)
    is_gluster = top.fstype == mountinfo.GLUSTER_FSTYPE
    return is_gluster and source is not None and (source.volume, source.subdir) == wanted


def require_root(what: str) -> None:
    """what: can only be done by root, as in "only root can ...". Raises AgentError."""
    if os.geteuid() != 0:
        raise AgentError("not-root", f"only root can {what}", "run it as root")


def require_verdict(runtime_dir: Path, name: str) -> None:
    """The agent's word on the mount counts, where there is an agent. Raises AgentError."""
    try:
        status = statusfile.read(runtime_dir)
        statusfile.check_current(status, time.time())
    except AgentError:
        say(f"no agent runs here, so nobody can say how {name} is; going on")
        return
    found = next((mount for mount in status.mounts if mount.name == name), None)
    if found is not None and not found.complete:
        part = "" if found.whole else ", with a part of it missing"
        raise AgentError(
            "not-now",
            f"{name} is {found.verdict.value}{part}, so nothing was changed",
            f"see: gluster-ml-agent status {name}",
        )


def confirmed(question: str, *, yes: bool) -> bool:
    """Ask on the terminal, unless yes. Raises AgentError where there is none to ask on."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise AgentError("not-confirmed", "nobody is there to confirm it", "say --yes")
    sys.stderr.write(f"{clean(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def say(line: str) -> None:
    """A line on stderr."""
    print(f"gluster-ml-agent: {clean(line, 1000)}", file=sys.stderr)

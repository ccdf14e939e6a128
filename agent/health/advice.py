"""What an on-call engineer should do about a verdict: one or two sentences, with the command.

Pure. Nothing advised here may hang: on a hung mount no command touches the mount's path.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from agent.model.mount import Brick, Obstacle, ObstacleKind, ProcessId
from agent.model.verdict import Verdict

_MOST = 3
"""Servers named one by one."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What advice depends on. hung_policy and new_options: as in the mount's `recovery`.

    client_log, removing, obstacles: as in MountStatus. leaving: the name of the agent's own mount
    of before, which lies there until it is idle. port: of glusterd, TCP.
    """

    name: str
    path: str
    volume: str
    verdict: Verdict
    port: int
    hung_policy: str = "report"
    new_options: str = "when-idle"
    bricks: tuple[Brick, ...] | None = None
    client: ProcessId | None = None
    client_log: str = ""
    removing: bool = False
    leaving: str = ""
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def volume_name(self) -> str:
        """The volume without a sub-directory, quoted for a shell."""
        return shlex.quote(self.volume.partition("/")[0])

    @property
    def log(self) -> str:
        """Where the client logs, quoted for a shell."""
        return shlex.quote(self.client_log)

    @property
    def replaces(self) -> str:
        """What the agent does when the client is gone."""
        return "unmounts" if self.removing else "remounts"


def advise(situation: Situation) -> str:
    """What to do, "" where nothing is."""
    return _ADVICE[situation.verdict](situation)


def _paused(s: Situation) -> str:
    return f"the agent only watches; when the maintenance is over: gluster-ml-agent resume {s.name}"


def _foreign(s: Situation) -> str:
    row = shlex.quote(f" {s.path} ")
    return (
        "it isn't the agent's, so the agent leaves it alone; see what it is: "
        f"grep {row} /proc/self/mountinfo; once it is unmounted the agent mounts by itself"
    )


def _absent(s: Situation) -> str:
    if s.leaving:
        return (
            f"the agent mounts {s.volume_name} as soon as nothing uses the mount of before; who "
            f"does: gluster-ml-agent status {s.leaving}"
        )
    if s.obstacles:
        return f"the agent keeps trying; {_against(s)}"
    return (
        f"the agent keeps trying; if a server answers, the cause is in: tail {s.log}; "
        f"on a storage node: gluster volume status {s.volume_name}"
    )


def _against(s: Situation) -> str:
    """What to do about the obstacles, each kind of them once."""
    kinds = dict.fromkeys(obstacle.kind for obstacle in s.obstacles)
    return "; ".join(
        _CURES[kind](s, tuple(o.server for o in s.obstacles if o.kind is kind)) for kind in kinds
    )


def _unresolvable(_s: Situation, servers: tuple[str, ...]) -> str:
    names = " ".join(map(shlex.quote, servers[:_MOST]))
    return f"check the names, /etc/hosts and DNS of this host: getent hosts {names}"


def _refused(_s: Situation, servers: tuple[str, ...]) -> str:
    return f"glusterd doesn't run there; on {_some(servers)}: systemctl status glusterd"


def _silent(s: Situation, servers: tuple[str, ...]) -> str:
    return (
        f"check that {_some(servers)} run{'s' if len(servers) == 1 else ''}, and that network and "
        f"firewall let this host reach TCP port {s.port} there: ping {shlex.quote(servers[0])}"
    )


def _no_volume(s: Situation, _servers: tuple[str, ...]) -> str:
    return (
        "is the name right, and are these the servers of its cluster? on a storage node: "
        f"gluster volume list; gluster volume info {s.volume_name}"
    )


def _no_brick(s: Situation, _servers: tuple[str, ...]) -> str:
    return (
        f"is the volume started? on a storage node: gluster volume status {s.volume_name}; "
        f"gluster volume start {s.volume_name}, with force if bricks of it are down"
    )


def _not_allowed(s: Situation, _servers: tuple[str, ...]) -> str:
    return (
        "the volume doesn't let this host in: see auth.allow, auth.reject; on a storage node: "
        f"gluster volume get {s.volume_name} all | grep -w auth"
    )


def _no_directory(s: Situation, _servers: tuple[str, ...]) -> str:
    directory = shlex.quote(s.volume.partition("/")[2])
    return (
        f"mend `volume` in the file, or make the directory {directory} on the volume: mount "
        f"{s.volume_name} itself elsewhere and mkdir -p it there"
    )


def _some(servers: tuple[str, ...]) -> str:
    more = f" and {len(servers) - _MOST} more" if len(servers) > _MOST else ""
    return ", ".join(servers[:_MOST]) + more


def _dead(s: Situation) -> str:
    return (
        f"the agent {s.replaces}; why the client died: "
        f"tail -n 50 {s.log}; journalctl -k -g 'out of memory'"
    )


def _hung(s: Situation) -> str:
    look = f"look at the storage first: gluster volume status {s.volume_name} on a storage node"
    if s.hung_policy == "remount":
        return f"the agent aborts the connection and remounts; {look}"
    if s.client is None and s.removing:
        return f"{look}; the agent unmounts when it answers and nothing uses it"
    if s.client is None:
        return f"{look}; the agent remounts by itself only with recovery.hung: remount"
    return (
        f"{look}; if it won't come back: kill -9 {s.client.pid} ends the client: what was being "
        f"written is lost, everything that waits gets an error, and the agent {s.replaces}"
    )


def _slow(s: Situation) -> str:
    return (
        "wait, this often heals by itself; if it lasts, on a storage node: "
        f"gluster volume status {s.volume_name}"
    )


def _no_quorum(s: Situation) -> str:
    return (
        "don't remount, it heals when the bricks return; on a storage node: "
        f"gluster volume status {s.volume_name}, then for bricks that are down: "
        f"gluster volume start {s.volume_name} force"
    )


def _full(s: Situation) -> str:
    return (
        "make room on the volume; on a storage node: "
        f"gluster volume status {s.volume_name} detail (space of each brick), "
        f"gluster volume quota {s.volume_name} list (where quotas are used)"
    )


def _read_only(s: Situation) -> str:
    return (
        "on a storage node: "
        f"gluster volume get {s.volume_name} all | grep -E 'read-only|worm'; "
        "and look for a brick's file system gone read-only: dmesg"
    )


def _stale_options(s: Situation) -> str:
    quoted = shlex.quote(s.path)
    if s.new_options == "manual":
        return f"when no job uses it: umount {quoted}; the agent mounts it anew"
    if s.new_options == "now":
        return "the agent remounts it"
    return f"the agent remounts it as soon as nothing uses it; who does: fuser -vm {quoted}"


def _degraded(s: Situation) -> str:
    if any(not brick.connected for brick in s.bricks or ()):
        return (
            f"jobs go on; on a storage node: gluster volume status {s.volume_name}, "
            f"gluster volume start {s.volume_name} force, "
            f"then gluster volume heal {s.volume_name} info"
        )
    if s.obstacles:
        return f"jobs go on, but a lost mount could not be made anew; {_against(s)}"
    return (
        "jobs go on; for files that give I/O errors, on a storage node: "
        f"gluster volume heal {s.volume_name} info split-brain"
    )


def _healthy(_s: Situation) -> str:
    return ""


_ADVICE: dict[Verdict, Callable[[Situation], str]] = {
    Verdict.PAUSED: _paused,
    Verdict.FOREIGN: _foreign,
    Verdict.ABSENT: _absent,
    Verdict.DEAD: _dead,
    Verdict.HUNG: _hung,
    Verdict.SLOW: _slow,
    Verdict.NO_QUORUM: _no_quorum,
    Verdict.FULL: _full,
    Verdict.READ_ONLY: _read_only,
    Verdict.STALE_OPTIONS: _stale_options,
    Verdict.DEGRADED: _degraded,
    Verdict.HEALTHY: _healthy,
}

_CURES: dict[ObstacleKind, Callable[[Situation, tuple[str, ...]], str]] = {
    ObstacleKind.UNRESOLVABLE: _unresolvable,
    ObstacleKind.REFUSED: _refused,
    ObstacleKind.SILENT: _silent,
    ObstacleKind.NO_VOLUME: _no_volume,
    ObstacleKind.NO_BRICK: _no_brick,
    ObstacleKind.NOT_ALLOWED: _not_allowed,
    ObstacleKind.NO_DIRECTORY: _no_directory,
}

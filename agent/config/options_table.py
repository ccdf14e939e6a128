"""Every option of mount.glusterfs(8): its type, range and default, or why it is not taken.

Facts from the helper script of GlusterFS 10.3 and 11.1, from the argument parser of glusterfsd.c
and the options of fuse-bridge.c (ranges, defaults); what the client really does with each was
measured by running it. Volume options are listed in volume_options.py.
"""

from dataclasses import dataclass

OptionValue = bool | int | float | str
"""A canonical value."""


@dataclass(frozen=True, slots=True)
class Flag:
    """There or not there. opposite: the word for `false`, if that is what has an effect.

    value: what the helper wants to see behind the word, although any value means the same.
    """

    opposite: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Switch:
    """An option that takes a boolean (`=yes`, `=no`)."""

    default: bool


@dataclass(frozen=True, slots=True)
class Number:
    """low and high are allowed too. unit: for messages. default: None where the volume decides."""

    low: int
    high: int
    default: int | None = None
    unit: str = ""
    decimals: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words. upper: any case is taken. booleans: the words for true and false."""

    words: tuple[str, ...]
    default: str | None = None
    upper: bool = False
    booleans: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Text by a pattern; `like` is an example for messages."""

    pattern: str
    like: str


Kind = Flag | Switch | Number | Choice | Text

_SECONDS = Number(0, 2**31 - 1, 1, "seconds", decimals=True)
_FILE = Text(r"(/[A-Za-z0-9_@+~-][A-Za-z0-9._@+~-]*)+", "/var/log/glusterfs/model-share.log")
_CONTEXT = Text(r"[A-Za-z0-9_]+(:[A-Za-z0-9_.-]+){2,4}", "system_u:object_r:fusefs_t:s0")

KNOWN: dict[str, Kind] = {
    "acl": Flag(),
    "attr-times-granularity": Number(0, 10**9, 0, "nanoseconds"),
    "attribute-timeout": _SECONDS,
    "auto-invalidation": Switch(default=True),
    "aux-gfid-mount": Flag(),
    "background-qlen": Number(16, 65536, 64),
    "congestion-threshold": Number(12, 65536, 48),
    "context": _CONTEXT,
    "defcontext": _CONTEXT,
    "dev": Flag(opposite="nodev"),
    "direct-io-mode": Choice(("auto", "enable", "disable"), "auto", booleans=("enable", "disable")),
    "dump-fuse": _FILE,
    "enable-ino32": Flag(),
    "entry-timeout": _SECONDS,
    "event-history": Switch(default=False),
    "exec": Flag(opposite="noexec"),
    "fopen-keep-cache": Flag(),
    "fscontext": _CONTEXT,
    "fuse-dev-eperm-ratelimit-ns": Number(0, 10**9, 10**7, "nanoseconds"),
    "fuse-flush-handle-interrupt": Switch(default=False),
    "gid-timeout": Number(0, 2**31 - 1, 300, "seconds"),
    "global-threading": Flag(),
    "halo-max-latency": Number(1, 99999, unit="milliseconds"),
    "halo-max-replicas": Number(1, 99999),
    "halo-min-replicas": Number(1, 99999),
    "inode-table-size": Number(65536, 2**30, 65536),
    "invalidate-limit": Number(0, 2**31 - 1, 0),
    "io-engine": Choice(("legacy", "io_uring")),
    "kernel-writeback-cache": Switch(default=False),
    "localtime-logging": Flag(),
    "log-file": _FILE,
    "log-level": Choice(
        ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "NONE"), "INFO", upper=True
    ),
    "lru-limit": Number(0, 2**31 - 1, 65536),
    "negative-timeout": Number(0, 2**31 - 1, 0, "seconds", decimals=True),
    "no-root-squash": Flag(value="true"),
    "noatime": Flag(),
    "atime": Flag(opposite="noatime"),
    "nodev": Flag(),
    "noexec": Flag(),
    "nosuid": Flag(),
    "oom-score-adj": Number(-1000, 1000),
    "process-name": Text(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", "model-share"),
    "reader-thread-count": Number(1, 64, 1),
    "resolve-gids": Flag(),
    "ro": Flag(),
    "root-squash": Flag(opposite="no-root-squash"),
    "rootcontext": _CONTEXT,
    "rw": Flag(opposite="ro"),
    "selinux": Flag(),
    "suid": Flag(opposite="nosuid"),
    "thin-client": Flag(),
    "use-readdirp": Switch(default=True),
    "volfile-check": Flag(value="true"),
    "worm": Flag(),
    "xlator-option": Text(
        r"[A-Za-z0-9_*-]+(\.[A-Za-z0-9_*-]+)+=[A-Za-z0-9_.:/%+-]+",
        "transport.address-family=inet6",
    ),
}

WARNINGS: dict[str, str] = {
    "dump-fuse": "copies all traffic into that file, contents included, without bound",
    "inode-table-size": "needs GlusterFS 11; with an older one the mount fails",
    "thin-client": "needs gfproxyd on the servers, and hides the bricks from this agent",
}
"""Accepted, but worth a word."""

_BY_HELPER = "is ignored by mount.glusterfs; remove it"
_BY_AGENT = "has no meaning here: the agent mounts, not the boot; remove it"

IGNORED: dict[str, str] = {
    **dict.fromkeys(
        ("async", "sync", "dirsync", "mand", "nomand", "silent", "loud", "iversion", "noiversion"),
        _BY_HELPER,
    ),
    **dict.fromkeys(("auto", "noauto", "nofail", "_netdev", "user", "users", "nouser"), _BY_AGENT),
    "defaults": "names what holds anyway; remove it",
}
"""Dropped with a warning; so is every x-... option."""

_FROM_SERVERS = "is made by the agent from the mount's servers; remove it"
_FAILS = "makes mount.glusterfs leave nothing mounted; remove it"
_NO_EFFECT_IN_FUSE = f"{_FAILS} (atime and noatime work)"

REFUSED: dict[str, str] = {
    "auto_unmount": "would take the mount away when its client dies, and jobs would go on"
    " writing to the local disk below; remove it",
    "backup-volfile-servers": _FROM_SERVERS,
    "backupvolfile-server": _FROM_SERVERS,
    "backup-volfile-server": _FROM_SERVERS,
    "capability": "stands in the manual page, but mount.glusterfs does not know it; remove it",
    "debug": "would keep the client in the foreground; use log-level: DEBUG",
    "fetch-attempts": "is deprecated in GlusterFS; the agent itself tries again; remove it",
    "fuse-mountopts": "is not taken: write noatime, nodev, noexec or nosuid by their own names",
    "mem-accounting": "is passed on by mount.glusterfs, but the client refuses it; remove it",
    "read-only": "is called ro; write ro: true",
    "server-port": "is a key of the mount; write port: beside options:",
    "subdir-mount": "is part of the volume; write volume: name/sub/dir",
    "transport": "is not needed: tcp is the only transport since GlusterFS 8; remove it",
    "volfile": "is not taken: the client fetches its volfile from the mount's servers; remove it",
    "volfile-id": "is the mount's volume; write volume:",
    "volfile-server": _FROM_SERVERS,
    "volfile-servers": _FROM_SERVERS,
    "volume-id": "is the mount's volume; write volume:",
    "volume-name": "names a translator of the client graph, no volume; write volume:",
    **dict.fromkeys(
        ("diratime", "nodiratime", "relatime", "norelatime", "strictatime", "nostrictatime"),
        _NO_EFFECT_IN_FUSE,
    ),
    **dict.fromkeys(
        ("lazyatime", "nolazyatime", "lazytime", "nolazytime"),
        _NO_EFFECT_IN_FUSE,
    ),
}
"""Known, and never taken: why, and what to do."""

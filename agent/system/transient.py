"""The transient units that PID 1 is asked for, and whose unit a loaded one is. Pure."""

import os.path
from collections.abc import Sequence
from dataclasses import dataclass

from dbus_fast import Variant

from agent.system.mounthost import MountRequest

Properties = Sequence[tuple[str, Variant]]

_TRANSIENT = "/run/systemd/transient/"
_UNCOVERED = "/run/gluster-ml-uncovered"
"""Where guard_properties() has the bare directory; nothing is mounted there on the host."""
_LOG_WARNING = 4
_HANGING = 5.0
"""Seconds beyond the caller's timeout after which PID 1 ends a job, the caller being dead."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What PID 1 has loaded for a name: the unit's properties of these names."""

    active_state: str
    fragment_path: str
    source_path: str

    @property
    def transient(self) -> bool:
        """Whether it was made over D-Bus, by us or by systemd-mount."""
        return self.fragment_path.startswith(_TRANSIENT)

    @property
    def origin(self) -> str | None:
        """The administrator's file behind it: /etc/fstab or the unit file; None for neither.

        A mount made by hand has a unit too, but only the kernel's mount table as its source.
        """
        if not self.fragment_path or self.transient:
            return None
        return self.source_path or self.fragment_path

    @property
    def settled(self) -> bool:
        """Whether it is down, with nothing about to happen."""
        return self.active_state in {"inactive", "failed"}


def mount_properties(request: MountRequest, timeout: float) -> Properties:
    """The mount unit for a request whose attempt is to end within timeout seconds.

    DefaultDependencies= would pull network-online.target in, and a boot without network waits
    minutes for that: here the agent decides when a server can be reached. What is left of them
    orders the stop: jobs (after remote-fs.target), then this mount, then the network.
    """
    return [
        ("Description", Variant("s", f"GlusterFS {request.name} (gluster-ml-agent)")),
        ("What", Variant("s", request.source)),
        ("Type", Variant("s", "glusterfs")),
        ("Options", Variant("s", request.options)),
        ("TimeoutUSec", _usec(timeout + _HANGING)),
        ("DefaultDependencies", _flag(set_to=False)),
        ("Conflicts", Variant("as", ["umount.target"])),
        ("Before", Variant("as", ["umount.target", "remote-fs.target"])),
        ("After", Variant("as", ["network.target"])),
        # The agent has its own back-off: PID 1 must never answer "start request repeated".
        ("StartLimitIntervalUSec", Variant("t", 0)),
        ("CollectMode", Variant("s", "inactive-or-failed")),
        # Keeps a failed unit long enough to be asked for the reason.
        ("AddRef", _flag(set_to=True)),
    ]


def umount_properties(path: str, argv: Sequence[str], timeout: float) -> Properties:
    """A service that runs umount(8) once, its stderr being the message's first descriptor.

    Its failure is for the caller to tell: EBUSY is an everyday answer, and PID 1 would put four
    lines into the journal each time.
    """
    service = _once(f"Unmount {path}", f"/bin/{argv[0]}", argv, timeout, may_fail=True)
    return [*service, *_STDERR_HANDED_OVER]


def guard_properties(path: str, timeout: float, *, immutable: bool) -> Properties:
    """A service that sets or clears the immutable flag of the directory below the mount at path.

    In its own mount namespace the parent directory is seen without what is mounted in it, by a
    bind mount that isn't recursive.
    """
    parent, name = os.path.split(path)
    chattr = "/usr/bin/chattr"
    argv = [chattr, "+i" if immutable else "-i", "--", f"{_UNCOVERED}/{name}"]
    service = _once(f"Guard of the directory under {path}", chattr, argv, timeout)
    return [*service, ("BindPaths", Variant("a(ssbt)", [[parent, _UNCOVERED, False, 0]]))]


def tool_properties(argv: Sequence[str], timeout: float) -> Properties:
    """A service that runs a tool of the system once, its stderr the message's first descriptor.

    argv: an absolute path, and arguments. The caller tells of a failure, in the tool's own words.
    """
    service = _once(os.path.basename(argv[0]), argv[0], argv, timeout)
    return [*service, *_STDERR_HANDED_OVER]


_STDERR_HANDED_OVER = (
    ("Environment", Variant("as", ["LC_ALL=C"])),
    ("StandardErrorFileDescriptor", Variant("h", 0)),
    # By default a connection to journald, and it has nothing to say there.
    ("StandardOutput", Variant("s", "null")),
)


def _once(
    what: str, program: str, argv: Sequence[str], timeout: float, *, may_fail: bool = False
) -> Properties:
    """A service that runs a program once, and is forgotten whatever came of it.

    may_fail: an exit status other than 0 is no failure of the service.
    """
    return [
        ("Description", Variant("s", f"{what} (gluster-ml-agent)")),
        ("Type", Variant("s", "oneshot")),
        ("ExecStart", Variant("a(sasb)", [[program, list(argv), may_fail]])),
        ("LogLevelMax", Variant("i", _LOG_WARNING)),
        ("TimeoutStartUSec", _usec(timeout + _HANGING)),
        ("DefaultDependencies", _flag(set_to=False)),
        ("CollectMode", Variant("s", "inactive-or-failed")),
    ]


def _usec(seconds: float) -> Variant:
    return Variant("t", round(seconds * 1e6))


def _flag(*, set_to: bool) -> Variant:
    return Variant("b", set_to)

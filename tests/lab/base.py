"""The base tree that systemd hosts run from: a small Debian, built once and kept in a cache."""

import fcntl
import hashlib
import shutil
import tempfile
from pathlib import Path

from .shell import run

CACHE = Path("/var/cache/gluster-ml-lab/base")
PACKAGES = (
    "acl",
    "dbus",
    "e2fsprogs",  # chattr
    "glusterfs-client",
    "iproute2",
    "logrotate",
    "procps",
    "python3",
    "strace",
    "systemd",
    "systemd-sysv",
)
RELEASE = "bookworm"


def is_built(release: str = RELEASE) -> bool:
    """Whether `tree` is a matter of a moment."""
    return _place(release).exists()


def tree(release: str = RELEASE) -> Path:
    """The base tree of that Debian release; builds it where it isn't cached, in some minutes.

    Raises LabError with what debootstrap said.
    """
    wanted = _place(release)
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits for the first one's tree
        if not wanted.exists():
            _build(release, wanted)
    return wanted


def _place(release: str) -> Path:
    digest = hashlib.sha256(",".join(PACKAGES).encode()).hexdigest()[:12]
    return CACHE / f"{release}-{digest}"


def _build(release: str, wanted: Path) -> None:
    """Build beside it and rename: a tree that is there is whole."""
    draft = Path(tempfile.mkdtemp(prefix="draft-", dir=CACHE))
    include = f"--include={','.join(PACKAGES)}"
    # Killed half way, all it started and mounted in the draft (/proc, /sys) is gone with it.
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    try:
        command = ["debootstrap", "--variant=minbase", include, release, str(draft)]
        run([*apart, *command], timeout=1800)
        for archive in (draft / "var/cache/apt/archives").glob("*.deb"):
            archive.unlink()
        draft.chmod(0o755)
        draft.rename(wanted)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise

"""The base trees that systemd hosts run from: small Debians, built once and kept in a cache.

Of each release there are two kinds. The full one has all that tests use. The fresh one has systemd
and little else, and a repository of packages at MIRROR, for apt inside, which has no way out.
"""

import fcntl
import hashlib
import platform
import shutil
import tempfile
from pathlib import Path

from .shell import run

CACHE = Path("/var/cache/gluster-ml-lab/base")
RELEASE = platform.freedesktop_os_release()["VERSION_CODENAME"]
"""This machine's."""
MIRROR = "/srv/debian"
FULL = (
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
FRESH = ("dbus", "iproute2", "systemd", "systemd-sysv")
OFFERED = (
    "bash-completion",
    "e2fsprogs",
    "glusterfs-client",
    "logrotate",
    "man-db",
    "python3",
)
"""What can be installed on a fresh host, with all that these need and recommend."""
_RECIPE = "1"
"""Another one when what is done to a tree changes, so that cached ones are not taken for it."""


def is_built(release: str = RELEASE, *, fresh: bool = False) -> bool:
    """Whether `tree` is a matter of a moment."""
    return _place(release, fresh=fresh).exists()


def tree(release: str = RELEASE, *, fresh: bool = False) -> Path:
    """The base tree of that Debian release; builds it where it isn't cached, in some minutes.

    Raises LabError with what debootstrap or apt said.
    """
    wanted = _place(release, fresh=fresh)
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits for the first one's tree
        if not wanted.exists():
            _build(release, wanted, fresh=fresh)
    return wanted


def _place(release: str, *, fresh: bool) -> Path:
    made_of = [_RECIPE, *FRESH, "+", *OFFERED] if fresh else FULL
    digest = hashlib.sha256(",".join(made_of).encode()).hexdigest()[:12]
    return CACHE / f"{release}-{'fresh-' if fresh else ''}{digest}"


def _build(release: str, wanted: Path, *, fresh: bool) -> None:
    """Build beside it and rename: a tree that is there is whole."""
    draft = Path(tempfile.mkdtemp(prefix="draft-", dir=CACHE))
    try:
        packages = ",".join(FRESH if fresh else FULL)
        options = ["--variant=minbase", f"--include={packages}"]
        _apart(["debootstrap", *options, release, str(draft), *_mirror()])
        if fresh:
            _offer(draft)
        for archive in (draft / "var/cache/apt/archives").glob("*.deb"):
            archive.unlink()
        draft.chmod(0o755)
        draft.rename(wanted)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _mirror() -> list[str]:
    """Where this machine's apt has Debian from; empty, debootstrap's own choice, if not known."""
    wanted = ["Created-By: Packages", "Origin: Debian", "Label: Debian", f"Codename: {RELEASE}"]
    listed = run(["apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted], check=False)
    return listed.stdout.splitlines()[:1]


def _offer(draft: Path) -> None:
    """Fill the tree's own repository, and let its apt know no other."""
    inside = ["chroot", str(draft), "apt-get", "--yes", "--quiet"]
    _apart([*inside, "update"])
    _apart([*inside, "install", "--download-only", *OFFERED])
    mirror = draft / MIRROR.lstrip("/")
    mirror.mkdir()
    for archive in (draft / "var/cache/apt/archives").glob("*.deb"):
        archive.rename(mirror / archive.name)
    index = run(["env", f"--chdir={mirror}", "dpkg-scanpackages", "--multiversion", "."])
    (mirror / "Packages").write_text(index.stdout)
    apt = draft / "etc/apt"
    (apt / "sources.list").write_text(f"deb [trusted=yes] file:{MIRROR} ./\n")
    for listed in (apt / "sources.list.d").iterdir():
        listed.unlink()
    shutil.rmtree(draft / "var/lib/apt/lists")
    # Nobody pulls the plug here, and the machine's disk is shared.
    (draft / "etc/dpkg/dpkg.cfg.d/lab").write_text("force-unsafe-io\n")


def _apart(argv: list[str]) -> None:
    """Run it so that, killed half way, all it started and mounted (/proc, /sys) goes with it."""
    around = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    run([*around, *argv], timeout=1800)

"""All paths of a host's local file systems, compared."""

import re

from tests.lab.host import Host

LOCAL = ("/", "/run", "/tmp", "/dev/shm")
NOT_OURS = re.compile(
    r"/(proc|sys|dev)(/|$)"
    # what apt and dpkg keep of their own doings
    r"|/var/(cache|lib|log)/apt/|/var/lib/dpkg/|/var/log/dpkg\.log|/var/cache/debconf/"
    r"|/run/log/journal/|/run/systemd/"
)


def all_of(host: Host) -> dict[str, str]:
    """Path -> kind, mode, owner, group; and a file's size, a link's target."""
    about = r"%p\t%y %m %U %G"
    files = ["-type", "f", "-printf", rf"{about} %s\n"]
    rest = ["-printf", rf"{about} %l\n"]
    argv = ["find", *LOCAL, "-xdev", *files, "-o", *rest]
    lines = host.run(argv, timeout=120, check=False).stdout.splitlines()
    pairs = (line.split("\t", 1) for line in lines)
    return {path: about for path, about in pairs if not NOT_OURS.match(path)}


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """What came, went or changed, a line each; empty if nothing did."""
    came = [f"+ {path}: {after[path]}" for path in sorted(after.keys() - before.keys())]
    went = [f"- {path}" for path in sorted(before.keys() - after.keys())]
    both = sorted(before.keys() & after.keys())
    differ = [
        f"~ {path}: {before[path]} -> {after[path]}" for path in both if before[path] != after[path]
    ]
    return came + went + differ

"""What a process's control group says of where it runs. Pure."""

import re

_CONTAINER = re.compile(
    r"(?:(docker|cri-containerd|containerd|crio|libpod|nerdctl)[-/])?([0-9a-f]{64})(?:\.scope)?$"
)
_RUNTIMES = {"libpod": "podman", "cri-containerd": "containerd", "crio": "cri-o"}
_SLURM_JOB = re.compile(r"/slurm[^/]*(?:/.*)?/job_([0-9]+)(?:/|$)")
_UNIT = re.compile(r"([^/]+\.(?:service|scope))(?=/|$)")


def where(text: str) -> str:
    """A container, a Slurm job or a unit, from /proc/PID/cgroup; "" where it says none of them.

    Containers bear the first twelve digits of their id, as their tools print them.
    """
    paths = [line.split(":", 2)[2] for line in text.splitlines() if line.count(":") >= 2]
    for tell in (_container, _slurm, _unit):
        for path in paths:
            if found := tell(path):
                return found
    return ""


def _container(path: str) -> str:
    # A container may have groups of its own below the one its runtime made.
    parts = path.split("/")
    for end in range(len(parts), 0, -1):
        match = _CONTAINER.search("/".join(parts[:end]))
        if match:
            runtime = match[1] or ""
            return f"{_RUNTIMES.get(runtime, runtime) or 'container'} {match[2][:12]}"
    return ""


def _slurm(path: str) -> str:
    match = _SLURM_JOB.search(path)
    return f"slurm job {match[1]}" if match else ""


def _unit(path: str) -> str:
    units = _UNIT.findall(path)
    return str(units[-1]) if units else ""

"""Which MountHost this host needs."""

from pathlib import Path

from agent.system.direct import DirectHost
from agent.system.mounthost import MountHost
from agent.system.systemd import SystemdHost


def mount_host() -> MountHost:
    """PID 1's way where PID 1 is systemd: sd_booted(3) looks for the same directory."""
    return SystemdHost() if Path("/run/systemd/system").is_dir() else DirectHost()

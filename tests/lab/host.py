"""A GPU host with real systemd as PID 1, in a container of systemd-nspawn.

It runs from an overlay over the base tree: what it writes stays through a reboot and goes with the
lab. The repository is seen inside at its own path, read-only, so that its .venv works there.
"""

import json
from pathlib import Path
from typing import Any

from . import base, cgroups
from .client import Mounts
from .shell import LabError, until

REPOSITORY = Path(__file__).resolve().parents[2]
AGENT = REPOSITORY / ".venv/bin/gluster-ml-agent"
UNITS = "/etc/systemd/system"


class Host(Mounts):
    """Programs are run in it as on any machine; `systemctl` and `journalctl` are the real ones."""

    namespace_options = (*Mounts.namespace_options, "-C")

    def boot(self, hosts: str, release: str = base.RELEASE) -> None:
        """Boot it, the first time or again after stop(); returns when systemd is settled.

        hosts: text of /etc/hosts; release: of Debian.
        """
        tree = base.tree(release)
        upper, work, root = (self.folder / part for part in ("upper", "work", "root"))
        for folder in (upper / "etc", work, root):
            folder.mkdir(parents=True, exist_ok=True)
        (upper / "etc/hosts").write_text(hosts)
        (upper / "etc/hostname").write_text(f"{self.name}\n")
        layers = f"lowerdir={tree},upperdir={upper},workdir={work}"
        spec = {
            "cgroups": [str(group) for group in cgroups.create(self.netns)],
            "mounts": [
                # nspawn leaves folders there.
                ["--mkdir", "-t", "tmpfs", "tmpfs", "/run/systemd"],
                ["-t", "overlay", "-o", layers, "overlay", str(root)],
            ],
            "argv": self._nspawn(root),
        }
        self._hold(["unshare", "--mount", "--propagation", "private"], spec)
        self._await_init()
        self.await_running()

    def _nspawn(self, root: Path) -> list[str]:
        return [
            "systemd-nspawn",
            f"--directory={root}",
            f"--machine={self.netns}",
            f"--hostname={self.name}",
            f"--network-namespace-path=/run/netns/{self.netns}",
            f"--bind-ro={REPOSITORY}",
            "--bind=/dev/fuse",
            "--capability=all",
            "--register=no",
            "--keep-unit",
            "--resolv-conf=off",
            "--timezone=off",
            "--console=pipe",
            "--boot",
        ]

    def await_running(self, timeout: float = 90) -> None:
        """Until systemd says "running". timeout: seconds. Raises LabError, with failed units."""
        said = ""

        def settled() -> bool:
            nonlocal said
            said = self.run(["systemctl", "is-system-running"], check=False).stdout.strip()
            return said in ("running", "degraded")

        until(settled, timeout, f"{self.name} has booted")
        if said == "degraded":
            failed = self.run(["systemctl", "--failed", "--plain", "--no-legend"]).stdout
            raise LabError(f"{self.name} booted with failed units:\n{failed}")

    def shut_down(self, timeout: float = 60) -> None:
        """`systemctl poweroff`, and wait until it is off. timeout: seconds."""
        self.run(["systemctl", "poweroff", "--no-block"], timeout=timeout)
        holder = self._holder
        assert holder is not None
        until(lambda: holder.poll() is not None, timeout, f"{self.name} is off")
        self.stop()

    def systemctl(self, *arguments: str, check: bool = True, timeout: float = 60) -> str:
        """Its output. Raises LabError when it fails."""
        return self.run(["systemctl", *arguments], check=check, timeout=timeout).stdout

    def unit(self, name: str, *properties: str) -> dict[str, str]:
        """Properties of a unit: unit("a.mount", "ActiveState")["ActiveState"]."""
        shown = self.systemctl("show", name, *(f"--property={key}" for key in properties))
        pairs = (line.partition("=") for line in shown.splitlines())
        return {key: value for key, _, value in pairs}

    def journal(self, unit: str | None = None, after: str = "") -> list[dict[str, Any]]:
        """The journal's entries since boot, oldest first, all fields; of one unit or of all.

        after: a cursor; only what came later.
        """
        of_unit = [f"--unit={unit}"] if unit else []
        since = [f"--after-cursor={after}"] if after else []
        argv = ["journalctl", "--boot", "--output=json", "--all", "--no-pager", *of_unit, *since]
        return [json.loads(line) for line in self.run(argv).stdout.splitlines()]

    def cursor(self) -> str:
        """Where the journal ends now; "" while it is empty."""
        said = self.run(["journalctl", "--lines=0", "--show-cursor"]).stdout
        return said.partition("-- cursor: ")[2].strip()

    def tidy(self, *units: str) -> None:
        """Stop these units and remove their files; no mount and no failed unit is left."""
        for unit in units:
            self.systemctl("stop", unit, check=False)
        self.release()
        folders = (UNITS, "/run/systemd/system")
        self.run(["rm", "-f", *(f"{folder}/{unit}" for folder in folders for unit in units)])
        self.write("/etc/fstab", "")
        self.systemctl("daemon-reload")
        self.systemctl("reset-failed")

    def install_unit(self, source: Path = REPOSITORY / "systemd/gluster-ml-agent.service") -> str:
        """Put a unit in place, with /usr/bin/gluster-ml-agent meaning the checkout's.

        Also what a package would bring beside it: the link itself. Returns the unit's name.
        """
        self.run(["ln", "-sfn", str(AGENT), "/usr/bin/gluster-ml-agent"])
        self.write(f"{UNITS}/{source.name}", source.read_text())
        if REPOSITORY.is_relative_to("/tmp") or REPOSITORY.is_relative_to("/var/tmp"):
            # PrivateTmp= would hide the checkout from the agent that is to run from it.
            seen = f"[Service]\nBindReadOnlyPaths={REPOSITORY}\n"
            self.write(f"{UNITS}/{source.name}.d/checkout.conf", seen)
        self.systemctl("daemon-reload")
        return source.name

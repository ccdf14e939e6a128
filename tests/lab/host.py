"""A GPU host with real systemd as PID 1, in a container of systemd-nspawn.

It runs from an overlay over the base tree: what it writes stays through a reboot and goes with the
lab. The repository is seen inside at its own path, read-only, so that its .venv works there.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from . import cgroups, subject
from .client import Mounts
from .shell import LabError, until
from .subject import REPOSITORY

UNITS = "/etc/systemd/system"
CATALOG = "/usr/lib/systemd/catalog/gluster-ml-agent.catalog"
PROFILE = "/etc/profile.d/gluster-ml-agent.sh"
POLICY = "/usr/sbin/policy-rc.d"


class Host(Mounts):
    """Programs are run in it as on any machine; `systemctl` and `journalctl` are the real ones."""

    namespace_options = (*Mounts.namespace_options, "-C")

    def boot(self, hosts: str, tree: Path) -> None:
        """Boot it for the first time; returns when systemd is settled.

        hosts: text of /etc/hosts; tree: its base tree.
        """
        for folder in (self._upper / "etc", self.folder / "work", self.folder / "root"):
            folder.mkdir(parents=True)
        (self._upper / "etc/hosts").write_text(hosts)
        (self._upper / "etc/hostname").write_text(f"{self.name}\n")
        (self.folder / "tree").symlink_to(tree)
        self.boot_again()

    @property
    def _upper(self) -> Path:
        """The layer that holds what the host has written."""
        return self.folder / "upper"

    def boot_again(self) -> None:
        """Boot it after shut_down() or stop(); returns when systemd is settled."""
        tree, work, root = (self.folder / part for part in ("tree", "work", "root"))
        layers = f"lowerdir={tree},upperdir={self._upper},workdir={work}"
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
            "--drop-capability=CAP_SYS_MODULE",  # the kernel is the machine's
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

    def install_agent(self) -> None:
        """Put the agent under test in place, unless it is; it is not started."""
        package = subject.package()
        if package is None:
            self._install_checkout()
        elif not self.path(subject.PROGRAM).exists():
            self._install(package)

    def _install_checkout(self) -> None:
        """What a package would bring, with its program being the checkout's."""
        unit = subject.unit()
        self.run(["ln", "-sfn", subject.program(), subject.PROGRAM])
        self.write(CATALOG, (REPOSITORY / "systemd/gluster-ml-agent.catalog").read_text())
        self.write(PROFILE, (REPOSITORY / PROFILE.lstrip("/")).read_text())
        self.write(f"{UNITS}/{unit.name}", unit.read_text())
        if seen := subject.seen_by_service():
            drop_in = "\n".join(["[Service]", *seen, ""])
            self.write(f"{UNITS}/{unit.name}.d/checkout.conf", drop_in)
        self.systemctl("daemon-reload")

    def _install(self, package: Path) -> None:
        """With dpkg alone: what it depends on must be there. Policy is that nothing starts."""
        inside = f"/var/cache/apt/archives/{package.name}"
        shutil.copy(package, self.path(inside))
        self.write(POLICY, "#!/bin/sh\nexit 101\n")
        self.run(["chmod", "755", POLICY])
        self.run(["dpkg", "--install", inside], timeout=300)
        self.run(["rm", POLICY, inside])

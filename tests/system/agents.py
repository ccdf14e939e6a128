"""An agent under test on a machine of the lab, seen as its users see it."""

import json
import re
import signal
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from tests.lab import subject
from tests.lab.cell import Inside, Process
from tests.lab.client import Client, Mounts
from tests.lab.host import Host
from tests.lab.shell import Done, until

CONFIG = "/etc/gluster-ml/agent.yaml"
STATUS = "/run/gluster-ml/status.json"
UNIT = "gluster-ml-agent.service"


@dataclass(frozen=True)
class Entry:
    """One entry of the agent's log."""

    event: str
    mount: str
    verdict: str
    message: str


class Agent(ABC):
    """What both kinds have in common. Times in seconds."""

    def __init__(self, machine: Mounts) -> None:
        self.machine = machine

    @abstractmethod
    def start(self) -> None:
        """Start it and wait until it is ready."""

    @abstractmethod
    def stop(self) -> None:
        """Stop it as an administrator does, and wait until it has ended."""

    @abstractmethod
    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send its own process a signal."""

    @abstractmethod
    def pid(self) -> int:
        """Its process, by the number inside."""

    @abstractmethod
    def log(self) -> list[Entry]:
        """All entries so far, oldest first."""

    def configure(self, text: str) -> None:
        """Write the configuration file, in place."""
        self.machine.write(CONFIG, text)

    def begin(self, text: str) -> Process:
        """Start it with that configuration; the client of the mount `a`, once that is healthy."""
        self.configure(text)
        self.start()
        self.await_verdict("healthy")
        return self.machine.glusterfs("/mnt/a")

    def command(self, *arguments: str, check: bool = False, timeout: float = 60) -> Done:
        """Run one of its commands on the machine."""
        return self.machine.run(
            ["env", *self._environment(), subject.program(), *arguments],
            check=check,
            timeout=timeout,
        )

    def status(self) -> dict[str, Any]:
        """What status.json holds, {} while no agent lives.

        `status --json` prints the same, but a program started at each look would slow all down.
        """
        try:
            found = dict(json.loads(self.machine.read(STATUS)))
        except FileNotFoundError:
            return {}
        writer = found["agent"]["pid"]
        return found if any(p.inner == writer for p in self.machine.processes()) else {}

    def mount(self, name: str = "a") -> dict[str, Any]:
        """One mount's part of the status, {} where it has none."""
        return dict(self.status().get("mounts", {}).get(name, {}))

    def verdict(self, name: str = "a") -> str:
        """The verdict on a mount, "" where there is none yet."""
        return str(self.mount(name).get("verdict", ""))

    def await_verdict(self, *verdicts: str, name: str = "a", timeout: float = 60) -> dict[str, Any]:
        """Until the mount has one of these verdicts; its part of the status then.

        A healthy mount's client is known at most a moment later: that is waited for too.
        """
        seen: dict[str, Any] = {}

        def there() -> bool:
            seen.clear()
            seen.update(self.mount(name))
            known = seen.get("client_pid") is not None or seen.get("verdict") != "healthy"
            return seen.get("verdict") in verdicts and known

        try:
            until(there, timeout, f"{name} is {' or '.join(verdicts)}")
        except Exception as error:
            raise AssertionError(f"{error}; it is {seen}; log: {self.tail()}") from error
        return seen

    def await_log(self, event: str, *, count: int = 1, timeout: float = 60) -> list[Entry]:
        """Until there are so many entries of that event; they."""
        until(lambda: len(self.entries(event)) >= count, timeout, f"{count} entries {event}")
        return self.entries(event)

    def entries(self, event: str) -> list[Entry]:
        """The log's entries of one event."""
        return [entry for entry in self.log() if entry.event == event]

    def verdicts(self, name: str = "a") -> list[str]:
        """The verdicts on a mount in the order they were logged."""
        return [e.verdict for e in self.entries("verdict") if e.mount == name]

    def tail(self) -> str:
        """The end of the log, for a failing test."""
        return "\n".join(f"{e.event}: {e.message}" for e in self.log()[-30:])

    def _environment(self) -> list[str]:
        return []


class QuickAgent(Agent):
    """An agent on a quick client: no systemd, its log on stderr."""

    def __init__(self, machine: Client) -> None:
        super().__init__(machine)
        self._process: Inside | None = None
        self._log = machine.folder / "agent.log"

    def _environment(self) -> list[str]:
        return ["RUNTIME_DIRECTORY=/run/gluster-ml", "STATE_DIRECTORY=/var/lib/gluster-ml"]

    def start(self) -> None:
        if self._process is not None:  # it was killed
            self._process.wait(30)
        with self._log.open("a") as log:
            self._process = self.machine.popen(
                ["env", *self._environment(), subject.program(), "run"], stdout=log, stderr=log
            )
        until(lambda: self.status() != {}, 60, "the agent reports")

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(30)
            self._process = None

    def kill(self, number: int = signal.SIGKILL) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        if number == signal.SIGKILL:
            self._process.wait(30)
            self._process = None

    def pid(self) -> int:
        assert self._process is not None
        target = self._process.target
        return next(p.inner for p in self.machine.processes() if p.pid == target)

    def log(self) -> list[Entry]:
        found = []
        for line in self._log.read_text(errors="replace").splitlines():
            message, _, fields = line.partition("  event=")
            if not fields:
                continue
            pairs = dict(re.findall(r"(\w+)=((?:\"[^\"]*\")|\S*)", "event=" + fields))
            told = re.sub(r"^\S+ \w+: ", "", message)
            found.append(
                Entry(pairs["event"], pairs.get("mount", ""), pairs.get("verdict", ""), told)
            )
        return found


class UnitAgent(Agent):
    """An agent under real systemd, in its shipped unit."""

    def __init__(self, machine: Host) -> None:
        super().__init__(machine)
        self.host = machine
        self.cursor = machine.cursor()
        machine.install_agent()

    def start(self) -> None:
        self.host.systemctl("start", UNIT)

    def stop(self) -> None:
        self.host.systemctl("stop", UNIT)

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.host.systemctl("kill", f"--signal={int(number)}", "--kill-whom=main", UNIT)

    def pid(self) -> int:
        return int(self.host.unit(UNIT, "MainPID")["MainPID"])

    def log(self) -> list[Entry]:
        return [
            Entry(
                str(fields["GLUSTER_ML_EVENT"]),
                str(fields.get("GLUSTER_ML_MOUNT", "")),
                str(fields.get("GLUSTER_ML_VERDICT", "")),
                str(fields.get("MESSAGE", "")),
            )
            for fields in self.host.journal(UNIT, self.cursor)
            if "GLUSTER_ML_EVENT" in fields
        ]

    def drop_in(self, text: str) -> None:
        """Settings of the unit's administrator, for the next start."""
        self.host.write(f"/etc/systemd/system/{UNIT}.d/test.conf", text)
        self.host.systemctl("daemon-reload")

    def clean_up(self) -> None:
        """Leave the host as if no agent had ever been there."""
        self.stop()
        self.host.run(["rm", "-rf", f"/etc/systemd/system/{UNIT}.d"])
        self.host.tidy()
        own = ("/run", "/var/lib", "/var/log", "/etc")
        self.host.run(["rm", "-rf", "--one-file-system", *(f"{place}/gluster-ml" for place in own)])


def config(volume: str, **changes: str) -> str:
    """A configuration with one mount `a` at /mnt/a, probed each second.

    changes: more keys of the mount, or others in place of these, as flow YAML.
    """
    keys = {
        "volume": volume,
        "servers": "[node1, node2, node3]",
        "path": "/mnt/a",
        "probe": "{interval: 1s, timeout: 3s}",
        **changes,
    }
    lines = "".join(f"    {key}: {value}\n" for key, value in keys.items())
    return f"mounts:\n  a:\n{lines}"

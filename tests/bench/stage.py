"""One machine with an agent, and beside the agent's mount one of the same volume made by hand."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.lab.client import Client, Mounts
from tests.lab.cluster import Cluster
from tests.lab.host import Host
from tests.lab.lines import Facts, Lines
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import Agent, QuickAgent, UnitAgent, config

KEPT = "/mnt/a"
"""The agent's mount."""
HAND = "/mnt/hand"
FILE = "file"
QUIET = 1.3
"""Seconds between rounds: PID 1 stops reading the mount table for the rest of a second in which
it changed five times, which would be measured as the agent's or the hand's."""
STEP = 120.0
OPTIONS = "log-level=WARNING"


PATHS = (KEPT, HAND)


@dataclass(frozen=True)
class Outage:
    """Monotonic seconds: the hand began, ended each of its steps, and the path worked."""

    began: float
    ended: list[float]
    works: float

    @property
    def seconds(self) -> float:
        """From the hand's beginning to the path's working."""
        return self.works - self.began


def ask(lines: Lines, words: object, answer: str) -> Facts:
    """Tell it something and await its answer, known by a key."""
    before = len(lines.all())
    lines.tell(words)
    until(lambda: len(lines.all()) > before, STEP, f"an answer to {words}")
    said = lines.all()[before]
    assert answer in said, said
    return said


class Stage:
    """An agent not yet started, a hand, and a poller for each of the two paths."""

    def __init__(self, lab: Cluster, volume: Volume, machine: Client | Host) -> None:
        self.lab = lab
        self.volume = volume
        self.machine = machine
        self.agent: Agent = UnitAgent(machine) if isinstance(machine, Host) else QuickAgent(machine)
        self.agent.configure(config(volume.name, options=f"{{{OPTIONS.replace('=', ': ')}}}"))
        machine.run(["mkdir", "-p", HAND])
        self._hand = script(machine, "hand.py")
        self._pollers = {path: script(machine, "poller.py", f"{path}/{FILE}") for path in PATHS}

    def __enter__(self) -> Self:
        machine, server = self.machine, f"node1:/{self.volume.name}"
        machine.mount(server, HAND, [OPTIONS])
        machine.write(f"{HAND}/{FILE}", "text")
        self.agent.start()
        self.agent.await_verdict("healthy", timeout=STEP)
        return self

    def __exit__(self, *exc: object) -> None:
        self.agent.stop()
        for lines in (self._hand, *self._pollers.values()):
            lines.end()

    @property
    def kind(self) -> str:
        return "systemd" if isinstance(self.machine, Host) else "without systemd"

    def do(self, path: str, *steps: int | list[str]) -> Outage:
        """Let the hand take these steps while the poller looks at a path; when it worked again."""
        poller = self._pollers[path]
        ask(poller, "look", "watching")
        answer = ask(self._hand, steps, "began")
        what = f"{path} works again"
        until(lambda: "works" in poller.all()[-1], STEP, what)
        return Outage(answer["began"], answer["ended"], poller.all()[-1]["works"])

    def client(self, path: str) -> int:
        """The client process of the mount at a path, by its number inside."""
        return self.machine.glusterfs(path).inner

    def settle(self) -> None:
        """Begin the next round with a fresh agent and a mount table that has been quiet.

        A fresh agent has seen no death: it answers the second one within 5 minutes by a back-off.
        """
        self.agent.stop()
        self.agent.start()
        self.agent.await_verdict("healthy", "degraded", timeout=STEP)
        self.quiet()

    def quiet(self) -> None:
        """Begin the next round with a mount table that has been quiet."""
        quiet(self.machine)

    def mount_by_hand(self, server: str, *more: str) -> list[str]:
        """The command that mounts the volume by hand, with the agent's options."""
        options = ",".join([OPTIONS, *more])
        what = f"{server}:/{self.volume.name}"
        return ["mount", "-t", "glusterfs", "-o", options, what, HAND]


def script(machine: Mounts, name: str, *arguments: str) -> Lines:
    """Run a script of this folder inside a machine."""
    path = Path(__file__).with_name(name)
    return Lines(machine, ["/usr/bin/python3", "-I", "-S", str(path), *arguments])


def quiet(machine: Mounts) -> None:
    """Until the mount table has not changed for QUIET seconds."""
    seen, since = b"", time.monotonic()
    while time.monotonic() - since < QUIET:
        table = Path(f"/proc/{machine.init}/mountinfo").read_bytes()
        if table != seen:
            seen, since = table, time.monotonic()
        time.sleep(0.05)

"""One machine with an agent, and beside the agent's mount one of the same volume made by hand."""

import itertools
import time
from pathlib import Path
from typing import Self

from tests.lab.client import Client, Mounts
from tests.lab.cluster import Cluster
from tests.lab.host import Host
from tests.lab.lines import Facts, Lines
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


def ask(lines: Lines, words: object, key: str) -> Facts:
    """Tell it something and await its answer, the next line that has this key."""
    before = len([said for said in lines.all() if key in said])
    lines.tell(words)
    return answer(lines, key, before, f"an answer to {words}")


def answer(lines: Lines, key: str, number: int, what: str) -> Facts:
    """Of the lines that have this key, that one, counted from 0; said already or yet to come."""
    seen = itertools.count()
    return lines.first(lambda said: key in said and next(seen) == number, STEP, what)


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

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if kind is not None:
            return  # something may hang: the lab's end ends all
        self.agent.stop()
        for lines in (self._hand, *self._pollers.values()):
            lines.end()

    @property
    def kind(self) -> str:
        return "systemd" if isinstance(self.machine, Host) else "without systemd"

    def killed(self, path: str, *steps: list[str]) -> float:
        """Kill the client of a path and let the hand take these steps at once.

        Seconds from the kill to the first look that goes well after one that failed.
        """
        ask(self._pollers[path], True, "watching")
        answer = ask(self._hand, [self.machine.glusterfs(path).inner, *steps], "began")
        return self._works(path) - float(answer["began"])

    def unmounted(self, path: str, *steps: list[str]) -> float:
        """Unmount a path by hand, and let the hand take these steps then.

        Seconds from the end of the unmount, or from the beginning of the steps, to the first look
        that goes well. The looks begin when the old mount is gone: one at that could hang.
        """
        gone = ask(self._hand, [["umount", "-l", path]], "began")
        ask(self._pollers[path], False, "watching")
        began = ask(self._hand, steps, "began")["began"] if steps else gone["ended"][-1]
        return self._works(path) - float(began)

    def _works(self, path: str) -> float:
        poller = self._pollers[path]
        told = len([said for said in poller.all() if "watching" in said])
        return float(answer(poller, "works", told - 1, f"{path} works again")["works"])

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

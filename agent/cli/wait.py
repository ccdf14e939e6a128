"""`wait`: blocks until a mount is usable, for a job's prolog or ExecStartPre."""

import argparse
import enum
import re
import sys
import time
from pathlib import Path

from agent.cli import exits
from agent.errors import AgentError
from agent.files import file_state
from agent.health import statusfile
from agent.health.text import clean
from agent.model.status import AgentStatus, MountStatus
from agent.system import mounttable
from agent.system.links import mount_on_the_way

POLL = 0.2
"""Seconds; a look is one stat of status.json and one read in /proc."""

UNREAD_GRACE = 10.0
"""Seconds that a running agent has to read a file that was only just saved."""

AGENT_GRACE = 30.0
"""Seconds without an agent before giving up where no timeout was given: it may be restarting."""

NAME_GRACE = 10.0
"""Seconds that a running agent has to take up a mount that was only just configured."""


SILENCE = 1.0
"""Seconds after which a terminal is told what is waited for."""


class Outcome(enum.IntEnum):
    """What a look found; the value is the exit code if it stays so."""

    USABLE = exits.USABLE
    NOT_USABLE = exits.NOT_USABLE
    NO_AGENT = exits.NO_AGENT


def execute(args: argparse.Namespace) -> int:
    """0 usable, 1 not in time or no such mount, 3 no agent."""
    waiter = Waiter(args.runtime_dir, args.mount, Teller(terminal=sys.stderr.isatty()))
    outcome = waiter.wait(args.timeout)
    if outcome is not Outcome.USABLE:
        print(f"gluster-ml-agent: {clean(waiter.reason, 1000)}", file=sys.stderr)
    return outcome


class Teller:
    """Tells whoever sits at a terminal what is waited for, and again when that changes."""

    def __init__(self, *, terminal: bool) -> None:
        self._terminal = terminal
        self._told = ""

    def tell(self, reason: str) -> None:
        """One line on stderr, unless only a number differs: seconds that count up."""
        kind = re.sub(r"\d+", "", reason)
        if self._terminal and kind != self._told:
            self._told = kind
            print(f"gluster-ml-agent: waiting: {clean(reason, 1000)}", file=sys.stderr, flush=True)


class Waiter:
    """Looks for one mount in status.json. reason: why the last look didn't find it usable."""

    def __init__(self, runtime_dir: Path, name: str, teller: Teller) -> None:
        self._runtime_dir = runtime_dir
        self._teller = teller
        self._name = name
        self._version: tuple[int, int] | None = None
        self._status: AgentStatus | None = None
        self._known = False
        self._unread_since: float | None = None
        self.reason = ""

    def wait(self, timeout: float | None) -> Outcome:
        """timeout: seconds; None: as long as there is an agent that knows the mount."""
        start = agent_at = known_at = time.monotonic()
        while True:
            outcome = self.look()
            now = time.monotonic()
            if outcome is Outcome.USABLE:
                return outcome
            if outcome is Outcome.NO_AGENT:
                known_at = now
                patience = AGENT_GRACE - (now - agent_at) if timeout is None else POLL
            else:
                agent_at = now
                known_at = now if self._known else known_at
                patience = NAME_GRACE - (now - known_at)
            left = POLL if timeout is None else timeout - (now - start)
            if min(left, patience) <= 0:
                return outcome
            if now - start >= SILENCE:
                self._teller.tell(self._waited_for(outcome))
            time.sleep(min(POLL, left, patience))

    def _waited_for(self, outcome: Outcome) -> str:
        if self._known or outcome is Outcome.NO_AGENT:
            return self.reason
        return f"{self.reason}; up to {NAME_GRACE:g} s, as the file may only just have been saved"

    def look(self) -> Outcome:
        """One look, without waiting."""
        try:
            status = self._read()
            statusfile.check_current(status, time.time())
        except AgentError as error:
            self.reason = str(error)
            return Outcome.NO_AGENT
        if self._is_unread(status, time.monotonic()):
            self._known = True
            self.reason = f"the agent has not read {status.config.path} since it was saved"
            return Outcome.NOT_USABLE
        mount = next((m for m in status.mounts if m.name == self._name), None)
        self._known = mount is not None or self._name in status.unjudged
        if mount is None and self._known:
            self.reason = f"there is no verdict on {self._name} yet"
            return Outcome.NOT_USABLE
        if mount is None:
            self.reason = _unknown(self._name, status)
            return Outcome.NOT_USABLE
        self.reason = _verdict(mount)
        usable = mount.verdict.usable and not mount.removing
        return Outcome.USABLE if usable else Outcome.NOT_USABLE

    def _is_unread(self, status: AgentStatus, now: float) -> bool:
        """Whether the file was saved so lately that the status speaks of the one before."""
        path = status.config.path
        table = mounttable.read()
        state = "" if mount_on_the_way(path, table) else file_state(path)
        if state in ("", status.config.seen):
            self._unread_since = None
            return False
        self._unread_since = now if self._unread_since is None else self._unread_since
        return now - self._unread_since < UNREAD_GRACE

    def _read(self) -> AgentStatus:
        """Parsed anew only where the file was replaced. Raises AgentError."""
        version = statusfile.version(self._runtime_dir)
        if self._status is None or version != self._version:
            self._status = None
            self._status = statusfile.read(self._runtime_dir)
            self._version = version
        return self._status


def _unknown(name: str, status: AgentStatus) -> str:
    there = ", ".join(mount.name for mount in status.mounts) or "none"
    reason = f"the running agent has no mount named {name}; there is: {there}"
    if status.config.errors:
        reason += f"; its configuration is {status.config.state.value}: {status.config.errors[0]}"
    return reason


def _verdict(mount: MountStatus) -> str:
    if mount.removing:
        return f"{mount.name} is no longer configured, and is unmounted as soon as it is idle"
    told = f"{mount.name} is {mount.verdict.value}"
    if mount.evidence:
        told += f": {mount.evidence}"
    return f"{told}; {mount.advice}" if mount.advice else told

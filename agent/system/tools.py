"""Runs the system's own tools for what the agent's sandbox keeps from itself: useradd(8), ...

Under systemd as a transient service of PID 1, which has /etc to write to; where PID 1 is not
systemd there is no sandbox, and the tool is a child.
"""

import asyncio
import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Protocol

from agent.errors import AgentError, MountFailed
from agent.system import command
from agent.system.manager import Manager
from agent.system.transient import tool_properties
from agent.system.umount import last_line


class ToolFailed(AgentError):
    """A tool of the system did not do what it was asked to."""

    def __init__(self, tool: str, why: str) -> None:
        super().__init__("tool-failed", f"{os.path.basename(tool)} failed: {why}")


class Tools(Protocol):
    """One tool at a time: they lock the files that they change."""

    async def run(self, argv: Sequence[str], timeout: float) -> None:
        """argv: an absolute path, and arguments; timeout: seconds. Raises ToolFailed."""

    async def close(self) -> None:
        """Let go of connections."""


class SystemdTools:
    """By PID 1; a tool that is late is ended by it."""

    def __init__(self) -> None:
        self._manager = Manager()
        self._serial = count()

    async def run(self, argv: Sequence[str], timeout: float) -> None:
        """As Tools says."""
        service = f"gluster-ml-tool-{os.getpid()}-{next(self._serial)}.service"
        reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            async with asyncio.timeout(timeout):
                properties = tool_properties(argv, timeout)
                result = await self._manager.start_transient(service, properties, (writing,))
            words = command.read_words(reading)
        except TimeoutError as error:
            raise ToolFailed(argv[0], f"it did not end within {timeout:g} s") from error
        except MountFailed as error:  # what the manager raises, whatever it was asked for
            raise ToolFailed(argv[0], error.message) from error
        finally:
            os.close(reading)
            os.close(writing)
        if result != "done":
            raise ToolFailed(argv[0], last_line(words) or result)

    async def close(self) -> None:
        """As Tools says."""
        await self._manager.close()


class DirectTools:
    """As children of the agent."""

    async def run(self, argv: Sequence[str], timeout: float) -> None:
        """As Tools says."""
        try:
            ended = await command.run(argv, timeout)
        except TimeoutError as error:
            raise ToolFailed(argv[0], f"it did not end within {timeout:g} s") from error
        except OSError as error:
            raise ToolFailed(argv[0], str(error.strerror)) from error
        if ended.status != 0:
            raise ToolFailed(argv[0], last_line(ended.words) or f"status {ended.status}")

    async def close(self) -> None:
        """As Tools says."""


def tools() -> Tools:
    """PID 1's way where PID 1 is systemd, as sd_booted(3) tells."""
    return SystemdTools() if Path("/run/systemd/system").is_dir() else DirectTools()

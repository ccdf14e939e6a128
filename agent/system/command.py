"""Runs a tool to its end or to a deadline, without a shell and without a thread."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
_WORDS = 4096
"""Bytes of stderr that are kept."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended: its exit status (minus the signal that killed it) and its stderr."""

    status: int
    words: str


async def run(argv: Sequence[str], timeout: float) -> Ended:
    """Run it in a session of its own, from `/`. Raises TimeoutError; OSError if it can't start.

    Late or cancelled, its process group gets SIGKILL and is not waited for: a tool stuck in a
    file system may not even end by that. What went into a session of its own lives on.
    """
    # The pipe bounds what is kept: a tool that says more than it holds gets EAGAIN.
    reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        tool = _Tool(argv, writing)
        try:
            async with asyncio.timeout(timeout):
                status = await asyncio.shield(tool.ended)
        except BaseException:
            tool.kill()
            raise
        return Ended(status, read_words(reading))
    finally:
        os.close(reading)
        os.close(writing)


def read_words(pipe: int) -> str:
    """What a tool that has ended left in a non-blocking pipe, at most 4 KiB of it."""
    try:
        return os.read(pipe, _WORDS).decode(errors="replace")
    except BlockingIOError:
        return ""


class _Tool:
    """A child that is reaped whenever it ends, waited for or not."""

    def __init__(self, argv: Sequence[str], stderr: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[int] = self._loop.create_future()
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            cwd="/",
            env=_ENVIRONMENT,
            start_new_session=True,
        )
        self._pidfd = os.pidfd_open(self._process.pid)
        self._loop.add_reader(self._pidfd, self._reap)

    def kill(self) -> None:
        # Not reaped yet, so the process group's number can't be anyone else's.
        if not self.ended.done():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _reap(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        status = self._process.wait()
        if not self.ended.cancelled():
            self.ended.set_result(status)

"""A worker process: started, spoken to, and given up without ever being waited for.

A worker that sits in a system call on a hung FUSE mount may not even end by SIGKILL: so nothing
here waits for one to end. asyncio's own subprocesses are not used because Python 3.11 starts a
waiting thread for each.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import agent
from agent.errors import ChildGone
from agent.model.mount import ProcessId
from agent.protocol import MAX_LINE
from agent.system import proc

_ROOT = str(Path(agent.__file__).resolve().parent.parent)
_BOOTSTRAP = (
    f"import sys; sys.path.append({_ROOT!r}); from agent.worker.%s import main; sys.exit(main())"
)
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
_COMPLAINT_LIMIT = 2000
"""Bytes of a worker's stderr that are worth telling."""


class Child:
    """One worker process. exited: its exit status, or minus the signal, once it was reaped."""

    def __init__(self, kind: str, mount: str) -> None:
        self.kind = kind
        self.mount = mount
        self.abandoned = False
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = self._loop.create_future()
        self._buffer = bytearray()
        self._waiting: asyncio.Future[None] | None = None
        self._complaint = ""
        self._channel, theirs = socket.socketpair()
        self._channel.setblocking(False)  # noqa: FBT003
        # The pipe bounds what is kept of stderr: a worker that says more gets EAGAIN. By its
        # end the kernel tells the worker that this process is gone (agent/worker/channel.py).
        self._stderr, their_stderr = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _BOOTSTRAP % kind],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=their_stderr,
                cwd="/",
                env=_ENVIRONMENT,
                start_new_session=True,
            )
            self._pidfd = os.pidfd_open(self._process.pid)
        except OSError:
            self._channel.close()
            os.close(self._stderr)
            raise
        finally:
            theirs.close()
            os.close(their_stderr)
        stat = proc.read_stat(self._process.pid)
        self.process = ProcessId(self._process.pid, stat.start_time if stat else 0)
        self._loop.add_reader(self._pidfd, self._reap)

    def send(self, line: bytes) -> None:
        """Hand over one short line, with its newline. Never blocks. Raises ChildGone."""
        try:
            sent = self._channel.send(line)
        except OSError as error:
            raise self._gone(f"takes no request ({error.strerror})") from error
        if sent != len(line):
            self.abandon()
            raise self._gone("does not read its requests")

    async def deliver(self, line: bytes) -> None:
        """Hand over one line of any length, as fast as it is read. Raises ChildGone.

        The kernel holds some 200 KB of what is not read yet; `send` can't hand over more.
        """
        rest = memoryview(line)
        while rest:
            try:
                rest = rest[self._channel.send(rest) :]
            except BlockingIOError:
                await self._ready(to_write=True)
            except OSError as error:
                raise self._gone(f"takes no request ({error.strerror})") from error

    async def next_line(self) -> bytes:
        """The next line, without its newline; may be cancelled and called again.

        Raises ChildGone when it ended or was given up and all it had said was handed out.
        """
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > MAX_LINE:
                self.abandon()
                raise self._gone("sends a line without end")
            await self._ready()
            self._receive()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def kill(self) -> None:
        """Send SIGKILL. It may take long to act, or never: nothing waits for it here."""
        if not self.exited.done():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def abandon(self) -> None:
        """Kill it and listen no more; whoever waits in next_line gets ChildGone."""
        self.abandoned = True
        self.kill()
        self._hang_up()

    def close(self) -> None:
        """Abandon it and stop watching for its end, at the end of the daemon."""
        self.abandon()
        if not self.exited.done():
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            os.close(self._stderr)
            self._stderr = -1
            self.exited.cancel()

    def _gone(self, what: str) -> ChildGone:
        self._read_complaint()
        complaint = f": {self._complaint}" if self._complaint else ""
        return ChildGone(f"worker {self.kind} of {self.mount} {what}{complaint}")

    async def _ready(self, *, to_write: bool = False) -> None:
        if self._channel.fileno() < 0:
            raise self._gone("was given up" if self.abandoned else "ended")
        self._waiting = self._loop.create_future()
        watch = self._loop.add_writer if to_write else self._loop.add_reader
        watch(self._channel, self._wake)
        try:
            await self._waiting
        finally:
            self._stop_waiting()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _stop_waiting(self) -> None:
        self._waiting = None
        if self._channel.fileno() >= 0:
            self._loop.remove_reader(self._channel)
            self._loop.remove_writer(self._channel)

    def _receive(self) -> None:
        """Take what is there, if it is not closed by now; EOF closes it."""
        if self._channel.fileno() < 0:
            return
        try:
            data = self._channel.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._buffer += data
        if not data:
            self._hang_up()

    def _hang_up(self) -> None:
        self._wake()
        self._stop_waiting()
        self._channel.close()

    def _read_complaint(self) -> None:
        if self._stderr >= 0:
            with contextlib.suppress(BlockingIOError):
                said = os.read(self._stderr, 1 << 16)[-_COMPLAINT_LIMIT:]
                last = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
                self._complaint = last or self._complaint

    def _reap(self) -> None:
        status = self._process.poll()
        if status is None:
            return
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._read_complaint()
        os.close(self._stderr)
        self._stderr = -1
        while len(self._buffer) <= 2 * MAX_LINE and self._channel.fileno() >= 0:
            self._receive()
        self._hang_up()
        self.exited.set_result(status)

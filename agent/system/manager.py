"""PID 1 over D-Bus: calls with a deadline, unit properties, and jobs waited for to their end."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from dbus_fast import BusType, DBusError, Message, MessageFlag, MessageType
from dbus_fast.aio import MessageBus

from agent.errors import MountFailed
from agent.system.transient import Properties
from agent.system.units import unit_object

_NAME = "org.freedesktop.systemd1"
_PATH = "/org/freedesktop/systemd1"
_MANAGER = "org.freedesktop.systemd1.Manager"
_JOB_REMOVED = f"type='signal',sender='{_NAME}',interface='{_MANAGER}',member='JobRemoved'"
_LOST_SIGNAL = 1.0
"""Seconds without news of a job after which PID 1 is asked: a re-exec of it can lose the signal."""


class ManagerError(MountFailed):
    """PID 1 refused a call. name: the D-Bus error's last word, e.g. UnitExists."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class _Jobs:
    """JobRemoved signals seen while a call is under way: one may overtake the call's reply."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Queue[tuple[str, str]]] = set()

    def open(self) -> asyncio.Queue[tuple[str, str]]:
        queue: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._waiting.add(queue)
        return queue

    def close(self, queue: asyncio.Queue[tuple[str, str]]) -> None:
        self._waiting.discard(queue)

    def tell(self, message: Message) -> None:
        if message.member == "JobRemoved" and message.interface == _MANAGER:
            _, job, _, result = message.body
            for queue in self._waiting:
                queue.put_nowait((job, result))


class Manager:
    """One connection to the system bus, made when first needed and made anew when it is lost."""

    def __init__(self) -> None:
        self._bus: MessageBus | None = None
        self._connecting = asyncio.Lock()
        self._jobs = _Jobs()

    async def call(
        self,
        member: str,
        signature: str = "",
        *body: Any,
        path: str = _PATH,
        interface: str = _MANAGER,
        fds: Sequence[int] = (),
    ) -> list[Any]:
        """One method call. Raises ManagerError; the caller bounds it with asyncio.timeout."""
        bus = await self._connected()
        message = Message(
            destination=_NAME,
            path=path,
            interface=interface,
            member=member,
            signature=signature,
            body=list(body),
            unix_fds=list(fds),
        )
        return await _ask(bus, message)

    async def tell(self, member: str, signature: str, *body: Any) -> None:
        """A call whose answer nobody waits for."""
        bus = await self._connected()
        message = Message(
            destination=_NAME,
            path=_PATH,
            interface=_MANAGER,
            member=member,
            signature=signature,
            body=list(body),
            flags=MessageFlag.NO_REPLY_EXPECTED,
        )
        await bus.send(message)

    async def unit_property(self, unit: str, name: str, kind: str = "Unit") -> Any:
        """One property of a unit, loaded if need be; kind: the interface's last word."""
        (value,) = await self.call(
            "Get",
            "ss",
            f"{_NAME}.{kind}",
            name,
            path=unit_object(unit),
            interface="org.freedesktop.DBus.Properties",
        )
        return value.value

    async def job(self, member: str, signature: str, *body: Any, fds: Sequence[int] = ()) -> str:
        """A call that queues a job, and the job's result: `done`, `failed`, `timeout`, ...

        `unknown`: the job ended unseen. Raises ManagerError.
        """
        news = self._jobs.open()
        try:
            (job,) = await self.call(member, signature, *body, fds=fds)
            return await self._job_result(job, news)
        finally:
            self._jobs.close(news)

    async def start_transient(
        self, unit: str, properties: Properties, fds: Sequence[int] = ()
    ) -> str:
        """StartTransientUnit, waited for: the job's result. Raises ManagerError."""
        pairs = [list(pair) for pair in properties]
        return await self.job(
            "StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail", pairs, [], fds=fds
        )

    async def _job_result(self, job: str, news: asyncio.Queue[tuple[str, str]]) -> str:
        while True:
            try:
                async with asyncio.timeout(_LOST_SIGNAL):
                    removed, result = await news.get()
            except TimeoutError:
                if not await self._job_lives(job):
                    return "unknown"
            else:
                if removed == job:
                    return result

    async def _job_lives(self, job: str) -> bool:
        try:
            await self.call(
                "Get",
                "ss",
                f"{_NAME}.Job",
                "State",
                path=job,
                interface="org.freedesktop.DBus.Properties",
            )
        except ManagerError as error:
            return error.name != "UnknownObject"
        return True

    async def close(self) -> None:
        """Let go of the connection; the next call would make a new one."""
        bus, self._bus = self._bus, None
        if bus is not None and bus.connected:
            bus.disconnect()
            with contextlib.suppress(OSError, EOFError):
                await bus.wait_for_disconnect()  # type: ignore[no-untyped-call]

    async def _connected(self) -> MessageBus:
        async with self._connecting:
            if self._bus is None or not self._bus.connected:
                self._bus = await self._connect()
            return self._bus

    async def _connect(self) -> MessageBus:
        bus = MessageBus(bus_type=BusType.SYSTEM, negotiate_unix_fd=True)
        try:
            await bus.connect()
        except (OSError, EOFError, DBusError) as error:
            raise ManagerError("NoBus", f"the system bus can't be reached: {error}") from error
        bus.add_message_handler(self._jobs.tell)
        match = Message(
            destination="org.freedesktop.DBus",
            path="/org/freedesktop/DBus",
            interface="org.freedesktop.DBus",
            member="AddMatch",
            signature="s",
            body=[_JOB_REMOVED],
        )
        await _ask(bus, match)
        return bus


async def _ask(bus: MessageBus, message: Message) -> list[Any]:
    try:
        reply = await bus.call(message)
    except (OSError, EOFError) as error:
        raise ManagerError("NoBus", f"the system bus was lost: {error}") from error
    if reply is None:
        raise ManagerError("NoBus", "the system bus was lost")
    if reply.message_type is MessageType.ERROR:
        text = str(reply.body[0]) if reply.body else ""
        raise ManagerError((reply.error_name or "").rpartition(".")[2], text)
    return list(reply.body)

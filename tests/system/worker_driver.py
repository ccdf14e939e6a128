"""Runs inside a client of the lab and does there what the daemon would: one command a line.

A command is a JSON object with "do"; so is the answer to it.
"""

import asyncio
import dataclasses
import json
import os
import sys
import time
from typing import Any

from agent.errors import AgentError
from agent.model.mount import MountEntry
from agent.protocol import ProbeRequest, decode_probe_reply, encode
from agent.system import fuse, mountinfo, mounttable, proc
from agent.system.children import Children
from agent.system.workers import Workers


def layers(path: str) -> tuple[MountEntry, ...]:
    return mountinfo.layers_at(mounttable.read(), path)


class Driver:
    def __init__(self) -> None:
        self.children = Children()
        self.workers = Workers(self.children)

    async def do_ask(self, path: str, write: str | None = None, number: int = 1) -> object:
        """Sends a probe request; starts the worker where there is none."""
        child = self.children.get("probe", path) or self.children.spawn("probe", path)
        child.send(encode(ProbeRequest(number, path, layers(path)[-1].device, write)))
        return {"pid": child.process.pid}

    async def do_hear(self, path: str, timeout: float = 60) -> object:
        """Waits for the reply; {"late": true} if it does not come in time."""
        child = self.children.get("probe", path)
        assert child is not None
        try:
            line = await asyncio.wait_for(child.next_line(), timeout)
        except TimeoutError:
            return {"late": True, "wchan": proc.wchan(child.process.pid)}
        return dataclasses.asdict(decode_probe_reply(line))

    async def do_probe(self, path: str, write: str | None = None, timeout: float = 60) -> object:
        await self.do_ask(path, write)
        return await self.do_hear(path, timeout)

    async def do_spawn(self, path: str) -> object:
        return {"pid": self.children.spawn("probe", path).process.pid}

    async def do_abandon(self, path: str) -> object:
        child = self.children.get("probe", path)
        assert child is not None
        child.abandon()
        return {}

    async def do_await_reaped(self, path: str) -> object:
        child = self.children.get("probe", path)
        status = None if child is None else await asyncio.wait_for(child.exited, 60)
        return {"status": status}

    async def do_client(self, path: str, layer: int = 0) -> object:
        stacked = layers(path)
        entry, place = stacked[layer], (layer, len(stacked))
        return dataclasses.asdict(await self.workers.find_client(path, entry, (), place, 60))

    async def do_holders(self, device: list[int]) -> object:
        found = await self.workers.holders("any", (device[0], device[1]), 60)
        return dataclasses.asdict(found)

    async def do_waiting(self, path: str) -> object:
        return {"waiting": fuse.waiting(layers(path)[-1].minor)}

    async def do_abort(self, path: str) -> object:
        return {"aborted": fuse.abort(layers(path)[-1].minor)}

    async def do_footprint(self) -> object:
        """Descriptors and children of the driver."""
        return {"fds": len(os.listdir("/proc/self/fd")), "children": len(self.children.living)}

    async def do_close(self) -> object:
        started = time.monotonic()
        await self.children.close()
        return {"seconds": time.monotonic() - started}


async def main() -> None:
    driver = Driver()
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        command: dict[str, Any] = json.loads(line)
        method = getattr(driver, "do_" + command.pop("do"))
        try:
            answer = await method(**command)
        except AgentError as error:
            answer = {"error": error.code, "message": error.message}
        print(json.dumps(answer), flush=True)
    await driver.children.close()


if __name__ == "__main__":
    asyncio.run(main())

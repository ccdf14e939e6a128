"""Runs inside a machine of the lab and calls its MountHost as told: one JSON line each way."""

import asyncio
import json
import sys
from typing import Any

from agent.errors import MountFailed
from agent.system.booted import mount_host
from agent.system.mounthost import MountHost, MountRequest, Unit


async def call(host: MountHost, name: str, arguments: list[Any]) -> object:
    match name:
        case "mount":
            *request, timeout = arguments
            await host.mount(MountRequest(*request), timeout)
        case "start_unit":
            unit, *rest = arguments
            await host.start_unit(Unit(*unit), *rest)
        case "administrator_unit":
            unit = await host.administrator_unit(*arguments)
            return None if unit is None else [unit.name, unit.origin, unit.source]
        case "guard_covered":
            *rest, immutable = arguments
            await host.guard_covered(*rest, immutable=immutable)
        case _:
            return await getattr(host, name)(*arguments)
    return None


async def main() -> None:
    host = mount_host()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        name, *arguments = json.loads(line)
        try:
            answer = {"value": await call(host, name, arguments)}
        except MountFailed as error:
            answer = {"failed": str(error)}
        print(json.dumps(answer), flush=True)
    await host.close()


if __name__ == "__main__":
    asyncio.run(main())

"""Runs the agent's daemon with one more task on its loop, that measures the loop's lag.

`sampler.py CONFIG RUNTIME STATE`: the lags are those of a sleep of 10 ms that ends late; on
SIGTERM their percentiles are printed, in seconds.
"""

import asyncio
import json
import statistics
import sys
import time
from pathlib import Path

from agent.daemon.loop import Daemon

EVERY = 0.01


async def sample(lags: list[float]) -> None:
    while True:
        before = time.monotonic()
        await asyncio.sleep(EVERY)
        lags.append(time.monotonic() - before - EVERY)


async def main(config: Path, runtime: Path, state: Path) -> None:
    lags: list[float] = []
    sampling = asyncio.create_task(sample(lags))
    await Daemon(config, runtime, state).run()
    sampling.cancel()
    cuts = statistics.quantiles(lags, n=100)
    lag = {"samples": len(lags), "median": cuts[49], "p99": cuts[98], "most": max(lags)}
    print(json.dumps(lag), flush=True)


if __name__ == "__main__":
    file, *folders = map(Path, sys.argv[1:])
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(file, *folders))

"""News of the mount table, without a mount: the kernel's word for it is played."""

import asyncio
import itertools

from agent.system.mountwatch import MountWatch


def test_a_table_that_changes_all_the_time_is_not_read_all_the_time() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        calls: list[float] = []
        watch = MountWatch(lambda: calls.append(loop.time()))
        # Other tests on this machine mount, too.
        loop.remove_reader(watch._poll.fileno())
        began = loop.time()
        while loop.time() < began + 1.0:
            watch._changed()
            await asyncio.sleep(0.005)
        assert calls[0] - began < 0.1, "the first change is told at once"
        assert all(b - a >= 0.19 for a, b in itertools.pairwise(calls))
        assert len(calls) >= 2, "the others are told as well"
        watch.close()

    asyncio.run(run())

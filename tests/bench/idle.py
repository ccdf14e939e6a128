"""Two healthy mounts at 5 s probes: what does the agent cost, and how soon is it ready?

Processor time is the agent's and its workers' own, from /proc/PID/stat, of those that ended
meanwhile too; memory is their PSS. Ready: from `systemctl start` to READY=1, with nothing mounted
before, less what mount(8) takes for one of the two mounts (the agent makes both at a time).
"""

import os
import time
from pathlib import Path

from tests.bench.figures import Figure, median
from tests.bench.stage import HAND, STEP, ask, quiet, script
from tests.lab.host import Host
from tests.lab.volume import Volume
from tests.system.agents import UNIT, UnitAgent

TICKS = os.sysconf("SC_CLK_TCK")
STARTS = 5
BEGAN, READY = "InactiveExitTimestampMonotonic", "ActiveEnterTimestampMonotonic"
OPTIONS = "log-level=WARNING"


def measure(host: Host, volumes: list[Volume], seconds: float) -> list[Figure]:
    """seconds: how long to watch it idle."""
    agent = UnitAgent(host)
    agent.configure("mounts:\n" + "".join(_mount(volume) for volume in volumes))
    ready = _starts(agent, volumes)
    for volume in volumes:
        agent.await_verdict("healthy", name=volume.name, timeout=STEP)
    share, memory = _watch(agent, seconds)
    agent.stop()
    name = f"idle, two mounts, {seconds:.0f} s"
    return [
        Figure(f"{name}: processor, of one core", share * 100, "%", 0.3),
        Figure(f"{name}: greatest PSS, workers included", memory / (1 << 20), "MiB", 70),
        *ready,
    ]


def _mount(volume: Volume) -> str:
    return (
        f"  {volume.name}:\n    volume: {volume.name}\n    servers: [node1, node2, node3]\n"
        f"    path: /mnt/{volume.name}\n    options: {{log-level: WARNING}}\n"
    )


def _starts(agent: UnitAgent, volumes: list[Volume]) -> list[Figure]:
    """Leaves it running."""
    host = agent.host
    hand = script(host, "hand.py")
    ready, mounts = [], []
    for number in range(STARTS):
        if number:
            agent.stop()
            for volume in volumes:
                host.unmount(f"/mnt/{volume.name}")
        quiet(host)
        host.run(["mkdir", "-p", HAND])
        what = f"node1:/{volumes[0].name}"
        answer = ask(
            hand,
            [["mount", "-t", "glusterfs", "-o", OPTIONS, what, HAND], ["umount", HAND]],
            "began",
        )
        mounts.append(answer["ended"][0] - answer["began"])
        quiet(host)
        agent.start()
        times = host.unit(UNIT, BEGAN, READY)
        ready.append((int(times[READY]) - int(times[BEGAN])) / 1e6)
    hand.end()
    beyond = [r - m for r, m in zip(ready, mounts, strict=True)]
    return [
        median("start to READY, nothing mounted before", ready),
        median("start to READY: mount by hand of one", mounts),
        median("start to READY, beyond the mounts' own time", beyond, at_most=1500),
    ]


def _watch(agent: UnitAgent, seconds: float) -> tuple[float, float]:
    """Share of one core over that time, and the greatest PSS in bytes seen."""
    process = agent.host.process(agent.pid()).pid
    began, before = time.monotonic(), _ticks(process)
    memory = 0
    while time.monotonic() - began < seconds:
        memory = max(memory, sum(_pss(pid) for pid in (process, *_children(process))))
        time.sleep(1)
    took = time.monotonic() - began
    return (_ticks(process) - before) / TICKS / took, memory


def _ticks(process: int) -> int:
    """Of the agent with its reaped children, and of those that live."""
    own = sum(_stat(process)[11:15])
    return own + sum(sum(_stat(child)[11:15]) for child in _children(process))


def _stat(pid: int) -> list[int]:
    """The fields of /proc/PID/stat from the third on; the state itself as 0."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return [0] * 50
    return [0, *map(int, fields[1:])]


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def _pss(pid: int) -> int:
    """Bytes; 0 when it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next(
        int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")
    )

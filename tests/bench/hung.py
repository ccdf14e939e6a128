"""A mount is hung and left so: does the agent stay what it was?

Its loop's lag is measured on the loop itself, by a task that runs beside the agent's own
(sampler.py). Its children, threads and descriptors are counted ten times a second, for as long as
100 probes would take: the counts' medians of the first and the last quarter must be the same.
"""

import os
import signal
import statistics
import time
from pathlib import Path

from tests.bench.figures import Figure, median
from tests.bench.stage import STEP
from tests.lab import faults, subject
from tests.lab.client import Client
from tests.lab.lines import Lines
from tests.lab.volume import Volume
from tests.system.agents import CONFIG, QuickAgent, config

Counts = tuple[int, int, int]


def measure(client: Client, volume: Volume, probes: int) -> list[Figure]:
    """probes: how many, at one a second, would have been sent meanwhile."""
    agent = QuickAgent(client)
    agent.configure(config(volume.name, recovery="{hung_after: 5s}"))
    places = [CONFIG, "/run/gluster-ml", "/var/lib/gluster-ml"]
    sampler = str(Path(__file__).with_name("sampler.py"))
    daemon = Lines(client, [*subject.python(), sampler, *places])
    agent.await_verdict("healthy", timeout=STEP)
    process = daemon.process.target
    with faults.client_frozen(client, "/mnt/a"):
        agent.await_verdict("hung", timeout=STEP)
        counts, answers = _watch(agent, process, probes)
        verdict = agent.verdict()
    agent.await_verdict("healthy", timeout=STEP)
    daemon.end(signal.SIGTERM)
    lag = daemon.all()[-1]
    quarter = len(counts) // 4
    first, last = _typical(counts[:quarter]), _typical(counts[-quarter:])
    names = ("children", "threads", "descriptors")
    return [
        Figure(
            f"hung: loop lag, 99th percentile of {lag['samples']}", lag["p99"] * 1000, "ms", 100
        ),
        Figure("hung: loop lag, greatest", lag["most"] * 1000, "ms"),
        median("hung: `status` answers", answers, at_most=1000),
        Figure("hung: `status` answers other than hung", float(verdict != "hung"), "", 0),
        *(
            Figure(
                f"hung: more {name} after {probes} probes", last[i] - first[i], "", 0, f"{first[i]}"
            )
            for i, name in enumerate(names)
        ),
    ]


def _watch(agent: QuickAgent, process: int, probes: int) -> tuple[list[Counts], list[float]]:
    """Counts, and seconds that each `status` took, over so many seconds."""
    counts, answers = [], []
    end = time.monotonic() + probes
    while time.monotonic() < end:
        began = time.monotonic()
        assert agent.command("status", "--json").stdout
        answers.append(time.monotonic() - began)
        for _ in range(9):
            counts.append(_count(process))
            time.sleep(0.1)
    return counts, answers


def _count(process: int) -> Counts:
    folder = Path(f"/proc/{process}")
    children = [
        child for task in folder.glob("task/*/children") for child in task.read_text().split()
    ]
    return len(children), len(os.listdir(folder / "task")), len(os.listdir(folder / "fd"))


def _typical(counts: list[Counts]) -> list[float]:
    return [statistics.median(column) for column in zip(*counts, strict=True)]

"""`python -m tests.bench`: see `--help` and docs/benchmarks.md."""

import argparse
import datetime as dt
import os
import platform
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tests.bench import crash
from tests.bench.figures import Figure, as_json, as_markdown, as_text
from tests.bench.stage import Stage
from tests.lab.cluster import Cluster
from tests.lab.shell import run

BUILD = Path(__file__).parents[2] / "build"
Bench = Callable[[Cluster, argparse.Namespace], list[Figure]]


def crashes(lab: Cluster, arguments: argparse.Namespace) -> list[Figure]:
    volume = lab.create_volume("crash", replica=3)
    figures = []
    for add in (lab.add_client, lab.add_host):
        machine = add()
        with Stage(lab, volume, machine) as stage:
            figures += crash.measure(stage, arguments.rounds)
        lab.remove(machine)
    return figures


BENCHES: dict[str, Bench] = {"crash": crashes}


def main() -> int:
    arguments = _arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    figures: list[Figure] = []
    with Cluster.start(servers=3) as lab:
        for name in arguments.bench or BENCHES:
            print(f"{name} ...", file=sys.stderr, flush=True)
            figures += BENCHES[name](lab, arguments)
    about = _about()
    BUILD.mkdir(exist_ok=True)
    (BUILD / "bench.json").write_text(as_json(about, figures))
    (BUILD / "bench.md").write_text(as_markdown(about, figures))
    print(as_text(figures))
    broken = [figure.name for figure in figures if not figure.holds]
    print(f"bounds broken: {'; '.join(broken) or 'none'}; also in {BUILD}/bench.md and bench.json")
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("bench", nargs="*", metavar="BENCH", help=f"of {', '.join(BENCHES)}")
    parser.add_argument("--rounds", type=int, default=20, help="kills of a client (20)")
    arguments = parser.parse_args()
    for name in arguments.bench:
        if name not in BENCHES:
            parser.error(f"no bench {name}")
    return arguments


def _about() -> dict[str, str]:
    gluster = run(["glusterfs", "--version"]).stdout.splitlines()[0]
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "cores": str(os.cpu_count()),
        "kernel": platform.release(),
        "client": gluster,
    }


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.bench`: see `--help` and docs/benchmarks.md."""

import argparse
import datetime as dt
import os
import platform
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tests.bench import crash, hung, idle, remap, servers
from tests.bench.figures import Figure, as_json, as_markdown, as_text
from tests.bench.stage import Stage
from tests.lab.client import Client
from tests.lab.cluster import Cluster
from tests.lab.host import Host
from tests.lab.shell import run

BUILD = Path(__file__).parents[2] / "build"
Bench = Callable[[Cluster, argparse.Namespace], list[Figure]]


def crashes(lab: Cluster, arguments: argparse.Namespace) -> list[Figure]:
    """Twenty kills on each kind of host."""
    return [
        figure
        for kind in (lab.add_client, lab.add_host)
        for figure in _on_stage(lab, kind, lambda stage: crash.measure(stage, arguments.rounds))
    ]


def bad_servers(lab: Cluster, arguments: argparse.Namespace) -> list[Figure]:
    """The preferred volfile server does not answer."""

    def measure(stage: Stage) -> list[Figure]:
        return [
            *servers.refusing(stage, arguments.mounts),
            *servers.silent(stage, min(3, arguments.mounts)),
        ]

    return _on_stage(lab, lab.add_host, measure)


def hung_mount(lab: Cluster, arguments: argparse.Namespace) -> list[Figure]:
    """A mount is hung."""
    client = lab.add_client()
    figures = hung.measure(client, lab.create_volume("hung", replica=3), arguments.probes)
    lab.remove(client)
    return figures


def idling(lab: Cluster, arguments: argparse.Namespace) -> list[Figure]:
    """All is well."""
    host = lab.add_host()
    volumes = [lab.create_volume(name, replica=3) for name in ("idle1", "idle2")]
    figures = idle.measure(host, volumes, arguments.idle)
    lab.remove(host)
    return figures


def remapping(lab: Cluster, arguments: argparse.Namespace) -> list[Figure]:
    """Files of an old number get the new one."""
    client = lab.add_client()
    volume = lab.create_volume("remap", replica=3)
    figures = remap.measure(client, volume, min(3, arguments.rounds), arguments.files)
    lab.remove(client)
    return figures


def _on_stage(
    lab: Cluster, kind: Callable[[], Client | Host], measure: Callable[[Stage], list[Figure]]
) -> list[Figure]:
    volume = lab.volumes.get("stage") or lab.create_volume("stage", replica=3)
    machine = kind()
    with Stage(lab, volume, machine) as stage:
        figures = measure(stage)
    lab.remove(machine)
    return figures


BENCHES: dict[str, Bench] = {
    "crash": crashes,
    "servers": bad_servers,
    "hung": hung_mount,
    "idle": idling,
    "remap": remapping,
}


def main() -> int:
    arguments = _arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    figures: list[Figure] = []
    with Cluster.start(servers=3) as lab:
        for name in arguments.bench or BENCHES:
            print(f"{name} ...", file=sys.stderr, flush=True)
            figures += BENCHES[name](lab, arguments)
    about = _about()
    arguments.build.mkdir(exist_ok=True)
    (arguments.build / "bench.json").write_text(as_json(about, figures))
    (arguments.build / "bench.md").write_text(as_markdown(about, figures))
    print(as_text(figures))
    broken = [figure.name for figure in figures if not figure.holds]
    print(f"bounds broken: {'; '.join(broken) or 'none'}; also in {arguments.build}/")
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("bench", nargs="*", metavar="BENCH", help=f"of {', '.join(BENCHES)}")
    parser.add_argument("--rounds", type=int, default=20, help="kills of a client (20)")
    parser.add_argument("--mounts", type=int, default=10, help="mounts with a bad server (10)")
    parser.add_argument("--probes", type=int, default=100, help="seconds a mount hangs (100)")
    parser.add_argument("--idle", type=float, default=300, help="seconds of idling (300)")
    parser.add_argument("--files", type=int, default=10_000, help="in a tree to remap (10,000)")
    parser.add_argument("--build", type=Path, default=BUILD, help="where to leave the tables")
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

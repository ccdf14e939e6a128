"""`python -m tests.lab`: the lab for hands; see `--help`."""

import argparse
import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from . import base, faults, runs
from .cluster import Cluster
from .shell import LabError

WHICH = "its id, where several were brought up by hand"


def main() -> int:
    arguments = _parser().parse_args()
    try:
        arguments.run(arguments)
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[Any], None], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        return sub

    up = command("up", _up, "bring up servers, a replica 3 volume `vol` and a quick client")
    up.add_argument("--servers", type=int, default=3)
    up.add_argument("--family", choices=["inet", "inet6"], default="inet")
    up.add_argument("--hosts", type=int, default=0, help="GPU hosts with real systemd, too")
    up.add_argument("--fresh", action="store_true", help="with nothing but systemd, and apt")
    up.add_argument("--release", default=base.RELEASE, help="of Debian on the hosts")
    for name, run, text in (
        ("down", _down, "end a lab and remove all of it"),
        ("status", _status, "what runs where"),
    ):
        command(name, run, text).add_argument("--lab", help=WHICH)
    command("sweep", _sweep, "remove what dead labs left behind")
    shell = command("shell", _shell, "a shell, or a command, on a machine of the lab")
    shell.add_argument("--lab", help=WHICH)
    shell.add_argument("machine")
    shell.add_argument("argv", nargs=argparse.REMAINDER)
    fault = command("fault", _fault, "begin a fault; without a name, list them")
    fault.add_argument("--lab", help=WHICH)
    fault.add_argument("--end", action="store_true", help="end it instead")
    fault.add_argument("name", nargs="?")
    fault.add_argument("arguments", nargs="*")
    return parser


def _up(arguments: argparse.Namespace) -> None:
    family, release = arguments.family, arguments.release
    lab = Cluster.start(arguments.servers, family=family, release=release, keep=True)
    lab.create_volume("vol", replica=min(arguments.servers, 3))
    lab.add_client()
    for _ in range(arguments.hosts):
        lab.add_host(fresh=arguments.fresh)
    _show(lab)


def _down(arguments: argparse.Namespace) -> None:
    runs.remove(_chosen(arguments.lab))


def _sweep(_: argparse.Namespace) -> None:
    for run in runs.sweep():
        print(f"removed lab {run.id}")


def _status(arguments: argparse.Namespace) -> None:
    _show(_lab(arguments))


def _show(lab: Cluster) -> None:
    print(f"lab {lab.run.id}")
    for machine in lab.machines:
        running = " ".join(sorted(process.comm for process in machine.processes()))
        print(f"  {machine.name:10} {running}")
    for volume in lab.volumes.values():
        info = volume.info()
        print(f"  {volume.name}: {info['Type']}, {info['Status']}")
        for brick in volume.bricks:
            process = brick.process()
            print(f"    {brick.label:30} {f'pid {process.pid}' if process else 'down'}")


def _shell(arguments: argparse.Namespace) -> None:
    machine = _lab(arguments).machine(arguments.machine)
    argv = machine.enter(arguments.argv or ["bash"])
    sys.exit(subprocess.run(argv, check=False).returncode)


def _fault(arguments: argparse.Namespace) -> None:
    if arguments.name is None:
        for name, make in _vocabulary().items():
            print(f"{name} {' '.join(inspect.signature(make).parameters)}")
            print(f"    {inspect.getdoc(make)}")
        return
    chosen = _vocabulary().get(arguments.name)
    if chosen is None:
        raise LabError(f"no fault {arguments.name}; `fault` without a name lists them")
    fault = chosen(*_arguments(_lab(arguments), chosen, arguments.arguments))
    (fault.end if arguments.end else fault.begin)()


def _vocabulary() -> dict[str, Callable[..., faults.Fault]]:
    found = {
        name: member
        for name, member in vars(faults).items()
        if inspect.isfunction(member)
        and not name.startswith("_")
        and member.__annotations__.get("return") is faults.Fault
    }
    return dict(sorted(found.items()))


def _arguments(lab: Cluster, make: Callable[..., faults.Fault], words: list[str]) -> list[Any]:
    """The fault's arguments by the names of its parameters; bricks are numbers from 0."""
    given = iter(words)
    values: dict[str, Any] = {}
    for name, parameter in inspect.signature(make).parameters.items():
        word = next(given, None)
        if word is None:
            if parameter.default is inspect.Parameter.empty:
                raise LabError(f"{make.__name__}: {name} is missing")
            break
        values[name] = _value(lab, name, word)
    return list(values.values())


def _value(lab: Cluster, name: str, word: str) -> Any:
    match name:
        case "machine" | "server" | "host":
            return lab.machine(word)
        case "volume":
            return lab.volume(word)
        case "brick":
            return lab.brick(word)
        case "bricks":
            return [lab.brick(label) for label in word.split(",")]
        case "operations":
            return word.split(",")
        case "seconds":
            return float(word)
        case "port":
            return int(word)
        case _:
            return word


def _chosen(wanted: str | None) -> runs.Run:
    """The lab of that id, or the only one that was brought up by hand: tests' are left alone."""
    if wanted:
        return runs.Run(wanted)
    kept = [run for run in runs.existing() if run.kept]
    if not kept:
        raise LabError("no lab is up; `python -m tests.lab up` brings one up")
    if len(kept) > 1:
        ids = ", ".join(run.id for run in kept)
        raise LabError(f"several labs are up, say which with --lab: {ids}")
    return kept[0]


def _lab(arguments: argparse.Namespace) -> Cluster:
    return Cluster.attach(_chosen(arguments.lab))


if __name__ == "__main__":
    sys.exit(main())

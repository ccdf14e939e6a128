"""The lab's own network: a bridge in a namespace of its own, one veth for each machine.

No packet leaves it: neither the bridge nor any of the namespaces is joined to the real machine.
All labs use the same addresses, since none sees another.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from . import namespaces
from .runs import Run
from .shell import run as shell


@dataclass(frozen=True)
class Address:
    """Where one machine of the lab is."""

    number: int

    @property
    def v4(self) -> str:
        return f"10.77.{self.number >> 8}.{self.number & 255}"

    @property
    def v6(self) -> str:
        return f"fd77::{self.number:x}"


class Network:
    """The bridge and who is plugged into it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.switch = run.name("switch")

    def up(self) -> None:
        namespaces.create(self.switch)
        _ip(self.switch, ["link add bridge type bridge", "link set bridge up"])

    def attach(self, name: str, address: Address) -> str:
        """Make the machine's network namespace, plugged in and addressed; returns its name."""
        netns = self.run.name(name)
        namespaces.create(netns)
        _ip(
            self.switch,
            [
                f"link add {name} type veth peer name eth0 netns {netns}",
                f"link set {name} master bridge up",
            ],
        )
        _ip(
            netns,
            [
                f"address add {address.v4}/16 dev eth0",
                f"address add {address.v6}/64 dev eth0 nodad",
                "link set eth0 up",
            ],
        )
        return netns


def plug(netns: str, *, connected: bool) -> None:
    """Pull a machine's cable, or put it back: to its neighbours it looks the same.

    The address of IPv6 goes with the link on its way down unless it is kept.
    """
    _ip(netns, [f"link set eth0 {'up' if connected else 'down'}"])


def _ip(netns: str, commands: list[str]) -> None:
    shell(["ip", "-n", netns, "-batch", "-"], stdin="\n".join(commands) + "\n")


def add_filter(netns: str, table: str, chains: str, family: str = "inet") -> None:
    """Put a packet filter into a network namespace. table: its name, to remove it by."""
    remove_filter(netns, table, family)
    _nft(netns, f"table {family} {table} {{\n{chains}\n}}")


def remove_filter(netns: str, table: str, family: str = "inet") -> None:
    """Idempotent."""
    _nft(netns, f"table {family} {table} {{}}\ndelete table {family} {table}")


def _nft(netns: str, text: str) -> None:
    shell(["nsenter", f"--net={namespaces.path(netns)}", "nft", "-f", "-"], stdin=text + "\n")


def hosts_file(addresses: Mapping[str, Address]) -> str:
    """Text for /etc/hosts: NAME has both families, NAME-v4 and NAME-v6 one each."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    for name, address in addresses.items():
        lines += [f"{address.v4} {name} {name}-v4", f"{address.v6} {name} {name}-v6"]
    return "\n".join(lines) + "\n"

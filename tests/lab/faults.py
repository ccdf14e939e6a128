"""The vocabulary of faults: each is a state that something is in while the fault lasts.

`with faults.silent(server): ...`, or begin() and end() by hand. A fault that nobody can undo
(a killed client) has an end() that does nothing.
"""

import os
import signal
from collections.abc import Callable, Sequence
from typing import Self

from . import cgroups, network
from .cell import Cell, Process
from .client import FUSECTL, Mounts
from .server import PORT, Server
from .shell import until
from .volume import Brick, Volume

FILL = "fill"
_SHUT_DOWN = """
import fcntl, os, struct, sys
EXT4_IOC_SHUTDOWN, LOG_FLUSH = 0x8004587D, 1
folder = os.open(sys.argv[1], os.O_RDONLY)
fcntl.ioctl(folder, EXT4_IOC_SHUTDOWN, struct.pack("I", LOG_FLUSH))
"""


def _nothing() -> None:
    pass


class Fault:
    """What is to be done for it to begin and to end; begin before end, each once."""

    def __init__(self, begin: Callable[[], None], end: Callable[[], None] = _nothing) -> None:
        self.begin = begin
        self.end = end

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()


# Network


def silent(machine: Cell) -> Fault:
    """Not a packet in or out, and no error to the sender: neighbours still answer for it."""
    device = "device eth0 priority 0;"
    neighbours = "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept;"
    rules = f"ether type arp accept; {neighbours} drop;"
    chains = f"chain i {{ type filter hook ingress {device} {rules} }}"
    chains += f"\nchain e {{ type filter hook egress {device} {rules} }}"
    return _filtered(machine, "silent", chains, "netdev")


def unplugged(machine: Cell) -> Fault:
    """Its network is down: neighbours' connections fail with EHOSTUNREACH after some seconds."""
    return Fault(
        lambda: network.plug(machine.netns, connected=False),
        lambda: network.plug(machine.netns, connected=True),
    )


def port_silent(server: Server, port: int = PORT) -> Fault:
    """One port swallows all packets, by default glusterd's; the bricks' are not touched."""
    return _port(server, "port_silent", port, "drop")


def port_refusing(server: Server, port: int = PORT) -> Fault:
    """One port answers all packets with a reset, as if nobody listened."""
    return _port(server, "port_refusing", port, "reject with tcp reset")


def unresolvable(machine: Cell, name: str) -> Fault:
    """A machine can't resolve one name of the lab."""
    before = machine.read("/etc/hosts")
    kept = [line for line in before.splitlines() if name not in line.split()]
    return Fault(
        lambda: machine.write("/etc/hosts", "\n".join(kept) + "\n"),
        lambda: machine.write("/etc/hosts", before),
    )


# Storage


def glusterd_stopped(server: Server) -> Fault:
    """Management and volfiles are gone; the bricks serve on."""

    def stop() -> None:
        _kill(server.glusterd())
        until(lambda: server.glusterd() is None, 30, f"glusterd of {server.name} ended")

    return Fault(stop, server.start_glusterd)


def glusterd_frozen(server: Server) -> Fault:
    """Port 24007 takes connections and never answers."""
    return Fault(
        lambda: _signal(server.glusterd(), signal.SIGSTOP),
        lambda: _signal(server.glusterd(), signal.SIGCONT),
    )


def bricks_killed(volume: Volume, bricks: Sequence[Brick]) -> Fault:
    """Their processes are killed; the end starts them again."""

    def kill() -> None:
        for brick in bricks:
            _kill(brick.process())
        for brick in bricks:
            until(lambda brick=brick: brick.process() is None, 30, f"{brick.label} ended")  # type: ignore[misc]

    return Fault(kill, lambda: volume.start(force=True))


def brick_frozen(brick: Brick) -> Fault:
    """Its process is stopped; its connections stay open and answer nothing."""
    return Fault(
        lambda: _signal(brick.process(), signal.SIGSTOP),
        lambda: _signal(brick.process(), signal.SIGCONT),
    )


def brick_full(brick: Brick) -> Fault:
    """Its disk is full, to less than GlusterFS keeps in reserve.

    Only for bricks made with a brick_size.
    """
    filler = f"{brick.mount_point}/{FILL}"
    dd = ["dd", "if=/dev/zero", f"of={filler}", "bs=1M", "status=none"]
    return Fault(
        lambda: _expect_full(brick.server.run(dd, check=False).stderr),
        lambda: _run(brick.server, ["rm", filler]),
    )


def disks_failing(volume: Volume) -> Fault:
    """The disks of all bricks give EIO on writes; only for bricks made with a brick_size.

    The bricks' own health check is switched off, it would end them within half a minute.
    """

    def begin() -> None:
        volume.set("storage.health-check-interval", "0")
        for brick in volume.bricks:
            brick.server.run(["python3", "-c", _SHUT_DOWN, brick.mount_point])

    def end() -> None:
        killed = bricks_killed(volume, volume.bricks)
        killed.begin()
        for brick in volume.bricks:
            brick.server.run(["umount", brick.mount_point])
            brick.server.mount_disk(brick.mount_point)
        killed.end()
        volume.reset("storage.health-check-interval")

    return Fault(begin, end)


def volume_stopped(volume: Volume) -> Fault:
    """`gluster volume stop`."""
    return Fault(volume.stop, volume.start)


def option_set(volume: Volume, option: str, value: str) -> Fault:
    """A volume option has that value; afterwards its default."""
    return Fault(lambda: volume.set(option, value), lambda: volume.reset(option))


def auth_refused(volume: Volume) -> Fault:
    """The bricks refuse every client (auth.allow names an address nobody has)."""
    return option_set(volume, "auth.allow", "192.0.2.1")


def read_only(volume: Volume) -> Fault:
    """Writes give EROFS (features.read-only)."""
    return option_set(volume, "features.read-only", "on")


def root_squashed(volume: Volume) -> Fault:
    """Root acts as nobody on the bricks (server.root-squash)."""
    return option_set(volume, "server.root-squash", "on")


def failing(volume: Volume, operations: Sequence[str]) -> Fault:
    """Every one of these operations fails in the client (debug.error-gen), each time differently.

    operations: GlusterFS' names: "write", "create", "readdirp", ... The error is one of a dozen,
    by lot: GlusterFS 10.3 takes debug.error-number and ignores it.
    """

    def begin() -> None:
        volume.set("debug.error-failure", "100")
        volume.set("debug.error-fops", ",".join(operations))
        volume.set("debug.error-gen", "client")

    def end() -> None:
        for part in ("gen", "fops", "failure"):
            volume.reset(f"debug.error-{part}")

    return Fault(begin, end)


def delayed(volume: Volume, operations: Sequence[str], seconds: float) -> Fault:
    """Every one of these operations takes that much longer (debug.delay-gen, in the client)."""

    def begin() -> None:
        volume.set("delay-gen.delay-percentage", "100")
        volume.set("delay-gen.delay-duration", str(int(seconds * 1e6)))
        volume.set("delay-gen.enable", ",".join(operations))
        volume.set("debug.delay-gen", "client")

    def end() -> None:
        volume.reset("debug.delay-gen")
        for part in ("enable", "delay-duration", "delay-percentage"):
            volume.reset(f"delay-gen.{part}")

    return Fault(begin, end)


# Clients


def client_killed(host: Mounts, path: str) -> Fault:
    """The mount's client process gets SIGKILL and is gone."""

    def kill() -> None:
        process = host.glusterfs(path)
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: process not in host.processes(), 30, f"client of {path} ended")

    return Fault(kill)


def client_out_of_memory(host: Mounts, path: str) -> Fault:
    """The kernel's OOM killer takes the mount's client, as soon as it needs a page more."""
    group = cgroups.memory_group(f"{host.netns}-oom")

    def begin() -> None:
        process = host.glusterfs(path)
        cgroups.starve(group, process.pid)
        until(lambda: process not in host.processes(), 30, f"client of {path} ended")

    return Fault(begin, lambda: cgroups.remove(f"{host.netns}-oom"))


def client_frozen(host: Mounts, path: str) -> Fault:
    """The mount's client process is stopped; the end lets the same one go on, if it lives."""
    process = host.glusterfs(path)
    return Fault(
        lambda: _signal(process, signal.SIGSTOP),
        lambda: _signal(process if process in host.processes() else None, signal.SIGCONT),
    )


def connection_aborted(host: Mounts, path: str) -> Fault:
    """The mount's FUSE connection is aborted (the `abort` file of fusectl)."""
    return Fault(lambda: host.write(f"{FUSECTL}/{host.connection(path)}/abort", "1"))


def _filtered(machine: Cell, table: str, chains: str, family: str = "inet") -> Fault:
    return Fault(
        lambda: network.add_filter(machine.netns, table, chains, family),
        lambda: network.remove_filter(machine.netns, table, family),
    )


def _port(server: Server, table: str, port: int, verdict: str) -> Fault:
    rule = f'iifname != "lo" tcp dport {port} {verdict};'
    chain = f"chain input {{ type filter hook input priority 0; {rule} }}"
    return _filtered(server, f"{table}_{port}", chain)


def _kill(process: Process | None) -> None:
    _signal(process, signal.SIGKILL)


def _signal(process: Process | None, number: int) -> None:
    if process is not None:
        os.kill(process.pid, number)


def _run(server: Server, argv: list[str]) -> None:
    server.run(argv)


def _expect_full(said: str) -> None:
    assert "No space left" in said, said

"""The whole lab: servers, volumes, clients and hosts of one run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar

from . import base, cgroups, namespaces, runs
from .cell import Cell
from .client import Client
from .host import Host
from .network import Address, Network, hosts_file
from .runs import Run
from .server import BRICKS, Server
from .shell import LabError, until
from .volume import Brick, Volume

C = TypeVar("C", bound=Cell)
N = TypeVar("N", bound=Cell | Volume)
_FIRST_SERVER = 11
_FIRST_CLIENT = 101


class Cluster:
    """`with Cluster.start(servers=3) as lab:`; or attach() to one that another process started."""

    def __init__(self, run: Run, servers: int, family: str, release: str) -> None:
        self.run = run
        self.family = family
        self.release = release
        self.network = Network(run)
        self.addresses = {f"node{i + 1}": Address(_FIRST_SERVER + i) for i in range(servers)}
        self.servers = [self._machine(Server, name) for name in self.addresses]
        self.clients: list[Client] = []
        self.hosts: list[Host] = []
        self._joined = 0
        self.volumes: dict[str, Volume] = {}

    @classmethod
    def start(
        cls,
        servers: int = 3,
        *,
        family: str = "inet",
        release: str = base.RELEASE,
        keep: bool = False,
    ) -> Cluster:
        """Bring it up. family: "inet" or "inet6", what glusterd and the bricks listen on.

        release: of Debian, on its hosts; servers and quick clients are of this machine's.
        keep: it lives on when this process ends, until `down`.
        """
        runs.sweep()
        lab = cls(runs.create(keep=keep), servers, family, release)
        try:
            lab._up()
        except BaseException:
            lab.down()
            raise
        return lab

    @classmethod
    def attach(cls, run: Run) -> Cluster:
        """The lab that another process brought up. Raises LabError."""
        try:
            state = json.loads((run.folder / "lab.json").read_text())
        except (OSError, ValueError) as error:
            raise LabError(f"lab {run.id} is not up") from error
        lab = cls(run, state["servers"], state["family"], state["release"])
        lab.clients = [lab._machine(Client, name) for name in state["clients"]]
        lab.hosts = [lab._machine(Host, name) for name in state["hosts"]]
        lab._joined = state["joined"]
        for name, bricks in state["volumes"].items():
            made = [Brick(lab.server(server), path) for server, path in bricks]
            lab.volumes[name] = Volume(name, tuple(made))
        return lab

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.down()

    def down(self) -> None:
        """End and remove everything. Idempotent."""
        runs.remove(self.run)
        for machine in self.machines:
            machine.reap()

    @property
    def machines(self) -> list[Cell]:
        """All servers and clients."""
        return [*self.servers, *self.clients, *self.hosts]

    def machine(self, name: str) -> Cell:
        """By name: "node1", "client1". Raises LabError."""
        return _named(self.machines, name)

    def server(self, name: str) -> Server:
        """By name: "node1". Raises LabError."""
        return _named(self.servers, name)

    def volume(self, name: str) -> Volume:
        """By name. Raises LabError."""
        return _named(self.volumes.values(), name)

    def brick(self, label: str) -> Brick:
        """By label: "node1:/srv/bricks/vol-0/brick", or "vol-0". Raises LabError."""
        for volume in self.volumes.values():
            for number, brick in enumerate(volume.bricks):
                if label in (brick.label, f"{volume.name}-{number}"):
                    return brick
        raise LabError(f"no brick {label}")

    def add_client(self) -> Client:
        """A quick client."""
        client = self._join(Client)
        self.clients.append(client)
        self._save()
        client.boot(hosts_file(self.addresses))
        return client

    def add_host(self, *, fresh: bool = False) -> Host:
        """A host with systemd. fresh: and with little else, see base.py."""
        tree = base.tree(self.release, fresh=fresh)
        host = self._join(Host)
        self.hosts.append(host)
        self._save()
        host.boot(hosts_file(self.addresses), tree)
        return host

    def remove(self, machine: Client | Host) -> None:
        """End a client or host with all that runs on it."""
        machine.stop()
        namespaces.delete(machine.netns)
        cgroups.remove(machine.netns)
        self.clients = [client for client in self.clients if client is not machine]
        self.hosts = [host for host in self.hosts if host is not machine]
        self._save()

    def create_volume(
        self,
        name: str,
        *,
        replica: int = 0,
        disperse: int = 0,
        redundancy: int = 1,
        bricks: int = 0,
        brick_size: str | None = None,
        start: bool = True,
    ) -> Volume:
        """Make and start a volume; without replica and disperse it only distributes.

        bricks: their number, by default one set; a multiple of a set distributes over sets. They
        go round the servers. brick_size: for bricks on small disks of their own, which can be
        filled and can fail; as truncate(1) takes it, e.g. "64M".
        """
        count = bricks or replica or disperse or len(self.servers)
        made = [
            Brick(self.servers[i % len(self.servers)], f"{BRICKS}/{name}-{i}/brick")
            for i in range(count)
        ]
        for brick in made:
            brick.server.make_brick(brick.path, brick_size)
        # After a silence the servers take some seconds to find each other again.
        until(self._is_joined, 60, "all servers know each other")
        shape = ["replica", str(replica)] if replica else []
        if disperse:
            shape = ["disperse", str(disperse), "redundancy", str(redundancy)]
        labels = [brick.label for brick in made]
        self.servers[0].gluster("volume", "create", name, *shape, *labels, "force")
        volume = self.volumes[name] = Volume(name, tuple(made))
        self._save()
        if start:
            volume.start()
        return volume

    def delete_volume(self, volume: Volume) -> None:
        """Delete it with its data."""
        until(self._is_joined, 60, "all servers know each other")
        volume.delete()
        del self.volumes[volume.name]
        self._save()

    def _up(self) -> None:
        self.network.up()
        for name, address in self.addresses.items():
            self.network.attach(name, address)
        self._save()
        hosts = hosts_file(self.addresses)
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda server: server.boot(hosts, self.family), self.servers))
        first, *others = self.servers
        for server in others:
            first.gluster("peer", "probe", server.name)
        until(self._is_joined, 60, "all servers know each other")

    def _is_joined(self) -> bool:
        """A server that has not yet heard of all others would refuse to make a volume."""
        others = len(self.servers) - 1
        said = [server.gluster("peer", "status").stdout for server in self.servers]
        return all(text.count("Peer in Cluster (Connected)") == others for text in said)

    def _join(self, kind: type[C]) -> C:
        """A new machine that is not a server, on the network."""
        self._joined += 1
        name = f"{kind.__name__.lower()}{self._joined}"
        self.network.attach(name, Address(_FIRST_CLIENT + self._joined))
        return self._machine(kind, name)

    def _machine(self, kind: type[C], name: str) -> C:
        return kind(name, self.run.name(name), self.run.folder / name)

    def _save(self) -> None:
        state = {
            "servers": len(self.servers),
            "family": self.family,
            "release": self.release,
            "clients": [client.name for client in self.clients],
            "hosts": [host.name for host in self.hosts],
            "joined": self._joined,
            "volumes": {
                volume.name: [[brick.server.name, brick.path] for brick in volume.bricks]
                for volume in self.volumes.values()
            },
        }
        draft = self.run.folder / "lab.json.new"
        draft.write_text(json.dumps(state))
        draft.rename(self.run.folder / "lab.json")


def _named(things: Iterable[N], name: str) -> N:
    for thing in things:
        if thing.name == name:
            return thing
    raise LabError(f"the lab has no {name}")

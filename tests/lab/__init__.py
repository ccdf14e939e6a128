"""A real GlusterFS cluster and real hosts on one machine; see docs/lab.md."""

from .client import Client
from .cluster import Cluster
from .host import Host
from .server import Server
from .shell import LabError, until
from .volume import Brick, Volume

__all__ = ["Brick", "Client", "Cluster", "Host", "LabError", "Server", "Volume", "until"]

"""A real GlusterFS cluster and real hosts on one machine; see docs/lab.md."""

from .attempts import HANGS, attempt
from .client import Client
from .cluster import Cluster
from .host import Host
from .jobs import RunningJob
from .server import Server
from .shell import LabError, until
from .volume import Brick, Volume

__all__ = [
    "HANGS",
    "Brick",
    "Client",
    "Cluster",
    "Host",
    "LabError",
    "RunningJob",
    "Server",
    "Volume",
    "attempt",
    "until",
]

"""Old ids exchanged in a tree of 10,000 files, against `chown -R --from` on the same tree.

Both take turns on one mount, and each gives back what the other gave. `ids remap` looks for the
old ids in every ACL too, and holds each inode that it changes; it is measured from its start as a
command.
"""

import statistics
import time
from collections.abc import Sequence

from tests.bench.figures import Figure, median, ratio
from tests.lab import subject
from tests.lab.client import Client
from tests.lab.volume import Volume
from tests.system.agents import CONFIG

M = "/mnt/remap"
OLD, NEW = 51001, 52001
FOLDERS = 100
MAKE = """
import os, sys
top, files = sys.argv[1], int(sys.argv[2])
for d in range({folders}):
    os.makedirs(f"{{top}}/d{{d}}")
for f in range(files):
    os.close(os.open(f"{{top}}/d{{f % {folders}}}/f{{f}}", os.O_CREAT | os.O_WRONLY))
"""


def measure(client: Client, volume: Volume, rounds: int, files: int) -> list[Figure]:
    """rounds: how often each is done; files: how many are in the tree."""
    client.mount(f"node1:/{volume.name}", M, ["acl", "log-level=WARNING"])
    client.write(CONFIG, "mounts: {}\n")
    tree = f"{M}/tree"
    make = MAKE.format(folders=FOLDERS)
    client.run(["python3", "-c", make, tree, str(files)], timeout=600)
    client.run(["chown", "-R", f"{OLD}:{OLD}", tree], timeout=600)
    ours, theirs, ours_again, theirs_again = [], [], [], []
    for _ in range(rounds):
        ours.append(_timed(client, _remap(OLD, NEW, tree)))
        ours_again.append(_timed(client, _remap(OLD, NEW, tree)))
        theirs.append(_timed(client, _chown(NEW, OLD, tree)))
        theirs_again.append(_timed(client, _chown(NEW, OLD, tree)))
    client.release()
    name = f"ids exchanged in {files} files"
    done = median(name, ours, unit="s")
    by_hand = median(f"{name}: chown -R --from", theirs, unit="s")
    walk = median(f"{name}: again, nothing to change", ours_again, unit="s")
    walk_by_hand = median(f"{name}: chown -R --from again", theirs_again, unit="s")
    return [
        done,
        by_hand,
        ratio(f"{name}: as a multiple of chown's", done, by_hand, 1.0),
        walk,
        walk_by_hand,
        ratio(f"{name}: again, as a multiple of the first time", walk, done, 1.0),
        Figure(f"{name}: files a second", files / statistics.median(ours), ""),
    ]


def _remap(old: int, new: int, tree: str) -> list[str]:
    ids = ["--from", f"{old}:{old}", "--to", f"{new}:{new}"]
    return [subject.program(), "ids", "remap", *ids, tree]


def _chown(old: int, new: int, tree: str) -> list[str]:
    return ["chown", "-R", f"--from={old}:{old}", f"{new}:{new}", tree]


def _timed(client: Client, argv: Sequence[str]) -> float:
    """Seconds. Before each the mount's caches of the one before expire, which takes a second."""
    time.sleep(1.5)
    began = time.monotonic()
    client.run(argv, timeout=600)
    return time.monotonic() - began

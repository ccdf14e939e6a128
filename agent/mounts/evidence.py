"""What is seen of a hung mount before anything is done to it, without touching it."""

from agent.model.mount import MountEntry
from agent.mounts.facts import Facts
from agent.system import fuse
from agent.system.proc import read_stat, wchan


def hung_evidence(facts: Facts, top: MountEntry) -> str:
    """One line: the client's state and where it waits, and how many requests it owes.

    Read from /proc/PID/stat, /proc/PID/wchan and /sys/fs/fuse/connections only.
    """
    said = [f"mount {top.source} (FUSE connection {top.minor})"]
    process = facts.client.process
    if process is None:
        said.append("its client process is not known")
    else:
        stat = read_stat(process.pid)
        if stat is None or stat.start_time != process.start_time:
            said.append(f"its client process {process.pid} is gone")
        else:
            waits = wchan(process.pid)
            where = f", waits in {waits}" if waits else ""
            said.append(f"its client process {process.pid} is in state {stat.state}{where}")
    waiting = fuse.waiting(top.minor)
    if waiting is not None:
        said.append(f"{waiting} request{' waits' if waiting == 1 else 's wait'}")
    if facts.servers_detail:
        said.append(f"volfile servers: {facts.servers_detail}")
    return "; ".join(said)

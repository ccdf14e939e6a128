"""Statuses for tests: times are of 2026-11-30, 14:05 UTC."""

import os
from pathlib import Path

from agent.codec import parse_iso
from agent.model.mount import Brick, Holder, ProcessId, Space
from agent.model.status import (
    AgentStatus,
    ConfigState,
    ConfigStatus,
    IdentitiesState,
    IdentitiesStatus,
    LayoutState,
    LayoutStatus,
    MountStatus,
)
from agent.model.verdict import Verdict

NOW = parse_iso("2026-11-30T14:05:00Z")

BRICKS = (
    Brick("model-store-client-0", "node1", "/bricks/b1", connected=True),
    Brick("model-store-client-1", "node2", "/bricks/b1", connected=False),
    Brick("model-store-client-2", "node3", "/bricks/b1", connected=True),
)

HEALTHY = MountStatus(
    name="datasets",
    path="/mnt/datasets",
    volume="data",
    verdict=Verdict.HEALTHY,
    since=NOW - 86400,
    evidence="round trip in 4 ms",
    server="node1",
    client=ProcessId(4242, 99),
    space=Space(total=10 << 40, free=1 << 40),
)

HUNG = MountStatus(
    name="model-share",
    path="/mnt/model-share",
    volume="model-store",
    verdict=Verdict.HUNG,
    since=NOW - 180,
    evidence="no answer for 95 s; the client process 4711 is alive",
    advice="look at the storage first: gluster volume status model-store on a storage node; "
    "if it won't come back: kill -9 4711 ends the client",
    server="node1",
    client=ProcessId(4711, 12345),
    adopted=True,
    bricks=BRICKS,
    whole=True,
    space=Space(total=3 << 40, free=1 << 40),
    findings=("root is squashed: the write probe is refused",),
    pending="entry-timeout changes from 1 to 120",
    holders=(Holder(900, "python", 20001, "docker 3f2a", "open file"),),
    recoveries=2,
    last_recovery="client died; back after 0.2 s by node2",
    probe_seconds=0.004,
    attempts=1,
    removing=True,
    layout=LayoutStatus(
        LayoutState.FINDINGS,
        12,
        looked=NOW - 60,
        made=3,
        mended=1,
        findings=("cache: was there before the agent: mode 0755, declared 2775",),
    ),
    client_log="/var/log/gluster-ml/model-share.log",
)

IDENTITIES = IdentitiesStatus(
    state=IdentitiesState.DIFFERS,
    checked=NOW - 30,
    missing=("user carol with number 20003 and group 20000",),
    failed=("user carol with number 20003 and group 20000: useradd failed: no space left",),
    conflicts=("user alice is number 20001 in the file, and number 1001 on this host",),
    crowded=("user bob is in 90 groups: GlusterFS serves none with more than 87",),
)


def config(state: ConfigState = ConfigState.VALID, *errors: str) -> ConfigStatus:
    return ConfigStatus(
        state, "/etc/gluster-ml/agent.yaml", errors=errors, fingerprint="dc74d799cb13"
    )


def own_process() -> ProcessId:
    stat = Path("/proc/self/stat").read_text()
    return ProcessId(os.getpid(), int(stat.rpartition(")")[2].split()[19]))


def agent_status(*mounts: MountStatus, time: float = NOW, **changes: object) -> AgentStatus:
    values: dict[str, object] = {
        "host": "gpu-17",
        "version": "0.1.0",
        "time": time,
        "pid": own_process(),
        "config": config(),
        "mounts": mounts,
    }
    return AgentStatus(**(values | changes))  # type: ignore[arg-type]

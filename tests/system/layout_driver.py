"""Runs inside a machine of the lab: passes over a volume's layout, hostile users, what came of it.

Called with what to do, the mount's path, and more; prints one line of JSON.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))

from tests.system.layout_tree import (
    Ground,
    owner_and_mode,
    run_pass,
    snapshot,
    told_of,
)


def outcome(settings: dict[str, Any], root: Path) -> object:
    found = run_pass(root, settings)
    return {
        "made": found.made,
        "mended": [mend.want.path for mend in found.mended],
        "findings": found.findings,
        "failed": found.failed,
        "told": sorted(told_of(found)),
    }


def rounds(ground: Ground, count: int) -> object:
    """Passes while somebody else disturbs them."""
    seen: set[str] = set()
    failed: set[str] = set()
    made = 0
    for _ in range(count):
        found = run_pass(ground.volume, ground.settings)
        failed |= {found.failed} - {""}
        seen |= told_of(found)
        made += len(found.made)
    return {"seen": sorted(seen), "made": made, "failed": sorted(failed)}


def tree(root: Path) -> object:
    """Owner, mode and default ACL of each directory that is not the agent's own."""
    found = {}
    for path in sorted(p for p in root.rglob("*") if p.is_dir() and ".gluster-ml" not in p.parts):
        try:
            acl = os.getxattr(path, "system.posix_acl_default").hex()
        except OSError:
            acl = ""
        uid, gid, mode = owner_and_mode(path)
        found[str(path.relative_to(root))] = [uid, gid, f"{mode:04o}", acl]
    return found


def as_user(command: list[str], uid: int, group: int) -> int:
    """A user's command, with umask 077; its exit status."""
    argv = ["setpriv", f"--reuid={uid}", f"--regid={uid}", f"--groups={group}", *command]
    return subprocess.run(argv, check=False, umask=0o077).returncode


def act(ground: Ground, do: str, more: list[str]) -> object:
    """What users of the volume do, and how it is then."""
    match do, more:
        case "make", []:
            ground.make()
        case "attack", [name]:
            ground.attacks()[name]()
        case "restore", []:
            ground.restore()
        case "disturb", []:
            return ground.disturb(ground.volume / "stop", random.Random(1))  # noqa: S311
        case "outsiders", []:
            return ground.outsiders()
        case "insiders", []:
            return ground.insiders()
        case "marked", []:
            return ground.marked()
    return None


def main() -> object:
    do, root, more = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    ground = Ground(root, root / "outside")
    match do, more:
        case "pass", [settings]:
            return outcome(json.loads(settings) or ground.settings, root)
        case "rounds", [count]:
            return rounds(ground, int(count))
        case "tree", []:
            return tree(root)
        case "snapshot", []:
            probes = str(root / ".gluster-ml/probes")
            return {path: found for path, found in snapshot(root).items() if probes not in path}
        case "as", [uid, group, *command]:
            return as_user(command, int(uid), int(group))
    return act(ground, do, more)


if __name__ == "__main__":
    print(json.dumps(main()))

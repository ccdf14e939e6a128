"""Runs on its own in a new mount namespace: `launch.py SPEC` prepares it, then becomes a program.

SPEC is JSON: {"cgroups": [folder to join, ...], "mounts": [[argument of mount(8), ...], ...],
"argv": [program, argument, ...]}.
"""

import json
import os
import pathlib
import subprocess
import sys


def main(spec_text: str) -> None:
    spec = json.loads(spec_text)
    for group in spec["cgroups"]:
        pathlib.Path(group, "cgroup.procs").write_text(str(os.getpid()))
    for arguments in spec["mounts"]:
        subprocess.run(["mount", *arguments], check=True)
    os.chdir("/")
    os.execvp(spec["argv"][0], spec["argv"])  # noqa: S606 - becoming it is the point


if __name__ == "__main__":
    main(sys.argv[1])

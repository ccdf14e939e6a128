"""An example of an environment, and the shells of this machine that are to read it."""

import os
import shutil
import subprocess

from agent.environment.variables import Variables

SHELLS = [shell for shell in ("dash", "bash", "busybox", "zsh", "mksh") if shutil.which(shell)]

SHELLS_OWN = {"PATH", "PWD", "OLDPWD", "SHLVL", "_", "LC_ALL"}
"""Variables that a shell gives to what it starts, or that are given to it here."""

CONFIG = """\
mounts:
  share:
    volume: vol
    servers: [n1]
    path: /mnt/share
    environment: {HF_HUB_CACHE: cache/huggingface/hub, ROOT: .}
  other: {volume: w, servers: [n1], path: /mnt/other}
  third: {volume: x, servers: [n1], path: /mnt/third, environment: {TORCH_HOME: tor ch/ä~}}
"""
EXPECTED = {
    "share": {"HF_HUB_CACHE": "/mnt/share/cache/huggingface/hub", "ROOT": "/mnt/share"},
    "other": {},
    "third": {"TORCH_HOME": "/mnt/third/tor ch/ä~"},
}


def pairs(found: Variables) -> dict[str, str]:
    return {name: value for values in found.values() for name, value in values.items()}


def shell(name: str, *options: str) -> list[str]:
    return [name, *(["sh"] if name == "busybox" else []), *options]


def environ(command: list[str], **changes: str) -> dict[str, str]:
    """What a process gets that a shell starts, without what the shell itself always adds."""
    environment = {"PATH": os.environ["PATH"], **changes}
    done = subprocess.run(command, check=False, env=environment, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    items = (item.partition(b"=") for item in done.stdout.split(b"\0") if item)
    found = {os.fsdecode(name): os.fsdecode(value) for name, _, value in items}
    return {name: value for name, value in found.items() if name not in SHELLS_OWN}

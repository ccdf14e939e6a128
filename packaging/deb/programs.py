"""Programs of Debian, run without a shell."""

import subprocess
from collections.abc import Mapping, Sequence

from versions import Problem

# Of what package a program is, where it may be missing.
_PACKAGES = {"git": "git", "gpg": "gnupg", "reprepro": "reprepro"}


def run(argv: Sequence[str], environment: Mapping[str, str] | None = None, stdin: str = "") -> str:
    """What it prints. environment: by default the caller's. Raises Problem with what it said."""
    try:
        done = subprocess.run(
            argv, env=environment, input=stdin, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        package = _PACKAGES.get(argv[0], "dpkg")
        raise Problem(f"{argv[0]} is missing: apt-get install {package}") from error
    if done.returncode != 0:
        said = (done.stderr + done.stdout).strip()
        raise Problem(f"{argv[0]} failed: {said or f'exit {done.returncode}'}")
    return done.stdout

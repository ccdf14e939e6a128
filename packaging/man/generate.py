#!/usr/bin/python3
"""Writes the manual pages and the bash completion into a directory, made from the agent's own code.

    generate.py DIRECTORY

`agent` and its libraries must be importable, and docutils and shtab (Debian: python3-docutils and
python3-shtab). The date in the pages is that of SOURCE_DATE_EPOCH where it is set.
"""

import sys
from pathlib import Path

import bash_completion
import pages


def main(directory: Path) -> None:
    """Files are named as they are to be installed."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("gluster-ml-agent.8", "agent.yaml.5"):
        source = Path(__file__).with_name(f"{name}.rst")
        (directory / name).write_text(pages.roff(source), encoding="utf-8")
    (directory / "gluster-ml-agent").write_text(bash_completion.script(), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} DIRECTORY")
    main(Path(sys.argv[1]))

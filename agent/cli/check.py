"""`check`: validates a configuration file against this host."""

import argparse
import sys
from collections.abc import Iterable

from agent.cli.exits import INVALID, VALID
from agent.config.files import load_file
from agent.config.problems import ConfigInvalid, ConfigUnreadable
from agent.health.text import clean, plural
from agent.system import mounttable


def execute(args: argparse.Namespace) -> int:
    """0 valid, 1 invalid; one line on stderr for each problem and warning."""
    file = str(args.file or args.config)
    own = (str(args.state_dir), str(args.runtime_dir))
    table = mounttable.read()
    try:
        loaded = load_file(file, mount_table=table, own_paths=own)
    except (ConfigInvalid, ConfigUnreadable) as error:
        _print_all(error.lines)
        return INVALID
    _print_all(f"{line} (warning)" for line in loaded.warning_lines)
    print(f"{clean(file)}: valid, {plural(len(loaded.config.mounts), 'mount')}")
    return VALID


def _print_all(lines: Iterable[str]) -> None:
    for line in lines:
        print(clean(line, 2000), file=sys.stderr)

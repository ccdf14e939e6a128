"""`run`: the daemon."""

import argparse

from agent import daemon


def execute(args: argparse.Namespace) -> int:
    """Runs until told to stop."""
    return daemon.run(args.config, args.runtime_dir, args.state_dir)

"""`check`: validates a configuration file."""

import argparse


def execute(args: argparse.Namespace) -> int:
    """0 valid, 1 invalid."""
    raise NotImplementedError

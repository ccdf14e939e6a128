"""`checkpoints pin` and `unpin`: what is pinned is never cleaned away."""

import argparse
import asyncio
import os

from agent.cli.asked import ask
from agent.cli.exits import PINNED
from agent.health.text import clean


def execute(args: argparse.Namespace) -> int:
    """0; raises AgentError where it could not be done. It acts as the caller."""
    pin = args.command == "checkpoints pin"
    path = os.path.abspath(args.checkpoint)
    row = asyncio.run(ask("pin", path, {"path": path, "pin": pin}))
    words = ("pinned", "was pinned already") if pin else ("not pinned any more", "was not pinned")
    print(f"{clean(path)}: {words[0] if row['changed'] else words[1]} ({clean(row['file'])})")
    return PINNED

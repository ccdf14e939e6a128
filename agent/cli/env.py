"""`env`: the environment for jobs, to be printed."""

import argparse
import sys

from agent.config.files import load_file
from agent.config.problems import ConfigInvalid, ConfigUnreadable
from agent.environment import file, variables
from agent.environment.forms import Form
from agent.environment.variables import Variables
from agent.errors import AgentError
from agent.health.text import clean
from agent.system import mounttable


def execute(args: argparse.Namespace) -> int:
    """0; raises AgentError where there is nothing to go by."""
    found = _by_mount(args)
    if args.mount is not None:
        if args.mount not in found:
            names = ", ".join(found) or "none"
            raise AgentError("unknown-mount", f"no mount is named {args.mount}; there is: {names}")
        found = {args.mount: found[args.mount]}
    sys.stdout.write(variables.text(found, Form(args.format)))
    return 0


def _by_mount(args: argparse.Namespace) -> Variables:
    """Of the file; where that can't be taken, what the agent has in force, as for a login."""
    own = (str(args.state_dir), str(args.runtime_dir))
    table = mounttable.read()
    try:
        loaded = load_file(str(args.config), mount_table=table, own_paths=own)
    except (ConfigInvalid, ConfigUnreadable) as error:
        why = error.lines[0]
    else:
        return variables.of(loaded.config)
    try:
        found = file.read(args.runtime_dir)
    except (OSError, UnicodeDecodeError):
        raise AgentError("no-environment", why) from None
    print(f"gluster-ml-agent: {clean(why, 2000)}; so what is in force is printed", file=sys.stderr)
    return found

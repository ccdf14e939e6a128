"""`ids check`: how this host's users and groups differ from the map of the file."""

import argparse
import asyncio
import sys

from agent.cli.exits import AS_MAPPED, DIFFERS, UNASKED
from agent.config.files import load_file
from agent.config.identities_schema import IdentitiesConfig
from agent.health.text import clean, plural
from agent.identities.facts import Known
from agent.identities.keeper import survey
from agent.identities.lookup import NamesUnknown
from agent.identities.plan import plan
from agent.system import mounttable
from agent.system.children import Children


def execute(args: argparse.Namespace) -> int:
    """0 as in the file, 1 different, 3 the name service does not answer."""
    table = mounttable.read()
    wanted = load_file(str(args.config), mount_table=table).config.identities
    if not wanted.users and not wanted.groups:
        print(f"{clean(args.config)} has no identities")
        return AS_MAPPED
    try:
        known = asyncio.run(_survey(wanted))
    except NamesUnknown as error:
        print(f"gluster-ml-agent: {clean(error, 1000)}", file=sys.stderr)
        return UNASKED
    found = plan(wanted, known)
    told = [
        *(f"lacks {step.describe()}" for step in found.steps),
        *(f"conflict: {line}" for line in found.conflicts),
        *found.crowded,
    ]
    for line in told:
        print(clean(line, 1000))
    if told:
        return DIFFERS
    users, groups = plural(len(wanted.users), "user"), plural(len(wanted.groups), "group")
    print(f"{users} and {groups} are here as in {clean(args.config)}")
    return AS_MAPPED


async def _survey(wanted: IdentitiesConfig) -> Known:
    children = Children()
    try:
        return await survey(children, wanted)
    finally:
        await children.close()

"""docs/configuration.md names every key and option, and its example holds."""

import re

from schema_keys import keys

from agent.config.load import load
from agent.config.options_table import KNOWN, REFUSED
from tests.unit.test_documents import rows, text

TEXT = text("docs/configuration.md")
SECTIONS = {
    "mounts": ("mounts", "NAME"),
    "identities": ("identities",),
    "health": ("health",),
}
"""Headings, and the place of the keys in the table below each."""


def test_the_example_is_valid() -> None:
    example = re.findall("```yaml\n(.*?)```", TEXT, re.DOTALL)[0]
    assert load(example, "example").warnings == ()


def test_the_tables_of_keys_are_the_schema() -> None:
    told = {
        ".".join((*place, row[0].strip("`"))): tuple(cell.replace("`", "") for cell in row[1:3])
        for heading, place in SECTIONS.items()
        for row in rows(TEXT, heading)
        if all(row)
    }
    # A mapping that only holds other keys has no row, nor has `mounts`.
    leaves = {key.dotted: (key.kind, key.default) for key in keys() if key.default}
    del leaves["mounts"]
    assert told == leaves


def test_every_option_is_explained() -> None:
    named = set(re.findall("`([^` ]+)`", TEXT))
    assert set(KNOWN) <= named
    assert {"auto_unmount", "backup-volfile-servers"} <= named & set(REFUSED)

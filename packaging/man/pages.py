"""A manual page: prose of an .rst file, with what the code knows put in by directives.

docutils makes the roff. Text from the code enters as nodes of its document tree, never as markup:
nothing has to be escaped here.
"""

import os
import time
from pathlib import Path

import page_commands
import page_settings
from docutils.core import publish_string
from docutils.parsers.rst import directives
from docutils.writers import manpage

from agent import __version__

for _directive in (
    page_commands.Synopsis,
    page_commands.Commands,
    page_commands.Options,
    page_commands.ExitStatus,
    page_commands.Verdicts,
    page_settings.Keys,
    page_settings.MountOptions,
    page_settings.RefusedOptions,
):
    directives.register_directive(_directive.NAME, _directive)


def roff(source: Path) -> str:
    """The page in man(7). Raises docutils.utils.SystemMessage where the source has a mistake."""
    text = source.read_text(encoding="utf-8")
    text = text.replace("@VERSION@", __version__).replace("@DATE@", _date())
    page: str = publish_string(
        text,
        source_path=str(source),
        writer=manpage.Writer(),
        settings_overrides={
            "_disable_config": True,
            "halt_level": 2,
            "input_encoding": "unicode",
            "output_encoding": "unicode",
        },
    )
    return page


def _date() -> str:
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))

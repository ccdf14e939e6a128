"""`run_names`: the template as a regular expression for names of run directories. Pure."""

import re
import string

_FIELDS = {
    "user": r"[A-Za-z_][A-Za-z0-9._-]*",
    "project": r"[A-Za-z0-9][A-Za-z0-9._-]*",
    # 20261130, 2026-11-30, 20261130-142233, 2026-11-30T14:22:33Z, 1796048553
    "timestamp": r"[0-9]{4}[0-9T:._-]{4,}Z?",
}


def pattern(template: str) -> str:
    """For re.fullmatch of a whole name. The template is a valid one of the file."""
    parts = string.Formatter().parse(template)
    return "".join(
        re.escape(text) + (_FIELDS[field] if field else "") for text, field, _, _ in parts
    )

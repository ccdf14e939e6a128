"""The `environment` of a mount: variables for jobs, with paths on the volume."""

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from agent.config import inner_paths

TOKENS_TOO = frozenset({"HF_HOME"})
"""Directories that hold more than a cache."""

_NAME = re.compile(r"[A-Z][A-Z0-9_]*", re.ASCII)
_DANGEROUS = re.compile(r"PATH|LD_.*|PYTHON.*|ENV|BASH_ENV", re.ASCII)
_SHELL = re.compile(
    r"BASH.*|SHELLOPTS|E?UID|PPID|IFS|HOME|(OLD)?PWD|SHELL|USER|LOGNAME|TERM|PS[0-4]|CDPATH"
    r"|PROMPT_COMMAND|OPT(IND|ARG|ERR)|RANDOM|SECONDS|LINENO|GROUPS|DIRSTACK|FUNCNAME",
    re.ASCII,
)


def variable(name: str) -> str:
    """The name of a variable that jobs may get, as given. Raises ValueError."""
    if not _NAME.fullmatch(name) or len(name) > 255:
        raise ValueError(
            "is no name for a variable: use capitals, digits and underscores, with a letter first"
        )
    if _DANGEROUS.fullmatch(name):
        raise ValueError("decides which code programs run; it is never taken from a shared volume")
    if _SHELL.fullmatch(name):
        raise ValueError("is a variable of the shell's own; choose another")
    return name


Variable = Annotated[str, AfterValidator(variable)]
InnerPath = Annotated[str, BeforeValidator(inner_paths.exported)]

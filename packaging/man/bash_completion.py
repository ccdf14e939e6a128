"""The completion for bash: shtab makes it of the grammar, and here is what it leaves to us.

Debian's completion loader reads it at the first TAB after `gluster-ml-agent`.
"""

import argparse
from collections.abc import Iterator
from string import Template

import shtab

from agent.cli.arguments import PROGRAM, parser

_COMPLETERS = {
    "MOUNT": "_gluster_ml_agent_mounts",
    "FILE": "_gluster_ml_agent_paths",
}
"""By metavar: which function finds the words. Others (DURATION) have none to offer."""

_SHTAB = "_shtab_gluster_ml_agent"
"""What shtab makes of the program's name; its functions and variables begin with it."""

_FUNCTIONS = """\
# Names of mounts: those that the running agent writes of, without a look at any mount.
_gluster_ml_agent_mounts() {
    local directory=${RUNTIME_DIRECTORY:-/run/gluster-ml}
    local names=$(sed -n '/^ "mounts": {$/,/^ }/s/^  "\\([A-Za-z0-9._-]*\\)": {$/\\1/p' \\
        "${directory%%:*}/status.json" 2>/dev/null)
    compgen -W "$names" -- "$1"
}

# Stands for the names of files, which readline itself finds: it knows how to quote them.
_gluster_ml_agent_paths() {
    echo FILE
}
"""

_REGISTRATION = Template("""
# Not `complete -o filenames`: for each word offered readline would then look whether there is a
# directory of that name, and in the directory above a hung mount that look hangs.
_gluster_ml_agent() {
    local prefix word_index sub_parsers completed_positional_actions current_option_strings
    local current_action current_action_args_start_index current_action_choices
    local current_action_compgen current_action_is_positional current_action_nargs
    $shtab "$@"
    if [[ ${COMPREPLY-} == FILE ]]; then
        COMPREPLY=()
        compopt -o default
    fi
}
complete -F _gluster_ml_agent $program

# In an array of one: shtab before 1.5.7 looks at the first of several choices only.
$choices
""")


def script() -> str:
    """The text of a file for /usr/share/bash-completion/completions/."""
    grammar = parser()
    for action in _actions(grammar):
        function = _COMPLETERS.get(str(action.metavar))
        if function:
            action.complete = {"bash": function}  # type: ignore[attr-defined] # what shtab looks for
    made = shtab.complete(grammar, "bash", root_prefix=PROGRAM, preamble=_FUNCTIONS)
    ours = _REGISTRATION.safe_substitute(
        shtab=_SHTAB, program=PROGRAM, choices="\n".join(_choices(grammar, _SHTAB))
    )
    return f"{made}\n{ours}"


def _choices(grammar: argparse.ArgumentParser, prefix: str) -> Iterator[str]:
    """An assignment for each command that has commands below it."""
    for action in grammar._actions:
        if isinstance(action, argparse._SubParsersAction):
            words = "\\n".join(action.choices)
            yield f"{prefix}_pos_0_choices=($'{words}')"
            for word, command in action.choices.items():
                yield from _choices(command, f"{prefix}_{word}")


def _actions(grammar: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in grammar._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)

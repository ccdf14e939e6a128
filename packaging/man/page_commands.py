"""What gluster-ml-agent(8) takes from the command line's grammar, exit codes and verdicts."""

import argparse
from collections.abc import Iterable, Iterator, Mapping

from docutils import nodes
from page_tree import Inline, Made, definitions, paragraph, variable, word

from agent.cli import exits
from agent.cli.arguments import PROGRAM, parser
from agent.model.verdict import Verdict


def subparsers() -> dict[str, argparse.ArgumentParser]:
    """By the command's name, in the order of --help; those of a group with the group's name."""
    return dict(_commands(parser(), ""))


def _commands(
    grammar: argparse.ArgumentParser, name: str
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    groups = [a for a in grammar._actions if isinstance(a, argparse._SubParsersAction)]
    if not groups:
        yield name, grammar
    for group in groups:
        for word_, command in group.choices.items():
            yield from _commands(command, f"{name} {word_}".strip())


class Synopsis(Made):
    """One line for each command."""

    NAME = "synopsis"

    def run(self) -> list[nodes.Node]:
        lines = nodes.line_block()
        for name, command in subparsers().items():
            said = [nodes.strong("", PROGRAM), *_text(" "), nodes.strong("", name)]
            lines += nodes.line("", "", *said, *_usage(_own_actions(command)))
        return [lines]


class Commands(Made):
    """Each command with its arguments."""

    NAME = "commands"

    def run(self) -> list[nodes.Node]:
        return [definitions(_command(*item) for item in subparsers().items())]


class Options(Made):
    """What every command takes."""

    NAME = "options"

    def run(self) -> list[nodes.Node]:
        return [definitions(_argument(a) for a in parser()._actions if a.option_strings)]


class ExitStatus(Made):
    """The codes of each command, then those of all."""

    NAME = "exit-status"

    def run(self) -> list[nodes.Node]:
        by_command = [(word(name), [_codes(exits.COMMANDS[name])]) for name in subparsers()]
        every = ([nodes.Text("every command")], [_codes(exits.EVERYWHERE)])
        return [definitions([*by_command, every])]


class Verdicts(Made):
    """In the order of judgement."""

    NAME = "verdicts"

    def run(self) -> list[nodes.Node]:
        return [definitions((word(v.value), [_verdict(v)]) for v in Verdict)]


def _verdict(verdict: Verdict) -> nodes.paragraph:
    means = verdict.meaning[0].upper() + verdict.meaning[1:]
    does = verdict.response
    return paragraph(f"{means}. The agent {does}. Exit status {verdict.exit_code}.")


def _codes(codes: Mapping[int, str]) -> nodes.definition_list:
    return definitions((word(str(code)), [paragraph(text)]) for code, text in codes.items())


def _command(name: str, command: argparse.ArgumentParser) -> tuple[Inline, list[nodes.Node]]:
    actions = _own_actions(command)
    body: list[nodes.Node] = [paragraph(p) for p in str(command.description).split("\n\n")]
    if actions:
        body.append(definitions(map(_argument, actions)))
    return [*word(name), *_usage(actions)], body


def _own_actions(command: argparse.ArgumentParser) -> list[argparse.Action]:
    """Without those that stand under OPTIONS."""
    common = {option for action in parser()._actions for option in action.option_strings}
    return [action for action in command._actions if not common & set(action.option_strings)]


def _usage(actions: Iterable[argparse.Action]) -> Iterator[nodes.Node]:
    for action in actions:
        yield from _text(" " if action.required else " [")
        yield from _invocation(action)
        yield from _text("" if action.required else "]")


def _argument(action: argparse.Action) -> tuple[Inline, list[nodes.Node]]:
    text = str(action.help)
    return list(_invocation(action)), [paragraph(text[0].upper() + text[1:] + ".")]


def _invocation(action: argparse.Action) -> Iterator[nodes.Node]:
    yield from _text(", ".join(action.option_strings))
    if action.option_strings and action.nargs != 0:
        yield from _text(" ")
    if action.nargs != 0:
        yield variable(str(action.metavar))


def _text(text: str) -> Iterator[nodes.Text]:
    if text:
        yield nodes.Text(text)

"""What the documents say of the code, where it is cheap to hold them to it."""

import argparse
import re
from pathlib import Path

import pytest

from agent.cli.arguments import parser
from agent.config.load import load
from agent.events import Event
from agent.health.schema import to_dict
from agent.model.verdict import Verdict
from tests.unit.health.samples import HUNG, IDENTITIES, agent_status

REPOSITORY = Path(__file__).parents[2]
DOCUMENTS = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md")])
NAMES = [str(document.relative_to(REPOSITORY)) for document in DOCUMENTS]


def text(name: str) -> str:
    return (REPOSITORY / name).read_text()


def rows(document: str, heading: str) -> list[list[str]]:
    """The cells of the table rows below a heading, to the next one, without the table's head."""
    section = re.split(rf"^#+ {heading}$", document, flags=re.MULTILINE)[1]
    section = re.split(r"^#+ ", section, flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def anchors(document: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", document, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def commands(
    grammar: argparse.ArgumentParser | None = None, before: str = ""
) -> dict[str, argparse.ArgumentParser]:
    """Each command by its name, those below another with its name before theirs."""
    found: dict[str, argparse.ArgumentParser] = {}
    grammar = grammar or parser()
    for action in grammar._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, command in action.choices.items():
                found |= commands(command, f"{before}{word} ")
    return found or {before.strip(): grammar}


@pytest.mark.parametrize("name", NAMES)
def test_every_relative_link_resolves(name: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text(name)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (REPOSITORY / name).parent / path if path else REPOSITORY / name
        assert file.exists(), f"{name}: {target}"
        assert not anchor or anchor in anchors(file.read_text()), f"{name}: {target}"


@pytest.mark.parametrize("name", NAMES)
def test_every_file_named_in_words_exists(name: str) -> None:
    # Absolute paths are those of a host, not of the repository.
    named = re.findall(r"(?<![\w/-])(?:docs|agent|tests|systemd|etc)/[\w/.-]+\.\w+", text(name))
    for path in set(named):
        assert (REPOSITORY / path).exists(), f"{name}: {path}"


def test_every_module_named_in_words_exists() -> None:
    modules = {path.name for path in REPOSITORY.glob("*/**/*.py") if ".venv" not in path.parts}
    for name in NAMES:
        assert set(re.findall(r"\b[a-z_]+\.py\b", text(name))) <= modules


@pytest.mark.parametrize("name", NAMES)
def test_every_make_target_exists(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), flags=re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z][a-z-]*)", " ".join(code(text(name)))))
    assert named <= targets


def code(document: str) -> list[str]:
    """What stands in backticks, fences and indented blocks."""
    fenced = re.findall(r"^```\w*\n(.*?)^```", document, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^    (?! ).*$", document, flags=re.MULTILINE)
    return [*fenced, *indented, *re.findall(r"`([^`\n]+)`", document)]


def test_the_table_of_verdicts_is_that_of_the_code() -> None:
    table = [
        tuple(cell.replace("`", "") for cell in row) for row in rows(text("README.md"), "Verdicts")
    ]
    assert table == [(v.value, v.meaning, v.response, str(v.exit_code)) for v in Verdict]


def test_the_example_of_a_configuration_is_valid() -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```", text("README.md"), re.MULTILINE | re.DOTALL)
    assert load(example, "agent.yaml").warnings == ()


def test_the_exit_codes_of_status_name_every_verdict() -> None:
    for line in text("docs/status.md").splitlines():
        if found := re.match(r"\| ([012]) \| (?:OK|WARNING|CRITICAL) \|(.*)", line):
            expected = {v.value for v in Verdict if v.exit_code == int(found[1])}
            assert set(re.findall(r"`([a-z-]+)`", found[2])) == expected


def test_the_table_of_commands_is_that_of_the_program() -> None:
    named = [
        re.match(r"`gluster-ml-agent ([a-z]+(?: [a-z]+)*)", row[0])
        for row in rows(text("README.md"), "Commands")
    ]
    assert [match and match[1] for match in named] == list(commands())


@pytest.mark.parametrize("name", NAMES)
def test_every_command_shown_exists(name: str) -> None:
    command = re.compile(r"gluster-ml-agent ((?:(?:ids|checkpoints|trash) )?[a-z]+)\b(.*)")
    for piece in code(text(name)):
        for word, rest in command.findall(piece):
            assert word in commands(), f"{name}: {piece}"
            known = commands()[word].format_help()
            assert all(option in known for option in re.findall(r"--[a-z]+", rest)), piece


def test_the_table_of_events_is_that_of_the_code() -> None:
    table = [
        tuple(cell.strip("`") for cell in row[:3])
        for row in rows(text("docs/journal.md"), "Events")
    ]
    assert table == [(e.word, e.message_id, e.priority.name.lower()) for e in Event]


def test_every_key_of_the_status_is_explained() -> None:
    told = set(re.findall(r"`([a-z_.]+)`", text("docs/status.md")))
    shown = to_dict(agent_status(HUNG, identities=IDENTITIES))
    config, mounts, identities = shown.pop("config"), shown.pop("mounts"), shown["identities"]
    assert isinstance(config, dict)
    assert isinstance(mounts, dict)
    assert isinstance(identities, dict)
    inner = {f"config.{key}" for key in config} | set(mounts[HUNG.name]) | set(identities)
    assert set(shown) | inner <= told

"""The manual pages, as the generator makes them of the code."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from schema_keys import keys

from agent import __version__
from agent.cli import exits
from agent.config.options_table import IGNORED, KNOWN, REFUSED, WARNINGS
from agent.model.verdict import Verdict
from tests.unit.conftest import DATE
from tests.unit.test_documents import commands

PAGES = ("gluster-ml-agent.8", "agent.yaml.5")
UTF8 = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def shown(made: Path, page: str, width: int = 200) -> str:
    """A page as man shows it, without its bold and underlined letters, white space made one."""
    environ = {**UTF8, "MANWIDTH": str(width), "MAN_KEEP_FORMATTING": "", "MANOPT": "--nh --nj"}
    arguments = ["man", "-l", str(made / page)]
    done = subprocess.run(arguments, check=True, env=environ, capture_output=True, timeout=120)
    return " ".join(re.sub(r".\x08", "", done.stdout.decode()).split())


def section(page: str, begin: str, end: str) -> str:
    return page.partition(f" {begin} ")[2].partition(f" {end} ")[0]


@pytest.fixture(scope="module")
def program(made: Path) -> str:
    return shown(made, "gluster-ml-agent.8")


@pytest.fixture(scope="module")
def configuration(made: Path) -> str:
    return shown(made, "agent.yaml.5")


def test_what_is_written_is_named_as_it_is_installed(made: Path) -> None:
    assert {path.name for path in made.iterdir()} == {*PAGES, "gluster-ml-agent"}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "checker",
    [
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"],
        ["groff", "-man", "-ww", "-z", "-Kutf8", "-Tutf8"],
        ["mandoc", "-T", "lint", "-W", "error"],
    ],
    ids=lambda checker: str(checker[0]),
)
def test_the_pages_are_clean(made: Path, page: str, checker: list[str]) -> None:
    done = subprocess.run(
        [*checker, page], check=False, cwd=made, env=UTF8, capture_output=True, timeout=120
    )
    linted = done.stdout if checker[0] == "mandoc" else b""
    assert (done.returncode, (linted + done.stderr).decode()) == (0, "")


@pytest.mark.parametrize(
    ("page", "whatis"),
    [
        (PAGES[0], "gluster-ml-agent - keep the GlusterFS mounts of a host alive, and say how"),
        (PAGES[1], "agent.yaml - configuration of gluster-ml-agent"),
    ],
)
def test_whatis_finds_the_pages(made: Path, page: str, whatis: str) -> None:
    done = subprocess.run(["lexgrog", page], cwd=made, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f'{page}: "{whatis}')


@pytest.mark.parametrize("page", PAGES)
def test_date_and_version_are_given_from_outside(made: Path, page: str) -> None:
    header = next(line for line in (made / page).read_text().splitlines() if ".TH" in line)
    assert DATE in header.replace("\\", "")
    assert f"gluster-ml-agent {__version__}" in header.replace("\\", "")


def test_the_program_s_page_has_the_sections_of_a_manual_page(made: Path) -> None:
    found = re.findall(r"^\.SH (.*)$", (made / PAGES[0]).read_text(), re.MULTILINE)
    assert [heading.strip('"').upper() for heading in found] == [
        *("NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "VERDICTS", "EXIT STATUS"),
        *("ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"),
    ]


def test_every_command_is_there_with_its_arguments(program: str) -> None:
    synopsis = section(program, "SYNOPSIS", "DESCRIPTION")
    told = section(program, "COMMANDS", "VERDICTS")
    for name, command in commands().items():
        assert f"gluster-ml-agent {name}" in synopsis
        assert " ".join(str(command.description).split()) in told
        for action in command._actions:
            assert all(option in told for option in action.option_strings)
            assert str(action.help)[1:] in told
    assert "gluster-ml-agent status [MOUNT] [--json]" in synopsis
    assert "gluster-ml-agent wait MOUNT [--timeout DURATION]" in synopsis


def test_every_exit_status_is_there(program: str) -> None:
    told = section(program, "EXIT STATUS", "ENVIRONMENT")
    assert list(exits.COMMANDS) == list(commands())
    for codes in (*exits.COMMANDS.values(), exits.EVERYWHERE):
        for code, text in codes.items():
            assert f"{code} {text}" in told


def test_every_verdict_is_there(program: str) -> None:
    told = section(program, "VERDICTS", "EXIT STATUS")
    places = [told.index(f"{v.value} {v.meaning[0].upper()}{v.meaning[1:]}.") for v in Verdict]
    assert places == sorted(places)
    for verdict in Verdict:
        assert f"The agent {verdict.response}. Exit status {verdict.exit_code}." in told


def test_every_key_is_there_with_a_description(configuration: str) -> None:
    told = section(configuration, "KEYS", "MOUNT OPTIONS")
    for key in keys():
        assert re.fullmatch(r"[A-Z{].{20,}\.", key.description), f"{key.dotted}: say what it is for"
        assert f" {key.dotted} {key.kind}" in f" {told}"
        assert " ".join(key.description.split()) in told


def test_every_mount_option_is_there(configuration: str) -> None:
    told = section(configuration, "MOUNT OPTIONS", "FILES")
    for option in KNOWN:
        assert re.search(rf" {option} (flag|boolean|one of|text|-?[0-9]+ to )", told), option
    for option in (*REFUSED, *IGNORED):
        assert re.search(rf"[ ,]{option}[ ,]", told), option
    assert all(warning in told for warning in WARNINGS.values())
    assert "gid-timeout 0 to 2147483647 seconds; default: 300 " in told


def test_the_pages_fit_a_terminal(made: Path) -> None:
    for page in PAGES:
        arguments = ["man", "-l", str(made / page)]
        environ = {**UTF8, "MANWIDTH": "80"}
        done = subprocess.run(arguments, check=True, env=environ, capture_output=True, timeout=120)
        assert max(len(line) for line in done.stdout.decode().splitlines()) <= 80

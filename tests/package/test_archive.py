"""apt takes nothing from a repository that is not what its owner signed."""

import re
from collections.abc import Iterator

import pytest

from tests.lab.host import Host
from tests.package.apt import NAME, apt
from tests.package.shop import BAD, GOOD, Shop

APART = "/root/apart"
"""Where apt keeps what it knows of one repository, apart from all else it knows."""


@pytest.fixture(autouse=True)
def apart(machine: Host) -> Iterator[None]:
    machine.run(["mkdir", "-p", f"{APART}/lists/partial"])
    yield
    machine.run(["rm", "-r", APART])


def fetched(machine: Host) -> tuple[bool, str]:
    """Whether apt fetches the package from the one repository known there; all it said."""
    places = {
        "Etc::sourcelist": "/dev/null",
        "Etc::sourceparts": APART,
        "State::lists": f"{APART}/lists",
    }
    options = [f"--option=Dir::{key}={value}" for key, value in places.items()]
    said = apt(machine, *options, "update", check=False)
    got = apt(machine, *options, "download", NAME, check=False, around=["env", f"--chdir={APART}"])
    there = [path.name for path in machine.path(APART).glob("*.deb")]
    assert (got.returncode == 0) == bool(there)
    return bool(there), said.stdout + said.stderr + got.stdout + got.stderr


def test_what_was_signed_is_fetched(machine: Host, shop: Shop) -> None:
    shop.known_to(machine, GOOD, APART)
    there, said = fetched(machine)
    assert there, said


def test_a_folder_will_do_as_well_as_a_web_server(machine: Host, shop: Shop) -> None:
    shop.copied_to(machine, "/srv/copy", APART)
    there, said = fetched(machine)
    machine.run(["rm", "-r", "/srv/copy"])
    assert there, said


@pytest.mark.parametrize("name", BAD)
def test_what_was_not_signed_is_refused(machine: Host, shop: Shop, name: str) -> None:
    shop.known_to(machine, name, APART)
    there, said = fetched(machine)
    assert not there
    assert re.search(BAD[name], said)

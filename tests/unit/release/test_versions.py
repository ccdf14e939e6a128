"""Versions: their order in the tree, and the same order by dpkg on a host."""

import itertools
import subprocess

import pytest
import versions
from versions import Problem, parse

RISING = (
    "0.1.0-alpha.1",
    "0.1.0-beta.2",
    "0.1.0-beta.10",
    "0.1.0-rc.1",
    "0.1.0",
    "0.1.1",
    "0.10.0",
)


def test_sorted_as_released() -> None:
    parsed = [parse(text, "here") for text in RISING]
    assert parsed == sorted(parsed, key=lambda version: version)
    assert [str(version) for version in parsed] == list(RISING)
    assert len(set(parsed)) == len(RISING)


def test_dpkg_sorts_them_alike() -> None:
    """Also the candidates before the release, and each release of Debian before the next one."""
    known = [
        parse(text, "here").debian(codename)
        for text in RISING
        for codename in ("bookworm", "trixie")
    ]
    assert known[-2:] == ["0.10.0~deb12u1", "0.10.0~deb13u1"]
    for older, newer in itertools.pairwise(known):
        subprocess.run(["dpkg", "--compare-versions", older, "lt", newer], check=True)


@pytest.mark.parametrize(
    "text", ["", "1", "1.2", "v1.2.3", "01.2.3", "1.2.3-rc", "1.2.3-x.1", "1.2.3\n"]
)
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(Problem, match=r"^here: not a version: "):
        parse(text, "here")


def test_an_unknown_release() -> None:
    with pytest.raises(Problem, match="buster: no packages are built for it, but for bookworm and"):
        parse("1.0.0", "here").debian("buster")


def test_declared_and_declared_anew() -> None:
    init = '"""Words."""\n\n__version__ = "0.1.0"\n'
    assert versions.declared(init) == parse("0.1.0", "here")
    changed = versions.declare(init, parse("0.2.0-rc.1", "here"))
    assert changed == init.replace("0.1.0", "0.2.0-rc.1")
    for broken in ("", init + init, "__version__ = VERSION\n"):
        with pytest.raises(Problem, match="needs one line of the form"):
            versions.declared(broken)


def test_the_checkout_has_one() -> None:
    assert versions.of_checkout() >= parse("0.1.0", "here")

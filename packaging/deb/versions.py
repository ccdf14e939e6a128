"""Versions: semantic ones in the tree, Debian's on a host.

Standard library only, as all of packaging/deb: it runs under the python3 of each Debian release.
"""

import re
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
INIT = "agent/__init__.py"
# Debian's number of each release that packages are built for.
RELEASES = {"bookworm": 12, "trixie": 13}

_NUMBER = r"(0|[1-9][0-9]*)"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-(alpha|beta|rc)\.{_NUMBER})?")
_ASSIGNMENT = re.compile(r'^__version__ = "([^"\n]*)"$', re.MULTILINE)


class Problem(Exception):
    """What is wrong, where, and what to do about it."""


@dataclass(frozen=True, order=True)
class Version:
    """A semantic version; sorts as https://semver.org says."""

    numbers: tuple[int, int, int]
    # The alphabet has these in the right order: alpha, beta, rc, release.
    stage: tuple[str, int] = ("release", 0)

    def __str__(self) -> str:
        name, count = self.stage
        return ".".join(map(str, self.numbers)) + (f"-{name}.{count}" if name != "release" else "")

    def debian(self, codename: str) -> str:
        """The package's version for that Debian release: 0.1.0~deb12u1.

        A release candidate is 0.2.0~~rc.1~deb12u1: with one tilde it would sort after
        0.2.0~deb12u1, and no host would ever go from the candidate to the release.
        """
        return f"{str(self).replace('-', '~~')}~deb{number(codename)}u1"


def number(codename: str) -> int:
    """Debian's number of a release. Raises Problem."""
    if codename not in RELEASES:
        known = " and ".join(RELEASES)
        raise Problem(f"{codename}: no packages are built for it, but for {known}")
    return RELEASES[codename]


def parse(text: str, where: str) -> Version:
    """A semantic version. where: names the place in errors. Raises Problem."""
    found = _VERSION.fullmatch(text)
    if found is None:
        raise Problem(f"{where}: not a version: {text!r}; write 1.2.3, or 1.2.3-rc.1 (alpha, beta)")
    major, minor, patch, stage, count = found.groups()
    numbers = (int(major), int(minor), int(patch))
    return Version(numbers, (stage, int(count))) if stage else Version(numbers)


def declared(init: str) -> Version:
    """The version in the text of agent/__init__.py, the only place that has it. Raises Problem."""
    found = _ASSIGNMENT.findall(init)
    if len(found) != 1:
        raise Problem(f'{INIT}: needs one line of the form __version__ = "0.1.0"')
    return parse(found[0], INIT)


def declare(init: str, version: Version) -> str:
    """That text with another version."""
    return _ASSIGNMENT.sub(f'__version__ = "{version}"', init)


def of_checkout(root: Path = REPOSITORY) -> Version:
    """The version of a checkout. Raises Problem."""
    return declared((root / INIT).read_text(encoding="utf-8"))

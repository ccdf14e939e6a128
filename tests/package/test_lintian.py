"""Debian's own checker has nothing against the package."""

from pathlib import Path

from tests.lab.shell import run


def test_lintian_finds_nothing(package: Path) -> None:
    """No error and no warning; each override has its reason in its file."""
    done = run(["lintian", "--allow-root", "--fail-on=error,warning", str(package)], timeout=300)
    assert done.stdout == ""

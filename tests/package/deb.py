"""Debian packages in the hand: what they say of themselves, and others made of them."""

from collections.abc import Callable
from pathlib import Path

from tests.lab.shell import run


def field(package: Path, name: str) -> str:
    """A field of its control file."""
    return run(["dpkg-deb", "--field", str(package), name]).stdout.strip()


def successor(package: Path, version: str, folder: Path, change: Callable[[Path], None]) -> Path:
    """The same package at another version, which its agent tells as its own; in folder.

    change: gets the root of its files, to change some.
    """
    tree = folder / version
    run(["dpkg-deb", "--raw-extract", str(package), str(tree)])
    _replace(
        tree / "DEBIAN/control", f"Version: {field(package, 'Version')}", f"Version: {version}"
    )
    module = tree / "usr/lib/gluster-ml-agent/agent/__init__.py"
    (line,) = [line for line in module.read_text().splitlines() if line.startswith("__version__")]
    _replace(module, line, f'__version__ = "{version}"')
    change(tree)
    made = folder / f"{package.name.split('_')[0]}_{version}_{field(package, 'Architecture')}.deb"
    run(["dpkg-deb", "--build", "-Znone", str(tree), str(made)])
    return made


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{file}: {old}"
    file.write_text(text.replace(old, new))

"""bundle.py DIRECTORY COPYRIGHT: what pip installed there -> what a package may ship.

Moves the licence of each bundled library into the package's copyright file (appended, one
paragraph a library), where Debian's users look for it, and removes what only pip needs and what
nothing here uses.
"""

import shutil
import sys
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

PLACE = "usr/lib/gluster-ml-agent"
KEPT = {"METADATA"}
"""Of a library's dist-info: by it a library knows its own version."""

LIBYAML = "yaml/_yaml.*.so"
"""The agent parses YAML in Python: libyaml, which PyYAML's wheel has in it, would only be one more
library in C to keep safe."""

APACHE = "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION"
COMMON = "The text of Apache-2.0 is in /usr/share/common-licenses/Apache-2.0."
"""Debian has licences of many packages once, in a place of their own (Policy 12.5)."""


def main(directory: Path, copyright_file: Path) -> None:
    """Turn the one directory into a bundle, and tell of it in the copyright file."""
    shutil.rmtree(directory / "bin", ignore_errors=True)  # commands of libraries, nobody's here
    for unused in directory.glob(LIBYAML):
        unused.unlink()
    found = sorted(directory.glob("*.dist-info"))
    if not found:
        sys.exit(f"{directory}: no libraries; wheels/ is empty?")
    with copyright_file.open("a") as out:
        for info in found:
            out.write(_paragraph(directory, info))
    for info in found:
        _strip(info)


def _paragraph(directory: Path, info: Path) -> str:
    metadata = HeaderParser().parsestr((info / "METADATA").read_text())
    name = metadata["Name"]
    text = _licence_texts(info, metadata)
    if not text:
        sys.exit(f"{info}: no licence text; {name} can't be shipped without it")
    holders = [line.strip() for line in text.splitlines() if line.lstrip().startswith("Copyright")]
    fields = {
        "Files": " ".join(f"{PLACE}/{top}*" for top in _tops(directory, info)),
        "Copyright": "\n ".join(dict.fromkeys(holders)) or f"the authors of {name}",
        "License": f"{_licence(metadata)}, as of {name}\n{_indented(text)}",
    }
    return "\n" + "".join(f"{key}: {value}\n" for key, value in fields.items())


def _licence_texts(info: Path, metadata: Message) -> str:
    named = [str(name) for name in metadata.get_all("License-File", [])]
    places = [info / "licenses" / name for name in named] + [info / name for name in named]
    texts = [place.read_text().strip() for place in places if place.is_file()]
    return "\n\n".join(COMMON if APACHE in text else text for text in texts)


def _licence(metadata: Message) -> str:
    return str(metadata["License-Expression"] or metadata["License"]).replace(" ", "-")


def _tops(directory: Path, info: Path) -> list[str]:
    """The names that the library has in the bundle, its dist-info included."""
    rows = (info / "RECORD").read_text().splitlines()
    tops = {row.split(",")[0].split("/")[0] for row in rows}
    return sorted(top for top in tops if (directory / top).exists())


def _indented(text: str) -> str:
    return "\n".join(f" {line}" if line.strip() else " ." for line in text.splitlines())


def _strip(info: Path) -> None:
    for entry in info.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name not in KEPT:
            entry.unlink()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))

"""What an administrator does with packages on a host: apt, asked nothing and answering nothing."""

import re
import textwrap
from collections.abc import Sequence

from tests.lab.host import Host
from tests.lab.shell import Done
from tests.lab.subject import REPOSITORY

NAME = "gluster-ml-agent"
README = REPOSITORY / "README.md"
SOURCES = "/etc/apt/sources.list.d"
PATIENT = 300.0
"""Seconds for one run of apt on a busy machine."""


def apt(host: Host, *arguments: str, check: bool = True, around: Sequence[str] = ()) -> Done:
    """Run apt-get as configuration management does: nobody answers its questions.

    around: a command that runs it.
    """
    apt_get = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "--quiet=2"]
    return host.run([*around, *apt_get, *arguments], check=check, timeout=PATIENT)


def add_source(host: Host, name: str, url: str, key: str, folder: str) -> None:
    """Make a repository known, as the README tells. key: the public one; folder: of sources."""
    text = README.read_text()
    (block,) = re.findall(r"^    Types: deb\n(?:    .*\n)+", text, re.MULTILINE)
    source = textwrap.dedent(block).replace("https://apt.example.com/gluster-ml", url)
    host.write(f"{folder}/{name}.sources", source.replace("bookworm", codename(host)))
    (keyring,) = re.findall(r"^Signed-By: (\S+)$", source, re.MULTILINE)
    host.write(keyring, key)


def codename(host: Host) -> str:
    """Of the host's Debian release."""
    lines = host.read("/etc/os-release").splitlines()
    return dict(line.split("=", 1) for line in lines)["VERSION_CODENAME"]


def version(host: Host) -> str:
    """Of the installed package, "" if it is not installed or half so."""
    shown = ["dpkg-query", "--show", "--showformat=${db:Status-Abbrev}${Version}", NAME]
    said = host.run(shown, check=False).stdout
    return said[3:].strip() if said.startswith("ii ") else ""


def conf(*choices: str) -> Sequence[str]:
    """How dpkg is to settle what it would ask about conffiles: conf("confold")."""
    return [f"--option=Dpkg::Options::=--force-{choice}" for choice in choices]

"""CHANGELOG.md becomes debian/changelog."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import changelog
import pytest
from keepachangelog import parse
from versions import REPOSITORY, Problem
from versions import parse as version

MAINTAINER = "Some One <someone@example.org>"
COMMIT = datetime(2026, 12, 24, 17, 30, tzinfo=UTC)
LONG = "a verdict with much evidence, " * 6
TEXT = f"""# Changelog

The form is that of [Keep a Changelog](https://keepachangelog.com/).

## [Unreleased]

### Added

- A **new** thing, see [the manual](docs/manual.md):
  `gluster-ml-agent status` tells of it.
  - One part of it.

### Fixed

- {LONG}

### Security

## [0.2.0-rc.1] - 2026-12-01

A candidate, of two
lines.

## [0.1.0] - 2026-12-01

- First.

[0.1.0]: https://example.org/v0.1.0
"""


def made(text: str, declared: str = "0.2.0", codename: str = "bookworm") -> str:
    entries = changelog.released(parse(text), version(declared, "here"))
    return changelog.render(entries, codename, MAINTAINER, COMMIT)


def test_every_entry_newest_first() -> None:
    wrapped = changelog.plain(parse(f"## [Unreleased]\n### Fixed\n- {LONG}\n")[0].items)
    assert made(TEXT) == (
        "gluster-ml-agent (0.2.0~deb12u1) bookworm; urgency=medium\n"
        "\n"
        "  * Added:\n"
        "    - A new thing, see the manual: `gluster-ml-agent status` tells of it.\n"
        "      + One part of it.\n"
        f"{wrapped}\n"
        "\n"
        f" -- {MAINTAINER}  Thu, 24 Dec 2026 17:30:00 +0000\n"
        "\n"
        "gluster-ml-agent (0.2.0~~rc.1~deb12u1) bookworm; urgency=medium\n"
        "\n"
        "  * A candidate, of two lines.\n"
        "\n"
        f" -- {MAINTAINER}  Tue, 01 Dec 2026 00:01:00 +0000\n"
        "\n"
        "gluster-ml-agent (0.1.0~deb12u1) bookworm; urgency=medium\n"
        "\n"
        "  * First.\n"
        "\n"
        f" -- {MAINTAINER}  Tue, 01 Dec 2026 00:00:00 +0000\n"
    )
    assert len(wrapped.splitlines()) == 4
    assert all(len(line) < 80 for line in wrapped.splitlines())


def test_debian_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "changelog"
    path.write_text(made(TEXT, codename="trixie"))
    command = ["dpkg-parsechangelog", "--all", "--file", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""  # no warning
    fields = dict(re.findall(r"^([A-Z][\w-]+): (.+)$", done.stdout, re.MULTILINE))
    assert fields["Version"] == "0.2.0~deb13u1"
    assert fields["Distribution"] == "trixie"
    assert fields["Maintainer"] == MAINTAINER
    assert int(fields["Timestamp"]) == COMMIT.timestamp()
    assert done.stdout.count("urgency=medium") == 3


def test_an_empty_place_for_the_next_changes_is_passed_over() -> None:
    text = "## [Unreleased]\n\n### Added\n\n## [0.1.0] - 2026-12-01\n\n- First.\n"
    assert made(text, "0.1.0").startswith("gluster-ml-agent (0.1.0~deb12u1) bookworm;")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Changelog\n", "CHANGELOG.md: has no version"),
        ("## 0.2.0\n- x\n", "CHANGELOG.md:1: write '## [0.1.0] - 2026-01-31'"),
        ("\n## [0.2] - 2026-12-01\n- x\n", "CHANGELOG.md:2: not a version: '0.2'"),
        ("## [0.2.0]\n- x\n", "CHANGELOG.md:1: a version needs its day or 'Unreleased'"),
        ("## [Unreleased] - 2026-12-01\n", "CHANGELOG.md:1: a version needs its day"),
        ("## [0.2.0] - 2026-02-30\n- x\n", "CHANGELOG.md:1: not a day: '2026-02-30'"),
        ("## [0.2.0] - 2026-12-01\n", "CHANGELOG.md:1: 0.2.0 has no changes"),
        ("## [Unreleased]\n", "CHANGELOG.md:1: has no changes"),
        (
            "## [0.1.9] - Unreleased\n- x\n",
            "CHANGELOG.md:1: is about 0.1.9, agent/__init__.py says 0.2",
        ),
        (
            "## [Unreleased]\n- x\n## [0.2.0] - 2026-12-01\n- y\n",
            "CHANGELOG.md:1: has changes, but agent/__init__.py still says 0.2.0, which is rel",
        ),
        (
            "## [0.2.0] - 2026-12-01\n- x\n## [0.3.0] - 2026-12-01\n- y\n",
            "CHANGELOG.md:3: 0.3.0 stands below 0.2.0",
        ),
        (
            "## [0.2.0] - 2026-12-01\n- x\n## [0.1.0] - 2026-12-02\n- y\n",
            "CHANGELOG.md:1: 2026-12-01 is before the day of 0.1.0",
        ),
        (
            "## [0.2.0] - 2026-12-01\n- x\n## [0.1.0] - Unreleased\n- y\n",
            "CHANGELOG.md:3: what is unreleased stands on top",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(Problem, match=f"^{re.escape(said)}"):
        made(text)


def test_an_unreleased_version_needs_its_time() -> None:
    entries = changelog.released(parse("## [0.2.0] - Unreleased\n- x\n"), version("0.2.0", "here"))
    with pytest.raises(Problem, match=r"CHANGELOG.md:1: is unreleased, so its time is missing"):
        changelog.render(entries, "bookworm", MAINTAINER, None)


def test_the_maintainer_is_that_of_the_package() -> None:
    control = f"Source: gluster-ml-agent\nMaintainer: {MAINTAINER}\nSection: admin\n"
    assert changelog.maintainer(control) == MAINTAINER
    with pytest.raises(Problem, match="needs a line 'Maintainer: Name <address>'"):
        changelog.maintainer("Source: gluster-ml-agent\nMaintainer: someone\n")


def test_that_of_this_repository(tmp_path: Path) -> None:
    """By the script, as the build runs it."""
    script = REPOSITORY / "packaging/deb/changelog.py"
    command = [sys.executable, str(script), "--release", "bookworm", "--date", "1798000000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    path = tmp_path / "changelog"
    path.write_text(done.stdout)
    parsed = ["dpkg-parsechangelog", "--file", str(path), "--show-field", "Source"]
    assert subprocess.check_output(parsed, text=True) == "gluster-ml-agent\n"
    changes = [line for line in done.stdout.splitlines() if not line.startswith(" -- ")]
    assert max(len(line) for line in changes) < 80

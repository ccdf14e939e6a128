"""Whether a release may be, and what it changes."""

import re
from dataclasses import replace
from datetime import date

import pytest
from releaseplan import State, plan
from versions import Problem

TODAY = date(2026, 12, 24)
HEAD = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing, **new**.\n"
FIRST = "\n## [0.1.0] - 2026-12-01\n\n- First.\n"
STATE = State(
    branch="main",
    changes=(),
    tags=frozenset({"v0.1.0", "other"}),
    changelog=HEAD + FIRST,
    init='__version__ = "0.1.0"\n',
)


def test_what_it_changes() -> None:
    made = plan(STATE, "0.2.0", TODAY)
    assert made.files == {
        "CHANGELOG.md": HEAD.replace("[Unreleased]", "[0.2.0] - 2026-12-24") + FIRST,
        "agent/__init__.py": '__version__ = "0.2.0"\n',
    }
    assert (made.subject, made.tag) == ("Version 0.2.0", "v0.2.0")
    assert made.notes == "gluster-ml-agent 0.2.0\n\n  * Added:\n    - A thing, new.\n"


def test_the_first_one() -> None:
    """Of a tree that has named its version all along."""
    text = "## [0.1.0] - Unreleased\n- First.\n"
    made = plan(replace(STATE, tags=frozenset(), changelog=text), "0.1.0", TODAY)
    assert made.files["CHANGELOG.md"] == "## [0.1.0] - 2026-12-24\n- First.\n"
    assert made.files["agent/__init__.py"] == STATE.init


def test_a_version_that_turned_out_higher() -> None:
    text = "## [0.1.1] - Unreleased\n- More than was meant.\n" + FIRST
    made = plan(replace(STATE, changelog=text, init='__version__ = "0.1.1"\n'), "0.2.0", TODAY)
    assert made.files["CHANGELOG.md"].startswith("## [0.2.0] - 2026-12-24\n")


def test_a_candidate_and_then_the_release() -> None:
    assert plan(STATE, "0.2.0-rc.1", TODAY).tag == "v0.2.0-rc.1"
    after = replace(STATE, tags=STATE.tags | {"v0.2.0-rc.1"}, init='__version__ = "0.2.0-rc.1"\n')
    assert plan(after, "0.2.0", TODAY).tag == "v0.2.0"


@pytest.mark.parametrize(
    ("state", "wanted", "said"),
    [
        (STATE, "", "make release VERSION=...: not a version: ''"),
        (STATE, "v0.2.0", "make release VERSION=...: not a version: 'v0.2.0'"),
        (replace(STATE, branch=""), "0.2.0", "HEAD is on no branch"),
        (
            replace(STATE, changes=(" M README.md", "?? a b")),
            "0.2.0",
            "the tree has changes: README.md, a b; commit them or take them out",
        ),
        (
            replace(STATE, changes=("?? x",) * 7),
            "0.2.0",
            "the tree has changes: x, x, x, x, x and 2",
        ),
        (STATE, "0.1.0", "the tag v0.1.0 exists: 0.1.0 is released; take a higher version"),
        (STATE, "0.0.9", "0.0.9 is lower than 0.1.0, which the tree is on"),
        (
            replace(STATE, tags=frozenset()),
            "0.1.0",
            "0.1.0 is not higher than 0.1.0, which is released",
        ),
        (
            replace(STATE, tags=frozenset({"v0.3.0"})),
            "0.2.0",
            "0.2.0 is not higher than 0.3.0, which is released",
        ),
        (replace(STATE, tags=frozenset({"v2"})), "0.2.0", "tag v2: not a version: '2'"),
        (
            replace(STATE, changelog="## [0.3.0] - Unreleased\n- x\n"),
            "0.2.0",
            "0.2.0 is lower than 0.3.0, which the tree is on",
        ),
        (
            replace(STATE, changelog=FIRST),
            "0.2.0",
            "CHANGELOG.md:2: nothing is written about 0.2.0; put '## [Unreleased]' on top",
        ),
        (
            replace(STATE, changelog="## [Unreleased]\n### Added\n" + FIRST),
            "0.2.0",
            "CHANGELOG.md:1: nothing is written about 0.2.0",
        ),
        (
            replace(STATE, changelog="## [0.2.0] - 2026-12-24\n- x\n" + FIRST),
            "0.2.0",
            "CHANGELOG.md:1: 0.2.0 has its day, but no tag v0.2.0 is here.",
        ),
    ],
)
def test_refused(state: State, wanted: str, said: str) -> None:
    with pytest.raises(Problem, match=f"^{re.escape(said)}"):
        plan(state, wanted, TODAY)

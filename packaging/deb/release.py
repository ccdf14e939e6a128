#!/usr/bin/python3
"""A release: the version and its day set, committed and tagged; then all is built.

What was not built is not released: if the build fails, the commit and the tag are taken back.
Nothing is pushed.
"""

import argparse
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from keepachangelog import CHANGELOG
from programs import run
from releaseplan import Plan, State, plan
from versions import INIT, REPOSITORY, Problem


class Git:
    """git in one checkout; called with its arguments. Raises Problem with what git said."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """What it prints."""
        return run(["git", "-C", str(self._root), *arguments], stdin=stdin).rstrip("\n")

    def setting(self, name: str) -> str:
        """Of git's configuration; "" where it isn't set."""
        return self("config", "--default", "", "--get", name)


def state(git: Git, root: Path) -> State:
    """The checkout as it is."""
    return State(
        branch=git("branch", "--show-current"),
        changes=tuple(git("status", "--porcelain").splitlines()),
        tags=frozenset(git("tag", "--list").splitlines()),
        changelog=(root / CHANGELOG).read_text(encoding="utf-8"),
        init=(root / INIT).read_text(encoding="utf-8"),
    )


def carry_out(git: Git, root: Path, release: Plan, build: list[str]) -> None:
    """Commit, tag, build. Raises Problem; then commit and tag are gone again, or it says how."""
    with _taken_back(git, release):
        for path, text in release.files.items():
            (root / path).write_text(text, encoding="utf-8")
        git("commit", "--quiet", f"--message={release.subject}", "--", *release.files)
        _tag(git, release)  # before the build: whoever types a passphrase need not wait for it
        done = subprocess.run(build, cwd=root, check=False)
        if done.returncode != 0:
            raise Problem(f"the build failed with exit {done.returncode}: {shlex.join(build)}")


def _tag(git: Git, release: Plan) -> None:
    key = git.setting("user.signingkey")
    how = "--sign" if key else "--annotate"
    git("tag", how, "--cleanup=whitespace", "--file=-", release.tag, stdin=release.notes)
    # git 2.39 makes an unsigned tag, and exits 0, where an SSH key can't be read.
    if key and not _is_signed(git, release.tag):
        raise Problem(f"git tag signed nothing with user.signingkey {key}")


def _is_signed(git: Git, tag: str) -> bool:
    return "\n-----BEGIN " in git("cat-file", "tag", tag)


@contextmanager
def _taken_back(git: Git, release: Plan) -> Iterator[None]:
    """Whatever ends the block early, an interrupt too, the branch and tree are as before."""
    before = git("rev-parse", "HEAD")
    try:
        yield
    except BaseException as error:
        why = str(error) or "interrupted"
        try:
            _take_back(git, release, before)
        except Problem as left:
            raise Problem(
                f"{why}\n{left}\nWhat is left of the release goes by hand: git"
                f" tag --delete {release.tag}; git reset --keep {before}"
            ) from error
        raise Problem(f"{why}\nCommit and tag are taken back.") from error


def _take_back(git: Git, release: Plan, before: str) -> None:
    head = git("rev-parse", "HEAD")
    if head != before:
        made = git("log", "--format=%P %s", "--max-count=1", head)
        if made != f"{before} {release.subject}":
            raise Problem("there are newer commits on the branch")
        git("reset", "--quiet", "--keep", before)  # refuses to lose what was edited meanwhile
    else:
        git("restore", f"--source={before}", "--staged", "--worktree", "--", *release.files)
    if git("tag", "--list", release.tag):
        git("tag", "--delete", release.tag)


def told(git: Git, release: Plan) -> str:
    """What the operator does next."""
    branch = git("branch", "--show-current")
    remote = git.setting(f"branch.{branch}.remote") or "origin"
    signed = "signed" if _is_signed(git, release.tag) else "not signed: git has no user.signingkey"
    return f"""
{release.version} is committed, tagged ({release.tag}, {signed}) and built; nothing is pushed yet.
  packages    build/deb/
  repository  build/apt/
Push it:
  git push --atomic {remote} {branch} {release.tag}
Then publish build/apt/: docs/installation.md, "For whoever publishes it".
"""


def main(arguments: list[str]) -> int:
    """1 and what is wrong on standard error where it can't be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("build", nargs="+", help="the command that builds everything")
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    git = Git(REPOSITORY)
    try:
        release = plan(state(git, REPOSITORY), asked.version, datetime.now(UTC).date())
        carry_out(git, REPOSITORY, release, asked.build)
        print(told(git, release), end="")
    except (Problem, OSError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

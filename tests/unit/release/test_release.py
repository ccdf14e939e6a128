"""`make release`, tried in a checkout of its own, with another build."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from versions import REPOSITORY

from tests.lab.shell import until

FIRST = "\n## [0.1.0] - 2026-01-31\n\n- First.\n"
UNRELEASED = "# Changelog\n\n## [Unreleased]\n\n- New.\n" + FIRST
NOTES = "gluster-ml-agent 0.2.0\n\n  * New."


class Checkout:
    """A repository with the files that a release needs, and nobody's git configuration."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
        }
        (root / "agent").mkdir(parents=True)
        (root / "agent/__init__.py").write_text('__version__ = "0.1.0"\n')
        (root / "CHANGELOG.md").write_text(UNRELEASED)
        shutil.copy(REPOSITORY / "Makefile", root)
        shutil.copy(REPOSITORY / ".gitignore", root)
        (root / "packaging/deb").mkdir(parents=True)
        for script in (REPOSITORY / "packaging/deb").glob("*.py"):
            shutil.copy(script, root / "packaging/deb")
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "Some One")
        self.git("config", "user.email", "someone@example.org")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message=Start")
        self.start = self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        argv = ["git", "-C", str(self.root), *arguments]
        return subprocess.check_output(argv, text=True, env=self.environment).strip()

    def release(self, version: str, build: str, key: str = "F00D") -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                *("env", "--default-signal=INT"),  # ignored by what a shell has in the background
                "make",
                "-C",
                str(self.root),
                "release",
                f"VERSION={version}",
                f"RELEASE_BUILD={build}",
                f"KEY={key}",
            ],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def released(self, version: str, build: str) -> str:
        """Done, it said so."""
        stdout, stderr = (process := self.release(version, build)).communicate(timeout=120)
        assert process.returncode == 0, stderr
        return stdout

    def refused(self, version: str, build: str) -> str:
        _, stderr = (process := self.release(version, build)).communicate(timeout=120)
        assert process.returncode == 2
        return stderr

    def assert_untouched(self) -> None:
        assert self.git("rev-parse", "main") == self.start
        assert self.git("status", "--porcelain") == ""
        assert self.git("tag") == ""
        assert (self.root / "CHANGELOG.md").read_text() == UNRELEASED


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "a checkout")


def test_committed_tagged_and_built(checkout: Checkout) -> None:
    said = checkout.released("0.2.0", "git describe --exact-match")
    assert "\nv0.2.0\n" in said  # the build saw the version committed and tagged
    assert "0.2.0 is committed, tagged (v0.2.0, not signed: git has no user.signingkey)" in said
    assert "\n  git push --atomic origin main v0.2.0\n" in said
    assert checkout.git("log", "--format=%s") == "Version 0.2.0\nStart"
    assert checkout.git("show", "--format=", "--name-only") == "CHANGELOG.md\nagent/__init__.py"
    assert checkout.git("cat-file", "-t", "v0.2.0") == "tag"
    assert checkout.git("for-each-ref", "--format=%(contents)", "refs/tags/v0.2.0") == NOTES
    assert (checkout.root / "agent/__init__.py").read_text() == '__version__ = "0.2.0"\n'
    assert checkout.git("status", "--porcelain") == ""


def test_signed_where_git_has_a_key(checkout: Checkout, tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    checkout.git("config", "gpg.format", "ssh")
    checkout.git("config", "user.signingkey", str(key))
    assert "(v0.2.0, signed)" in checkout.released("0.2.0", "true")
    signers = tmp_path / "signers"
    signers.write_text(f"someone@example.org {key.with_suffix('.pub').read_text()}")
    checkout.git("config", "gpg.ssh.allowedSignersFile", str(signers))
    checkout.git("tag", "--verify", "v0.2.0")


def test_a_key_that_signs_nothing_ends_it_before_the_build(checkout: Checkout) -> None:
    checkout.git("config", "gpg.format", "ssh")
    checkout.git("config", "user.signingkey", str(checkout.root / "none"))
    said = checkout.refused("0.2.0", "touch built")
    assert "release: git tag signed nothing with user.signingkey " in said
    assert "Commit and tag are taken back." in said
    checkout.assert_untouched()


def test_a_failed_build_leaves_all_as_it_was(checkout: Checkout) -> None:
    said = checkout.refused("0.2.0", "false")
    assert "release: the build failed with exit 1: false\nCommit and tag are taken back.\n" in said
    checkout.assert_untouched()
    checkout.released("0.2.0", "true")


def test_a_refused_commit_too(checkout: Checkout) -> None:
    hook = checkout.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    assert "git failed: not today" in checkout.refused("0.2.0", "true")
    checkout.assert_untouched()


def test_an_interrupted_build_too(checkout: Checkout, tmp_path: Path) -> None:
    """As by Control-C: the whole group gets the signal."""
    started = tmp_path / "started"
    program = f"import signal; open({str(started)!r}, 'w'); signal.pause()"
    process = checkout.release("0.2.0", build(tmp_path, program))
    try:
        until(started.exists, 60, "the build runs")
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert "release: interrupted\nCommit and tag are taken back.\n" in stderr
    checkout.assert_untouched()


def build(folder: Path, program: str) -> str:
    """A command that runs a Python program, for RELEASE_BUILD."""
    script = folder / "build.py"
    script.write_text(program)
    return f"python3 {script}"


def test_what_was_edited_meanwhile_is_not_lost(checkout: Checkout, tmp_path: Path) -> None:
    program = "open('CHANGELOG.md', 'a').write('edited'); exit(3)"
    said = checkout.refused("0.2.0", build(tmp_path, program))
    assert "the build failed with exit 3" in said
    assert "What is left of the release goes by hand: git tag --delete v0.2.0; git reset" in said
    assert (checkout.root / "CHANGELOG.md").read_text().endswith("edited")


def test_what_was_committed_meanwhile_is_not_lost(checkout: Checkout, tmp_path: Path) -> None:
    program = "import os; os.system('git commit --quiet --allow-empty -m Meanwhile'); exit(1)"
    said = checkout.refused("0.2.0", build(tmp_path, program))
    assert "there are newer commits on the branch" in said
    assert f"git reset --keep {checkout.start}" in said
    assert checkout.git("log", "--format=%s") == "Meanwhile\nVersion 0.2.0\nStart"


def test_refused_before_anything_is_done(checkout: Checkout) -> None:
    assert "release: 0.0.9 is lower than 0.1.0" in checkout.refused("0.0.9", "true")
    assert "release: make release VERSION=...: not a version: ''" in checkout.refused("", "true")
    (checkout.root / "note").write_text("")
    assert "release: the tree has changes: note;" in checkout.refused("0.2.0", "true")
    (checkout.root / "note").unlink()
    checkout.assert_untouched()


def test_by_default_both_packages_are_built_and_then_the_repository(checkout: Checkout) -> None:
    """In this order, however many jobs make runs."""
    makefile = checkout.root / "Makefile"
    if "\ndeb:" not in makefile.read_text():
        makefile.write_text(makefile.read_text() + "\ndeb:\n\techo deb\n")
    argv = ["make", "-C", str(checkout.root), "--dry-run", "--jobs=8", "release-build"]
    lines = subprocess.check_output(argv, text=True).splitlines()
    steps = [line for line in lines if " deb RELEASE=" in line or "aptrepo.py" in line]
    assert {step.split(" deb ")[-1] for step in steps[:2]} == {"RELEASE=bookworm", "RELEASE=trixie"}
    assert steps[2].endswith("bookworm trixie")


def test_without_a_key_nothing_is_released(checkout: Checkout) -> None:
    _, stderr = (process := checkout.release("0.2.0", "true", key="")).communicate(timeout=60)
    assert process.returncode != 0
    assert "no KEY=FINGERPRINT" in stderr
    assert checkout.git("rev-parse", "HEAD") == checkout.start

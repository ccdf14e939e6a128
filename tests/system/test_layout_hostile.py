"""The layout's worker among hostile users, on a local file system: nothing outside changes."""

import asyncio
import errno
import multiprocessing
import os
import random
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.config.layout_schema import LayoutConfig
from agent.layout import acl
from agent.layout.apply import Outcome, Pass
from agent.layout.seen import OddNames
from agent.model.mount import MountEntry
from agent.system import mountinfo, mounttable
from agent.system.children import Children
from tests.system.layout_tree import (
    IDENTITIES,
    ML,
    TOLD,
    USER,
    Ground,
    Heard,
    Interrupt,
    bound,
    owner_and_mode,
    run_pass,
    snapshot,
    told_of,
    wanted,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

ROUNDS = 10_000
ATTACKS = [*TOLD, "gone"]
UNOPENED = [(0, 0, 0o600), *[(USER, USER, 0o700)] * 3]


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    """On a tmpfs, with what is outside on the same one: only not following protects it."""
    base = tmp_path / "tmpfs"
    base.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", str(base)], check=True)
    made = Ground(base / "volume", base / "outside")
    made.volume.mkdir()
    made.make()
    yield made
    subprocess.run(["umount", "-l", str(base)], check=True)


def require_unharmed(ground: Ground, before: dict[str, tuple[int, ...]]) -> None:
    assert ground.outsiders() == before
    assert ground.insiders() == UNOPENED


def test_from_nothing_to_what_is_declared(ground: Ground) -> None:
    settings = wanted(cache={}, checkpoints__finetune={"mode": "3775"}, datasets={"mode": "2755"})
    first = run_pass(ground.volume, settings)
    assert first.made == ["cache", "checkpoints", "checkpoints/finetune", "datasets"]
    assert (first.findings, first.failed) == ([], "")
    assert owner_and_mode(ground.volume / "cache") == (0, ML, 0o2775)
    assert owner_and_mode(ground.volume / "checkpoints/finetune") == (0, ML, 0o3775)
    assert owner_and_mode(ground.volume / "datasets") == (0, ML, 0o2755)
    mask = os.umask(0o077)
    (ground.volume / "datasets/file").touch()
    os.umask(mask)
    assert owner_and_mode(ground.volume / "datasets/file") == (0, ML, 0o664)
    before = snapshot(ground.volume)
    second = run_pass(ground.volume, settings)
    assert (second.made, second.mended, second.findings) == ([], [], [])
    assert snapshot(ground.volume) == before


def test_what_is_made_inherits_no_acl(ground: Ground) -> None:
    """Of a parent whose owner put somebody into its default ACL, or with one declared."""
    run_pass(ground.volume, ground.settings)
    handed_on = os.getxattr(ground.target, "system.posix_acl_default")
    others = acl.encode(acl.default_acl([acl.Entry(acl.Tag.USER, USER, 7)], 0o2775))
    os.setxattr(ground.parent, "system.posix_acl_default", others)
    alone: dict[str, Any] = {"acl": []}
    outcome = run_pass(ground.volume, wanted(checkpoints=alone, checkpoints__own=alone))
    assert outcome.made == ["checkpoints/own"]
    assert os.listxattr(ground.parent / "own") == []
    assert owner_and_mode(ground.parent / "own") == (0, ML, 0o2775)
    assert os.getxattr(ground.target, "system.posix_acl_default") == handed_on


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize("attack", ATTACKS)
def test_each_is_reported_and_nothing_outside_changes(
    ground: Ground, attack: str, repair: bool
) -> None:
    settings = {**ground.settings, "repair": repair}
    run_pass(ground.volume, settings)
    before = ground.outsiders()
    ground.attacks()[attack]()
    outcome = run_pass(ground.volume, settings)
    if attack == "gone":
        assert outcome.made == ["checkpoints/pretrain"]
    else:
        assert attack in told_of(outcome), outcome.findings
    assert outcome.mended == []
    ground.restore()
    require_unharmed(ground, before)


@pytest.mark.parametrize("attack", ATTACKS)
def test_at_each_step_of_a_pass(
    ground: Ground, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each system call of a pass that makes and mends, the attack takes place."""
    run_pass(ground.volume, ground.settings)
    before = ground.outsiders()
    at, steps = 0, 0
    happened = True
    while happened:
        at += 1
        ground.target.rmdir()  # to be made
        ground.parent.chmod(0o700)  # to be mended
        interrupt = Interrupt(at, ground.attacks()[attack])
        with monkeypatch.context() as patch:
            interrupt.wrap(patch)
            run_pass(ground.volume, {**ground.settings, "repair": True})
        happened = interrupt.happened
        steps += happened
        ground.restore()
        require_unharmed(ground, before)
        run_pass(ground.volume, ground.settings)
        assert owner_and_mode(ground.parent) == (0, ML, 0o2775)
        assert owner_and_mode(ground.target) == (0, ML, 0o2775)
    assert steps > 30


def test_a_bind_mount_inside_is_not_entered(ground: Ground) -> None:
    run_pass(ground.volume, ground.settings)
    before = ground.outsiders()
    told = "checkpoints: something else is mounted there, not entered"
    with bound(ground.outside, ground.parent):  # of the same device
        assert run_pass(ground.volume, {**ground.settings, "repair": True}).findings == [told]
    with bound(Path("/etc"), ground.parent):
        assert run_pass(ground.volume, {**ground.settings, "repair": True}).findings == [told]
    require_unharmed(ground, before)


def test_the_agents_own_directory_forged(ground: Ground) -> None:
    """Links and files of users in its place: refused, and nothing is made."""
    own = ground.volume / ".gluster-ml"
    before = ground.outsiders()
    own.symlink_to(ground.outside)
    told = run_pass(ground.volume, ground.settings)
    assert told.failed.startswith("open .gluster-ml failed: ")
    own.unlink()
    own.mkdir()
    os.chown(own, USER, USER)
    told = run_pass(ground.volume, ground.settings)
    assert "not root's own directory" in told.failed
    assert not ground.parent.exists()
    require_unharmed(ground, before)


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 10_000, b'{"inode": "x"}', b"\xff" * 9000])
def test_a_mark_that_is_none(ground: Ground, content: bytes) -> None:
    """Then nobody knows that the agent made it, and it is only reported."""
    run_pass(ground.volume, ground.settings)
    for mark in (ground.volume / ".gluster-ml/layout").iterdir():
        mark.write_bytes(content)
    ground.target.chmod(0o700)
    told = run_pass(ground.volume, ground.settings)
    assert told.findings == [
        "checkpoints/pretrain: was there before the agent: mode 0700, declared 2775"
    ]
    assert owner_and_mode(ground.target) == (0, ML, 0o700)


def test_what_a_mend_that_fails_half_way_had_before_is_told(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is changed by then, and nobody knows any more how it was."""
    ground.parent.mkdir(mode=0o700)
    os.chown(ground.parent, USER, USER)
    heard = Heard()

    def fails(*_: object) -> None:
        raise OSError(errno.EIO, "broken")

    with monkeypatch.context() as patch:
        patch.setattr(os, "chmod", fails)
        settings = {**wanted(checkpoints={}), "repair": True}
        outcome = run_pass(ground.volume, settings, heard=heard)
    assert owner_and_mode(ground.parent) == (0, ML, 0o700)
    ((mend, known),) = heard.mends
    assert (mend.seen.uid, mend.seen.gid, mend.seen.mode, known) == (USER, USER, 0o700, False)
    assert outcome.findings == ["checkpoints: changing the mode of it failed: EIO"]


def test_odd_names_with_escape_codes_are_listed_once(ground: Ground) -> None:
    settings = {**ground.settings, "run_names": "{user}_{project}_{timestamp}"}
    run_pass(ground.volume, settings)
    odd = "\x1b[2J\nforged"
    (ground.target / odd).mkdir()
    (ground.target / "alice_llama_20261130").mkdir()
    (ground.target / "a file").touch()
    first = run_pass(ground.volume, settings)
    assert first.findings == [
        f"checkpoints/pretrain: names that don't fit {settings['run_names']}: {odd}"
    ]
    assert run_pass(ground.volume, settings, first.names).findings == first.findings


def by_a_worker(
    settings: dict[str, Any], entry: MountEntry, known: dict[str, OddNames] | None = None
) -> Outcome:
    """The same on a mount by a real worker process."""

    async def body() -> Outcome:
        children = Children()
        try:
            layout = LayoutConfig.model_validate(settings)
            work = Pass(layout, IDENTITIES, children, entry, lambda: True, Heard())
            return await work.run(known or {})
        finally:
            await children.close(60)

    return asyncio.run(body())


def entry_of(path: Path) -> MountEntry:
    return mountinfo.layers_at(mounttable.read(), str(path))[-1]


def test_by_a_process_of_its_own_many_at_once(ground: Ground) -> None:
    top = ground.volume.parent
    many = wanted(**{f"data__{number:03}": {"owner": USER} for number in range(450)})
    first = by_a_worker(many, entry_of(top))
    assert (len(first.made), first.findings, first.failed) == (451, [], "")
    assert owner_and_mode(top / "data/449") == (USER, ML, 0o2775)
    assert by_a_worker(many, entry_of(top)) == Outcome()


def test_many_with_long_names_and_acls(ground: Ground) -> None:
    """More in one request than the kernel holds of it, and names that take six bytes a letter."""
    top = ground.volume.parent
    deep = "/".join(["checkpoints", *(letter * 120 for letter in "äöüß")])
    entries = [f"default:group:{20000 + number}:rwx" for number in range(150)]
    many: dict[str, Any] = {f"{deep}/run{number:03}": {"acl": entries} for number in range(200)}
    many |= {f"checkpoints/{number:05}": {} for number in range(1800)}
    settings = {"directories": many, "run_names": "{user}-{timestamp}"}
    first = by_a_worker(settings, entry_of(top))
    assert (len(first.made), first.findings, first.failed) == (2005, [], "")
    assert len(os.getxattr(top / deep / "run199", "system.posix_acl_default")) > 1200
    second = by_a_worker(settings, entry_of(top), first.names)
    assert (second.made, second.findings, second.failed) == ([], [], "")
    assert len(second.names) == 2000


def test_another_mount_in_the_place_is_not_touched(ground: Ground) -> None:
    top = ground.volume.parent
    entry = replace(entry_of(top), minor=entry_of(top).minor + 1)
    outcome = by_a_worker(ground.settings, entry)
    assert outcome.failed == "finding the mount failed: ENODEV"
    assert not (top / "checkpoints").exists()


def test_a_read_only_volume_is_one_failure(ground: Ground) -> None:
    top = ground.volume.parent
    by_a_worker(wanted(cache={}), entry_of(top))
    subprocess.run(["mount", "-o", "remount,ro", str(top)], check=True)
    outcome = by_a_worker(wanted(cache={}, a={}, b={}), entry_of(top))
    assert outcome.failed.endswith("failed: EROFS; the volume is read-only")
    assert outcome.findings == []


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("repair", [False, True])
def test_ten_thousand_rounds_with_a_racing_process(ground: Ground, repair: bool) -> None:
    run_pass(ground.volume, ground.settings)
    before = ground.outsiders()
    stop = ground.volume.parent / "stop"
    chance = random.Random(1)  # noqa: S311
    racer = multiprocessing.get_context("fork").Process(target=ground.disturb, args=(stop, chance))
    racer.start()
    seen: set[str] = set()
    made = 0
    try:
        for _ in range(ROUNDS):
            outcome = run_pass(ground.volume, {**ground.settings, "repair": repair})
            made += len(outcome.made)
            seen |= told_of(outcome)
            assert racer.is_alive()
    finally:
        stop.touch()
        racer.join(60)
    assert racer.exitcode == 0
    ground.restore()
    require_unharmed(ground, before)
    assert seen == TOLD.keys()
    assert made > 0

"""What a survey keeps for the next one: it says the same as one that looks at everything."""

import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.retention.survey import accept
from agent.worker import known, view
from tests.unit.retention.disk import grow, hf
from tests.unit.retention.saved import kohya_model, lightning_run, orbax_checkpoint
from tests.unit.retention.test_survey_hostile import Rows, in_process
from tests.unit.retention.trees import Link


@pytest.fixture(autouse=True)
def _all_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of change can't be set back."""
    monkeypatch.setattr(known, "_SETTLED", -1.0)


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    tree = {
        "a": hf(1, 2, 3),
        "b": {"c": lightning_run("epoch=1-step=1.ckpt", "epoch=2-step=2.ckpt")},
    }
    tree |= {"d": {f"cat-00000{n}.safetensors": kohya_model() for n in (1, 2)}}
    tree |= {"e": {"1": orbax_checkpoint(), "2": orbax_checkpoint(), "1999": {}}}
    tree |= {"links": {"x": Link("../a/checkpoint-1")}, ".dot": {"deep": {}}}
    return grow(tmp_path / "volume", {"runs": tree})


def plain(root: Path) -> list[str]:
    return said(in_process(root))


def cached(root: Path) -> list[str]:
    cache = str(root.parent / "cache")
    rows = in_process(root, cache=cache)
    accept(cache)
    return said(rows)


def said(rows: Rows) -> list[str]:
    """In some order, without how many seconds ago something was."""
    lines = (json.dumps(row, sort_keys=True) for row in rows if "looked" not in row)
    return sorted(re.sub(r"written to \w+ ago", "written to", line) for line in lines)


def test_what_has_not_changed_is_not_listed_again(
    volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cached(volume)
    assert first == plain(volume)

    def unasked(*_: object) -> None:
        raise AssertionError("listed or read")

    monkeypatch.setattr(view.Directory, "stream", unasked)
    monkeypatch.setattr(view.Directory, "_open", unasked)
    assert cached(volume) == first
    assert cached(volume) == first


def test_what_is_written_beside_is_believed_only_when_accepted(volume: Path) -> None:
    cache = volume.parent / "cache"
    in_process(volume, cache=str(cache))
    assert not cache.exists()
    accept(str(cache))
    assert cache.stat().st_mode & 0o777 == 0o600
    cache.write_bytes(b"[1, 2")
    assert cached(volume) == plain(volume)


def test_what_changed_lately_is_not_kept(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_SETTLED", 3600.0)
    cached(volume)
    assert (volume.parent / "cache").read_bytes().count(b"\n") == 1


def test_every_change_is_noticed(volume: Path) -> None:
    runs = volume / "runs"
    state = runs / "a/checkpoint-2/trainer_state.json"
    written = state.read_bytes()
    old = state.stat()

    def torn() -> None:
        state.write_bytes(b"x" * len(written))
        os.utime(state, ns=(old.st_atime_ns, old.st_mtime_ns))

    changes: list[Callable[[], object]] = [
        (runs / "a/checkpoint-1/.keep").touch,
        (runs / "b/c/.keep").touch,
        (runs / "b/c/.keep").unlink,
        torn,
        lambda: state.write_bytes(written),
        lambda: grow(runs / "a", hf(4)),
        lambda: grow(runs / "e/1999", {"_CHECKPOINT_METADATA": b"{}"}),
        lambda: grow(runs / "e/1/state/d", {"link": Link("../../../2")}),
        lambda: grow(runs / ".dot/deep", {"link": Link("../../d/cat-000001.safetensors")}),
        lambda: (runs / "d").rename(runs / "f"),
        lambda: grow(runs / "new/er", hf(1, 2)),
        lambda: (runs / "a/checkpoint-3").rename(runs / "a/checkpoint-0"),
    ]
    cached(volume)
    for number, change in enumerate(changes):
        before = plain(volume)
        change()
        after = cached(volume)
        assert after == plain(volume), number
        assert after != before, number


@pytest.mark.parametrize("seed", range(8))
def test_random_changes(volume: Path, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    for _ in range(15):
        for _ in range(dice.randrange(3)):
            mutate(volume / "runs", dice)
        assert cached(volume) == plain(volume)


def mutate(runs: Path, dice: random.Random) -> None:
    paths = sorted(runs.rglob("*"))
    files = [path for path in paths if path.is_file() and not path.is_symlink()]
    directories = [path for path in paths if path.is_dir() and not path.is_symlink()]
    match dice.randrange(6):
        case 0:
            dice.choice(files).write_bytes(b"x" * dice.randrange(300))
        case 1:
            dice.choice(files).unlink()
        case 2:
            (dice.choice(directories) / ".keep").touch()
        case 3:
            link = dice.choice(directories) / f"l{dice.randrange(10**6)}"
            link.symlink_to(os.path.relpath(dice.choice(paths), link.parent))
        case 4:
            grow(dice.choice(directories), hf(dice.randrange(9)))
        case _:
            moved = dice.choice(directories)
            moved.rename(runs / f"checkpoint-{dice.randrange(10**6)}")

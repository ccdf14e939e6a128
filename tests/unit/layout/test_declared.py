"""What the file declares: parents, defaults, numbers, run directories."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

from agent.config.identities_schema import IdentitiesConfig
from agent.config.layout_schema import MOST, LayoutConfig
from agent.layout.acl import shown
from agent.layout.declared import Names, declared, run_directories
from agent.layout.names import pattern

IDENTITIES = IdentitiesConfig.model_validate(
    {"groups": {"ml": 20000}, "users": {"alice": {"uid": 20001, "group": "ml"}}}
)
CONTRACT: dict[str, Any] = {
    "defaults": {"owner": "root", "group": "ml", "mode": "2775", "acl": ["default:group::rwx"]},
    "directories": {
        "cache/modelscope": {},
        "cache": {},
        "cache-2": {},
        "datasets": {"mode": "2755"},
        "checkpoints": {},
        "checkpoints/pretrain": {},
        "checkpoints/finetune": {"mode": "3775", "owner": "alice", "acl": []},
        "logs/training": {},
    },
    "run_names": "{user}_{project}_{timestamp}",
}


def layout(**other: Any) -> LayoutConfig:
    return LayoutConfig.model_validate({**CONTRACT, **other})


def test_parents_come_first_and_have_the_defaults() -> None:
    found = {each.path: each for each in declared(layout(), IDENTITIES)}
    paths = list(found)
    assert all(paths.index(p.rpartition("/")[0]) < paths.index(p) for p in paths if "/" in p)
    # Each directory's own come right behind it: the worker opens none twice.
    assert paths.index("cache/modelscope") == paths.index("cache") + 1
    logs = found["logs"]
    assert (logs.uid, logs.gid, logs.mode) == (0, 20000, 0o2775)
    assert logs.default is not None
    assert shown(logs.default) == "user::rwx,group::rwx,other::r-x"


def test_what_a_directory_says_wins() -> None:
    found = {each.path: each for each in declared(layout(), IDENTITIES)}
    finetune = found["checkpoints/finetune"]
    assert (finetune.uid, finetune.gid, finetune.mode) == (20001, 20000, 0o3775)
    assert (finetune.access, finetune.default) == (None, None)


def test_runs_are_below_the_innermost_directories_of_checkpoints() -> None:
    assert run_directories(layout()) == ("checkpoints/finetune", "checkpoints/pretrain")
    without = {key: value for key, value in CONTRACT.items() if key != "run_names"}
    assert run_directories(LayoutConfig.model_validate(without)) == ()


@pytest.mark.timeout(10)
def test_many_directories_take_no_time() -> None:
    """Nobody compares each with each, or makes a table of all users for each."""
    users = {f"user{number}": {"uid": 30000 + number, "group": "ml"} for number in range(5000)}
    who = IdentitiesConfig.model_validate({"groups": {"ml": 20000}, "users": users})
    paths = [f"checkpoints/{number}" for number in range(MOST - 1)]
    owned = {path: {"owner": f"user{number % 5000}"} for number, path in enumerate(paths)}
    many = layout(directories=owned)
    assert len(declared(many, who)) == MOST
    assert len(run_directories(many)) == MOST - 1


def test_more_are_refused_parents_counted() -> None:
    paths = [f"checkpoints/{number}" for number in range(MOST)]
    with pytest.raises(ValidationError, match=f"has more than {MOST} directories, their parents"):
        layout(directories={path: {} for path in paths})
    with pytest.raises(ValidationError, match="has more than"):
        layout(directories={f"{number}/{'a/' * 500}b": {} for number in range(1000)})


def test_names_are_those_of_the_map() -> None:
    known = Names(IDENTITIES)
    assert [known.user(uid) for uid in (0, 20001, 1001)] == ["root", "alice", "1001"]
    assert [known.group(gid) for gid in (0, 20000, 1001)] == ["root", "ml", "1001"]


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("alice_llama_20261130", True),
        ("alice_llama-3_1_2026-11-30T14:22:33Z", True),
        ("alice_llama_20261130-142233", True),
        ("alice_llama_1796048553", True),
        ("alice_llama", False),
        ("llama-20261130", False),
        ("alice_llama_today", False),
        ("alice_llama_20261130 ", False),
        ("alice_llama_20261130\n", False),
        ("alice_llama_20261130_old", False),
    ],
)
def test_names_of_runs(name: str, fits: bool) -> None:
    assert bool(re.fullmatch(pattern("{user}_{project}_{timestamp}"), name)) is fits


def test_text_of_a_template_is_text() -> None:
    assert re.fullmatch(pattern("run.{user}"), "run.alice")
    assert not re.fullmatch(pattern("run.{user}"), "run-alice")

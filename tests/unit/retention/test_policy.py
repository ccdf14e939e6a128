"""From the file to the policy, and to a worker and back."""

import json

import pytest

from agent.config import later
from agent.config.load import load
from agent.config.sizes import Share
from agent.retention.declared import fingerprint, policy
from agent.retention.policy import Best, FreeSpace, Keep, Policy, Rule, amount_of

FILE = """\
mounts:
  m:
    volume: v
    servers: [n]
    path: /mnt/m
    retention:
      mode: enforce
      every: 30m
      trash: {keep_for: 1d}
      rules:
        - path: checkpoints/*
          keep: {last: 3, every_steps: 1000, best: 1, newer_than: 2d}
          quiet_for: 10m
          format: kohya
          free_space: {start_below: 10%, stop_above: 15%}
          max_size: 20TiB
        - path: checkpoints/a/b
          keep: {best: {metric: eval_loss, mode: min, count: 2}}
          free_space: {start_below: 500GiB, stop_above: 2TB}
"""
POLICY = Policy(
    mode="enforce",
    every=1800.0,
    keep_for=86400.0,
    rules=(
        Rule(
            "checkpoints/*",
            Keep(last=3, every_steps=1000, best=Best(1), newer_than=172800.0),
            quiet_for=600.0,
            format="kohya",
            free_space=FreeSpace(Share(10), Share(15)),
            max_size=20 << 40,
        ),
        Rule(
            "checkpoints/a/b",
            Keep(best=Best(2, "eval_loss", "min")),
            free_space=FreeSpace(500 << 30, 2 * 10**12),
        ),
    ),
)


def declared(text: str) -> Policy:
    retention = load(text, "f").config.mounts["m"].retention
    assert retention is not None
    return policy(retention)


def test_what_the_file_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later, "LATER", ())
    assert declared(FILE) == POLICY


def test_a_worker_gets_all_of_it() -> None:
    assert Policy.from_row(json.loads(json.dumps(POLICY.to_row()))) == POLICY
    assert Policy.from_row(POLICY.to_row()) == POLICY
    for rule in POLICY.rules:
        assert Rule.from_row(json.loads(json.dumps(rule.to_row()))) == rule


def test_amounts() -> None:
    assert amount_of(Share(10), 1000) == 100
    assert amount_of(7, 1000) == 7


def test_the_fingerprint_is_of_what_would_be_cleaned() -> None:
    first, second = POLICY.rules
    alike = Policy("enforce", 60.0, 86400.0, (second, first))
    assert fingerprint(alike) == fingerprint(POLICY)
    for other in (
        Policy("report", 1800.0, 86400.0, POLICY.rules),
        Policy("enforce", 1800.0, 1.0, POLICY.rules),
        Policy("enforce", 1800.0, 86400.0, (first,)),
    ):
        assert fingerprint(other) != fingerprint(POLICY)

"""Runs as frameworks write them, as trees: names and state files are real, weights are not."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats.family import Family
from agent.retention.view import Entry
from tests.unit.retention.trees import Link, Tree, TreeView, kind_of

WEIGHTS = b"weights"


def log(*steps: int, loss: float = 1.0) -> list[dict[str, Any]]:
    """A log_history: what is trained and what is evaluated at each step."""
    entries: list[dict[str, Any]] = []
    for step in steps:
        entries.append({"epoch": step / 100, "loss": loss + 1 / step, "step": step})
        entries.append({"epoch": step / 100, "eval_loss": loss + 2 / step, "step": step})
    return entries


def state(step: int, **more: Any) -> bytes:
    """A trainer_state.json."""
    document: dict[str, Any] = {
        "best_global_step": None,
        "best_metric": None,
        "best_model_checkpoint": None,
        "epoch": step / 100,
        "global_step": step,
        "is_hyper_param_search": False,
        "log_history": log(*range(100, step + 1, 100)),
        "max_steps": 10000,
    }
    return json.dumps({**document, **more}, indent=2, sort_keys=True).encode() + b"\n"


def trainer(step: int, **more: Any) -> dict[str, Any]:
    """A checkpoint of the Trainer's."""
    return {
        "config.json": b"{}",
        "model.safetensors": WEIGHTS,
        "optimizer.pt": WEIGHTS,
        "rng_state.pth": WEIGHTS,
        "scheduler.pt": WEIGHTS,
        "trainer_state.json": state(step, **more),
        "training_args.bin": WEIGHTS,
    }


def trainer_run(*steps: int, **more: Any) -> dict[str, Any]:
    """A run of the Trainer's."""
    return {f"checkpoint-{step}": trainer(step, **more) for step in steps}


def swift_run(*steps: int, **more: Any) -> dict[str, Any]:
    """A run of ms-swift's, ended."""
    checkpoints = {
        f"checkpoint-{step}": {**trainer(step, **more), "args.json": b"{}"} for step in steps
    }
    last = f"/output/v0-20260101-120000/checkpoint-{steps[-1]}"
    return {**checkpoints, "args.json": b"{}", "logging.jsonl": b"{}\n", "last": Link(last)}


def megatron(tracker: str, *steps: int) -> dict[str, Any]:
    """A run of Megatron-LM's, with a rank in each directory."""
    ranks = {"mp_rank_00": {"model_optim_rng.pt": WEIGHTS}, "mp_rank_01": {}}
    iterations: dict[str, Any] = {f"iter_{step:07d}": ranks for step in steps}
    return {**iterations, "latest_checkpointed_iteration.txt": tracker.encode()}


def distributed() -> dict[str, Any]:
    """An iteration of Megatron-LM's, distributed over the ranks."""
    return {
        "__0_0.distcp": WEIGHTS,
        "__1_0.distcp": WEIGHTS,
        ".metadata": WEIGHTS,
        "common.pt": WEIGHTS,
        "metadata.json": b'{"sharded_backend": "torch_dist"}',
    }


def megatron_swift(step: int) -> dict[str, Any]:
    """A checkpoint of Megatron-SWIFT's."""
    return {
        "args.json": b"{}",
        f"iter_{step:07d}": distributed(),
        "latest_checkpointed_iteration.txt": str(step).encode(),
    }


def verl_run(tracker: str, *steps: int) -> dict[str, Any]:
    """A run of verl's, through FSDP."""
    rank = {"model_world_size_2_rank_0.pt": WEIGHTS, "fsdp_config.json": b"{}", "huggingface": {}}
    step_directory = {"actor": rank, "critic": rank, "data.pt": WEIGHTS}
    directories: dict[str, Any] = {f"global_step_{step}": step_directory for step in steps}
    return {**directories, "latest_checkpointed_iteration.txt": tracker.encode()}


def deepspeed_run(latest: str, *steps: int) -> dict[str, Any]:
    """A run of DeepSpeed's, ZeRO stage 2."""
    tag = {
        "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt": WEIGHTS,
        "mp_rank_00_model_states.pt": WEIGHTS,
    }
    directories: dict[str, Any] = {f"global_step{step}": tag for step in steps}
    return {**directories, "latest": latest.encode(), "zero_to_fp32.py": b"#"}


def accelerated() -> dict[str, Any]:
    """A checkpoint of a training script of diffusers."""
    return {
        "optimizer.bin": WEIGHTS,
        "pytorch_lora_weights.safetensors": WEIGHTS,
        "random_states_0.pkl": WEIGHTS,
        "scheduler.bin": WEIGHTS,
    }


def factory(step: int) -> dict[str, Any]:
    """A checkpoint of LLaMA-Factory v1, through DeepSpeed, and so through Accelerate."""
    metadata = {"epoch": 0, "global_step": step, "num_training_steps": 1000}
    return {
        "CHECKPOINT_COMPLETE": b"",
        "dataloader": {"rank_0.pt": WEIGHTS},
        "metadata.json": json.dumps(metadata).encode(),
        "pytorch_model": {"mp_rank_00_model_states.pt": WEIGHTS},
        "random_states_0.pkl": WEIGHTS,
    }


def without(tree: Tree, *names: str) -> dict[str, Any]:
    """All of it but for these."""
    return {name: node for name, node in tree.items() if name not in names}


def named(family: Family, tree: Tree) -> list[Named]:
    """Its checkpoints by their names, in ascending order."""
    entries = (Entry(name, kind_of(node)) for name, node in tree.items())
    found = (family.named(entry) for entry in entries)
    return sorted((one for one in found if one is not None), key=lambda one: one.order)


def evidence(family: Family, tree: Tree) -> Mapping[str, Evidence]:
    """By name."""
    view = TreeView(tree)
    return {one.name: family.evidence(view, one) for one in named(family, tree)}


def complete(family: Family, tree: Tree) -> list[str]:
    """The names of those that are genuine and complete, by evidence alone."""
    found = evidence(family, tree)
    return [name for name, one in found.items() if one.genuine and one.complete]


def records(family: Family, tree: Tree) -> Records:
    """Of the run."""
    return family.records(TreeView(tree), named(family, tree))


def matched(family: Family, names: Iterable[str], kind: str) -> list[str]:
    """Which of these names the family takes for checkpoints."""
    return [name for name in names if family.named(Entry(name, kind))]

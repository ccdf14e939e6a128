"""Runs of the frameworks that save by torch.save, by safetensors or by parts, as trees."""

import json
from collections.abc import Mapping
from typing import Any

from tests.unit.retention.made import lightning_file, safetensors_file, torch_file

Run = dict[str, Any]


def lightning_run(*names: str) -> Run:
    """Each name a file as Lightning's Trainer leaves it."""
    return {name: lightning_file() for name in names}


def lightning_directory() -> Run:
    """A checkpoint of FSDP's or ModelParallel's, in parts."""
    return {
        "__0_0.distcp": b"part",
        "__1_0.distcp": b"part",
        ".metadata": b"all parts",
        "meta.pt": lightning_file(),
    }


def lightning_deepspeed() -> Run:
    """A checkpoint through DeepSpeed, with Lightning's tag."""
    ranks = {
        "mp_rank_00_model_states.pt": b"weights",
        "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt": b"optimizer",
    }
    return {"checkpoint": ranks, "latest": b"checkpoint", "zero_to_fp32.py": b"#"}


def nemo_checkpoint() -> Run:
    """A checkpoint of Megatron Core's through NeMo 2."""
    return {
        "context": {"io.json": b"{}", "model.yaml": b"_target_: x", "nemo_tokenizer": {}},
        "weights": {
            "__0_0.distcp": b"part",
            ".metadata": b"all parts",
            "common.pt": b"common",
            "metadata.json": b'{"sharded_backend": "torch_dist"}',
        },
    }


def automodel_checkpoint(loss: float = 0.5) -> Run:
    """A published checkpoint of NeMo Automodel."""
    return {
        "config.yaml": b"model: {}",
        "dataloader": {"dataloader_dp_rank_0.pt": b"state"},
        "losses.json": json.dumps({"train_loss": loss + 1, "val_loss": loss}).encode(),
        "model": {"shard-00001-model-00001-of-00001.safetensors": safetensors_file()},
        "optim": {"__0_0.distcp": b"part", ".metadata": b"all parts"},
        "rng": {"rng_dp_rank_0.pt": b"state"},
        "step_scheduler.pt": b"state",
    }


def torchtune_checkpoint(*, last: bool = False) -> Run:
    """Weights in two parts; only the last epoch has no state of the recipe."""
    made: Run = {
        "config.json": b"{}",
        "model-00001-of-00002.safetensors": safetensors_file(),
        "model-00002-of-00002.safetensors": safetensors_file(),
        "model.safetensors.index.json": b"{}",
        "original_repo_id.json": b"{}",
    }
    return made if last else {**made, "recipe_state.pt": torch_file({"seed": 1})}


def torchtitan_checkpoint() -> Run:
    """A distributed save."""
    return {"__0_0.distcp": b"part", "__1_0.distcp": b"part", ".metadata": b"all parts"}


def torchtitan_for_hf() -> Run:
    """A save for Hugging Face, put together from its parts."""
    return {
        "model-00001-of-00001.safetensors": safetensors_file(),
        "model.safetensors.index.json": b"{}",
        "sharded": {"shard-00001-model-00001-of-00001.safetensors": safetensors_file()},
    }


def orbax_checkpoint(metrics: Mapping[str, Any] | None = None) -> Run:
    """A committed step with two items."""
    metadata = {
        "item_handlers": {"state": "StandardCheckpointHandler"},
        "metrics": metrics or {},
        "performance_metrics": {},
        "init_timestamp_nsecs": 1796048553000000000,
        "commit_timestamp_nsecs": 1796048554000000000,
        "custom_metadata": {},
    }
    return {
        "_CHECKPOINT_METADATA": json.dumps(metadata).encode(),
        "commit_success.txt": b"Checkpoint commit was successful",
        "state": {"_METADATA": b"{}", "d": {"data": b"1"}, "manifest.ocdbt": b"1"},
    }


def kohya_model(output: str = "cat", **more: str) -> bytes:
    """A network of sd-scripts, with a few of its metadata."""
    return safetensors_file(
        {"ss_output_name": output, "ss_epoch": "3", "modelspec.title": "x"} | more
    )


def kohya_state(step: int = 100) -> Run:
    """What accelerate saves for it, and its own record."""
    return {
        "model.safetensors": safetensors_file(),
        "optimizer.bin": torch_file({}),
        "random_states_0.pkl": b"state",
        "scheduler.bin": torch_file({}),
        "train_state.json": json.dumps({"current_epoch": 1, "current_step": step}).encode(),
    }

"""Megatron Core's distributed checkpoints, in the directories of Megatron-LM, with its tracker.

Megatron-LM's own loop, which gives names and writes the tracker, is in no package.
"""

import alone
import torch
from megatron.core import dist_checkpointing
from saves import Saves, write

STEPS = (50, 500, 10_000_000)


def main(saves: Saves) -> None:
    alone.begin()
    # It waits for a GPU's copies, and asks which one it is, even where there is none.
    torch.cuda.synchronize = lambda: None
    torch.cuda.current_device = lambda: "cpu"
    for step in STEPS:
        with saves.cut():
            save(saves, step)
    names = {f"iter_{step:07d}": step for step in STEPS}
    latest = max(names, key=names.__getitem__)
    saves.truth(names, latest=latest, pointed=[latest])


def save(saves: Saves, step: int) -> None:
    """As megatron/training/checkpointing.py does."""
    directory = saves.run / f"iter_{step:07d}"
    directory.mkdir()
    weights = dist_checkpointing.ShardedTensor.from_rank_offsets("weights", torch.ones(8))
    state = {"weights": weights, "iteration": step, "checkpoint_version": 3.0}
    dist_checkpointing.save(state, str(directory))
    (saves.run / "latest_checkpointed_iteration.txt").write_text(str(step))


if __name__ == "__main__":
    write(main)

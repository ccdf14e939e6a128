"""torch.distributed.checkpoint by itself, in directories as torchtitan names them."""

import torch
import torch.distributed.checkpoint as dcp
from saves import Saves, write

STEPS = (5, 10, 100)


def main(saves: Saves) -> None:
    layer = torch.nn.Linear(8, 8)
    for step in STEPS:
        state = {"model": layer.state_dict(), "step": step}
        name = saves.run / f"step-{step}"
        if step == STEPS[-1]:
            with saves.cut():
                dcp.save(state, checkpoint_id=name)
        else:
            dcp.save(state, checkpoint_id=name)
    saves.truth({f"step-{step}": step for step in STEPS}, latest=f"step-{STEPS[-1]}")


if __name__ == "__main__":
    write(main)

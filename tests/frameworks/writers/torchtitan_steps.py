"""torchtitan: its CheckpointManager, saving behind the training's back."""

import alone
import torch
from saves import Saves, write
from torchtitan.components.checkpointer.dcp import CheckpointManager

STEPS = (5, 10, 100)


class Counter:
    """What is saved beside the model."""

    def __init__(self) -> None:
        self.step = 0

    def state_dict(self) -> dict[str, int]:
        return {"step": self.step}

    def load_state_dict(self, said: dict[str, int]) -> None:
        self.step = said["step"]


def main(saves: Saves) -> None:
    alone.begin()
    manager = CheckpointManager(
        CheckpointManager.Config(
            enable=True,
            folder=saves.run.name,
            interval=STEPS[0],
            async_mode="async",
            keep_latest_k=0,
        ),
        dataloader=None,
        model_parts=[torch.nn.Linear(8, 8)],
        optimizers=Counter(),
        lr_schedulers=Counter(),
        states={"train_state": Counter()},
        sd_adapter=None,
        base_folder=str(saves.run.parent),
    )
    with saves.cut():
        for step in STEPS:
            manager.save(step)
            manager.maybe_wait_for_saving()
    names = {f"step-{step}": step for step in STEPS}
    saves.truth(names, latest=f"step-{manager._find_load_step()}")
    manager.close()


if __name__ == "__main__":
    write(main)

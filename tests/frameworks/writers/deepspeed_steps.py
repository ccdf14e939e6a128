"""DeepSpeed: ZeRO, stage 1, on the CPU."""

import os

import alone
import torch
from saves import Saves, write

STEPS = (2, 4, 10)


def main(saves: Saves) -> None:
    os.environ.update(DS_ACCELERATOR="cpu", LOCAL_RANK="0", RANK="0", WORLD_SIZE="1")
    alone.begin()
    import deepspeed  # noqa: PLC0415 - it looks at once for what it shall run on

    # Else it compiles one for minutes, to talk to other processes of this host: there are none.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    model = torch.nn.Linear(4, 1)
    engine, *_ = deepspeed.initialize(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters()),
        config={
            "train_micro_batch_size_per_gpu": 1,
            "zero_optimization": {"stage": 1},
            "zero_allow_untested_optimizer": True,
            "bf16": {"enabled": True},
        },
    )
    for step in range(1, STEPS[-1] + 1):
        engine.backward((engine(torch.ones(1, 4, dtype=torch.bfloat16)) ** 2).mean())
        engine.step()
        if step == STEPS[-1]:
            with saves.cut():
                engine.save_checkpoint(str(saves.run))
        elif step in STEPS:
            engine.save_checkpoint(str(saves.run))
    latest = (saves.run / "latest").read_text()
    names = {f"global_step{step}": step for step in STEPS}
    saves.truth(names, latest=latest, pointed=[latest])


if __name__ == "__main__":
    write(main)

"""safetensors and Accelerate as kohya's sd-scripts use them, which are in no package.

Names and metadata are those of train_network.py: a model and a state after each epoch.
"""

import json

import torch
from accelerate import Accelerator
from safetensors.torch import save_file
from saves import Saves, write

EPOCHS = (1, 2, 10)


def main(saves: Saves) -> None:
    accelerator = Accelerator(cpu=True)
    network = torch.nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(network.parameters())
    network, optimizer = accelerator.prepare(network, optimizer)
    for epoch in EPOCHS:
        with saves.cut():
            save(saves, accelerator, network, epoch)
    save_file(network.state_dict(), saves.run / "cat.safetensors", {"ss_output_name": "cat"})
    names = {f"cat-{epoch:06d}.safetensors": epoch for epoch in EPOCHS}
    saves.truth(names, latest=f"cat-{EPOCHS[-1]:06d}-state")


def save(saves: Saves, accelerator: Accelerator, network: torch.nn.Module, epoch: int) -> None:
    metadata = {"ss_output_name": "cat", "ss_epoch": str(epoch), "ss_steps": str(epoch * 10)}
    save_file(network.state_dict(), saves.run / f"cat-{epoch:06d}.safetensors", metadata)
    state = saves.run / f"cat-{epoch:06d}-state"
    accelerator.save_state(str(state))
    (state / "train_state.json").write_text(
        json.dumps({"current_epoch": epoch, "current_step": epoch * 10})
    )


if __name__ == "__main__":
    write(main)

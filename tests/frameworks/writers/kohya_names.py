"""safetensors and Accelerate as kohya's sd-scripts use them, which are in no package.

Names and metadata are those of train_network.py: a model and a state after each epoch.
"""

import json
from pathlib import Path

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

    def first(_models: list[torch.nn.Module], _weights: list[object], directory: str) -> None:
        """As its save_model_hook."""
        said = {"current_epoch": epoch, "current_step": epoch * 10 + 1}
        Path(directory, "train_state.json").write_text(json.dumps(said))

    hook = accelerator.register_save_state_pre_hook(first)
    accelerator.save_state(str(saves.run / f"cat-{epoch:06d}-state"))
    hook.remove()


if __name__ == "__main__":
    write(main)

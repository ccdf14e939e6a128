"""diffusers: a model of its own, saved as its training scripts do, by Accelerate and a hook."""

import os

import torch
from accelerate import Accelerator
from diffusers import UNet2DModel
from saves import Saves, write

STEPS = (2, 4, 10)


def main(saves: Saves) -> None:
    torch.manual_seed(1)
    accelerator = Accelerator(cpu=True)
    unet = UNet2DModel(
        sample_size=8,
        in_channels=1,
        out_channels=1,
        layers_per_block=1,
        block_out_channels=(4,),
        norm_num_groups=2,
        attention_head_dim=2,
        down_block_types=("DownBlock2D",),
        up_block_types=("UpBlock2D",),
    )

    def save_model(models: list[UNet2DModel], weights: list[object], output_dir: str) -> None:
        """As in examples/unconditional_image_generation."""
        for model in models:
            model.save_pretrained(os.path.join(output_dir, "unet"))
            weights.pop()

    accelerator.register_save_state_pre_hook(save_model)
    optimizer = torch.optim.AdamW(unet.parameters())
    scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer)
    unet, optimizer, scheduler = accelerator.prepare(unet, optimizer, scheduler)
    for step in range(1, STEPS[-1] + 1):
        noise = torch.randn(1, 1, 8, 8)
        accelerator.backward(((unet(noise, 1).sample - noise) ** 2).mean())
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        name = str(saves.run / f"checkpoint-{step}")
        if step == STEPS[-1]:
            with saves.cut():
                accelerator.save_state(name)
        elif step in STEPS:
            accelerator.save_state(name)
    names = {f"checkpoint-{step}": step for step in STEPS}
    saves.truth(names, latest=f"checkpoint-{STEPS[-1]}")


if __name__ == "__main__":
    write(main)

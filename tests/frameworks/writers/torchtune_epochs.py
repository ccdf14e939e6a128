"""torchtune: its checkpointer for Hugging Face's layout, as its recipes for whole models use it."""

import torch
from saves import Saves, write
from torchtune import training
from torchtune.training.checkpointing import FullModelHFCheckpointer
from transformers import LlamaConfig, LlamaForCausalLM

EPOCHS = 3


def main(saves: Saves) -> None:
    base = saves.run.parent / "base"
    config = LlamaConfig(
        vocab_size=16,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        tie_word_embeddings=False,
    )
    LlamaForCausalLM(config).save_pretrained(base)
    checkpointer = FullModelHFCheckpointer(
        checkpoint_dir=str(base),
        checkpoint_files=["model.safetensors"],
        model_type="LLAMA3",
        output_dir=str(saves.run),
    )
    state = checkpointer.load_checkpoint()
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.ones(2))]).state_dict()
    for epoch in range(EPOCHS):
        said = {training.EPOCHS_KEY: epoch + 1, training.OPT_KEY: optimizer}
        with saves.cut():
            checkpointer.save_checkpoint(
                dict(state) | said, epoch, intermediate_checkpoint=epoch + 1 < EPOCHS
            )
    names = {f"epoch_{epoch}": epoch for epoch in range(EPOCHS)}
    saves.truth(names, latest=f"epoch_{EPOCHS - 1}")


if __name__ == "__main__":
    write(main)

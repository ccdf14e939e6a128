"""TRL: supervised fine-tuning, with a tokenizer made on the spot."""

from pathlib import Path

import torch
from datasets import Dataset
from saves import Saves, write
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from transformers.trainer_utils import get_last_checkpoint
from trl import SFTConfig, SFTTrainer

STEPS = (10, 20, 100)
WORDS = ("<pad>", "<eos>", "<unk>", "the", "cat", "sat", "down", "up")


def main(saves: Saves) -> None:
    torch.manual_seed(1)
    words = Tokenizer(WordLevel({word: n for n, word in enumerate(WORDS)}, WORDS[2]))
    words.pre_tokenizer = Whitespace()
    special = dict(zip(("pad_token", "eos_token", "unk_token"), WORDS[:3], strict=True))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, **special)
    arguments = SFTConfig(
        output_dir=str(saves.run),
        max_steps=STEPS[-1],
        per_device_train_batch_size=2,
        save_strategy="no",
        logging_steps=10,
        max_length=8,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        report_to=[],
        disable_tqdm=True,
    )

    class AtSteps(SFTTrainer):
        """Saves at steps whose names do not sort as text."""

        def _maybe_log_save_evaluate(self, *args: object, **more: object) -> None:
            super()._maybe_log_save_evaluate(*args, **more)
            if self.state.global_step in STEPS:
                with saves.cut():
                    self._save_checkpoint(self.model, trial=None)

    model = GPT2LMHeadModel(GPT2Config(vocab_size=16, n_positions=8, n_embd=8, n_layer=1, n_head=1))
    texts = Dataset.from_dict({"text": ["the cat sat down", "the cat sat up"] * 16})
    AtSteps(model=model, args=arguments, train_dataset=texts, processing_class=tokenizer).train()
    saves.truth(
        {f"checkpoint-{step}": step for step in STEPS},
        latest=Path(get_last_checkpoint(str(saves.run))).name,
    )


if __name__ == "__main__":
    write(main)

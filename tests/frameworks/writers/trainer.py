"""transformers: the Trainer, with evaluations, of which the lowest loss is the best."""

from pathlib import Path

import torch
from saves import Saves, write
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

STEPS = (9, 18, 27)


def main(saves: Saves) -> None:
    torch.manual_seed(1)
    config = GPT2Config(vocab_size=16, n_positions=8, n_embd=8, n_layer=1, n_head=1)
    tokens = [torch.tensor([n % 7, 1, 2, 3]) for n in range(64)]
    texts = [{"input_ids": each, "labels": each} for each in tokens]
    arguments = TrainingArguments(
        output_dir=str(saves.run),
        max_steps=STEPS[-1],
        per_device_train_batch_size=2,
        learning_rate=0.5,
        save_steps=STEPS[0],
        eval_steps=STEPS[0],
        logging_steps=3,
        eval_strategy="steps",
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        greater_is_better=False,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
    )

    class Cut(Trainer):
        """Watched at its last save."""

        def _save_checkpoint(self, *args: object, **more: object) -> None:
            if self.state.global_step < STEPS[-1]:
                super()._save_checkpoint(*args, **more)
                return
            with saves.cut():
                super()._save_checkpoint(*args, **more)

    model = GPT2LMHeadModel(config)
    trainer = Cut(model=model, args=arguments, train_dataset=texts, eval_dataset=texts[:8])
    trainer.train()
    saves.truth(
        {f"checkpoint-{step}": step for step in STEPS},
        latest=Path(get_last_checkpoint(str(saves.run))).name,
        best=[Path(trainer.state.best_model_checkpoint).name],
        metrics={
            entry["step"]: {"eval_loss": entry["eval_loss"]}
            for entry in trainer.state.log_history
            if "eval_loss" in entry
        },
    )


if __name__ == "__main__":
    write(main)

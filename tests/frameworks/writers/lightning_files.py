"""Lightning: the best two by the metric in their names, `last` as a link, and the list of both."""

from pathlib import Path

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from saves import Saves, write
from torch.utils.data import DataLoader, TensorDataset


class Line(lightning.LightningModule):
    """A line through points."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
        return (self.layer(batch[0]) ** 2).mean()

    def validation_step(self, batch: list[torch.Tensor], _: int) -> None:
        self.log("val_loss", (self.layer(batch[0]) ** 2).mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def train(saves: Saves, keeper: ModelCheckpoint, epochs: int) -> None:
    torch.manual_seed(1)
    points = DataLoader(TensorDataset(torch.randn(8, 2)), batch_size=2)
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        callbacks=[keeper],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Line(), points, points)


def main(saves: Saves) -> None:
    keeper = ModelCheckpoint(
        dirpath=saves.run,
        filename="line-{epoch:02d}-{step}-{val_loss:.4f}",
        auto_insert_metric_name=True,
        monitor="val_loss",
        save_top_k=2,
        save_last="link",
    )
    with saves.cut():
        train(saves, keeper, 3)
    keeper.to_yaml()
    best = sorted(Path(path).name for path in keeper.best_k_models)
    loss = {path: float(value) for path, value in keeper.best_k_models.items()}
    steps = {path: 4 * (1 + int(Path(path).name.split("=")[1][:2])) for path in loss}
    saves.truth(
        {Path(path).name: step for path, step in steps.items()},
        latest=Path(keeper.last_model_path).resolve().name,
        best=best,
        pointed=best,
        metrics={steps[path]: {"val_loss": round(value, 4)} for path, value in loss.items()},
    )


if __name__ == "__main__":
    write(main)

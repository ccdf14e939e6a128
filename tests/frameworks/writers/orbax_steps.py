"""Orbax: its CheckpointManager, saving behind the training's back, with metrics."""

import jax.numpy as jnp
import orbax.checkpoint as ocp
from saves import Saves, write

LOSS = {5: 0.5, 50: 0.25, 500: 0.375}


def main(saves: Saves) -> None:
    options = ocp.CheckpointManagerOptions(best_fn=lambda said: said["loss"], best_mode="min")
    with ocp.CheckpointManager(saves.run, options=options) as manager:
        for step in LOSS:
            if step < max(LOSS):
                save(manager, step)
                continue
            with saves.cut():
                save(manager, step)
        saves.truth(
            {str(step): step for step in LOSS},
            latest=str(manager.latest_step()),
            metrics={step: {"loss": loss} for step, loss in LOSS.items()},
        )


def save(manager: ocp.CheckpointManager, step: int) -> None:
    weights = ocp.args.StandardSave({"weights": jnp.arange(8) + step})
    manager.save(step, args=weights, metrics={"loss": LOSS[step]})
    manager.wait_until_finished()


if __name__ == "__main__":
    write(main)

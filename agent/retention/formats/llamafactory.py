"""Checkpoints of LLaMA-Factory v1, whose trainer is its own.

Source: LLaMA-Factory, src/llamafactory/v1/core/utils/checkpoint.py (TrainingCheckpointCoordinator,
CHECKPOINT_COMPLETE_MARKER). Versions before it are built on Hugging Face's Trainer.
"""

from collections.abc import Sequence

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats.numbered import look, numbered
from agent.retention.formats.text import json_object
from agent.retention.view import Entry, UnreadableError, View

MARKER = "CHECKPOINT_COMPLETE"
METADATA = "metadata.json"


class LlamaFactory:
    """`checkpoint-<step>`, complete when `CHECKPOINT_COMPLETE` is in it."""

    name = "llamafactory"

    def named(self, entry: Entry) -> Named | None:
        """`checkpoint-500`."""
        return numbered(entry, self.name, "checkpoint-")

    def staging(self, entry: Entry) -> bool:  # noqa: ARG002
        """It writes in place."""
        return False

    def evidence(self, run: View, named: Named) -> Evidence:
        """The marker, which is written last; of one that has none yet, what is written first."""
        return look(run, named, _evidence)

    def records(self, run: View, names: Sequence[Named]) -> Records:  # noqa: ARG002
        """It keeps none."""
        return Records()


FAMILY = LlamaFactory()


def _evidence(checkpoint: View) -> Evidence:
    marked = MARKER in checkpoint.entries()
    try:
        metadata = json_object(checkpoint, METADATA)
    except UnreadableError as error:
        why = f"{METADATA} can't be read: {error}"
        return Evidence(genuine=marked, complete=False, why=why, broken=marked)
    if marked:
        return Evidence(genuine=True, complete=True)
    ours = metadata is not None and {"global_step", "num_training_steps"} <= metadata.keys()
    return Evidence(genuine=ours, complete=False, why=f"{MARKER} is missing")

"""Checkpoints of the training scripts of diffusers, which let Accelerate save its state.

Source: diffusers/examples/*/train_*.py, accelerate/checkpointing.py (save_accelerator_state),
accelerate/utils/constants.py (RNG_STATE_NAME).
"""

import re
from collections.abc import Sequence

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats import hf, llamafactory
from agent.retention.formats.numbered import has_file, look, numbered
from agent.retention.view import Entry, View

_GENERATORS = re.compile(r"random_states_[0-9]+\.pkl")
"""One a process, whatever the strategy, after weights and optimizer."""
_OTHERS = (hf.STATE, llamafactory.MARKER, llamafactory.METADATA)
"""Trainers that also save through Accelerate, and have ways of their own to say what is whole."""


class Diffusers:
    """`checkpoint-<step>`; nothing in it says that it is whole, so being quiet has to do."""

    name = "diffusers"

    def named(self, entry: Entry) -> Named | None:
        """`checkpoint-500`; some scripts pad it with zeros."""
        return numbered(entry, self.name, "checkpoint-")

    def staging(self, entry: Entry) -> bool:  # noqa: ARG002
        """It writes in place."""
        return False

    def evidence(self, run: View, named: Named) -> Evidence:
        """Accelerate's state files, and no other trainer's."""
        return look(run, named, _evidence)

    def records(self, run: View, names: Sequence[Named]) -> Records:  # noqa: ARG002
        """It keeps none."""
        return Records()


FAMILY = Diffusers()


def _evidence(checkpoint: View) -> Evidence:
    entries = checkpoint.entries()
    for other in _OTHERS:
        if other in entries:
            return Evidence(genuine=False, complete=False, why=f"{other} is another trainer's")
    if has_file(entries, _GENERATORS):
        return Evidence(genuine=True, complete=True)
    return Evidence(genuine=False, complete=False, why="random_states_0.pkl is missing")

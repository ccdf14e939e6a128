"""Checkpoints of torchtitan.

Source: torchtitan/components/checkpointer/dcp.py (before: components/checkpoint.py). Complete is
what holds `.metadata`, which torch.distributed.checkpoint writes last, or, saved for Hugging Face,
`model.safetensors.index.json`: it looks for the same two when it resumes. Then its parts lie in
`sharded/`, and stay there.
"""

import re
from collections.abc import Sequence

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats import shards
from agent.retention.formats.numbered import has_directory, has_file, look, numbered, says
from agent.retention.view import Entry, View

_PART = re.compile(r"__[0-9]+_[0-9]+\.distcp")
_LAST = (".metadata", "model.safetensors.index.json")


class Torchtitan:
    """`step-<n>`; with torchft, each `ft-replicat-<id>/` is one more run of them."""

    name = "torchtitan"

    def named(self, entry: Entry) -> Named | None:
        """`step-500`."""
        return numbered(entry, self.name, "step-")

    def staging(self, entry: Entry) -> bool:  # noqa: ARG002
        """It writes in place."""
        return False

    def evidence(self, run: View, named: Named) -> Evidence:
        """The parts of a distributed save, and what is written after them."""
        return look(run, named, _evidence)

    def records(self, run: View, names: Sequence[Named]) -> Records:  # noqa: ARG002
        """It keeps none."""
        return Records()


FAMILY = Torchtitan()


def _evidence(checkpoint: View) -> Evidence:
    entries = checkpoint.entries()
    ours = has_file(entries, _PART) or has_directory(entries, "sharded")
    done = any(checkpoint.size(name) for name in _LAST)
    return says(
        "" if ours else "no part of a distributed save is in it",
        "" if done else f"neither {_LAST[0]} nor {_LAST[1]} is in it",
        shards.missing(entries),
    )

"""Checkpoints of torchtune.

Source: torchtune/training/checkpointing/_checkpointer.py, _checkpoint_client.py and _utils.py. What
resuming needs is `recipe_state.pt`: in a checkpoint, or one for all of them in `recipe_state/`
beside them; the last epoch needs none. Weights are `model-<i>-of-<n>` or `model` with
`.safetensors` or `.bin`, an adapter `adapter_model.pt`, or the files of a distributed save. Weights
in safetensors lie in `epoch_1` of many a script: they alone say nothing.
"""

import re
from collections.abc import Sequence

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats import archive, shards
from agent.retention.formats.numbered import has_file, look, numbered, says
from agent.retention.view import Entry, View

_STATE = "recipe_state.pt"
_STATES = "recipe_state"
"""The directory beside the checkpoints, since 0.4."""
_OWN = re.compile(r"recipe_state\.pt|adapter_model\.pt|ft-model-.+|model-.+-of-.+\.bin")
_WEIGHTS = re.compile(r"(?:ft-)?model(?:-.+-of-.+)?\.(?:safetensors|bin)|adapter_model\.pt")
_PARTS = re.compile(r"model-[0-9]{5}-of-[0-9]{5}\.safetensors")
_INDEX = "model.safetensors.index.json"
"""Written after all parts."""
_DISTRIBUTED = ".metadata"
"""Of torch.distributed.checkpoint, which writes it last."""


class Torchtune:
    """`epoch_<n>` and `step_<n>`, each a series of its own, complete when their weights are."""

    name = "torchtune"

    def named(self, entry: Entry) -> Named | None:
        """`epoch_3`, `step_500`."""
        epoch = numbered(entry, self.name, "epoch_", series="epoch")
        return epoch or numbered(entry, self.name, "step_")

    def staging(self, entry: Entry) -> bool:  # noqa: ARG002
        """It writes in place."""
        return False

    def evidence(self, run: View, named: Named) -> Evidence:
        """Its own files, in it or beside it, and weights with all their parts."""
        return look(run, named, lambda checkpoint: _evidence(run, checkpoint))

    def records(self, run: View, names: Sequence[Named]) -> Records:  # noqa: ARG002
        """It keeps none."""
        return Records()


FAMILY = Torchtune()


def _evidence(run: View, checkpoint: View) -> Evidence:
    entries = checkpoint.entries()
    parts = has_file(entries, _PARTS)
    states = run.below(_STATES) if parts else None
    ours = has_file(entries, _OWN) or bool(states and states.size(_STATE))
    # A distributed save of an adapter lies in a directory of its own.
    adapter = checkpoint.below("adapter_model")
    places = [checkpoint] if adapter is None else [checkpoint, adapter]
    distributed = any(place.size(_DISTRIBUTED) for place in places)
    state = archive.torn(checkpoint, _STATE) if _STATE in entries else ""
    return says(
        "" if ours else f"neither is a file in it torchtune's own, nor {_STATES}/ beside it",
        "" if distributed or has_file(entries, _WEIGHTS) else "no weights are in it",
        shards.missing(entries),
        f"{_INDEX} is missing" if parts and _INDEX not in entries else "",
        state and f"{_STATE} {state}",
    )

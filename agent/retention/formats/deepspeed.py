"""Checkpoints of DeepSpeed.

Source: deepspeed/runtime/engine.py (save_checkpoint, _get_ckpt_name, _get_rank_zero_ckpt_name),
deepspeed/checkpoint/ds_to_universal.py (latest_universal). Where a Trainer saves through DeepSpeed,
all of this lies inside its checkpoint and belongs to that.
"""

import re
from collections.abc import Sequence

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats.numbered import has_directory, has_file, look, numbered
from agent.retention.formats.text import shown, word
from agent.retention.view import DIRECTORY, Entry, UnreadableError, View

LATEST = "latest"
POINTERS = (LATEST, "latest_universal")
_MODEL = re.compile(r"(?:zero_pp_rank_[0-9]+_)?mp_rank_[0-9]+_model_states\.pt")
_OPTIMIZER = re.compile(r"(?:bf16_)?zero_pp_rank_[0-9]+_mp_rank_[0-9]+_?optim_states\.pt")
"""Old versions left the last underscore out."""


class DeepSpeed:
    """`global_step<step>`, complete where `latest` names it or a newer one.

    Tags that people choose themselves have no order, and are never touched.
    """

    name = "deepspeed"

    def named(self, entry: Entry) -> Named | None:
        """`global_step500`, and not `global_step500_universal`."""
        return numbered(entry, self.name, "global_step")

    def staging(self, entry: Entry) -> bool:  # noqa: ARG002
        """It writes in place."""
        return False

    def evidence(self, run: View, named: Named) -> Evidence:
        """The files of its ranks."""
        return look(run, named, _evidence)

    def records(self, run: View, names: Sequence[Named]) -> Records:  # noqa: ARG002
        """`latest` and `latest_universal`."""
        pointed: dict[str, str] = {}
        pointer = ""
        try:
            for pointer in POINTERS:
                tag = word(run, pointer)
                if tag is None:
                    continue
                if not has_directory(run.entries(), tag):
                    return Records(leave=f"{pointer} names {shown(tag)}, which is gone")
                pointed.setdefault(tag, pointer)
        except UnreadableError as error:
            return Records(leave=f"{pointer} can't be read: {error}")
        latest = next((tag for tag, pointer in pointed.items() if pointer == LATEST), None)
        if latest is None:
            return Records(leave=f"there is no {LATEST}: nothing says what is complete")
        newest = self.named(Entry(latest, DIRECTORY))
        if newest is None:
            return Records(leave=f"{LATEST} names {shown(latest)}, which has no place in the order")
        return Records(pointed=pointed, upto=newest.order)


FAMILY = DeepSpeed()


def _evidence(checkpoint: View) -> Evidence:
    entries = checkpoint.entries()
    if has_file(entries, _MODEL):
        return Evidence(genuine=True, complete=True)
    if has_file(entries, _OPTIMIZER):
        return Evidence(genuine=True, complete=False, why="no rank's model states are in it")
    return Evidence(genuine=False, complete=False, why="no file of a rank is in it")

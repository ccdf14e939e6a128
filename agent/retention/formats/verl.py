"""Checkpoints of verl.

Source: verl/trainer/ppo/ray_trainer.py (_save_checkpoint), verl/utils/checkpoint/
checkpoint_manager.py (find_latest_ckpt_path), fsdp_checkpoint_manager.py,
megatron_checkpoint_manager.py; checkpoint_handler.py and fsdp_sft_trainer.py leave out the role.
"""

import re
from collections.abc import Sequence

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats.megatron import TRACKER
from agent.retention.formats.numbered import by_tracker, has_directory, has_file, look, numbered
from agent.retention.view import Entry, View

ROLES = ("actor", "critic")
_RANK = re.compile(r"(?:model|optim|extra_state)_world_size_[0-9]+_rank_[0-9]+\.pt")


class Verl:
    """`global_step_<step>`, complete at or below what the tracker says."""

    name = "verl"

    def named(self, entry: Entry) -> Named | None:
        """`global_step_500`; without the second underscore it is DeepSpeed's."""
        return numbered(entry, self.name, "global_step_")

    def staging(self, entry: Entry) -> bool:  # noqa: ARG002
        """It writes in place."""
        return False

    def evidence(self, run: View, named: Named) -> Evidence:
        """Files of ranks in it, or in the directory of a role.

        Where verl itself pruned a role, only the data loader's state is left: no evidence.
        """
        return look(run, named, _evidence)

    def records(self, run: View, names: Sequence[Named]) -> Records:  # noqa: ARG002
        """The tracker."""
        return by_tracker(run, TRACKER, "global_step_{}".format)


FAMILY = Verl()


def _evidence(checkpoint: View) -> Evidence:
    for role in (None, *ROLES):
        directory = checkpoint if role is None else checkpoint.below(role)
        if directory is None:
            continue
        entries = directory.entries()
        if has_file(entries, _RANK) or has_directory(entries, "dist_ckpt"):
            return Evidence(genuine=True, complete=True)
    return Evidence(genuine=False, complete=False, why="no file of a rank is in it")

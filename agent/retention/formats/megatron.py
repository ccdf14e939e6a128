"""Checkpoints of Megatron-LM.

Source: megatron/training/checkpointing.py (get_checkpoint_name, save_checkpoint, read_metadata),
megatron/core/dist_checkpointing/serialization.py (save: `common.pt`, then `*.distcp`, `.metadata`,
`metadata.json`; without the last it loads nothing).
"""

import re
from collections.abc import Mapping, Sequence

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats.numbered import by_tracker, has_file, look, numbered, says
from agent.retention.formats.text import word
from agent.retention.view import DIRECTORY, FILE, Entry, UnreadableError, View

TRACKER = "latest_checkpointed_iteration.txt"
RELEASE = "release"
"""Converted weights without an iteration, as a directory and as what the tracker says."""
_ITERATION = re.compile("iter_(?:[0-9]{7}|[1-9][0-9]{7,17})")
_RANK = re.compile("mp_rank_[0-9]{2,}(?:_[0-9]{3,}){0,2}")
_SHARD = re.compile(r".+\.distcp")
_COMMON, _CONFIG = "common.pt", "metadata.json"


class Megatron:
    """`iter_<7 digits>`, complete at or below what the tracker says."""

    name = "megatron"

    def named(self, entry: Entry) -> Named | None:
        """`iter_0000500`; `release` is never touched."""
        return iteration(entry, self.name)

    def staging(self, entry: Entry) -> bool:  # noqa: ARG002 - Megatron writes in place
        """It writes in place."""
        return False

    def evidence(self, run: View, named: Named) -> Evidence:
        """A directory of a rank, or what is distributed over all of them."""
        return look(run, named, iteration_evidence)

    def records(self, run: View, names: Sequence[Named]) -> Records:  # noqa: ARG002
        """The tracker. `release` in it, or beside the iterations, says that it is no plain run."""
        try:
            if RELEASE in run.entries():
                return Records(leave=f"{RELEASE} lies beside the iterations")
            if word(run, TRACKER) == RELEASE:
                return Records(leave=f"{TRACKER} says {RELEASE}")
        except UnreadableError as error:
            return Records(leave=f"{TRACKER} can't be read: {error}")
        return by_tracker(run, TRACKER, iteration_name)


FAMILY = Megatron()


def iteration(entry: Entry, family: str) -> Named | None:
    """What a directory's name says of its iteration."""
    return numbered(entry, family, "iter_") if _ITERATION.fullmatch(entry.name) else None


def iteration_name(number: int) -> str:
    """The directory of an iteration."""
    return f"iter_{number:07d}"


def iteration_evidence(directory: View) -> Evidence:
    """Of `iter_<7 digits>`. Raises UnreadableError where it can't be listed."""
    entries = directory.entries()
    sharded, common = has_file(entries, _SHARD), _is_file(entries, _COMMON)
    if sharded or common:
        # PyTorch's own metadata come once all shards are written, then Megatron Core's.
        return says(
            "",
            ".metadata is missing" if sharded and ".metadata" not in entries else "",
            f"{_CONFIG} is missing" if common and _CONFIG not in entries else "",
        )
    if _has_rank(directory, entries):
        return Evidence(genuine=True, complete=True)
    return Evidence(genuine=False, complete=False, why="no file of a rank is in it")


def _has_rank(directory: View, entries: Mapping[str, Entry]) -> bool:
    """A rank's directory counts with its weights in it: they are written into it one by one."""
    for entry in entries.values():
        if entry.kind == DIRECTORY and _RANK.fullmatch(entry.name):
            rank = directory.below(entry.name)
            if rank is not None and rank.size("model_optim_rng.pt") is not None:
                return True
    return False


def _is_file(entries: Mapping[str, Entry], name: str) -> bool:
    return name in entries and entries[name].kind == FILE

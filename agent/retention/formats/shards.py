"""Weights in several files, `model-00001-of-00004.safetensors`: whether all are there, by name.

transformers, huggingface_hub's serialization and torch.distributed.checkpoint's Hugging Face writer
name them so; whoever loads the weights needs all of them.
"""

import re
from collections import Counter
from collections.abc import Iterable

_SHARD = re.compile(r"(?P<what>.+)-[0-9]{5}-of-(?P<total>[0-9]{5})(?P<kind>\.(?:safetensors|bin))")


def missing(names: Iterable[str]) -> str:
    """Which weights lack parts, "" if none do."""
    there = Counter(
        match.group("what", "total", "kind") for name in names if (match := _SHARD.fullmatch(name))
    )
    for (what, total, kind), count in sorted(there.items()):
        if count < int(total):
            return f"{count} of {int(total)} parts of {what}{kind} are there"
    return ""

"""Small files of the kinds that trainings leave, whole ones: torch.save's archives, safetensors."""

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Mapping
from typing import Any


def torch_file(content: object, weights: int = 1000) -> bytes:
    """What torch.save makes: the pickle first, all stored, no comment at the end."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(content, protocol=2))
        archive.writestr("archive/data/0", b"\1" * weights)
        archive.writestr("archive/version", b"3\n")
    return raw.getvalue()


def lightning_file(epoch: int = 0, step: int = 0) -> bytes:
    """What Lightning's Trainer saves, with the keys in its order."""
    return torch_file(
        {
            "epoch": epoch,
            "global_step": step,
            "pytorch-lightning_version": "2.5.0",
            "state_dict": {f"layer.{number}.weight": None for number in range(2000)},
            "callbacks": {},
        }
    )


def safetensors_file(metadata: Mapping[str, str] | None = None, weights: int = 64) -> bytes:
    """Two tensors, and the metadata where there are any."""
    head: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    head["a"] = {"dtype": "U8", "shape": [weights], "data_offsets": [0, weights]}
    head["b"] = {"dtype": "U8", "shape": [0], "data_offsets": [weights, weights]}
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + b"\1" * weights

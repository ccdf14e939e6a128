"""Whether files are whole: archives of torch.save, safetensors, and all that a checkpoint holds."""

import io
import json
import struct
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.retention.formats import archive, safetensors, shards, sound
from agent.retention.view import DIRECTORY, READABLE, Entry, UnreadableError
from tests.unit.retention.made import safetensors_file, torch_file
from tests.unit.retention.trees import Link, Sized, Tree, TreeView, Unreadable

ARCHIVE = torch_file({"epoch": 1})
TENSORS = safetensors_file({"ss_epoch": "1"})


def torn_archive(node: Any) -> str:
    return archive.torn(TreeView({"a.ckpt": node}), "a.ckpt")


def torn_tensors(node: Any) -> str:
    view = TreeView({"a.safetensors": node})
    return safetensors.torn(view, "a.safetensors", safetensors.header(view, "a.safetensors"))


def test_an_archive_is_whole_with_its_end_alone() -> None:
    assert torn_archive(ARCHIVE) == ""


def test_a_file_of_terabytes_is_not_read() -> None:
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert torn_archive(Sized(5 << 40, ARCHIVE[:100], end)) == ""
    assert torn_archive(Sized(5 << 40, ARCHIVE[:100])) == "is torn"


@given(st.integers(0, len(ARCHIVE) - 1))
def test_an_archive_that_was_cut_anywhere_is_torn(length: int) -> None:
    assert torn_archive(ARCHIVE[:length]) != ""


def test_an_archive_with_anything_after_its_end_is_torn() -> None:
    assert torn_archive(ARCHIVE + b"\0" * 22) == "is torn"
    commented = io.BytesIO(ARCHIVE)
    with zipfile.ZipFile(commented, "a") as written:
        written.comment = b"of somebody else"
    assert torn_archive(commented.getvalue()) == "is torn"


def test_an_archive_that_lacks_its_middle_is_torn() -> None:
    assert torn_archive(ARCHIVE[:100] + ARCHIVE[-22:]) == "is torn"


def test_what_is_no_archive_is_not_whole() -> None:
    old = TreeView({"a.ckpt": b"\x80\x02pickle of old days", "b.ckpt": ARCHIVE[:9], "c.ckpt": b""})
    assert [archive.is_other(old, name) for name in old.entries()] == [True, False, False]
    assert torn_archive(b"") == "is empty"
    assert torn_archive(None) == "is gone"


def test_safetensors_are_whole_with_the_bytes_that_the_header_promises() -> None:
    assert torn_tensors(TENSORS) == ""
    assert torn_tensors(safetensors_file(None, weights=0)) == ""


@given(st.integers(0, len(TENSORS) - 1))
def test_safetensors_that_were_cut_anywhere_are_torn(length: int) -> None:
    assert torn_tensors(TENSORS[:length]) != ""


def test_safetensors_with_more_bytes_than_promised_are_torn() -> None:
    assert torn_tensors(TENSORS + b"\0") == f"has {len(TENSORS) + 1} of {len(TENSORS)} bytes"


def test_only_the_head_of_safetensors_is_read() -> None:
    length = int.from_bytes(TENSORS[:8], "little")
    head = json.loads(TENSORS[8 : 8 + length])
    head["a"]["data_offsets"] = [0, 3 << 40]
    text = json.dumps(head).encode()
    node = Sized(8 + len(text) + (3 << 40), struct.pack("<Q", len(text)) + text)
    assert torn_tensors(node) == ""
    assert torn_tensors(Sized(node.size - 1, node.head)) != ""


def header(text: bytes, length: int | None = None) -> safetensors.Header | None:
    raw = struct.pack("<Q", len(text) if length is None else length) + text
    return safetensors.header(TreeView({"a": raw}), "a")


@pytest.mark.parametrize(
    "text",
    [
        b"[]",
        b"{",
        b'{"a": 1}',
        b'{"a": {"data_offsets": [0]}}',
        b'{"a": {"data_offsets": [2, 1]}}',
        b'{"a": {"data_offsets": [-1, 1]}}',
        b'{"a": {"data_offsets": ["0", "1"]}}',
        b'{"a": {"data_offsets": [0, 1e400]}}',
        b'{"a": {"data_offsets": [0, ' + b"9" * 5000 + b"]}}",
        b'{"__metadata__": []}',
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b' {"a": {"data_offsets": [0, 1]}}',
        b"\xff\xfe{}",
    ],
)
def test_what_is_no_header_is_none(text: bytes) -> None:
    assert header(text) is None


def test_metadata_are_texts() -> None:
    found = header(b'{"__metadata__": {"ss_epoch": "3", "ss_steps": 4, "x": null}}')
    assert found is not None
    assert found.metadata == {"ss_epoch": "3"}


def test_a_length_beyond_the_file_is_no_header() -> None:
    assert header(b"{}", length=2**63) is None


def test_a_header_of_more_than_any_record_is_not_read() -> None:
    view = TreeView({"a": Sized(READABLE * 4, struct.pack("<Q", READABLE + 1) + b"{")})
    with pytest.raises(UnreadableError, match="header"):
        safetensors.header(view, "a")
    assert view.asked == ["a"]


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_no_surprise(raw: bytes) -> None:
    torn_archive(raw)
    torn_archive(b"PK\3\4" + raw)
    torn_tensors(raw)
    torn_tensors(struct.pack("<Q", len(raw)) + raw)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], ""),
        (["model.safetensors", "config.json"], ""),
        (["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"], ""),
        (["model-00002-of-00002.safetensors"], "1 of 2 parts of model.safetensors are there"),
        (["model-00001-of-00001.bin", "model-00001-of-00001.safetensors"], ""),
        (["a-00001-of-99999.bin"], "1 of 99999 parts of a.bin are there"),
        (["a-00001-of-00002.bin", "b-00002-of-00002.bin"], "1 of 2 parts of a.bin are there"),
    ],
)
def test_parts_of_weights_are_counted_by_name(names: list[str], said: str) -> None:
    assert shards.missing(names) == said


def unsound(tree: Tree) -> str:
    return sound.unsound(TreeView({"c": tree}), Entry("c", DIRECTORY))


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"a.safetensors": TENSORS, "b.pt": ARCHIVE, ".metadata": b"x", "DONE": b"", ".keep": b""},
        {"old.bin": b"\x80\x02 a pickle", "log.txt": b""},
        {"nested": {"rank": {"c.pth": ARCHIVE}}},
        {"link.pt": Link("/elsewhere")},
        {"a.json": b'{"a": [1]}\n', "b.json": b"[1] ", "c.json": b"0.5", "_METADATA": b"{}"},
        {"__0_0.distcp": ARCHIVE + ARCHIVE, "__0_1.distcp": b"of another kind"},
    ],
)
def test_a_sound_checkpoint(tree: Tree) -> None:
    assert unsound(tree) == ""


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"a.safetensors": TENSORS[:-1]}, "c: a.safetensors has"),
        ({"a.safetensors": b""}, "c: a.safetensors is empty"),
        ({"model.index.json": b'{"a": [1]'}, "c: model.index.json is torn"),
        ({"_METADATA": b'{"a": 1' + bytes(100)}, "c: _METADATA is torn"),
        ({"nested": {"b.pt": ARCHIVE[:-1]}}, "c: nested: b.pt is torn"),
        ({"__0_0.distcp": ARCHIVE + ARCHIVE[:-1]}, "c: __0_0.distcp is torn"),
        ({"trainer_state.json": b""}, "c: trainer_state.json is empty"),
        ({"__0_0.distcp": b""}, "c: __0_0.distcp is empty"),
        ({"m-00001-of-00002.safetensors": TENSORS}, "c: 1 of 2 parts"),
        ({"a.safetensors": Unreadable("EIO")}, "c: a.safetensors can't be read: EIO"),
        ({"nested": Unreadable("EIO", kind=DIRECTORY)}, "c: nested can't be read: EIO"),
    ],
)
def test_an_unsound_checkpoint_names_the_file(tree: Tree, said: str) -> None:
    assert unsound(tree).startswith(said)


def test_a_file_by_itself_is_looked_at_too() -> None:
    view = TreeView({"a.ckpt": ARCHIVE, "b.ckpt": ARCHIVE[:-1]})
    assert sound.unsound(view, view.entries()["a.ckpt"]) == ""
    assert sound.unsound(view, view.entries()["b.ckpt"]) == "b.ckpt is torn"

"""Runs as frameworks have really left them: recorded once, with what the frameworks say of them.

`make test-frameworks RECORD=1` runs the frameworks and writes `recorded/<writer>.json`: names,
sizes, and of those files that recognisers look into what they can see of them.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.retention import assemble
from agent.retention.facts import Run
from agent.retention.formats import registry, sound
from agent.retention.view import DIRECTORY, READABLE, Entry, View
from tests.unit.retention.trees import Link, Sized, Tree, TreeView

RECORDED = Path(__file__).parent / "recorded"
FAMILIES = {
    "deepspeed_steps": "deepspeed",
    "diffusion": "diffusers",
    "distributed": "torchtitan",
    "kohya_names": "kohya",
    "lightning_files": "lightning",
    "megatron_iterations": "megatron",
    "orbax_steps": "orbax",
    "sft": "hf",
    "torchtitan_steps": "torchtitan",
    "torchtune_epochs": "torchtune",
    "trainer": "hf",
}
"""Writer (tests/frameworks/writers) -> whose its checkpoints are."""
LATE = {"torchtune_epochs": {"config.json", "generation_config.json"}}
"""What is not waited for: copies from the model at the beginning, after all else."""
_HEAD, _TAIL = 256, 22
"""Bytes of a file that is no text: signature and first keys of an archive, and its end."""


@dataclass(frozen=True)
class Real:
    """run: when all was written; cuts: what a crash would have left, at each step of a save."""

    truth: Mapping[str, Any]
    run: Tree
    cuts: Sequence[Tree]


def runs(view: View) -> list[Run]:
    """What the recognisers make of a directory, put together as the survey does."""
    looked = [
        assemble.Looked(entry.name, answers, 0.0, is_directory=entry.kind == DIRECTORY)
        for entry in view.entries().values()
        if (answers := tuple(_answers(view, entry)))
    ]
    families = {family.name: family for family in registry.FAMILIES}
    return [
        assemble.run("", group, families[group.family].records(view, group.names))
        for group in assemble.groups(looked)
    ]


def _answers(view: View, entry: Entry) -> Iterator[Any]:
    for family, named in registry.candidates(entry):
        evidence = family.evidence(view, named)
        yield named, evidence
        if evidence.genuine:
            return


def check(found: Sequence[Run], writer: str, truth: Mapping[str, Any]) -> None:
    """Holds what was found to what the framework itself says."""
    (run,) = found
    assert run.family == FAMILIES[writer]
    orders = {name: unit.order for unit in run.units for name in unit.names}
    assert {name: orders.get(name) for name in truth["names"]} == truth["names"]
    assert len(run.units) == len(truth["names"])
    assert all(unit.complete and not unit.broken for unit in run.units)
    records = run.records
    assert (run.odd, run.unreadable, records.leave, records.findings) == ((), "", "", ())
    assert (None if records.best is None else sorted(records.best)) == truth["best"]
    assert sorted(records.pointed) == truth["pointed"]
    for unit in run.units:
        known = {**records.metrics.get(unit.order, {}), **unit.metrics}
        assert truth["metrics"].get(str(unit.order), {}).items() <= known.items()


def counted(found: Sequence[Run]) -> set[str]:
    """The names of all that a plan would count as complete."""
    return {
        name
        for run in found
        if not run.records.leave
        for unit in run.units
        if unit.complete and (run.records.upto is None or unit.order <= run.records.upto)
        for name in unit.names
    }


def check_cut(found: Sequence[Run], writer: str, cut: Tree, whole: Real) -> None:
    """Nothing counts that had not been written as it is now."""
    for name in counted(found) & whole.truth["names"].keys():
        assert is_whole(name, writer, cut, whole)


def is_whole(name: str, writer: str, cut: Tree, whole: Real) -> bool:
    """Whether that checkpoint is already as it is in the end."""
    late = LATE.get(writer, set())
    # A framework may have removed it itself since.
    end = next(tree for tree in (whole.run, *reversed(whole.cuts)) if name in tree)
    return _sizes(name, cut, late) == _sizes(name, end, late)


def _sizes(name: str, tree: Tree, but: AbstractSet[str]) -> dict[str, int | None]:
    nodes = flat({name: tree[name]}).items()
    return {path: _size(node) for path, node in nodes if path.rpartition("/")[2] not in but}


def _size(node: object) -> int | None:
    if isinstance(node, Sized):
        return node.size
    return len(node) if isinstance(node, bytes) else None


def flat(tree: Tree, above: str = "") -> dict[str, Any]:
    """All nodes by path; a directory is one too, and an empty mapping."""
    found: dict[str, Any] = {}
    for name, node in sorted(tree.items()):
        found[f"{above}{name}"] = {} if isinstance(node, Mapping) else node
        if isinstance(node, Mapping):
            found |= flat(node, f"{above}{name}/")
    return found


def grown(nodes: Mapping[str, Any]) -> dict[str, Any]:
    """The tree of flat()'s nodes."""
    tree: dict[str, Any] = {}
    for path, node in sorted(nodes.items()):
        *above, name = path.split("/")
        place = tree
        for part in above:
            place = place[part]
        place[name] = {} if isinstance(node, Mapping) else node
    return tree


def on_disk(directory: Path) -> dict[str, Any]:
    """A directory as a tree, with all that is in its files: for tiny ones."""
    tree: dict[str, Any] = {}
    for path in sorted(directory.iterdir()):
        if path.is_symlink():
            tree[path.name] = Link(str(path.readlink()))
        elif path.is_dir():
            tree[path.name] = on_disk(path)
        else:
            assert path.stat().st_size < READABLE
            tree[path.name] = path.read_bytes()
    return tree


def of_writer(directory: Path) -> Real:
    """What a writer has left there."""
    cuts = [on_disk(cut) for cut in sorted((directory / "cuts").iterdir())]
    truth = json.loads((directory / "truth.json").read_text())
    return Real(truth, on_disk(directory / "run"), cuts)


def record(real: Real, writer: str) -> None:
    """Write it down."""
    run = flat(_seen(real.run))
    cuts = []
    for tree in real.cuts:
        cut = flat(_seen(tree))
        differs = {path: _put(node) for path, node in cut.items() if node != run.get(path)}
        cuts.append({"lacks": sorted(run.keys() - cut.keys()), "differs": differs})
    nodes = {path: _put(node) for path, node in run.items()}
    said = {"truth": real.truth, "run": nodes, "cuts": cuts}
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{writer}.json").write_text(json.dumps(said, indent=1) + "\n")


def recorded(writer: str) -> Real:
    """What was written down."""
    said = json.loads((RECORDED / f"{writer}.json").read_text())
    run = {path: _got(node) for path, node in said["run"].items()}
    cuts = [
        {path: node for path, node in run.items() if path not in cut["lacks"]}
        | {path: _got(node) for path, node in cut["differs"].items()}
        for cut in said["cuts"]
    ]
    return Real(said["truth"], grown(run), [grown(cut) for cut in cuts])


def _seen(tree: Tree) -> Tree:
    """The tree with nothing in its files but what recognisers look at."""
    view = TreeView(tree)
    runs(view)
    for entry in view.entries().values():
        sound.unsound(view, entry)
    asked = frozenset(view.asked)
    return grown({path: _cut(path, node, asked) for path, node in flat(tree).items()})


def _cut(path: str, node: Any, asked: frozenset[str]) -> Any:
    if not isinstance(node, bytes):
        return node
    if path not in asked:
        return Sized(len(node))
    try:
        node.decode("utf-8")
    except UnicodeDecodeError:
        head = 8 + int.from_bytes(node[:8], "little") if path.endswith(".safetensors") else _HEAD
        return Sized(len(node), node[:head], node[-_TAIL:])
    return node


def _put(node: Any) -> dict[str, Any]:
    if isinstance(node, bytes):
        return {"text": node.decode("utf-8")}
    if isinstance(node, Link):
        return {"link": node.target}
    if isinstance(node, Mapping):
        return {}
    parts = {"head": node.head, "tail": node.tail}
    texts = {key: base64.b64encode(part).decode() for key, part in parts.items() if part}
    return {"size": node.size, **texts}


def _got(node: Mapping[str, Any]) -> Any:
    if "text" in node:
        return node["text"].encode("utf-8")
    if "link" in node:
        return Link(node["link"])
    if "size" in node:
        parts = (base64.b64decode(node.get(key, "")) for key in ("head", "tail"))
        return Sized(node["size"], *parts)
    return dict(node)

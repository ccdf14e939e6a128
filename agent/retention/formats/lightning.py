"""Checkpoints of Lightning, which is PyTorch Lightning too.

Source: lightning/pytorch/callbacks/model_checkpoint.py, trainer/connectors/checkpoint_connector.py
(dump_checkpoint: its first keys; hpc_save_path), strategies/fsdp.py and model_parallel.py
(`meta.pt`), strategies/deepspeed.py (the tag `checkpoint`).
"""

import re
from collections.abc import Sequence

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats import archive, deepspeed, template
from agent.retention.formats.flat import flat_mapping
from agent.retention.formats.links import link
from agent.retention.formats.numbered import look, says
from agent.retention.formats.text import last_part, shown
from agent.retention.view import DIRECTORY, FILE, LINK, Entry, UnreadableError, View

BEST = "best_k_models.yaml"
_OWN_KEY = b"pytorch-lightning_version"
"""The third key of every checkpoint, before any weights."""
_FIRST_BYTES = 4096
_TOLD = 20
"""Checkpoints that are gone and told one by one."""
_EXTENSION = ".ckpt"
_VERSION = re.compile(r"-v(?P<version>[0-9]{1,9})\Z")
_HPC = re.compile("hpc_ckpt_(?P<number>[0-9]{1,18})")
_LAST = re.compile(r"(?:.*-)?last(?:-v[0-9]{1,9})?\.ckpt", re.DOTALL)
_META, _PARTS_DONE = "meta.pt", ".metadata"


class Lightning:
    """`epoch=3-step=500.ckpt`, a file or a directory, and what templates make of it."""

    name = "lightning"

    def named(self, entry: Entry) -> Named | None:
        """By its `step=`, else by its `epoch=`; `last` repeats another one."""
        if entry.kind not in {FILE, DIRECTORY} or not entry.name.endswith(_EXTENSION):
            return None
        body = entry.name.removesuffix(_EXTENSION)
        if hpc := _HPC.fullmatch(body):
            return Named(entry.name, self.name, "hpc", int(hpc["number"]), None)
        version = _VERSION.search(body)
        body = body[: version.start()] if version else body
        if body == "last":
            order = int(version["version"]) if version else 0
            return Named(entry.name, self.name, "last", order, None, pointer=True)
        return _by_template(entry.name, body)

    def staging(self, entry: Entry) -> bool:  # noqa: ARG002
        """It writes elsewhere and moves the file here, or in place."""
        return False

    def evidence(self, run: View, named: Named) -> Evidence:
        """Of a file its first keys and its end; of a directory what the strategy leaves in it."""
        try:
            entry = run.entries().get(named.name)
            if entry is not None and entry.kind == FILE:
                return _of_file(run, named.name)
        except UnreadableError as error:
            why = f"can't be read: {error}"
            return Evidence(genuine=False, complete=False, why=why, broken=True)
        return look(run, named, _of_directory)

    def records(self, run: View, names: Sequence[Named]) -> Records:
        """Links named `last`, and `best_k_models.yaml`, which does not say which way is better."""
        about = "the run"
        pointed: dict[str, str] = {}
        try:
            for about in _last_links(run):
                pointed[link(run, about) or ""] = f"link {about}"
            about = BEST
            listed = flat_mapping(run, BEST)
        except UnreadableError as error:
            return Records(leave=f"{about} {error}")
        known = {named.name for named in names}
        recorded = [last_part(path) for path in listed or {}]
        best = {name: BEST for name in recorded if name in known}
        lost = [name for name in recorded if name not in known]
        gone = [f"{shown(name)} of {BEST} is gone" for name in lost[:_TOLD]]
        if len(lost) > _TOLD:
            gone.append(f"{len(lost) - _TOLD} more of {BEST} are gone")
        kept = {name: why for name, why in pointed.items() if name in known}
        return Records(pointed=best | kept, best=best if listed else None, findings=tuple(gone))


FAMILY = Lightning()


def _by_template(name: str, body: str) -> Named | None:
    """`-last` at its end is what some templates of the last one have, and NeMo's."""
    last = body.endswith("-last")
    found = template.fields(body.removesuffix("-last"))
    for series in ("step", "epoch"):
        said = template.values(found, series)
        if not said:
            continue
        number = template.whole(said)
        if number is None:
            return None
        return Named(
            name=name,
            family=Lightning.name,
            series="last" if last else series,
            order=number,
            step=number if series == "step" else None,
            metrics=template.metrics(found, "step", "epoch"),
            pointer=last,
        )
    return None


def _last_links(run: View) -> list[str]:
    return [
        entry.name
        for entry in run.entries().values()
        if entry.kind == LINK and _LAST.fullmatch(entry.name)
    ]


def _of_file(run: View, name: str) -> Evidence:
    if archive.is_other(run, name):
        return says(archive.OTHER)
    first = run.head(name, _FIRST_BYTES) or b""
    return says(
        "" if _OWN_KEY in first else f"no {_OWN_KEY.decode()} at its beginning",
        archive.torn(run, name),
    )


def _of_directory(checkpoint: View) -> Evidence:
    """DeepSpeed writes `latest` after all ranks; the others first all parts, then the rest."""
    if deepspeed.LATEST in checkpoint.entries():
        tag = Named("checkpoint", deepspeed.DeepSpeed.name, "tag", 0, None)
        return deepspeed.FAMILY.evidence(checkpoint, tag)
    if checkpoint.size(_META) is None:
        return says(f"neither {_META} nor {deepspeed.LATEST} is in it", "is unfinished")
    of_meta = _of_file(checkpoint, _META)
    done = bool(checkpoint.size(_PARTS_DONE))
    return says(
        "" if of_meta.genuine else f"{_META}: {of_meta.why}",
        "" if of_meta.complete else f"{_META} {of_meta.why}",
        "" if done else f"{_PARTS_DONE} is missing",
    )

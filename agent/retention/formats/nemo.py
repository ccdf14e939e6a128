"""Checkpoints of NeMo 2.

Source: NeMo, nemo/lightning/pytorch/callbacks/model_checkpoint.py (ModelCheckpoint;
UNFINISHED_CHECKPOINT_SUFFIX: a file beside a checkpoint, while it is written and while it is
removed), nemo/lightning/ckpt_utils.py (weights/, context/), nemo/lightning/io/mixin.py (io.json).
"""

import re
from collections.abc import Sequence

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats import template
from agent.retention.formats.links import link
from agent.retention.formats.numbered import look, says
from agent.retention.view import DIRECTORY, LINK, Entry, UnreadableError, View

UNFINISHED = "-unfinished"
_FIELD = rf"{template.KEY}={template.VALUE}"
_NAME = re.compile(
    rf"(?P<stem>.+)--(?P<fields>{_FIELD}(?:-{_FIELD})*)(?P<last>-last)?(?:-v[0-9]{{1,9}})?",
    re.DOTALL,
)
_WEIGHTS = ("weights", "hf_weights", "hf_adapter")
_CONTEXT = ("io.json", "model.yaml")
_WEIGHTS_OWN = ("metadata.json", "adapter_metadata.json")
"""Of Megatron Core's distributed checkpoints, and of adapters."""


class NeMo:
    """`<name>--val_loss=0.25-epoch=0-step=500`; `-last` repeats the newest and is not counted."""

    name = "nemo"

    def named(self, entry: Entry) -> Named | None:
        """By its `step=`, else by its `consumed_samples=`."""
        match = _NAME.fullmatch(entry.name)
        if match is None or entry.kind != DIRECTORY:
            return None
        found = template.fields(match["fields"])
        for series in ("step", "consumed_samples"):
            said = {value for key, value in found if key == series}
            number = template.whole(said)
            if said:
                break
        if number is None:
            return None
        last = match["last"] is not None
        return Named(
            name=entry.name,
            family=self.name,
            series="last" if last else series,
            order=number,
            step=number if series == "step" else None,
            stem=match["stem"],
            metrics=template.metrics(found, "step", "consumed_samples", "epoch"),
            pointer=last,
        )

    def staging(self, entry: Entry) -> bool:  # noqa: ARG002
        """It writes in place."""
        return False

    def evidence(self, run: View, named: Named) -> Evidence:
        """What only NeMo leaves in it, and no marker beside it."""
        return look(run, named, lambda checkpoint: _evidence(run, checkpoint, named.name))

    def records(self, run: View, names: Sequence[Named]) -> Records:
        """Links that end with `-last`. The metrics stand in the names."""
        known = {named.name for named in names}
        about = "the run"
        pointed: dict[str, str] = {}
        try:
            for about in [entry.name for entry in run.entries().values() if _is_last_link(entry)]:
                name = link(run, about)
                if name in known:
                    pointed[name] = f"link {about}"
        except UnreadableError as error:
            return Records(leave=f"{about} {error}")
        return Records(pointed=pointed)


FAMILY = NeMo()


def _is_last_link(entry: Entry) -> bool:
    match = _NAME.fullmatch(entry.name) if entry.kind == LINK else None
    return match is not None and match["last"] is not None


def _evidence(run: View, checkpoint: View, name: str) -> Evidence:
    context = checkpoint.below("context")
    parts = [part for part in map(checkpoint.below, _WEIGHTS) if part is not None]
    ours = (context is not None and any(context.size(mark) for mark in _CONTEXT)) or any(
        part.size(mark) for part in parts for mark in _WEIGHTS_OWN
    )
    return says(
        "" if ours else "nothing in it is NeMo's own",
        f"{UNFINISHED} is beside it" if f"{name}{UNFINISHED}" in run.entries() else "",
        "" if any(part.entries() for part in parts) else "no weights are in it",
    )

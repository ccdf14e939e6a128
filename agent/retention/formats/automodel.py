"""Checkpoints of NeMo Automodel.

Source: Automodel, nemo_automodel/recipes/base_recipe.py (save_checkpoint), components/checkpoint/
lifecycle.py (reserve, publish) and utils.py (read_checkpoint_pointer, read_checkpoint_metric).
`config.yaml` is the last file of a save; the marker goes once all is published, which versions
before it do not know.
"""

import re
from collections.abc import Mapping, Sequence

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats.links import link
from agent.retention.formats.numbered import has_directory, look, says
from agent.retention.formats.text import finite_numbers, json_object, shown, word
from agent.retention.view import DIRECTORY, Entry, UnreadableError, View

MARKER = ".incomplete"
LATEST, LOWEST = "LATEST", "LOWEST_VAL"
_LOSSES, _CONFIG = "losses.json", "config.yaml"
_NAME = re.compile("epoch_[0-9]{1,18}_step_(?P<step>[0-9]{1,18})")
_STAGING = re.compile(rf"{_NAME.pattern}\.reserving-.*")


class Automodel:
    """`epoch_<n>_step_<n>`, in the order of steps."""

    name = "automodel"

    def named(self, entry: Entry) -> Named | None:
        """`epoch_0_step_500`."""
        match = _NAME.fullmatch(entry.name)
        if match is None or entry.kind != DIRECTORY:
            return None
        step = int(match["step"])
        return Named(entry.name, self.name, "step", step, step)

    def staging(self, entry: Entry) -> bool:
        """`epoch_0_step_500.reserving-<random>`."""
        return _STAGING.fullmatch(entry.name) is not None

    def evidence(self, run: View, named: Named) -> Evidence:
        """Its losses, or its configuration beside the model."""
        return look(run, named, _evidence)

    def records(self, run: View, names: Sequence[Named]) -> Records:
        """`LATEST` and `LOWEST_VAL`, links or texts, and the losses in each checkpoint."""
        pointed: dict[str, str] = {}
        best: dict[str, str] = {}
        for pointer in (LATEST, LOWEST):
            try:
                name = _pointer(run, pointer)
            except UnreadableError as error:
                return Records(leave=f"{pointer} {error}")
            if name is not None:
                pointed.setdefault(name, pointer)
                if pointer == LOWEST:
                    best[name] = pointer
        losses = {named.order: values for named in names if (values := _losses(run, named))}
        return Records(pointed=pointed, best=best or None, metrics=losses)


FAMILY = Automodel()


def _evidence(checkpoint: View) -> Evidence:
    entries = checkpoint.entries()
    model = has_directory(entries, "model")
    ours = _LOSSES in entries or (_CONFIG in entries and model)
    try:
        json_object(checkpoint, _LOSSES)
    except UnreadableError as error:
        return Evidence(ours, complete=False, why=f"{_LOSSES} {error}", broken=True)
    return says(
        "" if ours else f"{_LOSSES} is missing",
        f"{MARKER} is in it" if MARKER in entries else "",
        "" if model else "no model is in it",
        "" if _CONFIG in entries else f"{_CONFIG} is missing",
    )


def _pointer(run: View, pointer: str) -> str | None:
    """What a link names or, where links can't be made, a text. Raises UnreadableError."""
    name = link(run, pointer)
    if name is None:
        name = word(run, f"{pointer}.txt")
        if name is not None and name not in run.entries():
            raise UnreadableError(f"names {shown(name)}, which is gone")
    return name


def _losses(run: View, named: Named) -> Mapping[str, float]:
    """What a checkpoint says of itself. One that can't be read is incomplete by its evidence."""
    try:
        checkpoint = run.below(named.name)
        said = None if checkpoint is None else json_object(checkpoint, _LOSSES)
    except UnreadableError:
        return {}
    return finite_numbers(said)

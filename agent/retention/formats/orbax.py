"""Checkpoints of Orbax.

Source: orbax/checkpoint/_src/path/step.py (_StandardNameFormat), atomicity.py, atomicity_types.py
(TMP_DIR_SUFFIX, COMMIT_SUCCESS_FILE), ../metadata/checkpoint.py (_CHECKPOINT_METADATA);
orbax/checkpoint/checkpoint_manager.py (METRIC_ITEM_NAME: metrics are an item, in JSON).
A save begins with the metadata and ends with the time of its commit in them; then comes the commit
file, where it is written, or the rename to the final name.
"""

import re
from collections.abc import Mapping, Sequence

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats.numbered import look, says
from agent.retention.formats.text import finite, finite_numbers, json_object, shown
from agent.retention.view import DIRECTORY, Entry, UnreadableError, View

METADATA = "_CHECKPOINT_METADATA"
COMMITTED = "commit_success.txt"
METRICS = "metrics"
"""An item, and the file in it. The key of that name in the metadata is there too, mostly empty."""
_STAGING = ".orbax-checkpoint-tmp"
_NAME = re.compile("(?:(?P<stem>.+)_)?(?P<step>[0-9]{1,18})", re.DOTALL)


class Orbax:
    """`<n>`, zero-padded or not, and `<prefix>_<n>`; each prefix in a directory is its own run."""

    name = "orbax"

    def named(self, entry: Entry) -> Named | None:
        """`500`, `000500`, `state_500`: data sets are named so too; its metadata tell."""
        match = _NAME.fullmatch(entry.name)
        if match is None or entry.kind != DIRECTORY or self.staging(entry):
            return None
        step = int(match["step"])
        return Named(entry.name, self.name, "step", step, step, stem=match["stem"] or "")

    def staging(self, entry: Entry) -> bool:
        """`500.orbax-checkpoint-tmp-<time>`."""
        return _STAGING in entry.name

    def evidence(self, run: View, named: Named) -> Evidence:
        """Its metadata, when in them it was committed, and whether its metrics can be read."""
        return look(run, named, _evidence)

    def records(self, run: View, names: Sequence[Named]) -> Records:
        """The metrics of each checkpoint; which one is best it does not record."""
        metrics = {named.order: values for named in names if (values := _metrics(run, named))}
        return Records(metrics=metrics)


FAMILY = Orbax()


def _evidence(checkpoint: View) -> Evidence:
    try:
        said = json_object(checkpoint, METADATA)
    except UnreadableError as error:
        why = f"{METADATA} {error}"
        return Evidence(genuine=True, complete=False, why=why, broken=True)
    if said is None:
        # Most directories with a number for a name are parts of data sets: they are not listed.
        return says(f"{METADATA} is missing", "was never committed")
    try:
        _item(checkpoint)
    except UnreadableError as error:
        why = f"its {METRICS} can't be read: {error}"
        return Evidence(genuine=True, complete=False, why=why, broken=True)
    entries = checkpoint.entries()
    committed = COMMITTED in entries or bool(finite(said.get("commit_timestamp_nsecs")))
    writing = next((name for name in entries if _STAGING in name), "")
    return says(
        "",
        "" if committed else "was never committed",
        f"{shown(writing)} is in it" if writing else "",
    )


def _metrics(run: View, named: Named) -> Mapping[str, float]:
    """What a checkpoint says of itself. One that can't be read is incomplete by its evidence."""
    try:
        checkpoint = run.below(named.name)
        if checkpoint is None:
            return {}
        said = json_object(checkpoint, METADATA) or {}
        return finite_numbers(said.get(METRICS)) | finite_numbers(_item(checkpoint))
    except UnreadableError:
        return {}


def _item(checkpoint: View) -> Mapping[str, object] | None:
    """Raises UnreadableError."""
    item = checkpoint.below(METRICS)
    return None if item is None else json_object(item, METRICS)

"""Checkpoints of kohya's sd-scripts, and of lora-scripts, which runs them.

Source: sd-scripts, library/train_util.py (EPOCH_FILE_NAME, STEP_FILE_NAME, EPOCH_STATE_NAME,
STEP_STATE_NAME; DEFAULT_EPOCH_NAME `epoch`, DEFAULT_STEP_NAME `at`: the user named nothing),
train_network.py (save_model: `ss_*` metadata; train_state.json). Runs lie in one directory, told
apart by the name's stem. What is called by the stem alone is the result, and never matches.
"""

import re
from collections.abc import Sequence

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats import archive, safetensors
from agent.retention.formats.numbered import has_file, look, says
from agent.retention.formats.text import json_object, last_part, shown, step_of
from agent.retention.view import DIRECTORY, FILE, Entry, UnreadableError, View

STATE = "train_state.json"
_NUMBER = r"(?P<stem>.+)-(?:(?P<epoch>[0-9]{6})|step(?P<step>[0-9]{8}))"
_NAMES = {
    FILE: re.compile(rf"{_NUMBER}\.(?:safetensors|ckpt|pt)", re.DOTALL),
    DIRECTORY: re.compile(rf"{_NUMBER}-state", re.DOTALL),
}
_PREFIX = "ss_"
_OUTPUT_NAME = "ss_output_name"
_UNNAMED = ("epoch", "at")
_RANDOM = re.compile(r"random_states_[0-9]+\.pkl")
"""The last of what accelerate saves of a state (accelerate/checkpointing.py)."""


class Kohya:
    """`<name>-000003.safetensors`, `<name>-step00000500.safetensors`, and their `-state/`."""

    name = "kohya"

    def named(self, entry: Entry) -> Named | None:
        """Epochs and steps of one stem are series of their own."""
        pattern = _NAMES.get(entry.kind)
        match = pattern.fullmatch(entry.name) if pattern else None
        if match is None:
            return None
        step = None if match["step"] is None else int(match["step"])
        return Named(
            name=entry.name,
            family=self.name,
            series="epoch" if step is None else "step",
            order=int(match["epoch"]) if step is None else step,
            step=step,
            stem=match["stem"],
            side=entry.kind == DIRECTORY,
        )

    def staging(self, entry: Entry) -> bool:  # noqa: ARG002
        """It writes in place."""
        return False

    def evidence(self, run: View, named: Named) -> Evidence:
        """The header of safetensors; of other files, the state beside them."""
        if named.side:
            return look(run, named, lambda state: _of_state(run, named, state))
        try:
            return _of_model(run, named)
        except UnreadableError as error:
            why = f"can't be read: {error}"
            return Evidence(genuine=False, complete=False, why=why, broken=True)

    def records(self, run: View, names: Sequence[Named]) -> Records:  # noqa: ARG002
        """It keeps none."""
        return Records()


FAMILY = Kohya()


def _of_model(run: View, named: Named) -> Evidence:
    name = named.name
    if name.endswith(".safetensors"):
        said = safetensors.header(run, name)
        return says(_foreign(said, named.stem), safetensors.torn(run, name, said))
    if archive.is_other(run, name):
        return says(archive.OTHER)
    state = run.below(f"{name.rpartition('.')[0]}-state")
    ours = state is not None and _has_record(state)
    return says("" if ours else f"no {STATE} beside it", archive.torn(run, name))


def _foreign(said: safetensors.Header | None, stem: str) -> str:
    """Why the metadata do not show a run of that stem, "" if they do."""
    metadata = {} if said is None else said.metadata
    if not any(key.startswith(_PREFIX) for key in metadata):
        return f"no {_PREFIX}* metadata are in it"
    output = last_part(metadata.get(_OUTPUT_NAME, stem))
    wanted = "None" if stem in _UNNAMED else stem
    return "" if output in {stem, wanted} else f"its metadata call the run {shown(output)}"


def _of_state(run: View, named: Named, state: View) -> Evidence:
    """Versions that keep no record leave only accelerate's files: then the model beside it says."""
    entries = state.entries()
    try:
        recorded = _has_record(state)
    except UnreadableError as error:
        return Evidence(STATE in entries, complete=False, why=f"{STATE} {error}", broken=True)
    saved = has_file(entries, _RANDOM)
    model = f"{named.name.removesuffix('-state')}.safetensors"
    ours = recorded or (saved and not _foreign(safetensors.header(run, model), named.stem))
    return says(
        "" if ours else f"neither {STATE} nor a model of the run's shows whose it is",
        "" if saved else "its random states are missing",
    )


def _has_record(state: View) -> bool:
    """Raises UnreadableError."""
    said = json_object(state, STATE)
    return said is not None and step_of(said.get("current_step")) is not None

"""Checkpoints of Hugging Face's Trainer, and of what is built on it: TRL, LLaMA-Factory, axolotl.

Source: transformers/trainer.py (_save_checkpoint, _determine_best_metric, _get_output_dir: a search
puts its runs into run-*/), trainer_utils.py (PREFIX_CHECKPOINT_DIR), trainer_callback.py
(TrainerState). `tmp-checkpoint-<step>` is of the versions that renamed a checkpoint into place.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats.numbered import by_tracker, look, numbered
from agent.retention.formats.text import finite_numbers, json_object, last_part, shown, step_of
from agent.retention.view import FILE, LINK, Entry, UnreadableError, View

STATE = "trainer_state.json"
FLASH_TRACKER = "dlrover_latest.txt"
"""DLRover's flash checkpoints persist behind training's back, this one last
(dlrover/trainer/torch/flash_checkpoint/hf_trainer.py)."""
TRAININGS = 16
"""That may have written into one directory one after the other."""


class HfTrainer:
    """`checkpoint-<step>`, complete when its trainer_state.json is there and parses."""

    name = "hf"

    def named(self, entry: Entry) -> Named | None:
        """`checkpoint-500` and not `checkpoint-500-merged`."""
        return numbered(entry, self.name, "checkpoint-")

    def staging(self, entry: Entry) -> bool:
        """`tmp-checkpoint-500`."""
        return is_staging(entry)

    def evidence(self, run: View, named: Named) -> Evidence:
        """Its state, which the Trainer writes after weights, optimizer and generators."""
        return look(run, named, state_evidence)

    def records(self, run: View, names: Sequence[Named]) -> Records:
        """What the newest state says, and DLRover's tracker."""
        return with_flash_tracker(run, state_records(run, names))


FAMILY = HfTrainer()


def is_staging(entry: Entry) -> bool:
    """`tmp-checkpoint-<step>`, a directory."""
    return numbered(entry, "", "tmp-checkpoint-") is not None


def state_evidence(checkpoint: View) -> Evidence:
    """Of a checkpoint's directory. Raises UnreadableError where it can't be listed."""
    entry = checkpoint.entries().get(STATE)
    if entry is None:
        return Evidence(genuine=False, complete=False, why=f"{STATE} is missing")
    try:
        _document(checkpoint)
    except UnreadableError as error:
        why = f"{STATE} can't be read: {error}"
        return Evidence(genuine=entry.kind == FILE, complete=False, why=why, broken=True)
    return Evidence(genuine=True, complete=True)


def with_flash_tracker(run: View, records: Records) -> Records:
    """Adds what DLRover's tracker says, where there is one."""
    try:
        if records.leave or FLASH_TRACKER not in run.entries():
            return records
    except UnreadableError as error:
        return Records(leave=f"can't be listed: {error}")
    flash = by_tracker(run, FLASH_TRACKER, "checkpoint-{}".format)
    if flash.leave:
        return flash
    return replace(records, pointed={**records.pointed, **flash.pointed}, upto=flash.upto)


@dataclass(frozen=True, slots=True)
class State:
    """What one trainer_state.json says of the checkpoints beside it."""

    best: str
    """The name of the best one, "" where none was recorded."""
    best_step: int | None
    metrics: Mapping[int, Mapping[str, float]]
    """By step, of the steps asked for."""

    def continued_by(self, other: "State") -> bool:
        """Whether other can be of the same training, later: it logged the same at the last step.

        A log only grows, and a training resumed from a checkpoint takes its log over.
        """
        if not self.metrics:
            return True
        last = max(self.metrics)
        return self.metrics[last].items() <= other.metrics.get(last, {}).items()


def state_records(run: View, names: Sequence[Named]) -> Records:
    """The best one and the metrics, from the states in the checkpoints.

    The newest state speaks for all before it. A new training in an old directory writes lower steps
    with a log of their own: then each training has its best one, and each checkpoint what was
    logged for it.
    """
    wanted = frozenset(named.order for named in names)
    trainings: list[State] = []
    metrics: dict[int, Mapping[str, float]] = {}
    for named in reversed(names):
        try:
            state = _state(run, named.name, wanted)
        except UnreadableError as error:
            if not trainings:
                return Records(leave=f"{named.name}/{STATE} can't be read: {error}")
            # This one counts as incomplete; a newer one has taken its log over.
            continue
        if state is None:
            continue
        if not trainings:
            metrics.update(state.metrics)
        elif not state.continued_by(trainings[0]) and named.order in state.metrics:
            metrics[named.order] = state.metrics[named.order]
        if not any(state.continued_by(training) for training in trainings):
            trainings.append(state)
        if len(trainings) > TRAININGS:
            return Records(leave=f"more than {TRAININGS} trainings have written here")
    try:
        best, findings = _best(run, names, trainings)
    except UnreadableError as error:
        return Records(leave=f"can't be listed: {error}")
    return Records(best=best, metrics=metrics, findings=findings)


def _document(checkpoint: View) -> Mapping[str, Any] | None:
    """Raises UnreadableError where what is there is no Trainer's state."""
    document = json_object(checkpoint, STATE)
    if document is not None and step_of(document.get("global_step")) is None:
        raise UnreadableError("is no Trainer's state")
    return document


def _state(run: View, name: str, wanted: frozenset[int]) -> State | None:
    checkpoint = run.below(name)
    document = None if checkpoint is None else _document(checkpoint)
    if document is None:
        return None
    metrics: dict[int, dict[str, float]] = {}
    for step, values in logged(document.get("log_history")):
        if step in wanted:
            metrics.setdefault(step, {}).update(values)
    best = last_part(document.get("best_model_checkpoint"))
    return State(best, step_of(document.get("best_global_step")), metrics)


def logged(history: object) -> Iterator[tuple[int, dict[str, float]]]:
    """The entries of a log_history: step, and what of it can be compared."""
    for entry in history if isinstance(history, list) else ():
        step = step_of(entry.get("step")) if isinstance(entry, dict) else None
        if step is not None:
            yield step, measured(entry)


def measured(entry: Mapping[str, object]) -> dict[str, float]:
    """The finite numbers of an entry of a log, but for the step itself."""
    return {key: value for key, value in finite_numbers(entry).items() if key != "step"}


def _best(
    run: View, names: Sequence[Named], trainings: Sequence[State]
) -> tuple[Mapping[str, str] | None, tuple[str, ...]]:
    known = {named.name for named in names}
    best: dict[str, str] = {}
    findings: list[str] = []
    for training in trainings:
        recorded = best_name(run, training.best)
        by_step = f"checkpoint-{training.best_step}"
        if recorded in known:
            best[recorded] = "best_model_checkpoint"
        elif by_step in known:
            best[by_step] = "best_global_step"
        if recorded and recorded not in known:
            findings.append(f"the best checkpoint, {shown(recorded)}, is gone")
    recorded_any = any(training.best for training in trainings) or bool(best)
    return (best if recorded_any else None), tuple(findings)


def best_name(run: View, recorded: str) -> str:
    """What was recorded, or what the link of that name beside the checkpoints leads to.

    Raises UnreadableError where the run can't be listed.
    """
    entry = run.entries().get(recorded)
    if entry is None or entry.kind != LINK:
        return recorded
    return last_part(run.target(recorded)) or recorded

"""Checkpoints of ms-swift: Hugging Face's Trainer with more beside it, and Megatron-SWIFT.

Source: swift/trainers/mixin.py (_save, get_last_checkpoint, get_resume_checkpoint_until_find_ucp),
swift/trainers/patcher.py (logging.jsonl), swift/pipelines/train/sft.py (_handle_trainer_state);
swift/megatron/trainers/base.py (save_checkpoint), swift/megatron/utils/megatron_lm_utils.py
(save_mcore_checkpoint), swift/megatron/callbacks/print.py. A run is
`v<N>-<YYYYMMDD-HHMMSS>/`, or what the user made of it; `-merged` beside a checkpoint is none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats import hf, megatron
from agent.retention.formats.numbered import by_tracker, has_directory, look, numbered, tracked
from agent.retention.formats.text import digits, json_lines, last_part, shown
from agent.retention.view import LINK, Entry, UnreadableError, View

ARGUMENTS = "args.json"
LOG = "logging.jsonl"
LINKS = ("last", "best")
UNIVERSAL = "ucp.txt"
"""The step of the newest checkpoint that elastic training can resume from."""


class Swift:
    """`checkpoint-<step>` with swift's arguments in it, or with `iter_<7 digits>` below it."""

    name = "swift"

    def named(self, entry: Entry) -> Named | None:
        """`checkpoint-500` and not `checkpoint-500-merged`."""
        return numbered(entry, self.name, "checkpoint-")

    def staging(self, entry: Entry) -> bool:
        """As the Trainer's."""
        return hf.is_staging(entry)

    def evidence(self, run: View, named: Named) -> Evidence:
        """As the Trainer's; of Megatron-SWIFT, what its own tracker names."""
        return look(run, named, _evidence)

    def records(self, run: View, names: Sequence[Named]) -> Records:
        """The Trainer's states, or where there are none the log; links, and trackers of steps."""
        records = hf.with_flash_tracker(run, hf.state_records(run, names))
        if records.leave:
            return records
        try:
            if records.best is None and not records.metrics:
                records = _with_log(run, names, records)
            return _with_pointers(run, records)
        except UnreadableError as error:
            return Records(leave=f"can't be read: {error}")


FAMILY = Swift()


def _evidence(checkpoint: View) -> Evidence:
    entries = checkpoint.entries()
    iterations = [name for name, entry in entries.items() if megatron.iteration(entry, "")]
    if iterations:
        return _megatron_evidence(checkpoint, iterations)
    if ARGUMENTS not in entries:
        return Evidence(genuine=False, complete=False, why=f"{ARGUMENTS} is missing")
    return hf.state_evidence(checkpoint)


def _megatron_evidence(checkpoint: View, iterations: Sequence[str]) -> Evidence:
    """Of a directory with Megatron's iterations in it, as a rule one, and their tracker."""
    broken = False
    try:
        number = tracked(checkpoint, megatron.TRACKER)
        name = "" if number is None else megatron.iteration_name(number)
        if name in iterations:
            return _iteration(checkpoint, name)
        why = f"{megatron.TRACKER} names {name}, which is not there"
        if number is None:
            why = f"{megatron.TRACKER} is missing"
    except UnreadableError as error:
        why = f"{megatron.TRACKER} can't be read: {error}"
        broken = True
    genuine = _iteration(checkpoint, min(iterations)).genuine
    return Evidence(genuine=genuine, complete=False, why=why, broken=broken)


def _iteration(checkpoint: View, name: str) -> Evidence:
    inner = checkpoint.below(name)
    if inner is None:
        return Evidence(genuine=False, complete=False, why=f"{name} is gone")
    return megatron.iteration_evidence(inner)


def _with_log(run: View, names: Sequence[Named], records: Records) -> Records:
    """Adds what the log says: all there is of Megatron-SWIFT. Raises UnreadableError."""
    wanted = {named.order for named in names}
    metrics: dict[int, dict[str, float]] = {}
    recorded = ""
    for line in json_lines(run, LOG):
        step = _logged_step(line)
        if step in wanted:
            metrics.setdefault(step, {}).update(hf.measured(line))
        recorded = last_part(line.get("best_model_checkpoint")) or recorded
    name = hf.best_name(run, recorded)
    if name in {named.name for named in names}:
        return replace(records, metrics=metrics, best={name: f"best_model_checkpoint in {LOG}"})
    if not recorded:
        return replace(records, metrics=metrics)
    gone = f"the best checkpoint, {shown(recorded)}, is gone"
    return replace(records, metrics=metrics, best={}, findings=(*records.findings, gone))


def _logged_step(line: Mapping[str, object]) -> int | None:
    """From `"iteration": "500/2000"`, or the Trainer's `"global_step/max_steps"`."""
    for key in ("iteration", "global_step/max_steps"):
        value = line.get(key)
        if isinstance(value, str):
            return digits(value.partition("/")[0])
    return None


def _with_pointers(run: View, records: Records) -> Records:
    """Adds links and the elastic tracker; raises UnreadableError where the run can't be listed."""
    entries = run.entries()
    pointed = dict(records.pointed)
    best = records.best
    for link in LINKS:
        if link not in entries or entries[link].kind != LINK:
            continue
        # Made of the path that the job saw: on this host it may be dangling.
        name = last_part(run.target(link))
        if not has_directory(entries, name):
            return Records(leave=f"link {link} leads to {shown(name)}, which is gone")
        pointed.setdefault(name, f"link {link}")
        if link == "best" and best is None:
            best = {name: f"link {link}"}
    if UNIVERSAL in entries:
        universal = by_tracker(run, UNIVERSAL, "checkpoint-{}".format)
        if universal.leave:
            return universal
        pointed = {**universal.pointed, **pointed}
    return replace(records, pointed=pointed, best=best)

"""What a recogniser answers."""

from collections.abc import Sequence
from typing import Protocol

from agent.retention.facts import Evidence, Named, Records
from agent.retention.view import Entry, View


class Family(Protocol):
    """One way to write checkpoints. Stateless; no answer raises anything but what it says."""

    @property
    def name(self) -> str:
        """As it stands in `format:`: lower case, "hf", "deepspeed"."""

    def named(self, entry: Entry) -> Named | None:
        """What the whole name says; None where it is no checkpoint of this family.

        The kind counts too: where a family writes directories, a file or a link is none.
        """

    def staging(self, entry: Entry) -> bool:
        """Whether the name is one under which this family is just writing a checkpoint."""

    def evidence(self, run: View, named: Named) -> Evidence:
        """Look into it, no further than needed. Never raises: what can't be read is broken."""

    def records(self, run: View, names: Sequence[Named]) -> Records:
        """What the run says; names: its checkpoints of this family and stem, in ascending order.

        Never raises: a record that is there and can't be read is a reason to leave the run alone.
        """

"""When a mount is written to by its probe, and how the last time went."""

from collections.abc import Callable

from agent.protocol import Step

EVERY = 60.0
"""Seconds, at least, between two writes of an idle host; up to a quarter more by chance."""
RETRY = 10.0
"""Seconds from a write that failed to the next, so that healing is seen when it happens."""
SPACE_LOW = 64 << 20
"""Bytes free below which writing is tried that often too, so that `full` is seen as it comes."""


class Writes:
    """last: the newest outcome, None before the first; jitter: draws from 0 to 1."""

    def __init__(self, jitter: Callable[[], float]) -> None:
        self.last: Step | None = None
        self._jitter = jitter
        self._next_at = 0.0

    def due(self, now: float) -> bool:
        """Whether the next probe is to write. now: monotonic seconds."""
        return now >= self._next_at

    def took(self, write: Step, free: int, now: float) -> None:
        """How a write went; free: bytes left then."""
        self.last = write
        troubled = (write.errno != 0 and not write.denied) or free < SPACE_LOW
        self._next_at = now + (RETRY if troubled else EVERY) * (1 + self._jitter() / 4)

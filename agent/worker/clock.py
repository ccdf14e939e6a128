"""The clocks of this host that a pass of the cleaner reads. Those who check it bring others."""

import time


class Clock:
    """The host's own."""

    def now(self) -> float:
        """Seconds since the epoch; it may be set at any time, and other hosts have others."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some time in this boot."""
        return time.monotonic()


HOST = Clock()

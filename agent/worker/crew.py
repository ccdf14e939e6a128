"""Threads that share a pile of jobs, as each job waits for round trips over a network.

The newest job is done first: a walk then goes into the depth, and keeps few directories open.
"""

import threading
from collections.abc import Callable

Job = Callable[[], None]


class Crew:
    """threads: beside the one that waits, which works too. Jobs may add jobs."""

    def __init__(self, threads: int) -> None:
        self._pile: list[Job] = []
        self._undone = 0
        self._ended = False
        self._failure: BaseException | None = None
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def add(self, job: Job) -> None:
        """Have it done by and by."""
        with self._changed:
            self._pile.append(job)
            self._undone += 1
            self._changed.notify()

    def finish(self) -> None:
        """Return when all is done, what was added meanwhile included; raise what a job raised."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pile or not self._undone or self._failure)
                if self._failure is not None:
                    raise self._failure
                if not self._undone:
                    return
                job = self._pile.pop()
            self._do(job)

    def close(self) -> None:
        """Let the threads end; jobs that are left are dropped."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pile or self._ended)
                if self._ended:
                    return
                job = self._pile.pop()
            self._do(job)

    def _do(self, job: Job) -> None:
        failure: BaseException | None = None
        try:
            job()
        except BaseException as error:  # noqa: BLE001 - it is raised where all is waited for
            failure = error
        with self._changed:
            self._undone -= 1
            self._failure = self._failure or failure
            if self._failure is not None or not self._undone:
                self._changed.notify_all()

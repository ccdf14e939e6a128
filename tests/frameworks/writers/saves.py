"""What a writer does beside training: copies of its run in mid-save, and what it knows itself.

A copy is what a crash at that moment would leave: it is made just before the writer creates,
renames or removes anything below its run, as the interpreter's own audit events tell. What
libraries in C++ or Rust write lies between two of them.
"""

import contextlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_MOVES = frozenset(
    {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "shutil.move"}
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Saves:
    """`DIRECTORY/run` is the writer's, `DIRECTORY/cuts/<n>` are its copies, in their order."""

    def __init__(self, directory: Path) -> None:
        self.run = directory / "run"
        self._cuts = directory / "cuts"
        self._truth = directory / "truth.json"
        self._watching = self._listening = False
        self._one = threading.RLock()
        self.run.mkdir(parents=True)
        self._cuts.mkdir()

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """Copy the run at every step of the save that is within."""
        if not self._listening:
            sys.addaudithook(self._heard)
            self._listening = True
        self._watching = True
        yield
        self._watching = False
        self._copy()

    def truth(
        self,
        names: Mapping[str, int],
        *,
        latest: str,
        best: list[str] | None = None,
        pointed: list[str] | None = None,
        metrics: Mapping[int, Mapping[str, float]] | None = None,
    ) -> None:
        """What the framework's own interface says of the run: the tests hold the agent to it.

        names: checkpoint -> step, or epoch. latest: the one to resume from. best: None where the
        framework records none. pointed: what something in the run points to. metrics: by step.
        """
        said = {
            "names": dict(names),
            "latest": latest,
            "best": best,
            "pointed": pointed or [],
            "metrics": metrics or {},
        }
        self._truth.write_text(json.dumps(said, indent=1))

    def _heard(self, event: str, args: tuple[object, ...]) -> None:
        if not self._watching or not _changes(event, args):
            return
        paths = [os.fsdecode(arg) for arg in args[:2] if isinstance(arg, str | bytes | os.PathLike)]
        if any(Path(os.path.abspath(path)).is_relative_to(self.run) for path in paths):
            with self._one:
                self._watching = False
                self._copy()
                self._watching = True

    def _copy(self) -> None:
        number = sum(1 for _ in self._cuts.iterdir())
        shutil.copytree(self.run, self._cuts / f"{number:03}", symlinks=True)


def _changes(event: str, args: tuple[object, ...]) -> bool:
    if event != "open":
        return event in _MOVES
    _, mode, flags = args
    written = isinstance(mode, str) and bool(set(mode) & set("wax+"))
    return written or bool(isinstance(flags, int) and flags & _WRITES)


def write(writer: Callable[[Saves], None]) -> None:
    """Run a writer on the directory that the command line names."""
    os.environ.update(CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1", JAX_PLATFORMS="cpu")
    (directory,) = sys.argv[1:]
    writer(Saves(Path(directory).resolve()))

"""The libraries that download models, as users have them, in an environment of their own."""

import fcntl
from pathlib import Path

from tests.lab.shell import run
from tests.lab.subject import REPOSITORY

_PINS = Path(__file__).with_name("libraries.txt")
_PLACE = REPOSITORY / "build/libraries"
_DOWNLOAD = 600.0


def python() -> str:
    """An interpreter with huggingface_hub and modelscope, by its path on every machine of the lab.

    Made where it isn't there yet, in the versions of libraries.txt.
    """
    program, made_of = _PLACE / "bin/python", _PLACE / _PINS.name
    _PLACE.mkdir(parents=True, exist_ok=True)
    with (_PLACE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made_of.exists() or made_of.read_text() != _PINS.read_text():
            run(["/usr/bin/python3", "-m", "venv", "--clear", str(_PLACE)], timeout=_DOWNLOAD)
            pip = [str(program), "-m", "pip", "install", "--quiet", "--requirement", str(_PINS)]
            run(pip, timeout=_DOWNLOAD)
            made_of.write_text(_PINS.read_text())
    return str(program)

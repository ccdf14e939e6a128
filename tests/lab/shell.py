"""Run programs and wait for states, both with a deadline."""

import subprocess
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
Done = subprocess.CompletedProcess[str]


class LabError(Exception):
    """The lab could not do what was asked; the message says what and why."""


def run(argv: Sequence[str], *, timeout: float = 60, check: bool = True, stdin: str = "") -> Done:
    """Run a program to its end. timeout: seconds. Raises LabError, with its output."""
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise LabError(f"{argv[0]}: {error.strerror}") from error
    return finish(process, process.kill, timeout=timeout, check=check, stdin=stdin)


def finish(
    process: subprocess.Popen[str],
    kill: Callable[[], None],
    *,
    timeout: float,
    check: bool,
    stdin: str,
) -> Done:
    """Feed it and wait for its end; kill: what ends it when it is late. Raises LabError."""
    assert isinstance(process.args, list)
    command = " ".join(process.args)
    with process:
        try:
            stdout, stderr = process.communicate(stdin, timeout)
        except BaseException as error:
            kill()
            if isinstance(error, subprocess.TimeoutExpired):
                raise LabError(f"not done after {timeout:.0f} s: {command}") from error
            raise
    if check and process.returncode != 0:
        said = (stderr + stdout).strip()
        raise LabError(f"exit {process.returncode}: {command}\n{said}")
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def until(condition: Callable[[], T], timeout: float, what: str) -> T:
    """The first true value of condition. timeout: seconds. Raises LabError when it is late."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise LabError(f"after {timeout:.0f} s still not so: {what}")
        time.sleep(0.05)

"""Runs inside a machine of the lab, as some user: what jobs do with files, and what comes of it.

Called with a umask in octal and acts as JSON, `[["mkdir", PATH], ...]`; prints what came of each as
one line of JSON: "" where it worked, the errno's name where it did not, or what was asked for. Its
text is given to an interpreter, as a user may not get at the checkout.
"""

import errno
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def mode(path: str) -> str:
    found = os.lstat(path)
    return f"{found.st_uid} {found.st_gid} {stat.S_IMODE(found.st_mode):04o}"


def append(path: str) -> None:
    with open(path, "a") as file:
        file.write("more")


ACTS: dict[str, Callable[..., Any]] = {
    "mkdir": os.mkdir,
    "write": lambda path: Path(path).write_text("text") and None,
    "append": append,
    "read": lambda path: Path(path).read_text(),
    "mode": mode,
    "unlink": os.unlink,
    "rmdir": os.rmdir,
    "rename": os.rename,
    "remove": shutil.rmtree,
}


def outcome(name: str, *paths: str) -> str:
    try:
        return ACTS[name](*paths) or ""
    except OSError as error:
        return errno.errorcode[error.errno or 0]


def main() -> None:
    os.umask(int(sys.argv[1], 8))
    print(json.dumps([outcome(*act) for act in json.loads(sys.argv[2])]))


if __name__ == "__main__":
    main()

"""Looks at a mount as fast as it can, from a state in which it fails to one in which it works.

Runs on its own inside a machine: `poller.py FILE`. Each line on stdin is a request to look; the
first answer says that it has begun, the second, when a look has failed and a later one went well,
when both were: seconds of CLOCK_MONOTONIC after a listing and a read of the file. It idles else.
"""

import json
import os
import sys
import time

PAUSE = 0.002


def works(path: str) -> bool:
    try:
        os.listdir(os.path.dirname(path))
        with open(path, "rb", buffering=0) as file:
            return file.read(1) != b""
    except OSError:
        return False


def await_look(path: str, *, working: bool) -> float:
    while works(path) is not working:
        time.sleep(PAUSE)
    return time.monotonic()


def main(path: str) -> None:
    for _ in sys.stdin:
        print(json.dumps({"watching": path}), flush=True)
        failed = await_look(path, working=False)
        at = await_look(path, working=True)
        print(json.dumps({"failed": failed, "works": at}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

"""Looks at a mount as fast as it can until it works.

Runs on its own inside a machine: `poller.py FILE`. Each line on stdin is a request: true waits
for a look that fails first. The first answer says that it has begun, the second when a look went
well: seconds of CLOCK_MONOTONIC after a listing and a read of the file. In between it idles.
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
    for line in sys.stdin:
        print(json.dumps({"watching": path}), flush=True)
        if json.loads(line):
            await_look(path, working=False)
        print(json.dumps({"works": await_look(path, working=True)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

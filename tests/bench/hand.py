"""Does by hand, without a moment's delay, what the agent does by itself.

Runs on its own inside a machine. Each line on stdin is a JSON list of steps: a number is a
process to be killed, a list a program to be run. The answer: seconds of CLOCK_MONOTONIC at which
it began, and at which each step had ended.
"""

import json
import os
import signal
import subprocess
import sys
import time


def main() -> None:
    for line in sys.stdin:
        began, ended = time.monotonic(), []
        for step in json.loads(line):
            if isinstance(step, int):
                os.kill(step, signal.SIGKILL)
            else:
                subprocess.run(step, check=True, stdin=subprocess.DEVNULL)
            ended.append(time.monotonic())
        print(json.dumps({"began": began, "ended": ended}), flush=True)


if __name__ == "__main__":
    main()

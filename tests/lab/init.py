"""Process 1 of a cell: takes its host name, says "ready", then reaps until it is killed.

Runs on its own: `init.py HOSTNAME`.
"""

import contextlib
import os
import signal
import socket
import sys


def main(hostname: str) -> None:
    socket.sethostname(hostname)
    os.write(1, b"ready\n")
    null = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, 0):
                pass
        signal.sigwait({signal.SIGCHLD})


if __name__ == "__main__":
    main(sys.argv[1])

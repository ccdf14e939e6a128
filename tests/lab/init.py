"""Process 1 of a cell: prepares its mounts, says "ready", then reaps until it is killed.

Runs on its own, with the system's Python and nothing else: `init.py SPEC`, SPEC being JSON
{"hostname": str, "mounts": [[argument of mount(8), ...], ...], "folders": [path, ...]}.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys


def main(spec_text: str) -> None:
    spec = json.loads(spec_text)
    socket.sethostname(spec["hostname"])
    for arguments in spec["mounts"]:
        subprocess.run(["mount", *arguments], check=True)
    for folder in spec["folders"]:
        os.makedirs(folder, exist_ok=True)
    os.chdir("/")
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

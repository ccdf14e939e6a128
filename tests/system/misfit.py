"""Runs as the service in the agent's place, and behaves badly: `misfit.py deaf|mute|stuck PATH`.

deaf: ready, and deaf to SIGTERM. mute: never ready. stuck: ready, with four children that sit in
a system call on PATH for as long as it hangs.
"""

import os
import signal
import socket
import subprocess
import sys

STUCK = """
import os
os.open("{0}/w{1}", os.O_CREAT | os.O_RDWR)
"""


def main(manner: str, path: str = "") -> None:
    if manner == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if manner == "stuck":
        for number in range(4):
            subprocess.Popen([sys.executable, "-c", STUCK.format(path, number)])
    if manner != "mute":
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.connect(os.environ["NOTIFY_SOCKET"])
            notify.send(b"READY=1")
    signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Try one operation on a path of a machine, in a process of its own, and name the outcome."""

from .cell import Cell
from .shell import LabError

HANGS = "hangs"
_SCRIPT = """
import errno, os, sys
operation, path = sys.argv[1:]
name = f"{path}/attempt-{os.getpid()}"
def write():
    file = os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        os.write(file, b"x")
        os.fsync(file)
        os.pread(file, 1, 0)
    finally:
        os.close(file)
        os.unlink(name)
actions = {
    "stat": lambda: os.stat(path),
    "statvfs": lambda: os.statvfs(path),
    "listdir": lambda: os.listdir(path),
    "read": lambda: open(path, "rb").read(),
    "mkdir": lambda: os.mkdir(path),
    "makedirs": lambda: os.makedirs(path, exist_ok=True),
    "unlink": lambda: os.unlink(path),
    "write": write,
}
try:
    actions[operation]()
except OSError as error:
    print(errno.errorcode.get(error.errno, error.errno))
else:
    print("ok")
"""


def attempt(machine: Cell, operation: str, path: str, *, timeout: float = 5) -> str:
    """What comes of it: "ok", a name of errno(3), or HANGS after timeout seconds.

    operation: "stat", "statvfs", "listdir", "read", "mkdir", "makedirs", "unlink", or "write",
    which makes a file in the folder, syncs it, reads it back and unlinks it.
    """
    argv = ["/usr/bin/python3", "-I", "-S", "-c", _SCRIPT, operation, path]
    try:
        return machine.run(argv, timeout=timeout).stdout.strip()
    except LabError as error:
        if "not done after" in str(error):
            return HANGS
        raise

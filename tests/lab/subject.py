"""What is under test: the checkout's agent, or that of a Debian package.

The package is named by the environment, so that the demo, the benches and whatever else a test
starts follow it. Hosts with systemd get it installed; quick clients, which see the machine's own
files, see its tree laid over /usr.
"""

import hashlib
import os
import tempfile
from pathlib import Path

from .shell import LabError, run

REPOSITORY = Path(__file__).resolve().parents[2]
VARIABLE = "GLUSTER_ML_PACKAGE"
UNIT = "gluster-ml-agent.service"
HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")
"""What PrivateTmp= and ProtectHome= hide."""
PROGRAM = "/usr/bin/gluster-ml-agent"
TREES = REPOSITORY / "build/unpacked"


def package() -> Path | None:
    """The package under test; None: the checkout. Raises LabError if there is no such file."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    if not Path(named).is_file():
        raise LabError(f"{VARIABLE}: no package {named}")
    return Path(named).resolve()


def program() -> str:
    """The agent under test, by its path on every machine of the lab."""
    return PROGRAM if package() else str(REPOSITORY / ".venv/bin/gluster-ml-agent")


def python() -> list[str]:
    """An interpreter that imports the agent under test; on every machine, installed or not."""
    found = package()
    if found is None:
        return [str(REPOSITORY / ".venv/bin/python")]
    return ["/usr/bin/env", f"PYTHONPATH={modules(found)}", "/usr/bin/python3", "-S"]


def modules(package: Path) -> str:
    """The folder with the package's Python modules, unpacked."""
    return f"{unpacked(package)}/usr/lib/gluster-ml-agent"


def unit() -> Path:
    """The service unit as it is shipped. Raises LabError."""
    found = package()
    if found is None:
        return REPOSITORY / "systemd" / UNIT
    (inside,) = unpacked(found).glob(f"**/system/{UNIT}")
    return inside


def seen_by_service() -> list[str]:
    """Settings by which a service sees the checkout where its sandbox would hide it."""
    hidden = any(REPOSITORY.is_relative_to(folder) for folder in HIDDEN)
    return [f"BindReadOnlyPaths={REPOSITORY}"] if hidden else []


def unpacked(package: Path) -> Path:
    """The package's files in a folder of the checkout; made where it isn't there yet."""
    digest = hashlib.sha256(package.read_bytes()).hexdigest()[:12]
    wanted = TREES / digest
    if not wanted.exists():
        TREES.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix="draft-", dir=TREES))
        run(["dpkg-deb", "--extract", str(package), str(draft)])
        draft.chmod(0o755)
        try:
            draft.rename(wanted)
        except OSError:  # another run was faster
            run(["rm", "-r", str(draft)])
    return wanted

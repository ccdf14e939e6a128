"""What is said of a file that comes into force."""

from agent.config.diff import diff
from agent.daemon.inforce import told
from tests.unit.daemon.test_keepers import named
from tests.unit.mounts.world import config


def test_a_volume_that_takes_anothers_path_is_one_change() -> None:
    old = named(a=config(), b=config(path="/mnt/b"), c=config(path="/mnt/c"))
    new = named(
        a=config(volume="other"), B=config(volume="other", path="/mnt/b"), d=config(path="/d")
    )
    assert list(told(diff(old, new))) == [
        "c is taken out",
        "a: another volume, vol -> other, when the old one is idle",
        "B (before: b): another volume, vol -> other, when the old one is idle",
        "d is new",
    ]

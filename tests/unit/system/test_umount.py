import pytest

from agent.errors import MountFailed
from agent.system.umount import Unmounted, outcome, umount_argv


def test_only_the_system_call_touches_the_path() -> None:
    argv = umount_argv("/mnt/a", lazy=False)
    assert {"--no-canonicalize", "--internal-only"} <= set(argv)
    assert "--lazy" not in argv
    assert argv[-2:] == ("--", "/mnt/a")
    assert "--lazy" in umount_argv("/mnt/a", lazy=True)


@pytest.mark.parametrize(
    ("ok", "words", "means"),
    [
        (True, "", Unmounted.DONE),
        (False, "umount: /mnt/a: target is busy.\n", Unmounted.BUSY),
        (False, "umount: /mnt/a: not mounted.\n", Unmounted.NOTHING),
    ],
)
def test_what_umount_means(ok: bool, words: str, means: Unmounted) -> None:
    assert outcome("/mnt/a", ok=ok, words=words) is means


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("umount: /mnt/a: must be superuser to unmount.\n\n", "must be superuser"),
        ("", "no reason given"),
    ],
)
def test_any_other_failure_is_told(words: str, told: str) -> None:
    with pytest.raises(MountFailed, match=told):
        outcome("/mnt/a", ok=False, words=words)

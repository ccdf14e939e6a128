"""Where a mount may be, and above all: which directories are never looked at."""

import contextlib
import errno
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import places
from agent.config.places import PathFacts
from agent.model.mount import MountEntry

SYSTEM = ["/", "/usr", "/tmp", "/home", "/etc", "/var", "/mnt", "/srv", "/opt", "/root", "/run"]
ROOT_DIR = PathFacts(stat.S_IFDIR | 0o755, 0, 0)


def entry(path: str, fstype: str) -> MountEntry:
    return MountEntry(1, 0, 0, 42, "/", path, "rw", fstype, "source", "rw")


class Looks:
    """A made-up host: what is not named is a directory of root's; remembers who was looked at."""

    def __init__(self, **facts: PathFacts | None) -> None:
        self.facts = {path.replace("_", "/"): fact for path, fact in facts.items()}
        self.seen: list[str] = []

    def __call__(self, path: str) -> PathFacts | None:
        self.seen.append(path)
        return self.facts.get(path, ROOT_DIR)


@pytest.mark.parametrize(
    "path",
    ["/mnt/a", "/data/gluster/model-share", "/srv/a", "/usr/local/a", "/mnt/é", "/mnt/a.b_c+d@e=f"],
)
def test_good_paths(path: str) -> None:
    assert places.mount_path(path) == path


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (None, "is empty"),
        (5, "must be text"),
        ("", "must be absolute"),
        ("mnt/a", "must be absolute"),
        ("/mnt/a/", "must be normalised"),
        ("//mnt/a", "must be normalised"),
        ("/mnt//a", "must be normalised"),
        ("/mnt/./a", "must be normalised"),
        ("/mnt/../a", "must be normalised"),
        ("/mnt/a b", "must not have blanks"),
        ("/mnt/a\n", "must not have blanks"),
        ("/mnt/a\u00a0b", "must not have blanks"),
        ("/mnt/a\x00", "must not have blanks"),
        *((f"/mnt/a{char}", "has a character") for char in "*?[]\\\"'`$;&|<>(){}!#^"),
        *(
            (path, "is a directory of the system")
            for path in ["/", "/usr", "/tmp", "/home", "/etc", "/var"]
        ),
        *(
            (path, "is a directory of the system")
            for path in ["/mnt", "/srv", "/opt", "/root", "/run"]
        ),
        ("/etc/a", "is inside a directory of the system"),
        ("/usr/lib/a", "is inside a directory of the system"),
        ("/proc/1", "is inside a directory of the system"),
        ("/var/lib/gluster-ml/a", "is inside a directory of the system"),
        ("/mnt/" + "a" * 256, "is too long"),
    ],
)
def test_bad_paths(path: object, said: str) -> None:
    with pytest.raises(ValueError, match="^" + said):
        places.mount_path(path)


@given(st.text(max_size=30))
def test_any_text_is_taken_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert places.mount_path(text) == text


def test_inside_is_by_component() -> None:
    assert places.inside("/mnt/a/b", "/mnt/a")
    assert places.inside("/mnt/a", "/mnt/a")
    assert places.inside("/mnt/a", "/")
    assert not places.inside("/mnt/ab", "/mnt/a")


@pytest.mark.parametrize("fstype", ["fuse.glusterfs", "fuse.sshfs", "fuse", "nfs4", "ceph"])
def test_inside_a_network_or_fuse_mount(fstype: str) -> None:
    looks = Looks()
    table = [entry("/", "ext4"), entry("/mnt/a", fstype)]
    assert "is inside /mnt/a" in (places.refusal("/mnt/a/b/c", table, looks) or "")
    assert looks.seen == []


@pytest.mark.parametrize("fstype", ["fuse.glusterfs", "nfs", "autofs"])
def test_what_is_mounted_at_the_path_itself_is_not_touched(fstype: str) -> None:
    looks = Looks()
    table = [entry("/", "ext4"), entry("/mnt/a", fstype), entry("/mnt/a", "ext4")]
    assert places.refusal("/mnt/a", table, looks) is None
    assert looks.seen == ["/", "/mnt"]


def test_local_mounts_are_no_obstacle() -> None:
    looks = Looks()
    table = [entry("/", "overlay"), entry("/mnt", "xfs"), entry("/mnt/b", "fuse.glusterfs")]
    assert places.refusal("/mnt/a", table, looks) is None
    assert looks.seen == ["/", "/mnt", "/mnt/a"]


@pytest.mark.parametrize("fstype", ["nfs", "virtiofs", "9p", "fuse.fuse-overlayfs"])
def test_a_root_file_system_of_the_network_is_no_obstacle(fstype: str) -> None:
    looks = Looks()
    assert places.refusal("/mnt/a", [entry("/", fstype)], looks) is None
    assert looks.seen == ["/", "/mnt", "/mnt/a"]


def test_what_is_not_there_ends_the_search() -> None:
    looks = Looks(_mnt_a=None)
    assert places.refusal("/mnt/a/b/c", [], looks) is None
    assert looks.seen == ["/", "/mnt", "/mnt/a"]


@pytest.mark.parametrize(
    ("mode", "uid", "gid", "said"),
    [
        (stat.S_IFLNK | 0o777, 0, 0, "goes through a symbolic link (/data)"),
        (stat.S_IFREG | 0o644, 0, 0, "/data is no directory"),
        (stat.S_IFDIR | 0o755, 1000, 0, "belongs to uid 1000"),
        (stat.S_IFDIR | 0o1777, 0, 0, "others than root can write to"),
        (stat.S_IFDIR | 0o775, 0, 100, "others than root can write to"),
        (stat.S_IFDIR | 0o775, 0, 0, None),
        (stat.S_IFDIR | 0o2755, 0, 100, None),
    ],
)
def test_parents(mode: int, uid: int, gid: int, said: str | None) -> None:
    refusal = places.refusal("/data/a", [], Looks(_data=PathFacts(mode, uid, gid)))
    assert (said is None) == (refusal is None)
    assert said is None or said in (refusal or "")


def test_the_path_itself_may_belong_to_anybody_but_be_no_link() -> None:
    mine = Looks(_mnt_a=PathFacts(stat.S_IFDIR | 0o2777, 1000, 100))
    assert places.refusal("/mnt/a", [], mine) is None
    link = Looks(_mnt_a=PathFacts(stat.S_IFLNK | 0o777, 0, 0))
    assert "symbolic link (/mnt/a)" in (places.refusal("/mnt/a", [], link) or "")


def test_what_can_not_be_looked_at_is_refused() -> None:
    def broken(path: str) -> PathFacts | None:
        raise OSError(errno.EIO, "Input/output error")

    assert places.refusal("/mnt/a", [], broken) == "can't be looked at: /: Input/output error"


PARTS = st.lists(st.sampled_from(["a", "b", "mnt"]), min_size=1, max_size=4)
PATHS = PARTS.map(lambda parts: "/" + "/".join(parts))
REMOTE = ["fuse.glusterfs", "nfs"]
TYPES = st.sampled_from(["ext4", "tmpfs", *REMOTE])


@given(PATHS, st.lists(st.tuples(PATHS, TYPES), max_size=5))
def test_nothing_on_a_network_mount_is_ever_looked_at(
    path: str, mounts: list[tuple[str, str]]
) -> None:
    looks = Looks()
    places.refusal(path, [entry(*mount) for mount in mounts], looks)
    for seen in looks.seen:
        for mounted, fstype in mounts:
            assert not (fstype in REMOTE and places.inside(seen, mounted))


def test_conflicts() -> None:
    paths = {"a": "/mnt/a", "b": "/mnt/ab", "c": "/mnt/a/c", "d": "/mnt/a"}
    assert places.conflicts(paths) == [
        ("c", "is inside the path of mounts.a (/mnt/a)"),
        ("c", "is inside the path of mounts.d (/mnt/a)"),
        ("d", "is the path of mounts.a too"),
    ]

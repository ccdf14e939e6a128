from hypothesis import given
from hypothesis import strategies as st

from agent.model.mount import MountEntry
from agent.system.mountinfo import Source, layers_at, parse, parse_source

ROOT = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"


def line(mount_id: int, parent: int, path: str, minor: int = 0) -> bytes:
    source = "node1:/vol"
    return (
        f"{mount_id} {parent} 0:{minor} / {path} rw - fuse.glusterfs {source} rw,user_id=0\n"
    ).encode()


def ids(entries: tuple[MountEntry, ...]) -> list[int]:
    return [entry.mount_id for entry in entries]


def test_parses_an_entry_with_optional_fields_and_escapes() -> None:
    data = (
        rb"174 27 0:58 / /mnt/a\040b\134c rw,relatime shared:1 master:2 - fuse.glusterfs "
        rb"node1:/v\011w rw,user_id=0,max_read=131072" + b"\n"
    )
    (entry,) = parse(data)
    assert entry == MountEntry(
        mount_id=174,
        parent_id=27,
        major=0,
        minor=58,
        root="/",
        path="/mnt/a b\\c",
        options="rw,relatime",
        fstype="fuse.glusterfs",
        source="node1:/v\tw",
        super_options="rw,user_id=0,max_read=131072",
    )
    assert entry.device == (0, 58)


def test_a_bad_line_is_skipped_and_the_rest_kept() -> None:
    assert ids(parse(b"nonsense\n1 2 3\n" + ROOT + b"\n" + line(40, 27, "/m"))) == [27, 40]


def test_a_source_may_be_empty_and_a_name_not_utf8() -> None:
    (entry,) = parse(b"1 1 0:5 / /\xff rw - tmpfs  rw\n")
    assert (entry.source, entry.path) == ("", "/\udcff")


@given(st.binary())
def test_any_bytes_parse(data: bytes) -> None:
    for entry in parse(data):
        parse_source(entry.source)
        layers_at((entry,), entry.path)


@given(st.binary(min_size=1).filter(lambda name: b"\0" not in name))
def test_any_name_survives_the_kernels_escapes(name: bytes) -> None:
    escaped = b"".join(
        b"\\%03o" % byte if byte in b" \t\n\\#" else bytes([byte]) for byte in b"/" + name
    )
    (entry,) = parse(b"1 1 0:5 / " + escaped + b" rw - tmpfs none rw\n")
    assert entry.path.encode("utf-8", "surrogateescape") == b"/" + name


def test_layers_come_bottom_to_top_whatever_the_order_in_the_table() -> None:
    table = parse(line(50, 40, "/m", 8) + line(60, 50, "/m", 9) + ROOT + line(40, 27, "/m", 7))
    assert ids(layers_at(table, "/m")) == [40, 50, 60]
    assert layers_at(table, "/m/sub") == ()
    assert layers_at(table, "/other") == ()


def test_a_mount_below_a_parent_that_was_mounted_over_is_not_reached() -> None:
    table = parse(ROOT + line(30, 27, "/m/deep") + line(31, 27, "/m") + line(32, 31, "/m/deep"))
    assert ids(layers_at(table, "/m/deep")) == [32]
    hidden = parse(ROOT + line(30, 27, "/m/deep") + line(31, 27, "/m"))
    assert layers_at(hidden, "/m/deep") == ()


def test_a_root_that_was_mounted_over_counts_as_a_layer() -> None:
    table = parse(ROOT + line(28, 27, "/") + line(29, 28, "/m"))
    assert ids(layers_at(table, "/")) == [27, 28]
    assert ids(layers_at(table, "/m")) == [29]


def test_a_loop_of_parents_ends() -> None:
    table = parse(line(1, 2, "/") + line(2, 1, "/"))
    assert len(layers_at(table, "/")) == 2


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from(["/", "/a", "/a/b"])),
        max_size=8,
    ),
    st.sampled_from(["/", "/a", "/a/b", ""]),
)
def test_layers_of_any_table_are_at_the_path(rows: list[tuple[int, int, str]], path: str) -> None:
    table = parse(b"".join(line(*row) for row in rows))
    assert all(entry.path == path for entry in layers_at(table, path))


def test_sources() -> None:
    cases = {
        "node1:/vol": Source("node1", "vol", ""),
        "node1:vol": Source("node1", "vol", ""),
        "node1:/vol/sub/dir/": Source("node1", "vol", "sub/dir"),
        "node1:vol/sub": Source("node1", "vol", "sub"),
        "[fd00::1]:/vol/sub": Source("fd00::1", "vol", "sub"),
        "fd00::1:/vol": Source("fd00::1", "vol", ""),
        "fe80::1%eth0:vol": Source("fe80::1%eth0", "vol", ""),
        "10.0.0.1:/vol": Source("10.0.0.1", "vol", ""),
    }
    assert {text: parse_source(text) for text in cases} == cases


def test_what_is_no_gluster_source() -> None:
    for text in ("", "/dev/sda1", "tmpfs", ":/vol", "node1:", "node1:/", "[fd00::1", "/a:b"):
        assert parse_source(text) is None, text


@given(
    server=st.from_regex(r"[a-z0-9.-]+|[0-9a-f:]*:[0-9a-f]+", fullmatch=True),
    volume=st.from_regex(r"[a-zA-Z0-9_-]+", fullmatch=True),
    subdir=st.sampled_from(["", "sub", "sub/dir", "a:b/c"]),
)
def test_sources_come_back(server: str, volume: str, subdir: str) -> None:
    tail = f"/{subdir}" if subdir else ""
    assert parse_source(f"{server}:/{volume}{tail}") == Source(server, volume, subdir)

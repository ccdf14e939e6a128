import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.system.units import escape_path, mount_unit, unit_object

PATHS = st.lists(
    st.text(
        st.characters(exclude_characters="\0/\n", exclude_categories=["Cs"]),
        min_size=1,
        max_size=6,
    ).filter(lambda part: part != ".."),
    max_size=4,
).map(lambda parts: "/" + "/".join(parts))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/mnt/model-share", "mnt-model\\x2dshare.mount"),
        ("/", "-.mount"),
        ("//mnt//a/", "mnt-a.mount"),
        ("/.hidden/.b", "\\x2ehidden-.b.mount"),
        ("/mnt/ä", "mnt-\\xc3\\xa4.mount"),
        ("/mnt/a:b_c.d", "mnt-a:b_c.d.mount"),
    ],
)
def test_mount_unit_names(path: str, name: str) -> None:
    assert mount_unit(path) == name


@pytest.mark.parametrize("path", ["mnt/a", "", "/mnt/../a", "/mnt/.."])
def test_no_name_for_what_is_no_normal_absolute_path(path: str) -> None:
    with pytest.raises(ValueError, match="not an absolute"):
        escape_path(path)


@pytest.mark.skipif(shutil.which("systemd-escape") is None, reason="systemd-escape is not here")
@settings(max_examples=60, deadline=None)
@given(PATHS)
def test_escapes_as_systemd_does(path: str) -> None:
    said = subprocess.run(
        ["systemd-escape", "--path", "--", path], check=True, capture_output=True
    ).stdout
    assert escape_path(path) == said.decode().removesuffix("\n")


def test_objects_of_units() -> None:
    base = "/org/freedesktop/systemd1/unit/"
    assert unit_object("mnt-model\\x2dshare.mount") == base + "mnt_2dmodel_5cx2dshare_2emount"
    assert unit_object("9p.mount") == base + "_39p_2emount"


@given(PATHS)
def test_every_name_makes_a_valid_object_path(path: str) -> None:
    assert re.fullmatch(r"(/[A-Za-z0-9_]+)+", unit_object(mount_unit(path)))

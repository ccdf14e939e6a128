"""Files that are wrong, and what is said of them: every problem, at its line and column."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.config.load import Loaded, load
from agent.config.problems import ConfigInvalid, ConfigUnreadable
from agent.config.tree import MAX_BYTES

GOOD = """\
mounts:
  model-share:
    volume: model-store
    servers: [node1, node2, node3]
    path: /mnt/model-share
    options:
      entry-timeout: 120
      attribute-timeout: 120
      acl: true
      log-level: WARNING
    probe: {interval: 5s, timeout: 10s}
    recovery:
      hung: report
      hung_after: auto
      new_options: when-idle
    guard: true
health:
  log_level: info
"""


def lines(text: str | bytes) -> list[str]:
    with pytest.raises(ConfigInvalid) as caught:
        load(text, "agent.yaml")
    assert list(caught.value.problems) == sorted(caught.value.problems)
    return list(caught.value.lines)


def mount(body: str) -> str:
    """A file whose only mount has `body` (indented by 4) after its three required keys."""
    return "mounts:\n  m:\n    volume: vol\n    servers: [n1]\n    path: /mnt/m\n" + "".join(
        f"    {line}\n" for line in body.splitlines()
    )


def test_the_example_of_the_contract() -> None:
    loaded = load(GOOD, "agent.yaml")
    assert loaded.warnings == ()
    share = loaded.config.mounts["model-share"]
    assert share.servers == ("node1", "node2", "node3")
    assert dict(share.options) == {
        "entry-timeout": 120,
        "attribute-timeout": 120,
        "acl": True,
        "log-level": "WARNING",
    }
    assert (share.probe.interval, share.probe.timeout) == (5.0, 10.0)
    assert share.recovery.hung_after is None
    assert loaded.config == load(GOOD.encode("utf-8-sig"), "x").config
    assert loaded.config == load(GOOD.replace("\n", "\r\n"), "x").config


def test_defaults() -> None:
    share = load(mount(""), "agent.yaml").config.mounts["m"]
    assert (
        share
        == load(
            mount(
                "port: 24007\noptions: {}\nprobe: {interval: 5s, timeout: 10s}\nguard: true\n"
                "recovery: {hung: report, hung_after: auto, new_options: when-idle}"
            ),
            "agent.yaml",
        ).config.mounts["m"]
    )
    assert not share.read_only
    for option in ("ro: true", "rw: false", "worm: true"):
        assert load(mount(f"options: {{{option}}}"), "f").config.mounts["m"].read_only
    for option in ("ro: false", "rw: true", "acl: true"):
        assert not load(mount(f"options: {{{option}}}"), "f").config.mounts["m"].read_only
    assert load("mounts: {}", "f").config.mounts == {}


def test_the_line_of_the_contract_to_the_letter() -> None:
    text = GOOD.replace("      log-level: WARNING\n", "      log-level: WARNING\n      x-a: 1\n")
    text = text.replace("      x-a: 1\n", "      sync: true\n\n\n      read-ahead: yes\n")
    assert lines(text) == [
        (
            "agent.yaml:14:7: mounts.model-share.options.read-ahead: is a volume option, not a"
            " mount option; on a storage node run:"
            " gluster volume set model-store performance.read-ahead on"
        )
    ]


def test_all_problems_at_once_sorted_by_line() -> None:
    text = """\
mounts:
  bad name:
    volume: 2026
    servers: [node1, "node1:24007", on, "[fd00::1]:24007"]
    path: mnt/x
    prot: 24007
    guard: yes
    entry-timeout: 5
  other:
    servers: node1
    path: /mnt/other
    probe: {interval: 5, timout: 3s}
    recovery: {hung: kill, hung_after: 3s}
healht: {}
"""
    said = lines(text)
    assert [line.split(": ")[0] for line in said] == [
        "agent.yaml:2:3",
        "agent.yaml:3:13",
        "agent.yaml:4:22",
        "agent.yaml:4:37",
        "agent.yaml:4:41",
        "agent.yaml:5:11",
        "agent.yaml:6:5",
        "agent.yaml:7:12",
        "agent.yaml:8:5",
        "agent.yaml:9:3",
        "agent.yaml:10:14",
        "agent.yaml:12:23",
        "agent.yaml:12:26",
        "agent.yaml:13:22",
        "agent.yaml:14:1",
    ]
    assert "mounts.other.volume: is missing, e.g. volume: model-store" in said[9]
    assert "did you mean port?" in said[6]
    assert "did you mean timeout?" in said[12]
    assert "did you mean health?" in said[14]
    assert "write it under options:" in said[8]


BROKEN = [
    ("", "1:1: is empty; mounts: {} says that there are none"),
    ("  \n\n", "1:1: is empty; mounts: {} says that there are none"),
    (
        "# a\n# b\n",
        "1:1: holds no settings, only comments or null; mounts: {} says that there are none",
    ),
    (
        "null\n",
        "1:1: holds no settings, only comments or null; mounts: {} says that there are none",
    ),
    ("---\n", "1:1: holds no settings, only comments or null; mounts: {} says that there are none"),
    ("mounts:\n", "1:8: mounts: is empty; write mounts: {} for none"),
    ("mounts: null", "1:9: mounts: is empty; write mounts: {} for none"),
    ("mounts: []", "1:9: mounts: must be a mapping from names of yours to mounts, e.g. m"),
    ("mounts: none", "1:9: mounts: must be a mapping from names of yours"),
    ("mounts: {m: []}", "1:13: mounts.m: must be a mapping of keys"),
    ("health: {}", "1:1: mounts: is missing; mounts: {} says that there are none"),
    ("{}", "1:1: mounts: is missing; mounts: {} says that there are none"),
    ("{mounts: }", "1:9: mounts: is empty; write mounts: {} for none"),
    ("- a", "1:1: must be keys and values, beginning with mounts:"),
    ("text", "1:1: must be keys and values, beginning with mounts:"),
    (b"mounts: {}\n\0", "2:1: holds a NUL byte: is it text?"),
    (b"mounts: {}\n# \xff", "2:3: is not UTF-8; save it as UTF-8"),
    ("mounts: {}".encode("utf-16"), "1:4: holds a NUL byte: is it text?"),
    ("mounts: {}\n#\x07", "2:2: character U+0007 is not allowed in YAML"),
    (b"#" * (MAX_BYTES + 1), "1:1: is larger than 1024 KiB"),
    ("mounts: {}\nmounts: {}", "2:1: mounts: is given twice, first on line 1"),
    ("mounts: {}\n---\nmounts: {}", "2:1: is no valid YAML: holds a second document"),
    ("mounts: {", "1:10: is no valid YAML"),
    ("mounts: {}\n\tx: 1", "2:1: is no valid YAML: a tab stands where only blanks may"),
    ("mounts:\n  m:\n\tvolume: x", "3:1: is no valid YAML: a tab stands where only blanks may"),
    ("mounts:\n  m:\n  volume: x\n x: 1", "4:2: is no valid YAML: this line is indented unlike"),
    ("mounts:\n  m:\n    volume v\n    path: /a", "4:9: is no valid YAML: no key can begin here"),
    ("mounts:\n  m:\n    volume:v\n    path: /a", "4:9: is no valid YAML: no key can begin here"),
    ("mounts:\n  m:\n    volume: v\n    path\n", "4:5: is no valid YAML: here a colon is missing"),
    ("mounts:\n  m:\n    servers:\n    -a\n    -b\n    path: /a", "4:5: is no valid YAML: here a"),
    ("mounts:\n<<<<<<< HEAD\n  m: {}\n=======\n  n: {}\n>>>>>>> b", "2:1: is a conflict marker"),
    ("mounts: *nowhere", "1:9: is no valid YAML: an alias (*) without its anchor"),
    ("mounts: !!python/object:os.system x", "1:9: mounts: a tag (!) is not taken"),
    ("mounts: !secret x", "1:9: mounts: a tag (!) is not taken"),
    ("mounts: !secret {a: b}", "1:9: mounts: a tag (!) is not taken"),
    ("mounts: !!set {a, b}", "1:9: mounts: a tag (!) is not taken"),
    ("mounts: !!binary abcd", "1:9: mounts: a tag (!) is not taken"),
    ("mounts: !!map []", "1:9: mounts: must be a mapping from names of yours"),
    ("mounts: &m {<<: {a: b}}", "1:13: mounts: merge keys (<<) are not taken"),
    ("mounts: &m {m: *m}", "1:9: holds too much, or an alias of itself"),
    ("mounts: " + "[" * 100, "1:32: is no valid YAML: holds too much, or is nested too deep"),
    ("mounts: {2026: {}}", "1:10: mounts: a key here is not text to YAML: quote it"),
    ("mounts: {on: {}}", "1:10: mounts: a key here is not text to YAML: quote it"),
    ("mounts: {[a]: {}}", "1:10: mounts: a key must be text"),
    ("mounts: {m: }", "1:12: mounts.m: is empty; fill it in, or remove it"),
    ("mounts: {}\nhealth: {log_level: loud}", "2:21: health.log_level: must be debug, info,"),
    ("mounts: {}\nhealth: {metrics: {}}", "2:10: health.metrics: is not supported by this version"),
    (mount("port: 0"), "6:11: mounts.m.port: must be at least 1"),
    (mount("port: 65536"), "6:11: mounts.m.port: must be at most 65535"),
    (mount("port: '24007'"), "6:11: mounts.m.port: must be a whole number, without quotes"),
    (mount("port: 0x5dc7"), "6:11: mounts.m.port: must be a whole number, without quotes"),
    (mount("guard: 'true'"), "6:12: mounts.m.guard: must be true or false, without quotes"),
    (mount("guard: off"), "6:12: mounts.m.guard: must be true or false, without quotes"),
    (mount("probe: {interval: 5}"), "6:23: mounts.m.probe.interval: is a number without a unit"),
    (mount("probe: {interval: 1:30}"), "6:23: mounts.m.probe.interval: is not a duration"),
    (mount("probe: {timeout: 0.5s}"), "6:22: mounts.m.probe.timeout: is a fraction"),
    (mount("mountpoint: /mnt/m"), "6:5: mounts.m.mountpoint: is no key here; did you mean path?"),
    (mount("probe: {interval: 0s}"), "6:23: mounts.m.probe.interval: is out of range"),
    (
        mount("probe: {timeout: 2d}"),
        "6:22: mounts.m.probe.timeout: is out of range; it may be 1s to",
    ),
    (mount("probe:"), "6:11: mounts.m.probe: is empty; fill it in, or remove it"),
    (mount("recovery: {hung_after: 5}"), "6:28: mounts.m.recovery.hung_after: is a number without"),
    (
        mount("recovery: {hung_after: 9s}"),
        "mounts.m.recovery.hung_after: must be longer than probe",
    ),
    (mount("recovery: {new_options: never}"), "must be when-idle, now or manual"),
    (mount("options:"), "6:13: mounts.m.options: must be a mapping"),
    (mount("options: [acl]"), "6:14: mounts.m.options: must be a mapping"),
    (mount("volume: vol2"), "6:5: mounts.m.volume: is given twice, first on line 3"),
    ("mounts:\n  m: {volume: v, serv", "2:22: is no valid YAML: expected ',' or '}', but"),
    (
        GOOD.replace("servers: [node1, node2, node3]", "servers: []"),
        "4:14: mounts.model-share.servers",
    ),
    (
        GOOD.replace("model-store", "node1:/model-store"),
        "3:13: mounts.model-share.volume: is the vol",
    ),
    (
        GOOD.replace("model-store", "model-store/../x"),
        "3:13: mounts.model-share.volume: has an empty",
    ),
    (
        GOOD.replace("model-store", "model store"),
        "3:13: mounts.model-share.volume: is no volume name",
    ),
]


@pytest.mark.parametrize(("text", "said"), BROKEN, ids=range(len(BROKEN)))
def test_broken(text: str | bytes, said: str) -> None:
    found = lines(text)
    assert len(found) == 1, found
    assert said in found[0]


def test_a_half_written_file_names_only_places_in_itself() -> None:
    for cut in range(len(GOOD)):
        check_places(GOOD[:cut], outcome(GOOD[:cut]))


def test_a_misspelt_mounts_is_both_missing_and_unknown() -> None:
    assert lines("mount: {}\nhealth: {}") == [
        "agent.yaml:1:1: mount: is no key here; did you mean mounts?",
        "agent.yaml:1:1: mounts: is missing; mounts: {} says that there are none",
    ]


def test_no_secret_is_echoed() -> None:
    secret = "hunter2sekrit"  # noqa: S105
    for text in (
        f"mounts: {{}}\npassword: {secret}",
        f"mounts: {{}}\npassword: *{secret}",
        f"mounts: {{}}\npassword: !{secret}!x y",
        f"mounts: {{}}\npassword: '{secret}' '{secret}'",
        f'mounts: {{}}\npassword: "{secret}',
        f"mounts: {{}}\npassword: %{secret}",
        f"mounts: {{}}\n  password: @{secret}",
        f"%{secret} x\n%YAML {secret}\n---\nmounts: {{}}",
        mount(f"options: {{password: {secret}, read-ahead: {secret}, entry-timeout: {secret}}}"),
        mount(f"options: {{log-level: {secret}, log-file: {secret}, acl: {secret}}}"),
        mount(f"guard: {secret}\nport: {secret}\nprobe: {secret}\nrecovery: {{hung: {secret}}}"),
        mount(f"volume2: {secret}").replace("n1", f"'{secret}:{secret}'"),
    ):
        assert secret not in "\n".join(lines(text))


def test_an_alias_is_plain_reuse() -> None:
    text = """\
mounts:
  a: {volume: v, servers: &nodes [n1, n2], path: /mnt/a, options: &fast {acl: true}}
  b: {volume: w, servers: *nodes, path: /mnt/b, options: *fast}
"""
    mounts = load(text, "f").config.mounts
    assert mounts["a"].servers == mounts["b"].servers
    assert mounts["a"].options == mounts["b"].options


def test_warnings_have_their_places() -> None:
    text = mount("options:\n  _netdev: true\n  acl: true\n  x-systemd.automount: true").replace(
        "[n1]", '[n1, N1, "[FD00:0::1]", "fd00::1"]'
    )
    loaded = load(text, "agent.yaml")
    assert [line.split(" is ")[0] for line in loaded.warning_lines] == [
        "agent.yaml:4:19: mounts.m.servers[1]:",
        "agent.yaml:4:38: mounts.m.servers[3]:",
        (
            "agent.yaml:7:7: mounts.m.options._netdev: has no meaning here: the agent mounts, not"
            " the boot; remove it"
        ),
        "agent.yaml:9:7: mounts.m.options.x-systemd.automount:",
    ]
    assert loaded.config.mounts["m"].servers == ("n1", "fd00::1")
    assert dict(loaded.config.mounts["m"].options) == {"acl": True}


def test_mounts_must_keep_clear_of_each_other_and_of_the_agent() -> None:
    text = """\
mounts:
  a: {volume: v, servers: [n], path: /mnt/a}
  b: {volume: w, servers: [n], path: /mnt/a/b, options: {log-file: /mnt/a/log}}
  c: {volume: w, servers: [n], path: /mnt/a}
  d: {volume: w, servers: [n], path: /mnt/ab}
  e: {volume: w, servers: [n], path: /data}
"""
    with pytest.raises(ConfigInvalid) as caught:
        load(text, "f", own_paths=("/data/conf/agent.yaml", "/mnt/abc/state"))
    assert list(caught.value.lines) == [
        "f:3:38: mounts.b.path: is inside the path of mounts.a (/mnt/a)",
        "f:3:38: mounts.b.path: is inside the path of mounts.c (/mnt/a)",
        (
            "f:3:68: mounts.b.options.log-file: is on one of the mounts: a client that writes there"
            " waits for itself"
        ),
        "f:4:38: mounts.c.path: is the path of mounts.a too",
        "f:6:38: mounts.e.path: would hide /data/conf/agent.yaml, which the agent itself needs",
    ]


def test_fingerprint_is_of_the_meaning() -> None:
    one = load(GOOD, "a")
    other = load("# other text\n" + GOOD.replace("    guard: true\n", ""), "b")
    changed = load(GOOD.replace("120", "121"), "a")
    assert one.fingerprint == other.fingerprint != changed.fingerprint
    assert re.fullmatch("[0-9a-f]{12}", one.fingerprint)


YAML_BITS = st.sampled_from(
    [
        *"{}[]:,-?&*!|>'\"%@`#\n \t\\~<=\u2028\x85",
        *("mounts", "options", "servers: ", "volume: ", "path: /", "- ", "&a", "*a", "!!", "---"),
        *("on", "0775", "1:30", "2026-01-01", "\u00e9", "<<: "),
    ]
)


def outcome(data: bytes | str) -> Loaded | ConfigInvalid:
    try:
        return load(data, "f")
    except ConfigInvalid as error:
        return error


def check_places(text: str, result: Loaded | ConfigInvalid) -> None:
    problems = result.problems if isinstance(result, ConfigInvalid) else result.warnings
    assert problems or isinstance(result, Loaded)
    # YAML counts \r, NEL, LS and PS as line breaks, too.
    last = len(re.findall("\r\n|[\r\n\x85\u2028\u2029]", text)) + 1
    for problem in problems:
        assert 1 <= problem.line <= last
        assert 1 <= problem.column <= len(text) + 1
        assert problem.message
        assert "\n" not in problem.text("f")


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    check_places(data.decode(errors="replace"), outcome(data))


@settings(deadline=None, max_examples=500)
@given(st.lists(YAML_BITS, max_size=60).map("".join))
def test_any_yaml_like_text(text: str) -> None:
    check_places(text, outcome(text))


@settings(deadline=None, max_examples=500)
@given(st.data())
def test_the_example_damaged_anywhere(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(GOOD)))
    end = data.draw(st.integers(start, min(len(GOOD), start + 30)))
    text = GOOD[:start] + data.draw(st.lists(YAML_BITS, max_size=5).map("".join)) + GOOD[end:]
    check_places(text, outcome(text))


def test_unreadable_shows_as_one_line() -> None:
    assert ConfigUnreadable("/a", "is a directory").lines == ("/a: is a directory",)

"""layout, environment and identities: what is taken, and every refusal at its line and column."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.config import accounts, acl, inner_paths
from agent.config.acl import AclEntry
from agent.config.diff import Part, diff
from agent.config.environment_schema import variable
from agent.config.layout_schema import octal_mode
from agent.config.load import Loaded, load
from agent.config.problems import ConfigInvalid
from tests.unit.config.test_load import check_places, outcome

GOOD = """\
mounts:
  model-share:
    volume: model-store
    servers: [node1]
    path: /mnt/model-share
    options: {acl: true}
    layout:
      repair: false
      defaults: {owner: root, group: ml, mode: "2775", acl: ["default:group::rwx"]}
      directories:
        cache: {}
        cache/huggingface: {}
        datasets: {mode: "2755"}
        checkpoints/finetune: {mode: "3775", owner: alice, group: 20005}
      run_names: "{user}_{project}_{timestamp}"
    environment:
      MODELSCOPE_CACHE: cache/modelscope
      HF_HUB_CACHE: cache/huggingface/hub
identities:
  missing: create
  groups: {ml: 20000}
  users:
    alice: {uid: 20001, group: ml, groups: []}
  remap:
    mode: report
    uids: {1001: alice}
    gids: {1001: ml}
"""


def lines(text: str) -> list[str]:
    with pytest.raises(ConfigInvalid) as caught:
        load(text, "agent.yaml")
    return list(caught.value.lines)


def check_refusal(text: str, place: str, said: str) -> None:
    """The one thing wrong with the text: where it stands, and words of what is said of it."""
    (found,) = lines(text)
    assert found.startswith(f"agent.yaml:{place}")
    assert said in found


def with_layout(layout: str, options: str = "{acl: true}", identities: str = "{}") -> str:
    return (
        "mounts:\n  m:\n    volume: vol\n    servers: [n1]\n    path: /mnt/m\n"
        f"    options: {options}\n    layout: {layout}\nidentities: {identities}\n"
    )


def with_environment(environment: str) -> str:
    return (
        "mounts:\n  m:\n    volume: vol\n    servers: [n1]\n    path: /mnt/m\n"
        f"    environment: {environment}\n"
    )


def with_identities(identities: str) -> str:
    return f"mounts: {{}}\nidentities: {identities}\n"


def test_the_example_of_the_contract() -> None:
    loaded = load(GOOD, "agent.yaml")
    assert loaded.warnings == ()
    share, who = loaded.config.mounts["model-share"], loaded.config.identities
    layout = share.layout
    assert layout is not None
    assert list(layout.directories) == [
        "cache",
        "cache/huggingface",
        "datasets",
        "checkpoints/finetune",
    ]
    group = AclEntry(default=True, tag="group", who=None, permissions=7)
    default = layout.settings("cache")
    assert (default.owner, default.group, default.mode, default.acl) == (
        *("root", "ml", 0o2775),
        (group,),
    )
    assert layout.settings("checkpoints") == default, "an undeclared parent gets the defaults"
    finetune = layout.settings("checkpoints/finetune")
    assert (finetune.owner, finetune.group, finetune.mode) == ("alice", 20005, 0o3775)
    assert finetune.acl == (group,)
    assert dict(share.environment) == {
        "MODELSCOPE_CACHE": "cache/modelscope",
        "HF_HUB_CACHE": "cache/huggingface/hub",
    }
    assert (who.missing, dict(who.groups)) == ("create", {"ml": 20000})
    alice = who.users["alice"]
    assert (alice.uid, alice.group, alice.groups) == (20001, "ml", ())
    assert (who.remap.mode, dict(who.remap.uids)) == ("report", {1001: "alice"})
    assert (who.uid("alice"), who.uid("root"), who.uid(20005)) == (20001, 0, 20005)
    assert (who.gid("ml"), who.gid("root")) == (20000, 0)


def test_defaults() -> None:
    loaded = load(with_layout("{directories: {a: {}}}", options="{}"), "f")
    layout = loaded.config.mounts["m"].layout
    assert layout is not None
    assert not layout.repair
    assert layout.run_names is None
    settings = layout.settings("a")
    assert (settings.owner, settings.group, settings.mode, settings.acl) == (
        *("root", "root", 0o755),
        (),
    )
    empty = load("mounts: {}", "f").config.identities
    assert (empty.missing, dict(empty.groups), dict(empty.users)) == ("create", {}, {})
    assert not empty.remap
    assert empty.remap.mode == "report"
    assert load(with_identities("{}"), "f").config.identities == empty


def test_nothing_of_it_can_be_changed() -> None:
    config = load(GOOD, "f").config
    layout = config.mounts["model-share"].layout
    assert layout is not None
    for mapping in (
        *(layout.directories, config.mounts["model-share"].environment),
        *(config.identities.groups, config.identities.users, config.identities.remap.uids),
    ):
        with pytest.raises(TypeError):
            mapping["x"] = "y"  # type: ignore[index]


DIRECTORIES = [
    ("/cache", "must be relative to the mount's path"),
    ("../cache", "must not have .. in it"),
    ("cache/..", "must not have .. in it"),
    ("cache/../datasets", "must not have .. in it"),
    ("cache/", "must be normalised"),
    ("cache//hub", "must be normalised"),
    ("./cache", "must be normalised"),
    ("cache/./hub", "must be normalised"),
    (".", "is the volume's root"),
    ("''", "is empty"),
    (".gluster-ml", "goes through .gluster-ml, which is the agent's own directory"),
    (".gluster-ml/trash", "goes through .gluster-ml"),
    ("cache/.gluster-ml", "goes through .gluster-ml"),
    (".glusterfs", "goes through .glusterfs, which is GlusterFS's own"),
    ('"a\\nb"', "has a control character"),
    ('"a /b"', "or a blank at the end"),
    ('"a\\e[2Jb"', "has a control character"),
    ("x" * 256, "has a name longer than 255 bytes"),
    ("/".join(["x" * 200] * 6), "is longer than 1024 bytes"),
]


@pytest.mark.parametrize(("path", "said"), DIRECTORIES, ids=range(len(DIRECTORIES)))
def test_directories(path: str, said: str) -> None:
    text = with_layout(f"\n      directories:\n        ? {path}\n        : {{}}\n")
    check_refusal(text, "9:11: mounts.m.layout.directories.", said)


LAYOUTS = [
    ("{}", "7:5: mounts.m.layout.directories: is missing", "{cache: {}}"),
    ("{directories: {}, directorys: {}}", "7:31:", "is no key here; did you mean directories?"),
    ("{directories: {a: {mod: 1}}}", "7:32:", "is no key here; did you mean mode?"),
    ("{directories: {a: {acls: []}}}", "7:32:", "is no key here; did you mean acl?"),
    ("{directories: {a: {x: []}}}", "7:32:", "is no key here; there are owner, group, mode, acl"),
    ("{directories: {a: }}", "7:30: mounts.m.layout.directories.a:", "is empty; fill it in"),
    ("{directories: [a]}", "7:27: mounts.m.layout.directories:", "must be a mapping"),
    ("{directories: {a: {}, a: {}}}", "7:35:", "is given twice"),
    ("{directories: {a: {}}, repair: yes}", "7:44:", "must be true or false"),
    ("{directories: {a: {mode: 0775}}}", "7:38:", "write the mode in quotes"),
    ("{directories: {a: {mode: 775}}}", "7:38:", "write the mode in quotes"),
    ("{directories: {a: {mode: 0o775}}}", "7:38:", "must be a mode in octal"),
    ('{directories: {a: {mode: "u=rwx"}}}', "7:38:", "must be a mode in octal"),
    ('{directories: {a: {mode: "2785"}}}', "7:38:", "must be a mode in octal"),
    ('{directories: {a: {mode: "75"}}}', "7:38:", "must be a mode in octal"),
    ('{directories: {a: {mode: "4755"}}}', "7:38:", "has the setuid bit"),
    ("{directories: {a: {mode: true}}}", "7:38:", "must be a mode in octal"),
    ("{directories: {a: {}}, defaults: {mode: 0775}}", "7:53:", "write the mode in quotes"),
    ("{directories: {a: {owner: bob}}}", "7:39:", "is not in identities.users; add it there"),
    ("{directories: {a: {group: bob}}}", "7:39:", "is not in identities.groups; add it there"),
    ("{directories: {a: {}}, defaults: {group: bob}}", "7:54:", "is not in identities.groups"),
    ("{directories: {a: {owner: 0}}}", "7:39:", "is root: write root"),
    ("{directories: {a: {owner: 33}}}", "7:39:", "is an id of the system"),
    ("{directories: {a: {group: 65534}}}", "7:39:", "means nobody"),
    ("{directories: {a: {group: 4294967295}}}", "7:39:", "is no id"),
    ("{directories: {a: {owner: '20001'}}}", "7:39:", "write it without quotes"),
    ("{directories: {a: {owner: on}}}", "7:39:", "quote it"),
    ("{directories: {a: {owner: 'a b'}}}", "7:39:", "is no name for a user or group"),
    ("{directories: {a: {owner: [a]}}}", "7:39:", "must be root, a name of identities, or"),
    ("{directories: {a: {acl: 'group:1000:r'}}}", "7:37:", "must be a list"),
    ("{directories: {a: {acl: [1]}}}", "7:38: mounts.m.layout.directories.a.acl[0]:", "text"),
    ("{directories: {a: {acl: ['group:bob:rwx']}}}", "7:38:", "who is not in identities.groups"),
    ("{directories: {a: {acl: ['d:u:bob:rwx']}}}", "7:38:", "who is not in identities.users"),
    ("{directories: {a: {acl: ['group:33:rwx']}}}", "7:38:", "is an id of the system"),
    ("{directories: {a: {acl: ['group:ml']}}}", "7:38:", "is no ACL entry"),
    ("{directories: {a: {acl: ['groups:ml:rwx']}}}", "7:38:", "is no ACL entry"),
    ("{directories: {a: {acl: ['group::rwx']}}}", "7:38:", "is what mode says already"),
    ("{directories: {a: {acl: ['other::r']}}}", "7:38:", "is what mode says already"),
    ("{directories: {a: {acl: ['mask::r']}}}", "7:38:", "is what mode says already"),
    ("{directories: {a: {acl: ['d:other:1001:r']}}}", "7:38:", "names somebody, which other"),
    ("{directories: {a: {acl: ['d:g::rwxr']}}}", "7:38:", "has no permissions at its end"),
    ("{directories: {a: {acl: ['d:g::rr']}}}", "7:38:", "has no permissions at its end"),
    ("{directories: {a: {acl: ['d:g::']}}}", "7:38:", "has no permissions at its end"),
    ("{directories: {a: {acl: ['d:g::8']}}}", "7:38:", "has no permissions at its end"),
    ("{directories: {a: {acl: ['d:g::r,d:u::r']}}}", "7:38:", "make each an item"),
    ("{directories: {a: {acl: ['d:g::r', 'default:group::rw']}}}", "7:48:", "the same as"),
    ("{directories: {a: {}}, run_names: x}", "7:47: mounts.m.layout.run_names:", "no field"),
    ("{directories: {a: {}}, run_names: '{name}'}", "7:47:", "has a field it can't; there are"),
    ("{directories: {a: {}}, run_names: '{user'}", "7:47:", "a brace without its other"),
    ("{directories: {a: {}}, run_names: '{user}}'}", "7:47:", "a brace without its other"),
    ("{directories: {a: {}}, run_names: '{user!r}'}", "7:47:", "more than a name in braces"),
    ("{directories: {a: {}}, run_names: '{user:>9}'}", "7:47:", "more than a name in braces"),
    ("{directories: {a: {}}, run_names: '{}'}", "7:47:", "has a field it can't"),
    ("{directories: {a: {}}, run_names: '{user}_{user}'}", "7:47:", "has a field twice"),
    ("{directories: {a: {}}, run_names: '{user}{project}'}", "7:47:", "between its fields"),
    ("{directories: {a: {}}, run_names: '{user}/{project}'}", "7:47:", "one directory"),
    ("{directories: {a: {}}, run_names: '{{a}}{user}'}", "7:47:", "one directory"),
    ("{directories: {a: {}}, run_names: {user}}", "7:47:", "must be text in quotes"),
]


@pytest.mark.parametrize(("layout", "place", "said"), LAYOUTS, ids=range(len(LAYOUTS)))
def test_layouts(layout: str, place: str, said: str) -> None:
    check_refusal(with_layout(layout), place, said)


def test_an_acl_needs_the_mount_option() -> None:
    entries = "['default:group::rwx']"
    text = f"{{defaults: {{acl: {entries}}}, directories: {{a: {{acl: {entries}}}, b: {{}}}}}}"
    why = "needs the mount option acl; add acl: true to options"
    for options in ("{}", "{acl: false}"):
        assert lines(with_layout(text, options=options)) == [
            f"agent.yaml:7:30: mounts.m.layout.defaults.acl: {why}",
            f"agent.yaml:7:78: mounts.m.layout.directories.a.acl: {why}",
        ]
    load(with_layout(text), "f")
    load(with_layout("{defaults: {acl: []}, directories: {a: {acl: []}}}", options="{}"), "f")


@pytest.mark.parametrize("option", ["ro: true", "rw: false", "worm: true"])
def test_no_layout_on_a_read_only_mount(option: str) -> None:
    (found,) = lines(with_layout("{directories: {a: {}}}", options=f"{{{option}}}"))
    assert found.startswith(
        "agent.yaml:7:5: mounts.m.layout: is not possible with the mount option"
    )


TWO = """\
mounts:
  a: {{volume: {0}, servers: [n], path: /mnt/a, layout: {{directories: {{x: {{}}}}}}}}
  b: {{volume: {1}, servers: [n], path: /mnt/b, layout: {{directories: {{x: {{}}}}}}}}
"""


@pytest.mark.parametrize(("one", "two"), [("v", "v"), ("v", "v/s"), ("v/s/t", "v/s")])
def test_one_layout_for_one_part_of_a_volume(one: str, two: str) -> None:
    (found,) = lines(TWO.format(one, two))
    assert ": mounts.b.layout: holds directories of the volume that mounts.a does too" in found
    load(TWO.format("v", "v2"), "f")
    load(TWO.format("v/s", "v/st"), "f")


def test_remap_works_on_one_mount_of_a_part_of_a_volume() -> None:
    two = (
        "mounts:\n"
        "  a: {{volume: v, servers: [n], path: /mnt/a}}\n"
        "  b: {{volume: v/s, servers: [n], path: /mnt/b, options: {{ro: {0}}}}}\n"
        "identities: {{groups: {{ml: 2000}}, remap: {{gids: {{{1}}}}}}}\n"
    )
    (found,) = lines(two.format("false", "1001: ml"))
    assert found.startswith("agent.yaml:3:15: mounts.b.volume: overlaps mounts.a, and remap")
    load(two.format("true", "1001: ml"), "f")
    load(two.format("false", ""), "f")


IDENTITIES = [
    ("{groups: {ml: 0}}", "2:27: identities.groups.ml:", "is root, and never mapped"),
    ("{groups: {ml: 999}}", "2:27: identities.groups.ml:", "is an id of the system"),
    ("{groups: {ml: -5}}", "2:27:", "is an id of the system"),
    ("{groups: {ml: 65534}}", "2:27:", "means nobody"),
    ("{groups: {ml: 4294967295}}", "2:27:", "is no id"),
    ("{groups: {ml: '2000'}}", "2:27:", "must be a whole number without quotes"),
    ("{groups: {ml: 0x7d0}}", "2:27:", "must be a whole number without quotes"),
    ("{groups: {ml: 2000.5}}", "2:27:", "must be a whole number without quotes"),
    ("{groups: {ml: true}}", "2:27:", "must be a whole number without quotes"),
    ("{groups: {root: 2000}}", "2:23: identities.groups.root:", "does not belong in the map"),
    ("{groups: {'a b': 2000}}", "2:23:", "is no name for a user or group"),
    ("{groups: {on: 2000}}", "2:23:", "quote it"),
    ("{groups: {a: 2000, b: 2000}}", "2:35: identities.groups.b:", "is the id of a too"),
    ("{groups: [ml]}", "2:22: identities.groups:", "must be a mapping"),
    ("{user: {}}", "2:14: identities.user:", "did you mean users?"),
    ("{missing: ignore}", "2:23: identities.missing:", "must be create or report"),
    (
        "{users: {a: {group: ml}}, groups: {ml: 2000}}",
        "2:22: identities.users.a.uid:",
        "e.g. uid: 20001",
    ),
    ("{users: {a: {uid: 2000}}}", "2:22: identities.users.a.group:", "is missing, e.g. group: ml"),
    ("{users: {a: {uid: 20, group: m}}, groups: {m: 2000}}", "2:31:", "is an id of the system"),
    ("{users: {a: {uid: 2000, group: no}}, groups: {m: 2000}}", "2:44:", "quote it"),
    (
        "{users: {a: {uid: 2000, group: n}}, groups: {m: 2000}}",
        "2:44:",
        "is no group of identities",
    ),
    ("{users: {a: {uid: 2000, group: 2000}}, groups: {m: 2000}}", "2:44:", "quote it"),
    (
        "{users: {a: {uid: 2000, group: m, groups: m}}, groups: {m: 2000}}",
        "2:55: identities.users.a.groups:",
        "must be a list",
    ),
    (
        "{users: {a: {uid: 2000, group: m, groups: [m, n]}}, groups: {m: 2000}}",
        "2:59: identities.users.a.groups[1]:",
        "is no group of identities.groups",
    ),
    (
        "{users: {a: {uid: 2000, group: m, groups: [1]}}, groups: {m: 2000}}",
        "2:56: identities.users.a.groups[0]:",
        "quote it",
    ),
    (
        "{users: {a: {uid: 2000, group: m}, b: {uid: 2000, group: m}}, groups: {m: 2000}}",
        "2:57: identities.users.b.uid:",
        "is the id of a too; each needs its own",
    ),
    ("{groups: {m: 2000}, remap: {gids: {0: m}}}", "2:48: identities.remap.gids.0:", "is root"),
    ("{groups: {m: 2000}, remap: {gids: {999: m}}}", "2:48:", "is an id of the system"),
    ("{groups: {m: 2000}, remap: {gids: {a: m}}}", "2:48:", "must be an old id, a number"),
    ("{groups: {m: 2000}, remap: {gids: {'01001': m}}}", "2:48:", "must be an old id, a number"),
    ("{groups: {m: 2000}, remap: {gids: {0777: m}}}", "2:48:", "quote it"),
    ("{groups: {m: 2000}, remap: {gids: {1001: m, '1001': m}}}", "2:57:", "is given twice"),
    ("{groups: {m: 2000}, remap: {gids: {1001: n}}}", "2:54:", "is no name of identities.groups"),
    ("{groups: {m: 2000}, remap: {uids: {1001: m}}}", "2:54:", "is no name of identities.users"),
    ("{groups: {m: 2000}, remap: {gids: {1001: root}}}", "2:54:", "is no name of identities.g"),
    ("{groups: {m: 2000}, remap: {gids: {1001: 2000}}}", "2:54:", "quote it"),
    ("{groups: {m: 2000}, remap: {mode: no}}", "2:47:", "must be report or enforce"),
    (
        "{groups: {m: 2000}, remap: {gids: {2000: m}}}",
        "2:48: identities.remap.gids.2000:",
        "is the id of m in the map: an old id is nobody's any more",
    ),
    (
        "{groups: {m: 2000, n: 2001}, remap: {gids: {1001: m, 2000: n}}}",
        "2:66: identities.remap.gids.2000:",
        "is the id of m in the map",
    ),
]


@pytest.mark.parametrize(("identities", "place", "said"), IDENTITIES, ids=range(len(IDENTITIES)))
def test_identities(identities: str, place: str, said: str) -> None:
    check_refusal(with_identities(identities), place, said)


def test_a_user_and_a_group_may_have_one_number_and_one_name() -> None:
    text = "{groups: {al: 2000, b: 2001}, users: {al: {uid: 2000, group: al, groups: [b, b]}}}"
    assert load(with_identities(text), "f").config.identities.users["al"].groups == ("b",)


ENVIRONMENTS = [
    *(
        (f"{{{name}: a}}", "6:19", "is no name for a variable")
        for name in ("hf", "Hf", "1A", "A-B", "_A", "A.B", "'A B'", '"A\\nB"', "'A=B'", "'Ä'")
    ),
    *(
        (f"{{{name}: a}}", "6:19", "decides which code programs run")
        for name in ("PATH", "LD_PRELOAD", "LD_", "PYTHONPATH", "PYTHON", "ENV", "BASH_ENV")
    ),
    *(
        (f"{{{name}: a}}", "6:19", "is a variable of the shell's own")
        for name in ("HOME", "IFS", "PS4", "BASHOPTS", "SHELLOPTS", "UID", "PPID", "OPTIND")
    ),
    ("{A: /abs}", "6:22", "must be relative to the mount's path"),
    ("{A: a/../../b}", "6:22", "must not have .. in it"),
    ("{A: ..}", "6:22", "must not have .. in it"),
    ("{A: a/}", "6:22", "must be normalised"),
    ("{A: ''}", "6:22", "is empty"),
    ("{A: 1}", "6:22", "must be text"),
    ("{A: on}", "6:22", "must be text"),
    ("{A: [a]}", "6:22", "must be text"),
    ("{A: .gluster-ml/x}", "6:22", "goes through .gluster-ml"),
    ('{A: "a\\nB=c"}', "6:22", "has a control character"),
    *((f'{{A: "a{char}b"}}', "6:22", "avoid") for char in ("$", "`", "'", '\\"', "\\\\", "#")),
    ("{A: a, A: b}", "6:25", "is given twice"),
    ("[A]", "6:18", "must be a mapping"),
]


@pytest.mark.parametrize(
    ("environment", "place", "said"), ENVIRONMENTS, ids=range(len(ENVIRONMENTS))
)
def test_environments(environment: str, place: str, said: str) -> None:
    check_refusal(with_environment(environment), f"{place}: mounts.m.environment", said)


def test_environments_that_are_taken() -> None:
    for name in ("A", "LDX", "ENVIRONMENT", "PATHS", "XPATH", "HF_HUB_CACHE", "A1_"):
        assert variable(name) == name
    loaded = load(with_environment("{ROOT: ., A: ä/b c, B: a}"), "f")
    assert dict(loaded.config.mounts["m"].environment) == {"ROOT": ".", "A": "ä/b c", "B": "a"}


def test_a_variable_has_one_value() -> None:
    text = """\
mounts:
  a: {volume: v, servers: [n], path: /mnt/a, environment: {X: x, Y: y}}
  b: {volume: w, servers: [n], path: /mnt/b, environment: {Y: y, Z: z}}
"""
    (found,) = lines(text)
    assert found.startswith("agent.yaml:3:60: mounts.b.environment.Y: is a variable of mounts.a")


def test_hf_home_is_taken_with_a_warning() -> None:
    (warning,) = load(with_environment("{HF_HOME: hf}"), "agent.yaml").warning_lines
    assert warning.startswith("agent.yaml:6:19: mounts.m.environment.HF_HOME: also holds users'")
    assert load(with_environment("{HF_HUB_CACHE: hf}"), "f").warnings == ()


def test_all_problems_at_once() -> None:
    text = GOOD.replace("{ml: 20000}", "{ml: 20}").replace('"2755"', "0755")
    text = text.replace("owner: alice", "owner: bob").replace("HF_HUB_CACHE", "PATH")
    assert [line.split(": ")[1] for line in lines(text)] == [
        "mounts.model-share.layout.directories.datasets.mode",
        "mounts.model-share.layout.directories.checkpoints/finetune.owner".replace(
            "checkpoints/finetune", "'checkpoints/finetune'"
        ),
        "mounts.model-share.environment.PATH",
        "identities.groups.ml",
    ]


def test_no_secret_is_echoed() -> None:
    secret = "hunter2sekrit"  # noqa: S105
    for text in (
        with_layout(f"{{directories: {{a: {{owner: {secret}, mode: {secret}, acl: {secret}}}}}}}"),
        with_layout(f"{{directories: {{a: {{acl: ['{secret}', 'd:u:{secret}:r']}}}}}}"),
        with_layout(f"{{directories: {{a: {{}}}}, run_names: '{secret}{{{secret}}}'}}"),
        with_environment(f"{{A: /{secret}}}"),
        with_identities(f"{{groups: {{ml: {secret}}}, remap: {{uids: {{1001: {secret}}}}}}}"),
        with_identities(f"{{missing: {secret}, users: {secret}}}"),
    ):
        assert secret not in "\n".join(lines(text))


def test_what_is_equal_has_one_fingerprint_and_no_difference() -> None:
    def loaded(text: str) -> Loaded:
        return load(text, "f")

    same = GOOD.replace("default:group::rwx", "d:g::7").replace('"2775"', '"02775"')
    assert loaded(same).fingerprint == loaded(GOOD).fingerprint
    assert diff(loaded(GOOD).config, loaded(same).config) == ()
    for old, new, parts in (
        ("cache: {}", "cash: {}", {Part.LAYOUT}),
        ("cache/modelscope", "cache/ms", {Part.ENVIRONMENT}),
    ):
        other = loaded(GOOD.replace(old, new))
        assert other.fingerprint != loaded(GOOD).fingerprint
        (change,) = diff(loaded(GOOD).config, other.config)
        assert getattr(change, "parts", None) == parts
    other = loaded(GOOD.replace("ml: 20000", "ml: 20002"))
    assert other.fingerprint != loaded(GOOD).fingerprint
    assert diff(loaded(GOOD).config, other.config) == ()


@given(
    st.booleans(),
    st.sampled_from(["user", "group"]),
    st.one_of(st.just("root"), st.just("alice"), st.integers(1000, 65533)),
    st.integers(0, 7),
)
def test_an_acl_entry_reads_back(default: bool, tag: acl.Tag, who: str, bits: int) -> None:
    entry = AclEntry(default, tag, who, bits)
    assert acl.parse(str(entry)) == entry


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("default:group::rwx", "default:group::rwx"),
        ("d:g::rX", "default:group::r-x"),
        ("d:u::7", "default:user::rwx"),
        ("d:m:r", "default:mask::r--"),
        ("default:other::---", "default:other::---"),
        ("d:o:-", "default:other::---"),
        ("u:alice:wr", "user:alice:rw-"),
        ("group:20001:5", "group:20001:r-x"),
        ("user:root:r", "user:root:r--"),
    ],
)
def test_acl_entries_as_setfacl_takes_them(text: str, canonical: str) -> None:
    assert str(acl.parse(text)) == canonical


@given(st.one_of(st.text(), st.integers(), st.none(), st.lists(st.text())))
def test_no_check_fails_otherwise_than_by_refusal(value: object) -> None:
    for check in (
        *(acl.parse, acl.entries, octal_mode, inner_paths.directory, inner_paths.exported),
        *(accounts.account, accounts.account_id, accounts.source_id),
    ):
        with contextlib.suppress(ValueError):
            check(value)


@given(st.text(alphabet="ab/. \n$-", max_size=12))
def test_a_directory_stays_inside(text: str) -> None:
    try:
        path = inner_paths.directory(text)
    except ValueError:
        return
    assert path == text
    assert not path.startswith("/")
    assert not {"", ".", ".."} & set(path.split("/"))


BITS = st.sampled_from(
    [
        "{}",
        "[]",
        "1001",
        "root",
        "ml",
        "null",
        "true",
        "0775",
        "1e3",
        ".inf",
        '"2775"',
        ": ",
        "- ",
        "a",
        "\n",
        "  ",
        "'",
    ]
)


@settings(deadline=None, max_examples=500)
@given(st.data())
def test_the_example_damaged_anywhere(data: st.DataObject) -> None:
    """Whatever stands where, it is taken or refused at a place in the file."""
    start = data.draw(st.integers(0, len(GOOD)))
    end = data.draw(st.integers(start, min(len(GOOD), start + 30)))
    text = GOOD[:start] + "".join(data.draw(st.lists(BITS, max_size=4))) + GOOD[end:]
    check_places(text, outcome(text))

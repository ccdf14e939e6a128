"""Each option by name, type and range, with the advice for what people get wrong."""

import pytest

from agent.config import options_check
from agent.config.options_table import (
    IGNORED,
    KNOWN,
    REFUSED,
    Choice,
    Flag,
    Number,
    OptionValue,
    Switch,
    Text,
)
from agent.config.problems import Several
from agent.config.tree import Ambiguous
from agent.config.volume_options import FICTION, FOR_SHORT, REAL


def take(options: object) -> dict[str, OptionValue]:
    return options_check.canonical(options, "model-store")


def refusal(name: str, value: object) -> str:
    with pytest.raises(Several) as caught:
        take({name: value})
    ((place, message),) = caught.value.found
    assert place == (name,)
    return message


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"acl": True, "worm": False}, {"acl": True}),
        ({"exec": False, "suid": True}, {"noexec": True}),
        ({"root-squash": False}, {"no-root-squash": True}),
        ({"root-squash": True}, {}),
        ({"rw": True}, {}),
        ({"rw": False}, {"ro": True}),
        ({"no-root-squash": True}, {"no-root-squash": True}),
        ({"use-readdirp": False}, {"use-readdirp": False}),
        ({"entry-timeout": 0.5}, {"entry-timeout": 0.5}),
        ({"entry-timeout": 600.0}, {"entry-timeout": 600}),
        ({"log-level": "warning"}, {"log-level": "WARNING"}),
        ({"direct-io-mode": True}, {"direct-io-mode": "enable"}),
        ({"direct-io-mode": "auto"}, {"direct-io-mode": "auto"}),
        ({"oom-score-adj": -1000}, {"oom-score-adj": -1000}),
        ({"log-file": "/var/log/glusterfs/a.log"}, {"log-file": "/var/log/glusterfs/a.log"}),
        (
            {"xlator-option": "transport.address-family=inet6"},
            {"xlator-option": "transport.address-family=inet6"},
        ),
        ({"_netdev": True, "x-a": "b", "defaults": True, "sync": True}, {}),
    ],
)
def test_taken(given: object, taken: dict[str, OptionValue]) -> None:
    assert take(given) == taken
    assert list(take(given)) == list(taken)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("acl", "true", "must be true or false, without quotes"),
        ("acl", Ambiguous("yes"), "must be true or false"),
        ("acl", None, "has no value; write true or false"),
        ("acl", 1, "must be true or false"),
        ("use-readdirp", "yes", "must be true or false, without quotes"),
        ("entry-timeout", "120", "must be a number of seconds, without quotes or unit"),
        ("entry-timeout", "120s", "must be a number of seconds, without quotes or unit"),
        ("entry-timeout", True, "must be a number of seconds, without quotes or unit"),
        ("entry-timeout", -1, "is out of range; it may be 0 to 2147483647"),
        ("entry-timeout", float("nan"), "is out of range; it may be 0 to 2147483647"),
        ("entry-timeout", float("inf"), "is out of range; it may be 0 to 2147483647"),
        ("gid-timeout", 1.5, "must be a whole number of seconds"),
        ("reader-thread-count", 65, "is out of range; it may be 1 to 64"),
        ("oom-score-adj", 1001, "is out of range; it may be -1000 to 1000"),
        ("background-qlen", 8, "is out of range; it may be 16 to 65536"),
        ("log-level", "WARN", "must be one of TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL, NONE"),
        ("log-file", "var/log/a", "is not in the form of /var/log/glusterfs/model-share.log"),
        ("log-file", "/a/../b", "is not in the form of /var/log/glusterfs/model-share.log"),
        ("xlator-option", "ping-timeout", "is not in the form of transport.address-family=inet6"),
        ("entry_timeout", 1, "is no option of mount.glusterfs; did you mean entry-timeout?"),
        ("atribute-timeout", 1, "is no option of mount.glusterfs; did you mean attribute-timeout?"),
        ("loglevel", "INFO", "is no option of mount.glusterfs; did you mean log-level?"),
        ("zzz", "secret", "is no option of mount.glusterfs; remove it"),
        ("network.autostart-on-mount", True, "does not exist in GlusterFS; remove it"),
        (
            "performance.lookup-optimize",
            Ambiguous("on"),
            (
                "does not exist in GlusterFS, cluster.lookup-optimize does; on a storage node run:"
                " gluster volume set model-store cluster.lookup-optimize on"
            ),
        ),
        (
            "io-cache",
            Ambiguous("on"),
            (
                "is a volume option, not a mount option; on a storage node run:"
                " gluster volume set model-store performance.io-cache on"
            ),
        ),
        (
            "network.ping-timeout",
            10,
            (
                "is a volume option, not a mount option; on a storage node run:"
                " gluster volume set model-store network.ping-timeout 10"
            ),
        ),
        (
            "performance.cache-size",
            "2GB",
            (
                "is a volume option, not a mount option; on a storage node run:"
                " gluster volume set model-store performance.cache-size 2GB"
            ),
        ),
        (
            "auth.allow",
            "10.0.0.0/8 and a secret",
            (
                "is a volume option, not a mount option; on a storage node run:"
                " gluster volume set model-store auth.allow VALUE"
            ),
        ),
        (
            "performance.read-ahed",
            False,
            (
                "is no option of mount.glusterfs; if performance.read-ahead is meant, that is"
                " a volume option; on a storage node run:"
                " gluster volume set model-store performance.read-ahead off"
            ),
        ),
    ],
)
def test_refused(name: str, value: object, said: str) -> None:
    assert refusal(name, value) == said


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_never_taken_with_a_reason(name: str) -> None:
    assert refusal(name, True) == REFUSED[name]


@pytest.mark.parametrize("name", sorted(IGNORED))
def test_ignored_with_a_warning(name: str) -> None:
    assert take({name: True}) == {}
    assert options_check.warnings({name: True}) == [(name, IGNORED[name])]


@pytest.mark.parametrize("char", list(",; \t\n\\\"'`$&|<>(){}[]*?!#\x00\x7f=é"))
def test_no_text_breaks_out_of_the_option_string(char: str) -> None:
    for name, kind in KNOWN.items():
        if isinstance(kind, Text | Choice):
            like = kind.like if isinstance(kind, Text) else kind.words[0]
            if name == "xlator-option" and char == "*":
                continue  # *replicate* is how a translator is named; no file in / matches it
            for value in (like + char, char + like, like[:3] + char + like[3:]):
                refusal(name, value)


def test_contradictions() -> None:
    assert refusal_of_two("exec", "noexec", True, True) == "contradicts noexec; remove one of them"
    assert refusal_of_two("root-squash", "no-root-squash", True, True)
    assert refusal_of_two("exec", "noexec", False, False)
    assert take({"exec": False, "noexec": True}) == {"noexec": True}


def refusal_of_two(one: str, two: str, first: object, second: object) -> str:
    with pytest.raises(Several) as caught:
        take({one: first, two: second})
    ((place, message),) = caught.value.found
    assert place == (one,)
    return message


def test_all_at_once() -> None:
    with pytest.raises(Several) as caught:
        take({"acl": 1, "lru-limit": -1, "foo": 1, "sync": True, "worm": True})
    assert [place for place, _ in caught.value.found] == [("acl",), ("lru-limit",), ("foo",)]


def test_the_tables_agree() -> None:
    tables = [set(KNOWN), set(IGNORED), set(REFUSED), set(FICTION), set(REAL)]
    for number, one in enumerate(tables):
        for other in tables[number + 1 :]:
            assert not one & other
    assert set(FOR_SHORT.values()) <= REAL
    assert {real for real in FICTION.values() if real} <= REAL
    for name, kind in KNOWN.items():
        match kind:
            case Flag(opposite=opposite) if opposite:
                assert KNOWN[opposite] in {Flag(), Flag(value="true")}
            case Number(default=int(default)):
                assert take({name: default}) == {name: default}
            case Choice(default=str(default)):
                assert take({name: default}) == {name: default}
            case Switch(default=default):
                assert take({name: default}) == {name: default}
            case Text(like=like):
                assert take({name: like}) == {name: like}

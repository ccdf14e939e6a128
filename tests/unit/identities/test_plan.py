"""What is done about the map, and above all what is never done: renumber, remove, guess."""

from hypothesis import given
from hypothesis import strategies as st

from agent.config.identities_schema import IdentitiesConfig
from agent.identities.facts import Group, Known, User
from agent.identities.plan import AddMember, CreateGroup, CreateUser, plan
from tests.unit.identities.hosts import Host, a_map

MAP = a_map({"ml": 20000, "ops": 20010}, {"alice": (20001, "ml", ["ops"])})


def test_an_empty_host_gets_all_groups_first() -> None:
    found = plan(MAP, Known())
    assert found.steps == (
        CreateGroup("ml", 20000),
        CreateGroup("ops", 20010),
        CreateUser("alice", 20001, 20000, (20010,)),
    )
    assert found.conflicts == ()


def test_who_is_there_is_put_into_the_groups_that_lack() -> None:
    host = Host({"alice": (20001, 20000)}, {"ml": 20000, "ops": 20010})
    assert plan(MAP, host.known(MAP)).steps == (AddMember("alice", "ops"),)
    host.members["alice"] = {20010}
    assert plan(MAP, host.known(MAP)) == plan(MAP, host.known(MAP)).__class__((), (), ())


def test_a_name_with_another_number_is_told_with_both_sides_and_left() -> None:
    host = Host({"alice": (1001, 20000)}, {"ml": 20000, "ops": 20010})
    found = plan(MAP, host.known(MAP))
    assert found.steps == ()
    assert found.conflicts == (
        "user alice is number 20001 in the file, and number 1001 on this host",
    )


def test_a_number_of_another_s_is_told_with_both_sides_and_left() -> None:
    host = Host({"bob": (20001, 20000)}, {"ml": 20000, "ops": 20010})
    found = plan(MAP, host.known(MAP))
    assert found.steps == ()
    assert found.conflicts == ("number 20001 is user alice in the file, and user bob on this host",)


def test_a_group_that_is_another_s_here_costs_only_who_needs_it() -> None:
    wanted = a_map(
        {"ml": 20000, "ops": 20010},
        {"alice": (20001, "ml", []), "bob": (20002, "ops", ["ml"])},
    )
    host = Host({}, {"render": 20000})
    found = plan(wanted, host.known(wanted))
    assert found.steps == (CreateGroup("ops", 20010), CreateUser("bob", 20002, 20010, ()))
    assert found.conflicts == (
        "number 20000 is group ml in the file, and group render on this host",
        "user alice can't be created: this host has no group ml as in the file",
    )


def test_nobody_is_put_into_a_group_of_the_same_name_but_another_number() -> None:
    host = Host({"alice": (20001, 20000)}, {"ml": 20000, "ops": 999})
    found = plan(MAP, host.known(MAP))
    assert found.steps == ()
    assert found.conflicts == (
        "group ops is number 20010 in the file, and number 999 on this host",
    )


def test_another_first_group_is_told_and_left() -> None:
    host = Host({"alice": (20001, 100)}, {"ml": 20000, "ops": 20010}, {"alice": {20010}})
    found = plan(MAP, host.known(MAP))
    assert found.steps == ()
    assert found.conflicts == (
        "the first group of user alice is ml (20000) in the file, and 100 on this host",
    )


def test_a_directory_s_longer_name_for_the_same_one_is_no_conflict() -> None:
    alice, ml = User("alice@corp", 20001, 20000), Group("ml@corp", 20000)
    wanted = a_map({"ml": 20000}, {"alice": (20001, "ml", [])})
    known = Known(
        {"alice": alice}, {20001: alice}, {"ml": ml}, {20000: ml}, {"alice": frozenset({20000})}
    )
    assert plan(wanted, known).conflicts == ()
    assert plan(wanted, known).steps == ()


def test_who_is_in_too_many_groups_is_named() -> None:
    host = Host({"alice": (20001, 20000)}, {"ml": 20000, "ops": 20010})
    host.members["alice"] = {20010, *range(30000, 30085)}
    assert plan(MAP, host.known(MAP)).crowded == ()
    host.members["alice"].add(30085)
    (line,) = plan(MAP, host.known(MAP)).crowded
    assert line.startswith("user alice is in 88 groups: ")


def test_a_newcomer_s_groups_count_too() -> None:
    groups = {f"g{number}": number for number in range(30000, 30090)}
    wanted = a_map(groups, {"alice": (20001, "g30000", list(groups))})
    (line,) = plan(wanted, Known()).crowded
    assert line.startswith("user alice is in 90 groups: ")


def test_tools_are_told_where_options_end() -> None:
    assert CreateGroup("ml", 20000).argv() == ("/usr/sbin/groupadd", "--gid", "20000", "--", "ml")
    argv = CreateUser("alice", 20001, 20000, (20010, 20011)).argv()
    assert argv[-2:] == ("--", "alice")
    assert argv[argv.index("--groups") + 1] == "20010,20011"


NAMES = st.sampled_from(["ml", "ops", "alice", "bob", "eve"])
NUMBERS = st.integers(1000, 1006)


@st.composite
def maps(draw: st.DrawFn) -> IdentitiesConfig:
    groups = draw(st.dictionaries(NAMES, NUMBERS, min_size=1))
    groups = {name: gid for gid, name in {gid: name for name, gid in groups.items()}.items()}
    some = st.sampled_from(sorted(groups))
    users = draw(st.dictionaries(NAMES, st.tuples(NUMBERS, some, st.lists(some, max_size=3))))
    users = {n: users[n] for n in {uid: n for n, (uid, _, _) in users.items()}.values()}
    return a_map(groups, users)


@st.composite
def hosts(draw: st.DrawFn) -> Host:
    groups = draw(st.dictionaries(NAMES, NUMBERS))
    groups = {name: gid for gid, name in {gid: name for name, gid in groups.items()}.items()}
    users = draw(st.dictionaries(NAMES, st.tuples(NUMBERS, NUMBERS)))
    users = {n: users[n] for n in {uid: n for n, (uid, _) in users.items()}.values()}
    members = {name: draw(st.sets(NUMBERS, max_size=3)) for name in users}
    return Host(users, groups, members)


@given(maps(), hosts())
def test_on_any_host_steps_work_and_one_round_does_all_that_can_be_done(
    wanted: IdentitiesConfig, host: Host
) -> None:
    users, groups = dict(host.users), dict(host.groups)
    found = plan(wanted, host.known(wanted))
    for step in found.steps:
        host.do(step)
    assert users.items() <= host.users.items(), "nobody is renumbered or removed"
    assert groups.items() <= host.groups.items()
    again = plan(wanted, host.known(wanted))
    assert again.steps == ()
    assert again.conflicts == found.conflicts


@given(maps(), hosts())
def test_on_any_host_each_one_of_the_map_is_right_or_told(
    wanted: IdentitiesConfig, host: Host
) -> None:
    found = plan(wanted, host.known(wanted))
    for step in found.steps:
        host.do(step)
    told = "\n".join(found.conflicts)
    for name, gid in wanted.groups.items():
        right = host.groups.get(name) == gid
        assert right or f"group {name} is" in told or f"number {gid} is group {name}" in told
    for name, user in wanted.users.items():
        right = host.users.get(name) == (user.uid, wanted.groups[user.group])
        assert right or f"user {name} " in f"{told} "

"""What all tests share: the lab's fixtures, and what is under test."""

import os
import sys

import pytest

from tests.lab import base, subject

pytest_plugins = ["tests.lab.fixtures"]
HOSTS = {"cluster", "package"}
QUICK = {"client", "quick_agent"}
"""Fixtures of tests that concern the hosts' release, and of those that do not."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gluster-ml-agent")
    group.addoption(
        "--package",
        metavar="DEB",
        help="test the agent of this Debian package instead of the checkout's",
    )
    group.addoption(
        "--release",
        default=base.RELEASE,
        help=f"of Debian on the lab's systemd hosts (default: this machine's, {base.RELEASE});"
        " with another one only tests on such hosts run",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("package"):
        os.environ[subject.VARIABLE] = os.path.abspath(config.getoption("package"))
    package = subject.package()
    if package and config.getoption("release") == base.RELEASE:
        # What tests import of the agent is then the package's, too.
        sys.path.insert(0, subject.modules(package))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("release") == base.RELEASE:
        return
    on_hosts = [item for item in items if _may_need_a_host(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in on_hosts])
    items[:] = on_hosts


def _may_need_a_host(item: pytest.Item) -> bool:
    """Some ask for a quick client only as they run; that one skips them (fixtures.py)."""
    assert isinstance(item, pytest.Function)
    fixtures = set(item.fixturenames)
    return bool(HOSTS & fixtures) and not QUICK & fixtures

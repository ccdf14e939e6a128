"""The shipped unit, setting by setting: copies of it on a host, and which test shows which."""

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TypeVar

from tests.lab import subject
from tests.lab.host import UNITS, Host
from tests.lab.subject import UNIT

_LISTS = {
    "CapabilityBoundingSet",
    "InaccessiblePaths",
    "ReadWritePaths",
    "RestrictAddressFamilies",
    "SystemCallFilter",
}
F = TypeVar("F", bound=Callable[..., None])


def settings(text: str) -> list[str]:
    """Each `Key=value` of a unit file; of a list each word by itself, `SystemCallFilter=~@aio`."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        key, equals, value = line.strip().partition("=")
        if not equals or key[0] in "#;":
            continue
        found += [f"{key}={word}" for word in (_words(value) if key in _LISTS else [value])]
    return found


def _words(value: str) -> list[str]:
    """Of a list that takes away (~), each word does."""
    sign = "~" if value.startswith("~") else ""
    return [sign + word for word in value.removeprefix("~").split()]


def shows(*named: str) -> Callable[[F], F]:
    """Marks the test that shows these settings: what they do, and that the job goes on."""

    def mark(test: F) -> F:
        setattr(test, _MARK, named)
        return test

    return mark


_MARK = "shown_settings"


def shown(modules: Iterable[ModuleType]) -> set[str]:
    """All settings that the tests of these modules are marked with."""
    tests = [
        value for module in modules for name, value in vars(module).items() if name[:5] == "test_"
    ]
    return {setting for test in tests for setting in getattr(test, _MARK, ())}


def install_copy(host: Host, name: str, *service: str) -> str:
    """Put the shipped unit in place under another name, with directories of its own.

    service: further lines of its [Service]. Returns the unit's full name.
    """
    own = [
        line
        for key in ("RuntimeDirectory", "StateDirectory")
        for line in (f"{key}=", f"{key}={name}")
    ]
    unit = f"{UNITS}/{name}.service"
    host.write(unit, subject.unit().read_text())
    seen = subject.seen_by_service()
    host.write(f"{unit}.d/copy.conf", "\n".join(["[Service]", *seen, *own, *service, ""]))
    host.systemctl("daemon-reload")
    return f"{name}.service"


def properties(host: Host, *names: str, unit: str = UNIT) -> list[str]:
    """Of a unit as PID 1 has it, in this order."""
    shown = host.unit(unit, *names)
    return [shown[name] for name in names]


def restarts(host: Host, unit: str = UNIT) -> int:
    """How often systemd has started it anew by itself."""
    return int(*properties(host, "NRestarts", unit=unit))

"""What jobs get to know: variables by mount, and the text that each reader takes. Pure.

The schema lets no character through that a reader would change (config.inner_paths.exported): no
quote, backslash, `$` or `#`, no blank at an end, no control character. So one plain form
is for systemd's EnvironmentFile= and for `docker run --env-file` alike.
"""

import shlex
from collections.abc import Mapping

from agent.config.schema import Config
from agent.environment.forms import Form

Variables = Mapping[str, Mapping[str, str]]
"""By the mount's name: values, which are absolute paths, by the variable's name."""

_HEAD = "# For jobs. gluster-ml-agent makes this file of its configuration; changes are lost.\n"
_MOUNT = "# mount: "


def of(config: Config) -> Variables:
    """The variables of all mounts, also of those that have none, in the order of the file."""
    return {
        name: {
            variable: mount.path if inner == "." else f"{mount.path}/{inner}"
            for variable, inner in mount.environment.items()
        }
        for name, mount in config.mounts.items()
    }


def text(variables: Variables, form: Form) -> str:
    """A line for each variable; sh: to be given to eval or sourced."""
    pairs = [pair for values in variables.values() for pair in values.items()]
    if form is Form.SH:
        return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in pairs)
    return "".join(f"{name}={value}\n" for name, value in pairs)


def file_text(variables: Variables) -> str:
    """What the file `environment` holds.

    The lines that begin with # are comments to every reader; parse() knows by them whose is what.
    """
    parts = [
        f"{_MOUNT}{mount}\n{text({mount: values}, Form.SYSTEMD)}"
        for mount, values in variables.items()
    ]
    return "".join([_HEAD, *parts])


def parse(content: str) -> Variables:
    """Reads what file_text() made; lines that it would not make are passed over."""
    found: dict[str, dict[str, str]] = {}
    values: dict[str, str] = {}
    for line in content.split("\n"):
        name, equals, value = line.partition("=")
        if line.startswith(_MOUNT):
            values = found.setdefault(line.removeprefix(_MOUNT), {})
        elif equals and not line.startswith("#"):
            values[name] = value
    return found

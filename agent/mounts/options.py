"""A mount's configuration -> what mount.glusterfs is told.

Pure. The ways of the helper script were measured with GlusterFS 10.3 (docs/configuration.md).
"""

import hashlib
import json
from collections.abc import Iterator, Sequence

from agent.config.options_table import KNOWN, Choice, Flag, Number, OptionValue, Switch
from agent.config.schema import GLUSTERD_PORT, MountConfig


def render(
    mount: MountConfig, ordered_servers: Sequence[str], log_file: str = ""
) -> tuple[str, str]:
    """(source, options): options as after `-o`, "" for none.

    ordered_servers: those of the mount in the order to be tried, at least one; the first becomes
    the volfile server, the others its backups, without the first repeated. log_file: the log that
    the agent chose, "" where it didn't. It is no part of the fingerprint: it depends on the mount's
    name, and no change of it is worth a remount.
    """
    first, *others = dict.fromkeys(ordered_servers)
    words = list(_words(mount))
    if log_file:
        words.append(f"log-file={log_file}")
    # The helper's awk stops at the % of a zone and loses that server and all behind it.
    backups = [_bracketed(server) for server in others if server != first and "%" not in server]
    if backups:
        words.append(f"backup-volfile-servers={':'.join(backups)}")
    # No brackets in the source: the helper's pattern for it has none.
    return f"{first}:/{mount.volume}", ",".join(words)


def fingerprint(mount: MountConfig) -> str:
    """16 hex digits over the options and the port: another one means that a remount is due.

    The order of the options, an option at its default and the servers make no difference.
    """
    meaning = {name: value for name, value in mount.options.items() if not _is_default(name, value)}
    text = json.dumps([mount.port, meaning], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _words(mount: MountConfig) -> Iterator[str]:
    for name, value in mount.options.items():
        kind = KNOWN[name]
        if isinstance(kind, Flag):
            yield f"{name}={kind.value}" if kind.value else name
        elif isinstance(kind, Switch):
            yield f"{name}={'yes' if value else 'no'}"
        else:
            yield f"{name}={_text(value)}"
    if mount.port != GLUSTERD_PORT:
        yield f"server-port={mount.port}"


def _text(value: OptionValue) -> str:
    return f"{value:.3f}".rstrip("0") if isinstance(value, float) else str(value)


def _is_default(name: str, value: OptionValue) -> bool:
    kind = KNOWN[name]
    return isinstance(kind, Switch | Number | Choice) and kind.default == value


def _bracketed(server: str) -> str:
    return f"[{server}]" if ":" in server else server

"""Reads the client graph: the volfile and the `private` files below `.meta`. Pure.

What comes in may be forged by whoever can write to the volume: any text gives an answer.
"""

TEXT_LIMIT = 1024
"""Characters kept of a name, host or path."""
DEFAULT_PING_TIMEOUT = 42
"""Seconds; network.ping-timeout where the volume does not say (GlusterFS protocol/client)."""

# What stands directly below distribute: the unit of which a file needs exactly one to be up.
_REPLICATE = "cluster/replicate"
_DISPERSE = "cluster/disperse"
_CLIENT = "protocol/client"


class Xlator:
    """One `volume ... end-volume` block of a volfile."""

    __slots__ = ("children", "host", "kind", "name", "path", "ping_timeout")

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind = ""
        self.host = ""
        self.path = ""
        self.ping_timeout = DEFAULT_PING_TIMEOUT
        self.children: tuple[str, ...] = ()


class Graph:
    """Of a client graph what the agent needs: nothing of it is secret (a volfile has passwords).

    bricks: every connection to a brick, in the volfile's order; subvolumes: what distribute
    spreads files over: replica sets, disperse sets or lone bricks.
    """

    __slots__ = ("bricks", "ping_timeout", "subvolumes")

    def __init__(self, bricks: tuple[Xlator, ...], subvolumes: tuple[Xlator, ...]) -> None:
        self.bricks = bricks
        self.subvolumes = subvolumes
        self.ping_timeout = max(
            (brick.ping_timeout for brick in bricks), default=DEFAULT_PING_TIMEOUT
        )


def parse_volfile(text: str) -> Graph:
    """The graph of a client's volfile (`.meta/graphs/active/volfile`)."""
    xlators = _blocks(text)
    reached = _below_distribute(xlators)
    # Snapshot and thin-arbiter helpers also speak protocol/client; bricks are paths.
    bricks = tuple(x for x in xlators.values() if x.kind == _CLIENT and x.path.startswith("/"))
    subvolumes = tuple(
        x for name, x in xlators.items() if name in reached and (x.kind != _CLIENT or x in bricks)
    )
    return Graph(bricks, subvolumes)


def parse_private(text: str) -> dict[str, str]:
    """The `key = value` lines of a `private` file; the first of a repeated key counts."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.partition(" = ")
        if equals:
            values.setdefault(key.strip(), value.strip())
    return values


def is_up(subvolume: Xlator, private: dict[str, str], connected: set[str]) -> bool:
    """Whether the subvolume serves reads and writes, from its `private` and the bricks connected.

    cluster/replicate says `up = 1` while it has quorum (always, where quorum is off: then one
    child must be there); cluster/disperse while enough fragments are there; a lone brick is up
    while connected. Measured with GlusterFS 10.3.
    """
    if subvolume.kind == _CLIENT:
        return subvolume.name in connected
    if private.get("up") != "1":
        return False
    children = [value for key, value in private.items() if key.startswith("child_up[")]
    return subvolume.kind != _REPLICATE or "1" in children


def kind_of(subvolume: Xlator) -> str:
    """`replicate`, `disperse` or `client`."""
    return subvolume.kind.rpartition("/")[2]


def _blocks(text: str) -> dict[str, Xlator]:
    xlators: dict[str, Xlator] = {}
    current: Xlator | None = None
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        if word == "volume":
            current = Xlator(rest[:TEXT_LIMIT])
        elif word == "end-volume" and current is not None:
            xlators[current.name] = current
            current = None
        elif current is not None:
            _set(current, word, rest)
    return xlators


def _set(xlator: Xlator, word: str, rest: str) -> None:
    if word == "type":
        xlator.kind = rest[:TEXT_LIMIT]
    elif word == "subvolumes":
        xlator.children = tuple(rest.split())
    elif word == "option":
        key, _, value = rest.partition(" ")
        if key == "remote-host":
            xlator.host = value[:TEXT_LIMIT]
        elif key == "remote-subvolume":
            xlator.path = value[:TEXT_LIMIT]
        elif key == "ping-timeout" and value.isascii() and value.isdigit():
            xlator.ping_timeout = int(value[:9])


def _below_distribute(xlators: dict[str, Xlator]) -> set[str]:
    """The first replicate, disperse or client on every way down from the top, the last block."""
    found: set[str] = set()
    seen: set[str] = set()
    to_visit = list(xlators)[-1:]
    while to_visit:
        name = to_visit.pop()
        if name in seen or name not in xlators:
            continue
        seen.add(name)
        if xlators[name].kind in (_REPLICATE, _DISPERSE, _CLIENT):
            found.add(name)
        else:
            to_visit.extend(xlators[name].children)
    return found

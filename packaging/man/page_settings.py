"""What agent.yaml(5) takes from the schema and from the table of mount options."""

from collections.abc import Iterator

from docutils import nodes
from page_tree import Made, definitions, paragraph, variable, word
from schema_keys import ITEM, REQUIRED, Key, keys

from agent.config.options_table import (
    IGNORED,
    KNOWN,
    REFUSED,
    WARNINGS,
    Choice,
    Flag,
    Kind,
    Number,
    Switch,
    Text,
)


class Keys(Made):
    """Every key of the schema."""

    NAME = "keys"

    def run(self) -> list[nodes.Node]:
        return [definitions((list(_term(key)), _key(key)) for key in keys())]


class MountOptions(Made):
    """Every option that is taken."""

    NAME = "mount-options"

    def run(self) -> list[nodes.Node]:
        return [definitions((word(n), _option(n, k)) for n, k in sorted(KNOWN.items()))]


class RefusedOptions(Made):
    """Those that are known and not taken, each with its reason."""

    NAME = "refused-options"

    def run(self) -> list[nodes.Node]:
        reasons: dict[str, list[str]] = {}
        for option, reason in (*REFUSED.items(), *IGNORED.items()):
            reasons.setdefault(reason, []).append(option)
        return [
            definitions(
                (word(", ".join(options)), [paragraph(reason[0].upper() + reason[1:] + ".")])
                for reason, options in reasons.items()
            )
        ]


def _term(key: Key) -> Iterator[nodes.Node]:
    for position, part in enumerate(key.place):
        if position and part != ITEM:
            yield nodes.Text(".")
        yield variable(part) if part.isupper() else nodes.Text(part)


def _key(key: Key) -> list[nodes.Node]:
    default = {REQUIRED: "; required", "": ""}.get(key.default, f"; default: {key.default}")
    return [paragraph(key.kind + default), paragraph(key.description)]


def _option(name: str, kind: Kind) -> list[nodes.Node]:
    body: list[nodes.Node] = [paragraph(_value(kind))]
    if name in WARNINGS:
        body.append(paragraph(f"Taken with a warning: {WARNINGS[name]}."))
    return body


def _value(kind: Kind) -> str:
    """What may stand there, and what holds if nothing does."""
    match kind:
        case Flag(opposite=""):
            return "flag; default: false"
        case Flag():
            return f"flag; false means {kind.opposite}; default: true"
        case Switch():
            return f"boolean; default: {str(kind.default).lower()}"
        case Number():
            unit = f" {kind.unit}" if kind.unit else ""
            decimals = ", with decimals" if kind.decimals else ""
            return f"{kind.low} to {kind.high}{unit}{decimals}; default: {_own(kind.default)}"
        case Choice():
            boolean = ", or a boolean" if kind.booleans else ""
            return f"one of {', '.join(kind.words)}{boolean}; default: {_own(kind.default)}"
        case Text():
            return f"text, e.g. {kind.like}"


def _own(default: object) -> str:
    return "that of the volume or client" if default is None else str(default)

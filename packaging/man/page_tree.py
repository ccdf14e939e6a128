"""Short words for the few nodes of a docutils tree that the pages are made of."""

from collections.abc import Iterable, Sequence

from docutils import nodes
from docutils.parsers.rst import Directive

Inline = Sequence[nodes.Node]


class Made(Directive):
    """A directive without arguments that stands for something made from the code."""

    NAME = ""


def paragraph(text: str) -> nodes.paragraph:
    """Plain text; white space in it makes no difference."""
    return nodes.paragraph("", " ".join(text.split()))


def variable(text: str) -> nodes.emphasis:
    """A word that stands for something of the reader's."""
    return nodes.emphasis("", text)


def definitions(
    items: Iterable[tuple[Inline, Sequence[nodes.Node]]],
) -> nodes.definition_list:
    """Terms with what is below them. The page shows a term in bold, but for its variables."""
    made = nodes.definition_list()
    for term, body in items:
        made += nodes.definition_list_item(
            "", nodes.term("", "", *term), nodes.definition("", *body)
        )
    return made


def word(text: str) -> list[nodes.Node]:
    """A term that is one text."""
    return [nodes.Text(text)]

"""No line of the shipped unit without a test that shows it, nor without its place in the docs."""

from tests.lab import subject
from tests.system import sandbox, test_sandbox, test_unit, test_unit_trouble
from tests.system.unitfile import settings, shown
from tests.unit.test_documents import rows, text

MODULES = (test_sandbox, test_unit, test_unit_trouble)
DOCUMENT = "docs/hardening.md"


def keys(of: list[str]) -> set[str]:
    return {setting.partition("=")[0] for setting in of}


def test_every_setting_of_the_unit_is_shown_by_a_test() -> None:
    assert set(settings(subject.unit().read_text())) == shown(MODULES)


def test_a_setting_is_told_with_its_value_and_a_list_by_its_words() -> None:
    unit = "[Service]\n# A=0\nType=notify\nSystemCallFilter=~a \\\n b\nSystemCallFilter=c\n"
    assert settings(unit) == [
        "Type=notify",
        "SystemCallFilter=~a",
        "SystemCallFilter=~b",
        "SystemCallFilter=c",
    ]


def test_the_document_has_every_line() -> None:
    table = [row[0].strip("`") for row in rows(text(DOCUMENT), "The lines")]
    assert {key.strip("`") for cell in table for key in cell.split(", ")} == keys(
        settings(subject.unit().read_text())
    )


def test_the_document_has_what_is_left_out() -> None:
    table = {cell for row in rows(text(DOCUMENT), "Left out") for cell in row[0].split(", ")}
    assert {f"`{setting}`" for setting in sandbox.LEFT_OUT} <= table


def test_the_document_has_the_figure() -> None:
    assert f"**{test_unit.EXPOSURE}**" in text(DOCUMENT)

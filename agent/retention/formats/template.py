"""Names made from a template, `val_loss=0.25-step=100`: Lightning's, and NeMo's after it.

Source: lightning/pytorch/callbacks/model_checkpoint.py (format_checkpoint_name). A metric's name
may hold underscores, spaces and dots; what stands between two fields is the user's.
"""

import re
from collections.abc import Mapping, Sequence

from agent.retention.formats.text import digits, finite_numbers

VALUE = r"[-+]?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][-+]?[0-9]{1,4})?|inf|nan)"
KEY = r"[A-Za-z_][A-Za-z0-9_./@ ]*"
_FIELD = re.compile(rf"(?<![A-Za-z0-9])(?P<key>{KEY})=(?P<value>{VALUE})(?![A-Za-z0-9.])")
_NO_FRACTION = re.compile(r"\.0+\Z")


def fields(text: str) -> list[tuple[str, str]]:
    """The fields of a name, in their order. A value's text is as it stands."""
    return [(match["key"], match["value"]) for match in _FIELD.finditer(text)]


def values(found: Sequence[tuple[str, str]], key: str) -> set[str]:
    """What that field says: of those named so, else of those with a prefix (`train_step`)."""
    plain = {value for name, value in found if name == key}
    return plain or {value for name, value in found if _is_called(name, key)}


def whole(said: set[str]) -> int | None:
    """The one whole number that they say; None where they say none, or several."""
    numbers = {digits(_NO_FRACTION.sub("", value)) for value in said}
    return numbers.pop() if len(numbers) == 1 else None


def metrics(found: Sequence[tuple[str, str]], *numbers: str) -> Mapping[str, float]:
    """The finite values of all fields but those numbers."""
    return finite_numbers(
        {
            name: float(value)
            for name, value in found
            if not any(_is_called(name, key) for key in numbers)
        }
    )


def _is_called(name: str, key: str) -> bool:
    return name == key or name.endswith(tuple(f"{between}{key}" for between in "_./ "))

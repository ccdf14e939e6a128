"""Runs as JSON, for whoever keeps them from one survey to the next. Pure."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from agent.retention.facts import Records, Run, Unit


def to_row(run: Run) -> dict[str, Any]:
    """What from_row() reads, also after json.dumps and json.loads."""
    return asdict(run)


def from_row(row: Mapping[str, Any]) -> Run:
    """Raises KeyError, TypeError, ValueError where it is no such row."""
    records = row["records"]
    metrics = {int(step): dict(values) for step, values in records["metrics"].items()}
    return Run(
        **{
            **row,
            "units": tuple(
                Unit(**{**unit, "names": tuple(unit["names"])}) for unit in row["units"]
            ),
            "records": Records(
                **{**records, "metrics": metrics, "findings": tuple(records["findings"])}
            ),
            "odd": tuple((name, reason) for name, reason in row["odd"]),
        }
    )

"""Tables of an audit: every number that it gives of the accuracy, and the tenths of the target."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .base import INTERVAL, Maker, Table, ends

if TYPE_CHECKING:
    from ...audits.result import Audit

__all__ = ["tables"]

_COLUMNS = ("number", "method", *INTERVAL, "labels", "effective_labels", "assumes")
_STRATA = ("stratum", "rows", "lowest", "expected", "highest", "labels", "correct", "suggested")


def tables(found: Audit) -> dict[str, Maker]:
    """Intervals, strata where the target was divided, and rows to label next where they were asked for."""
    made: dict[str, Maker] = {"intervals": partial(_intervals, found)}
    if found.strata:
        made["strata"] = partial(_strata, found)
    if found.suggestion is not None:
        made["suggested"] = partial(_suggested, found)
    return made


def _intervals(found: Audit) -> Table:
    """The label-free estimate, the audited one, the believed one, and every other interval of the labels.

    ``number`` says which it is: label-free, audited, believed, or another.
    """
    free = found.headline
    rows: list[dict[str, Any]] = [
        {"number": "label-free", "method": free.method, **ends(free), "assumes": free.assumes}
    ]
    chosen = found.estimate
    for one in found.intervals:
        is_chosen = chosen is not None and one.method == chosen.method
        rows.append(
            {
                "number": "audited" if is_chosen else "another",
                "method": one.method,
                **ends(one),
                "labels": found.labels,
                "effective_labels": found.worth(one),
                "assumes": one.assumes,
            }
        )
    believed = found.believed
    if believed is not None and believed.interval is not None:
        rows.append(
            {
                "number": "believed",
                "method": "natural shifts and labels",
                **ends(believed.interval),
                "labels": found.labels,
                "effective_labels": believed.effective_labels,
                "assumes": believed.assumes,
            }
        )
    rows.sort(key=lambda row: ("audited", "believed", "label-free", "another").index(row["number"]))
    return Table(_COLUMNS, rows)


def _strata(found: Audit) -> Table:
    return Table(_STRATA, [{name: getattr(one, name) for name in _STRATA} for one in found.strata])


def _suggested(found: Audit) -> Table:
    """Numbers of the target's rows, from 0, and how likely each was to be drawn."""
    assert found.suggestion is not None
    drawn = zip(found.suggestion.row.tolist(), found.suggestion.probability.tolist(), strict=True)
    return Table(("row", "p"), [{"row": row, "p": p} for row, p in drawn])

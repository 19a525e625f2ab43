"""Slices and chunks of a target as `estimate` sees them: their own estimates, and the reference's own rows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..estimators import Sums
from ..headline.parts import (
    OwnRows,
    Rest,
    SeenPart,
    SeenWhole,
    SharedPart,
    own_method,
    share_correction,
)
from ..intervals import normal_quantile
from ..passes.reference import has_column
from ..passes.slicing import column_of, rows_by_value
from ..results import Estimate
from ..results.estimation import PartReference
from ..results.values import counted
from .fitted import Fitted

_NAMED = 4  # slices that a sentence names


@dataclass(frozen=True)
class OwnSide:
    """The reference's own rows of a slice, and the state of their outputs (`ShiftStatistics`)."""

    rows: OwnRows
    outputs: Sums | None = None


def own_sides(
    fitted: Fitted, by: str, values: Sequence[Any], method: str
) -> tuple[dict[Any, OwnSide], Rest]:
    """The reference's own rows of slices, by their values, and all its other rows; empty without the column.

    Rows and right answers are counted exactly; what the ``method`` says of them, and how their outputs are distributed,
    is of the rows that were kept.
    """
    reference, plan = fitted.reference, fitted.plan
    record = reference.record
    if reference.by != by or not reference.verdicts or not has_column(record, by):
        return {}, Rest()
    estimator = plan.methods[method].lighter()
    out: dict[Any, OwnSide] = {}
    other_rows = []
    names, places = rows_by_value(column_of(record, by))
    for name, rows in zip(names, places, strict=True):
        if name not in values:
            other_rows.append(rows)
            continue
        piece = plan.choice.apply(record.take(rows))
        right, wrong = (reference.verdicts.get((name, verdict), 0) for verdict in (True, False))
        value = estimator.finish(estimator.summarize(piece)).value
        outputs = None if plan.shift_statistics is None else plan.shift_statistics.summarize(piece)
        out[name] = OwnSide(OwnRows(right + wrong, right, value), outputs)
    if not other_rows:
        return out, Rest()
    piece = plan.choice.apply(record.take(np.concatenate(other_rows)))
    rest_rows = reference.rows - sum(side.rows.rows for side in out.values())
    return out, Rest(rest_rows, estimator.finish(estimator.summarize(piece)).value)


@dataclass(frozen=True)
class AskedPart:
    """A slice or chunk beside the whole: what it starts from, what is said of it, what it is held against, the state of
    the outputs there, and how far its own moved from them (`ShiftStatistics.finish`).
    """

    own: Estimate
    seen: SharedPart
    reference: PartReference
    outputs: Sums | None
    moves: Mapping[str, float]


def asked_parts(
    fitted: Fitted,
    values: Sequence[Any],
    by_part: Sequence[Sequence[Estimate]],
    states: Sequence[Mapping[str, Any]],
    whole: SeenWhole,
    effects: tuple[float, float] = (1.0, 1.0),
) -> list[AskedPart] | None:
    """Slices by their values, or chunks (of a plan with ``every``), with the correction that they share; ``effects``:
    design effects of the outputs on both sides. None where no method answers for all of them.
    """
    method = own_method(by_part)
    if method is None:
        return None
    chosen = [next(e for e in estimates if e.method == method) for estimates in by_part]
    by = fitted.plan.by
    sides, rest = ({}, Rest()) if by is None else own_sides(fitted, by, values, method)
    statistics = fitted.plan.shift_statistics
    seen, moves = [], []
    for value, estimate, state in zip(values, chosen, states, strict=True):
        error = (estimate.upper - estimate.lower) / (2 * normal_quantile(estimate.level))
        side = sides.get(value)
        own_rows, beside = (None, None) if side is None else (side.rows, side.outputs)
        moves.append(
            {}
            if statistics is None
            else statistics.finish(state["shift_statistics"], effects, beside)
        )
        # where the reference has no rows of a slice, what moved is its composition as well
        moved = None if by is not None and side is None else moves[-1].get("moved")
        seen.append(SeenPart(estimate.rows, estimate.value, error, own_rows, moved))
    shared = share_correction(whole, seen, like_reference=by is None, rest=rest)
    out = []
    for value, estimate, part, moved_by in zip(values, chosen, shared, moves, strict=True):
        side = sides.get(value)
        about = _reference(part, None if side is None else side.rows, fitted, by)
        out.append(
            AskedPart(estimate, part, about, None if side is None else side.outputs, moved_by)
        )
    return out


def _reference(
    part: SharedPart, own_rows: OwnRows | None, fitted: Fitted, by: str | None
) -> PartReference:
    """What a part is held against, and what that is in words."""
    if by is None:
        return PartReference(part.reference, why="the reference as a whole")
    if own_rows is None:
        why = "the reference as a whole, of the composition that the estimate says: it has no rows of this slice"
        return PartReference(part.reference, why=why)
    why = f"its own {counted(own_rows.rows, 'reference row')}"
    return PartReference(
        part.reference, own_rows.rows, own_rows.correct / own_rows.rows, part.share, why
    )


def said_of_references(fitted: Fitted, parts: Mapping[str, PartReference], by: str) -> list[str]:
    """What is to be said of slices of which the reference has no rows; most often nothing."""
    missing = [name for name, reference in parts.items() if reference.share is None]
    if not missing:
        return []
    against = "held against the reference as a whole, of the composition that the estimate says"
    if fitted.reference.verdicts and fitted.reference.by == by:
        names = ", ".join(missing[:_NAMED]) + (
            f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        )
        return [
            f"{fitted.name} has no rows of {by} {names}: {'it is' if len(missing) == 1 else 'they are'} {against}"
        ]
    if fitted.file is not None and fitted.reference.by != by:
        return [
            f"{fitted.where} was fitted without slices by {by}: they are {against}; fit it with --by {by}"
        ]
    return [f"{fitted.name} has no column {by}: slices are {against}"]

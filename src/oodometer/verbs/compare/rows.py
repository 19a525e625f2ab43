"""Rows: one labelled file read once for a comparison: the state of every metric, and its rows in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import Array
from ...audits.keys import KEY
from ...errors import InputError, UsageError
from ...metrics import Metric
from ...metrics.ranks import LIMIT, RankMetric, Ranks
from ...passes.base import State
from ...passes.evaluating import EvaluationOptions, finish_evaluation, plan_evaluation
from ...predictions import Predictions
from ...results.evaluation import Evaluation
from ...store import Source
from .options import CompareOptions

__all__ = ["Rows", "in_one_order", "read_rows", "row_key"]


@dataclass(frozen=True)
class Rows:
    """What a comparison keeps of the rows of one file: the order's value and the verdict, (sample,), and the truth.

    values, verdicts : None where there are too many rows to keep. truth : labels by name, or None where there are only
    verdicts. ranks : the merged state. ids : what tells the rows apart, or None.
    """

    values: Array | None
    verdicts: Array | None
    truth: Array | None
    ranks: Ranks
    ids: Array | None = None


def read_rows(
    source: Source, chosen: Sequence[Metric[Any, Any]], asked: CompareOptions, key: str | None
) -> tuple[Evaluation, Rows]:
    """One pass over a file: its evaluation and its rows. Raises `InputError` where the rows cannot be put in order."""
    options = EvaluationOptions(level=asked.level, seed=asked.seed)
    plan, skipped = plan_evaluation(source, chosen, options)
    order = next((m for m in plan.metrics if isinstance(m, RankMetric)), None)
    if order is None:
        why = next(s.why for s in skipped if s.method == "auc_coverage")
        raise InputError(
            "something to order the rows by: `confidence` or `probabilities`",
            got=f"none ({why})",
            file=source.name,
            remedy="add it, or name another order with --score",
        )
    state: State = {}
    kept: list[tuple[Array, Array]] = []
    truth: list[Array | None] = []
    known_rows: list[Array] = []
    rows = read = 0
    for batch in source.batches(fields=(*plan.fields, "label"), rows=plan.rows):
        state = plan.merge(state, plan.summarize(batch))
        known = batch.known()
        known_rows.append(read + np.flatnonzero(batch.verdicts >= 0))
        read += len(batch)
        rows += len(known)
        if rows > LIMIT:
            kept, truth = [], []
        elif len(known):
            values, verdicts, _ = order.ordering(known)
            kept.append((values, verdicts))
            truth.append(_names(known))
    found = finish_evaluation(source, plan, state, skipped, options)
    whole = next(states for states in state.values())
    named = [part for part in truth if part is not None]
    return found, Rows(
        values=np.concatenate([v for v, _ in kept]) if kept else None,
        verdicts=np.concatenate([v for _, v in kept]) if kept else None,
        truth=np.concatenate(named) if named and len(named) == len(truth) else None,
        ranks=whole[order.state_key],
        ids=_ids(source, key, np.concatenate(known_rows)) if key is not None and kept else None,
    )


def row_key(key: str | None, sources: Sequence[Source]) -> str | None:
    """The column that tells rows apart in all files; `UsageError` where one lacks the one that was named."""
    if key is None:
        return KEY if all(source.holds(KEY) for source in sources) else None
    ours = key.partition("=")[0] if not any(source.holds(key) for source in sources) else key
    for source in sources:
        if not source.holds(ours):
            raise UsageError(
                f"{source.name}: there is no column {ours} to tell rows apart by; its columns are "
                f"{', '.join(source.columns[:12])}"
            )
    return ours


def _ids(source: Source, key: str, rows: Array) -> Array | None:
    """What tells these rows apart; None where a cell is empty or comes twice, so that it does not."""
    try:
        ids = source.keys(key).take(rows)
    except InputError:
        return None
    if ids.null_count or len(ids.unique()) < len(ids):
        return None
    return np.array(ids.to_pylist(), dtype=object)


def in_one_order(rows: Sequence[Rows]) -> list[Rows]:
    """The rows of all files in the order of the first, where ids tell them apart and all files have the same ones."""
    if any(one.ids is None or one.values is None for one in rows):
        return list(rows)
    first = {name: place for place, name in enumerate(rows[0].ids)}  # type: ignore[arg-type]
    out = [rows[0]]
    for one in rows[1:]:
        assert one.ids is not None
        if set(one.ids) != set(first):
            return list(rows)
        order = np.argsort([first[name] for name in one.ids], kind="stable")
        out.append(
            replace(
                one,
                values=None if one.values is None else one.values[order],
                verdicts=None if one.verdicts is None else one.verdicts[order],
                truth=None if one.truth is None else one.truth[order],
                ids=one.ids[order],
            )
        )
    return out


def _names(known: Predictions) -> Array | None:
    """The labels by their names, so that files which number their classes otherwise agree."""
    if known.label is None:
        return None
    if known.classes is None:
        return known.label
    named: Array = np.array(known.classes)[known.label]
    return named

"""Rows: one labelled file read once for a comparison: the state of every metric, and its rows in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import InputError
from ...metrics import Metric
from ...metrics.ranks import LIMIT, RankMetric, Ranks
from ...passes.base import State
from ...passes.evaluating import EvaluationOptions, finish_evaluation, plan_evaluation
from ...predictions import Predictions
from ...results.evaluation import Evaluation
from ...store import Source

__all__ = ["Rows", "read_rows"]


@dataclass(frozen=True)
class Rows:
    """What a comparison keeps of the rows of one file: the order's value and the verdict, (sample,), and the truth.

    values, verdicts : None where there are too many rows to keep. truth : labels by name, or None where there are only
    verdicts. ranks : the merged state.
    """

    values: Array | None
    verdicts: Array | None
    truth: Array | None
    ranks: Ranks


def read_rows(source: Source, chosen: Sequence[Metric[Any, Any]], level: float, seed: int) -> tuple[Evaluation, Rows]:
    """One pass over a file: its evaluation and its rows. Raises `InputError` where the rows cannot be put in order."""
    options = EvaluationOptions(level=level, seed=seed)
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
    rows = 0
    for batch in source.batches(fields=(*plan.fields, "label"), rows=plan.rows):
        state = plan.merge(state, plan.summarize(batch))
        known = batch.known()
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
    )


def _names(known: Predictions) -> Array | None:
    """The labels by their names, so that files which number their classes otherwise agree."""
    if known.label is None:
        return None
    if known.classes is None:
        return known.label
    named: Array = np.array(known.classes)[known.label]
    return named

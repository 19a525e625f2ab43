"""Rows: one labelled file read once for a comparison: the state of every metric, and its rows in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import Array
from ...audits.joining import KEY
from ...errors import InputError, UsageError
from ...inference.clusters import cluster_keys, named_repeats
from ...metrics import Metric
from ...metrics.ranks import LIMIT, RankMetric, Ranks
from ...passes.evaluating import EvaluationOptions, EvaluationPlan, finish_evaluation, ids_repeat, plan_evaluation
from ...passes.slicing import WHOLE, column_of
from ...predictions import Predictions
from ...results.evaluation import Evaluation
from ...store import Source
from .options import CompareJob


@dataclass(frozen=True)
class Rows:
    """What a comparison keeps of the rows of one file: the order's value and the verdict, (sample,), and the truth.

    values, verdicts : None where there are too many rows to keep. truth : labels by name, or None where there are only
    verdicts. ranks : the merged state. ids : what tells the rows apart, or None. clusters : keys of those that depend
    on each other, (sample,), or None where rows are independent.
    """

    values: Array | None
    verdicts: Array | None
    truth: Array | None
    ranks: Ranks
    ids: Array | None = None
    clusters: Array | None = None


def read_rows(
    source: Source, chosen: Sequence[Metric[Any, Any]], asked: CompareJob, key: str | None
) -> tuple[Evaluation, Rows]:
    """One pass over a file: its evaluation and its rows. Raises `InputError` where the rows cannot be put in order."""
    options = EvaluationOptions(cluster=asked.cluster, level=asked.level, seed=asked.seed)
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
    work = _RowsOf(plan, order)
    read = asked.execution.fold(work, source.parts(), work.merge)
    if ids_repeat(plan, read["state"]):
        work = _RowsOf(replace(plan, grouped=True), order)
        read = asked.execution.fold(work, source.parts(), work.merge)
    plan = work.plan
    found = finish_evaluation(source, plan, read["state"], skipped, options)
    whole = read["state"][WHOLE]
    kept, truth = read["kept"], [part for part in read["truth"] if part is not None]
    return found, Rows(
        values=np.concatenate([v for v, _ in kept]) if kept else None,
        verdicts=np.concatenate([v for _, v in kept]) if kept else None,
        truth=np.concatenate(truth) if truth and len(truth) == len(read["truth"]) else None,
        ranks=whole[order.state_key],
        ids=_ids(source, key, np.concatenate(read["known"])) if key is not None and kept else None,
        clusters=np.concatenate(read["clusters"]) if kept and plan.grouped else None,
    )


@dataclass(frozen=True)
class _RowsOf:
    """The pass: the state of the metrics, and of each known row its place, its value in the order and its verdict."""

    plan: EvaluationPlan
    order: RankMetric[Any]

    def __call__(self, part: Any) -> dict[str, Any]:
        """What is kept of a part."""
        total: dict[str, Any] = {
            "state": {},
            "kept": [],
            "truth": [],
            "known": [],
            "clusters": [],
            "rows": 0,
            "read": 0,
        }
        for batch in part.batches(fields=(*self.plan.fields, "label"), rows=self.plan.rows):
            known = batch.known()
            one: dict[str, Any] = {"state": self.plan.summarize(batch), "kept": [], "truth": [], "clusters": []}
            one |= {"known": [np.flatnonzero(batch.verdicts >= 0)], "rows": len(known), "read": len(batch)}
            if len(known):
                values, verdicts, _ = self.order.ordering(known)
                one |= {"kept": [(values, verdicts)], "truth": [_names(known)]}
                if self.plan.cluster is not None:
                    one["clusters"] = [cluster_keys(column_of(known, self.plan.cluster), known.first_row)]
            total = self.merge(total, one)
        return total

    def merge(self, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
        """Two neighbours as one."""
        out = {name: a[name] + b[name] for name in ("kept", "truth", "clusters", "rows", "read")}
        out["known"] = [*a["known"], *(a["read"] + places for places in b["known"])]
        if out["rows"] > LIMIT:
            out |= {"kept": [], "truth": [], "known": [], "clusters": []}
        return {**out, "state": self.plan.merge(a["state"], b["state"])}


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
    """What tells these rows apart, with their number where ids repeat; None where a cell is empty."""
    try:
        ids = source.keys(key).take(rows)
    except InputError:
        return None
    return None if ids.null_count else np.array(named_repeats(ids.to_pylist()), dtype=object)


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
                clusters=None if one.clusters is None else one.clusters[order],
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

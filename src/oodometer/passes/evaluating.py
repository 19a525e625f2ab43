"""Evaluating: one pass over a source of labelled predictions, a small state for every metric, and the result."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from ..arrays import Array
from ..audits.joining import KEY
from ..classes import said_of_classes
from ..errors import InputError, MissingColumnsError, NotApplicable, UsageError
from ..fields import check_on_scale
from ..inference.clusters import (
    CLUSTER,
    Clusters,
    cluster_keys,
    clustered_share,
    effective_rows,
    student_quantile,
)
from ..intervals import clopper_pearson, difference_ends
from ..kernels.top import mix
from ..metrics import Accuracy, Confidences, Metric
from ..metrics.abstention import Abstention
from ..metrics.confusion import Confusion
from ..metrics.mean_score import failed_grades, on_scale, scale_seen
from ..metrics.ranks import LIMIT, RankMetric
from ..metrics.reliability import Reliability
from ..metrics.weighted import WEIGHT, kish, weighted, weights_of
from ..plain import Json, Plain, Strings
from ..predictions import FIELDS, Predictions
from ..registry import (
    FAILURES,
    Failed,
    create,
    guarded,
    is_foreign,
    merged,
    unless_failed,
    why_failed,
)
from ..results import Interval, Skipped
from ..results.evaluation import Evaluation, Slice, SliceDifference, Weights
from ..store import Source
from .folding import Execution
from .plan import Pass, State, batch_rows, checked_metric, decided_warning, rounding, rows_decided
from .reference import (
    FIELDS_NEEDED,
    READ_AGAIN_BELOW,
    check_numbers,
    label_warnings,
    renaming_warnings,
)
from .slicing import WHOLE, column_of, in_natural_order, rows_by_value

_TABLES = ("confusion", "per_class")  # others prove things that hold of independent rows alone
N = TypeVar("N", bound=Interval)


def clusters_said(clusters: Clusters, column: str, is_named: bool) -> str:
    """Which rows are taken to depend on each other, in a sentence."""
    count = f"{'more than ' if clusters.bits else ''}{clusters.count:,}"
    if is_named:
        return f"rows of one {column} depend on each other: intervals are those of {count} clusters"
    return (
        f"ids repeat, as with epochs of a question: intervals are those of {count} ids, not of independent rows; "
        "--cluster COLUMN names another column of rows that depend on each other"
    )


def widened(interval: N, effect: float, bounds: tuple[float, float] = (0.0, 1.0)) -> N:
    """An interval with arms that are sqrt(effect) times as long, inside its bounds; at 0 and 1 as of rows / effect."""
    effect = max(effect, 1.0)
    low, high = (
        interval.value + (end - interval.value) * math.sqrt(effect)
        for end in (interval.lower, interval.upper)
    )
    if interval.kind == "exact" and bounds == (0.0, 1.0):
        low = interval.lower**effect if interval.value == 1 else low
        high = 1 - (1 - interval.upper) ** effect if interval.value == 0 else high
    low, high = min(max(low, bounds[0]), interval.value), max(min(high, bounds[1]), interval.value)
    return replace(
        interval,
        lower=low,
        upper=high,
        kind="asymptotic" if interval.kind == "exact" else interval.kind,
    )


class GroupedClusters:
    """What chance among clusters does to an evaluation; ``groups`` are states of whole clusters."""

    def __init__(
        self,
        clusters: Clusters,
        groups: Sequence[Plain],
        plan: EvaluationPlan,
        rows: int,
    ) -> None:
        self.clusters, self.groups, self.plan, self.rows = clusters, groups, plan, rows
        self.effect = clusters.effect(plan.level)  # of the accuracy
        self._effects: dict[str, float] = {}

    @cached_property
    def _without(self) -> dict[str, list[Any]]:
        """Name of a state -> the states of all rows but those of each group."""
        out = {}
        for name, maker in _makers(self.plan.resampled).items():
            join = partial(merged, maker.name, maker, maker.merge)
            each = [group[name] for group in self.groups]
            ahead = list(accumulate(each[:-1], join))
            behind = list(accumulate(each[:0:-1], join))[::-1]
            out[name] = [
                behind[0],
                *(join(a, b) for a, b in zip(ahead, behind[1:], strict=False)),
                ahead[-1],
            ]
        return out

    def of_clusters(self, metric: Metric[Any, Any], result: Any) -> Any:
        """A number with the interval of clusters; curves and tables as much wider as the accuracy."""
        if metric.clustered:
            return result
        if metric.gives == "curve":
            ends = (
                (end - result.y) * math.sqrt(self.effect) + result.y
                for end in (result.lower, result.upper)
            )
            lower, upper = (np.clip(end, 0, 1) for end in ends)
            return replace(result, lower=lower, upper=upper, kind="asymptotic")
        if isinstance(metric, Confidences):  # it knows the clusters
            return result
        if metric.gives == "table":
            if metric.name not in _TABLES:
                raise NotApplicable(
                    "its proofs and intervals hold of independent rows alone, not of clusters"
                )
            return _each(result, lambda interval: widened(interval, self.effect))
        out = self._of_number(metric, result)
        self._effects[metric.name] = (out.width / result.width) ** 2 if result.width else 1.0
        return out

    def _of_number(self, metric: Metric[Any, Any], interval: N) -> N:
        """By the jackknife, (G - 1) / G sum_g (value without group g - value)^2, where groups can be left out."""
        value, rows, level, seed = interval.value, self.rows, self.plan.level, self.plan.seed
        if metric.name == "accuracy":
            ends = clustered_share(self.clusters, rows, value, level)
            return replace(interval, lower=ends[0], upper=ends[1], kind="asymptotic")
        try:
            # though others share their state
            has_states = len(self.groups) > 1 and metric.name not in _CALIBRATION
            states = self._without.get(metric.state_key, []) if has_states else []
            replicates = np.array(
                [metric.finish(unless_failed(state), level, seed).value for state in states]
            )
        except FAILURES:
            replicates = np.zeros(0)
        variance = (
            float((len(replicates) - 1) / len(replicates) * np.square(replicates - value).sum())
            if len(replicates)
            else math.nan
        )
        if math.isnan(variance):
            return widened(interval, self.effect, metric.bounds)
        sizes = np.array([group["rows"] for group in self.groups], dtype=np.float64)
        # Kish's number of groups
        clusters = min(float(sizes.sum() ** 2 / np.square(sizes).sum()), self.clusters.worth)
        if interval.kind == "exact" and metric.bounds == (0.0, 1.0):
            worth = effective_rows(rows, clusters, value * (1 - value), variance, level)
            low, high = clopper_pearson(value * worth, worth, level)
            return replace(
                interval,
                lower=min(low, interval.lower),
                upper=max(high, interval.upper),
                kind="asymptotic",
            )
        half = student_quantile(level, clusters - 1) * math.sqrt(variance)
        effect = (
            (2 * half / interval.width) ** 2 if variance and interval.width else rows / clusters
        )
        return widened(interval, effect, metric.bounds)

    def of_slice(self, metric: Metric[Any, Any], interval: N) -> N:
        """The number of a slice, its interval as much wider as that of all rows is."""
        return (
            interval
            if metric.clustered
            else widened(interval, self._effects.get(metric.name, self.effect), metric.bounds)
        )


def _each(plain: Any, change: Any) -> Any:
    if isinstance(plain, Interval):
        return change(plain)
    if isinstance(plain, Mapping):
        return {name: _each(value, change) for name, value in plain.items()}
    return [_each(item, change) for item in plain] if isinstance(plain, (list, tuple)) else plain


_FEW_ROWS = 30
_MOST_GROUPS = (
    64  # of clusters, left out one by one; a key of a single cluster is almost surely larger
)
# Their values on parts of the rows are ruled by the noise of bins: they take the design effect of the accuracy.
_CALIBRATION = ("ece", "ece_equal_mass", "ece_debiased", "smece", "ks_calibration_error")
_MOST_CLASSES = 50  # in a confusion matrix that was not asked for by name
# Metrics of a slice, unless others are asked for: the quick ones.
_SLICED = (
    "accuracy",
    "answered",
    "accuracy_answered",
    "f1",
    "precision",
    "recall",
    "roc_auc",
    "specificity",
    "average_precision",
    "balanced_accuracy",
    "mcc",
    "cohen_kappa",
    "expected_value",
    "brier",
    "nll",
    "ece",
    "auc_coverage",
    "aurc",
    "e_aurc",
    "augrc",
    "disca",
    "macro_f1",
    "mean_score",
)


@dataclass(frozen=True)
class KeptRows:
    """At most `LIMIT` labelled rows: of each batch what orders them, verdicts, labels, positions, clusters,
    predictions, groups, scores and weights, None where there is none.
    """

    read: int
    rows: int
    batches: tuple[tuple[Any, ...], ...]

    def __add__(self, other: KeptRows) -> KeptRows:
        read, rows = self.read + other.read, self.rows + other.rows
        later = ((*batch[:3], batch[3] + self.read, *batch[4:]) for batch in other.batches)
        return KeptRows(read, rows, () if rows > LIMIT else (*self.batches, *later))


@dataclass(frozen=True)
class EvaluationPlan(Pass):
    """Which metrics to feed, and of slices; ``by_id``: nobody named the cluster; ``grouped``: states of clusters are
    made.
    """

    metrics: tuple[Metric[Any, Any], ...]
    sliced: tuple[Metric[Any, Any], ...]
    by: str | None
    fields: Strings
    rows: int
    cluster: str | None = None
    grouped: bool = False
    by_id: bool = False
    level: float = 0.95
    seed: int = 0
    kept: bool = False
    order: RankMetric[Any] | None = None
    scale: tuple[float, float] | None = None  # that scores must lie on
    asked: bool = False
    weight: str | None = None  # column of sampling weights
    decimal_comma: bool = False

    @cached_property
    def makers(self) -> dict[str, Metric[Any, Any]]:
        """Who makes and merges the state of each kind."""
        return _makers(self.metrics)

    def summarize(self, batch: Predictions) -> State:
        """The state of one batch: the whole of it, and each slice."""
        if self.scale is not None and batch.score is not None:
            check_on_scale(batch.score, self.scale, batch.source, batch.first_row)
        labelled = (batch if self.weight is None else self._weighted(batch, self.weight)).known()
        out: State = {WHOLE: self._counts(batch, labelled)}
        keys = None
        if self.cluster is not None and len(labelled):
            keys = cluster_keys(column_of(labelled, self.cluster), labelled.first_row)
            if self.grouped:
                labelled = replace(labelled, columns={**labelled.columns, CLUSTER: keys})
        if self.kept:
            out[WHOLE]["kept"] = self._kept_rows(batch, labelled, keys)
        if not len(labelled):
            return out
        if batch.rounded is not None:
            out[WHOLE][f"rounded to {batch.rounded}"] = 1
        if not labelled.is_argmax:
            out[WHOLE]["decided"] = rows_decided(labelled)
        out[WHOLE] |= _states([m for m in self.metrics if m.state_key != "clusters"], labelled)
        if self.by is not None:
            out |= self._slices(labelled, self.by)
        if keys is not None:
            out[WHOLE]["clusters"] = Clusters.of(keys, labelled.outcomes)
            if self.grouped:
                out |= self._groups(labelled, keys)
        return out

    def _counts(self, batch: Predictions, labelled: Predictions) -> Json:
        """How many rows there are, how many of known truth and their weights, and what was noted as they were read."""
        counts: Json = {"read": len(batch), "rows": len(labelled)}
        if self.weight is not None:
            w = labelled.columns[WEIGHT]
            counts["weights"] = np.array([w.sum(), (w * w).sum()])
        if batch.noted:
            counts["noted"] = Counter(batch.noted)
        return counts

    def _weighted(self, batch: Predictions, column: str) -> Predictions:
        """The batch with the weights of its rows of known truth."""
        try:
            cells = column_of(batch, column)
            weights = weights_of(cells, batch.known_mask, column, self.decimal_comma)
        except InputError as error:
            raise error.at(file=batch.source, row_offset=batch.first_row) from None
        return replace(batch, columns={**batch.columns, WEIGHT: weights})

    def _slices(self, labelled: Predictions, by: str) -> State:
        """The state of the rows of each value of a column."""
        names, rows = rows_by_value(column_of(labelled, by))
        self.check_slices([("by", name) for name in names])
        return {
            ("by", name): {
                "read": len(index),
                "rows": len(index),
                **_states(self.sliced, labelled.take(index)),
            }
            for name, index in zip(names, rows, strict=True)
        }

    def _groups(self, labelled: Predictions, keys: Array) -> State:
        """The state of each cluster, or of each group of clusters where they are many."""
        groups, at = np.unique(keys, return_inverse=True)
        if len(groups) > _MOST_GROUPS:
            groups, at = np.unique(_coarse(keys), return_inverse=True)
        out: State = {}
        for i, group in enumerate(groups.tolist()):
            index = np.flatnonzero(at == i)
            states = _states(self.resampled, labelled.take(index))
            out["cluster", group] = {"rows": len(index), **states}
        return out

    def _kept_rows(self, batch: Predictions, labelled: Predictions, keys: Array | None) -> KeptRows:
        if not len(labelled):
            return KeptRows(len(batch), 0, ())
        values = None if self.order is None else self.order.ordering(labelled)[0]
        truth = named_classes(labelled, labelled.label)
        named = named_classes(labelled, labelled.predicted) if labelled.has_prediction else None
        positions = np.flatnonzero(batch.known_mask)
        cells = (
            values,
            labelled.verdicts,
            truth,
            positions,
            keys,
            named,
            labelled.group,
            labelled.score,
            labelled.columns.get(WEIGHT),
        )
        return KeptRows(len(batch), len(labelled), (cells,))

    @property
    def resampled(self) -> list[Metric[Any, Any]]:
        """The metrics whose spread over clusters is seen by leaving out groups of them."""
        return [
            m
            for m in self.metrics
            if m.gives == "number" and m.name not in _CALIBRATION and not m.clustered
        ]

    def merge(self, a: State, b: State) -> State:
        """Two states as one; clusters are put into fewer groups where they become too many."""
        keys = {key[1] for part in (a, b) for key in part if key[0] == "cluster"}
        if not len(keys) > _MOST_GROUPS and not any(key < _MOST_GROUPS for key in keys):
            return super().merge(a, b)
        grouped: list[State] = []
        for state in (a, b):
            out: State = {key: states for key, states in state.items() if key[0] != "cluster"}
            for key in sorted(state.keys() - out.keys()):
                group = (
                    key[1]
                    if key[1] < _MOST_GROUPS
                    else int(_coarse(np.array([key[1]], dtype=np.uint64))[0])
                )
                out = super().merge(out, {("cluster", group): state[key]})
            grouped.append(out)
        return super().merge(*grouped)


def named_classes(batch: Predictions, classes: Array | None) -> Array | None:
    """Classes by name, so that files which number theirs otherwise agree."""
    return classes if classes is None or batch.classes is None else np.array(batch.classes)[classes]


def _coarse(keys: Any) -> Any:
    """Groups of clusters, numbers below `_MOST_GROUPS`, that depend on the key alone."""
    return mix(keys) & np.uint64(_MOST_GROUPS - 1)


def _states(metrics: Sequence[Metric[Any, Any]], batch: Predictions) -> Json:
    makers = _makers(metrics)
    return {key: guarded(m.name, m, partial(m.summarize, batch)) for key, m in makers.items()}


def _makers(metrics: Sequence[Metric[Any, Any]]) -> dict[str, Metric[Any, Any]]:
    """Who makes the state of each kind: where metrics share one, never a plugin in the place of ours."""
    makers: dict[str, Metric[Any, Any]] = {}
    for metric in sorted(metrics, key=is_foreign):
        makers.setdefault(metric.state_key, metric)
    return makers


def _no_truth(source: Source) -> MissingColumnsError:
    """The error where no row can be judged: the truth is missing, or what the model gave."""
    if "label" in source.fields and not {"prediction", "probabilities"} & {*source.fields}:
        others = ", ".join(source.own_columns[:6]) or "no other column"
        return MissingColumnsError(
            "an answer of the model beside its label",
            got=f"none that is known ({others})",
            remedy="name the column of answers with --map COLUMN=prediction, that of a probability with "
            "--positive COLUMN=CLASS",
            file=source.name,
        )
    expected = "at least one row of known truth: `correct`, `label` with `prediction` or `probabilities`, or a `score`"
    others = ", ".join(source.own_columns[:6])
    naming = f"name it, --map COLUMN=label ({others})" if others else "add the column"
    return MissingColumnsError(
        expected,
        got="none",
        remedy=f"{naming}, or estimate without labels: `oodometer estimate`",
        file=source.name,
    )


@dataclass(frozen=True)
class NamedColumns:
    """Columns that an evaluation is asked to use: to slice by, of clusters, of sampling weights."""

    by: str | None = None
    cluster: str | None = None
    weight: str | None = None


def plan_evaluation(
    source: Source,
    chosen: Sequence[Metric[Any, Any]],
    columns: NamedColumns,
    *,
    asked: bool = False,
    scale: tuple[float, float] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[EvaluationPlan, list[Skipped]]:
    """What the source can feed of the metrics, and what not, with its reason; ``asked``: they were named one by one."""
    by, cluster, weight = columns.by, columns.cluster, columns.weight
    fields = _fields_read(chosen, (by, cluster, weight))
    first = next(iter(source.batches(fields=fields, rows=1024)), None)
    if first is None or not (first.can_be_judged or first.has("score")):
        raise _no_truth(source)
    metrics = chosen if scale is None else on_scale(chosen, scale, False)
    used, skipped = _applicable(metrics, first, cluster, asked)
    if weight is not None:
        used, unweighted = weighted(used, asked)
        skipped += unweighted
    sliced = [m for m in used if m.gives == "number" and (asked or m.name in _SLICED)]
    by_id = cluster is None and KEY in first.columns
    dependent = KEY if by_id else cluster
    for metric in used:
        if isinstance(metric, Confidences):
            metric.cluster = dependent
    plan = EvaluationPlan(
        metrics=tuple(used),
        sliced=tuple(sliced) if by else (),
        by=by,
        fields=fields,
        rows=batch_rows(first.num_classes),
        cluster=dependent,
        grouped=cluster is not None,
        by_id=by_id,
        level=level,
        seed=seed,
        scale=scale,
        asked=asked,
        weight=weight,
        decimal_comma=bool(getattr(source, "decimal_comma", False)),
    )
    return plan, skipped


def _applicable(
    metrics: Sequence[Metric[Any, Any]], first: Predictions, cluster: str | None, is_named: bool
) -> tuple[list[Metric[Any, Any]], list[Skipped]]:
    """The metrics that a source can feed that begins so, and why others cannot be, where that is worth a word."""
    used: list[Metric[Any, Any]] = []
    skipped: list[Skipped] = []
    for metric in metrics:
        reason = guarded(metric.name, metric, partial(_why_not, metric, first, cluster, is_named))
        why = reason.why if isinstance(reason, Failed) else reason
        if why is None:
            used.append(metric)
        elif is_named or (not metric.quiet and first.can_be_judged):
            # of scores alone nothing else is expected
            skipped.append(Skipped(metric.name, why))
    return used, skipped


def _fields_read(metrics: Sequence[Metric[Any, Any]], columns: Sequence[str | None]) -> Strings:
    """Names of the fields that a pass for these metrics reads."""
    read: set[str | None] = {"logits", "prediction", *columns}
    for needs in (Accuracy.needs, *(metric.needs for metric in metrics)):
        read.update(*needs)
    for metric in metrics:
        read.update(getattr(metric, "reads", ()))
        score = getattr(metric, "score", None)
        if score is not None:
            read |= {name for need in create("score", score).needs for name in need.split("|")}
    return tuple(name for name in FIELDS if name in read)


def _why_not(
    metric: Metric[Any, Any], first: Predictions, cluster: str | None, is_named: bool
) -> str | None:
    """Why a metric says nothing of a source that begins so; None where it does."""
    if metric.gives not in ("number", "curve", "table") or not isinstance(metric.state_key, str):
        raise TypeError(f"`gives` is {metric.gives!r}; expected number, curve or table")
    if isinstance(metric, Reliability) and cluster is not None:
        return "its questions are told by `id`; leave --cluster out"
    if metric.name == "macro_mean" and cluster == "group":
        return "the values of `group` are clusters, not tasks"
    why = metric.why_not(first)
    is_large = first.num_classes > _MOST_CLASSES
    if why is None and metric.name == "confusion" and is_large and not is_named:
        return f"{first.num_classes} classes make a large table; ask for it by name"
    return why


def read_evaluation(
    source: Source, plan: EvaluationPlan, execution: Execution
) -> tuple[EvaluationPlan, State]:
    """The state of all rows in one pass, or in two where ids repeat, with the plan of that pass."""
    parts = source.parts(each=execution.each)
    try:
        state = execution.fold(plan, parts, plan.merge)
    except InputError as error:  # a score outside of its scale, in a column of another name
        placed = getattr(getattr(source, "layout", None), "placed", None)
        raise placed(error) if placed and error.column == "score" else error from None
    seen = state.get(WHOLE, {}).get("clusters")
    if not plan.grouped and seen is not None and 1 < seen.count < seen.rows:
        plan = replace(plan, grouped=True)
        state = execution.fold(plan, parts, plan.merge)
    return plan, state


def finish_evaluation(
    source: Source, plan: EvaluationPlan, state: State, skipped: Sequence[Skipped]
) -> Evaluation:
    """The result from the state of all rows; `InputError` where no row is labelled or no metric can answer."""
    totals = state.get(WHOLE, {"read": 0, "rows": 0})
    if not totals["rows"]:
        raise _no_truth(source)
    clusters = _clusters_of(source, plan, totals)
    weights = _weights_of(source, plan, totals)
    _check_labels_are_classes(source, totals)
    plan, notes = _on_seen_scale(source, plan, totals)
    of_clusters = of_slice = None
    if clusters is not None:
        groups = [state[key] for key in sorted(key for key in state if key[0] == "cluster")]
        spread = GroupedClusters(clusters, groups, plan, totals["rows"])
        of_clusters, of_slice = spread.of_clusters, spread.of_slice
    results, unable = _finished(plan, plan.metrics, totals, of_clusters)
    skipped = [*skipped, *unable]
    if not results:
        reasons = "; ".join(f"{s.method}: {s.why}" for s in skipped)
        raise InputError(
            "data that at least one metric can use",
            got=f"none applies ({reasons})",
            file=source.name,
            remedy="ask for other metrics",
        )
    numbers, curves, tables = (
        {m.name: results[m.name] for m in plan.metrics if m.gives == gives and m.name in results}
        for gives in ("number", "curve", "table")
    )
    truth = "score" if "accuracy" not in results and "mean_score" in results else "truth"
    warnings = [
        *notes,
        *_warnings(totals, numbers, truth),
        *said_of_classes(totals.get("noted", {}), source.name),
    ]
    if clusters is not None:
        warnings.insert(0, clusters_said(clusters, str(plan.cluster), not plan.by_id))
    pairs = totals.get("confusion")
    if isinstance(pairs, Confusion):
        warnings += renaming_warnings("these predictions", pairs)
    elif "accuracy" in numbers:
        accuracy, batches = numbers["accuracy"].value, source.batches(fields=FIELDS_NEEDED)
        warnings += label_warnings("these predictions", batches, accuracy, READ_AGAIN_BELOW)
    slices = _finished_slices(plan, state, of_slice)
    return Evaluation(
        name=source.name,
        rows=totals["rows"],
        level=plan.level,
        seed=plan.seed,
        metrics=numbers,
        curves=curves,
        tables=tables,
        slices=slices,
        slice_difference=_slice_difference(slices, plan.level),
        unlabelled=totals["read"] - totals["rows"],
        skipped=tuple(skipped),
        warnings=tuple(warnings),
        weights=weights,
    )


def _weights_of(source: Source, plan: EvaluationPlan, totals: Plain) -> Weights | None:
    """What the weights are worth; `InputError` where all are 0."""
    if plan.weight is None:
        return None
    worth = kish(*totals["weights"].tolist())
    if not worth:
        raise InputError(
            "a weight above 0 in at least one row of known truth",
            got="0 in all",
            file=source.name,
            column=plan.weight,
            remedy="leave --weight out, or name another column",
        )
    return Weights(plan.weight, worth, totals["rows"] / worth)


def _slice_difference(slices: Sequence[Slice], level: float) -> SliceDifference | None:
    """The difference of two slices, the second minus the first; None where there are not two with a main metric."""
    if len(slices) != 2:
        return None
    first, second = slices
    shared = [m for m in ("accuracy", "mean_score") if m in first.metrics and m in second.metrics]
    if not shared:
        return None
    a, b = (part.metrics[shared[0]] for part in (second, first))
    ends = difference_ends((a.value, a.lower, a.upper), (b.value, b.lower, b.upper))
    return SliceDifference(
        by=first.by,
        value=second.value,
        other=first.value,
        metric=shared[0],
        difference=Interval(*ends, level, "asymptotic"),
    )


def _clusters_of(source: Source, plan: EvaluationPlan, totals: Plain) -> Clusters | None:
    """The clusters of a plan that groups rows by them; `UsageError` for a named column with one value."""
    clusters: Clusters | None = totals.get("clusters") if plan.grouped else None
    if clusters is not None and clusters.count == 1 and not plan.by_id:
        remedy = "give --cluster a column that tells several groups of dependent rows apart, or leave it out"
        raise UsageError(
            f"{source.name}: column {plan.cluster} holds one value in all rows; {remedy}"
        )
    return clusters


def _check_labels_are_classes(source: Source, totals: Plain) -> None:
    """`check_numbers` of the confusion where there are no probabilities, which only classes have."""
    pairs = totals.get("confusion")
    if isinstance(pairs, Confusion) and not {"probabilities", "logits"} & set(source.fields):
        check_numbers(pairs.classes, pairs.truth, pairs.guess, pairs.counts, source.name)


def _on_seen_scale(
    source: Source, plan: EvaluationPlan, totals: Plain
) -> tuple[EvaluationPlan, list[str]]:
    """The plan on the scale on which scores were seen, where none was given, and what is to be said of it."""
    graded: Any = totals.get("mean_score", totals.get("macro_mean"))
    if plan.scale is not None or "score" not in source.fields or not hasattr(graded, "seen"):
        return plan, []
    low, high = scale_seen(graded.seen)
    guessed = (low, high) != (0, 1)
    plan = replace(
        plan,
        metrics=on_scale(plan.metrics, (low, high), guessed),
        sliced=on_scale(plan.sliced, (low, high), guessed),
    )
    if not guessed or low >= high:
        return plan, []
    note = f"no scale is given: scores are taken to lie between {low:g} and {high:g}, the lowest and the highest "
    failed = failed_grades(low, high)
    return plan, [failed or f"{note}here; name theirs with --scale LOW,HIGH"]


def _finished_slices(plan: EvaluationPlan, state: State, change: Any) -> tuple[Slice, ...]:
    """The metrics of each slice; why one says nothing stands where the whole is skipped, or is this slice's alone."""
    return tuple(
        Slice(
            str(plan.by),
            key[1],
            state[key]["rows"],
            _finished(plan, plan.sliced, state[key], change)[0],
        )
        for key in in_natural_order([key for key in state if key[0] == "by"])
    )


def _finished(
    plan: EvaluationPlan,
    metrics: Sequence[Metric[Any, Any]],
    states: Plain,
    change: Any,
) -> tuple[Json, list[Skipped]]:
    """What each metric says of these states, after the ``change`` that clusters make of it; and why others do not."""
    out, skipped = {}, []
    for metric in metrics:
        try:
            result = metric.finish(unless_failed(states[metric.state_key]), plan.level, plan.seed)
            out[metric.name] = checked_metric(
                metric, result if change is None else change(metric, result)
            )
        except FAILURES as error:
            seldom = (Abstention, Confidences, Reliability)
            silent = isinstance(metric, seldom) or metric.name == "macro_mean"
            # several confidences, tasks or answers to a question are seldom there
            if plan.asked or not silent:
                skipped.append(Skipped(metric.name, why_failed(metric.name, metric, error)))
    return out, skipped


def _warnings(totals: Plain, numbers: Mapping[str, Interval], truth: str) -> list[str]:
    warnings = []
    rows, unlabelled = totals["rows"], totals["read"] - totals["rows"]
    if unlabelled:
        warnings.append(
            f"{unlabelled} of {totals['read']} rows have no known {truth} and were left out"
        )
    if rows < _FEW_ROWS:
        warnings.append(f"only {rows} labelled rows; intervals are wide")
    if totals.get("decided"):
        warnings.append(decided_warning(totals["decided"] / rows, "the"))
    warnings += [
        rounding(int(key.split()[-1]), "the")
        for key in sorted(totals)
        if key.startswith("rounded to ")
    ]
    accuracy = numbers.get("accuracy")
    if accuracy is not None and accuracy.value in (0, 1):
        kind = "correct" if accuracy.value else "wrong"
        warnings.append(
            f"every row is {kind}: how well confidence tells right from wrong cannot be seen"
        )
    if any("rounding" in getattr(number, "extras", {}) for number in numbers.values()):
        rounded = "`rounding` bounds what that may have cost"
        warnings.append(f"so many rows that ranks were read from a fine histogram; {rounded}")
    return warnings

"""Confidences: which of all that say how sure the model was puts right answers before wrong ones best."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..inference.clusters import cluster_keys, student_quantile
from ..inference.row_sample import Draw, RowSample, scramble
from ..intervals import normal_quantile
from ..plain import Json, Strings
from ..predictions import Predictions
from ..registry import FAILURES, classes_of, register
from ..results import Interval
from ..scores import natural_confidence
from .base import VERDICT, Metric
from .one_vs_rest import ScoreCounts, auc_of
from .ranks import Groups
from .resampling import from_effective_rows, from_influence
from .risk_coverage import auc_of as area_of
from .risk_coverage import influence

_MOST_ROWS = 1 << 17  # that are compared; of more, a seeded sample
_DRAWS = 2_000


def compared_confidences(
    values: Mapping[str, Array],
    correct: Any,
    clusters: Any = None,
    level: float = 0.95,
    seed: int = 0,
) -> Json:
    """Confidences by how well they order answers, the best first: AUROC = P(right above wrong) + P(tied) / 2 and the
    area under the accuracy-coverage curve, with intervals, and each AUROC minus the best one's.

    values : name -> confidence of each answer, larger = more likely right, of any size, NaN where unknown, shape
        (sample,).
    correct : verdicts, shape (sample,).
    clusters : of answers that depend on each other, shape (sample,); None takes all as independent.
    level : nominal coverage of the intervals.
    seed : of the draws that make the differences simultaneous.

    Rows where one confidence is unknown are left out of all. Variances and covariances are those of placements (DeLong
    et al. 1988) and of the area's influences, summed by cluster (Obuchowski 1997); differences are simultaneous over
    all pairs (the largest of their |t|, so that to have picked the best is paid for) and have Student's degrees of
    freedom of the fewer clusters, with right or with wrong answers. ``tied``: the difference may be 0. Raises
    `NotApplicable` where all answers are right or all are wrong, and where no confidence differs between rows.

    >>> a, b = [0.9, 0.8, 0.4, 0.3], [0.2, 0.9, 0.8, 0.1]
    >>> out = compared_confidences({"a": np.array(a), "b": np.array(b)}, [1, 1, 0, 0])
    >>> out["best"], [(row["name"], row["auroc"].value, row["tied"]) for row in out["ranking"]]
    ('a', [('a', 1.0, True), ('b', 0.75, True)])
    """
    names, verdict = list(values), np.asarray(correct).astype(np.int8)
    table = np.array([values[name] for name in names], dtype=np.float64)
    is_known = ~np.isnan(table).any(axis=0)
    table, verdict = table[:, is_known], verdict[is_known]
    group = np.arange(is_known.size) if clusters is None else np.asarray(clusters)
    keys = np.unique(group[is_known], return_inverse=True)[1]
    few = min(len(np.unique(keys[verdict == side])) for side in (0, 1))
    if not few:
        raise NotApplicable(
            "every answer is right, or every one is wrong: nothing is to be ordered"
        )
    n = len(verdict)
    student = student_quantile(level, few - 1) / normal_quantile(level)
    # of few clusters, whose sums alone are independent
    widened = student**2 if keys.max() + 1 < n else 1.0
    orders: dict[bytes, str] = {}
    alike: dict[str, list[str]] = {}
    rows: list[Json] = []
    moves: list[Array] = []
    for name, scores in zip(names, table, strict=True):
        levels, at = np.unique(scores, return_inverse=True)
        first = orders.setdefault(at.tobytes(), name)
        if first != name or len(levels) < 2:
            alike.setdefault(first if first != name else "", []).append(name)
            continue
        areas = _areas(levels, at, verdict)
        moves.append(np.bincount(keys, areas.of_auroc))
        spread_of_auroc = widened * float(np.square(moves[-1]).sum())
        spread = widened * float(np.square(np.bincount(keys, areas.of_coverage)).sum())
        auroc = from_effective_rows(areas.auroc, spread_of_auroc, few, level)
        coverage = from_influence(areas.coverage, spread, n, few, level)
        rows.append(
            {
                "name": name,
                "auroc": _interval(areas.auroc, auroc, level),
                "auc_coverage": _interval(areas.coverage, coverage, level),
            }
        )
    if not rows:
        raise NotApplicable("every confidence is the same in all rows")
    covariance = np.array(moves) @ np.array(moves).T
    variance = np.diag(covariance)
    deviation = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0))
    quantile = student * _simultaneous(covariance, deviation, level, seed)
    best = max(range(len(rows)), key=lambda i: rows[i]["auroc"].value)
    for i, row in enumerate(rows):
        value = row["auroc"].value - rows[best]["auroc"].value
        half = quantile * float(deviation[i, best])
        ends = max(value - half, -1.0), min(value + half, 1.0)
        row["difference"] = None if i == best else Interval(value, *ends, level, "asymptotic")
        row["tied"] = i == best or ends[1] >= 0
        row["alike"] = alike.get(row["name"], [])
    ranking = sorted(rows, key=lambda row: -row["auroc"].value)
    tied = [row["name"] for row in ranking if row["tied"]]
    out = {
        "rows": n,
        "clusters": int(keys.max()) + 1,
        "best": tied[0],
        "tied": tied,
        "ranking": ranking,
    }
    return out | {"same": alike.get("", [])}


class _Areas(NamedTuple):
    """Two areas that say how well a confidence orders answers, and what each answer adds to them, (sample,)."""

    auroc: float
    of_auroc: Array
    coverage: float
    of_coverage: Array


def _areas(levels: Array, at: Array, verdict: Array) -> _Areas:
    """The areas of a confidence with these levels, ascending; ``at``: the level of each answer."""
    positives, negatives = (
        np.bincount(at[verdict == side], minlength=len(levels)) for side in (1, 0)
    )
    auroc = auc_of(ScoreCounts(positives.astype(np.float64), negatives.astype(np.float64)))
    assert auroc is not None  # some answers are right, and some wrong
    sizes, hits = (positives + negatives)[::-1], positives[::-1]
    groups = Groups(
        levels[::-1], np.cumsum(sizes).astype(np.float64), np.cumsum(hits).astype(np.float64)
    )
    coverage = area_of(groups)
    of_coverage = influence(groups, coverage)[:, ::-1][verdict, at] / len(verdict)
    of_auroc = np.where(verdict == 1, auroc[1][at], auroc[2][at])
    return _Areas(auroc[0], of_auroc, coverage, of_coverage)


def _interval(value: float, ends: tuple[float, float], level: float) -> Interval:
    """The interval of an area, which holds its value."""
    return Interval(value, min(ends[0], value), max(ends[1], value), level, "asymptotic")


def _simultaneous(covariance: Array, deviation: Array, level: float, seed: int) -> float:
    """The quantile of the largest |t| of all differences, (confidence, confidence), by normal draws."""
    many = len(covariance)
    scale = np.where(deviation > 0, deviation, np.inf)
    lengths, axes = np.linalg.eigh(covariance)
    normal = np.random.default_rng([seed, many]).standard_normal((_DRAWS, many))
    normal = normal * np.sqrt(np.maximum(lengths, 0)) @ axes.T
    largest = (np.abs(normal[:, :, None] - normal[:, None]) / scale).max(axis=(1, 2))
    return max(float(np.quantile(largest, level)), normal_quantile(level))


@register("metric")
class Confidences(Metric[RowSample, dict[str, Any]]):
    """Which confidence orders errors best: all scores that the record feeds, and ``columns`` that hold further ones;
    ``cluster`` names the column of rows that depend on each other. `NotApplicable` unless two tell rows apart.

    Of more than 131,072 rows a sample is compared; formulas: `compared_confidences`. Source: DeLong et al. (1988).

    >>> record = Predictions.from_arrays(token_logprobs=[[-0.1], [-0.5, -0.5], [-0.6, 0.0]], correct=[1, 0, 1])
    >>> [(row["name"], row["auroc"].value) for row in Confidences().compute(record)["ranking"]]
    [('sequence_probability', 1.0), ('sequence_min_probability', 0.5)]
    """

    name = "confidences"
    gives = "table"
    needs = VERDICT
    quiet = True
    citation = "delong1988"

    def __init__(self) -> None:
        self.columns: Strings = ()
        self.cluster: str | None = None
        self.confidence = "confidence"  # the column that this field is read from

    @property
    def reads(self) -> set[str]:
        """Fields that some score is made of."""
        return {
            name for cls in classes_of("score") for need in cls.needs for name in need.split("|")
        } - {"features"}

    def _values(self, record: Predictions) -> dict[str, Array]:
        """Every confidence of a record, that of other metrics first; NaN where a score fails."""
        used = ""
        with suppress(NotApplicable):
            used = natural_confidence(record).name
        scores = sorted(classes_of("score"), key=lambda cls: cls.name != used)
        out: dict[str, Array] = {}
        for score in (cls() for cls in scores if "features" not in cls.needs):
            if score.why_not(record) is None:
                try:
                    confidences = np.asarray(score(record), dtype=np.float64)
                except FAILURES:
                    confidences = np.full(len(record), np.nan)
                out[self.confidence if score.name == "confidence" else score.name] = np.where(
                    np.isfinite(confidences), confidences, np.nan
                )
        return out | {name: record.columns[name] for name in self.columns if name in record.columns}

    def why_not(self, record: Predictions) -> str | None:
        """Why the record says in one way alone, or in none, how sure the model was."""
        why = self.missing(record)
        return why or (None if len(self._values(record)) > 1 else "needs two confidences")

    def summarize(self, batch: Predictions) -> RowSample:
        """What is compared of one batch."""
        labelled = batch.known()
        keys = scramble(labelled.first_row + np.arange(len(labelled)))
        order = np.argsort(keys)[:_MOST_ROWS]
        clusters = (
            None
            if self.cluster is None
            else labelled.columns.get(self.cluster, getattr(labelled, self.cluster, None))
        )
        arrays = {
            "verdicts": labelled.verdicts,
            "clusters": keys if clusters is None else cluster_keys(clusters, labelled.first_row),
        }
        arrays = {name: values[order] for name, values in (arrays | self._values(labelled)).items()}
        keys = keys[order]  # of places: every row is another content
        draw = Draw(keys, keys, np.ones(len(keys), dtype=np.int64), _MOST_ROWS, len(labelled))
        return RowSample(draw, arrays)

    def _finish(self, state: RowSample, level: float, seed: int) -> Json:
        values = dict(state.arrays)
        verdicts, clusters = values.pop("verdicts"), values.pop("clusters")
        unknown = {name: int(np.isnan(scores).sum()) for name, scores in values.items()}
        comparable = {
            name: scores for name, scores in values.items() if unknown[name] < len(verdicts) / 2
        }
        out = compared_confidences(comparable, verdicts, clusters, level, seed)
        if len(out["ranking"]) < 2:
            raise NotApplicable("one confidence alone tells rows apart")
        used = next(iter(values))
        out["used"] = (
            used if used in ("max_probability", self.confidence, "sequence_probability") else None
        )
        for row in out["ranking"]:  # how another command takes it
            row["take"] = (
                f"--map {row['name']}=confidence"
                if row["name"] in self.columns
                else f"--score {row['name']}"
            )
        return out | {
            "of_rows": state.draw.seen,
            "unknown": {name: count for name, count in unknown.items() if count},
        }

"""Differences of models on the rows that they share: pairs, tasks, the best, ranks, and the gate of a drop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..inference.gate import anytime_difference, gate_of
from ..inference.paired import holm, runs_together
from ..metrics.resampling import interval_of
from ..metrics.risk_coverage import REPLICATED
from ..plain import Json, Plain
from ..results import Interval
from ..results.gate import Gate
from .compare_job import CompareJob
from .compare_rows import Domain

SURE = 0.9  # share of replicates from which on the order of two models counts as more than chance

# those without replicates have no share beside their rank
RANKED = (
    "mean_score",
    *REPLICATED,
    "brier",
    "ece",
)
# Metrics whose rankings are held against each other; aurc is auc_coverage upside down.
_HELD = (
    "accuracy",
    "auc_coverage",
    "e_aurc",
    "augrc",
    "disca",
    "coverage_at_risk",
    "risk_at_coverage",
)


def ranked(
    models: Sequence[str],
    intervals: Sequence[Any],
    sign: int = 1,
    best: Array | None = None,
    same: Array | None = None,
) -> list[Json]:
    """Rows of a ranking, best first; models of equal value share a rank."""
    ranks = _ranks(sign * np.array([[interval.value for interval in intervals]]))[0]
    out: list[Json] = []
    for i in np.argsort(ranks, kind="stable"):
        number = {
            name: getattr(intervals[i], name)
            for name in ("value", "lower", "upper", "level", "kind")
        }
        p_best, stable = (None if share is None else float(share[i]) for share in (best, same))
        out.append(
            {
                "model": models[i],
                "rank": int(ranks[i]),
                **number,
                "p_best": p_best,
                "stable": stable,
            }
        )
    return out


def rankings_of(domain: Domain) -> dict[str, list[Json]]:
    """Rows of each ranking, with the shares of replicates in which a model is best, and has the same rank."""
    out = {}
    for name in filter(domain.has, dict.fromkeys((*RANKED, domain.subject))):
        sign, draws = domain.better(name), domain.draws.get(name)
        best = same = None
        if draws is not None:
            again = _ranks(np.where(np.isnan(draws), -np.inf, sign * draws))
            first = again == again.min(axis=1, keepdims=True)
            best = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
            same = (again == _ranks(sign * domain.values(name)[None])[0]).mean(axis=0)
        metrics = [evaluation.metrics[name] for evaluation in domain.evaluations]
        out[name] = ranked(domain.models, metrics, sign, best, same)
    return out


def _ranks(values: Array) -> Array:
    out: Array = (values[:, None, :] > values[:, :, None]).sum(axis=2) + 1
    return out


def pairs_of(domain: Domain, level: float) -> list[Json]:
    """Each two models and metric: difference a - b with its interval, and the share of replicates with a better."""
    out = []
    names = dict.fromkeys((domain.subject, *domain.draws))
    for (i, j), name in product(combinations(range(len(domain.models)), 2), names):
        values = domain.values(name)
        difference = float(values[i] - values[j])
        if name == domain.subject:
            exact = domain.difference(i, j, level)
            lower, upper, share = exact["lower"], exact["upper"], exact["p_b_better"]
        else:
            draws = domain.draws[name]
            lower, upper = interval_of(difference, draws[:, i] - draws[:, j], level)
            gaps = domain.better(name) * (draws[:, i] - draws[:, j])
            share = float(((gaps > 0) + 0.5 * (gaps == 0)).mean())
        kind = "empirical" if name in ("disca", "coverage_at_risk") else "asymptotic"
        about = {
            "domain": domain.name,
            "metric": name,
            "a": domain.models[i],
            "b": domain.models[j],
        }
        apart_by = {
            "value": difference,
            "lower": lower,
            "upper": upper,
            "level": level,
            "kind": kind,
        }
        out.append(
            {
                **about,
                "difference": apart_by,
                "p_a_better": share,
                "undecided": max(share, 1 - share) < SURE,
            }
        )
    return out


def difference_of(domain: Domain, level: float) -> Json:
    """The difference that comes first: of the best model and the next, whose interval holds together with those of all
    pairs; of two, the second and the first. ``macro``: its mean over tasks, where there are some.
    """
    order, rows = np.argsort(-domain.values(domain.subject), kind="stable").tolist(), domain.rows
    b, a = (1, 0) if len(order) == 2 else order[:2]
    quantile = None if rows is None else rows.simultaneous(level)
    out = domain.difference(b, a, level, quantile)
    about = {
        "a": domain.models[a],
        "b": domain.models[b],
        "metric": domain.subject,
        "paired": domain.paired,
    }
    if rows is not None and quantile is not None:
        out["bootstrap"] = dict(zip(("lower", "upper"), rows.bootstrap(b, a, level), strict=True))
        out |= {"p_adjusted": rows.adjusted(b, a)} if len(order) > 2 else {}
        if domain.tasks is not None:
            out["macro"] = Interval(
                *rows.macro(b, a, domain.tasks[1], quantile), level, "asymptotic"
            ).to_dict()
    return {**about, "level": level, **out}


def gate_of_drop(domain: Domain, gap: Plain, options: CompareJob) -> Gate | None:
    """Whether the second of two models fell by more than the drop that must not happen; None where none is named."""
    drop, models = options.fail_drop, domain.models
    if drop is None:
        return None
    span = 1.0 if domain.rows is None else domain.rows.span
    if drop >= span:
        unit = "0.02 for 2 points" if span == 1 else f"less than the scale's width {span:g}"
        raise UsageError(f"expected --fail-drop as a fraction, {unit}, got {drop:g}")
    if not options.anytime:
        rows = gap["clusters"] or gap["rows"]
        return gate_of(
            Interval(gap["value"], gap["lower"], gap["upper"], options.level, "asymptotic"),
            drop,
            (models[0], models[1]),
            rows,
            strict=options.strict,
            unit="clusters" if gap["clusters"] else "rows",
        )
    if domain.rows is None:
        raise UsageError(
            f"--anytime needs the same rows in both files: {domain.why}; give both a column id, or leave it out"
        )
    if options.scale is None and not domain.rows.binary and domain.subject == "mean_score":
        raise UsageError(
            "--anytime needs the scale of the scores, which later rows may widen; name it: --scale LOW,HIGH"
        )
    scores = domain.rows.scores
    difference, rows = anytime_difference(
        scores[1] - scores[0], domain.rows.clusters, span, options.level
    )
    return gate_of(
        difference,
        drop,
        (models[0], models[1]),
        rows,
        method="anytime",
        strict=options.strict,
        unit="rows" if domain.rows.clusters is None else "clusters",
    )


def tasks_of(domain: Domain, gap: Plain, level: float) -> list[Json]:
    """The difference that comes first by task, with p-values that hold together (Holm 1979)."""
    if domain.rows is None or domain.tasks is None:
        return []
    i, j = (domain.models.index(gap[name]) for name in "ba")
    out = []
    for code, task in enumerate(domain.tasks[0]):
        part = domain.rows.take(np.flatnonzero(domain.tasks[1] == code))
        comparison = part.difference(i, j, level)
        ends = Interval(
            comparison.value, comparison.lower, comparison.upper, level, "asymptotic"
        ).to_dict()
        values = dict(zip(domain.models, part.means.tolist(), strict=True))
        out.append(
            {
                "task": task,
                "rows": part.rows,
                "values": values,
                "difference": ends,
                "p_value": comparison.p_value,
            }
        )
    for row, p_value in zip(out, holm([row["p_value"] for row in out]), strict=True):
        row["p_holm"] = p_value
    return out


def to_best(domain: Domain, level: float) -> tuple[list[Json], list[list[str]], list[Json]]:
    """Of three models or more on the same rows: each one's difference to the best, groups that cannot be told apart,
    the best first, and the difference of every two. Intervals and p-values hold together for all pairs of models: they
    are those of the largest |t| over the pairs (`Paired.simultaneous`).
    """
    if domain.rows is None or len(domain.models) < 3:
        return [], [], []
    values = domain.values(domain.subject)
    order, quantile = np.argsort(-values, kind="stable").tolist(), domain.rows.simultaneous(level)
    gaps = {pair: domain.rows.difference(*pair, level, quantile) for pair in combinations(order, 2)}
    out = []
    for j in order[1:]:
        gap = gaps[order[0], j]
        ends = Interval(-gap.value, -gap.upper, -gap.lower, level, "asymptotic").to_dict()
        behind = [domain.models[i] for i in order[: order.index(j)] if gaps[i, j].lower > 0]
        out.append(
            {
                "model": domain.models[j],
                "best": domain.models[order[0]],
                "difference": ends,
                "p_adjusted": domain.rows.adjusted(order[0], j),
                "behind": behind,
            }
        )
    told = {pair for pair, gap in gaps.items() if gap.lower > 0}
    groups = [[domain.models[i] for i in run] for run in runs_together(order, told)]
    every: list[Json] = [
        {
            "a": domain.models[j],
            "b": domain.models[i],
            "difference": Interval(gap.value, gap.lower, gap.upper, level, "asymptotic").to_dict(),
            "p_value": gap.p_value,
            "p_adjusted": domain.rows.adjusted(i, j),
        }
        for (i, j), gap in gaps.items()
    ]
    return out, groups, every


def disagreements(domain: Domain) -> list[Json]:
    """Each two metrics whose rankings part: Kendall's tau-b, the pairs, and the share of replicates."""
    out = []
    names = [name for name in _HELD if name in domain.draws]
    for metric, other in combinations(names, 2):
        first = domain.better(metric) * domain.values(metric)
        second = domain.better(other) * domain.values(other)
        parted = []
        for i, j in combinations(range(len(domain.models)), 2):
            if (first[i] - first[j]) * (second[i] - second[j]) >= 0:
                continue
            a, b = (i, j) if first[i] > first[j] else (j, i)
            share = parting(domain, metric, other, a, b)
            preferred = {metric: domain.models[a], other: domain.models[b]}
            parted.append({"preferred": preferred, "share": share, "undecided": share < SURE})
        if not parted:
            continue
        signs = [np.sign(values[:, None] - values) for values in (first, second)]
        scale = math.sqrt(np.prod([np.square(sign).sum() for sign in signs]))
        tau = float((signs[0] * signs[1]).sum() / scale) if scale else None
        out.append({"domain": domain.name, "metrics": [metric, other], "tau": tau, "pairs": parted})
    return out


def parting(domain: Domain, metric: str, other: str, a: int, b: int) -> float:
    """The share of replicates in which the first metric prefers a and the second b."""
    first, second = domain.draws[metric], domain.draws[other]
    prefers_a = domain.better(metric) * (first[:, a] - first[:, b]) > 0
    prefers_b = domain.better(other) * (second[:, b] - second[:, a]) > 0
    return float((prefers_a & prefers_b).mean())

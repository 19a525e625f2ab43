"""Model comparison: models evaluated on one domain, ranked by each metric, and how firm each order is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np

from ...arrays import Array
from ...inference.clusters import Clusters, student_quantile
from ...intervals import clopper_pearson, normal_quantile
from ...kernels.incomplete_beta import beta_cdf
from ...metrics.replicated import REPLICATED, jointly_resampled, replicated
from ...metrics.resampling import RankBins, interval_of, resampled
from ...metrics.votes import paired_gap
from ...registry import find
from ...results.evaluation import Evaluation
from .rows import Rows

SURE = 0.9  # share of replicates from which on the order of two models counts as more than chance

RANKED = (*REPLICATED, "brier", "ece")  # those without replicates have no share beside their rank
# Metrics whose rankings are held against each other; aurc is auc_coverage upside down.
_HELD = ("accuracy", "auc_coverage", "e_aurc", "augrc", "disca", "coverage_at_risk", "risk_at_coverage")


@dataclass(frozen=True)
class Domain:
    """The models on one domain: names, evaluations, and bootstrap replicates of their curves."""

    name: str
    models: tuple[str, ...]
    evaluations: tuple[Evaluation, ...]
    curves: tuple[RankBins, ...]
    paired: bool
    why: str
    options: Mapping[str, Any]
    verdicts: tuple[Array, ...] = ()
    clusters: Array | None = None

    @cached_property
    def draws(self) -> dict[str, Array]:
        """Each metric that every model has, of each replicate: (replicate, model)."""
        return {
            name: np.stack([replicated(curves, name, **self.options) for curves in self.curves], axis=1)
            for name in REPLICATED
            if self.has(name)
        }

    def difference(self, i: int, j: int, level: float) -> dict[str, Any]:
        """Accuracy of model i minus that of j, with its interval and the probability that i is better.

        On the same rows d = right_i - right_j, -1, 0 or 1: the interval is mean d +- z sd(d) / sqrt(rows), joined with
        McNemar's exact one, (2 q - 1) (rows on which they differ) / rows for the ends of Clopper and Pearson's interval
        of q, the share of those rows on which i alone is right. In clusters it is mean d +- t se, se by the jackknife
        over clusters, t Student's quantile with (Kish's number of clusters) - 1 degrees of freedom. On different rows
        the arms of the two accuracies add as squares (Newcombe 1998).
        """
        one, other = (self.evaluations[k].metrics["accuracy"] for k in (i, j))
        out: dict[str, Any] = {"rows": self.evaluations[i].rows, "clusters": None, "p_value": None}
        z = normal_quantile(level)
        if not self.paired:
            value = one.value - other.value
            low = value - math.hypot(one.value - one.lower, other.upper - other.value)
            high = value + math.hypot(one.upper - one.value, other.value - other.lower)
            out |= {"value": value, "lower": max(low, -1.0), "upper": min(high, 1.0)}
            return {**out, "share": NormalDist().cdf(2 * z * value / max(high - low, 1e-12))}
        d = self.verdicts[i].astype(np.float64) - self.verdicts[j]
        alone, theirs = int((d > 0).sum()), int((d < 0).sum())
        gap = paired_gap(d.sum(), alone + theirs, len(d), level)
        low, high = gap.lower, gap.upper
        spread = (high - low) / 2 / z
        out |= {"i_alone": alone, "j_alone": theirs, "value": gap.value}
        if self.clusters is not None:
            found = Clusters.of(self.clusters, (d + 1) / 2)
            spread = 2 * math.sqrt(found.variance) if found.variance else spread * math.sqrt(found.rows / found.worth)
            half = student_quantile(level, found.worth - 1) * spread
            low, high = max(gap.value - half, -1.0), min(gap.value + half, 1.0)
            out["clusters"] = found.count
        else:
            differ, exact = alone + theirs, clopper_pearson(alone, alone + theirs, level)
            low = min(low, (2 * exact[0] - 1) * differ / len(d))
            high = max(high, (2 * exact[1] - 1) * differ / len(d))
            tail = 1.0 if alone == theirs else 2 * beta_cdf(max(alone, theirs), min(alone, theirs) + 1, 0.5)
            out["p_value"] = min(tail, 1.0)
        return {**out, "lower": low, "upper": high, "share": NormalDist().cdf(gap.value / spread)}

    def has(self, name: str) -> bool:
        """Whether every model has the metric."""
        return all(name in one.metrics for one in self.evaluations)

    def values(self, name: str) -> Array:
        """The metric of each model, (model,)."""
        return np.array([one.metrics[name].value for one in self.evaluations])

    def better(self, name: str) -> int:
        """1 where more is better, -1 where less is."""
        return 1 if find("metric", name).bigger_is_better else -1


def domain_of(
    name: str,
    models: Sequence[str],
    evaluations: Sequence[Evaluation],
    rows: Sequence[Rows],
    seed: int,
    options: Mapping[str, Any],
) -> Domain:
    """A domain with its replicates: the same rows drawn for all models where they were judged on the same rows."""
    paired, why = _same_rows(rows)
    curves: list[RankBins]
    if paired:
        kept = [(one.values, one.verdicts) for one in rows]
        clusters = rows[0].clusters if all(one.clusters is not None for one in rows) else None
        curves = jointly_resampled(
            [one.ranks.groups for one in rows],
            [v for v, _ in kept if v is not None],
            [v for _, v in kept if v is not None],
            seed,
            clusters,
        )
        verdicts = tuple(v for _, v in kept if v is not None)
        return Domain(name, tuple(models), tuple(evaluations), tuple(curves), paired, why, options, verdicts, clusters)
    curves = [resampled(one.ranks.groups, seed + 1 + i) for i, one in enumerate(rows)]
    return Domain(name, tuple(models), tuple(evaluations), tuple(curves), paired, why, options)


def _same_rows(rows: Sequence[Rows]) -> tuple[bool, str]:
    sizes = {one.ranks.rows for one in rows}
    if len(sizes) > 1:
        return False, "the files have different numbers of labelled rows"
    if any(one.values is None for one in rows):
        return False, "there are too many rows to keep them in order"
    ids = rows[0].ids
    if ids is not None and all(one.ids is not None and np.array_equal(ids, one.ids) for one in rows[1:]):
        return _same_truth(rows)
    first = rows[0].truth
    if first is None or any(one.truth is None for one in rows):
        return False, "without a label column it cannot be seen that the rows are the same"
    if any(not np.array_equal(first, one.truth) for one in rows[1:]):  # type: ignore[arg-type]
        return False, "the labels differ, so the rows are not the same or not in the same order"
    return True, "the labels are the same, in the same order"


def _same_truth(rows: Sequence[Rows]) -> tuple[bool, str]:
    """Whether files with the same ids agree on the truth of each row."""
    first = rows[0].truth
    for one in rows[1:]:
        if first is not None and one.truth is not None and not np.array_equal(first, one.truth):
            at = int(np.argmax(first != one.truth))
            return False, f"the labels of the row {one.ids[at]!r} differ"  # type: ignore[index]
    return True, "the ids are the same"


def rankings_of(domain: Domain) -> dict[str, list[dict[str, Any]]]:
    """Rows of each ranking, best first; ``p_best`` is the share of replicates in which the model is the best.

    Models of equal value share a rank. ``stable`` is the share of replicates in which the model has the same rank.
    """
    out = {}
    for name in RANKED:
        if not domain.has(name):
            continue
        sign = domain.better(name)
        values = domain.values(name)
        ranks = _ranks(sign * values[None])[0]
        draws = domain.draws.get(name)
        best = stable = None
        if draws is not None:
            again = _ranks(np.where(np.isnan(draws), -np.inf, sign * draws))
            first = again == again.min(axis=1, keepdims=True)
            best = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
            stable = (again == ranks).mean(axis=0)
        out[name] = [
            {
                "model": domain.models[i],
                "rank": int(ranks[i]),
                **{
                    k: getattr(domain.evaluations[i].metrics[name], k)
                    for k in ("value", "lower", "upper", "level", "kind")
                },
                "p_best": None if best is None else float(best[i]),
                "stable": None if stable is None else float(stable[i]),
            }
            for i in np.argsort(ranks, kind="stable")
        ]
    return out


def _ranks(values: Array) -> Array:
    """Ranks from 1, larger first, equal values sharing the best of their ranks; (replicate, model)."""
    out: Array = (values[:, None, :] > values[:, :, None]).sum(axis=2) + 1
    return out


def prefers(domain: Domain, name: str, i: int, j: int) -> tuple[float, float]:
    """How much better model i is than j by a metric (its own units, above 0 = better), and the share of replicates."""
    sign = domain.better(name)
    values = domain.values(name)
    draws = domain.draws[name]
    apart = sign * (draws[:, i] - draws[:, j])
    share = float(((apart > 0) + 0.5 * (apart == 0)).mean())
    return float(sign * (values[i] - values[j])), share


def pairs_of(domain: Domain, level: float) -> list[dict[str, Any]]:
    """Each two models and metric: difference a - b with its interval, and the share of replicates with a better.

    ``undecided`` where neither model is the better one in 90 % of the replicates: their order may be chance.
    """
    out = []
    for i, j in combinations(range(len(domain.models)), 2):
        for name in domain.draws:
            values, draws = domain.values(name), domain.draws[name]
            difference = float(values[i] - values[j])
            lower, upper = interval_of(difference, draws[:, i] - draws[:, j], level)
            kind = "empirical" if name in ("disca", "coverage_at_risk") else "asymptotic"
            share = prefers(domain, name, i, j)[1]
            if name == "accuracy":
                exact = domain.difference(i, j, level)
                lower, upper, share = exact["lower"], exact["upper"], exact["share"]
            out.append(
                {
                    "domain": domain.name,
                    "metric": name,
                    "a": domain.models[i],
                    "b": domain.models[j],
                    "difference": {"value": difference, "lower": lower, "upper": upper, "level": level, "kind": kind},
                    "p_a_better": share,
                    "undecided": max(share, 1 - share) < SURE,
                }
            )
    return out


def difference_of(domain: Domain, level: float) -> dict[str, Any]:
    """The difference in accuracy that comes first: of the best model and the next; of two, the second and the first."""
    order = np.argsort(-domain.values("accuracy"), kind="stable").tolist()
    b, a = (1, 0) if len(order) == 2 else order[:2]
    found = domain.difference(b, a, level)
    names = {"share": "p_b_better", "i_alone": "b_alone", "j_alone": "a_alone"}
    out = {names.get(key, key): value for key, value in found.items()}
    return {"a": domain.models[a], "b": domain.models[b], "paired": domain.paired, "level": level, **out}


def disagreements(domain: Domain) -> list[dict[str, Any]]:
    """Each two metrics whose rankings part: Kendall's tau-b and the pairs of models that they order differently.

    ``share`` of a pair: in how many replicates the two metrics part in the same way; ``undecided`` where that is less
    than 90 % of them.
    """
    from scipy.stats import kendalltau

    out = []
    held = [name for name in _HELD if name in domain.draws]
    for one, other in combinations(held, 2):
        ones, others = domain.better(one) * domain.values(one), domain.better(other) * domain.values(other)
        parted = []
        for i, j in combinations(range(len(domain.models)), 2):
            if (ones[i] - ones[j]) * (others[i] - others[j]) >= 0:
                continue
            a, b = (i, j) if ones[i] > ones[j] else (j, i)
            share = parting(domain, one, other, a, b)
            parted.append(
                {
                    "preferred": {one: domain.models[a], other: domain.models[b]},
                    "share": share,
                    "undecided": share < SURE,
                }
            )
        if not parted:
            continue
        flat = len(set(ones.tolist())) < 2 or len(set(others.tolist())) < 2
        tau = None if flat else float(kendalltau(ones, others).statistic)
        out.append({"domain": domain.name, "metrics": [one, other], "tau": tau, "pairs": parted})
    return out


def parting(domain: Domain, one: str, other: str, a: int, b: int) -> float:
    """The share of replicates in which the first metric prefers a and the second b."""
    first, second = domain.draws[one], domain.draws[other]
    prefers_a = domain.better(one) * (first[:, a] - first[:, b]) > 0
    prefers_b = domain.better(other) * (second[:, b] - second[:, a]) > 0
    return float((prefers_a & prefers_b).mean())

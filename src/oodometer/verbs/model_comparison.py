"""Model comparison: models evaluated on one domain, ranked by each metric, and how firm each order is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, permutations, product
from statistics import NormalDist
from typing import Any

import numpy as np

from ..arrays import Array
from ..inference.clusters import Clusters, student_quantile
from ..intervals import clopper_pearson, normal_quantile
from ..kernels.incomplete_beta import beta_cdf
from ..metrics.failure_cases import TAIL, tail_difference
from ..metrics.ranks import Ranks
from ..metrics.resampling import RankBins, interval_of, resampled
from ..metrics.risk_coverage import REPLICATED, jointly_resampled, replicated
from ..metrics.votes import paired_gap
from ..registry import find
from ..results import percent
from ..results.evaluation import Evaluation

SURE = 0.9  # share of replicates from which on the order of two models counts as more than chance

RANKED = (*REPLICATED, "brier", "ece")  # those without replicates have no share beside their rank
# Metrics whose rankings are held against each other; aurc is auc_coverage upside down.
_TAIL = 0.005  # of accuracy, the least that case 1 needs
_MOST = 20  # sentences about pairs, the surest first
_HELD = ("accuracy", "auc_coverage", "e_aurc", "augrc", "disca", "coverage_at_risk", "risk_at_coverage")


@dataclass(frozen=True)
class Rows:
    """What a comparison keeps of the rows of one file, (sample,); None where there are too many of them."""

    ranks: Ranks
    values: Array | None
    verdicts: Array | None
    truth: Array | None
    ids: Array | None = None
    clusters: Array | None = None


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
        """Accuracy of model i minus that of j: on the same rows mean d +- z sd(d)/sqrt(rows), joined with McNemar's
        exact interval; in clusters by the jackknife; else the arms of both accuracies add as squares (Newcombe 1998).
        """
        own, other = (self.evaluations[k].metrics["accuracy"] for k in (i, j))
        out: dict[str, Any] = {"rows": self.evaluations[i].rows, "clusters": None, "p_value": None}
        z = normal_quantile(level)
        if not self.paired:
            value = own.value - other.value
            low = value - math.hypot(own.value - own.lower, other.upper - other.value)
            high = value + math.hypot(own.upper - own.value, other.value - other.lower)
            out |= {"value": value, "lower": max(low, -1.0), "upper": min(high, 1.0)}
            return {**out, "share": NormalDist().cdf(2 * z * value / max(high - low, 1e-12))}
        d = self.verdicts[i].astype(np.float64) - self.verdicts[j]
        alone, theirs = int((d > 0).sum()), int((d < 0).sum())
        gap = paired_gap(d.sum(), alone + theirs, len(d), level)
        low, high = gap.lower, gap.upper
        spread = (high - low) / 2 / z
        out |= {"i_alone": alone, "j_alone": theirs, "value": gap.value}
        if self.clusters is not None:
            clusters = Clusters.of(self.clusters, (d + 1) / 2)
            spread = (
                2 * math.sqrt(clusters.variance)
                if clusters.variance
                else spread * math.sqrt(clusters.rows / clusters.worth)
            )
            half = student_quantile(level, clusters.worth - 1) * spread
            low, high = max(gap.value - half, -1.0), min(gap.value + half, 1.0)
            out["clusters"] = clusters.count
        else:
            differ, exact = alone + theirs, clopper_pearson(alone, alone + theirs, level)
            low = min(low, (2 * exact[0] - 1) * differ / len(d))
            high = max(high, (2 * exact[1] - 1) * differ / len(d))
            tail = 1.0 if alone == theirs else 2 * beta_cdf(max(alone, theirs), min(alone, theirs) + 1, 0.5)
            out["p_value"] = min(tail, 1.0)
        return {**out, "lower": low, "upper": high, "share": NormalDist().cdf(gap.value / spread)}

    def has(self, name: str) -> bool:
        """Whether every model has the metric."""
        return all(name in evaluation.metrics for evaluation in self.evaluations)

    def values(self, name: str) -> Array:
        """The metric of each model, (model,)."""
        return np.array([evaluation.metrics[name].value for evaluation in self.evaluations])

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
    rows = _in_one_order(rows)
    paired, why = _same_rows(rows)
    groups = [row.ranks.groups for row in rows]
    verdicts: tuple[Array, ...] = ()
    clusters = None
    if paired:
        pairs = [(row.values, row.verdicts) for row in rows if row.values is not None and row.verdicts is not None]
        verdicts = tuple(verdict for _, verdict in pairs)
        clusters = rows[0].clusters if all(row.clusters is not None for row in rows) else None
        curves = jointly_resampled(groups, [value for value, _ in pairs], verdicts, seed, clusters)
    else:
        curves = [resampled(group, seed + 1 + i) for i, group in enumerate(groups)]
    about = (paired, why, options, verdicts, clusters)
    return Domain(name, tuple(models), tuple(evaluations), tuple(curves), *about)


def _in_one_order(rows: Sequence[Rows]) -> list[Rows]:
    """The rows of all files in the order of the first, where ids tell them apart and all files have the same ones."""
    if any(row.ids is None or row.values is None for row in rows):
        return list(rows)
    first = {name: position for position, name in enumerate(rows[0].ids)}  # type: ignore[arg-type]
    out = [rows[0]]
    for other in rows[1:]:
        assert other.ids is not None
        if set(other.ids) != set(first):
            return list(rows)
        order = np.argsort([first[name] for name in other.ids], kind="stable")
        columns: Any = {name: value[order] for name, value in vars(other).items() if isinstance(value, np.ndarray)}
        out.append(replace(other, **columns))
    return out


def _same_rows(rows: Sequence[Rows]) -> tuple[bool, str]:
    """Whether all files tell of the same rows in the same order, and how that is known."""
    if len({row.ranks.rows for row in rows}) > 1:
        return False, "the files have different numbers of labelled rows"
    if any(row.values is None for row in rows):
        return False, "there are too many rows to keep them in order"
    ids, first = rows[0].ids, rows[0].truth
    if ids is not None and all(row.ids is not None and np.array_equal(ids, row.ids) for row in rows[1:]):
        for other in rows[1:]:
            if first is not None and other.truth is not None and not np.array_equal(first, other.truth):
                return False, f"the labels of the row {ids[int(np.argmax(first != other.truth))]!r} differ"
        return True, "the ids are the same"
    if first is None or any(row.truth is None for row in rows):
        return False, "without a label column it cannot be seen that the rows are the same"
    if any(not np.array_equal(first, row.truth) for row in rows[1:]):  # type: ignore[arg-type]
        return False, "the labels differ, so the rows are not the same or not in the same order"
    return True, "the labels are the same, in the same order"


def ranked(
    models: Sequence[str], intervals: Sequence[Any], sign: int = 1, best: Array | None = None, same: Array | None = None
) -> list[dict[str, Any]]:
    """Rows of a ranking, best first; models of equal value share a rank."""
    ranks = _ranks(sign * np.array([[interval.value for interval in intervals]]))[0]
    return [
        {
            "model": models[i],
            "rank": int(ranks[i]),
            **{name: getattr(intervals[i], name) for name in ("value", "lower", "upper", "level", "kind")},
            "p_best": None if best is None else float(best[i]),
            "stable": None if same is None else float(same[i]),
        }
        for i in np.argsort(ranks, kind="stable")
    ]


def rankings_of(domain: Domain) -> dict[str, list[dict[str, Any]]]:
    """Rows of each ranking, with the shares of replicates in which a model is best, and has the same rank."""
    out = {}
    for name in filter(domain.has, RANKED):
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
    """Ranks from 1, larger first, equal values sharing the best of their ranks; (replicate, model)."""
    out: Array = (values[:, None, :] > values[:, :, None]).sum(axis=2) + 1
    return out


def pairs_of(domain: Domain, level: float) -> list[dict[str, Any]]:
    """Each two models and metric: difference a - b with its interval, and the share of replicates with a better."""
    out = []
    for (i, j), (name, draws) in product(combinations(range(len(domain.models)), 2), domain.draws.items()):
        values = domain.values(name)
        difference = float(values[i] - values[j])
        lower, upper = interval_of(difference, draws[:, i] - draws[:, j], level)
        apart = domain.better(name) * (draws[:, i] - draws[:, j])
        share = float(((apart > 0) + 0.5 * (apart == 0)).mean())
        if name == "accuracy":
            exact = domain.difference(i, j, level)
            lower, upper, share = exact["lower"], exact["upper"], exact["share"]
        kind = "empirical" if name in ("disca", "coverage_at_risk") else "asymptotic"
        about = {"domain": domain.name, "metric": name, "a": domain.models[i], "b": domain.models[j]}
        apart_by = {"value": difference, "lower": lower, "upper": upper, "level": level, "kind": kind}
        sure = {"p_a_better": share, "undecided": max(share, 1 - share) < SURE}
        out.append({**about, "difference": apart_by, **sure})
    return out


def difference_of(domain: Domain, level: float) -> dict[str, Any]:
    """The difference in accuracy that comes first: of the best model and the next; of two, the second and the first."""
    order = np.argsort(-domain.values("accuracy"), kind="stable").tolist()
    b, a = (1, 0) if len(order) == 2 else order[:2]
    difference = domain.difference(b, a, level)
    names = {"share": "p_b_better", "i_alone": "b_alone", "j_alone": "a_alone"}
    out = {names.get(key, key): value for key, value in difference.items()}
    return {"a": domain.models[a], "b": domain.models[b], "paired": domain.paired, "level": level, **out}


def disagreements(domain: Domain) -> list[dict[str, Any]]:
    """Each two metrics whose rankings part: Kendall's tau-b, the pairs, and the share of replicates."""
    from scipy.stats import kendalltau

    out = []
    names = [name for name in _HELD if name in domain.draws]
    for metric, other in combinations(names, 2):
        first, second = domain.better(metric) * domain.values(metric), domain.better(other) * domain.values(other)
        parted = []
        for i, j in combinations(range(len(domain.models)), 2):
            if (first[i] - first[j]) * (second[i] - second[j]) >= 0:
                continue
            a, b = (i, j) if first[i] > first[j] else (j, i)
            share, preferred = parting(domain, metric, other, a, b), {metric: domain.models[a], other: domain.models[b]}
            parted.append({"preferred": preferred, "share": share, "undecided": share < SURE})
        if not parted:
            continue
        flat = len(set(first.tolist())) < 2 or len(set(second.tolist())) < 2
        tau = None if flat else float(kendalltau(first, second).statistic)
        out.append({"domain": domain.name, "metrics": [metric, other], "tau": tau, "pairs": parted})
    return out


def parting(domain: Domain, one: str, other: str, a: int, b: int) -> float:
    """The share of replicates in which the first metric prefers a and the second b."""
    first, second = domain.draws[one], domain.draws[other]
    prefers_a = domain.better(one) * (first[:, a] - first[:, b]) > 0
    prefers_b = domain.better(other) * (second[:, b] - second[:, a]) > 0
    return float((prefers_a & prefers_b).mean())


def findings_of(domain: Domain) -> list[dict[str, Any]]:
    """All findings on a domain: pairs of models first, what is undecided, then the cases of each model."""
    findings: list[dict[str, Any]] = []
    area = domain.values("auc_coverage") if "auc_coverage" in domain.draws else np.zeros(0)
    ahead = [(a, b) for a, b in permutations(range(len(area)), 2) if area[a] > area[b]]
    for a, b in ahead:
        findings += [
            *_against(domain, a, b, "disca"),
            *_against(domain, a, b, "coverage_at_risk"),
            *_tail(domain, a, b),
        ]
    findings = sorted(findings, key=lambda finding: -finding["share"])[:_MOST]
    if ahead and "disca" in domain.draws:
        findings += _undecided(domain, ahead)
    for name, evaluation in zip(domain.models, domain.evaluations, strict=True):
        about = {"domain": domain.name, "models": [name]}
        cases = [case for case in evaluation.tables.get("failure_cases", []) if case["seen"]]
        findings += [{**case, **about, "sentence": f"{name}: {case['sentence']}"} for case in cases]
    return [
        {**finding, **{flag: finding.get(flag, False) for flag in ("contested", "undecided")}} for finding in findings
    ]


def _pair(domain: Domain, name: str, a: int, b: int, share: float, **more: Any) -> dict[str, Any]:
    """A finding about two models, with what AUC says of them."""
    area = domain.values("auc_coverage")
    about = {"name": name, "domain": domain.name, "models": [domain.models[a], domain.models[b]], "share": share}
    return {**about, "auc_coverage": [float(area[a]), float(area[b])], **more}


def _against(domain: Domain, a: int, b: int, metric: str) -> list[dict[str, Any]]:
    """AUC prefers a, the metric prefers b, in the sample and in most replicates."""
    if metric not in domain.draws:
        return []
    values, share = domain.values(metric), parting(domain, "auc_coverage", metric, a, b)
    if not values[b] > values[a] or share < SURE:
        return []
    one, other, area, names = domain.evaluations[a], domain.evaluations[b], domain.values("auc_coverage"), domain.models
    say = f"AUC prefers {names[a]} ({area[a]:.3f} against {area[b]:.3f})"
    doubt = ""
    if metric == "disca":
        if "coverage_at_risk" in domain.draws:
            covered = domain.values("coverage_at_risk")
            if covered[a] > covered[b]:
                risk = float(one.metrics["coverage_at_risk"].to_dict()["risk"])
                doubt = (
                    f"; but coverage at risk sides with AUC: with at most {percent(risk, None)} of the answers wrong "
                )
                doubt += f"{names[a]} answers {percent(covered[a])} of the rows and {names[b]} {percent(covered[b])}"
        say += f", {'DiSCA' if doubt else 'selective answering'} prefers {names[b]}: "
        say += f"DiSCA {values[b]:.3f} against {values[a]:.3f}, because {_because(one, other)}{doubt}"
    else:
        risk = float(other.metrics[metric].to_dict()["risk"])
        say += f", selective answering prefers {names[b]}: with at most {percent(risk, None)} of its answers wrong "
        say += f"it answers {percent(values[b])} of the rows and {names[a]} {percent(values[a])}"
    more = {metric: [float(values[a]), float(values[b])], "contested": bool(doubt), "sentence": say}
    return [_pair(domain, f"auc_against_{metric}", a, b, share, **more)]


def _undecided(domain: Domain, ahead: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """One finding, if any, on all pairs of models that AUC and DiSCA order differently, but not beyond chance."""
    area, score, names = domain.values("auc_coverage"), domain.values("disca"), domain.models
    apart = [(a, b, parting(domain, "auc_coverage", "disca", a, b)) for a, b in ahead if score[b] > score[a]]
    unsure = sorted((triple for triple in apart if triple[2] < SURE), key=lambda triple: -triple[2])
    if not unsure:
        return []
    a, b, share = unsure[0]
    if len(unsure) == 1:
        areas, scores = _precise(area[a], area[b]), _precise(score[b], score[a])
        say = f"AUC prefers {names[a]} ({areas[0]} against {areas[1]}) and DiSCA {names[b]} ({scores[0]} against "
        say += f"{scores[1]}), but that may be chance: they part so in {percent(share, 0)} of the replicates"
    else:
        say = f"AUC and DiSCA order {len(unsure)} {'more ' if len(apart) > len(unsure) else ''}pairs of models "
        say += f"differently, but that may be chance: each in fewer than {percent(SURE, 0)} of the replicates, the "
        say += f"surest, {names[a]} and {names[b]}, in {percent(share, 0)}"
    involved = sorted({i for a, b, _ in unsure for i in (a, b)})
    row = {"name": "undecided", "domain": domain.name, "models": [names[i] for i in involved], "share": share}
    pairs = [{"models": [names[a], names[b]], "share": share} for a, b, share in unsure]
    return [{**row, "pairs": pairs, "undecided": True, "sentence": say}]


def _because(worse: Evaluation, better: Evaluation) -> str:
    """The terms of DiSCA by which the second model gains, the largest gain first."""
    p, q = worse.metrics["disca"].to_dict(), better.metrics["disca"].to_dict()
    reasons = {
        "first": "its first mistakes come only at lower confidence "
        f"({_precise(q['a'], p['a'])[0]} against {_precise(q['a'], p['a'])[1]})",
        "second": f"its accuracy falls below {q['tolerance']:g} only at lower confidence "
        f"({_precise(q['b'], p['b'])[0]} against {_precise(q['b'], p['b'])[1]})",
        "third": f"its accuracy rises less as more is answered (penalty {q['penalty']:.3g} against {p['penalty']:.3g})",
    }
    gains = {term: q["terms"][term] - p["terms"][term] for term in reasons}
    total = sum(gain for gain in gains.values() if gain > 0)
    largest = [term for term in sorted(gains, key=lambda t: -gains[t]) if gains[term] > 0.1 * total]
    return " and ".join(reasons[term] for term in largest)


def _precise(number: float, other: float) -> tuple[str, str]:
    """Two numbers with as many digits as tell them apart."""
    for digits in range(2, 12):
        if f"{number:.{digits}f}" != f"{other:.{digits}f}":
            break
    return f"{number:.{digits}f}", f"{other:.{digits}f}"


def _tail(domain: Domain, a: int, b: int) -> list[dict[str, Any]]:
    """Case 1: a has the higher AUC, b the higher accuracy among the rows answered first."""
    early = []
    for evaluation in (domain.evaluations[a], domain.evaluations[b]):
        curve = evaluation.curves.get("accuracy_coverage")
        if curve is None:
            return []
        early.append(float(np.asarray(curve.y)[np.asarray(curve.x) <= TAIL + 1e-9].mean()))
    area, drawn, names = domain.values("auc_coverage"), domain.draws["auc_coverage"], domain.models
    apart = tail_difference(domain.curves[a], domain.curves[b])
    share = float(((apart > 0) & (drawn[:, a] > drawn[:, b])).mean())
    if early[1] - early[0] < _TAIL or share < SURE:
        return []
    say = (
        f"the tail (case 1): AUC prefers {names[a]} ({area[a]:.3f} against {area[b]:.3f}), but over the first "
        f"{percent(TAIL, 0)} of coverage, where little is answered and little may go wrong, {names[b]} is right "
        f"{percent(early[1])} of the time and {names[a]} {percent(early[0])}"
    )
    return [_pair(domain, "tail", a, b, share, case=1, tail_accuracy=early, sentence=say)]

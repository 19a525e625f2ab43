"""Findings of a comparison: pairs of models on which metrics disagree, in sentences, with how surely they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise, permutations

import numpy as np

from ..metrics.failure_cases import TAIL, tail_difference
from ..plain import Json, Plain
from ..results import Interval, percent
from ..results.evaluation import Evaluation
from ..results.values import points
from .compare_differences import SURE, parting
from .compare_rows import Domain

_TAIL = 0.005  # of accuracy, the least that case 1 needs
_MOST = 20  # sentences about pairs, the surest first


def findings_of(domain: Domain) -> list[Json]:
    """All findings on a domain: pairs of models first, what is undecided, then the cases of each model."""
    findings: list[Json] = []
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
        {**finding, **{flag: finding.get(flag, False) for flag in ("contested", "undecided")}}
        for finding in findings
    ]


def _pair(domain: Domain, name: str, a: int, b: int, share: float, more: Plain) -> Json:
    area = domain.values("auc_coverage")
    return {
        "name": name,
        "domain": domain.name,
        "models": [domain.models[a], domain.models[b]],
        "share": share,
        "auc_coverage": [float(area[a]), float(area[b])],
        **more,
    }


def _against(domain: Domain, a: int, b: int, metric: str) -> list[Json]:
    """AUC prefers a, the metric prefers b, in the sample and in most replicates."""
    if metric not in domain.draws:
        return []
    values, share = domain.values(metric), parting(domain, "auc_coverage", metric, a, b)
    if not values[b] > values[a] or share < SURE:
        return []
    first = domain.evaluations[a]
    second = domain.evaluations[b]
    area = domain.values("auc_coverage")
    names = domain.models
    say = f"AUC prefers {names[a]} ({area[a]:.3f} against {area[b]:.3f})"
    doubt = ""
    if metric == "disca":
        if "coverage_at_risk" in domain.draws:
            covered = domain.values("coverage_at_risk")
            if covered[a] > covered[b]:
                risk = float(first.metrics["coverage_at_risk"].to_dict()["risk"])
                doubt = f"; but coverage at risk sides with AUC: with at most {percent(risk, None)} of the answers "
                doubt += (
                    f"wrong {names[a]} answers {percent(covered[a])} of the "
                    f"rows and {names[b]} {percent(covered[b])}"
                )
        say += f", {'DiSCA' if doubt else 'selective answering'} prefers {names[b]}: "
        say += f"DiSCA {values[b]:.3f} against {values[a]:.3f}, because {_because(first, second)}{doubt}"
    else:
        risk = float(second.metrics[metric].to_dict()["risk"])
        say += f", selective answering prefers {names[b]}: with at most {percent(risk, None)} of its answers wrong "
        say += f"it answers {percent(values[b])} of the rows and {names[a]} {percent(values[a])}"
    more = {metric: [float(values[a]), float(values[b])], "contested": bool(doubt), "sentence": say}
    return [_pair(domain, f"auc_against_{metric}", a, b, share, more)]


def _undecided(domain: Domain, ahead: Sequence[tuple[int, int]]) -> list[Json]:
    """One finding, if any, on all pairs of models that AUC and DiSCA order differently, but not beyond chance."""
    area, score, names = domain.values("auc_coverage"), domain.values("disca"), domain.models
    disagreeing = [
        (a, b, parting(domain, "auc_coverage", "disca", a, b))
        for a, b in ahead
        if score[b] > score[a]
    ]
    unsure = sorted(
        (triple for triple in disagreeing if triple[2] < SURE), key=lambda triple: -triple[2]
    )
    if not unsure:
        return []
    a, b, share = unsure[0]
    if len(unsure) == 1:
        areas, scores = (
            " against ".join(_precise(*two)) for two in ((area[a], area[b]), (score[b], score[a]))
        )
        say = f"AUC prefers {names[a]} ({areas}) and DiSCA {names[b]} ({scores}), but that may be chance: they part "
        say += f"so in {percent(share, 0)} of the replicates"
    else:
        say = f"AUC and DiSCA order {len(unsure)} {'more ' if len(disagreeing) > len(unsure) else ''}pairs of models "
        say += f"differently, but that may be chance: each in fewer than {percent(SURE, 0)} of the replicates, the "
        say += f"surest, {names[a]} and {names[b]}, in {percent(share, 0)}"
    involved = sorted({i for a, b, _ in unsure for i in (a, b)})
    row = {
        "name": "undecided",
        "domain": domain.name,
        "models": [names[i] for i in involved],
        "share": share,
    }
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
    for digits in range(2, 12):
        if f"{number:.{digits}f}" != f"{other:.{digits}f}":
            break
    return f"{number:.{digits}f}", f"{other:.{digits}f}"


def _tail(domain: Domain, a: int, b: int) -> list[Json]:
    """Case 1: a has the higher AUC, b the higher accuracy among the rows answered first."""
    early = []
    for evaluation in (domain.evaluations[a], domain.evaluations[b]):
        curve = evaluation.curves.get("accuracy_coverage")
        if curve is None:
            return []
        early.append(float(np.asarray(curve.y)[np.asarray(curve.x) <= TAIL + 1e-9].mean()))
    area, areas, names = domain.values("auc_coverage"), domain.draws["auc_coverage"], domain.models
    differences = tail_difference(domain.curves[a], domain.curves[b])
    share = float(((differences > 0) & (areas[:, a] > areas[:, b])).mean())
    if early[1] - early[0] < _TAIL or share < SURE:
        return []
    say = (
        f"the tail (case 1): AUC prefers {names[a]} ({area[a]:.3f} against {area[b]:.3f}), but over the first "
        f"{percent(TAIL, 0)} of coverage, where little is answered and little may go wrong, {names[b]} is right "
        f"{percent(early[1])} of the time and {names[a]} {percent(early[0])}"
    )
    more = {"case": 1, "tail_accuracy": early, "sentence": say}
    return [_pair(domain, "tail", a, b, share, more)]


def findings_on_targets(
    titles: Sequence[str], curves: Sequence[Json], pairs: Sequence[Plain]
) -> list[Json]:
    """A sentence for each two models by natural differences, else for neighbours by whether intervals overlap."""
    out = []
    all_labelled = all(model["by_labels"] is not None for model in curves)
    of = "by_labels" if all_labelled else "accuracy"
    remedy = "compare these files themselves, row by row"
    remedy = remedy if all_labelled else "a few labels decide it (`oodometer rank`)"
    by_models = {(titles.index(row["a"]), titles.index(row["b"])): row for row in pairs}
    values = [float(model[of].value) for model in curves]
    if by_models:
        values = _beaten(by_models, len(titles))
    order = sorted(range(len(curves)), key=lambda model: -values[model])
    for first, second in combinations(order, 2) if by_models else pairwise(order):
        pair, (a, b) = by_models.get((min(first, second), max(first, second))), (first, second)
        if pair is not None:
            a, b = _likely_better_first(pair["p_a_better"], first, second)
        better, worse = curves[a][of], curves[b][of]
        say = f"on the target {titles[a]} is {'by its labels' if all_labelled else 'estimated'} ahead of {titles[b]}"
        if pair is None:
            decided, more = better.lower > worse.upper, _by_intervals(better, worse, remedy)
        else:
            decided, more = not pair["undecided"], _by_difference(pair, a < b, remedy)
        say += more
        for model in (a, b):
            if curves[model]["trust"] == "none" and not all_labelled:
                say += f"; the estimate of {titles[model]} deserves no trust"
        out.append(
            {
                "name": "target_order",
                "domain": "target",
                "models": [titles[a], titles[b]],
                "accuracy": [better.value, worse.value],
                "contested": False,
                "undecided": not decided,
                "share": None,
                "sentence": say,
            }
        )
    return out


def _likely_better_first(p: float, first: int, second: int) -> tuple[int, int]:
    """Two models in the order of how likely each is better; ``p``: that the one with the lower number is."""
    if p == 0.5:
        return first, second
    low, high = sorted((first, second))
    return (low, high) if p > 0.5 else (high, low)


def _beaten(pairs: Mapping[tuple[int, int], Plain], models: int) -> list[float]:
    """How many others each model likely beats."""
    values = [0.0] * models
    for (a, b), row in pairs.items():
        values[a] += row["p_a_better"]
        values[b] += 1 - row["p_a_better"]
    return values


def _by_intervals(better: Interval, worse: Interval, remedy: str) -> str:
    """The values of two models, and whether their intervals overlap."""
    say = f", {percent(better.value)} against {percent(worse.value)}"
    if better.lower > worse.upper:
        return say
    return f"{say}, but their intervals overlap: undecided; {remedy}"


def _by_difference(pair: Plain, in_order: bool, remedy: str) -> str:
    """By how much, and how surely, one of two models is ahead; ``in_order``: it is the first of the pair."""
    sign = 1 if in_order else -1
    value, *ends = (sign * pair["difference"][name] for name in ("value", "lower", "upper"))
    chance = max(pair["p_a_better"], 1 - pair["p_a_better"])
    verdict = f"undecided; {remedy}" if pair["undecided"] else "decided"
    span = " to ".join(f"{100 * end:+.1f}" for end in sorted(ends))
    return f" by {points(value)} ({span}), with probability {percent(chance)}: {verdict}"

"""Findings: what a comparison shows, in words: where AUC and selective answering part, and each model's failures."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from ...metrics.failure_cases import TAIL, tail_difference
from ...results import percent
from ...results.evaluation import Evaluation
from .model_comparison import SURE, Domain, parting

_TAIL = 0.005  # of accuracy, the least that case 1 needs
_MOST = 20  # sentences about pairs, the surest first


def findings_of(domain: Domain) -> list[dict[str, Any]]:
    """All findings on a domain: pairs of models first, what is undecided, then the cases of each model.

    A finding about two models is seen in the sample and in 90 % of the replicates. ``contested`` marks one of DiSCA
    that coverage at risk speaks against; ``undecided`` the one that sums up where AUC and DiSCA part in the sample
    alone.
    """
    pairs = [
        finding
        for a, b in permutations(range(len(domain.models)), 2)
        if "auc_coverage" in domain.draws and domain.values("auc_coverage")[a] > domain.values("auc_coverage")[b]
        for finding in (
            _against(domain, a, b, "disca"),
            _against(domain, a, b, "coverage_at_risk"),
            _tail(domain, a, b),
        )
        if finding is not None
    ]
    pairs.sort(key=lambda finding: -finding["share"])
    found = [*pairs[:_MOST], *_undecided(domain), *_cases(domain)]
    return [{**finding, **{flag: finding.get(flag, False) for flag in ("contested", "undecided")}} for finding in found]


def _against(domain: Domain, a: int, b: int, metric: str) -> dict[str, Any] | None:
    """AUC prefers a, the metric prefers b, in the sample and in most replicates."""
    if metric not in domain.draws:
        return None
    values = domain.values(metric)
    share = parting(domain, "auc_coverage", metric, a, b)
    if not values[b] > values[a] or share < SURE:
        return None
    one, other = domain.evaluations[a], domain.evaluations[b]
    area = domain.values("auc_coverage")
    names = domain.models
    ahead = f"AUC prefers {names[a]} ({area[a]:.3f} against {area[b]:.3f})"
    doubt = _doubt(domain, a, b) if metric == "disca" else ""
    if metric == "disca":
        judge = "DiSCA" if doubt else "selective answering"
        say = f"{ahead}, {judge} prefers {names[b]}: "
        say += f"DiSCA {values[b]:.3f} against {values[a]:.3f}, because {_because(one, other)}{doubt}"
    else:
        risk = float(other.metrics[metric].to_dict()["risk"])
        say = (
            f"{ahead}, selective answering prefers {names[b]}: with at most {percent(risk, None)} of its answers wrong "
            f"it answers {percent(values[b])} of the rows and {names[a]} {percent(values[a])}"
        )
    return {
        "name": f"auc_against_{metric}",
        "domain": domain.name,
        "models": [names[a], names[b]],
        "share": share,
        "auc_coverage": [float(area[a]), float(area[b])],
        metric: [float(values[a]), float(values[b])],
        "contested": bool(doubt),
        "sentence": say,
    }


def _undecided(domain: Domain) -> list[dict[str, Any]]:
    """One finding, if any, on all pairs of models that AUC and DiSCA order differently, but not beyond chance."""
    if not {"auc_coverage", "disca"} <= set(domain.draws):
        return []
    area, score, names = domain.values("auc_coverage"), domain.values("disca"), domain.models
    apart = [
        (a, b, parting(domain, "auc_coverage", "disca", a, b))
        for a, b in permutations(range(len(names)), 2)
        if area[a] > area[b] and score[b] > score[a]
    ]
    unsure = sorted(((a, b, share) for a, b, share in apart if share < SURE), key=lambda one: -one[2])
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
    told = [{"models": [names[a], names[b]], "share": share} for a, b, share in unsure]
    involved = sorted({i for a, b, _ in unsure for i in (a, b)})
    return [
        {
            "name": "undecided",
            "domain": domain.name,
            "models": [names[i] for i in involved],
            "share": share,
            "pairs": told,
            "undecided": True,
            "sentence": say,
        }
    ]


def _doubt(domain: Domain, a: int, b: int) -> str:
    """What speaks against a preference of DiSCA for b: coverage at risk may side with a."""
    if "coverage_at_risk" not in domain.draws:
        return ""
    covered = domain.values("coverage_at_risk")
    if not covered[a] > covered[b]:
        return ""
    risk = float(domain.evaluations[a].metrics["coverage_at_risk"].to_dict()["risk"])
    return (
        f"; but coverage at risk sides with AUC: with at most {percent(risk, None)} of the answers wrong "
        f"{domain.models[a]} answers {percent(covered[a])} of the rows and {domain.models[b]} {percent(covered[b])}"
    )


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
    told = [term for term in sorted(gains, key=lambda t: -gains[t]) if gains[term] > 0.1 * total]
    return " and ".join(reasons[term] for term in told)


def _precise(one: float, other: float) -> tuple[str, str]:
    """Two numbers with as many digits as tell them apart."""
    for digits in range(2, 12):
        if f"{one:.{digits}f}" != f"{other:.{digits}f}":
            break
    return f"{one:.{digits}f}", f"{other:.{digits}f}"


def _tail(domain: Domain, a: int, b: int) -> dict[str, Any] | None:
    """Case 1: a has the higher AUC, b the higher accuracy among the rows answered first."""
    found = []
    for one in (domain.evaluations[a], domain.evaluations[b]):
        curve = one.curves.get("accuracy_coverage")
        if curve is None:
            return None
        early = np.asarray(curve.x) <= TAIL + 1e-9
        found.append(float(np.asarray(curve.y)[early].mean()))
    area, drawn = domain.values("auc_coverage"), domain.draws["auc_coverage"]
    apart = tail_difference(domain.curves[a], domain.curves[b])
    share = float(((apart > 0) & (drawn[:, a] > drawn[:, b])).mean())
    if found[1] - found[0] < _TAIL or share < SURE:
        return None
    names = domain.models
    say = (
        f"the tail (case 1): AUC prefers {names[a]} ({area[a]:.3f} against {area[b]:.3f}), but over the first "
        f"{percent(TAIL, 0)} of coverage, where little is answered and little may go wrong, {names[b]} is right "
        f"{percent(found[1])} of the time and {names[a]} {percent(found[0])}"
    )
    return {
        "name": "tail",
        "case": 1,
        "domain": domain.name,
        "models": [names[a], names[b]],
        "share": share,
        "auc_coverage": [float(area[a]), float(area[b])],
        "tail_accuracy": found,
        "sentence": say,
    }


def _cases(domain: Domain) -> list[dict[str, Any]]:
    return [
        {**case, "domain": domain.name, "models": [name], "sentence": f"{name}: {case['sentence']}"}
        for name, one in zip(domain.models, domain.evaluations, strict=True)
        for case in one.tables.get("failure_cases", [])
        if case["seen"]
    ]

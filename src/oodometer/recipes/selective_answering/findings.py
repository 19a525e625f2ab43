"""Findings: each claim of the paper, checked by code against a result: holds here, does not, or cannot be said."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from ...results import percent
from ...verbs.compare.model_comparison import SURE

__all__ = ["Claim", "claims_of", "kendall_tau"]

Claim = dict[str, Any]
"""``name``, ``claim`` (what the paper says), ``holds`` (True, False or None where it cannot be said), ``undecided``
(seen in the sample, but not beyond chance: then ``holds`` is None), ``evidence``."""

SETS = ("imdb", "sst2")
NAMES = {"imdb": "IMDb", "sst2": "SST-2"}
CASES = {1: "tail", 2: "start", 3: "middle", 4: "end", 5: "often", 6: "strong"}


def kendall_tau(first: Sequence[str], second: Sequence[str]) -> float:
    """tau = (pairs in the same order - pairs in the other) / pairs, of two orders of the same names without ties.

    Source: Kendall (1938).

    >>> kendall_tau("abc", "abc"), kendall_tau("abc", "cba")
    (1.0, -1.0)
    """
    place = {name: i for i, name in enumerate(second)}
    pairs = list(combinations(first, 2))
    return sum(1 if place[a] < place[b] else -1 for a, b in pairs) / len(pairs)


def claims_of(result: Mapping[str, Any]) -> list[Claim]:
    """Every claim that the models at hand let one check, in the paper's order.

    That some order occurs holds where a pair of models stands in it in at least 90 % of the bootstrap replicates, and
    is undecided where pairs do so in the sample alone. That one certain order is right holds where it, and does not
    where the opposite, is so firm; else it is undecided.
    """
    models = {model["name"]: model for model in result["models"]}
    out: list[Claim] = []
    if all(model[name]["disca"] is not None for model in models.values() for name in SETS):
        out += [
            *_orders(result),
            _domains(result),
            *_newer_and_larger(result, models),
            *_shapes(result, models),
        ]
    return [*out, _six_cases(result)]


_UNDECIDED = "undecided"
_SIGMAS = 1.282  # standard errors beyond which a difference has its sign in 90 % of the cases


def _claim(name: str, claim: str, holds: bool | str | None, evidence: str) -> Claim:
    undecided = holds == _UNDECIDED
    return {
        "name": name, "claim": claim, "holds": None if undecided else holds, "undecided": undecided,
        "evidence": evidence,
    }  # fmt: skip


def _verdict(seen: bool, sure: bool) -> bool | str:
    """True where it is seen beyond chance, undecided where it is seen but may be chance, False where it is not seen."""
    return True if sure else _UNDECIDED if seen else False


def _orders(result: Mapping[str, Any]) -> list[Claim]:
    """Do accuracy, AUC and DiSCA rank alike?"""
    out = []
    for first, second, say in (
        ("accuracy", "disca", "the ranking by accuracy is not the ranking by DiSCA"),
        ("auc_coverage", "disca", "a model of higher AUC is not always the better selective answerer"),
        ("accuracy", "auc_coverage", "the ranking by accuracy is not the ranking by AUC"),
    ):
        said, seen, surely = [], False, 0
        for name in SETS:
            orders = result["rankings"][name]
            tau = kendall_tau(orders[first], orders[second])
            pairs = [
                pair
                for one in result["disagreements"]
                if one["set"] == name and set(one["metrics"]) == {first, second}
                for pair in one["pairs"]
            ]
            sure = sum((pair["share"] or 0) >= SURE for pair in pairs)
            seen, surely = seen or tau < 1, surely + sure
            said.append(
                f"{NAMES[name]}: tau {tau:.2f}, {len(pairs)} pairs apart, {sure} of them beyond chance"
            )
        out.append(_claim(f"{first}_and_{second}", say, _verdict(seen, surely > 0), "; ".join(said)))
    return out


def _judgement(sure: bool, against: bool) -> bool | str:
    """True or False where the one or the other is beyond chance, else undecided."""
    return True if sure else False if against else _UNDECIDED


def _domains(result: Mapping[str, Any]) -> Claim:
    """Does DiSCA rank alike on both sets?"""
    home, away = (result["rankings"][name]["disca"] for name in SETS)
    tau = kendall_tau(home, away)
    sure = [
        (a, b)
        for a, b in combinations(home, 2)
        if _better(result, "imdb", a, b) >= SURE and _better(result, "sst2", b, a) >= SURE
    ]
    text = f"tau {tau:.2f}; first on IMDb {home[0]}, on SST-2 {away[0]}; {len(sure)} pairs turn round beyond chance"
    return _claim(
        "domains", "the ranking by DiSCA changes out of domain", _verdict(tau < 1, bool(sure)), text
    )


def _better(result: Mapping[str, Any], name: str, a: str, b: str) -> float:
    """Share of replicates in which a has the higher DiSCA than b."""
    for one in result["pairs"]:
        if one["set"] == name and {one["a"], one["b"]} == {a, b}:
            p = float(one["p_a_better"])
            return p if one["a"] == a else 1 - p
    return 0.5


def _newer_and_larger(result: Mapping[str, Any], models: Mapping[str, Any]) -> list[Claim]:
    """Newer: the transformers came after the models over words. Larger: more parameters."""
    newer = [m for m in models.values() if m["family"] == "transformer"]
    older = [m for m in models.values() if m["family"] == "words"]
    sized = sorted(models.values(), key=lambda m: int(m["parameters"]))
    smaller_larger = [(a, b) for a, b in combinations(sized, 2) if a["parameters"] < b["parameters"]]
    out = []
    for word, pairs in (("newer", [(a, b) for a in older for b in newer]), ("larger", smaller_larger)):
        for name in SETS if pairs else ():
            apart = [(a, b) for a, b in pairs if a[name]["disca"]["value"] > b[name]["disca"]["value"]]
            sure = [(a, b) for a, b in apart if _better(result, name, a["name"], b["name"]) >= SURE]
            other = "older" if word == "newer" else "smaller"
            text = (
                f"the {other} model is ahead in {len(apart)} of {len(pairs)} pairs, {len(sure)} beyond chance"
            )
            if sure:
                a, b = max(
                    sure,
                    key=lambda pair: float(pair[0][name]["disca"]["value"] - pair[1][name]["disca"]["value"]),
                )
                text += f", such as {a['name']} against {b['name']}"
            claim = f"{word} models are not always better by DiSCA ({NAMES[name]})"
            out.append(_claim(f"{word}_{name}", claim, _verdict(bool(apart), bool(sure)), text))
    return out


def _shapes(result: Mapping[str, Any], models: Mapping[str, Any]) -> list[Claim]:
    """Claims on single models and on the shapes of curves."""
    out = []
    home = {name: m["imdb"]["disca"] for name, m in models.items()}
    away = {name: m["sst2"]["disca"] for name, m in models.items()}
    if "BOW-SUM" in models:
        worst = min(home, key=lambda name: float(home[name]["value"]))
        negative = [name for name, one in home.items() if one["value"] < 0]
        text = f"last: {worst} ({home[worst]['value']:.2f}); negative: {', '.join(negative) or 'none'}"
        seen = worst == "BOW-SUM" and negative == ["BOW-SUM"]
        others = [name for name in home if name != "BOW-SUM"]
        sure = all(
            _better(result, "imdb", one, "BOW-SUM") >= SURE and home[one]["lower"] > 0 for one in others
        )
        against = any(
            _better(result, "imdb", "BOW-SUM", one) >= SURE or home[one]["upper"] < 0 for one in others
        )
        against = against or home["BOW-SUM"]["lower"] > 0
        sure = sure and home["BOW-SUM"]["upper"] < 0
        claim = "BOW-SUM is last on IMDb and alone below 0"
        out.append(_claim("bag_of_words_last", claim, _judgement(seen and sure, against), text))
    sums = [name for name in home if name.endswith("-SUM")]
    others = [name for name in home if name not in sums]
    if sums and others:
        many, few = (sum(home[n]["fluctuations"] for n in group) / len(group) for group in (sums, others))
        error = math.hypot(*(_error(home[n]) / len(group) for group in (sums, others) for n in group))
        text = (
            f"mean number of rises {many:.1f} against {few:.1f}, standard error of the difference {error:.1f}"
        )
        claim = "sums of words fluctuate more than the other models on IMDb"
        far = _SIGMAS * error
        out.append(_claim("sums_fluctuate", claim, _judgement(many - few > far, few - many > far), text))
    gaps = {name: away[name]["fluctuations"] - home[name]["fluctuations"] for name in home}
    least = {name: _SIGMAS * math.hypot(_error(home[name]), _error(away[name])) for name in home}
    more, sure_more = sum(gap > 0 for gap in gaps.values()), sum(gaps[n] > least[n] for n in gaps)
    sure_less = sum(-gaps[n] > least[n] for n in gaps)
    text = f"more rises on SST-2 for {more} of {len(gaps)} models, beyond chance for {sure_more}, fewer beyond chance "
    text += f"for {sure_less}"
    claim = "most models fluctuate more out of domain"
    verdict = _judgement(2 * sure_more > len(gaps), 2 * sure_less >= len(gaps))
    out.append(_claim("more_out_of_domain", claim, verdict, text))
    if "W2V-SUM" in models:
        best = max(away, key=lambda one: float(away[one]["value"]))
        rivals = [_better(result, "sst2", "W2V-SUM", one) for one in away if one != "W2V-SUM"]
        nearest = min(rivals, default=1.0)
        text = f"best: {best} ({away[best]['value']:.2f})"
        if best == "W2V-SUM":
            text += f", ahead of its nearest rival in {percent(nearest, 0)} of replicates"
        else:
            text += (
                f", behind which W2V-SUM stands in {percent(1 - _better(result, 'sst2', 'W2V-SUM', best), 0)}"
            )
        claim = "W2V-SUM has the best DiSCA out of domain"
        verdict = _judgement(nearest >= SURE, 1 - nearest >= SURE)
        out.append(_claim("word_sums_lead", claim, verdict, text))
    if "GLOVE-SUM" in models:
        mean = {one: _mean_b(home[one]) for one in home}
        best = min(mean, key=lambda one: mean[one])
        text = f"lowest mean b: {best} ({mean[best]:.2f}); GLOVE-SUM {mean['GLOVE-SUM']:.2f}"
        claim = "GLOVE-SUM has the lowest b over all tolerances on IMDb"
        out.append(_claim("glove_b", claim, best == "GLOVE-SUM", text))
    out += _plateaus(models)
    absent = "BERT-LARGE and ROBERTA-LARGE are not among these models"
    if "BERT-BASE" not in models:
        claim = "BERT-BASE is first on IMDb, before the larger BERT-LARGE and ROBERTA-LARGE"
        out.append(_claim("bert_base_first", claim, None, f"BERT-BASE, {absent}; run the scale paper"))
    elif {"BERT-LARGE", "ROBERTA-LARGE"} <= set(models):
        best = max(home, key=lambda name: float(home[name]["value"]))
        ahead = min(_better(result, "imdb", "BERT-BASE", one) for one in home if one != "BERT-BASE")
        claim = "BERT-BASE is first on IMDb, before the larger BERT-LARGE and ROBERTA-LARGE"
        text = f"first: {best}; BERT-BASE is ahead of its nearest rival in {percent(ahead, 0)} of replicates"
        out.append(_claim("bert_base_first", claim, _judgement(ahead >= SURE, 1 - ahead >= SURE), text))
    return out


def _error(score: Mapping[str, Any]) -> float:
    """Standard error of the number of rises, from its 95 % bootstrap interval."""
    low, high = score["fluctuations_interval"]
    return float(high - low) / (2 * 1.96)


def _mean_b(score: Mapping[str, Any]) -> float:
    rows = [row for row in score["by_tolerance"] if 0.55 <= row["tolerance"] <= 0.95]
    return sum(float(row["b"]) for row in rows) / len(rows)


def _plateaus(models: Mapping[str, Any]) -> list[Claim]:
    seen = [
        f"{name} ({NAMES[where]})"
        for name, model in models.items()
        for where in SETS
        if any(case["name"] == "plateau" for case in model[where]["cases"])
    ]
    large = [name for name, model in models.items() if model["family"] == "transformer"]
    holds = any(one.split(" ")[0] in large for one in seen) if large else None
    text = f"a plateau is seen for {', '.join(seen) or 'no model'}"
    return [_claim("plateau", "transformers form plateaus of high confidence", holds, text)]


def _six_cases(result: Mapping[str, Any]) -> Claim:
    """Which of the six cases in which AUC misleads occur."""
    where: dict[int, list[str]] = {}
    for finding in result["findings"]:
        if finding["name"] == "tail":
            where.setdefault(1, []).append(NAMES[finding["set"]])
    for model in result["models"]:
        for name in SETS:
            for case in model[name]["cases"]:
                if case["case"] is not None:
                    where.setdefault(int(case["case"]), []).append(f"{model['name']} on {NAMES[name]}")
    said = [
        f"case {number} ({CASES[number]}): {', '.join(dict.fromkeys(where[number]))}"
        for number in CASES
        if number in where
    ]
    absent = [f"{number} ({CASES[number]})" for number in CASES if number not in where]
    if absent:
        said.append(f"not beyond chance: {', '.join(absent)}")
    return _claim("six_cases", "all six cases of Table 1 occur in these models", not absent, "; ".join(said))

"""Findings: each claim of the paper, checked by code against a result and tested."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from typing import Any

from ...metrics.resampling import REPLICATES
from ...results import percent
from ..kit.claims import LEVEL, Claim, on_most
from ..kit.looks import Look, above, all_of, either, gap, share

__all__ = ["NAMES", "SETS", "claims_of", "kendall_tau"]

SETS = ("imdb", "sst2")
NAMES = {"imdb": "IMDb", "sst2": "SST-2"}
CASES = {1: "tail", 2: "start", 3: "middle", 4: "end", 5: "often", 6: "strong"}
BOOTSTRAP = f"paired bootstrap ({REPLICATES} replicates)"
SURE = 1 - LEVEL  # share of replicates from which on one pair, looked at alone, is beyond chance
RISES = "normal, bootstrap errors"
Models = Mapping[str, Mapping[str, Any]]


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

    That some order of two models occurs is tested on every pair in which it could: the share of bootstrap replicates
    that show it is a p-value, corrected for the number of pairs. That one certain order is right needs all its pairs.
    """
    models = {model["name"]: model for model in result["models"]}
    out: list[Claim] = []
    if all(model[name]["disca"] is not None for model in models.values() for name in SETS):
        out += [*_orders(result), _domains(result), *_newer_and_larger(result, models)]
        out += [*_bag_of_words(result, models), *_rises(models), *_word_sums(result, models)]
        out += [_plateaus(models), *_bert_base(result, models)]
    return [*out, _six_cases(result)]


def _some(name: str, claim: str, evidence: str, looks: Sequence[Look]) -> Claim:
    """A claim that something occurs in at least one of several pairs."""
    return Claim(name, claim, evidence, BOOTSTRAP, either(looks), len(looks))


def _seen(shares: Sequence[float]) -> str:
    """How many pairs are surely so, one by one."""
    return f"{sum(one >= SURE for one in shares)} in {percent(SURE, 0)} of replicates"


def _orders(result: Mapping[str, Any]) -> list[Claim]:
    """Do accuracy, AUC and DiSCA rank alike?"""
    out = []
    for first, second, say in (
        ("accuracy", "disca", "the ranking by accuracy is not the ranking by DiSCA"),
        ("auc_coverage", "disca", "a model of higher AUC is not always the better selective answerer"),
        ("accuracy", "auc_coverage", "the ranking by accuracy is not the ranking by AUC"),
    ):
        said, looks = [], []
        for name in SETS:
            orders = result["rankings"][name]
            found = [one for one in result["disagreements"] if one["set"] == name]
            apart = [one["pairs"] for one in found if set(one["metrics"]) == {first, second}]
            shares = [pair["share"] or 0.0 for pairs in apart for pair in pairs]
            # Pairs that the metrics order alike were looked at as well.
            alike = math.comb(len(orders[first]), 2) - len(shares)
            looks += [*map(share, shares), *[Look()] * alike]
            tau = kendall_tau(orders[first], orders[second])
            said.append(f"{NAMES[name]}: tau {tau:.2f}, {len(shares)} pairs apart, {_seen(shares)}")
        out.append(_some(f"{first}_and_{second}", say, "; ".join(said), looks))
    return out


def _domains(result: Mapping[str, Any]) -> Claim:
    """Does DiSCA rank alike on both sets?"""
    home, away = (result["rankings"][name]["disca"] for name in SETS)
    turns = [(_better(result, "imdb", a, b), _better(result, "sst2", b, a)) for a, b in permutations(home, 2)]
    text = f"tau {kendall_tau(home, away):.2f}; first on IMDb {home[0]}, on SST-2 {away[0]}; pairs that turn round: "
    text += _seen([min(one) for one in turns])
    looks = [all_of([share(first), share(second)]) for first, second in turns]
    return _some("domains", "the ranking by DiSCA changes out of domain", text, looks)


def _better(result: Mapping[str, Any], name: str, a: str, b: str) -> float:
    """Share of replicates in which a has the higher DiSCA than b."""
    for one in result["pairs"]:
        if one["set"] == name and {one["a"], one["b"]} == {a, b}:
            p = float(one["p_a_better"])
            return p if one["a"] == a else 1 - p
    return 0.5


def _newer_and_larger(result: Mapping[str, Any], models: Models) -> list[Claim]:
    """Newer: the transformers came after the models over words. Larger: more parameters."""
    newer = [m for m in models.values() if m["family"] == "transformer"]
    older = [m for m in models.values() if m["family"] == "words"]
    sized = sorted(models.values(), key=lambda m: int(m["parameters"]))
    larger = [(a, b) for a, b in combinations(sized, 2) if a["parameters"] < b["parameters"]]
    out = []
    for word, other, pairs in (
        ("newer", "older", [(a, b) for a in older for b in newer]),
        ("larger", "smaller", larger),
    ):
        for name in SETS if pairs else ():
            leads = [_score(a, name) - _score(b, name) for a, b in pairs]
            shares = [_better(result, name, a["name"], b["name"]) for a, b in pairs]
            text = f"the {other} model is ahead in {sum(lead > 0 for lead in leads)} of {len(pairs)} pairs, "
            text += _seen(shares)
            sure = [one for one, surest in zip(zip(leads, pairs, strict=True), shares, strict=True) if surest >= SURE]
            if sure:
                a, b = max(sure, key=lambda one: one[0])[1]
                text += f", such as {a['name']} against {b['name']}"
            claim = f"{word} models are not always better by DiSCA ({NAMES[name]})"
            out.append(_some(f"{word}_{name}", claim, text, [share(one) for one in shares]))
    return out


def _score(model: Mapping[str, Any], name: str) -> float:
    return float(model[name]["disca"]["value"])


def _bag_of_words(result: Mapping[str, Any], models: Models) -> list[Claim]:
    """Is BOW-SUM the worst on IMDb, and it alone below 0?"""
    if "BOW-SUM" not in models:
        return []
    home = {name: m["imdb"]["disca"] for name, m in models.items()}
    others = [name for name in home if name != "BOW-SUM"]
    worst = min(home, key=lambda name: float(home[name]["value"]))
    negative = [name for name, one in home.items() if one["value"] < 0]
    text = f"last: {worst} ({home[worst]['value']:.2f}); negative: {', '.join(negative) or 'none'}"
    own = above(home["BOW-SUM"], 0)
    parts = [
        all_of([share(_better(result, "imdb", one, "BOW-SUM")) for one in others]),
        Look(own.refutes, own.supports),  # it is below 0
        all_of([above(home[one], 0) for one in others]),
    ]
    claim = "BOW-SUM is last on IMDb and alone below 0"
    test = f"{BOOTSTRAP}, normal"
    return [Claim("bag_of_words_last", claim, text, test, all_of(parts), len(parts), len(parts))]


def _rises(models: Models) -> list[Claim]:
    """Who fluctuates more: sums of words, and models out of domain?"""
    out = []
    home, away = ({name: m[one]["disca"] for name, m in models.items()} for one in SETS)
    sums = [name for name in home if name.endswith("-SUM")]
    others = [name for name in home if name not in sums]
    if sums and others:
        many, few = (sum(home[n]["fluctuations"] for n in group) / len(group) for group in (sums, others))
        error = math.hypot(*(_error(home[n]) / len(group) for group in (sums, others) for n in group))
        text = f"mean number of rises {many:.1f} against {few:.1f}, standard error of the difference {error:.1f}"
        claim = "sums of words fluctuate more than the other models on IMDb"
        out.append(Claim("sums_fluctuate", claim, text, RISES, gap(many - few, error)))
    gaps = {name: away[name]["fluctuations"] - home[name]["fluctuations"] for name in home}
    looks = [gap(gaps[one], math.hypot(_error(home[one]), _error(away[one]))) for one in gaps]
    text = f"more rises on SST-2 for {sum(value > 0 for value in gaps.values())} of {len(gaps)} models"
    claim = "most models fluctuate more out of domain"
    return [*out, on_most("more_out_of_domain", claim, text, RISES, looks)]


def _error(score: Mapping[str, Any]) -> float:
    """Standard error of the number of rises, from its 95 % bootstrap interval."""
    low, high = score["fluctuations_interval"]
    return float(high - low) / (2 * 1.96)


def _leads(name: str, claim: str, result: Mapping[str, Any], models: Models, who: tuple[str, str]) -> Claim:
    """A claim that one model has the best DiSCA on a set."""
    model, where = who
    best = max(models, key=lambda one: _score(models[one], where))
    shares = [_better(result, where, model, one) for one in models if one != model]
    text = f"best: {best} ({_score(models[best], where):.2f}); {model} is ahead of its nearest rival in "
    text += f"{percent(min(shares), 0)} of replicates"
    looks = [share(one) for one in shares]
    return Claim(name, claim, text, BOOTSTRAP, all_of(looks), len(looks), len(looks))


def _word_sums(result: Mapping[str, Any], models: Models) -> list[Claim]:
    """Do sums of words lead out of domain, and have the lowest b?"""
    out = []
    if "W2V-SUM" in models and len(models) > 1:
        claim = "W2V-SUM has the best DiSCA out of domain"
        out.append(_leads("word_sums_lead", claim, result, models, ("W2V-SUM", "sst2")))
    if "GLOVE-SUM" in models:
        mean = {one: _mean_b(m["imdb"]["disca"]) for one, m in models.items()}
        best = min(mean, key=lambda one: mean[one])
        text = f"lowest mean b: {best} ({mean[best]:.2f}); GLOVE-SUM {mean['GLOVE-SUM']:.2f}; no replicates of b "
        text += "are kept"
        out.append(Claim("glove_b", "GLOVE-SUM has the lowest b over all tolerances on IMDb", text))
    return out


def _mean_b(score: Mapping[str, Any]) -> float:
    rows = [row for row in score["by_tolerance"] if 0.55 <= row["tolerance"] <= 0.95]
    return sum(float(row["b"]) for row in rows) / len(rows)


def _plateaus(models: Models) -> Claim:
    """Do transformers form plateaus? That none is seen does not say that there is none."""
    found = {
        (name, where): case["share"]
        for name, model in models.items()
        for where in SETS
        for case in model[where]["cases"]
        if case["name"] == "plateau"
    }
    large = [name for name, model in models.items() if model["family"] == "transformer"]
    looks = [share(found.get((name, where), 0.0)) for name in large for where in SETS]
    named = ", ".join(f"{name} ({NAMES[where]})" for name, where in found)
    text = f"a plateau is seen for {named or 'no model'}"
    looks = [Look(one.supports) for one in looks]
    return _some("plateau", "transformers form plateaus of high confidence", text, looks)


def _bert_base(result: Mapping[str, Any], models: Models) -> list[Claim]:
    """Is BERT-BASE before the larger encoders?"""
    claim = "BERT-BASE is first on IMDb, before the larger BERT-LARGE and ROBERTA-LARGE"
    if "BERT-BASE" not in models:
        text = "BERT-BASE, BERT-LARGE and ROBERTA-LARGE are not among these models; run the scale paper"
        return [Claim("bert_base_first", claim, text)]
    if not {"BERT-LARGE", "ROBERTA-LARGE"} <= set(models):
        return []
    return [_leads("bert_base_first", claim, result, models, ("BERT-BASE", "imdb"))]


def _six_cases(result: Mapping[str, Any]) -> Claim:
    """Which of the six cases in which AUC misleads occur? What is not seen beyond chance may still be there."""
    where: dict[int, list[str]] = {}
    for finding in result["findings"]:
        if finding["name"] == "tail":
            where.setdefault(1, []).append(NAMES[finding["set"]])
    for model in result["models"]:
        for name in SETS:
            for case in model[name]["cases"]:
                if case["case"] is not None:
                    where.setdefault(int(case["case"]), []).append(f"{model['name']} on {NAMES[name]}")
    said = [f"case {n} ({CASES[n]}): {', '.join(dict.fromkeys(where[n]))}" for n in CASES if n in where]
    absent = [f"{n} ({CASES[n]})" for n in CASES if n not in where]
    if absent:
        said.append(f"not beyond chance: {', '.join(absent)}")
    # A case is seen where it is beyond every curve that chance gave; all models and both sets were looked at.
    one = min(1.0, len(SETS) * len(result["models"]) / (1 + REPLICATES))
    looks = [Look(one if n in where else 1.0) for n in CASES]
    claim = "all six cases of Table 1 occur in these models"
    test = f"beyond {REPLICATES} curves of chance"
    return Claim("six_cases", claim, "; ".join(said), test, all_of(looks), len(looks), len(looks))

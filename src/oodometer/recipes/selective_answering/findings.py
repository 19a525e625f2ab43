"""Findings: each claim of the paper, checked by code against a result and tested."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from ...metrics.resampling import REPLICATES
from ...results import percent
from ..kit.claims import Claim, on_most
from ..kit.looks import Look, above, all_of, either, gap, share
from .cases import six_cases
from .orders import NAMES, SETS, SURE, Replicates, order_claims, seen

RISES = "normal, bootstrap errors"
Models = Mapping[str, Mapping[str, Any]]


def claims_of(result: Mapping[str, Any]) -> list[Claim]:
    """Every claim that the models at hand let one check, in the paper's order.

    That some order of two models occurs is tested on every pair in which it could: the share of bootstrap replicates
    that show it is a p-value, corrected for the number of pairs. That one certain order is right needs all its pairs.
    """
    models = {model["name"]: model for model in result["models"]}
    replicates = Replicates(result)
    out: list[Claim] = []
    if all(model[name]["disca"] is not None for model in models.values() for name in SETS):
        out += [*order_claims(result), *_newer_and_larger(replicates, models)]
        out += [*_bag_of_words(replicates, models), *_rises(models), *_word_sums(replicates, models)]
        out += [_plateaus(models), *_bert_base(replicates, models)]
    return [*out, six_cases(result)]


def _newer_and_larger(replicates: Replicates, models: Models) -> list[Claim]:
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
            shares = [replicates.better(name, a["name"], b["name"]) for a, b in pairs]
            text = f"the {other} model is ahead in {sum(lead > 0 for lead in leads)} of {len(pairs)} pairs, "
            text += seen(shares)
            sure = [one for one, surest in zip(zip(leads, pairs, strict=True), shares, strict=True) if surest >= SURE]
            if sure:
                a, b = max(sure, key=lambda one: one[0])[1]
                text += f", such as {a['name']} against {b['name']}"
            claim = f"{word} models are not always better by DiSCA ({NAMES[name]})"
            out.append(replicates.some(f"{word}_{name}", claim, text, [replicates.look(one) for one in shares]))
    return out


def _score(model: Mapping[str, Any], name: str) -> float:
    return float(model[name]["disca"]["value"])


def _bag_of_words(replicates: Replicates, models: Models) -> list[Claim]:
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
        all_of([replicates.look(replicates.better("imdb", one, "BOW-SUM")) for one in others]),
        Look(own.refutes, own.supports),  # it is below 0
        all_of([above(home[one], 0) for one in others]),
    ]
    claim = "BOW-SUM is last on IMDb and alone below 0"
    test = f"{replicates.test}, normal"
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


def _leads(name: str, claim: str, replicates: Replicates, models: Models, who: tuple[str, str]) -> Claim:
    """A claim that one model has the best DiSCA on a set."""
    model, where = who
    best = max(models, key=lambda one: _score(models[one], where))
    shares = [replicates.better(where, model, one) for one in models if one != model]
    text = f"best: {best} ({_score(models[best], where):.2f}); {model} is ahead of its nearest rival in "
    text += f"{percent(min(shares), 0)} of replicates"
    looks = [replicates.look(one) for one in shares]
    return Claim(name, claim, text, replicates.test, all_of(looks), len(looks), len(looks))


def _word_sums(replicates: Replicates, models: Models) -> list[Claim]:
    """Do sums of words lead out of domain, and have the lowest b?"""
    out = []
    if "W2V-SUM" in models and len(models) > 1:
        claim = "W2V-SUM has the best DiSCA out of domain"
        out.append(_leads("word_sums_lead", claim, replicates, models, ("W2V-SUM", "sst2")))
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
    looks = [Look(share(found.get((name, where), 0.0)).supports) for name in large for where in SETS]
    named = ", ".join(f"{name} ({NAMES[where]})" for name, where in found)
    text = f"a plateau is seen for {named or 'no model'}"
    claim = "transformers form plateaus of high confidence"
    test = f"bootstrap ({REPLICATES} replicates)"
    return Claim("plateau", claim, text, test, either(looks), len(looks))


def _bert_base(replicates: Replicates, models: Models) -> list[Claim]:
    """Is BERT-BASE before the larger encoders?"""
    claim = "BERT-BASE is first on IMDb, before the larger BERT-LARGE and ROBERTA-LARGE"
    if "BERT-BASE" not in models:
        text = "BERT-BASE, BERT-LARGE and ROBERTA-LARGE are not among these models; run the scale paper"
        return [Claim("bert_base_first", claim, text)]
    if not {"BERT-LARGE", "ROBERTA-LARGE"} <= set(models):
        return []
    return [_leads("bert_base_first", claim, replicates, models, ("BERT-BASE", "imdb"))]

"""Findings: each claim of the paper, checked by code against a result and tested."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

from ...metrics.resampling import REPLICATES
from ...results import percent
from ...verbs.compare.model_comparison import SURE as FIRM
from ..kit.claims import LEVEL, Claim, Look, above, all_of, either, gap, on_all, on_most, share
from .tables import CASES, EFFECTS, SIDE

SETS = ("imdb", "sst2")
NAMES = {"imdb": "IMDb", "sst2": "SST-2"}
SURE = 1 - LEVEL  # share of replicates from which on one pair, looked at alone, is beyond chance


def kendall_tau(first: Sequence[str], second: Sequence[str]) -> float:
    """tau = (pairs in the same order - pairs in the other) / pairs, of two orders of the same names without ties.

    Source: Kendall (1938).

    >>> kendall_tau("abc", "abc"), kendall_tau("abc", "cba")
    (1.0, -1.0)
    """
    place = {name: i for i, name in enumerate(second)}
    pairs = list(combinations(first, 2))
    return sum(1 if place[a] < place[b] else -1 for a, b in pairs) / len(pairs)


class Replicates:
    """The bootstrap replicates of a result: its shares as looks, and the claims that are read off them."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self.many = int(result["settings"]["replicates"])
        self.test = f"paired bootstrap ({self.many:,} replicates)"
        self._pairs = {(one["set"], frozenset((one["a"], one["b"]))): one for one in result["pairs"]}

    def look(self, value: float) -> Look:
        """A share of the replicates as p-values."""
        return share(value, self.many)

    def better(self, name: str, a: str, b: str) -> float:
        """Share of replicates in which a has the higher DiSCA than b."""
        one = self._pairs.get((name, frozenset((a, b))))
        if one is None:
            return 0.5
        p = float(one["p_a_better"])
        return p if one["a"] == a else 1 - p

    def some(self, name: str, claim: str, evidence: str, looks: Sequence[Look]) -> Claim:
        """A claim that something occurs in at least one of several pairs, corrected for their number (Bonferroni)."""
        least = len(looks) / (1 + self.many)
        if least > LEVEL:
            evidence += f"; with {self.many} replicates no p-value of {len(looks)} looks is below {least:.3f}"
        return Claim(name, claim, evidence, self.test, either(looks), len(looks))


@dataclass(frozen=True)
class Parting:
    """Two models that AUC and DiSCA order differently on a set.

    auc, disca : the model that each prefers. share : of the replicates in which they part so. covered : coverage at
    risk of the two models. look : whether it is higher for DiSCA's model.
    """

    name: str
    auc: str
    disca: str
    share: float
    covered: tuple[float, float]
    look: Look

    @property
    def side(self) -> str:
        """With which of the two coverage at risk sides in the sample: "AUC", "DiSCA" or "neither"."""
        auc, disca = self.covered
        return "AUC" if auc > disca else "DiSCA" if disca > auc else "neither"

    @property
    def is_firm(self) -> bool:
        """Whether `compare` speaks of them: AUC and DiSCA part so in 90 % of the replicates."""
        return self.share >= FIRM


def partings(result: Mapping[str, Any]) -> list[Parting]:
    """Every pair that AUC and DiSCA order differently, the firmest first.

    With whom coverage at risk sides is tested in the replicates of both models.
    """
    models, out = {model["name"]: model for model in result["models"]}, []
    replicates = Replicates(result)
    for one in result["disagreements"]:
        if set(one["metrics"]) != {"auc_coverage", "disca"}:
            continue
        for pair in one["pairs"]:
            a, b = (pair["preferred"][metric] for metric in ("auc_coverage", "disca"))
            first, second = (models[name][one["set"]][SIDE] for name in (a, b))
            look = replicates.look(1 - pair["with_first"])
            covered = (float(first["value"]), float(second["value"]))
            out.append(Parting(one["set"], a, b, float(pair["share"]), covered, look))
    return sorted(out, key=lambda found: -found.share)


def seen(shares: Sequence[float]) -> str:
    """How many pairs are surely so, one by one."""
    return f"{sum(one >= SURE for one in shares)} in {percent(SURE, 0)} of replicates"


def order_claims(result: Mapping[str, Any]) -> Iterator[Claim]:
    """Do accuracy, AUC and DiSCA rank alike, is DiSCA right where AUC is not, and does DiSCA rank sets alike?"""
    replicates = Replicates(result)
    yield _apart(result, replicates, "accuracy", "disca", "the ranking by accuracy is not the ranking by DiSCA")
    yield _apart(result, replicates, "auc_coverage", "disca", "the ranking by AUC is not the ranking by DiSCA")
    found = partings(result)
    firm = [one for one in found if one.is_firm]
    looks = [all_of([replicates.look(one.share), one.look]) for one in found]
    looks += [Look()] * (sum(math.comb(len(result["rankings"][name]["auc_coverage"]), 2) for name in SETS) - len(found))
    text = f"of {len(found)} pairs that AUC and DiSCA order differently coverage at risk sides with DiSCA on "
    text += f"{sum(one.side == 'DiSCA' for one in found)}, of the {len(firm)} firm ones on "
    text += f"{sum(one.side == 'DiSCA' for one in firm)}"
    claim = "a model of higher AUC is not always the better selective answerer (by DiSCA and by coverage at risk)"
    yield replicates.some("auc_misleads", claim, text, looks)
    said = []
    for name in SETS:
        here = [one for one in firm if one.name == name]
        sides = {side: sum(one.side == side for one in here) for side in ("AUC", "DiSCA")}
        text = f"{NAMES[name]}: coverage at risk sides with AUC on {sides['AUC']} of {len(here)} firm pairs "
        text += f"({sum(one.look.refutes <= LEVEL for one in here)} of them beyond chance by itself), with DiSCA on "
        said.append(f"{text}{sides['DiSCA']}" if here else f"{NAMES[name]}: no firm pair")
    text = f"{'; '.join(said)}; firm: AUC and DiSCA part so in {percent(FIRM, 0)} of replicates; `compare` itself "
    text += f"notes it of {sum(one.get('contested', False) for one in result['findings'])} pairs"
    claim = "where AUC and DiSCA part, DiSCA is right: coverage at risk sides with it"
    yield on_most("disca_is_right", claim, text, replicates.test, [one.look for one in firm])
    yield _apart(result, replicates, "accuracy", "auc_coverage", "the ranking by accuracy is not the ranking by AUC")
    home, away = (result["rankings"][name]["disca"] for name in SETS)
    turns = [(replicates.better("imdb", a, b), replicates.better("sst2", b, a)) for a, b in permutations(home, 2)]
    text = f"tau {kendall_tau(home, away):.2f}; first on IMDb {home[0]}, on SST-2 {away[0]}; pairs that turn round: "
    looks = [all_of([replicates.look(first), replicates.look(second)]) for first, second in turns]
    claim = "the ranking by DiSCA changes out of domain"
    yield replicates.some("domains", claim, text + seen([min(one) for one in turns]), looks)


def _apart(result: Mapping[str, Any], replicates: Replicates, first: str, second: str, say: str) -> Claim:
    said, looks = [], []
    for name in SETS:
        orders = result["rankings"][name]
        found = [
            one for one in result["disagreements"] if one["set"] == name and set(one["metrics"]) == {first, second}
        ]
        shares = [pair["share"] or 0.0 for one in found for pair in one["pairs"]]
        # Pairs that the metrics order alike were looked at as well.
        alike = math.comb(len(orders[first]), 2) - len(shares)
        looks += [*map(replicates.look, shares), *[Look()] * alike]
        tau = kendall_tau(orders[first], orders[second])
        said.append(f"{NAMES[name]}: tau {tau:.2f}, {len(shares)} pairs apart, {seen(shares)}")
    return replicates.some(f"{first}_and_{second}", say, "; ".join(said), looks)


def power_at(result: Mapping[str, Any], case: str, name: str, effect: float) -> Mapping[str, Any]:
    """What the search for a case on a set would find of a true inversion of a size."""
    for one in result["search"]["power"]:
        if (one["name"], one["set"], one["effect"]) == (case, name, effect):
            found: Mapping[str, Any] = one
            return found
    raise KeyError((case, name, effect))


def case_claims(result: Mapping[str, Any]) -> list[Claim]:
    """A claim for each case that it occurs; one that is not seen is undecided, with the power of the search.

    Looked at is each pair of models for the tail, which `compare` sees in sets, each model for the other cases, on
    both sets.
    """
    out, replicates, many = [], Replicates(result), len(result["models"])
    for case, number in CASES.items():
        if case == "tail":
            found = [NAMES[one["set"]] for one in result["findings"] if one["name"] == "tail"]
            looks = [Look(replicates.look(one["share"]).supports) for one in result["tails"]]
            looks += [Look()] * (len(SETS) * many * (many - 1) // 2 - len(looks))
            test = replicates.test
        else:
            found = [
                f"{model['name']} on {NAMES[name]}"
                for model in result["models"]
                for name in SETS
                if any(one["name"] == case for one in model[name]["cases"])
            ]
            looks = [Look(one[case]["p"]) for one in result["search"]["observed"]]
            test = f"{result['search']['chance']:,} curves of chance"
        where = ", ".join(dict.fromkeys(found)) or "not seen"
        out.append(Claim(case, f"case {number} ({case}) occurs", where, test, either(looks), len(looks)))
    return out


def six_cases(result: Mapping[str, Any]) -> Claim:
    """That all six occur. What is not beyond chance may still be there: the power says how often it would be seen."""
    claims = case_claims(result)
    beyond, rest = [], []
    for one in claims:
        title = f"{CASES[one.name]} ({one.name})"
        if one.look.supports <= LEVEL:
            beyond.append(f"{title}: {one.evidence}")
        else:
            powers = (f"{100 * power_at(result, one.name, name, EFFECTS[-1])['power']:.0f} %" for name in SETS)
            short = f" (seen: {one.evidence}; p {one.look.supports:.2f} among {one.looks} looks)"
            rest.append(f"{title} {' / '.join(powers)}{'' if one.evidence == 'not seen' else short}")
    text = f"beyond chance: {'; '.join(beyond) or 'none'}"
    if rest:
        text += f"; undecided, with the power at a true inversion of {100 * EFFECTS[-1]:.0f} points on IMDb / SST-2: "
    test = "bootstrap and curves of chance, each case corrected for its looks"
    claim = "all six cases of Table 1 occur in these models"
    return on_all("six_cases", claim, text + ", ".join(rest), test, [one.look for one in claims])


RISES = "normal, bootstrap errors"
Models = Mapping[str, Mapping[str, Any]]


def claims_of(result: Mapping[str, Any]) -> list[Claim]:
    """Every claim that the models at hand let one check, in the paper's order.

    That some order of two models occurs is tested on every pair in which it could: the share of bootstrap replicates
    that show it is a p-value, corrected for the number of pairs. That one certain order is right needs all its pairs.
    """
    models = {model["name"]: model for model in result["models"]}
    out: list[Claim] = []
    if all(model[name]["disca"] is not None for model in models.values() for name in SETS):
        replicates = Replicates(result)
        out += [*order_claims(result), *_of_models(replicates, models), *_of_rises(models)]
        out += _of_names(replicates, models)
    return [*out, six_cases(result)]


def _of_models(replicates: Replicates, models: Models) -> Iterator[Claim]:
    """Newer: the transformers came after the models over words. Larger: more parameters. BOW-SUM: last on IMDb?"""
    newer = [m for m in models.values() if m["family"] == "transformer"]
    older = [m for m in models.values() if m["family"] == "words"]
    sized = sorted(models.values(), key=lambda m: int(m["parameters"]))
    larger = [(a, b) for a, b in combinations(sized, 2) if a["parameters"] < b["parameters"]]
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
            yield replicates.some(f"{word}_{name}", claim, text, [replicates.look(one) for one in shares])
    if "BOW-SUM" in models:
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
        yield on_all("bag_of_words_last", claim, text, f"{replicates.test}, normal", parts)


def _score(model: Mapping[str, Any], name: str) -> float:
    return float(model[name]["disca"]["value"])


def _of_rises(models: Models) -> Iterator[Claim]:
    """Who fluctuates more: sums of words, and models out of domain? Errors from the 95 % bootstrap intervals."""
    home, away = ({name: m[one]["disca"]["fluctuations"] for name, m in models.items()} for one in SETS)
    ends = {(n, one): m[one]["disca"]["fluctuations_interval"] for n, m in models.items() for one in SETS}
    errors = {key: float(high - low) / (2 * 1.96) for key, (low, high) in ends.items()}
    sums = [name for name in home if name.endswith("-SUM")]
    others = [name for name in home if name not in sums]
    if sums and others:
        many, few = (sum(home[n] for n in group) / len(group) for group in (sums, others))
        error = math.hypot(*(errors[n, "imdb"] / len(group) for group in (sums, others) for n in group))
        text = f"mean number of rises {many:.1f} against {few:.1f}, standard error of the difference {error:.1f}"
        claim = "sums of words fluctuate more than the other models on IMDb"
        yield Claim("sums_fluctuate", claim, text, RISES, gap(many - few, error))
    gaps = {name: away[name] - home[name] for name in home}
    looks = [gap(value, math.hypot(errors[one, "imdb"], errors[one, "sst2"])) for one, value in gaps.items()]
    text = f"more rises on SST-2 for {sum(value > 0 for value in gaps.values())} of {len(gaps)} models"
    yield on_most("more_out_of_domain", "most models fluctuate more out of domain", text, RISES, looks)


def _of_names(replicates: Replicates, models: Models) -> Iterator[Claim]:
    """Do sums of words lead out of domain, and have the lowest b? Plateaus? Is BERT-BASE before the larger encoders?"""

    def leads(name: str, claim: str, model: str, where: str) -> Claim:
        """One model has the best DiSCA on a set."""
        best = max(models, key=lambda one: _score(models[one], where))
        shares = [replicates.better(where, model, one) for one in models if one != model]
        text = f"best: {best} ({_score(models[best], where):.2f}); {model} is ahead of its nearest rival in "
        text += f"{percent(min(shares), 0)} of replicates"
        return on_all(name, claim, text, replicates.test, [replicates.look(one) for one in shares])

    if "W2V-SUM" in models and len(models) > 1:
        yield leads("word_sums_lead", "W2V-SUM has the best DiSCA out of domain", "W2V-SUM", "sst2")
    if "GLOVE-SUM" in models:
        mean = {}
        for one, model in models.items():
            rows = [row for row in model["imdb"]["disca"]["by_tolerance"] if 0.55 <= row["tolerance"] <= 0.95]
            mean[one] = sum(float(row["b"]) for row in rows) / len(rows)
        best = min(mean, key=lambda one: mean[one])
        text = f"lowest mean b: {best} ({mean[best]:.2f}); GLOVE-SUM {mean['GLOVE-SUM']:.2f}; no replicates of b are "
        text += "kept"
        yield Claim("glove_b", "GLOVE-SUM has the lowest b over all tolerances on IMDb", text)
    # Do transformers form plateaus? That none is seen does not say that there is none
    found = {
        (name, where): case["share"]
        for name, model in models.items()
        for where in SETS
        for case in model[where]["cases"]
        if case["name"] == "plateau"
    }
    large = [name for name, model in models.items() if model["family"] == "transformer"]
    looks = [Look(share(found.get((name, where), 0.0)).supports) for name in large for where in SETS]
    text = f"a plateau is seen for {', '.join(f'{name} ({NAMES[where]})' for name, where in found) or 'no model'}"
    test = f"bootstrap ({REPLICATES} replicates)"
    yield Claim("plateau", "transformers form plateaus of high confidence", text, test, either(looks), len(looks))
    claim = "BERT-BASE is first on IMDb, before the larger BERT-LARGE and ROBERTA-LARGE"
    if "BERT-BASE" not in models:
        text = "BERT-BASE, BERT-LARGE and ROBERTA-LARGE are not among these models; run the scale paper"
        yield Claim("bert_base_first", claim, text)
    elif {"BERT-LARGE", "ROBERTA-LARGE"} <= set(models):
        yield leads("bert_base_first", claim, "BERT-BASE", "imdb")

"""Orders: where rankings of the models part, whether that is beyond chance, and with whom the third measure sides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

from ...results import percent
from ...verbs.compare.model_comparison import SURE as FIRM
from ..kit.claims import LEVEL, Claim, on_most
from ..kit.looks import Look, all_of, either, gap, share, spread
from .shares import SIDE

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

    With whom coverage at risk sides is tested in the replicates of both models where the result keeps them, else by
    the intervals of the two, their errors added, which no dependence can exceed.
    """
    models, out = {model["name"]: model for model in result["models"]}, []
    replicates = Replicates(result)
    for one in result["disagreements"]:
        if set(one["metrics"]) != {"auc_coverage", "disca"}:
            continue
        for pair in one["pairs"]:
            a, b = (pair["preferred"][metric] for metric in ("auc_coverage", "disca"))
            first, second = (models[name][one["set"]][SIDE] for name in (a, b))
            if pair["with_first"] is None:
                look = gap(second["value"] - first["value"], spread(first) + spread(second))
            else:
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
    yield _misleads(result, replicates, found)
    yield _disca_is_right(result, replicates, found)
    yield _apart(result, replicates, "accuracy", "auc_coverage", "the ranking by accuracy is not the ranking by AUC")
    yield _domains(result, replicates)


def _apart(result: Mapping[str, Any], replicates: Replicates, first: str, second: str, say: str) -> Claim:
    said, looks = [], []
    for name in SETS:
        orders = result["rankings"][name]
        found = [one for one in result["disagreements"] if one["set"] == name]
        apart = [one["pairs"] for one in found if set(one["metrics"]) == {first, second}]
        shares = [pair["share"] or 0.0 for pairs in apart for pair in pairs]
        # Pairs that the metrics order alike were looked at as well.
        alike = math.comb(len(orders[first]), 2) - len(shares)
        looks += [*map(replicates.look, shares), *[Look()] * alike]
        tau = kendall_tau(orders[first], orders[second])
        said.append(f"{NAMES[name]}: tau {tau:.2f}, {len(shares)} pairs apart, {seen(shares)}")
    return replicates.some(f"{first}_and_{second}", say, "; ".join(said), looks)


def _looked_at(result: Mapping[str, Any]) -> int:
    return sum(math.comb(len(result["rankings"][name]["auc_coverage"]), 2) for name in SETS)


def _misleads(result: Mapping[str, Any], replicates: Replicates, found: Sequence[Parting]) -> Claim:
    """That DiSCA prefers another model than AUC does not say that it answers better: a third measure must agree."""
    looks = [all_of([replicates.look(one.share), one.look]) for one in found]
    looks += [Look()] * (_looked_at(result) - len(found))
    with_disca = [one for one in found if one.side == "DiSCA"]
    text = f"of {len(found)} pairs that AUC and DiSCA order differently coverage at risk sides with DiSCA on "
    text += f"{len(with_disca)}, of the {sum(one.is_firm for one in found)} firm ones on "
    text += f"{sum(one.is_firm for one in with_disca)}"
    claim = "a model of higher AUC is not always the better selective answerer (by DiSCA and by coverage at risk)"
    return replicates.some("auc_misleads", claim, text, looks)


def _disca_is_right(result: Mapping[str, Any], replicates: Replicates, found: Sequence[Parting]) -> Claim:
    firm = [one for one in found if one.is_firm]
    noted = sum(one.get("contested", False) for one in result["findings"])
    said = []
    for name in SETS:
        here = [one for one in firm if one.name == name]
        sides = {side: sum(one.side == side for one in here) for side in ("AUC", "DiSCA")}
        sure = sum(one.look.refutes <= LEVEL for one in here)
        if here:
            text = f"{NAMES[name]}: coverage at risk sides with AUC on {sides['AUC']} of {len(here)} firm pairs "
            said.append(f"{text}({sure} of them beyond chance by itself), with DiSCA on {sides['DiSCA']}")
        else:
            said.append(f"{NAMES[name]}: no firm pair")
    text = (
        f"{'; '.join(said)}; firm: AUC and DiSCA part so in {percent(FIRM, 0)} of replicates; `compare` itself notes "
    )
    text += f"it of {noted} pairs"
    kept = all(pair["with_first"] is not None for one in result["disagreements"] for pair in one["pairs"])
    test = replicates.test if kept else "normal, errors added"
    claim = "where AUC and DiSCA part, DiSCA is right: coverage at risk sides with it"
    return on_most("disca_is_right", claim, text, test, [one.look for one in firm])


def _domains(result: Mapping[str, Any], replicates: Replicates) -> Claim:
    """Does DiSCA rank alike on both sets?"""
    home, away = (result["rankings"][name]["disca"] for name in SETS)
    turns = [(replicates.better("imdb", a, b), replicates.better("sst2", b, a)) for a, b in permutations(home, 2)]
    text = f"tau {kendall_tau(home, away):.2f}; first on IMDb {home[0]}, on SST-2 {away[0]}; pairs that turn round: "
    text += seen([min(one) for one in turns])
    looks = [all_of([replicates.look(first), replicates.look(second)]) for first, second in turns]
    return replicates.some("domains", "the ranking by DiSCA changes out of domain", text, looks)

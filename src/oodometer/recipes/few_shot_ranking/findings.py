"""Findings: each claim of the paper, tested over suites of models trained with different seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..kit.claims import Claim, Look, all_of, positive

STRONG = 0.8
"""Few-shot accuracy from which on ACC is called strong; the paper gives no bound, its own lowest is 81.6 %."""
NEAR = 0.05
"""Gap of the true accuracies up to which a pair is near; the paper's example is 95 and 98 %."""
CHANCE = 0.1
"""Distance from 50 % up to which a method is called near chance; the paper's own are 50.5 to 58.0 %."""
_EXTREME = 0.05
_SEEDS = "t test over suites (seeds)"
_MSGS = ("MORPH", "VERB", "ADJECT")
_PAIRS = ("PAWS", "SUB", "CON")
_WINDOW = {"MORPH": "irreg", "VERB": "verb", "ADJECT": "adj"}
_OWN = {"PAWS": "swap-avg", "SUB": "index-diff", "CON": "const"}
_GENERAL = ("max-diff", "sum-diff", "index-diff", "first-tok")
Found = Mapping[str, Any]


def claims_of(result: Found) -> list[Claim]:
    """Every claim of the protocol, in its order, and those of this recipe."""
    look = Looker(result)
    out: list[Claim] = []
    for claims in (_accuracy, _windows, _methods, _own_factors, _general, _confidence, _architectures, _near, _beyond):
        out += claims(look)
    return out


class Looker:
    """Few-shot accuracies by suite, group and seed."""

    def __init__(self, result: Found) -> None:
        self.baseline: str = result["baseline"]
        self.combined: Sequence[str] = result["combined"]
        self._rows = {(row["suite"], row["group"], row["seed"]): row for row in result["rows"]}
        self.seeds = sorted({row["seed"] for row in result["rows"]})

    def row(self, suite: str, seed: int, group: str = "inoculated") -> Found | None:
        """The row of a group, None where its models are all equally good."""
        return self._rows.get((suite, group, seed))

    def value(self, suite: str, seed: int, method: str, group: str = "inoculated") -> float | None:
        """Few-shot accuracy of a method."""
        row = self.row(suite, seed, group)
        return None if row is None else row["few_shot"].get(method)

    def values(self, suite: str, method: str, group: str = "inoculated") -> list[float]:
        """Of every seed that has one."""
        found = [self.value(suite, seed, method, group) for seed in self.seeds]
        return [one for one in found if one is not None]

    def apart(self, suite: str, first: str, second: str, group: str = "inoculated") -> list[float]:
        """One method less another, for every seed that has both."""
        pairs = [(self.value(suite, seed, first, group), self.value(suite, seed, second, group)) for seed in self.seeds]
        return [a - b for a, b in pairs if a is not None and b is not None]

    def pooled(self, suites: Sequence[str], method: str, group: str = "inoculated") -> list[float]:
        """A method less the baseline for every seed: the mean over the suites that have both."""
        out = []
        for seed in self.seeds:
            pairs = [
                (self.value(one, seed, method, group), self.value(one, seed, self.baseline, group)) for one in suites
            ]
            known = [a - b for a, b in pairs if a is not None and b is not None]
            out += [sum(known) / len(known)] if known else []
        return out

    def beside(self, methods: Mapping[str, tuple[str, str]], group: str = "inoculated") -> str:
        """For each suite a method, with the words before its number, and the baseline."""
        return "; ".join(
            f"{suite} {words}{self.mean(suite, method, group)}, ACC {self.mean(suite, self.baseline, group)}"
            for suite, (words, method) in methods.items()
        )

    def mean(self, suite: str, method: str, group: str = "inoculated") -> str:
        """The mean over seeds in percent, with its spread."""
        return percent(self.values(suite, method, group))


def percent(values: Sequence[float]) -> str:
    """Mean and standard deviation in percent.

    >>> percent([0.5, 0.75]), percent([0.5]), percent([])
    ('62.5 ± 17.7', '50.0', '-')
    """
    if not values:
        return "-"
    mean = sum(values) / len(values)
    if len(values) < 2:
        return f"{100 * mean:.1f}"
    sd = (sum((one - mean) ** 2 for one in values) / (len(values) - 1)) ** 0.5
    return f"{100 * mean:.1f} ± {100 * sd:.1f}"


def _all(name: str, claim: str, evidence: str, looks: Sequence[Look], test: str = _SEEDS) -> Claim:
    """A claim about all of some looks; undecided where there is none."""
    if not looks:
        return Claim(name, claim, evidence or "nothing to look at")
    return Claim(name, claim, evidence, test, all_of(looks), len(looks), len(looks))


def _listed(look: Looker, suites: Sequence[str], *methods: str) -> str:
    """What the methods reach on each suite."""
    return "; ".join(f"{suite} " + ", ".join(f"{m} {look.mean(suite, m)}" for m in methods) for suite in suites)


def _accuracy(look: Looker) -> Iterator[Claim]:
    """(1)"""
    suites = (*_MSGS, *_PAIRS)
    looks = [positive([one - STRONG for one in look.values(suite, look.baseline)]) for suite in suites]
    claim = f"accuracy on ten examples is strong: it ranks more than {100 * STRONG:.0f} % of pairs rightly in every set"
    text = "; ".join(f"{suite} {look.mean(suite, look.baseline)}" for suite in suites)
    yield _all("acc_strong", claim, text, looks)


def _windows(look: Looker) -> Iterator[Claim]:
    """(2)"""
    for suite in _MSGS:
        method = f"lime/{_WINDOW[suite]}"
        claim = f"LIME's window factor ranks better than ACC on {suite}"
        text = _listed(look, [suite], method, look.baseline)
        yield _all(f"lime_window_{suite.lower()}", claim, text, [positive(look.apart(suite, method, look.baseline))])


def _methods(look: Looker) -> Iterator[Claim]:
    """(3)"""
    for first, second in (("token-ig", "shap"), ("shap", "lime")):
        gaps = [look.apart(suite, f"{second}/{_WINDOW[suite]}", f"{first}/{_WINDOW[suite]}") for suite in _MSGS]
        text = "; ".join(
            f"{suite} {first} {look.mean(suite, f'{first}/{w}')}, {second} {look.mean(suite, f'{second}/{w}')}"
            for suite, w in _WINDOW.items()
        )
        claim = f"{first} ranks worse than {second} on MSGS"
        name = f"{first.replace('-', '_')}_below_{second}"
        if all(len(one) > 1 for one in gaps):
            yield _all(name, claim, text, [positive(one) for one in gaps])
        else:  # explained for one seed alone: the sets are what there is several of
            firsts = [one[0] for one in gaps if one]
            looks = [positive(firsts)] if len(firsts) > 1 else []
            yield _all(name, claim, text, looks, "t test over the three sets of one seed")
    suites = ("MORPH", "VERB")
    looks = [positive(look.apart(suite, look.baseline, f"shap/{_WINDOW[suite]}")) for suite in suites]
    text = look.beside({one: ("shap ", f"shap/{_WINDOW[one]}") for one in suites})
    yield _all("shap_below_acc", "SHAP's window factor ranks worse than ACC on MORPH and VERB", text, looks)


def _own_factors(look: Looker) -> Iterator[Claim]:
    """(4)"""
    looks = [positive(look.apart(suite, f"shap/{own}", look.baseline)) for suite, own in _OWN.items()]
    text = _beside(look, "shap")
    claim = "with SHAP the factors made for a set rank better than ACC (SWAP-AVG, INDEX-DIFF, CONST)"
    yield _all("shap_own_factors", claim, text, looks)
    looks = [positive(look.apart("PAWS", "lime/swap-avg", look.baseline))]
    text = _listed(look, ["PAWS"], "lime/swap-avg", look.baseline)
    yield _all("lime_swap_avg", "with LIME SWAP-AVG ranks better than ACC on PAWS", text, looks)
    looks = [positive(look.apart(suite, look.baseline, f"lime/{_OWN[suite]}")) for suite in ("SUB", "CON")]
    claim = "with LIME INDEX-DIFF (SUB) and CONST (CON) rank worse than ACC"
    yield _all("lime_other_factors", claim, _beside(look, "lime", ("SUB", "CON")), looks)
    gaps = [look.apart(suite, look.baseline, f"token-ig/{own}") for suite, own in _OWN.items()]
    firsts = [one[0] for one in gaps if one]
    looks = [positive(firsts)] if len(firsts) > 1 else []
    claim = "with token IG the factors made for a set rank worse than ACC"
    yield _all("ig_own_factors", claim, _beside(look, "token-ig"), looks, "t test over the three sets of one seed")


def _beside(look: Looker, method: str, suites: Sequence[str] = _PAIRS) -> str:
    return look.beside({suite: (f"{_OWN[suite]} ", f"{method}/{_OWN[suite]}") for suite in suites})


def _general(look: Looker) -> Iterator[Claim]:
    """(5)"""
    named = [(suite, one) for suite in _PAIRS for one in _GENERAL if one != _OWN[suite]]
    gaps = {pair: look.apart(pair[0], look.baseline, f"shap/{pair[1]}") for pair in named}
    below = sum(sum(one) > 0 for one in gaps.values())
    claim = "with SHAP every general factor ranks worse than ACC where it was not made for the set"
    text = f"worse in {below} of {len(gaps)}, mean over seeds"
    yield _all("general_factors", claim, text, [positive(one) for one in gaps.values()])


def _confidence(look: Looker) -> Iterator[Claim]:
    """(6)"""
    suites = (*_MSGS, *_PAIRS)
    text = "; ".join(f"{suite} {look.mean(suite, 'CONF')}" for suite in suites)
    looks = [positive(look.apart(suite, look.baseline, "CONF")) for suite in suites]
    yield _all("conf_below_acc", "CONF ranks worse than ACC in every set", text, looks)
    looks = [
        positive([CHANCE - sign * (one - 0.5) for one in look.values(suite, "CONF")])
        for suite in _MSGS
        for sign in (1, -1)
    ]
    claim = f"CONF is near chance on MSGS (within {100 * CHANCE:.0f} points of 50 %)"
    text = "; ".join(f"{suite} {look.mean(suite, 'CONF')}" for suite in _MSGS)
    yield _all("conf_near_chance", claim, text, looks, f"two one-sided {_SEEDS}")
    looks = [positive([0.5 - one for one in look.values("PAWS", "CONF")])]
    text = _listed(look, ["PAWS"], "CONF", "CONF reversed")
    yield _all("conf_reversed_paws", "CONF on PAWS is below chance: the surer model is the worse one", text, looks)


def _architectures(look: Looker) -> Iterator[Claim]:
    """(7)"""
    group = "architectures"
    for factor in _GENERAL:
        gaps = look.pooled(_PAIRS, f"shap/{factor}", group)
        text = look.beside(dict.fromkeys(_PAIRS, ("", f"shap/{factor}")), group)
        claim = f"across architectures {factor} with SHAP ranks better than ACC, pooled over PAWS, SUB and CON"
        name = f"architectures_{factor.replace('-', '_')}"
        yield _all(name, claim, text, [positive(gaps)] if gaps else [])
    more, shares = [], []
    for seed in look.seeds:
        found = [row for one in _PAIRS if (row := look.row(one, seed, group)) is not None]
        factors = [p for row in found for name, of in row["pairwise"].items() if name.startswith("shap/") for p in of]
        plain = [p for row in found for p in row["pairwise"][look.baseline]]
        if factors and plain:
            shares.append((_extreme(factors), _extreme(plain)))
            more.append(shares[-1][0] - shares[-1][1])
    text = f"factors {percent([a for a, _ in shares])}, ACC {percent([b for _, b in shares])} of the pairs"
    claim = "across architectures factors decide a pair in nearly all draws (at most 5 or at least 95 %) more often "
    yield _all("architectures_extreme", f"{claim}than ACC", text, [positive(more)] if more else [])


def _extreme(values: Sequence[float]) -> float:
    return sum(not _EXTREME < one < 1 - _EXTREME for one in values) / len(values)


def _near(look: Looker) -> Iterator[Claim]:
    """(8)"""
    gaps, ours, theirs, many = [], [], [], 0
    for seed in look.seeds:
        found = []
        for suite, window in _WINDOW.items():
            row = look.row(suite, seed)
            for place, pair in enumerate(row["pairs"] if row is not None else []):
                if row is not None and pair["gap"] <= NEAR:
                    found.append((row["pairwise"][f"lime/{window}"][place], row["pairwise"][look.baseline][place]))
        many += len(found)
        if found:
            ours.append(sum(a for a, _ in found) / len(found))
            theirs.append(sum(b for _, b in found) / len(found))
            gaps.append(ours[-1] - theirs[-1])
    claim = f"where two models of MSGS are within {100 * NEAR:.0f} points, LIME's window factor ranks better than ACC"
    text = f"{many} pairs: {percent(ours)}, ACC {percent(theirs)}" if gaps else "no such pair"
    yield _all("near_pairs", claim, text, [positive(gaps)] if gaps else [])


def _beyond(look: Looker) -> Iterator[Claim]:
    """Rankings that the paper does not have; their claims are this recipe's own."""
    suites = (*_MSGS, *_PAIRS)
    for method in look.combined:
        gaps = look.pooled(suites, method)
        text = look.beside(dict.fromkeys(suites, ("", method)))
        name = method.lower().replace("+", "").replace("-", "_").replace("  ", "_").replace(" ", "_")
        claim = f"not the paper's: {method} ranks better than ACC, mean over the six sets"
        yield _all(f"combined_{name}", claim, text, [positive(gaps)] if gaps else [])

"""Claims: what a paper says, what became of it here, by which test, corrected for how many looks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from ...intervals import holm, normal_quantile
from ...metrics.resampling import REPLICATES
from .tables import Page, section

MOST_FLIPS = 20


@dataclass(frozen=True)
class Look:
    """Two p-values: of what was seen if the statement were false (``supports``), and if it were true (``refutes``)."""

    supports: float = 1.0
    refutes: float = 1.0


def share(value: float, replicates: int = REPLICATES) -> Look:
    """The statement was seen in a share of bootstrap replicates: p = (1 + replicates against it) / (1 + replicates).

    No p-value is below 1 / (1 + replicates), so few replicates decide little among many looks.

    >>> share(1.0, 199)
    Look(supports=0.005, refutes=1.0)
    """
    with_it = round(replicates * value)
    return Look((1 + replicates - with_it) / (1 + replicates), (1 + with_it) / (1 + replicates))


def gap(value: float, error: float) -> Look:
    """A number with its standard error is above 0, by the normal distribution.

    >>> round(gap(1.96, 1).supports, 3), round(gap(-1.96, 1).refutes, 3), gap(0, 0)
    (0.025, 0.025, Look(supports=1.0, refutes=1.0))
    """
    if error <= 0:
        return Look(float(value <= 0), float(value >= 0))
    z = value / error
    return Look(NormalDist().cdf(-z), NormalDist().cdf(z))


def spread(cell: Mapping[str, Any]) -> float:
    """Standard error of a number, from the wider arm of its interval.

    >>> round(spread({"value": 0.1, "lower": 0.0, "upper": 0.296, "level": 0.95}), 3)
    0.1
    """
    wider = max(cell["upper"] - cell["value"], cell["value"] - cell["lower"])
    return float(wider / normal_quantile(cell["level"]))


def above(cell: Mapping[str, Any], bound: float) -> Look:
    """A number with its interval is above a bound, by the arm of the interval on the bound's side.

    >>> round(above({"value": 0.5, "lower": 0.4, "upper": 0.9, "level": 0.95}, 0.4).supports, 3)
    0.025
    """
    arm = cell["value"] - cell["lower"] if cell["value"] > bound else cell["upper"] - cell["value"]
    return gap(cell["value"] - bound, arm / normal_quantile(cell["level"]))


def binomial(successes: int, trials: int, chance: float) -> Look:
    """The chance of a success is above ``chance``, by the exact binomial test.

    >>> binomial(7, 7, 0.5).supports == 0.5**7
    True
    """
    from scipy.stats import binom

    law = binom(trials, chance)
    return Look(float(law.sf(successes - 1)), float(law.cdf(successes)))


def positive(values: Sequence[float]) -> Look:
    """The mean of the law behind some values is above 0, by Student's t test; of fewer than two, nothing is said.

    >>> round(positive([1.0, 2.0, 3.0]).supports, 3)
    0.037
    """
    if len(values) < 2:
        return Look()
    from scipy.stats import t

    mean = sum(values) / len(values)
    error = (sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)) ** 0.5
    if not error > 0:
        return gap(mean, 0.0)
    law = t(len(values) - 1)
    return Look(float(law.sf(mean / error)), float(law.cdf(mean / error)))


def sign_flips(differences: Sequence[float]) -> Look:
    """The mean of paired differences is above 0, by all ways to flip their signs: p = share with a sum as large.

    Exact where each difference is as likely as its negative when there is no effect; of n differences no p-value is
    below 2^-n. Source: Fisher (1935). More than 20 differences are tested by Student's t.

    >>> sign_flips([1.0, 2.0, 3.0])
    Look(supports=0.125, refutes=1.0)
    """
    if not 0 < len(differences) <= MOST_FLIPS:
        return positive(differences)
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate([sums + difference, sums - difference])
    seen, rounding = sum(differences), 1e-12
    return Look(float(np.mean(sums >= seen - rounding)), float(np.mean(sums <= seen + rounding)))


def larger(first: Sequence[float], second: Sequence[float]) -> Look:
    """The mean behind the first values is above that behind the second, by Welch's t test; each needs two values.

    Source: Welch (1947).

    >>> round(larger([3.0, 4.0, 5.0], [1.0, 1.5, 2.0]).supports, 3)
    0.016
    """
    if min(len(first), len(second)) < 2:
        return Look()
    from scipy.stats import ttest_ind

    apart = sum(first) / len(first) - sum(second) / len(second)
    if len(set(first)) == len(set(second)) == 1:
        return gap(apart, 0.0)
    p = float(ttest_ind(first, second, equal_var=False, alternative="greater").pvalue)
    return Look(p, 1 - p)


def either(looks: Sequence[Look]) -> Look:
    """At least one of the statements is true, however the looks depend on one another (Bonferroni); of none, nothing.

    Two models that each may lead the other are no looks that depend positively, as Simes' test asks for.

    >>> either([Look(0.01, 0.9), Look(0.5, 0.2)])
    Look(supports=0.02, refutes=0.9)
    """
    if not looks:
        return Look()
    return Look(min(1.0, len(looks) * min(look.supports for look in looks)), max(look.refutes for look in looks))


def all_of(looks: Sequence[Look]) -> Look:
    """All of the statements are true."""
    return at_least(len(looks), looks)


def at_least(count: int, looks: Sequence[Look]) -> Look:
    """At least ``count`` of the statements are true, corrected for the number of looks; of none, nothing is said.

    >>> at_least(2, [Look(0.01), Look(0.02), Look(0.5)])
    Look(supports=0.04, refutes=1.0)
    """
    if not 0 < count <= len(looks):
        return Look()
    return Look(
        partial_conjunction([look.supports for look in looks], count),
        partial_conjunction([look.refutes for look in looks], len(looks) - count + 1),
    )


def partial_conjunction(p_values: Sequence[float], count: int) -> float:
    """p-value of "at least ``count`` of the n alternatives are true": min over i >= u of (n-u+1) / (i-u+1) p_(i).

    For u = 1 it is Simes' test, for u = n the largest p-value. It is valid where the looks depend on one another
    positively, as those at the same rows do.

    Source: Benjamini and Heller (2008).

    >>> partial_conjunction([0.01, 0.02, 0.9], 1), partial_conjunction([0.01, 0.02, 0.9], 3)
    (0.03, 0.9)
    """
    n, ranked = len(p_values), sorted(p_values)
    left = n - count + 1
    return min(1.0, *(left / (i + 1) * p for i, p in enumerate(ranked[count - 1 :])))


LEVEL = 0.05  # a claim that is false is said to hold, or one that is true not to, in at most this share of the cases
FEWEST = 3  # things from which on "most" means something


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper and what a result says of it.

    Parameters
    ----------
    name : short, unique in the recipe.
    claim : what the paper says.
    evidence : what was seen here, in words and numbers.
    test : the name of the statistical test; empty where there is none, and the claim stays undecided.
    look : what the test says for and against the claim, corrected for the looks of this claim.
    looks : on how many things the test looked, pairs of models or data sets.
    needed : of how many of them the claim must be true.
    """

    name: str
    claim: str
    evidence: str
    test: str = ""
    look: Look = field(default_factory=Look)
    looks: int = 1
    needed: int = 1

    @property
    def verdict(self) -> str:
        """Whether it "holds", "does not hold" or is "undecided".

        >>> [Claim("a", "A", "", "a test", Look(p, 1 - p)).verdict for p in (0.01, 0.3, 0.99)]
        ['holds', 'undecided', 'does not hold']
        """
        if not self.test:
            return "undecided"
        if self.look.supports <= LEVEL:
            return "holds"
        return "does not hold" if self.look.refutes <= LEVEL else "undecided"


class Row(NamedTuple):
    """A row of a recipe's table of claims, whose words stand in ``page.toml``.

    name : of the claim. test : of what kind. looks : what the test says of each thing that was looked at. fields : of
    the words. needed : of how many things the claim must be true: "all", "most" (more than half of at least three) or
    "any"; or how many things the one look joins, and of how many of them. words : whose words it takes, by default
    those of its name.
    """

    name: str
    test: str
    looks: Sequence[Look]
    fields: Mapping[str, Any] = {}
    needed: str | tuple[int, int] = "all"
    words: str = ""


def claims_from(page: Page, rows: Iterable[Row]) -> list[Claim]:
    """The claims of a table; one on nothing, or on "most" of too few things, is undecided."""
    claims = []
    for row in rows:
        claim, evidence = (page.fill(text, row.fields) for text in page.words["claims"][row.words or row.name])
        looks, many = row.looks, len(row.looks)
        if isinstance(row.needed, tuple):
            claims.append(Claim(row.name, claim, evidence, row.test, looks[0], *row.needed))
        elif row.needed == "any":
            claims.append(Claim(row.name, claim, evidence, row.test, either(looks), many))
        elif many < (FEWEST if row.needed == "most" else 1):
            claims.append(Claim(row.name, claim, evidence or "nothing to look at"))
        else:
            needed = many // 2 + 1 if row.needed == "most" else many
            claims.append(Claim(row.name, claim, evidence, row.test, at_least(needed, looks), many, needed))
    return claims


def judged(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Claims ready for JSON, with their verdicts and with their p-values corrected for the number of claims (Holm).

    The verdict follows from the p-value that is corrected for the looks of the claim alone; ``p_all`` says whether it
    would stand among all the claims of the paper that were tested.

    >>> judged([Claim("a", "A", "seen", "a test", Look(0.04, 1)), Claim("b", "B", "not tested")])[0]["p_all"]
    0.04
    """
    tested = [claim for claim in claims if claim.test]
    corrected = holm([min(claim.look.supports, claim.look.refutes) for claim in tested])
    over_all, rows = dict(zip((claim.name for claim in tested), corrected, strict=True)), []
    for claim in claims:
        row: dict[str, Any] = {"name": claim.name, "claim": claim.claim, "verdict": claim.verdict}
        row |= {"evidence": claim.evidence, "test": claim.test or None}
        if claim.test:
            p = {"p_for": claim.look.supports, "p_against": claim.look.refutes, "p_all": over_all[claim.name]}
            row |= {
                "looks": claim.looks,
                "needed": claim.needed,
                **{name: round(value, 6) for name, value in p.items()},
            }
        rows.append(row)
    return rows


_OVER_ROWS = "Tests are over rows: what another training would give they do not say."
_WORDS = """\
**The paper's findings here.** A claim holds, or does not, where its p-value is at most {level}, corrected for the \
looks of the claim (partial conjunction); else it is undecided. {over} Of {tested} claims tested {decided} are \
decided; {firm} of these verdicts also stand when corrected for the number of claims (Holm)."""
_HEADS = "the paper says | here | what was seen | test | p for | p against | p among all claims"
_ROW = "{claim} | {verdict} | {evidence} | {tested} | {p_for:p} | {p_against:p} | {p_all:p}"


def _p(value: float | None) -> str:
    return "-" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def claims_table(claims: Iterable[Mapping[str, Any]], over: str = _OVER_ROWS) -> str:
    """Each claim with its verdict, what was seen and how it was tested, and which verdicts stand among all claims.

    ``over`` says what the tests take for their sample.
    """
    rows, decided, tested = [], [], 0
    for claim in claims:
        words, looks = claim["test"] or "none", claim.get("looks", 0)
        if claim["test"]:
            tested += 1
            decided += [claim] if claim["verdict"] != "undecided" else []
            needed = "all" if claim["needed"] == looks else f"{claim['needed']} or more"
            words += f"; {needed} of {looks} looks" if looks > 1 else ""
        rows.append({**claim, "tested": words})
    fields = {"level": LEVEL, "over": over, "tested": tested, "decided": len(decided)}
    firm = sum(claim["p_all"] <= LEVEL for claim in decided)
    page = Page({"tables": {"claims": {"row": _ROW}}}, p=_p)
    return section(page.fill(_WORDS, {**fields, "firm": firm}), _HEADS, page.rows("claims", rows))

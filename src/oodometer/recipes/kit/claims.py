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
    """The statement was seen in a share of bootstrap replicates: p = (1 + replicates against it) / (1 + replicates)."""
    with_it = round(replicates * value)
    return Look((1 + replicates - with_it) / (1 + replicates), (1 + with_it) / (1 + replicates))


def gap(value: float, error: float) -> Look:
    """A number with its standard error is above 0, by the normal distribution."""
    if error <= 0:
        return Look(float(value <= 0), float(value >= 0))
    z = value / error
    return Look(NormalDist().cdf(-z), NormalDist().cdf(z))


def spread(cell: Mapping[str, Any]) -> float:
    """Standard error of a number, from the wider arm of its interval."""
    wider = max(cell["upper"] - cell["value"], cell["value"] - cell["lower"])
    return float(wider / normal_quantile(cell["level"]))


def above(cell: Mapping[str, Any], bound: float) -> Look:
    """A number with its interval is above a bound, by the arm of the interval on the bound's side."""
    arm = cell["value"] - cell["lower"] if cell["value"] > bound else cell["upper"] - cell["value"]
    return gap(cell["value"] - bound, arm / normal_quantile(cell["level"]))


def binomial(successes: int, trials: int, chance: float) -> Look:
    """The chance of a success is above ``chance``, by the exact binomial test."""
    from scipy.stats import binom

    law = binom(trials, chance)
    return Look(float(law.sf(successes - 1)), float(law.cdf(successes)))


def positive(values: Sequence[float]) -> Look:
    """The mean of the law behind some values is above 0, by Student's t test; of fewer than two, nothing is said."""
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
    """The mean of paired differences is above 0: share of all sign flips with a sum as large (Fisher, 1935); of more
    than 20, by Student's t. Exact where each difference is as likely as its negative when there is no effect.
    """
    if not 0 < len(differences) <= MOST_FLIPS:
        return positive(differences)
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate([sums + difference, sums - difference])
    seen, rounding = sum(differences), 1e-12
    return Look(float(np.mean(sums >= seen - rounding)), float(np.mean(sums <= seen + rounding)))


def larger(first: Sequence[float], second: Sequence[float]) -> Look:
    """The mean behind the first values is above that behind the second: Welch's t test (1947), of two values each."""
    if min(len(first), len(second)) < 2:
        return Look()
    from scipy.stats import ttest_ind

    apart = sum(first) / len(first) - sum(second) / len(second)
    if len(set(first)) == len(set(second)) == 1:
        return gap(apart, 0.0)
    p = float(ttest_ind(first, second, equal_var=False, alternative="greater").pvalue)
    return Look(p, 1 - p)


def either(looks: Sequence[Look]) -> Look:
    """At least one of the statements is true, however the looks depend (Bonferroni); of none, nothing."""
    if not looks:
        return Look()
    return Look(min(1.0, len(looks) * min(look.supports for look in looks)), max(look.refutes for look in looks))


def all_of(looks: Sequence[Look]) -> Look:
    """All of the statements are true."""
    return at_least(len(looks), looks)


def at_least(count: int, looks: Sequence[Look]) -> Look:
    """At least ``count`` of the statements are true, corrected for the number of looks; of none, nothing is said."""
    if not 0 < count <= len(looks):
        return Look()
    supports, refutes = [look.supports for look in looks], [look.refutes for look in looks]
    return Look(partial_conjunction(supports, count), partial_conjunction(refutes, len(looks) - count + 1))


def partial_conjunction(p_values: Sequence[float], count: int) -> float:
    """p-value of "at least u of the n alternatives are true": min over i >= u of (n-u+1) / (i-u+1) p_(i). Valid where
    looks depend positively. Source: Benjamini and Heller (2008).
    """
    n, ranked = len(p_values), sorted(p_values)
    left = n - count + 1
    return min(1.0, *(left / (i + 1) * p for i, p in enumerate(ranked[count - 1 :])))


LEVEL = 0.05  # a claim that is false is said to hold, or one that is true not to, in at most this share of the cases
FEWEST = 3  # things from which on "most" means something


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, what was seen here, the test (empty: the claim stays undecided) and what it says,
    corrected for the looks of this claim: on how many things it looked, and of how many the claim must be true.
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
        """Whether it "holds", "does not hold" or is "undecided"."""
        if not self.test:
            return "undecided"
        if self.look.supports <= LEVEL:
            return "holds"
        return "does not hold" if self.look.refutes <= LEVEL else "undecided"


class Row(NamedTuple):
    """A row of a recipe's table of claims, whose words stand in ``page.toml``. ``needed``: of how many looks the claim
    must be true ("all", "most": more than half of at least three, "any"), or (things that the one look joins, of them
    needed). ``words``: whose words it takes, by default those of its name.
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
    """Claims ready for JSON, with verdicts and p-values; ``p_all`` is corrected for the number of claims (Holm)."""
    tested = [claim for claim in claims if claim.test]
    corrected = holm([min(claim.look.supports, claim.look.refutes) for claim in tested])
    over_all, rows = dict(zip((claim.name for claim in tested), corrected, strict=True)), []
    for claim in claims:
        row: dict[str, Any] = {"name": claim.name, "claim": claim.claim, "verdict": claim.verdict}
        row |= {"evidence": claim.evidence, "test": claim.test or None}
        if claim.test:
            p = {"p_for": claim.look.supports, "p_against": claim.look.refutes, "p_all": over_all[claim.name]}
            row |= {"looks": claim.looks, "needed": claim.needed}
            row |= {name: round(value, 6) for name, value in p.items()}
        rows.append(row)
    return rows


_OVER_ROWS = "Tests are over rows: what another training would give they do not say."
_WORDS = """\
**The paper's findings here.** A claim holds, or does not, where its p-value is at most {level}, corrected for the \
looks of the claim (partial conjunction); else it is undecided. {over} Of {tested} claims tested {decided} are \
decided; {firm} of these verdicts also stand when corrected for the number of claims (Holm)."""
_HEADS = "the paper says | here | what was seen | test | p for | p against | p among all claims"
_ROW = "{claim} | {verdict} | {evidence} | {tested} | {p_for:p} | {p_against:p} | {p_all:p}"


def claims_table(claims: Iterable[Mapping[str, Any]], over: str = _OVER_ROWS) -> str:
    """Each claim with its verdict and test, and which verdicts stand among all; ``over``: what tests take as sample."""
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
    table = {"tables": {"claims": {"row": _ROW}}}
    page = Page(table, p=lambda p: "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}")
    return section(page.fill(_WORDS, {**fields, "firm": firm}), _HEADS, page.rows("claims", rows))

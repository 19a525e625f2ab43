"""Claims: what a paper says, what became of it here, by which test, corrected for how many looks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from oodometer.intervals import normal_quantile
from oodometer.metrics.resampling import REPLICATES

from .tables import Page, section

LEVEL = 0.05  # of a two-sided test: a claim without any effect gets a verdict in at most this share of the cases
POWER = 0.8  # with which the smallest visible effect of an undecided claim would be seen
MOST_FLIPS = 20
Sees = Callable[[float, float], float]


def smallest_effect(
    error: float, freedom: float = math.inf, level: float = LEVEL, power: float = POWER
) -> float:
    """The smallest true effect that a one-sided t test at ``level`` would see with ``power``: error * nc, where a
    noncentral t with nc is above its critical value with this power; with endless degrees of ``freedom`` the normal
    test, nc = z(1 - level) + z(power). The ``error`` that was seen is taken for the true one.

    Source: Cohen (1988), Statistical Power Analysis for the Behavioral Sciences.

    >>> round(smallest_effect(1.0), 2), round(smallest_effect(1.0, freedom=2), 2)
    (2.49, 3.98)
    """
    if freedom == math.inf:
        normal = NormalDist()
        return error * (normal.inv_cdf(1 - level) + normal.inv_cdf(power))
    from scipy.special import nctdtrinc, stdtrit

    return error * float(nctdtrinc(freedom, 1 - power, -stdtrit(freedom, level)))


@dataclass(frozen=True)
class Look:
    """Two p-values: of what was seen if the statement were false (``supports``), and if it were true (``refutes``).
    ``sees`` gives for a level and a power the smallest true effect with which the look would support the statement: how
    far a number lies on the statement's side of its bound, in its own unit; infinite where that is not known.
    """

    supports: float = 1.0
    refutes: float = 1.0
    sees: Sees = field(default=lambda level, power: math.inf, compare=False, repr=False)

    @property
    def p(self) -> float:
        """Two-sided: twice the smaller tail, at most 1."""
        return min(1.0, 2 * min(self.supports, self.refutes))

    @property
    def denied(self) -> Look:
        """The same look at the opposite statement."""
        return Look(self.refutes, self.supports, self.sees)


def share(value: float, replicates: int = REPLICATES, error: float | None = None) -> Look:
    """The statement was seen in a share of bootstrap replicates: p = (1 + replicates against it) / (1 + replicates).
    With the ``error`` of the number that is resampled, the standard deviation of its replicates, the look also says
    which effect it would see, by the normal distribution.
    """
    with_it, sees = (
        round(replicates * value),
        Look.sees if error is None else partial(smallest_effect, error, math.inf),
    )
    p = (1 + replicates - with_it) / (1 + replicates), (1 + with_it) / (1 + replicates)
    return Look(*p, _from(1 / (1 + replicates), sees))


def _from(floor: float, sees: Sees) -> Sees:
    """What a test sees whose p-values are never below some least one."""
    return lambda level, power: sees(level, power) if level >= floor else math.inf


def gap(value: float, error: float, freedom: float = math.inf) -> Look:
    """A number with its standard error is above 0, by Student's t distribution, or by the normal one."""
    if error <= 0:
        return Look(float(value <= 0), float(value >= 0), lambda level, power: 0.0)
    z, sees = value / error, partial(smallest_effect, error, freedom)
    if freedom == math.inf:
        return Look(NormalDist().cdf(-z), NormalDist().cdf(z), sees)
    from scipy.stats import t

    return Look(float(t.sf(z, freedom)), float(t.cdf(z, freedom)), sees)


def above(
    cell: Mapping[str, Any], bound: float, between: float = 0.0, freedom: float = math.inf
) -> Look:
    """A number with its interval is above a bound, by the arm of the interval on the bound's side. ``between``: the
    variance between trainings, known with ``freedom`` degrees, in the place of the cell's own (``between``); degrees of
    freedom of its sum with the variance over rows by Satterthwaite (1946).
    """
    arm = cell["value"] - cell["lower"] if cell["value"] > bound else cell["upper"] - cell["value"]
    rows = (arm / normal_quantile(cell["level"])) ** 2 - cell.get("between", 0.0)
    variance = max(rows, 0.0) + between
    of_sum = freedom * (variance / between) ** 2 if between else math.inf
    return gap(cell["value"] - bound, variance**0.5, of_sum)


def binomial(successes: int, trials: int, chance: float) -> Look:
    """The chance of a success is above ``chance``, by the exact binomial test; the effect is that chance itself."""
    from scipy.special import betaincinv
    from scipy.stats import binom

    law = binom(trials, chance)

    def sees(level: float, power: float) -> float:
        fewest = 1 + int(law.isf(level))  # successes with a p-value of at most the level
        return (
            float(betaincinv(fewest, trials - fewest + 1, power)) if fewest <= trials else math.inf
        )

    return Look(float(law.sf(successes - 1)), float(law.cdf(successes)), sees)


def positive(values: Sequence[float]) -> Look:
    """The mean of the law behind some values is above 0, by Student's t test; of fewer than two, nothing is said."""
    return contrast((values,), (1.0,))


def sign_flips(differences: Sequence[float]) -> Look:
    """The mean of paired differences is above 0: share of all sign flips with a sum as large (Fisher, 1935); of more
    than 20, by Student's t. Exact where each difference is as likely as its negative when there is no effect. The
    effect that it would see is that of the t test, where there are flips enough for the level.
    """
    if not 0 < len(differences) <= MOST_FLIPS:
        return positive(differences)
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate([sums + difference, sums - difference])
    seen, rounding, sees = sum(differences), 1e-12, _from(1 / len(sums), positive(differences).sees)
    return Look(
        float(np.mean(sums >= seen - rounding)), float(np.mean(sums <= seen + rounding)), sees
    )


def contrast(
    samples: Sequence[Sequence[float]], weights: Sequence[float], pooled: bool = False
) -> Look:
    """The weighted sum of the means behind some independent samples, of two values each, is above 0: Welch's t test
    (1947), its degrees of freedom by Satterthwaite (1946); or Student's, with the variance ``pooled`` over the samples.
    """
    if not samples or min(map(len, samples)) < 2:
        return Look()
    difference = sum(
        weight * sum(values) / len(values) for weight, values in zip(weights, samples, strict=True)
    )
    counts = np.array([len(values) for values in samples])
    variances = np.array([np.var(values, ddof=1) for values in samples])
    if pooled:
        variances[:] = (counts - 1) @ variances / (counts - 1).sum()
    parts = np.square(weights) * variances / counts
    if parts.sum() <= 0:
        return gap(difference, 0.0)
    of_parts = parts.sum() ** 2 / (parts**2 / (counts - 1)).sum()
    freedom = float((counts - 1).sum() if pooled else of_parts)
    return gap(difference, float(parts.sum()) ** 0.5, freedom)


def either(looks: Sequence[Look]) -> Look:
    """At least one of the statements is true, however the looks depend (Bonferroni); of none, nothing. The effect that
    they would see is that of the most precise look, at level / n.
    """
    if not looks:
        return Look()
    p = min(1.0, len(looks) * min(look.supports for look in looks))
    return Look(p, max(look.refutes for look in looks), partial(_together, looks, 1))


def all_of(looks: Sequence[Look]) -> Look:
    """All of the statements are true: each look at the level itself. Of two one-sided tests that a number lies within
    a margin, the effect is the smallest margin that would be shown if the number were 0.
    """
    return at_least(len(looks), looks)


def agreeing(looks: Sequence[Look]) -> Look:
    """Several tests of one statement, over different units: to hold, and not to, takes all of them."""
    return replace(all_of(looks), refutes=max(look.refutes for look in looks))


def at_least(count: int, looks: Sequence[Look]) -> Look:
    """At least ``count`` of the statements are true, corrected for the number of looks; of none, nothing is said.

    The effect that they would see is one that the ``count`` most precise looks have: each at level / (n - count + 1),
    with power ** (1 / count), so that all of them together reach the power. Looks are taken as independent for this:
    where they depend positively the power is larger, and so it is where more of the statements are true.
    """
    if not 0 < count <= len(looks):
        return Look()
    supports, refutes = [look.supports for look in looks], [look.refutes for look in looks]
    p = partial_conjunction(supports, count), partial_conjunction(refutes, len(looks) - count + 1)
    return Look(*p, partial(_together, looks, count))


def _together(looks: Sequence[Look], count: int, level: float, power: float) -> float:
    return sorted(
        look.sees(level / (len(looks) - count + 1), power ** (1 / count)) for look in looks
    )[count - 1]


def partial_conjunction(p_values: Sequence[float], count: int) -> float:
    """p-value of "at least u of the n alternatives are true": min over i >= u of (n-u+1) / (i-u+1) p_(i). Valid where
    looks depend positively. Source: Benjamini and Heller (2008).
    """
    n, ranked = len(p_values), sorted(p_values)
    remaining = n - count + 1
    return min(1.0, *(remaining / (i + 1) * p for i, p in enumerate(ranked[count - 1 :])))


FEWEST = 3  # things from which on "most" means something


class Row(NamedTuple):
    """A row of a recipe's table of claims, whose words stand in ``page.toml``. ``drawn``: what would be drawn anew.
    ``effects``: how far each thing lies on the claim's side. ``quantity``: "mean", whose one look is at the mean of the
    effects; else a look a thing, or one that joins them: true of "all", "most" (more than half of at least three),
    "any", or so many. ``words``: whose words it takes, by default those of its name. ``size``: the look at an effect as
    large as the paper's. ``bears``: whether what stands in for the paper's can bear on its sentence.
    """

    name: str
    test: str
    drawn: str
    looks: Sequence[Look]
    effects: Sequence[float] = ()
    fields: Mapping[str, Any] = {}
    quantity: str | int = "mean"
    words: str = ""
    size: Look | None = None
    bears: bool = True

    @property
    def needed(self) -> int:
        """Of how many things the claim must be true."""
        count = len(self.effects)
        if isinstance(self.quantity, int):
            return self.quantity
        return {"most": count // 2 + 1, "all": count}.get(self.quantity, 1)

    @property
    def is_tested(self) -> bool:
        """Whether there is a test: not on nothing, and not on "most" of too few things."""
        enough = len(self.effects) >= (FEWEST if self.quantity == "most" else 1)
        return bool(self.test and self.looks and enough and self.bears)

    @property
    def look(self) -> Look:
        """At the whole claim."""
        if not self.is_tested:
            return Look()
        if len(self.looks) == 1:
            return self.looks[0]
        return either(self.looks) if self.quantity == "any" else at_least(self.needed, self.looks)


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, what was seen here and in which ``unit``, and what a look says of it."""

    row: Row
    claim: str
    evidence: str
    unit: str

    @property
    def name(self) -> str:
        """That of its row."""
        return self.row.name

    @property
    def effect(self) -> float | None:
        """The mean over the things, in its unit; None of a count."""
        effects = self.row.effects if self.row.quantity == "mean" else ()
        return self._in_unit(sum(effects) / len(effects)) if effects else None

    @property
    def visible(self) -> float | None:
        """The smallest effect that its look would see with power 0.8, in its unit; None where it is not known, or the
        claim is decided.
        """
        effect = self.row.look.sees(LEVEL / 2, POWER)
        is_known = self.verdict == "undecided" and math.isfinite(effect)
        return self._in_unit(effect) if is_known else None

    def _in_unit(self, value: float) -> float:
        """A number to three digits; a share in points or % times 100."""
        return float(f"{value * (100 if self.unit.startswith(('points', '%')) else 1):.3g}")

    @property
    def verdict(self) -> str:
        """Whether it "holds", "does not hold", is "undecided" or "not comparable"."""
        look = self.row.look
        if not self.row.bears:
            return "not comparable"
        if look.p > LEVEL:
            return "undecided"
        return "holds" if look.supports < look.refutes else "does not hold"


def claims_from(page: Page, rows: Iterable[Row]) -> list[Claim]:
    """The claims of a table. Their words in ``page.toml`` are its sentence, what was seen and, where it is not the
    ``unit`` of ``page``, the unit of its effect: "points" and "%" of a share, else the word after the number ("" for
    none); of what cannot be compared, before what was seen the reason.
    """
    claims, usual = [], page.words.get("page", {}).get("unit", "")
    for row in rows:
        name = row.words or row.name
        claim, evidence, unit = (*page.words["claims"][name], usual)[:3]
        if not row.bears:
            evidence = f"{page.words['not_comparable'][name]}; {evidence}"
        words = (page.fill(text, row.fields) for text in (claim, evidence, unit))
        claims.append(Claim(row, *words))
    return claims


_WORDS = "**The paper's findings here**, by the rule at the head of `docs/papers.md`. "
_HEADS = """\
the paper says | quantity, of so many | drawn anew | here | effect | visible | unit | seen on | what was seen | test | \
p | p among all claims | p of the paper's effect"""
_ROW = """\
{claim} | {quantity}, {seen[1]} | {drawn} | {verdict} | {effect} | {visible} | {unit} | {seen[0]} | {evidence} | \
{test} | {p:p} | {p_all:p} | {p_smaller:p}"""


def p_words(p: float | None) -> str:
    """A p-value, to three places."""
    return "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def claims_table(claims: Iterable[Mapping[str, Any]], over: str = "") -> str:
    """Each claim with its verdict and test; ``over``: what tests take as sample."""
    page = Page({"tables": {"claims": {"row": _ROW}}}, p=p_words)
    return section(_WORDS + over, _HEADS, page.rows("claims", claims))

"""Claims: what a paper says, what became of it here, by which test, corrected for how many looks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from oodometer.intervals import normal_quantile
from oodometer.metrics.resampling import REPLICATES

from .tables import Page, section

LEVEL = 0.05  # a claim that is false is said to hold, or one that is true not to, in at most this share of the cases
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


def spread(cell: Mapping[str, Any]) -> float:
    """Standard error of a number, from the wider arm of its interval."""
    wider = max(cell["upper"] - cell["value"], cell["value"] - cell["lower"])
    return float(wider / normal_quantile(cell["level"]))


def above(cell: Mapping[str, Any], bound: float) -> Look:
    """A number with its interval is above a bound, by the arm of the interval on the bound's side."""
    arm = cell["value"] - cell["lower"] if cell["value"] > bound else cell["upper"] - cell["value"]
    return gap(cell["value"] - bound, arm / normal_quantile(cell["level"]))


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


def contrast(samples: Sequence[Sequence[float]], weights: Sequence[float]) -> Look:
    """The weighted sum of the means behind some independent samples, of two values each, is above 0: Welch's t test
    (1947), its degrees of freedom by Satterthwaite (1946).
    """
    if not samples or min(map(len, samples)) < 2:
        return Look()
    difference = sum(
        weight * sum(values) / len(values) for weight, values in zip(weights, samples, strict=True)
    )
    parts = [
        w * w * float(np.var(x, ddof=1)) / len(x) for w, x in zip(weights, samples, strict=True)
    ]
    if sum(parts) <= 0:
        return gap(difference, 0.0)
    freedom = sum(parts) ** 2 / sum(
        v**2 / (len(x) - 1) for v, x in zip(parts, samples, strict=True)
    )
    return gap(difference, sum(parts) ** 0.5, freedom)


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


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, what was seen here, the test (empty: the claim stays undecided) and what it says,
    corrected for the looks of this claim: on how many things it looked, and of how many the claim must be true;
    ``unit`` of its effect; ``p_smaller``: p-value of an effect as large as the paper's, where that is tested.
    """

    name: str
    claim: str
    evidence: str
    test: str = ""
    look: Look = field(default_factory=Look)
    looks: int = 1
    needed: int = 1
    unit: str = ""
    p_smaller: float | None = None

    @property
    def visible(self) -> float | None:
        """The smallest effect that its looks would see with power 0.8, to three digits, in its unit: a share where
        that is points or %, times 100. None where it is not known, or the claim is decided.
        """
        if (
            self.verdict != "undecided"
            or not self.test
            or not math.isfinite(effect := self.look.sees(LEVEL, POWER))
        ):
            return None
        return float(f"{effect * (100 if self.unit.startswith(('points', '%')) else 1):.3g}")

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
    needed). ``words``: whose words it takes, by default those of its name. ``size``: the same looks at the statement
    that the effect is at least as large as the paper's, where the paper gives one.
    """

    name: str
    test: str
    looks: Sequence[Look]
    fields: Mapping[str, Any] = {}
    needed: str | tuple[int, int] = "all"
    words: str = ""
    size: Sequence[Look] = ()


def claims_from(page: Page, rows: Iterable[Row]) -> list[Claim]:
    """The claims of a table; one on nothing, or on "most" of too few things, is undecided. Its words in ``page.toml``
    are its sentence, what was seen and, where it is not the ``unit`` of ``page``, the unit of its effect: "points" and
    "%" of a share, else the word after the number ("" for none).
    """
    claims, usual = [], page.words.get("page", {}).get("unit", "")
    for row in rows:
        words = (*page.words["claims"][row.words or row.name], usual)[:3]
        claim, evidence, unit = (page.fill(text, row.fields) for text in words)
        looks, count = row.looks, len(row.looks)
        if isinstance(row.needed, tuple):
            claims.append(Claim(row.name, claim, evidence, row.test, looks[0], *row.needed, unit))
        elif row.needed == "any":
            claims.append(Claim(row.name, claim, evidence, row.test, either(looks), count, 1, unit))
        elif count < (FEWEST if row.needed == "most" else 1):
            claims.append(Claim(row.name, claim, evidence or "nothing to look at"))
        else:
            needed = count // 2 + 1 if row.needed == "most" else count
            smaller = at_least(needed, row.size).refutes if row.size else None
            combined = at_least(needed, looks)
            claims.append(
                Claim(row.name, claim, evidence, row.test, combined, count, needed, unit, smaller)
            )
    return claims


_OVER_ROWS = "Tests are over rows: what another training would give they do not say."
_WORDS = """\
**The paper's findings here.** A claim holds, or does not, where its p-value is at most {level}, corrected for the \
looks of the claim (partial conjunction); else it is undecided. {over} Of {tested} claims tested {decided} are \
decided; {firm} of these verdicts also stand when corrected for the number of claims (Holm). "visible": \
how large an effect must be, in each thing that an undecided claim needs, to be found with power {power} at the errors \
seen here. One thing is enough to refute a claim about all of several; for that no size is given. "Smaller than in the \
paper": undecided, but an effect as large as the paper's is refuted by the same test."""
_HEADS = "the paper says | here | what was seen | test | p for | p against | p among all claims | visible"
_ROW = "{claim} | {verdict}{smaller} | {evidence} | {tested} | {p_for:p} | {p_against:p} | {p_all:p} | {shown}"


def visible_words(claim: Mapping[str, Any]) -> str:
    """The smallest visible effect of a claim with its unit; a dash where there is none."""
    return "-" if claim.get("visible") is None else f"{claim['visible']:g} {claim['unit']}".rstrip()


def is_smaller(claim: Mapping[str, Any]) -> bool:
    """Whether an undecided claim's effect was shown to be smaller than the paper's."""
    return bool(claim.get("p_smaller", 1.0) <= LEVEL)


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
        smaller = ", but smaller than in the paper" if is_smaller(claim) else ""
        rows.append({**claim, "tested": words, "shown": visible_words(claim), "smaller": smaller})
    fields = {
        "level": LEVEL,
        "power": POWER,
        "over": over,
        "tested": tested,
        "decided": len(decided),
    }
    firm = sum(claim["p_all"] <= LEVEL for claim in decided)
    table = {"tables": {"claims": {"row": _ROW}}}
    page = Page(table, p=lambda p: "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}")
    return section(page.fill(_WORDS, {**fields, "firm": firm}), _HEADS, page.rows("claims", rows))

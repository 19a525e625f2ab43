"""Claims: what a paper says, what became of it here, by which test, corrected for how many looks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .looks import Look, at_least, holm
from .tables import section

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


def on_most(name: str, claim: str, evidence: str, test: str, looks: Sequence[Look]) -> Claim:
    """A claim on more than half of at least three things; on fewer nothing is said."""
    if len(looks) < FEWEST:
        return Claim(name, claim, evidence)
    needed = len(looks) // 2 + 1
    return Claim(name, claim, evidence, test, at_least(needed, looks), len(looks), needed)


def judged(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Claims ready for JSON, with their verdicts and with their p-values corrected for the number of claims (Holm).

    The verdict follows from the p-value that is corrected for the looks of the claim alone; ``p_all`` says whether it
    would stand among all the claims of the paper that were tested.

    >>> judged([Claim("a", "A", "seen", "a test", Look(0.04, 1)), Claim("b", "B", "not tested")])[0]["p_all"]
    0.04
    """
    tested = [one for one in claims if one.test]
    corrected = holm([min(one.look.supports, one.look.refutes) for one in tested])
    over_all = {one.name: round(p, 6) for one, p in zip(tested, corrected, strict=True)}
    out = []
    for one in claims:
        row: dict[str, Any] = {"name": one.name, "claim": one.claim, "verdict": one.verdict}
        row |= {"evidence": one.evidence, "test": one.test or None}
        if one.test:
            row |= {"looks": one.looks, "needed": one.needed}
            row |= {"p_for": round(one.look.supports, 6), "p_against": round(one.look.refutes, 6)}
            row["p_all"] = over_all[one.name]
        out.append(row)
    return out


_OVER_ROWS = "Tests are over rows: what another training would give they do not say."


def claims_table(claims: Iterable[Mapping[str, Any]], over: str = _OVER_ROWS) -> str:
    """Each claim with its verdict, what was seen and how it was tested, and which verdicts stand among all claims.

    ``over`` says what the tests take for their sample.
    """
    claims = list(claims)
    heads = ["the paper says", "here", "what was seen", "test", "p for", "p against", "p among all claims"]
    rows = [[one["claim"], one["verdict"], one["evidence"], *_tested(one)] for one in claims]
    tested = [one for one in claims if one["test"]]
    decided = [one for one in tested if one["verdict"] != "undecided"]
    firm = sum(one["p_all"] <= LEVEL for one in decided)
    words = "**The paper's findings here.** A claim holds, or does not, where its p-value is at most "
    words += f"{LEVEL}, corrected for the looks of the claim (partial conjunction); else it is undecided. "
    words += f"{over} "
    words += f"Of {len(tested)} claims tested {len(decided)} are decided; {firm} of these verdicts also stand when "
    words += "corrected for the number of claims (Holm)."
    return section(words, heads, rows)


def _tested(one: Mapping[str, Any]) -> list[str]:
    if not one["test"]:
        return ["none", "-", "-", "-"]
    every = "all" if one["needed"] == one["looks"] else f"{one['needed']} or more"
    looks = f"; {every} of {one['looks']} looks" if one["looks"] > 1 else ""
    return [f"{one['test']}{looks}", *(_p(one[name]) for name in ("p_for", "p_against", "p_all"))]


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"

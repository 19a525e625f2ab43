"""Cases: which of the six failure cases occur, beyond chance among all looks, and how often a true one is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..kit.claims import LEVEL, Claim
from ..kit.looks import Look, all_of, either
from .orders import NAMES, SETS, Replicates
from .search import CASES, EFFECTS


def _seen(result: Mapping[str, Any], case: str) -> list[str]:
    """Where `compare` sees a case: sets for the tail, which is about pairs, else models and sets."""
    if case == "tail":
        found = [NAMES[one["set"]] for one in result["findings"] if one["name"] == "tail"]
    else:
        found = [
            f"{model['name']} on {NAMES[name]}"
            for model in result["models"]
            for name in SETS
            for one in model[name]["cases"]
            if one["name"] == case
        ]
    return list(dict.fromkeys(found))


def _looks(result: Mapping[str, Any], case: str) -> tuple[list[Look], str]:
    """A look for each pair of models, or for each model, on both sets; and the test."""
    many = len(result["models"])
    if case == "tail":
        replicates = Replicates(result)
        looks = [Look(replicates.look(one["share"]).supports) for one in result["tails"]]
        looks += [Look()] * (len(SETS) * many * (many - 1) // 2 - len(looks))
        return looks, replicates.test
    looks = [Look(one[case]["p"]) for one in result["search"]["observed"]]
    return looks, f"{result['search']['chance']:,} curves of chance"


def power_at(result: Mapping[str, Any], case: str, name: str, effect: float) -> Mapping[str, Any]:
    """What the search for a case on a set would find of a true inversion of a size."""
    for one in result["search"]["power"]:
        if (one["name"], one["set"], one["effect"]) == (case, name, effect):
            found: Mapping[str, Any] = one
            return found
    raise KeyError((case, name, effect))


def case_claims(result: Mapping[str, Any]) -> list[Claim]:
    """A claim for each case that it occurs; one that is not seen is undecided, with the power of the search."""
    out = []
    for case in CASES:
        looks, test = _looks(result, case)
        where = ", ".join(_seen(result, case)) or "not seen"
        out.append(Claim(case, f"case {CASES[case]} ({case}) occurs", where, test, either(looks), len(looks)))
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
            rest.append(f"{title}{_power(result, one.name)}{_short(one)}")
    said = [f"beyond chance: {'; '.join(beyond) or 'none'}"]
    if rest:
        points = f"{100 * EFFECTS[-1]:.0f} points"
        said.append(f"undecided, with the power at a true inversion of {points} on IMDb / SST-2: {', '.join(rest)}")
    claim = "all six cases of Table 1 occur in these models"
    test = "bootstrap and curves of chance, each case corrected for its looks"
    looks = [one.look for one in claims]
    return Claim("six_cases", claim, "; ".join(said), test, all_of(looks), len(looks), len(looks))


def _power(result: Mapping[str, Any], case: str) -> str:
    return " " + " / ".join(f"{100 * power_at(result, case, name, EFFECTS[-1])['power']:.0f} %" for name in SETS)


def _short(one: Claim) -> str:
    if one.evidence == "not seen":
        return ""
    return f" (seen: {one.evidence}; p {one.look.supports:.2f} among {one.looks} looks)"


def tested(claims: Sequence[Claim]) -> list[list[str]]:
    """Where each case was seen, its p-value among its looks, and the verdict."""
    return [[one.claim, one.evidence, f"{one.look.supports:.3f} ({one.looks})", one.verdict] for one in claims]

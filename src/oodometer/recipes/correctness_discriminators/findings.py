"""Findings: each claim of the paper, checked by code against a result: holds here, does not, or cannot be said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..kit.claims import Claim

__all__ = ["BASELINES", "claims_of", "sets_of"]

BASELINES = {"max-prob": "MaxProb", "ac": "AC", "atc": "ATC"}
CLOSE = 0.10  # of a single judge: the paper's own distances are up to 8.3 points
NEAR_ALL = 0.90  # a recall that approaches 100 %
FEWEST = 3  # data sets from which on "most" means something


def sets_of(result: Mapping[str, Any], domain: str | None = None) -> list[dict[str, Any]]:
    """The test sets of all finished tasks, each with its task, its rows by method, and the width of the oracle."""
    out = []
    for task in result["tasks"].values():
        for name, one in task["sets"].items():
            if domain is None or one["domain"] == domain:
                by_method = {row["method"]: row for row in one["methods"]}
                ends = [by_method.get(f"max-prob-oracle-{end}") for end in ("lower", "upper")]
                oracle = (
                    None if None in ends else ends[1]["value"]["value"] - ends[0]["value"]["value"]  # type: ignore[index]
                )
                out.append({**one, "name": name, "task": task["task"], "family": task["family"],
                            "by_method": by_method, "oracle_width": oracle})  # fmt: skip
    return out


def claims_of(result: Mapping[str, Any]) -> list[Claim]:
    """Every claim that the finished tasks let one check, in the paper's order.

    A claim on "most" data sets holds where it is seen in more than half of at least three.
    """
    every, away = sets_of(result), sets_of(result, "out")
    if not every:
        return []
    return [
        _single(every),
        _recalls(every),
        _inside(every, "any distribution", "inside"),
        _inside(away, "another distribution", "inside_out"),
        _tight(away),
        *(_beats(away, method) for method in BASELINES),
        *_parsing(every),
        _small_samples(every),
        *_pure(every),
        *_self_training(result),
        *_metric(result),
    ]


def _claim(name: str, claim: str, holds: bool | None, evidence: str) -> Claim:
    return {"name": name, "claim": claim, "holds": holds, "evidence": evidence}


def _most(seen: Sequence[Any], of: Sequence[Any]) -> bool | None:
    return None if len(of) < FEWEST else 2 * len(seen) > len(of)


def _points(value: float) -> str:
    return f"{100 * value:.1f}"


def _single(sets: Sequence[Mapping[str, Any]]) -> Claim:
    """Is one judge's share near the truth?"""
    errors = {one["title"]: one["by_method"]["single"]["error"]["value"] for one in sets}
    near = [name for name, error in errors.items() if error <= CLOSE]
    far = "; ".join(f"{name} {_points(error)}" for name, error in errors.items() if error > CLOSE)
    text = f"within 10 points on {len(near)} of {len(sets)} sets" + (f"; farther: {far}" if far else "")
    claim = "a single judge's predicted accuracy is close to the truth on most data sets"
    return _claim("single_close", claim, _most(near, list(sets)), text)


def _recalls(sets: Sequence[Mapping[str, Any]]) -> Claim:
    """Do the bounds find nearly all right, or all wrong, outputs? In the paper on 6 and 4 of 10 sets."""

    def near(method: str, measure: str) -> int:
        found = [one["by_method"][method].get(measure) for one in sets]
        return sum(value is not None and value["value"] >= NEAR_ALL for value in found)

    right, wrong = near("upper", "correct_recall"), near("lower", "incorrect_recall")
    text = f"at least 90 %: Correct recall of the upper bound on {right}, Incorrect recall of the lower bound on "
    text += f"{wrong} of {len(sets)} sets (in the paper on 6 and 4 of 10)"
    holds = None if len(sets) < FEWEST else min(right, wrong) >= 0.4 * len(sets)
    return _claim("recalls", "recalls of the two bounds approach 100 % on many data sets", holds, text)


def _inside(sets: Sequence[Mapping[str, Any]], where: str, name: str) -> Claim:
    """Does the truth lie between the bounds, and if not, is it outside beyond chance?"""
    held = [one for one in sets if one["inside"]]
    out = []
    for one in sets:
        if not one["inside"]:
            widest = one["bounds"][0]
            side, gap = ("below", widest["above_lower"]) if widest["above_lower"]["value"] < 0 else (
                "above", widest["below_upper"])  # fmt: skip
            sure = "beyond chance" if gap["upper"] < 0 else "within chance"
            out.append(f"{one['title']} by {_points(-gap['value'])} points {side} ({sure})")
    widths = sorted(one["width"]["value"] for one in sets)
    text = f"on {len(held)} of {len(sets)} sets"
    if widths:
        text += f", bounds {_points(widths[0])} to {_points(widths[-1])} points wide"
    text += f"; outside: {'; '.join(out)}" if out else ""
    claim = f"gold accuracy lies between the bounds on most data sets ({where}; paper: 9 of 10)"
    return _claim(name, claim, _most(held, list(sets)), text)


def _tight(sets: Sequence[Mapping[str, Any]]) -> Claim:
    """Are the bounds tighter than those of thresholds that know the truth?"""
    known = [one for one in sets if one["oracle_width"] is not None]
    tighter = [one for one in known if one["width"]["value"] < one["oracle_width"]]
    said = "; ".join(
        f"{one['title']} {_points(one['width']['value'])} against {_points(one['oracle_width'])}"
        for one in known
    )
    text = (
        f"tighter on {len(tighter)} of {len(known)} sets: {said}"
        if known
        else "no set has both right and wrong rows"
    )
    claim = "out of distribution the bounds are tighter than those of MaxProb with an oracle"
    return _claim("tighter_than_oracle", claim, _most(tighter, known), text)


def _beats(sets: Sequence[Mapping[str, Any]], method: str) -> Claim:
    """Is the mean of the bounds nearer to the truth than a baseline?"""
    known = [one for one in sets if method in one["by_method"]]

    def error(one: Mapping[str, Any], name: str) -> float:
        return float(one["by_method"][name]["error"]["value"])

    nearer = [one for one in known if error(one, "mean") < error(one, method)]
    ours, theirs = (sum(error(one, name) for one in known) / max(1, len(known)) for name in ("mean", method))
    text = f"nearer on {len(nearer)} of {len(known)} sets; mean error {_points(ours)} against {_points(theirs)} points"
    claim = f"out of distribution the mean of the bounds beats {BASELINES[method]}"
    return _claim(f"mean_beats_{method}", claim, _most(nearer, known), text)


def _parsing(sets: Sequence[Mapping[str, Any]]) -> list[Claim]:
    """In the paper, ATC is the better point estimate for constituency parsing."""
    known = [one for one in sets if one["family"] == "parsing" and "atc" in one["by_method"]]
    if not known:
        return []
    errors = [
        (one["title"], *(one["by_method"][m]["error"]["value"] for m in ("atc", "mean"))) for one in known
    ]
    text = "; ".join(
        f"{name}: ATC {_points(atc)}, mean of bounds {_points(mean)}" for name, atc, mean in errors
    )
    claim = "on constituency parsing ATC is nearer to the truth than the mean of the bounds"
    return [_claim("atc_on_parsing", claim, all(atc < mean for _, atc, mean in errors), text)]


def _small_samples(sets: Sequence[Mapping[str, Any]]) -> Claim:
    """Figure 4: do the bounds hold in small samples of a set on which they hold?"""
    held = [one for one in sets if one["inside"] and len(one["subsets"]) > 1]
    claim = "the bounds hold in small samples too (Figure 4)"
    if not held:
        return _claim("small_samples", claim, None, "there is no set on which the bounds hold")
    small = [one["subsets"][0] for one in held]
    shares = [row["bounds"][0]["reliability"]["value"] for row in small]
    mean = sum(shares) / len(shares)
    rows = ", ".join(sorted({str(row["rows"]) for row in small}))
    text = f"{100 * mean:.0f} % of the draws of {rows} rows have the truth inside, over {len(held)} sets on which the "
    text += "bounds hold"
    return _claim("small_samples", claim, None if len(held) < FEWEST else mean >= 0.8, text)


def _pure(sets: Sequence[Mapping[str, Any]]) -> list[Claim]:
    """The paper's outlook: what the lower bound accepts is right more often than the rest."""
    known = [
        (one["title"], one["by_method"]["lower"]["correct_precision"], one["gold"])
        for one in sets
        if one["by_method"]["lower"].get("correct_precision") is not None and 0 < one["gold"]["value"] < 1
    ]
    purer = [row for row in known if row[1]["lower"] > row[2]["value"]]
    said = "; ".join(f"{name} {_points(p['value'])} of {_points(gold['value'])}" for name, p, gold in known)
    claim = "outputs that all judges accept are right more often than others (the paper's outlook)"
    text = f"beyond chance on {len(purer)} of {len(known)} sets, precision of accepted and accuracy of all: {said}"
    return [_claim("accepted_are_purer", claim, _most(purer, known), text)] if known else []


def _self_training(result: Mapping[str, Any]) -> list[Claim]:
    out = []
    for task in result["tasks"].values():
        found = task.get("self_training")
        if not found or not found["sets"]:
            continue
        first = next(one for one in found["sets"] if one["name"] == found["set"])
        gain, noise = first["new_gain"], first["other_seed_gain"]
        text = f"{found['kept']} accepted of {found['pool']} rows"
        text += f" ({_points(found['precision']['value'])} % right); " if found["precision"] else "; "
        text += f"gain on other rows {_span(gain)} points, of another seed alone {_span(noise)}"
        beyond = gain["lower"] > max(0.0, noise["upper"])
        holds = True if beyond else False if gain["upper"] < 0 or gain["value"] <= noise["value"] else None
        claim = (
            f"learning from accepted outputs makes the parser better ({task['title']}; the paper's outlook)"
        )
        out.append(_claim(f"self_training_{task['task']}", claim, holds, text))
    return out


def _span(one: Mapping[str, Any]) -> str:
    return f"{100 * one['value']:+.1f} [{100 * one['lower']:+.1f}, {100 * one['upper']:+.1f}]"


def _metric(result: Mapping[str, Any]) -> list[Claim]:
    out = []
    for task in result["tasks"].values():
        found = task.get("metric")
        if not found:
            continue
        rows = found["sets"]
        nearer = [one for one in rows if one["error"]["value"] < one["source_error"]["value"]]
        said = "; ".join(
            f"{one['title']}: predicted {_points(one['predicted']['value'])}, true {_points(one['true']['value'])}, "
            f"on the development set {_points(one['source']['value'])}"
            for one in rows
        )
        claim = f"a discriminator can predict another metric, {found['metric']} ({task['title']}; the paper's outlook)"
        holds = len(nearer) == len(rows)
        out.append(_claim(f"metric_{task['task']}", claim, holds, said))
    return out

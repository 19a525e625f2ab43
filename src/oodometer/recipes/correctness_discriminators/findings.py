"""Findings: each claim of the paper, checked by code against a result and tested."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...intervals import normal_quantile
from ..kit.claims import (
    FEWEST,
    Claim,
    Look,
    above,
    all_of,
    at_least,
    binomial,
    gap,
    larger,
    on_all,
    on_most,
    sign_flips,
    spread,
)
from ..kit.tables import cells

_NAMES = ("method", "agree")
"""What names a row of a list: a method of the study, or how many judges must agree."""


def trainings(result: Mapping[str, Any], task: str) -> list[Mapping[str, Any]]:
    """All trainings of a task, the first seed first."""
    others = result.get("replicates", {}).get(task, {})
    return [result["tasks"][task], *(others[seed] for seed in sorted(others, key=int))]


def pooled(several: Sequence[Any]) -> Any:
    """One of several structures of the same form: numbers with an interval become their mean, with an interval.

    With m trainings, standard errors s_i of the rows and a standard deviation d between trainings, the standard error
    is sqrt(mean(s_i^2) + d^2 / m): the rows are the same in every training, so their part does not shrink. True and
    false become what most say, false where as many do. Rows are matched by method or number of judges. All else is
    taken from the first, and so is what only the first has.

    >>> one = {"value": 0.4, "lower": 0.3, "upper": 0.5, "level": 0.95}
    >>> found = pooled([one, {**one, "value": 0.6, "lower": 0.5, "upper": 0.7}])
    >>> found["value"], round(found["lower"], 3)
    (0.5, 0.28)
    >>> pooled([{"inside": True, "rows": 7}, {"inside": False, "rows": 7}])
    {'inside': False, 'rows': 7}
    """
    first = several[0]
    if len(several) == 1:
        return first
    if isinstance(first, Mapping):
        told = [one for one in several if isinstance(one, Mapping)]
        if not {"value", "lower", "upper", "level"} <= set(first):
            return {key: pooled([one[key] for one in told if key in one]) for key in first}
        values, quantile = np.array([one["value"] for one in told]), normal_quantile(first["level"])
        arms = np.array([[one["value"] - one["lower"], one["upper"] - one["value"]] for one in told])
        between = float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0
        below, above = np.sqrt(np.square(arms / quantile).mean(axis=0) + between) * quantile
        middle = float(values.mean())
        return {**first, "value": middle, "lower": middle - float(below), "upper": middle + float(above)}
    if isinstance(first, list | tuple):
        key = next((name for name in _NAMES if first and isinstance(first[0], Mapping) and name in first[0]), None)
        if key is None:
            return first
        named = [{row[key]: row for row in rows} for rows in several]  # a training may lack one
        return [pooled([rows[row[key]] for rows in named if row[key] in rows]) for row in first]
    return 2 * sum(several) > len(several) if isinstance(first, bool) else first


BASELINES = {"max-prob": "MaxProb", "ac": "AC", "atc": "ATC"}
CLOSE = 0.10  # of a single judge: the paper's own distances are up to 8.3 points
NEAR_ALL = 0.90  # a recall that approaches 100 %
MANY = 0.4  # of the data sets: the paper has 4 and 6 of 10
INSIDE = 0.8  # of the draws of a small sample have the truth inside
NORMAL = "normal, on the rows"
SPREADS = "normal, errors added"  # two numbers from the same rows, however they depend on each other
Sets = Sequence[Mapping[str, Any]]
PROCEDURES = {
    "half": "P ≥ 0.5, as in the paper",
    "thresholds": "thresholds of the judges",
    "mixed": "judges, parsers of halves and confidence, at thresholds, one may disagree",
}
_BESIDE = {"half": "at_half", "mixed": "mixed"}  # where what differs from the thresholds of the judges stands


def sets_of(result: Mapping[str, Any], domain: str | None = None, at: str = "thresholds") -> list[dict[str, Any]]:
    """The test sets of all finished tasks, each with its task, its rows by method, and the width of the oracle.

    ``at`` is the procedure: who votes, and from which P(Correct) on. Where a task was trained from several seeds, the
    numbers are means over them. Sets without that procedure are left out.
    """
    out = []
    for key, task in result["tasks"].items():
        runs = trainings(result, key)
        for name, first in task["sets"].items():
            if domain is not None and first["domain"] != domain:
                continue
            one = pooled([run["sets"][name] for run in runs if name in run["sets"]])
            by_method = {row["method"]: row for row in one["methods"]}
            if at in _BESIDE:
                if _BESIDE[at] not in one:
                    continue
                beside = one[_BESIDE[at]]
                by_method |= {row["method"]: row for row in beside["methods"]}
                one = {**one, **beside}
            ends = [by_method.get(f"max-prob-oracle-{end}") for end in ("lower", "upper")]
            known = [end["value"]["value"] for end in ends if end is not None]
            oracle = known[1] - known[0] if len(known) == 2 else None
            place = {"name": name, "task": task["task"], "family": task["family"], "seeds": len(runs)}
            out.append({**one, **place, "by_method": by_method, "oracle_width": oracle})
    return out


def claims_of(result: Mapping[str, Any]) -> list[Claim]:
    """Every claim that the finished tasks let one check, in the paper's order, for each procedure.

    A claim on "most" data sets is one on more than half of at least three of them; each is tested on its rows, and
    where there are several trainings on these as well.
    """
    out: list[Claim] = []
    for at, words in PROCEDURES.items():
        every, away = sets_of(result, at=at), sets_of(result, "out", at)
        if every:
            found = [
                *([_single(every)] if at != "mixed" else []),  # the first judge is the same as at thresholds
                _recalls(every),
                _inside(every, "any distribution", "inside"),
                _inside(away, "another distribution", "inside_out"),
                _tight(away),
                *(_beats(away, method) for method in BASELINES),
                *_parsing(every),
                _small_samples(every),
                *_pure(every),
            ]
            out += [replace(one, name=f"{one.name}_at_{at}", claim=f"{one.claim} ({words})") for one in found]
    return [*out, *_self_training(result), *_metric(result)] if out else []


def _points(value: float) -> str:
    return f"{100 * value:.1f}"


def _smaller(first: Mapping[str, Any], second: Mapping[str, Any]) -> Look:
    """One number is below another of the same rows; their errors are added, which no dependence can exceed."""
    return gap(second["value"] - first["value"], spread(first) + spread(second))


def _single(sets: Sets) -> Claim:
    """Is one judge's share near the truth?"""
    errors = [one["by_method"]["single"]["error"] for one in sets]
    far = [(one["title"], e["value"]) for one, e in zip(sets, errors, strict=True) if e["value"] > CLOSE]
    text = f"within 10 points on {len(sets) - len(far)} of {len(sets)} sets"
    text += f"; farther: {'; '.join(f'{name} {_points(error)}' for name, error in far)}" if far else ""
    looks = [gap(CLOSE - error["value"], spread(error)) for error in errors]
    claim = "a single judge's predicted accuracy is close to the truth on most data sets"
    return on_most("single_close", claim, text, NORMAL, looks)


def _recalls(sets: Sets) -> Claim:
    """Do the bounds find nearly all right, or all wrong, outputs? In the paper on 6 and 4 of 10 sets."""
    needed, parts, near = math.ceil(MANY * len(sets)), [], []
    for method, measure in (("upper", "correct_recall"), ("lower", "incorrect_recall")):
        found = [one["by_method"][method].get(measure) for one in sets]
        near.append(sum(one is not None and one["value"] >= NEAR_ALL for one in found))
        parts.append(at_least(needed, [Look() if one is None else above(one, NEAR_ALL) for one in found]))
    text = f"at least 90 %: Correct recall of the upper bound on {near[0]}, Incorrect recall of the lower bound on "
    text += f"{near[1]} of {len(sets)} sets (in the paper on 6 and 4 of 10)"
    claim, test = "recalls of the two bounds approach 100 % on many data sets", "normal, on the rows, for both recalls"
    return Claim("recalls", claim, text, test, all_of(parts), len(sets), needed)


def _inside(sets: Sets, where: str, name: str) -> Claim:
    """Does the truth lie between the bounds?"""
    out, looks = [], []
    for one in sets:
        widest = one["bounds"][0]
        looks.append(all_of([above(widest[end], 0) for end in ("above_lower", "below_upper")]))
        if not one["inside"]:
            below = widest["above_lower"]["value"] < 0
            side, apart = ("below", "above_lower") if below else ("above", "below_upper")
            out.append(f"{one['title']} by {_points(-widest[apart]['value'])} points {side}")
    widths = sorted(one["width"]["value"] for one in sets)
    text = f"on {sum(map(bool, (one['inside'] for one in sets)))} of {len(sets)} sets"
    text += f", bounds {_points(widths[0])} to {_points(widths[-1])} points wide" if widths else ""
    text += f"; outside: {'; '.join(out)}" if out else ""
    claim = f"gold accuracy lies between the bounds on most data sets ({where}; paper: 9 of 10)"
    return on_most(name, claim, text, NORMAL, looks)


def _tight(sets: Sets) -> Claim:
    """Are the bounds tighter than those of thresholds that know the truth? Asked where the bounds hold."""
    known = [one for one in sets if one["oracle_width"] is not None and one["inside"]]
    widths = [(one["title"], one["width"]["value"], one["oracle_width"]) for one in known]
    said = "; ".join(f"{name} {_points(ours)} against {_points(theirs)}" for name, ours, theirs in widths)
    text = f"tighter on {sum(ours < theirs for _, ours, theirs in widths)} of {len(known)} sets on which the bounds "
    text += "hold"
    text += f": {said}" if known else ""
    looks = []
    for one in known:
        ends = [one["by_method"][f"max-prob-oracle-{end}"]["value"] for end in ("lower", "upper")]
        looks.append(gap(one["oracle_width"] - one["width"]["value"], spread(one["width"]) + sum(map(spread, ends))))
    claim = "out of distribution the bounds are tighter than those of MaxProb with an oracle"
    return on_most("tighter_than_oracle", claim, text, SPREADS, looks)


def _beats(sets: Sets, method: str) -> Claim:
    """Is the mean of the bounds nearer to the truth than a baseline, in the mean over the data sets?"""
    known = [one["by_method"] for one in sets if method in one["by_method"]]
    errors = [(one["mean"]["error"]["value"], one[method]["error"]["value"]) for one in known]
    means = [sum(pair[i] for pair in errors) / max(1, len(errors)) for i in (0, 1)]
    text = f"nearer on {sum(ours < theirs for ours, theirs in errors)} of {len(known)} sets; mean error "
    text += f"{_points(means[0])} against {_points(means[1])} points"
    name, claim = f"mean_beats_{method}", f"out of distribution the mean of the bounds beats {BASELINES[method]}"
    if len(known) < FEWEST:
        return Claim(name, claim, text)
    look = sign_flips([theirs - ours for ours, theirs in errors])
    return Claim(name, claim, text, "sign flips of the paired errors, over data sets", look)


def _parsing(sets: Sets) -> Iterator[Claim]:
    """In the paper, ATC is the better point estimate for constituency parsing."""
    known = [one for one in sets if one["family"] == "parsing" and "atc" in one["by_method"]]
    errors = [[one["by_method"][method]["error"] for method in ("atc", "mean")] for one in known]
    text = "; ".join(
        f"{one['title']}: ATC {_points(atc['value'])}, mean of bounds {_points(mean['value'])}"
        for one, (atc, mean) in zip(known, errors, strict=True)
    )
    claim = "on constituency parsing ATC is nearer to the truth than the mean of the bounds"
    if known:
        yield on_all("atc_on_parsing", claim, text, SPREADS, [_smaller(*pair) for pair in errors])


def _small_samples(sets: Sets) -> Claim:
    """Figure 4: do the bounds hold in small samples of all sets, not only of those on which they hold as a whole?"""
    known = [one for one in sets if len(one["subsets"]) > 1]
    claim = "the bounds hold in small samples too (Figure 4)"
    if not known:
        return Claim("small_samples", claim, "there is no set that samples can be drawn of")

    def counted(some: Sets) -> tuple[int, int]:
        small = [one["subsets"][0] for one in some]
        inside = sum(round(row["draws"] * row["bounds"][0]["reliability"]["value"]) for row in small)
        return inside, sum(row["draws"] for row in small)

    holding = [one for one in known if one["inside"]]
    (inside, draws), (held, of) = counted(known), counted(holding)
    rows = ", ".join(sorted({str(one["subsets"][0]["rows"]) for one in known}))
    text = f"{100 * inside / draws:.0f} % of the draws of {rows} rows have the truth inside, over all {len(known)} sets"
    text += f"; over the {len(holding)} on which the bounds hold {100 * held / of:.0f} %" if of else ""
    text += f"; asked are {100 * INSIDE:.0f} %"
    return Claim("small_samples", claim, text, "binomial, on the draws", binomial(inside, draws, INSIDE))


def _pure(sets: Sets) -> Iterator[Claim]:
    """The paper's outlook: what the lower bound accepts is right more often than the rest."""
    known, looks = [], []
    for one in sets:
        accepted, gold = one["by_method"]["lower"], one["gold"]["value"]
        precision = accepted.get("correct_precision")
        if precision is not None and 0 < gold < 1:
            from scipy.stats import hypergeom

            # The accepted rows hold more right ones than as many rows drawn from all
            taken = round(one["rows"] * accepted["value"]["value"])
            right = round(taken * precision["value"])
            law = hypergeom(one["rows"], round(one["rows"] * gold), taken)
            known.append((one["title"], precision["value"], gold))
            looks.append(Look(float(law.sf(right - 1)), float(law.cdf(right))))
    said = "; ".join(f"{name} {_points(precision)} of {_points(gold)}" for name, precision, gold in known)
    text = f"on {sum(precision > gold for _, precision, gold in known)} of {len(known)} sets, precision of accepted "
    text += "and "
    claim = "outputs that all judges accept are right more often than others (the paper's outlook)"
    if known:
        test = "hypergeometric, on the rows"
        yield on_most("accepted_are_purer", claim, f"{text}accuracy of all: {said}", test, looks)


def _self_training(result: Mapping[str, Any]) -> Iterator[Claim]:
    """Are the parsers that learnt from accepted outputs better than those that did not, beyond what seeds differ by?"""
    for key, task in result["tasks"].items():
        found = [run["self_training"] for run in trainings(result, key) if "self_training" in run]
        found = [one for one in found if one["sets"]]
        if not found:
            continue
        firsts = [next(one for one in run["sets"] if one["name"] == run["set"]) for run in found]
        parts = []
        for run, one in zip(found, firsts, strict=True):
            right = f" ({_points(run['precision']['value'])} % right)" if run["precision"] else ""
            gain, low, high = (f"{100 * one['new_gain'][end]:+.1f}" for end in ("value", "lower", "upper"))
            parts.append(f"{run['kept']} accepted of {run['pool']} rows{right}, gain {gain} [{low}, {high}]")
        text = f"gain on other rows, in points, of {len(found)} trainings on either side: {'; '.join(parts)}"
        claim = f"learning from accepted outputs makes the parser better ({task['title']}; the paper's outlook)"
        name = f"self_training_{task['task']}"
        if len(found) < FEWEST:
            yield Claim(name, claim, f"{text}; fewer than {FEWEST} trainings decide nothing")
        else:
            old, new = ([one[side]["value"] for one in firsts] for side in ("old", "new"))
            yield Claim(name, claim, text, "Welch's t test over trainings", larger(new, old))


def _metric(result: Mapping[str, Any]) -> Iterator[Claim]:
    """Is a judge of another metric nearer to its mean than the mean on the development set is?"""
    for task in result["tasks"].values():
        if found := task.get("metric"):
            row = "{title}: predicted {predicted:bare}, true {true:bare}, on the development set {source:bare}"
            claim = f"a discriminator can predict another metric, {found['metric']} ({task['title']}; the paper's "
            claim += "outlook)"
            looks = [_smaller(one["error"], one["source_error"]) for one in found["sets"]]
            yield on_all(f"metric_{task['task']}", claim, "; ".join(cells(row, found["sets"])), SPREADS, looks)


class Faring(NamedTuple):
    """How one procedure fared on the later trainings; errors and widths are shares, ``nearer`` counts data sets.

    ``inside`` and ``looks`` count data sets of each training, all and in distribution. ``beside`` has for each
    baseline its error, on how many of ``away`` data sets (those out of distribution) the mean of the bounds was
    nearer, and the p-value of the paired test over these; without such sets ``error`` is None and ``beside`` empty.
    """

    procedure: str
    inside: int
    looks: int
    inside_near: int
    looks_near: int
    width: float
    away: int
    error: float | None
    beside: dict[str, tuple[float, int, float]]


def without_first(result: Mapping[str, Any]) -> dict[str, Any]:
    """The result as if the first training of every task had not been done; tasks with one training are left out."""
    tasks, others = {}, {}
    for name in result["tasks"]:
        first, *later = trainings(result, name)
        if later:
            tasks[name] = {**first, "sets": later[0]["sets"]}
            others[name] = {str(one["seed"]): one for one in later[1:]}
    return {**result, "tasks": tasks, "replicates": others}


def farings(result: Mapping[str, Any]) -> list[Faring]:
    """Each procedure on the later trainings; empty where there are none.

    Truth inside or not is counted for each training. Errors are means over the trainings of a data set before they
    are paired: trainings on the same rows are not independent, so that the test is over data sets.
    """
    later, out = without_first(result), []
    single = [
        {**later, "tasks": {name: {**task, "sets": one["sets"]}}, "replicates": {}}
        for name, task in later["tasks"].items()
        for one in trainings(later, name)
    ]
    for at in PROCEDURES:
        found = sets_of(later, at=at)
        if not found:
            continue
        looks = [(one["domain"] == "in", one["inside"]) for training in single for one in sets_of(training, at=at)]
        away = [one["by_method"] for one in found if one["domain"] == "out"]
        errors = {key: [one[key]["error"]["value"] for one in away] for key in ("mean", *BASELINES)}
        beside = {}
        for key in BASELINES if away else ():
            gains = [their - our for our, their in zip(errors["mean"], errors[key], strict=True)]
            beside[key] = (float(np.mean(errors[key])), sum(gain > 0 for gain in gains), sign_flips(gains).supports)
        near = [inside for is_near, inside in looks if is_near]
        counts = (sum(inside for _, inside in looks), len(looks), sum(near), len(near))
        width = float(np.mean([one["width"]["value"] for one in found]))
        error = float(np.mean(errors["mean"])) if away else None
        out.append(Faring(at, *counts, width, len(away), error, beside))
    return out


ENOUGH = 0.9  # of the sets must have the truth inside: the paper's 9 of 10
_ACCEPT = {"half": "P ≥ 0.5", "thresholds": "thresholds", "slack": "thresholds with slack"}
Row = Mapping[str, Any]


class Fare(NamedTuple):
    """How a choice fared: sets that hold the truth, of how many; the same in distribution; mean width and error."""

    name: str
    inside: int
    sets: int
    inside_near: int
    sets_near: int
    width: float
    error: float
    error_away: float


def fares(result: Mapping[str, Any]) -> list[Fare]:
    """Every choice over all data sets and trainings."""
    return _by_choice(_choices(result))


def left_out(result: Mapping[str, Any]) -> tuple[Fare, dict[str, str]] | None:
    """What a choice made on the other tasks would have given on each task, and which choice it was.

    Chosen is the narrowest of those with the truth inside on at least `ENOUGH` of the other tasks' sets, or the
    most often right one where none is. None with fewer than three tasks.
    """
    rows = _choices(result)
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    if len(tasks) < 3:
        return None
    kept, chosen = [], {}
    for task in tasks:
        others = _by_choice([row for row in rows if row["task"] != task])
        enough = [one for one in others if one.inside >= ENOUGH * one.sets]
        best = min(enough, key=lambda one: one.width) if enough else max(others, key=lambda o: (o.inside, -o.width))
        chosen[task] = best.name
        kept += [row for row in rows if row["task"] == task and row["choice"] == best.name]
    return _fare("chosen on the other tasks", kept), chosen


def _choices(result: Mapping[str, Any]) -> list[Row]:
    """A row for each data set, training and choice that every set has."""
    return [
        {**row, "task": task, "near": one["domain"] == "in"}
        | {"choice": f"{row['voters']}, {_ACCEPT[row['accept']]}, {row['agree']} of {row['of']}"}
        for task in result["tasks"]
        for training in trainings(result, task)
        for one in training["sets"].values()
        for row in one["choices"]
    ]


def _by_choice(rows: Sequence[Row]) -> list[Fare]:
    names = dict.fromkeys(row["choice"] for row in rows)
    return [_fare(name, [row for row in rows if row["choice"] == name]) for name in names]


def _fare(name: str, rows: Sequence[Row]) -> Fare:
    near = [row["inside"] for row in rows if row["near"]]
    some = ([row["upper"] - row["lower"] for row in rows], [row["error"] for row in rows])
    means = [sum(one) / max(1, len(one)) for one in (*some, [row["error"] for row in rows if not row["near"]])]
    return Fare(name, sum(row["inside"] for row in rows), len(rows), sum(near), len(near), *means)

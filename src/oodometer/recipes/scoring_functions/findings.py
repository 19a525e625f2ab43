"""Findings: each claim of the paper, checked by code against a result and tested over trained models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..kit.claims import Claim, Look, all_of, larger, positive

NAMES = {"conf": "Conf", "lms": "LMS", "ma": "MA", "ma-diverse": "MA_0.02"}
PAIRED, WELCH = "paired t test over models", "Welch's t test over models"
Shifts = Mapping[str, Mapping[str, Any]]


def far_of(shifts: Shifts) -> str:
    """The far shift: STL10 where it was at hand, else the strongest corruptions."""
    return "stl10" if "stl10" in shifts else max(shifts)


def near_of(shifts: Shifts) -> str:
    """The near shift: CIFAR-10.1 where it was at hand, else the mildest corruptions."""
    return "cifar10.1" if "cifar10.1" in shifts else min(one for one in shifts if one.startswith("severity"))


def claims_of(result: Mapping[str, Any]) -> list[Claim]:
    """Every claim that the tasks at hand let one check, in the paper's order."""
    tasks = result["tasks"]
    out: list[Claim] = []
    if "clean" in tasks:
        shifts = tasks["clean"]["ma"]["shifts"]
        out += [*_order(shifts), *_severity(shifts), *_sizes(tasks["clean"]), *_diverse(tasks)]
        out += _compromised(tasks)
    if "dominoes" in tasks:
        out += _dominoes(tasks["dominoes"])
    return out


def _errors(shift: Mapping[str, Any], score: str) -> list[float]:
    found: list[float] = shift[score]["exact"]["by_model"]
    return found


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.4f}"


def _paired(shift: Mapping[str, Any], small: str, large: str) -> Look:
    """The error of one score is below that of another, models that have both compared with themselves."""
    pairs = zip(_errors(shift, small), _errors(shift, large), strict=False)  # smoothness is known of the first models
    return positive([b - a for a, b in pairs])


def _order(shifts: Shifts) -> list[Claim]:
    """Does agreement err less than confidence, and that less than smoothness?"""
    out = []
    for small, large in (("ma", "conf"), ("conf", "lms")):
        looks = [_paired(one, small, large) for one in shifts.values()]
        told = "; ".join(
            f"{name}: {_mean(_errors(one, small))} / {_mean(_errors(one, large))}" for name, one in shifts.items()
        )
        claim = f"{NAMES[small]} errs less than {NAMES[large]} on every shift"
        found = f"{NAMES[small]} / {NAMES[large]}: {told}"
        out.append(Claim(f"{small}_{large}", claim, found, PAIRED, all_of(looks), len(looks), len(looks)))
    return out


def _severity(shifts: Shifts) -> list[Claim]:
    """Does the error rise with the severity?"""
    grades = sorted(one for one in shifts if one.startswith("severity"))
    if len(grades) < 3:
        return []
    out = []
    for score in ("ma", "conf", "lms"):
        by_model = np.array([_errors(shifts[one], score) for one in grades])
        steps = np.arange(len(grades)) - (len(grades) - 1) / 2
        slopes = (steps @ by_model / (steps @ steps)).tolist()
        text = " ".join(_mean(row) for row in by_model.tolist())
        claim = f"the error of {NAMES[score]} rises with the severity"
        out.append(Claim(f"severity_{score}", claim, f"{text}; slope {_mean(slopes)}", PAIRED, positive(slopes)))
    return out


def _sizes(clean: Mapping[str, Any]) -> list[Claim]:
    """Does the error of agreement level off near four models, and its spread fall afterwards?"""
    rows = {one["models"]: one for one in clean["sizes_of_ensemble"]["all"]}
    most = max(rows)
    if most < 6:
        return []
    two, four, all_of_them = (np.array(rows[size]["by_model"]) for size in (2, 4, most))
    gains = ((two - four) - (four - all_of_them)).tolist()
    text = f"2, 4, {most} models: " + ", ".join(_mean(one.tolist()) for one in (two, four, all_of_them))
    claim = "going from 2 to 4 models lowers the error of MA by more than going from 4 to all"
    out = [Claim("saturates", claim, text, PAIRED, positive(gains))]
    spreads = ", ".join(
        f"{size}: {rows[size]['spread']:.4f}" for size in sorted(rows) if rows[size]["spread"] is not None
    )
    claim, said = "the spread over ensembles falls beyond 4 models", f"standard deviation, {spreads}"
    last = max((size for size in rows if rows[size].get("spread_by_model")), default=4)
    if last <= 4:
        return [*out, Claim("spread", claim, said)]
    falls = np.array(rows[4]["spread_by_model"]) - np.array(rows[last]["spread_by_model"])
    out.append(Claim("spread", claim, f"{said}; 4 against {last}", PAIRED, positive(falls.tolist())))
    return out


def agreement_of_as_many(task: Mapping[str, Any], shift: str) -> list[float]:
    """Errors of MA by model, of plain ensembles with as many models as the diverse one has."""
    plain, models = task["ma"], task["ma-diverse"]["models"]
    if plain["models"] == models:
        return _errors(plain["shifts"][shift], "ma")
    found: list[float] = next(o for o in task["sizes_of_ensemble"][shift] if o["models"] == models)["by_model"]
    return found


def _diverse(tasks: Mapping[str, Any]) -> list[Claim]:
    """Does an ensemble that learnt some labels wrong err less on far shifts, and not on near ones?"""
    out = []
    for name, task in tasks.items():
        if "ma-diverse" not in task:
            continue
        diverse = task["ma-diverse"]["shifts"]
        far, near = far_of(diverse), near_of(diverse)
        one, other = agreement_of_as_many(task, far), _errors(diverse[far], "ma")
        text = f"{far}: MA_0.02 {_mean(other)}, MA {_mean(one)}"
        claim = f"MA_0.02 errs less than MA on the far shift ({name} training data)"
        out.append(Claim(f"diverse_far_{name}", claim, text, WELCH, larger(one, other)))
        if name == "clean":
            one, other = agreement_of_as_many(task, near), _errors(diverse[near], "ma")
            claim = "MA_0.02 errs more than MA on the near shift (clean training data)"
            text = f"{near}: MA_0.02 {_mean(other)}, MA {_mean(one)}"
            out.append(Claim("diverse_near_clean", claim, text, WELCH, larger(other, one)))
    return out


def _compromised(tasks: Mapping[str, Any]) -> list[Claim]:
    """Do measurement noise and under-sampling lower the far errors of confidence and smoothness?"""
    out = []
    clean = tasks["clean"]["ma"]["shifts"]
    far = far_of(clean)
    for name in ("measurement-noise", "under-sampling"):
        if name not in tasks or far not in tasks[name]["ma"]["shifts"]:
            continue
        for score in ("conf", "lms"):
            before, after = (_errors(one[far], score) for one in (clean, tasks[name]["ma"]["shifts"]))
            claim = f"training on data with {name} lowers the far error of {NAMES[score]}"
            text = f"{far}: {_mean(before)} clean, {_mean(after)} compromised"
            out.append(Claim(f"{name}_{score}", claim, text, WELCH, larger(before, after)))
    return out


def _dominoes(task: Mapping[str, Any]) -> list[Claim]:
    """Do errors on randomised dominoes rise with the correlation in training, and fall on correlated ones?"""
    grades = sorted(task["correlations"], key=float)
    first, last = task["correlations"][grades[0]], task["correlations"][grades[-1]]
    out = []
    for target, say in (("randomized", "rises"), ("correlated", "falls")):
        for score in ("conf", "lms", "ma"):
            low, high = _errors(first[target], score), _errors(last[target], score)
            text = ", ".join(f"{one}: {_mean(_errors(task['correlations'][one][target], score))}" for one in grades)
            claim = (
                f"from correlation {grades[0]} to {grades[-1]} the error of {NAMES[score]} on {target} dominoes {say}"
            )
            look = larger(high, low) if say == "rises" else larger(low, high)
            out.append(Claim(f"dominoes_{target}_{score}", claim, text, WELCH, look))
    looks = [_paired(one["randomized"], "ma", "conf") for one in task["correlations"].values()]
    text = "; ".join(
        f"{grade}: {_mean(_errors(one['randomized'], 'ma'))} / {_mean(_errors(one['randomized'], 'conf'))}"
        for grade, one in task["correlations"].items()
    )
    claim = "MA errs less than Conf on randomized dominoes, too (the paper's text; its Table 3 says the opposite)"
    out.append(Claim("dominoes_best", claim, f"MA / Conf: {text}", PAIRED, all_of(looks), len(looks), len(looks)))
    return out

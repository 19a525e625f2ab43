"""Findings: each claim of the paper, checked by code against a result and tested over trained models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..kit.claims import Claim, larger, on_all, positive

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
    out = [*_of_clean(tasks["clean"]), *_of_training_data(tasks)] if "clean" in tasks else []
    return [*out, *_of_dominoes(tasks["dominoes"])] if "dominoes" in tasks else out


def _errors(shift: Mapping[str, Any], score: str) -> list[float]:
    found: list[float] = shift[score]["exact"]["by_model"]
    return found


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.4f}"


def _below(name: str, claim: str, small: str, large: str, shifts: Shifts) -> Claim:
    """One score errs less than another on every shift, models that have both compared with themselves."""
    pairs = {shift: (_errors(one, small), _errors(one, large)) for shift, one in shifts.items()}
    # Smoothness is known of the first models
    looks = [positive([b - a for a, b in zip(first, second, strict=False)]) for first, second in pairs.values()]
    told = "; ".join(f"{shift}: {_mean(first)} / {_mean(second)}" for shift, (first, second) in pairs.items())
    return on_all(name, claim, f"{NAMES[small]} / {NAMES[large]}: {told}", PAIRED, looks)


def _of_clean(clean: Mapping[str, Any]) -> Iterator[Claim]:
    """The order of the scores, the error by severity, and by the size of the ensemble."""
    shifts = clean["ma"]["shifts"]
    for small, large in (("ma", "conf"), ("conf", "lms")):
        claim = f"{NAMES[small]} errs less than {NAMES[large]} on every shift"
        yield _below(f"{small}_{large}", claim, small, large, shifts)
    grades = sorted(one for one in shifts if one.startswith("severity"))
    for score in ("ma", "conf", "lms") if len(grades) > 2 else ():
        by_model = np.array([_errors(shifts[one], score) for one in grades])
        steps = np.arange(len(grades)) - (len(grades) - 1) / 2
        slopes = (steps @ by_model / (steps @ steps)).tolist()
        text = f"{' '.join(_mean(row) for row in by_model.tolist())}; slope {_mean(slopes)}"
        claim = f"the error of {NAMES[score]} rises with the severity"
        yield Claim(f"severity_{score}", claim, text, PAIRED, positive(slopes))
    rows = {one["models"]: one for one in clean["sizes_of_ensemble"]["all"]}
    most = max(rows)
    if most < 6:
        return
    two, four, all_of_them = (np.array(rows[size]["by_model"]) for size in (2, 4, most))
    gains = ((two - four) - (four - all_of_them)).tolist()
    text = f"2, 4, {most} models: " + ", ".join(_mean(one.tolist()) for one in (two, four, all_of_them))
    claim = "going from 2 to 4 models lowers the error of MA by more than going from 4 to all"
    yield Claim("saturates", claim, text, PAIRED, positive(gains))
    spreads = {size: rows[size]["spread"] for size in sorted(rows) if rows[size]["spread"] is not None}
    text = "standard deviation, " + ", ".join(f"{size}: {spread:.4f}" for size, spread in spreads.items())
    claim = "the spread over ensembles falls beyond 4 models"
    last = max((size for size in rows if rows[size].get("spread_by_model")), default=4)
    if last <= 4:
        yield Claim("spread", claim, text)
        return
    falls = np.array(rows[4]["spread_by_model"]) - np.array(rows[last]["spread_by_model"])
    yield Claim("spread", claim, f"{text}; 4 against {last}", PAIRED, positive(falls.tolist()))


def agreement_of_as_many(task: Mapping[str, Any], shift: str) -> list[float]:
    """Errors of MA by model, of plain ensembles with as many models as the diverse one has."""
    plain, models = task["ma"], task["ma-diverse"]["models"]
    if plain["models"] == models:
        return _errors(plain["shifts"][shift], "ma")
    found: list[float] = next(o for o in task["sizes_of_ensemble"][shift] if o["models"] == models)["by_model"]
    return found


def _of_training_data(tasks: Mapping[str, Any]) -> Iterator[Claim]:
    """Labels learnt wrong: less error on far shifts, not on near ones? Compromised images: less error on far ones?"""
    for name, task in tasks.items():
        diverse = task.get("ma-diverse", {}).get("shifts", {})
        places = [("far", "less", far_of), ("near", "more", near_of)] if name == "clean" else [("far", "less", far_of)]
        for where, how, shift_of in places if diverse else ():
            shift = shift_of(diverse)
            plain, other = agreement_of_as_many(task, shift), _errors(diverse[shift], "ma")
            text = f"{shift}: MA_0.02 {_mean(other)}, MA {_mean(plain)}"
            claim = f"MA_0.02 errs {how} than MA on the {where} shift ({name} training data)"
            look = larger(plain, other) if where == "far" else larger(other, plain)
            yield Claim(f"diverse_{where}_{name}", claim, text, WELCH, look)
    clean = tasks["clean"]["ma"]["shifts"]
    far = far_of(clean)
    for name in ("measurement-noise", "under-sampling"):
        shifts = tasks[name]["ma"]["shifts"] if name in tasks else {}
        for score in ("conf", "lms") if far in shifts else ():
            before, after = (_errors(one[far], score) for one in (clean, shifts))
            claim = f"training on data with {name} lowers the far error of {NAMES[score]}"
            text = f"{far}: {_mean(before)} clean, {_mean(after)} compromised"
            yield Claim(f"{name}_{score}", claim, text, WELCH, larger(before, after))


def _of_dominoes(task: Mapping[str, Any]) -> Iterator[Claim]:
    """Do errors on randomised dominoes rise with the correlation in training, and fall on correlated ones?"""
    found = task["correlations"]
    grades = sorted(found, key=float)
    for target, say in (("randomized", "rises"), ("correlated", "falls")):
        for score in ("conf", "lms", "ma"):
            errors = [_errors(found[one][target], score) for one in grades]
            text = ", ".join(f"{grade}: {_mean(one)}" for grade, one in zip(grades, errors, strict=True))
            ends = f"from correlation {grades[0]} to {grades[-1]}"
            claim = f"{ends} the error of {NAMES[score]} on {target} dominoes {say}"
            look = larger(errors[-1], errors[0]) if say == "rises" else larger(errors[0], errors[-1])
            yield Claim(f"dominoes_{target}_{score}", claim, text, WELCH, look)
    claim = "MA errs less than Conf on randomized dominoes, too (the paper's text; its Table 3 says the opposite)"
    yield _below("dominoes_best", claim, "ma", "conf", {grade: one["randomized"] for grade, one in found.items()})

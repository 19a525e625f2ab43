"""Measures F1, ROC AUC and the like without labels on natural shifts, and fits the prior of each metric.

python -m benchmarks.natural.metrics --most 5      # five cases of each bed: results/natural_metrics.json
python -m benchmarks.natural.metrics --tables --date 2026-11-25    # the prior of each metric, natural_metrics.md

Beds of classes alone (`mvh-*`) are left out. Each metric's prior is fitted as that of the accuracy is, but for chance,
whose quantiles are those of a normal distribution with the metric's own standard error; it is judged on each source
with that source left out of the fit. The packaged prior keeps that of the accuracy as it is.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks import kit
from benchmarks.natural.prior import PACKAGED, fit_prior, left_out, reach_of, score, source_of, width
from benchmarks.natural.run import chosen, measure_cases, unpack, work_folder
from benchmarks.natural.tables import LEVEL, Shift
from benchmarks.quality.tables import Case
from oodometer.headline.headline import Evidence
from oodometer.headline.natural_shifts import (
    START,
    MetricEvidence,
    NaturalShifts,
    doubt_of,
    metric_signs,
    signs_of_result,
    spanned,
)
from oodometer.passes.plan import quick_methods

METRICS = ("f1", "precision", "recall", "specificity", "roc_auc", "average_precision", "balanced_accuracy", "mcc",
           "cohen_kappa", "macro_precision", "macro_recall", "macro_f1")  # fmt: skip
BELOW_0 = ("mcc", "cohen_kappa")
FITS = "label-shift, not refuted"


def of_case(case: Path) -> list[Shift]:
    """One `Shift` for each metric, which stands in the place of the accuracy and is named as the method of the case."""
    import oodometer

    told = json.loads((case / "truth.json").read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = oodometer.estimate(
            case / "reference.parquet", case / "target.parquet", labels=case / "labels.parquet", metrics=METRICS,
            methods=[*quick_methods(None), "label-shift"], level=LEVEL, backtest=None, workers=1)  # fmt: skip
    accuracy = signs_of_result(found)
    evidence = Evidence(LEVEL, diagnosis=found.diagnosis)
    out = []
    for name, one in found.metrics.items():
        if one.truth is None or one.reference is None or accuracy is None or "unchanged" not in one.headline.bands:
            continue
        bounds = (-1.0, 1.0) if name in BELOW_0 else (0.0, 1.0)
        unit = partial(_unit, bounds=bounds)
        still = one.headline.bands["unchanged"]
        three = (unit(still.value), unit(still.lower), unit(still.upper))
        start = one[_start({e.method for e in one.estimates})]
        signs = metric_signs(unit(start.value), MetricEvidence(evidence, accuracy, one.reference, bounds))
        assert signs is not None
        said = {e.method: (unit(e.value), unit(e.lower), unit(e.upper)) for e in one.estimates}
        if "label-shift" in said and one.assumptions["label"].refuted is None:
            said[FITS] = said["label-shift"]
        made = Case(case.parent.name, case.name, int(found.reference["rows"]), int(found.target["rows"]),
                    unit(one.truth.value), three, "low", found.diagnosis.kind if found.diagnosis else "none given",
                    name, said)  # fmt: skip
        out.append(Shift(made, told["source"], signs.source, signs, doubt_of(accuracy, evidence), three))
    return out


def _start(methods: Collection[str]) -> str:
    return next(method for method in START if method in methods)


def under(shift: Shift, prior: NaturalShifts) -> Shift:
    """The case with the headline of a prior."""
    case, said = shift.case, shift.case.estimates
    answers = [said[one] for one in (_start(said), FITS) if one in said]
    middle = case.kind == "label" and FITS in said
    signs = replace(shift.signs, still=None)
    whole, half = (spanned(prior, signs, answers, asked, LEVEL, middle=middle) for asked in (LEVEL, 0.5))
    return replace(shift, case=replace(case, headline=whole), half=half)


def _unit(value: float, bounds: tuple[float, float]) -> float:
    return (value - bounds[0]) / (bounds[1] - bounds[0])


def _written(shifts: Sequence[Shift]) -> list[dict[str, Any]]:
    return [s.to_dict() for s in shifts]


def _read(plain: Sequence[dict[str, Any]]) -> list[Shift]:
    return [Shift.from_dict(one) for one in plain]


def tables(shifts: Sequence[Shift], command: str) -> tuple[str, dict[str, Any]]:
    """The page, and the prior of each metric."""
    rows, priors, fit = [], {}, partial(fit_prior, known_chance=True)
    for metric in METRICS:
        few = [s for s in shifts if s.case.method == metric]
        natural = [s for s in few if s.group != "same"]
        judged = left_out(few, fit, under)
        here = [s for s in judged if s.group != "same"]
        same = [s for s in judged if s.group == "same"]
        prior = replace(fit(few), reach=reach_of(judged))
        plain = prior.to_dict()
        plain["cases"], plain["sources"] = len(few), sorted(set(map(source_of, few)))
        priors[metric] = plain
        scale = 2 if metric in BELOW_0 else 1
        errors = [scale * mean(s.case.error() or 0.0 for s in one) for one in (natural, here)]
        by = [_method_error(natural, m, scale) for m in ("source", "cbpe", "label-shift")]
        spans = mean(s.still[1] <= s.case.truth <= s.still[2] for s in natural)
        span = 100 * scale * mean(s.still[2] - s.still[1] for s in natural)
        holds, still = mean(s.case.holds() for s in here), mean(s.case.holds() for s in same)
        rows.append([metric, str(len(natural)), *by, f"{errors[0]:.1f}", f"{errors[1]:.1f}", f"{holds:.0%}",
                     f"{scale * width(here):.0f}", f"{scale * score(here):.0f}", f"{spans:.0%}", f"{span:.0f}",
                     f"{still:.0%}", f"{scale * width(same):.0f}"])  # fmt: skip
    header = ["metric", "cases", "source", "cbpe", "label-shift", "span", "headline", "coverage", "width",
              "interval score", "coverage of the span", "width", "no shift: coverage", "width"]  # fmt: skip
    lines = [
        "# Metrics besides the accuracy on natural shifts",
        "",
        f"Made by `{command}`. Errors are mean absolute errors in points (hundredths) on natural shifts; `span` "
        f"is what covers CBPE and, where it fits, label shift; `headline` the number under a prior that was fitted "
        f"without the case's whole source, with its {LEVEL:.0%} interval. `no shift`: fresh parts of the reference's "
        f"own group.",
        "",
        *kit.table(header, rows),
    ]
    return kit.joined(lines), priors


def _method_error(shifts: Sequence[Shift], method: str, scale: int) -> str:
    found = [scale * e for s in shifts if (e := s.case.error(method)) is not None]
    return f"{mean(found):.1f}" if found else ""


def measure(given: argparse.Namespace) -> kit.Result:
    folder = work_folder()
    folder.mkdir(parents=True, exist_ok=True)
    cases = [c for c in chosen(unpack(folder), given.most or None) if not c.parent.name.startswith("mvh-")]
    found, failed = measure_cases(cases, folder / "done_metrics.jsonl", of_case, given.workers, _written, _read)
    for one in failed:
        print(f"failed and left out: {one}", file=sys.stderr)
    most = f" --most {given.most}" if given.most else ""
    return {"command": f"python -m benchmarks.natural.metrics{most}", "shifts": _written([s for f in found for s in f])}


def page(result: kit.Result) -> str:
    return tables(_read(result["shifts"]), result["command"])[0]


def packaged(given: argparse.Namespace, result: kit.Result) -> None:
    """With --date the packaged prior gets that of each metric."""
    if given.date:
        plain = json.loads(PACKAGED.read_text(encoding="utf-8"))
        about = {"made_by": result["command"], "date": given.date}
        priors = tables(_read(result["shifts"]), result["command"])[1]
        plain["metrics"] = {name: {**one, **about} for name, one in priors.items()}
        PACKAGED.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "natural_metrics",
            measure,
            page,
            after=packaged,
            most=(0, "cases of each bed; by default all"),
            workers=(1, "processes"),
            date=("", "date of the fit, such as 2026-11-23; without it the prior stays"),
        )
    )

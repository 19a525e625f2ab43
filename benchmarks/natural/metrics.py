"""Measures F1, ROC AUC, Brier and the like without labels on natural shifts, and fits the prior of each metric.

python -m benchmarks.natural.metrics --most 4      # four cases of each bed: results/natural_metrics.json and .md
python -m benchmarks.natural.metrics --tables --date 2026-11-28    # the packaged priors (metric_shifts.json), too

Beds of classes alone (`mvh-*`) are left out. What is fitted: quantiles of where the truth ended, less the
value, by linear quantile regression on the metric's standard error and on the size of the shift. Every source counts
alike, however many cases it has. The tails reach 1.2 times as far from the median as the fitted sources ask for:
sources that were left out ended beyond them that much more often. Figures are of cases whose whole source was left out
of the fit, in ten parts; how often bands of some width held, which says how far to trust one, is measured with whole
domains left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks import kit
from benchmarks.kit import ROOT
from benchmarks.natural.prior import LEVELS, REACHES, quantile_regression
from benchmarks.natural.run import chosen, measure_cases, unpack, work_folder
from benchmarks.natural.tables import DOMAIN_OF, LEVEL
from oodometer.headline.headline import Evidence
from oodometer.headline.metric_headline import (
    Evidential,
    Hypotheses,
    MetricEvidence,
    Scale,
    evidence_for_label_shift,
    hypotheses,
    metric_signs,
    start_of,
)
from oodometer.headline.metric_shifts import PUBLIC, MetricPrior, MetricShifts, MetricSigns
from oodometer.headline.natural_shifts import signs_of_result

PACKAGED = ROOT / "src" / "oodometer" / "headline" / "metric_shifts.json"
METRICS = ("f1", "precision", "recall", "specificity", "roc_auc", "average_precision", "balanced_accuracy", "mcc",
           "cohen_kappa", "macro_precision", "macro_recall", "macro_f1", "brier", "nll", "ece")  # fmt: skip
METHODS = ("source", "cbpe", "pape", "importance", "gde-difference", "label-shift", "doc")
TAILS = 1.2  # times as far from the median as fitted
PARTS = 10  # into which sources, or domains, are dealt
DIGITS, FAR = 5, 0.03
SAID = ("source", "cbpe", "label-shift")  # values that are kept
Three = tuple[float, float, float]


@dataclass(frozen=True)
class Measured:
    """One metric of a case, all values in [0, 1] of its scale; ``label``: value and standard errors of label shift
    where it is heard, with the ``evidence`` for it, ``refuted``: something speaks against unchanged P(y | x), ``same``:
    no shift.
    """

    case: str
    source: str
    domain: str
    kind: str
    same: bool
    refuted: bool
    start: str
    metric: str
    high: float
    truth: float
    signs: MetricSigns
    said: dict[str, float]
    label: Three | None = None
    evidence: Evidential = "none"

    @property
    def scale(self) -> Scale:
        """How the metric was brought to [0, 1]."""
        return scale_of(self.metric, self.high)


_OF_CASE = ("case", "source", "domain", "kind", "same", "refuted", "start")


def written(cases: Sequence[Measured]) -> list[dict[str, Any]]:
    """Plain mappings, one a case, numbers of five digits."""
    out: dict[str, dict[str, Any]] = {}

    def rounded(values: Any) -> list[float | None] | None:
        return None if values is None else [None if x is None else round(x, DIGITS) for x in values]

    for one in cases:
        plain = out.setdefault(
            one.case, {name: getattr(one, name) for name in _OF_CASE} | {"metrics": {}}
        )
        said = {name: round(one.said[name], DIGITS) for name in SAID if name in one.said}
        signs = rounded(asdict(one.signs).values())
        plain["metrics"][one.metric] = [
            one.high,
            round(one.truth, DIGITS),
            signs,
            said,
            rounded(one.label),
            one.evidence,
        ]
    return list(out.values())


def read(plain: Sequence[dict[str, Any]]) -> list[Measured]:
    """What `written` gave."""
    out = []
    for case in plain:
        about = {name: case[name] for name in _OF_CASE}
        for metric, (high, truth, signs, said, label, evidence) in case["metrics"].items():
            three = None if label is None else (label[0], label[1], label[2])
            seen = MetricSigns(*signs)
            out.append(Measured(**about, metric=metric, high=high, truth=truth, signs=seen, said=said, label=three,
                                evidence=evidence))  # fmt: skip
    return out


def scale_of(metric: str, high: float) -> Scale:
    return Scale.of(
        -1.0 if metric in ("mcc", "cohen_kappa") else 0.0, float("inf") if metric == "nll" else high
    )


def source_of(name: str) -> str:
    """The public data set: beds of one set, such as adult-age and adult-group, are one source."""
    return name.partition("-")[0]


def of_case(case: Path) -> list[Measured]:
    """What is seen of each metric, and where its truth lies."""
    import oodometer

    told = json.loads((case / "truth.json").read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = oodometer.estimate(
            case / "reference.parquet", case / "target.parquet", labels=case / "labels.parquet", metrics=METRICS,
            methods=METHODS, level=LEVEL, backtest=None, workers=1)  # fmt: skip
    rows = int(found.reference["rows"])
    evidence = Evidence(
        LEVEL, diagnosis=found.diagnosis, source=found.reference["accuracy"], reference_rows=rows
    )
    source = source_of(told["source"])
    domain = told.get("domain") or DOMAIN_OF.get(source, source)
    kind = found.diagnosis.kind if found.diagnosis else "none given"
    out = []
    for name, one in found.metrics.items():
        start, label = (
            start_of(one.estimates),
            next((e for e in one.estimates if e.method == "label-shift"), None),
        )
        if one.truth is None or start is None:
            continue
        high = 2.0 if name == "brier" and int(found.reference["classes"]) > 2 else 1.0
        scale = scale_of(name, high)
        about = MetricEvidence(evidence, signs_of_result(found), one.reference, scale)
        signs = metric_signs(start, about)
        if signs is None:
            continue
        seen = evidence_for_label_shift(label, evidence, start.rows)
        heard = hypotheses(name, start, label, seen, about, EMPTY)
        assert heard is not None
        said = {e.method: scale.unit(e.value) for e in one.estimates}
        same, refuted = case.parent.name in ("same", "same4"), heard.share == 1
        truth, key = scale.unit(one.truth.value), f"{case.parent.name}/{case.name}"
        out.append(
            Measured(
                key,
                source,
                domain,
                kind,
                same,
                refuted,
                start.method,
                name,
                high,
                truth,
                signs,
                said,
                heard.label,
                heard.evidence,
            )
        )
    return out


_FLAT = MetricPrior(np.array(LEVELS), np.zeros(len(LEVELS)), np.zeros(len(LEVELS)), 0.0)
EMPTY = MetricShifts(dict.fromkeys(METRICS, _FLAT), dict.fromkeys(METRICS, _FLAT))


def fit(cases: Sequence[Measured], *, alone: bool = False) -> MetricPrior:
    """The prior that these cases make of a metric; ``alone``: from the reference's value, as where nothing else is."""
    some = [reference_alone(c) for c in cases] if alone else [c for c in cases if c.start == "cbpe"]
    sizes = Counter(c.source for c in some)
    weights = np.array([1 / sizes[c.source] for c in some])
    seen = [_FLAT.size_of(c.signs) for c in some if c.signs.moved is not None]
    prior = replace(_FLAT, moved=round(float(np.median(seen)), 5))
    effects = np.array([[c.signs.error, prior.size_of(c.signs)] for c in some])
    goal = np.array([c.truth - c.signs.value for c in some])
    fitted = np.array([quantile_regression(effects, goal, weights, p) for p in LEVELS])
    middle = fitted[LEVELS.index(0.5)]
    fitted = middle + TAILS * (fitted - middle)
    return replace(prior, chance=fitted[:, 0], size=fitted[:, 1])


def reference_alone(case: Measured) -> Measured:
    """The case where nothing is known but what the reference says."""
    return replace(
        case, start="source", signs=replace(case.signs, value=case.signs.source), refuted=True
    )


def band(
    case: Measured, prior: MetricPrior, level: float = LEVEL, share: float | None = None
) -> Three:
    """Value and ends that the headline has under a prior."""
    heard = Hypotheses(
        prior, case.signs, case.label, case.evidence, 1.0 if case.refuted else PUBLIC
    )
    return heard.band(level, share)


def left_out(
    cases: Sequence[Measured], by: Callable[[Measured], str]
) -> Iterator[tuple[Measured, MetricPrior]]:
    """Each case with the prior of the parts that it is not in."""
    names = sorted({by(c) for c in cases})
    dealt = np.random.default_rng(0).permutation(len(names)) % PARTS
    part = dict(zip(names, dealt.tolist(), strict=True))
    for k in range(PARTS):
        inside = [c for c in cases if part[by(c)] == k]
        if inside:
            prior = fit([c for c in cases if part[by(c)] != k])
            yield from ((c, prior) for c in inside)


def reach_of(
    judged: Sequence[tuple[Measured, Three]],
) -> tuple[tuple[float, int, float, float], ...]:
    """Of bands that reach so far from the value: cases, share of truths inside, of values off by more than 3 points."""
    out, below = [], 0.0
    for most in REACHES:
        few = [
            (c, b)
            for c, b in judged
            if below < max(b[0] - b[1], b[2] - b[0]) <= most and not c.refuted
        ]
        if few:
            inside = mean(b[1] <= c.truth <= b[2] for c, b in few)
            off = mean(abs(b[0] - c.truth) * (c.scale.width) > FAR for c, b in few)
            out.append((most, len(few), round(inside, 3), round(off, 3)))
        below = most
    return tuple(out)


@dataclass(frozen=True)
class Judged:
    """A case, and value and ends of the headline, and of public shifts alone, in the metric's own scale."""

    case: Measured
    truth: float
    headline: Three
    public: Three

    @classmethod
    def of(cls, case: Measured, prior: MetricPrior) -> Judged:
        both = [
            tuple(map(case.scale.back, band(case, prior, share=share))) for share in (None, 1.0)
        ]
        headline, public = ((three[0], three[1], three[2]) for three in both)
        return cls(case, case.scale.back(case.truth), headline, public)

    def error(self, method: str = "") -> float | None:
        """Points between truth and headline, or a method's value; None where it gave none."""
        if not method:
            return 100 * abs(self.headline[0] - self.truth)
        value = self.case.said.get(method)
        return None if value is None else 100 * abs(self.case.scale.back(value) - self.truth)


def covered(judged: Sequence[Judged], *, public: bool = False) -> list[str]:
    """Cells: coverage, mean width and interval score in points."""
    if not judged:
        return ["", "", ""]
    threes = [(j.truth, *(j.public if public else j.headline)[1:]) for j in judged]
    share = mean(low - 1e-9 <= truth <= high + 1e-9 for truth, low, high in threes)
    width = mean(100 * (high - low) for _, low, high in threes)
    missed = mean(100 * max(low - truth, truth - high, 0.0) for truth, low, high in threes)
    return [f"{share:.0%}", f"{width:.0f}", f"{width + 2 / (1 - LEVEL) * missed:.0f}"]


def _mean_error(judged: Sequence[Judged], method: str = "") -> str:
    found = [e for j in judged if (e := j.error(method)) is not None]
    return f"{mean(found):.1f}" if found else ""


STRATA: dict[str, Callable[[Judged], bool]] = {
    "all natural shifts": lambda j: True,
    "kind `covariate`": lambda j: j.case.kind == "covariate",
    "kind `label`": lambda j: j.case.kind == "label",
    "strong evidence for label shift": lambda j: j.case.evidence == "strong",
    "label shift as likely as other inputs": lambda j: j.case.evidence == "open",
    "unchanged P(y \\| x) refuted": lambda j: j.case.refuted,
    "kind `none` or `unknown`": lambda j: j.case.kind in ("none", "unknown"),
    "value more than 5 points above the reference's": lambda j: _change(j) > 0.05,
    "value more than 5 points below": lambda j: _change(j) < -0.05,
}


def _change(judged: Judged) -> float:
    return judged.case.signs.value - judged.case.signs.source


def tables(cases: Sequence[Measured], command: str) -> tuple[str, MetricShifts]:
    """The page, and the priors."""
    rows, strata, priors, alone = [], [], {}, {}
    for metric in METRICS:
        few = [c for c in cases if c.metric == metric and c.start == "cbpe"]
        every = [c for c in cases if c.metric == metric]
        by_domain = [(c, band(c, prior, 0.9)) for c, prior in left_out(few, lambda c: c.domain)]
        priors[metric] = replace(fit(few), reach=reach_of(by_domain))
        alone[metric] = fit(every, alone=True)
        judged = [Judged.of(c, prior) for c, prior in left_out(few, lambda c: c.source)]
        natural, same = ([j for j in judged if j.case.same == one] for one in (False, True))
        errors = [_mean_error(natural, method) for method in (*SAID, "")]
        rows.append(
            [
                metric,
                str(len(natural)),
                *errors,
                *covered(natural),
                *covered(natural, public=True),
                *covered(same)[:2],
            ]
        )
        for name, inside in STRATA.items():
            some = [j for j in natural if inside(j)]
            if metric in ("precision", "f1") and some:
                errors = [_mean_error(some, method) for method in (*SAID, "")]
                strata.append([metric, name, str(len(some)), *errors, *covered(some)])
    sources = sorted({c.source for c in cases})
    about = {"made_by": command, "cases": len({c.case for c in cases}), "sources": sources}
    header = ["metric", "cases", "source", "cbpe", "label-shift", "headline", "coverage", "width", "interval score",
              "public shifts alone: coverage", "width", "interval score", "no shift: coverage", "width"]  # fmt: skip
    lines = [
        "# Metrics besides the accuracy on natural shifts",
        "",
        f"Made by `{command}`: {about['cases']} cases of {len(sources)} sources. Errors are mean absolute errors in "
        f"points (hundredths; of `nll` hundredths of a nat) on natural shifts; `headline` is the number under a prior "
        f"that was fitted without the case's whole source, with its {LEVEL:.0%} interval, in which public shifts are "
        f"heard with {PUBLIC:.0%} and unchanged P(y \\| x) with the rest. `no shift`: fresh parts of the reference's "
        f"own group.",
        "",
        *kit.table(header, rows),
        "## Precision and F1 by what can be seen beforehand",
        "",
        *kit.table(["metric", "cases of", "count", "source", "cbpe", "label-shift", "headline", "coverage", "width",
                    "interval score"], strata, "ll"),
    ]  # fmt: skip
    return kit.joined(lines), MetricShifts(priors, alone, about)


def measure(given: argparse.Namespace) -> kit.Result:
    folder = work_folder()
    folder.mkdir(parents=True, exist_ok=True)
    cases = [
        c
        for c in chosen(unpack(folder), given.most or None)
        if not c.parent.name.startswith("mvh-")
    ]
    found, failed = measure_cases(
        cases, folder / "done_metrics.jsonl", of_case, given.workers, written, read
    )
    for one in failed:
        print(f"failed and left out: {one}", file=sys.stderr)
    most = f" --most {given.most}" if given.most else ""
    command = f"python -m benchmarks.natural.metrics{most}"
    return {"command": command, "cases": written([one for some in found for one in some])}


def page(result: kit.Result) -> str:
    return tables(read(result["cases"]), result["command"])[0]


def packaged(given: argparse.Namespace, result: kit.Result) -> None:
    """With --date the packaged priors are made anew."""
    if given.date:
        made = tables(read(result["cases"]), result["command"])[1]
        made = replace(made, about=dict(made.about) | {"date": given.date})
        PACKAGED.write_text(json.dumps(made.to_dict(), indent=1) + "\n", encoding="utf-8")


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
            date=("", "date of the fit, such as 2026-11-28; without it the priors stay"),
        )
    )

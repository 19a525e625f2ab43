"""Fits the prior of natural shifts, and judges it on each source with that source left out.

python -m benchmarks.natural.prior --date 2026-11-26     # the packaged prior, results/prior.json and prior.md

What is fitted: from where one counts (how far predicted falls and rises are believed) and what an unexplained change
costs beyond it, by least absolute errors, and quantiles of the truth's distance from there by linear quantile
regression on three effects: chance (the standard error), how far the outputs moved, m / (1 + m), and how well a
classifier tells target rows from reference rows, v / (1 + v) of v = 2 AUC - 1. Every source counts alike, however many
cases it has. Predicted rises are never believed to the opposite, and falls are stretched by half of what the natural
shifts ask for, and 0.7 of the cost is taken: shifts that re-weight the reference, which life makes too, ask for
nothing. The lower tail reaches 1.15 times as far below the median as the fitted sources ask for: sources that nobody
had seen ended below it twice as often as sources that were left out.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

import numpy as np

from benchmarks import kit
from benchmarks.kit import RESULTS, ROOT
from benchmarks.natural.tables import DOMAIN_OF, FAR, LEVEL, OLD, Shift, read_shifts, unseen_falls
from benchmarks.quality.tables import Triple
from oodometer.headline.headline import Evidence
from oodometer.headline.natural_shifts import (
    NaturalShifts,
    ShiftSigns,
    saturated,
    skill,
    spanning,
    standard_error,
    trust_of,
    verdict_of,
)

PACKAGED = ROOT / "src" / "oodometer" / "headline" / "natural_shifts.json"
LEVELS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99)
LOWER, UPPER = 1.15, 1.05  # times as far from the median as fitted, from the quantiles of 10 and of 90 % outwards
MARGINS = (0.01, 0.03, 0.05)
REACHES = (0.035, 0.06, 0.08, 0.12, 0.2, 0.3, 1.0)


def source_of(shift: Shift) -> str:
    """The public data set: beds of one set, such as adult-age and adult-group, are one source."""
    return shift.source.partition("-")[0]


def domain_of(shift: Shift) -> str:
    """What the data of a case are."""
    return DOMAIN_OF[source_of(shift)]


def fit_prior(shifts: Sequence[Shift]) -> NaturalShifts:
    """The prior that these cases make; `reach` is empty."""
    sizes = Counter(map(source_of, shifts))
    # other models see falls that a confidence does not: of their cases the value is known, and few sources hold any
    shifts = [s for s in shifts if not s.signs.models]
    weights = np.array([1 / sizes[source_of(s)] for s in shifts])
    signs = [s.signs for s in shifts]
    truth = np.array([s.case.truth for s in shifts])
    nothing = np.zeros(len(LEVELS))
    rule = NaturalShifts(cost=0.0, levels=np.array(LEVELS), chance=nothing, size=nothing, unknown=typical(signs))
    exposed = np.array([[rule.exposure(one)] for one in signs])
    goal = truth - np.array([rule.value(one) for one in signs])
    rule = replace(rule, cost=round(-float(quantile_regression(exposed, goal, weights, 0.5)[0]), 4))
    chance = np.array([standard_error(one.source, one) for one in signs])
    far = np.array([skill(one.source) * rule.distance(one) for one in signs])
    design = np.column_stack([chance, far])
    goal = truth - np.array([rule.value(one) for one in signs])
    fitted = np.array([quantile_regression(design, goal, weights, p) for p in LEVELS])
    fitted[LEVELS.index(0.5)] = 0.0  # the value is the median
    fitted[np.array(LEVELS) <= 0.1] *= LOWER
    fitted[np.array(LEVELS) >= 0.9] *= UPPER
    return replace(rule, chance=fitted[:, 0], size=fitted[:, 1])


def typical(signs: Sequence[ShiftSigns]) -> dict[str, float]:
    """What is taken for a sign that cannot be seen."""
    moved = [one.moved for one in signs if one.moved is not None]
    apart = [one.apart for one in signs if one.apart is not None]
    both = [(saturated(one.separation), saturated(one.moved)) for one in signs if one.separation and one.moved]
    ratio = float(np.median([v / m for v, m in both])) if both else 0.0
    found = {"moved": float(np.median(moved)), "separation": ratio, "apart": float(np.median(apart))}
    return {name: round(value, 5) for name, value in found.items()}


def quantile_regression(design: np.ndarray, goal: np.ndarray, weights: np.ndarray, p: float) -> np.ndarray:
    """Weighted linear quantile regression without an intercept (Koenker and Bassett, 1978), by the linear programme
    that is dual to it, which has a line for each column and not for each row.
    """
    from scipy.optimize import linprog

    bounds = np.column_stack([np.zeros(len(goal)), weights])
    found = linprog(-goal, A_eq=design.T, b_eq=(1 - p) * (design.T @ weights), bounds=bounds, method="highs-ds")
    return np.asarray(-found.eqlin.marginals)


Fit = Callable[[Sequence[Shift]], NaturalShifts]
Under = Callable[[Shift, NaturalShifts], Shift]
Group = Callable[[Shift], str]


def left_out(
    shifts: Sequence[Shift], fit: Fit = fit_prior, under: Under | None = None, group: Group = source_of
) -> list[Shift]:
    """Every case with the headline of a prior that was fitted without its whole source, or domain."""
    under = under or _under
    priors = priors_without(shifts, group, fit)
    bare = [under(s, priors[group(s)]) for s in shifts]
    # what is measured of a band is measured without the group, too
    made = {one: replace(p, reach=reach_of([s for s in bare if group(s) != one])) for one, p in priors.items()}
    return [under(s, made[group(s)]) for s in shifts]


def priors_without(shifts: Sequence[Shift], group: Group, fit: Fit = fit_prior) -> dict[str, NaturalShifts]:
    """The prior of all other groups, for each group."""
    return {one: fit([s for s in shifts if group(s) != one]) for one in sorted(set(map(group, shifts)))}


def _under(shift: Shift, prior: NaturalShifts) -> Shift:
    signs, evidence = shift.signs, Evidence(LEVEL, source=shift.signs.source, reference_rows=shift.signs.reference_rows)
    ends = {
        asked: spanning(prior.value(signs), prior.interval(signs, asked), evidence, asked) for asked in (LEVEL, 0.5)
    }
    trust, _ = trust_of(prior, signs, shift.doubt)
    whole, half = ends[LEVEL], ends[0.5]
    said = replace(shift.case, headline=(whole.value, whole.lower, whole.upper), trust=trust)
    return replace(shift, case=said, half=(half.value, half.lower, half.upper))


def reach_of(shifts: Sequence[Shift]) -> tuple[tuple[float, int, float, float], ...]:
    """Of the bands that reach so far from the value, where nothing speaks against the number: cases, share of the
    truths inside, share of values off by more than three points.
    """
    out, below, shifts = [], 0.0, [s for s in shifts if not s.doubt]
    for most in REACHES:
        reaches = [
            max(s.case.headline[0] - s.case.headline[1], s.case.headline[2] - s.case.headline[0]) for s in shifts
        ]
        few = [s for s, reach in zip(shifts, reaches, strict=True) if below < reach <= most]
        if few:
            inside, off = mean(s.case.holds() for s in few), mean(is_off(s) for s in few)
            out.append((most, len(few), round(inside, 3), round(off, 3)))
        below = most
    return tuple(out)


def is_off(shift: Shift) -> bool:
    """Whether the truth is more than three points from the value."""
    return 100 * abs(shift.case.headline[0] - shift.case.truth) > FAR


def verdicts_of(shifts: Sequence[Shift]) -> tuple[tuple[float, str, int, float], ...]:
    """Margin, what was said of a fall by so much, how often, and how often that was right; whole domains left out."""
    priors = priors_without(shifts, domain_of)
    rows = []
    for margin in MARGINS:
        said = [verdict_of(priors[domain_of(s)].share_below(s.signs, s.signs.source - margin)) for s in shifts]
        fell = [s.signs.source - s.case.truth >= margin for s in shifts]
        for verdict in ("fell", "holds"):
            right = [one == (verdict == "fell") for one, word in zip(fell, said, strict=True) if word == verdict]
            if right:
                rows.append((margin, verdict, len(right), round(mean(right), 3)))
    return tuple(rows)


def packaged(shifts: Sequence[Shift], judged: Sequence[Shift], by_domain: Sequence[Shift], date: str) -> NaturalShifts:
    """The prior of all cases, with what was measured of it with whole domains left out."""
    about = {"made_by": "python -m benchmarks.natural.prior", "date": date, "cases": len(shifts)}
    about["sources"] = sorted(set(map(source_of, shifts)))
    about["domains"] = sorted(set(map(domain_of, shifts)))
    about["unseen_falls"] = unseen_falls(judged)
    return replace(fit_prior(shifts), reach=reach_of(by_domain), about=about, verdicts=verdicts_of(shifts))


Before = Mapping[str, Triple]


def figures(shifts: Sequence[Shift], by_domain: Sequence[Shift], before: Before) -> dict[str, tuple[float, str, bool]]:
    """What is promised of natural shifts: figure, promise, whether it holds; ``before``: headlines of the prior of
    fifteen sources.
    """
    natural, same = ([s for s in shifts if (s.group != "same") == one] for one in (True, False))
    new, old = ([s for s in natural if is_new(s) == one] for one in (True, False))
    holds, half = coverage(natural), mean(s.half[1] <= s.case.truth <= s.half[2] for s in natural)
    at_least = share_of_tenth(natural, source_of)
    apart = min(coverage(few) for few in grouped([s for s in by_domain if s.group != "same"], domain_of).values())
    scores = score(new) / score([was(s, before) for s in new])
    wide = width([was(s, before) for s in same])
    ratios = [ratio(few, method) for few, method in ((old, "im"), (new, "doc"), (same, "im"))]
    high = [s for s in by_domain if s.case.trust == "high" and s.group != "same"]
    many = [s for s in same if s.case.rows >= 500]
    off = mean(map(is_off, high)) if high else 0.0
    share = mean(s.case.trust == "high" for s in many)
    return {"coverage, natural shifts": (holds, "0.87 to 0.93", 0.87 <= holds <= 0.93),
        "coverage, nine sources in ten": (at_least, "at least 0.80", at_least >= 0.8),
        "coverage, lowest domain, itself left out": (apart, "at least 0.80", apart >= 0.8),
        "coverage of the 50 % band": (half, "0.45 to 0.55", 0.45 <= half <= 0.55),
        "interval score on new sources, of the prior before": (scores, "at most 0.90", scores <= 0.9),
        "error on old sources, of im's": (ratios[0], "at most 0.86", ratios[0] <= 0.86),
        "error on new sources, of doc's": (ratios[1], "at most 0.88", ratios[1] <= 0.88),
        "coverage, no shift": (coverage(same), "at least 0.93", coverage(same) >= 0.93),
        "width in points, no shift": (width(same), f"at most {wide:.1f}", width(same) <= wide),
        "error without a shift, of im's": (ratios[2], "at most 1.1", ratios[2] <= 1.1),
        "off by more than 3 points, trust high, shifted, domains left out": (off, "at most 0.05", off <= 0.05),
        "trust high, no shift, 500 rows or more": (share, "told", True)}  # fmt: skip


def coverage(shifts: Sequence[Shift]) -> float:
    """Share of the truths inside."""
    return mean(s.case.holds() for s in shifts)


def is_new(shift: Shift) -> bool:
    """Whether the prior before had not seen the source."""
    return source_of(shift) not in OLD


def grouped(shifts: Sequence[Shift], group: Group) -> dict[str, list[Shift]]:
    """The cases of each group."""
    return {one: [s for s in shifts if group(s) == one] for one in sorted(set(map(group, shifts)))}


def share_of_tenth(shifts: Sequence[Shift], group: Group) -> float:
    """Coverage that nine groups in ten reach."""
    every = sorted(coverage(few) for few in grouped(shifts, group).values())
    return every[len(every) // 10]


def ratio(shifts: Sequence[Shift], method: str) -> float:
    """Error of the headline in that of a method, where the method answered."""
    both = [(_error(s), e) for s in shifts if (e := s.case.error(method)) is not None]
    return mean(one for one, _ in both) / mean(other for _, other in both)


def was(shift: Shift, before: Before) -> Shift:
    """The case with the headline of the prior before."""
    return replace(shift, case=replace(shift.case, headline=before["/".join(shift.key)]))


def _error(shift: Shift) -> float:
    return shift.case.error() or 0.0


def width(shifts: Sequence[Shift]) -> float:
    """Mean width of the intervals in points; NaN of none."""
    return mean(100 * (s.case.headline[2] - s.case.headline[1]) for s in shifts) if shifts else float("nan")


def score(shifts: Sequence[Shift]) -> float:
    """Mean interval score in points: width and, of a miss, 2 / (1 - level) times its size."""
    return width(shifts) + 2 / (1 - LEVEL) * mean(s.below + s.above for s in shifts)


def page(shifts: Sequence[Shift], by_domain: Sequence[Shift], before: Before, prior: NaturalShifts) -> str:
    held = [[name, f"{found:.3f}", asked, "yes" if good else "**NO**"]
            for name, (found, asked, good) in figures(shifts, by_domain, before).items()]  # fmt: skip
    natural = [s for s in shifts if s.group != "same"]
    header = ["cases", "error", "before", "coverage", "before", "width", "before", "interval score", "before"]

    def row(name: str, few: Sequence[Shift]) -> list[str]:
        old = [was(s, before) for s in few]
        return [name, str(len(few)), f"{mean(map(_error, few)):.1f}", f"{mean(map(_error, old)):.1f}",
                f"{coverage(few):.0%}", f"{coverage(old):.0%}", f"{width(few):.0f}", f"{width(old):.0f}",
                f"{score(few):.0f}", f"{score(old):.0f}"]  # fmt: skip

    def rows(some: Sequence[Shift], group: Group) -> list[list[str]]:
        return [row(name, few) for name, few in grouped(some, group).items()]

    reach = [[f"{100 * most:g}", str(cases), f"{inside:.0%}", f"{off:.1%}"] for most, cases, inside, off in prior.reach]
    said = [
        [f"{100 * margin:.0f}", verdict, f"{cases / len(shifts):.0%}", f"{right:.1%}"]
        for margin, verdict, cases, right in prior.verdicts
    ]
    about = prior.about or {}
    lines = [
        "# The prior of natural shifts",
        "",
        f"Made by `python -m benchmarks.natural.prior` from {about['cases']} cases of {len(about['sources'])} sources "
        f"({', '.join(about['sources'])}). Every figure is of cases whose whole source was left out of the fit, where "
        "it says so, whole domain. `before` is the headline of the prior of fifteen sources "
        "(`natural_before.json`): the old sources were among them, the new ones were not.",
        "",
        *kit.table(["figure", "found", "promise", "holds"], held),
        "## Source by source, natural shifts",
        "",
        *kit.table(["source", *header], rows(natural, source_of)),
        "## Domain by domain, the source left out",
        "",
        *kit.table(["domain", *header], rows(natural, domain_of)),
        "## Domain by domain, the domain left out",
        "",
        *kit.table(["domain", *header], rows([s for s in by_domain if s.group != "same"], domain_of)),
        "## How far the band of 90 % reaches from the value, in points, and how many ended inside; domains left out",
        "",
        *kit.table(["reach up to", "cases", "inside", "value off by more than 3 points"], reach),
        "## Did the accuracy fall by a margin: verdicts without a label, domains left out",
        "",
        *kit.table(["margin in points", "said", "of all cases", "right"], said),
        "## The quantiles",
        "",
        f"Predicted rises count {prior.rise}, predicted falls {prior.fall}, as far as the change is unexplained. "
        "Quantile of the truth less that start: standard error, moved and separation, each as x / (1 + x).",
        "",
        *kit.table(
            ["quantile", "standard error", "moved", "separation"],
            [[f"{p:g}", *(f"{c:+.2f}" for c in row)] for p, *row in zip(
                prior.levels, prior.chance, prior.size, prior.apart, strict=True)],
        ),
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.natural.prior", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for prior.json and prior.md")
    parser.add_argument("--date", required=True, help="date of the fit, such as 2026-11-22")
    options = parser.parse_args(arguments)
    shifts, _ = read_shifts(RESULTS / "natural.json")
    before = {key: tuple(three) for key, three in json.loads((RESULTS / "natural_before.json").read_text()).items()}
    judged, by_domain = left_out(shifts), left_out(shifts, group=domain_of)
    prior = packaged(shifts, judged, by_domain, options.date)
    before_now = json.loads(PACKAGED.read_text(encoding="utf-8"))
    more = {"metrics": before_now["metrics"]} if "metrics" in before_now else {}  # of `benchmarks.natural.metrics`
    PACKAGED.write_text(json.dumps(prior.to_dict() | more, indent=1) + "\n", encoding="utf-8")
    found = figures(judged, by_domain, before)
    plain = {name: {"found": round(float(value), 4), "promise": asked, "holds": bool(good)}
             for name, (value, asked, good) in found.items()}  # fmt: skip
    (options.out / "prior.json").write_text(json.dumps({"figures": plain}, indent=1) + "\n", encoding="utf-8")
    (options.out / "prior.md").write_text(page(judged, by_domain, before, prior), encoding="utf-8")
    for name, (value, asked, good) in found.items():
        print(f"{'yes' if good else 'NO ':3s}  {name}: {value:.3f} ({asked})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

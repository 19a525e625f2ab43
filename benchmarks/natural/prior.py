"""Fits the prior of natural shifts, and judges it on each source with that source left out.

python -m benchmarks.natural.prior --date 2026-11-22     # the packaged prior, results/prior.json and prior.md

What is fitted: the rule of the value (how far predicted falls and rises are believed) by least absolute errors, and
quantiles of truth - value by linear quantile regression on two effects, chance (the standard error) and the size of
the change. Cases of one data set count together by the square root of their number. Predicted rises are never believed
to the opposite, and falls are stretched by half of what the natural shifts ask for: shifts that re-weight the
reference, which life makes too, ask for nothing.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist, mean

import numpy as np

from benchmarks import kit
from benchmarks.kit import RESULTS, ROOT
from benchmarks.natural.tables import LEVEL, Shift, read_shifts, unseen_falls
from oodometer.headline.headline import Evidence
from oodometer.headline.natural_shifts import NaturalShifts, spanning, standard_error, trust_of, verdict_of

PACKAGED = ROOT / "src" / "oodometer" / "headline" / "natural_shifts.json"
LEVELS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99)
GATE = 0.2  # of what class shares leave unexplained, where half of the rule is believed
STRETCHED = 0.5  # of what natural shifts ask for
MARGINS = (0.01, 0.03, 0.05)
REACHES = (0.04, 0.06, 0.08, 0.12, 0.2, 0.3, 1.0)


def source_of(shift: Shift) -> str:
    """The public data set: beds of one set, such as adult-age and adult-group, are one source."""
    return shift.source.partition("-")[0]


def fit_prior(shifts: Sequence[Shift], *, known_chance: bool = False) -> NaturalShifts:
    """The prior that these cases make; `reach` is empty.

    known_chance : take a normal distribution's quantiles for what chance does, and fit the size of the change alone.
    """
    sizes = Counter(map(source_of, shifts))
    weights = np.array([1 / np.sqrt(sizes[source_of(s)]) for s in shifts])
    signs = [s.signs for s in shifts]
    truth = np.array([s.case.truth for s in shifts])
    seen = {
        name: float(np.median([v for one in signs if (v := getattr(one, name)) is not None]))
        for name in ("moved", "unexplained")
    }
    nothing = np.zeros(len(LEVELS))
    rule = NaturalShifts(0.0, 1.0, GATE, np.array(LEVELS), nothing, nothing, seen)
    # rise and fall by least absolute errors, then shrunk
    source = np.array([one.source for one in signs])
    apart = np.array([one.estimate for one in signs]) - source
    left = np.array([rule.unknown["unexplained"] if one.unexplained is None else one.unexplained for one in signs])
    gate = np.where([one.models for one in signs], 0.0, left**2 / (left**2 + rule.gate**2))
    design = np.column_stack([gate * np.maximum(apart, 0), -gate * np.maximum(-apart, 0)])
    goal = truth - source - (1 - gate) * apart
    rise, fall = quantile_regression(design, goal, weights, 0.5)
    if rise < 0:
        rise, fall = 0.0, quantile_regression(design[:, 1:], goal, weights, 0.5)[0]
    rule = replace(
        rule, **{"rise": round(min(float(rise), 1.0), 3), "fall": round(1 + STRETCHED * (float(fall) - 1), 3)}
    )
    value = np.array([rule.value(one) for one in signs])
    design = np.column_stack(
        [
            [standard_error(v, one) for v, one in zip(value, signs, strict=True)],
            [seen["moved"] if one.moved is None else one.moved for one in signs],
        ]
    )
    goal = truth - value
    if known_chance:
        normal = np.array([NormalDist().inv_cdf(p) for p in LEVELS])
        found = [
            quantile_regression(design[:, 1:], goal - z * design[:, 0], weights, p)[0]
            for p, z in zip(LEVELS, normal, strict=True)
        ]
        return replace(rule, chance=normal, size=np.array(found))
    both = np.array([quantile_regression(design, goal, weights, p) for p in LEVELS])
    return replace(rule, chance=both[:, 0], size=both[:, 1])


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


def left_out(shifts: Sequence[Shift], fit: Fit = fit_prior, under: Under | None = None) -> list[Shift]:
    """Every case with the headline of a prior that was fitted without its whole source."""
    under = under or _under
    priors = {one: fit([s for s in shifts if source_of(s) != one]) for one in sorted(set(map(source_of, shifts)))}
    bare = [under(s, priors[source_of(s)]) for s in shifts]
    # what is measured of a band is measured without the source, too
    made = {one: replace(p, reach=reach_of([s for s in bare if source_of(s) != one])) for one, p in priors.items()}
    return [under(s, made[source_of(s)]) for s in shifts]


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
    """Of the bands that reach so far from the value: cases, share of the truths inside, share far outside."""
    out, below = [], 0.0
    for most in REACHES:
        reaches = [
            max(s.case.headline[0] - s.case.headline[1], s.case.headline[2] - s.case.headline[0]) for s in shifts
        ]
        few = [s for s, reach in zip(shifts, reaches, strict=True) if below < reach <= most]
        if few:
            inside, far = mean(s.case.holds() for s in few), mean(s.far for s in few)
            out.append((most, len(few), round(inside, 3), round(far, 3)))
        below = most
    return tuple(out)


def verdicts_of(shifts: Sequence[Shift]) -> tuple[tuple[float, str, int, float], ...]:
    """Margin, what was said of a fall by so much, how often, and how often that was right; sources left out."""
    priors = {one: fit_prior([s for s in shifts if source_of(s) != one]) for one in sorted(set(map(source_of, shifts)))}
    rows = []
    for margin in MARGINS:
        said = [verdict_of(priors[source_of(s)].share_below(s.signs, s.signs.source - margin)) for s in shifts]
        fell = [s.signs.source - s.case.truth >= margin for s in shifts]
        for verdict in ("fell", "holds"):
            right = [one == (verdict == "fell") for one, word in zip(fell, said, strict=True) if word == verdict]
            if right:
                rows.append((margin, verdict, len(right), round(mean(right), 3)))
    return tuple(rows)


def packaged(shifts: Sequence[Shift], date: str) -> NaturalShifts:
    """The prior of all cases, with what was measured of it with sources left out."""
    sources = sorted(set(map(source_of, shifts)))
    about = {"made_by": "python -m benchmarks.natural.prior", "date": date, "cases": len(shifts), "sources": sources}
    about["unseen_falls"] = unseen_falls(shifts)
    return replace(fit_prior(shifts), reach=reach_of(left_out(shifts)), about=about, verdicts=verdicts_of(shifts))


def figures(shifts: Sequence[Shift], before: Sequence[Shift]) -> dict[str, tuple[float, str, bool]]:
    """What is promised of natural shifts: figure, promise, whether it holds; `before`: the same with yesterday's."""
    natural, same = ([s for s in shifts if (s.group != "same") == one] for one in (True, False))
    old, old_same = ([s for s in before if (s.group != "same") == one] for one in (True, False))
    with_im = [s for s in natural if s.group != "classes"]
    holds = mean(s.case.holds() for s in natural)
    by_source = sorted(
        mean(s.case.holds() for s in natural if source_of(s) == one) for one in set(map(source_of, natural))
    )
    at_least = by_source[len(by_source) // 10]
    half = mean(s.half[1] <= s.case.truth <= s.half[2] for s in natural)
    half_width = mean(100 * (s.half[2] - s.half[1]) for s in natural)
    still = mean(s.case.holds() for s in same)
    ratio = mean(_error(s) for s in with_im) / mean(s.case.error("im") or 0.0 for s in with_im)
    ratio_same = mean(_error(s) for s in same) / mean(s.case.error("im") or 0.0 for s in same)
    high = [s for s in shifts if s.case.trust == "high"]
    many = [s for s in same if s.case.rows >= 500]
    scores = score(natural) / score(old) if old else float("nan")
    out = {"coverage, natural shifts": (holds, "at least 0.86", holds >= 0.86),
        "coverage, nine sources in ten": (at_least, "at least 0.75", at_least >= 0.75),
        "interval score, of yesterday's": (scores, "at most 0.55", scores <= 0.55),
        "coverage, no shift": (still, "at least 0.92", still >= 0.92),
        "width in points, no shift": (width(same), f"at most {width(old_same):.1f}", width(same) <= width(old_same)),
        "coverage of the 50 % band": (half, "0.45 to 0.57", 0.45 <= half <= 0.57),
        "width of the 50 % band in points": (half_width, "at most 15", half_width <= 15),
        "error, of the best fixed method's (im)": (ratio, "at most 0.87", ratio <= 0.87),
        "error without a shift, of im's": (ratio_same, "at most 1.05", ratio_same <= 1.05)}  # fmt: skip
    if high:
        far = mean(s.far for s in high)
        out["missed by more than 3 points, trust high"] = (far, "at most 0.05", far <= 0.05)
    share = mean(s.case.trust == "high" for s in many)
    out["trust high, no shift, 500 rows or more"] = (share, "at least 0.5", share >= 0.5)
    return out


def _error(shift: Shift) -> float:
    return shift.case.error() or 0.0


def width(shifts: Sequence[Shift]) -> float:
    """Mean width of the intervals in points; NaN of none."""
    return mean(100 * (s.case.headline[2] - s.case.headline[1]) for s in shifts) if shifts else float("nan")


def score(shifts: Sequence[Shift]) -> float:
    """Mean interval score in points: width and, of a miss, 2 / (1 - level) times its size."""
    return width(shifts) + 2 / (1 - LEVEL) * mean(s.below + s.above for s in shifts)


def page(shifts: Sequence[Shift], before: Sequence[Shift], prior: NaturalShifts) -> str:
    held = [[name, f"{found:.3f}", asked, "yes" if good else "**NO**"]
            for name, (found, asked, good) in figures(shifts, before).items()]  # fmt: skip
    rows = []
    for one in sorted(set(map(source_of, shifts))):
        few = [s for s in shifts if source_of(s) == one and s.group != "same"]
        old = [s for s in before if source_of(s) == one and s.group != "same"]
        rows.append([one, str(len(few)), f"{mean(_error(s) for s in few):.1f}", f"{mean(_error(s) for s in old):.1f}",
                     f"{mean(s.case.holds() for s in few):.0%}", f"{mean(s.case.holds() for s in old):.0%}",
                     f"{width(few):.0f}", f"{width(old):.0f}", f"{score(few):.0f}", f"{score(old):.0f}"])  # fmt: skip
    header = ["source", "cases", "error", "before", "coverage", "before", "width", "before", "interval score", "before"]
    reach = [
        [f"{100 * most:.0f}", str(cases), f"{inside:.0%}", f"{far:.0%}"] for most, cases, inside, far in prior.reach
    ]
    said = [
        [f"{100 * margin:.0f}", verdict, f"{cases / len(shifts):.0%}", f"{right:.1%}"]
        for margin, verdict, cases, right in prior.verdicts
    ]
    about = prior.about or {}
    lines = [
        "# The prior of natural shifts",
        "",
        f"Made by `python -m benchmarks.natural.prior` from {about['cases']} cases of {len(about['sources'])} sources "
        f"({', '.join(about['sources'])}). Every figure is of cases whose whole source was left out of the fit. "
        f"`before` is the headline of `natural_before.json`, without a prior.",
        "",
        *kit.table(["figure", "found", "promise", "holds"], held),
        "## Source by source, natural shifts",
        "",
        *kit.table(header, rows),
        "## How far the band of 90 % reaches from the value, in points, and how many ended inside",
        "",
        *kit.table(["reach up to", "cases", "inside", "missed by more than 3 points"], reach),
        "## Did the accuracy fall by a margin: verdicts without a label",
        "",
        *kit.table(["margin in points", "said", "of all cases", "right"], said),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.natural.prior", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for prior.json and prior.md")
    parser.add_argument("--date", required=True, help="date of the fit, such as 2026-11-22")
    options = parser.parse_args(arguments)
    shifts, _ = read_shifts(RESULTS / "natural.json")
    before, _ = read_shifts(RESULTS / "natural_before.json")
    prior, judged = packaged(shifts, options.date), left_out(shifts)
    before_now = json.loads(PACKAGED.read_text(encoding="utf-8"))
    more = {"metrics": before_now["metrics"]} if "metrics" in before_now else {}  # of `benchmarks.natural.metrics`
    PACKAGED.write_text(json.dumps(prior.to_dict() | more, indent=1) + "\n", encoding="utf-8")
    found = figures(judged, before)
    plain = {name: {"found": round(float(value), 4), "promise": asked, "holds": bool(good)}
             for name, (value, asked, good) in found.items()}  # fmt: skip
    (options.out / "prior.json").write_text(json.dumps({"figures": plain}, indent=1) + "\n", encoding="utf-8")
    (options.out / "prior.md").write_text(page(judged, before, prior), encoding="utf-8")
    for name, (value, asked, good) in found.items():
        print(f"{'yes' if good else 'NO ':3s}  {name}: {value:.3f} ({asked})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Fits the prior of natural shifts, and judges it on each source with that source left out.

python -m benchmarks.natural.prior --date 2026-11-28     # the packaged prior, results/prior.json and prior.md

What is fitted, with every source counting alike, however many cases it has: what a change costs beyond what methods
predict, by least absolute errors, and quantiles of the truth's distance from the value by linear quantile regression on
chance (the standard error) and on how far a classifier tells target rows from reference rows, as far as the model can
lose (`NaturalShifts` has the formula). Cases in which other models answered have no part in the fit. The outer
quantiles reach further than fitted, by factors that were chosen on these cases: sources that nobody had seen ended
below them more often than sources that were left out.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Literal

import numpy as np

from benchmarks import kit
from benchmarks.kit import RESULTS, ROOT
from benchmarks.natural.tables import DOMAIN_OF, FAR, LEVEL, Shift, read_shifts, unseen_falls
from oodometer.headline.headline import Evidence
from oodometer.headline.natural_shifts import (
    ALARM,
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
LOWER, UPPER = (
    1.15,
    1.05,
)  # times as far from the median as fitted, from the quantiles of 10 and of 90 % outwards
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
    rule = NaturalShifts(
        cost=0.0,
        centre_cost=0.0,
        levels=np.array(LEVELS),
        chance=nothing,
        size=nothing,
        unknown=typical(signs),
    )
    believed = np.array([rule.value(one) for one in signs])

    def cost(contradiction: Literal["disagreement", "apart"]) -> float:
        exposed = np.array([[rule.exposure(one, contradiction)] for one in signs])
        return round(-float(quantile_regression(exposed, truth - believed, weights, 0.5)[0]), 4)

    rule = replace(rule, cost=cost("disagreement"), centre_cost=cost("apart"))
    chance = np.array([standard_error(one.source, one) for one in signs])
    far = np.array([skill(one.source) * rule.distance(one) for one in signs])
    design = np.column_stack([chance, far])
    goal = truth - np.array([rule.centre(one) for one in signs])
    fitted = np.array([quantile_regression(design, goal, weights, p) for p in LEVELS])
    fitted[LEVELS.index(0.5)] = 0.0  # that is the value
    fitted[np.array(LEVELS) <= 0.1] *= LOWER
    fitted[np.array(LEVELS) >= 0.9] *= UPPER
    return replace(rule, chance=fitted[:, 0], size=fitted[:, 1])


def typical(signs: Sequence[ShiftSigns]) -> dict[str, float]:
    """What is taken for a sign that cannot be seen."""
    moved = [one.moved for one in signs if one.moved is not None]
    apart = [one.apart for one in signs if one.apart is not None]
    disagreement = [one.disagreement for one in signs if one.disagreement is not None]
    both = [
        (saturated(one.separation), saturated(one.moved))
        for one in signs
        if one.separation and one.moved
    ]
    ratio = float(np.median([v / m for v, m in both])) if both else 0.0
    found = {
        "moved": float(np.median(moved)),
        "separation": ratio,
        "apart": float(np.median(apart)),
        "disagreement": float(np.median(disagreement)),
    }
    return {name: round(value, 5) for name, value in found.items()}


def quantile_regression(
    design: np.ndarray, goal: np.ndarray, weights: np.ndarray, p: float
) -> np.ndarray:
    """Weighted linear quantile regression without an intercept (Koenker and Bassett, 1978), by the linear programme
    that is dual to it, which has a line for each column and not for each row.
    """
    from scipy.optimize import linprog

    bounds = np.column_stack([np.zeros(len(goal)), weights])
    found = linprog(
        -goal, A_eq=design.T, b_eq=(1 - p) * (design.T @ weights), bounds=bounds, method="highs-ds"
    )
    return np.asarray(-found.eqlin.marginals)


Fit = Callable[[Sequence[Shift]], NaturalShifts]
Under = Callable[[Shift, NaturalShifts], Shift]
Group = Callable[[Shift], str]


def left_out(
    shifts: Sequence[Shift],
    fit: Fit = fit_prior,
    under: Under | None = None,
    group: Group = source_of,
) -> list[Shift]:
    """Every case with the headline of a prior that was fitted without its whole source, or domain."""
    under = under or _under
    priors = priors_without(shifts, group, fit)
    bare = [under(s, priors[group(s)]) for s in shifts]
    # what is measured of a band is measured without the group, too
    made = {
        one: replace(p, reach=reach_of([s for s in bare if group(s) != one]))
        for one, p in priors.items()
    }
    return [under(s, made[group(s)]) for s in shifts]


def priors_without(
    shifts: Sequence[Shift], group: Group, fit: Fit = fit_prior
) -> dict[str, NaturalShifts]:
    """The prior of all other groups, for each group."""
    return {
        one: fit([s for s in shifts if group(s) != one]) for one in sorted(set(map(group, shifts)))
    }


def _under(shift: Shift, prior: NaturalShifts) -> Shift:
    signs, evidence = (
        shift.signs,
        Evidence(LEVEL, source=shift.signs.source, reference_rows=shift.signs.reference_rows),
    )
    ends = {
        asked: spanning(prior.value(signs), prior.interval(signs, asked), evidence, asked)
        for asked in (LEVEL, 0.5)
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
            max(s.case.headline[0] - s.case.headline[1], s.case.headline[2] - s.case.headline[0])
            for s in shifts
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
        said = [
            verdict_of(priors[domain_of(s)].share_below(s.signs, s.signs.source - margin))
            for s in shifts
        ]
        fell = [s.signs.source - s.case.truth >= margin for s in shifts]
        for verdict in ("fell", "holds"):
            right = [
                one == (verdict == "fell")
                for one, word in zip(fell, said, strict=True)
                if word == verdict
            ]
            if right:
                rows.append((margin, verdict, len(right), round(mean(right), 3)))
    return tuple(rows)


def alarm_rows(shifts: Sequence[Shift]) -> list[list[str]]:
    """Family and margin: of falls that are `ALARM` likely, how many were found, false and right; sources left out."""
    priors, out = priors_without(shifts, source_of), []
    for name, few in (
        ("all but unshifted", [s for s in shifts if s.group != "same"]),
        *grouped(shifts, lambda s: s.group).items(),
    ):
        for margin in MARGINS:
            fell = np.array([s.signs.source - s.case.truth >= margin for s in few])
            likely = [
                priors[source_of(s)].share_below(s.signs, s.signs.source - margin) for s in few
            ]
            rung = np.array(likely) >= ALARM
            shares = (rung[fell], rung[~fell], fell[rung])
            cells = [f"{share.mean():.0%}" if len(share) else "-" for share in shares]
            out.append([name, f"{100 * margin:.0f}", str(len(few)), f"{fell.mean():.0%}", *cells])
    return out


def packaged(
    shifts: Sequence[Shift], judged: Sequence[Shift], by_domain: Sequence[Shift], date: str
) -> NaturalShifts:
    """The prior of all cases, with what was measured of it with whole domains left out."""
    about = {"made_by": "python -m benchmarks.natural.prior", "date": date, "cases": len(shifts)}
    about["sources"] = sorted(set(map(source_of, shifts)))
    about["domains"] = sorted(set(map(domain_of, shifts)))
    about["unseen_falls"] = unseen_falls(judged)
    return replace(
        fit_prior(shifts), reach=reach_of(by_domain), about=about, verdicts=verdicts_of(shifts)
    )


def figures(
    shifts: Sequence[Shift], by_domain: Sequence[Shift]
) -> dict[str, tuple[float, str, bool]]:
    """What is promised of natural shifts: figure, promise, whether it holds."""
    groups = grouped(shifts, lambda s: s.group)
    same, everyday = groups["same"], groups["everyday"]
    temporal = [s for s in groups["temporal"] if source_of(s) != SEVERE]
    natural = [s for s in shifts if s.group not in ("same", "everyday", "temporal")]
    half = mean(s.half[1] <= s.case.truth <= s.half[2] for s in natural)
    apart = min(
        coverage(few)
        for few in grouped([s for s in by_domain if s.group != "same"], domain_of).values()
    )
    high = [s for s in by_domain if s.case.trust == "high" and s.group != "same"]
    off = mean(map(is_off, high)) if high else 0.0
    strata = [few for _, few in seen_strata(shifts) if is_large(few)]
    asked: list[tuple[str, float, float, float]] = [
        ("everyday tables: error, of the best fixed method's", best_ratio(everyday)[0], 0.0, 0.9),
        ("everyday tables: coverage", coverage(everyday), 0.87, 0.93),
        ("everyday tables: width in points", width(everyday), 0.0, 30.0),
        ("earlier sources: error in points", mean(map(_error, natural)), 0.0, 8.56),
        ("earlier sources: coverage", coverage(natural), 0.93, 1.0),
        ("earlier sources: width in points", width(natural), 0.0, 38.0),
        ("earlier sources: coverage of the 50 % band", half, 0.45, 0.55),
        ("temporal sources: error, of the best fixed method's", best_ratio(temporal)[0], 0.0, 1.0),
        ("no shift: coverage", coverage(same), 0.93, 1.0),
        ("no shift: error, of the best fixed method's", best_ratio(same)[0], 0.0, 1.1),
        (
            "visible strata: largest error, of the best fixed method's",
            max(best_ratio(s)[0] for s in strata),
            0.0,
            1.03,
        ),
        ("visible strata: least coverage", min(map(coverage, strata)), 0.84, 1.0),
        ("lowest domain, itself left out: coverage", apart, 0.8, 1.0),
        ("off by more than 3 points, trust high, shifted, domains left out", off, 0.0, 0.05),
    ]
    return {
        name: (found, _promise(least, most), least <= found <= most)
        for name, found, least, most in asked
    }


def _promise(least: float, most: float) -> str:
    if not least:
        return f"at most {most:g}"
    return f"at least {least:g}" if most == 1 else f"{least:g} to {most:g}"


SEVERE = "spam"  # a stream so severe that its README keeps it apart from means
MANY_CASES, MANY_SOURCES = 100, 10  # of a stratum that is judged
ANSWERED = 0.98  # share of cases in which a method must have answered to be the best fixed one


def is_large(shifts: Sequence[Shift]) -> bool:
    """Whether a stratum is large enough to be judged."""
    return len(shifts) >= MANY_CASES and len(set(map(source_of, shifts))) >= MANY_SOURCES


def best_ratio(shifts: Sequence[Shift]) -> tuple[float, str, float]:
    """Error of the headline in that of the best fixed method, its name and its error in points."""
    found = {}
    for method in METHODS:
        both = [(_error(s), e) for s in shifts if (e := s.case.error(method)) is not None]
        if both and len(both) >= ANSWERED * len(shifts):
            found[method] = mean(other for _, other in both), mean(one for one, _ in both)
    if not found:
        return float("nan"), "-", float("nan")
    name = min(found, key=lambda method: found[method][0])
    other, ours = found[name]
    return ours / other, name, other


METHODS = ("source", "ac", "doc", "atc", "im", "cbpe")  # that answer wherever there is a confidence


def seen_strata(shifts: Sequence[Shift]) -> list[tuple[str, list[Shift]]]:
    """Strata by what can be seen without a label."""
    shifted = [s for s in shifts if s.group != "same" and "cbpe" in s.case.estimates]
    out = []

    def cut(title: str, key: Callable[[Shift], str]) -> None:
        out.extend((f"{title}: {name}", few) for name, few in grouped(shifted, key).items())

    def step(x: float, edges: Sequence[float]) -> str:
        place = sum(x >= edge for edge in edges)
        low = "below" if place == 0 else f"{edges[place - 1]:g} to"
        return f"{low} {edges[place]:g}" if place < len(edges) else f"{edges[-1]:g} and more"

    cut("kind", lambda s: s.case.kind)
    cut(
        "move of cbpe, points",
        lambda s: step(100 * (s.case.estimates["cbpe"][0] - s.reference), (-10, -2, 2, 10)),
    )
    cut(
        "headline less cbpe, points",
        lambda s: step(100 * (s.case.headline[0] - s.case.estimates["cbpe"][0]), (-15, -5, 0)),
    )
    cut("reference accuracy", lambda s: step(s.reference, (0.6, 0.7, 0.8, 0.9)))
    cut("reference rows", lambda s: step(s.case.reference_rows, (500, 2000)))
    cut("target rows", lambda s: step(s.case.rows, (300, 1000)))
    return out


def coverage(shifts: Sequence[Shift]) -> float:
    """Share of the truths inside."""
    return mean(s.case.holds() for s in shifts)


def grouped(shifts: Sequence[Shift], group: Group) -> dict[str, list[Shift]]:
    """The cases of each group."""
    return {one: [s for s in shifts if group(s) == one] for one in sorted(set(map(group, shifts)))}


def _error(shift: Shift) -> float:
    return shift.case.error() or 0.0


def width(shifts: Sequence[Shift]) -> float:
    """Mean width of the intervals in points; NaN of none."""
    return (
        mean(100 * (s.case.headline[2] - s.case.headline[1]) for s in shifts)
        if shifts
        else float("nan")
    )


def score(shifts: Sequence[Shift]) -> float:
    """Mean interval score in points: width and, of a miss, 2 / (1 - level) times its size."""
    return width(shifts) + 2 / (1 - LEVEL) * mean(s.below + s.above for s in shifts)


def page(shifts: Sequence[Shift], by_domain: Sequence[Shift], prior: NaturalShifts) -> str:
    held = [
        [name, f"{found:.3f}", asked, "yes" if good else "**NO**"]
        for name, (found, asked, good) in figures(shifts, by_domain).items()
    ]
    natural = [s for s in shifts if s.group != "same"]
    header = [
        "cases",
        "sources",
        "error",
        "best fixed method",
        "its error",
        "ratio",
        "coverage",
        "width",
        "interval score",
    ]

    def row(name: str, few: Sequence[Shift]) -> list[str]:
        ratio, best, other = best_ratio(few)
        cells = [f"{mean(map(_error, few)):.2f}", best, f"{other:.2f}", f"{ratio:.2f}"]
        about = [name, str(len(few)), str(len(set(map(source_of, few))))]
        return [*about, *cells, f"{coverage(few):.0%}", f"{width(few):.1f}", f"{score(few):.1f}"]

    def rows(some: Sequence[Shift], group: Group) -> list[list[str]]:
        return [row(name, few) for name, few in grouped(some, group).items()]

    reach = [
        [f"{100 * most:g}", str(cases), f"{inside:.0%}", f"{off:.1%}"]
        for most, cases, inside, off in prior.reach
    ]
    said = [
        [f"{100 * margin:.0f}", verdict, f"{cases / len(shifts):.0%}", f"{right:.1%}"]
        for margin, verdict, cases, right in prior.verdicts
    ]
    quantiles = zip(prior.levels, prior.chance, prior.size, strict=True)
    about = prior.about or {}
    lines = [
        "# The prior of natural shifts",
        "",
        f"Made by `python -m benchmarks.natural.prior` from {about['cases']} cases of {len(about['sources'])} sources "
        f"({', '.join(about['sources'])}). Every figure is of cases whose whole source was left out of the fit, where "
        "it says so, whole domain. The best fixed method is the best in hindsight of those that answer wherever there "
        f"is a confidence ({', '.join(METHODS)}).",
        "",
        *kit.table(["figure", "found", "promise", "holds"], held),
        "## Family by family",
        "",
        *kit.table(["family", *header], rows(shifts, lambda s: s.group)),
        "## By what can be seen beforehand, shifted cases with a confidence",
        "",
        *kit.table(["seen", *header], [row(name, few) for name, few in seen_strata(shifts)]),
        "## Source by source, shifted cases",
        "",
        *kit.table(["source", *header], rows(natural, source_of)),
        "## Domain by domain, the domain left out",
        "",
        *kit.table(
            ["domain", *header], rows([s for s in by_domain if s.group != "same"], domain_of)
        ),
        "## How far the band of 90 % reaches from the value, in points, and how many ended inside; domains left out",
        "",
        *kit.table(["reach up to", "cases", "inside", "value off by more than 3 points"], reach),
        "## Did the accuracy fall by a margin: verdicts without a label, domains left out",
        "",
        *kit.table(["margin in points", "said", "of all cases", "right"], said),
        f"## Falls that are {ALARM:.0%} likely, sources left out",
        "",
        *kit.table(
            [
                "family",
                "margin in points",
                "cases",
                "fell",
                "found",
                "false alarms",
                "alarms that are right",
            ],
            alarm_rows(shifts),
        ),
        "## The quantiles",
        "",
        f"The cost of the value is {prior.cost}, that of the quantiles {prior.centre_cost}. Quantile of the truth less "
        "their centre: standard error, and q v / (1 + v).",
        "",
        *kit.table(
            ["quantile", "standard error", "separation"],
            [[f"{p:g}", f"{chance:+.2f}", f"{size:+.2f}"] for p, chance, size in quantiles],
        ),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.natural.prior",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="folder for prior.json and prior.md"
    )
    parser.add_argument("--date", required=True, help="date of the fit, such as 2026-11-22")
    options = parser.parse_args(arguments)
    shifts, _ = read_shifts(RESULTS / "natural.json")
    judged, by_domain = left_out(shifts), left_out(shifts, group=domain_of)
    prior = packaged(shifts, judged, by_domain, options.date)
    PACKAGED.write_text(json.dumps(prior.to_dict(), indent=1) + "\n", encoding="utf-8")
    found = figures(judged, by_domain)
    plain = {name: {"found": round(float(value), 4), "promise": asked, "holds": bool(good)}
             for name, (value, asked, good) in found.items()}  # fmt: skip
    (options.out / "prior.json").write_text(
        json.dumps({"figures": plain}, indent=1) + "\n", encoding="utf-8"
    )
    (options.out / "prior.md").write_text(page(judged, by_domain, prior), encoding="utf-8")
    for name, (value, asked, good) in found.items():
        print(f"{'yes' if good else 'NO ':3s}  {name}: {value:.3f} ({asked})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Slices and chunks: is what is said of the parts of a target true, and do their alarms keep still where nothing moved?

python -m benchmarks.natural.parts             # results/parts.json and parts.md

Every target is cut into groups, by a column of both files, or by k-means of the features (of the probabilities
where there are none); temporal sources into periods. Each is fitted and asked once, as `oodometer.fit(by=)` allows;
the parts are then made again with a prior of natural shifts, and with constants of `oodometer.headline.parts`,
that were fitted without the whole source: how much a part's own reference rows count by the mean error of the values,
what a shift adds to their spread by the mean interval score at 90 %, every source alike.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import kit
from benchmarks.kit import RESULTS, data_folder
from benchmarks.natural.alarms import natural_tables
from benchmarks.natural.prior import fit_prior, source_of
from benchmarks.natural.run import measure_cases, unpack, work_folder
from benchmarks.natural.tables import CLASSES_ALONE, LEVEL, read_shifts
from oodometer.headline.headline import Evidence
from oodometer.headline.natural_shifts import (
    CHANGED,
    NaturalShifts,
    ShiftSigns,
    packaged_prior,
    signs_of_result,
    verdict_of,
)
from oodometer.headline.parts import (
    HETEROGENEITY,
    LEAST_MOVED,
    STRENGTH,
    OwnRows,
    Rest,
    SeenPart,
    SharedPart,
    own_method,
    seen_whole,
    share_correction,
)

SETS = ("natural", "natural4", "natural5")
MANY, LARGE = 15, 1500  # groups of a target without a shift, from so many rows on
FEW = 8  # groups where no column makes them
MOST = 3  # cases of a bed
SEED = 0
DROP = 0.03  # of the rule `--fail-drop`
STRENGTHS = (100.0, 200.0, 300.0, 400.0, 600.0, 1000.0)
HETEROGENEITIES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
LEASTS = (0.02, 0.05, 0.1, 0.2, 0.5, 5.0)  # of the last, all chunks take about the same
SEASONS = {
    "pjme": 4,
    "bikes": 12,
    "pm25": 12,
    "elec2": 13,
    "flights-gate": 13,
}  # periods that hold the seasons
SAME_SOURCE = {"flights-gate": "flights"}  # of the packaged prior
SEVERE = "spam"
MOST_REFERENCE = 6000


@dataclass(frozen=True)
class Found:
    """A part: what was known of it, its truth, mean confidence, p-value of its change (Holm), and what was said."""

    name: str
    seen: SeenPart
    truth: float
    confidence: float
    changed: float | None
    said: tuple[float, float, float]


@dataclass(frozen=True)
class Asked:
    """A target and its parts. kind : "none" (no shift), "natural", "periods", "seasons" or "deployed"."""

    key: str
    source: str
    kind: str
    groups: str
    signs: ShiftSigns
    value: float
    truth: float
    rest: Rest
    parts: tuple[Found, ...]

    def to_dict(self) -> dict[str, Any]:
        """A plain mapping, fractions of six digits."""
        return _rounded(asdict(self))

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Asked:
        """What `to_dict` wrote."""
        parts = []
        for part in plain["parts"]:
            own = part["seen"]["own"]
            seen = SeenPart(**{**part["seen"], "own": None if own is None else OwnRows(**own)})
            parts.append(Found(**{**part, "seen": seen, "said": tuple(part["said"])}))
        changes = {
            "signs": ShiftSigns(**plain["signs"]),
            "rest": Rest(**plain["rest"]),
            "parts": tuple(parts),
        }
        return cls(**{**plain, **changes})

    @property
    def in_time(self) -> bool:
        """Whether the parts are chunks of time."""
        return self.groups == "time"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


# --------------------------------------------------------------------------------------------------- what is asked


@dataclass(frozen=True)
class Job:
    """A target to be asked: a case on disk, or a temporal series ``name/model`` with a reference of some periods."""

    key: str
    source: str
    kind: str
    groups: str
    place: str
    count: int = 0
    reference: tuple[int, ...] = ()
    periods: tuple[int, ...] = ()

    @property
    def parent(self) -> Path:
        """For `measure_cases`, which keeps what is done by folder and name."""
        return Path(self.kind)

    @property
    def name(self) -> str:
        """The key."""
        return self.key


def natural_jobs(beds: Path) -> Iterator[Job]:
    """At most three cases of each bed, and all those without a shift."""
    rng = np.random.default_rng(SEED)
    for bed in sorted(path for path in beds.iterdir() if path.is_dir()):
        still, features = bed.name in ("same", "same4"), (beds / f"{bed.name}+features").is_dir()
        if (
            "+members" in bed.name
            or bed.name == "small-target"
            or bed.name.startswith(CLASSES_ALONE)
        ):
            continue
        cases = sorted(path.parent for path in bed.glob("*/truth.json"))
        drawn = [cases[i] for i in rng.permutation(len(cases))]
        for case in drawn if still else drawn[:MOST]:
            about = json.loads((case / "truth.json").read_text(encoding="utf-8"))
            target = pd.read_parquet(case / "target.parquet")
            rows, named = len(target), "group" in target.columns
            source, kind = about["source"].partition("-")[0], "none" if still else "natural"
            key = f"{bed.name}/{case.name}"
            if still and rows >= LARGE:
                yield Job(
                    f"{key}/{MANY}", source, kind, f"{MANY} of probabilities", str(case), MANY
                )
            if named and not bed.name.endswith("+features"):
                yield Job(f"{key}/column", source, kind, "column", str(case))
            elif not still and not named and (bed.name.endswith("+features") or not features):
                of = "features" if bed.name.endswith("+features") else "probabilities"
                yield Job(f"{key}/{FEW}", source, kind, f"{FEW} of {of}", str(case), FEW)


def temporal_jobs() -> Iterator[Job]:
    """Temporal sources, by their first reference, and those with seasons by one that holds these."""
    for path in sorted((data_folder() / "history").glob("*.npz")):
        name = path.stem
        table = np.load(path)
        last, models = (
            int(table["period"].max()),
            [key[2:] for key in table.files if key.startswith("p_")],
        )
        if name in (SEVERE, "car-loan"):
            continue
        for model in models:
            place, source = f"{path}|{model}", SAME_SOURCE.get(name, name)
            yield Job(
                f"{name}-{model}/periods",
                source,
                "periods",
                "time",
                place,
                0,
                (0,),
                tuple(range(1, last + 1)),
            )
            year = SEASONS.get(name)
            if year is not None and last > year:
                held, asked = (
                    tuple(range(year + 1)),
                    tuple(range(year + 1, min(last, 3 * year) + 1)),
                )
                yield Job(
                    f"{name}-{model}/seasons", source, "seasons", "time", place, 0, held, asked
                )


def groups_of(reference: Any, target: Any, job: Job) -> tuple[np.ndarray, np.ndarray]:
    """The group of each row of both sides: those of the column, or of k-means that was fitted on the reference."""
    if not job.count:
        return reference["group"].astype(str).to_numpy(), target["group"].astype(str).to_numpy()
    from sklearn.cluster import KMeans

    name = "features" if "features" in target else "probabilities"
    sides = [np.stack(side[name].to_numpy()).astype(float) for side in (reference, target)]
    if name == "features":
        middle, spread = np.nanmean(sides[0], axis=0), np.nanstd(sides[0], axis=0) + 1e-9
        sides = [np.nan_to_num((side - middle) / spread).clip(-4, 4) for side in sides]
    else:
        sides = [np.log(np.clip(side, 1e-3, 1)) for side in sides]
    made = KMeans(job.count, n_init=2, max_iter=30, random_state=SEED).fit(sides[0])
    return made.predict(sides[0]).astype(str), made.predict(sides[1]).astype(str)


def tables_of(job: Job) -> tuple[Any, Any, np.ndarray]:
    """Reference and target with a column `part` (or `time`), and which target rows are right."""
    if not job.periods:
        case = Path(job.place)
        reference, target, right = natural_tables(case)
        sides = [pd.read_parquet(case / f"{name}.parquet") for name in ("reference", "target")]
        here, there = groups_of(*sides, job)
        return reference.assign(part=here), target.assign(part=there), right
    path, _, model = job.place.partition("|")
    table = np.load(path)
    share, label, period = table[f"p_{model}"], table["y"].astype(int), table["period"]
    share = np.column_stack([1 - share, share]) if share.ndim == 1 else share
    said = (
        table[f"pred_{model}"].astype(int)
        if f"pred_{model}" in table.files
        else share.argmax(axis=1)
    )
    frame = pd.DataFrame({"probabilities": list(share), "prediction": said, "label": label})
    if f"pred_{model}" not in table.files:
        frame = frame.drop(columns="prediction")
    frame["time"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(period, unit="D")
    here = np.flatnonzero(np.isin(period, job.reference))
    if len(here) > MOST_REFERENCE:
        here = np.sort(np.random.default_rng(SEED).choice(here, MOST_REFERENCE, replace=False))
    asked = np.isin(period, job.periods)
    return frame.iloc[here], frame[asked].drop(columns="label"), (said == label)[asked]


def ask(job: Job) -> Asked:
    """Fitted and asked as a user would, and what that rests on."""
    reference, target, right = tables_of(job)
    return asked_of(job, reference, target, right)


def asked_of(job: Job, reference: Any, target: Any, right: np.ndarray, every: str = "day") -> Asked:
    """The answer of tables that are read; ``right``: which target rows are, (row,)."""
    import oodometer
    from oodometer.verbs.parts import own_sides

    by = "part" if "part" in target else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = oodometer.Oodometer(level=LEVEL, backtest=work_folder() / "trials").fit(
            reference, by=by
        )
        found = fitted.estimate(target, by=by, every=None if by else every, workers=1)
    parts = found.slices or found.chunks
    method = own_method([part.estimates for part in parts])
    assert method is not None
    values = [part.place["value"] if by else part.name for part in parts]
    sides, rest = own_sides(fitted.fitted_, by, values, method) if by else ({}, Rest())
    members = target["part"].to_numpy() if by else _chunk_of(target["time"], every)
    out = []
    for value, part in zip(values, parts, strict=True):
        one = next(e for e in part.estimates if e.method == method)
        side = sides.get(value)
        moved = None if by and side is None else part.signs.get("moved")
        seen = SeenPart(
            part.rows, one.value, error_of(one), None if side is None else side.rows, moved
        )
        inside = members == (value if by else part.name.partition(" (")[0])
        assert int(inside.sum()) == part.rows
        fell = part.fell_without_labels or part.fell
        confidence = next((e.value for e in part.estimates if e.method == "ac"), one.value)
        head = part.headline
        said = (head.value, head.lower, head.upper)
        changed = None if fell is None else fell.changed
        out.append(Found(str(value), seen, float(right[inside].mean()), confidence, changed, said))
    signs = signs_of_result(found)
    assert signs is not None
    about = (job.key, job.source, job.kind, job.groups, signs, found.headline.value)
    return Asked(*about, float(right.mean()), rest, tuple(out))


def error_of(estimate: Any) -> float:
    """The standard error that an estimate of this level has."""
    from oodometer.intervals import normal_quantile

    return float((estimate.upper - estimate.lower) / (2 * normal_quantile(estimate.level)))


def _chunk_of(time: Any, every: str) -> np.ndarray:
    """The name of the chunk of each row."""
    return pd.to_datetime(time).dt.strftime({"day": "%Y-%m-%d", "month": "%Y-%m"}[every]).to_numpy()


def deployed() -> Asked:
    """The car loans of NannyML's sample data, with the decisions of the deployed model, by month."""
    folder = data_folder() / "deployed"
    here, there = (
        pd.read_csv(folder / f"car_loan_{which}.csv.xz") for which in ("reference", "analysis")
    )
    there = there.merge(
        pd.read_csv(folder / "car_loan_analysis_target.csv.xz"), on="id", validate="one_to_one"
    )
    sides = []
    for side in (here, there):
        share = side["y_pred_proba"].to_numpy()
        frame = pd.DataFrame({"probabilities": list(np.column_stack([1 - share, share]))})
        frame["prediction"], frame["time"] = (
            side["y_pred"].astype(int),
            pd.to_datetime(side["timestamp"]),
        )
        sides.append(frame.assign(label=side["repaid"].astype(int)))
    right = (sides[1]["prediction"] == sides[1]["label"]).to_numpy()
    job = Job("car_loan/month", "car-loan", "deployed", "time", "")
    return asked_of(job, sides[0], sides[1].drop(columns="label"), right, every="month")


# -------------------------------------------------------------------------------------------------- what it is worth


@cache
def priors() -> dict[str, NaturalShifts]:
    """The prior of each source, fitted without it."""
    shifts, _ = read_shifts(RESULTS / "natural.json")
    return {
        one: fit_prior([s for s in shifts if source_of(s) != one])
        for one in set(map(source_of, shifts))
    }


def made_again(
    asked: Asked,
    strength: float = STRENGTH,
    heterogeneity: float = HETEROGENEITY,
    least_moved: float = LEAST_MOVED,
) -> list[SharedPart]:
    """The parts by a prior that has not seen the source, and by these constants."""
    prior = priors().get(asked.source, packaged_prior())
    signs = asked.signs
    evidence = Evidence(LEVEL, source=signs.source, reference_rows=signs.reference_rows)
    whole = seen_whole(prior.value(signs), signs, evidence, prior)
    how: dict[str, Any] = {
        "strength": strength,
        "heterogeneity": heterogeneity,
        "least_moved": least_moved,
    }
    seen = [part.seen for part in asked.parts]
    return share_correction(whole, seen, like_reference=asked.in_time, rest=asked.rest, **how)


Constants = tuple[float, float]


@dataclass(frozen=True)
class Scores:
    """Mean by source, for each strength or each pair of constants, shape {constants: {source: points}}."""

    errors: Mapping[float, Mapping[str, float]]
    intervals: Mapping[Constants, Mapping[str, float]]

    def best(self, without: str | None = None) -> Constants:
        """The constants that all sources but one ask for."""

        def over(scores: Mapping[str, float]) -> float:
            return mean(score for one, score in scores.items() if one != without)

        strength = min(self.errors, key=lambda one: over(self.errors[one]))
        pairs = [pair for pair in self.intervals if pair[0] == strength]
        return min(pairs, key=lambda pair: over(self.intervals[pair]))


def interval_score(part: Found, shared: SharedPart) -> float:
    """Width and, of a miss, 2 / (1 - level) times its size, in points."""
    low, high = shared.interval(LEVEL)
    outside = max(low - part.truth, 0.0) + max(part.truth - high, 0.0)
    return 100 * (high - low + 2 / (1 - LEVEL) * outside)


def scores_of(every: Sequence[Asked]) -> Scores:
    """Errors and interval scores of all constants that are tried."""
    errors: dict[float, dict[str, list[float]]] = {}
    intervals: dict[Constants, dict[str, list[float]]] = {}
    for asked in every:
        for strength in STRENGTHS:
            for spread in HETEROGENEITIES:
                pairs = list(zip(asked.parts, made_again(asked, strength, spread), strict=True))
                at = intervals.setdefault((strength, spread), {}).setdefault(asked.source, [])
                at.append(mean(interval_score(*pair) for pair in pairs))
            off = mean(
                100 * abs(shared.value - part.truth) for part, shared in pairs
            )  # whatever the spread
            errors.setdefault(strength, {}).setdefault(asked.source, []).append(off)
    return Scores(
        {one: {source: mean(some) for source, some in by.items()} for one, by in errors.items()},
        {one: {source: mean(some) for source, some in by.items()} for one, by in intervals.items()},
    )


def errors_of_chunks(every: Sequence[Asked]) -> list[list[str]]:
    """Mean errors by how much of the correction a chunk takes that did not move."""
    rows = []
    for kind in ("periods", "seasons"):
        some = [asked for asked in every if asked.kind == kind]
        errors = [
            mean(
                mean(Judged(a, tuple(made_again(a, least_moved=least))).errors(value)) for a in some
            )
            for least in LEASTS
        ]
        rows.append([kind, *(f"{error:.2f}" for error in errors)])
    return rows


def fitted_on(every: Sequence[Asked]) -> list[Asked]:
    """The cases that the constants are fitted on: natural shifts, none at all, and periods behind one reference."""
    return [asked for asked in every if asked.kind in ("natural", "none", "periods")]


@dataclass(frozen=True)
class Judged:
    """A target with its parts as they are said without its source: value, ends, and whether alarms are raised."""

    asked: Asked
    parts: tuple[SharedPart, ...]

    def errors(self, said: Callable[[Found, SharedPart], float]) -> list[float]:
        """Points between what is said of each part and its truth."""
        return [100 * abs(said(f, p) - f.truth) for f, p in self.pairs]

    @property
    def pairs(self) -> list[tuple[Found, SharedPart]]:
        """What was found of each part, and what is said of it."""
        return list(zip(self.asked.parts, self.parts, strict=True))

    @property
    def holds(self) -> list[bool]:
        """Whether the truth of each part lies inside."""
        ends = [(f, p.interval(LEVEL)) for f, p in self.pairs]
        return [low <= f.truth <= high for f, (low, high) in ends]

    @property
    def widths(self) -> list[float]:
        """Widths in points."""
        return [100 * (high - low) for low, high in (p.interval(LEVEL) for p in self.parts)]

    def alarms(self, margin: float) -> list[bool]:
        """Parts that are said to have fallen by a margin, by more than chance."""
        return [
            verdict_of(p.chance_below(p.reference - margin)) == "fell" and _is_changed(f)
            for f, p in self.pairs
        ]

    @property
    def drops(self) -> list[bool]:
        """Parts for which `--fail-drop 0.03 --fail-when value` raises an alarm."""
        return [p.value < p.reference - DROP and _is_changed(f) for f, p in self.pairs]

    def rank(self, said: Callable[[Found, SharedPart], float]) -> float | None:
        """Spearman's correlation of what is said of the parts and their truth; None where all are alike."""
        from scipy.stats import spearmanr

        pairs = np.array([(said(f, p), f.truth) for f, p in self.pairs]).round(9)
        if len(pairs) < 3 or len(set(pairs[:, 0])) < 2 or len(set(pairs[:, 1])) < 2:
            return None
        return float(spearmanr(pairs[:, 0], pairs[:, 1])[0])


def _is_changed(part: Found) -> bool:
    return part.changed is not None and part.changed <= CHANGED


def value(found: Found, part: SharedPart) -> float:
    """What is said of a part."""
    return part.value


def estimate(found: Found, part: SharedPart) -> float:
    """Its own calibrated estimate."""
    return found.seen.estimate


def confidence(found: Found, part: SharedPart) -> float:
    """Its mean confidence."""
    return found.confidence


def rank_error(some: Sequence[Judged], beside: Callable[[Found, SharedPart], float]) -> float:
    """Standard error of the mean difference of rank correlations, by drawing whole sources 500 times."""
    apart: dict[str, list[float]] = {}
    for one in some:
        ours, theirs = one.rank(value), one.rank(beside)
        if ours is not None and theirs is not None:
            apart.setdefault(one.asked.source, []).append(ours - theirs)
    sources, rng = list(apart.values()), np.random.default_rng(SEED)
    drawn = [rng.integers(0, len(sources), len(sources)) for _ in range(500)]
    return float(np.std([np.concatenate([sources[i] for i in places]).mean() for places in drawn]))


def by_group(some: Sequence[Judged]) -> dict[str, list[Judged]]:
    """Targets by kind and groups, as tables list them."""
    out: dict[str, list[Judged]] = {}
    for one in some:
        name = {
            "none": "no shift",
            "natural": "natural shift",
            "periods": "temporal, one reference",
            "seasons": "temporal, the reference holds the seasons",
            "deployed": "car loans by month",
        }[one.asked.kind]
        out.setdefault(name if one.asked.in_time else f"{name}, {one.asked.groups}", []).append(one)
    return dict(sorted(out.items()))


def figures(some: Sequence[Judged]) -> dict[str, float]:
    """What tables say of some targets; targets count alike."""
    ranks = [(one.rank(value), one.rank(estimate), one.rank(confidence)) for one in some]
    complete = [three for three in ranks if None not in three]
    columns = list(zip(*complete, strict=True)) if complete else [[float("nan")]] * 3
    return {
        "targets": len(some),
        "parts": sum(len(one.parts) for one in some),
        "error": mean(mean(one.errors(value)) for one in some),
        "cbpe": mean(mean(one.errors(estimate)) for one in some),
        "coverage": mean(mean(one.holds) for one in some),
        "width": mean(mean(one.widths) for one in some),
        "rank": mean(columns[0]),
        "rank of cbpe": mean(columns[1]),
        "rank of confidence": mean(columns[2]),
        "any alarm": mean(any(one.alarms(0.01)) for one in some),
        "any drop": mean(any(one.drops) for one in some),
    }


def judged(every: Sequence[Asked]) -> tuple[list[Judged], Scores]:
    """All targets with prior and constants that have not seen their source, and what was tried."""
    scores = scores_of(fitted_on(every))
    best = {source: scores.best(source) for source in {asked.source for asked in every}}
    return [Judged(asked, tuple(made_again(asked, *best[asked.source]))) for asked in every], scores


def limits(some: Sequence[Judged]) -> list[dict[str, Any]]:
    """What is promised, what was measured, and whether it holds."""
    still = [
        one for one in some if one.asked.kind == "none" and one.asked.groups.startswith(str(MANY))
    ]
    natural = [one for one in some if one.asked.kind == "natural"]
    seasons = [one for one in some if one.asked.kind == "seasons"]
    loans = [one for one in some if one.asked.kind == "deployed"]
    calm, moved, held, lent = (figures(few) for few in (still, natural, seasons, loans))
    ours, cbpe, mean_confidence = (
        moved[name] for name in ("rank", "rank of cbpe", "rank of confidence")
    )
    errors = [rank_error(natural, beside) for beside in (estimate, confidence)]
    still_ratio, alarm, drop = calm["error"] / calm["cbpe"], calm["any alarm"], calm["any drop"]
    promised = [
        ("15 groups, no shift: targets with any slice alarm, at most 5 %", alarm, alarm <= 0.05),
        ("the same by --fail-drop 0.03", drop, drop <= 0.05),
        ("15 groups, no shift: error, at most 1.15 of cbpe's", still_ratio, still_ratio <= 1.15),
        ("15 groups, no shift: width, at most 20 points", calm["width"], calm["width"] <= 20),
        (
            "natural shifts: rank correlation, at least cbpe's but for chance",
            ours - cbpe,
            ours - cbpe >= -errors[0],
        ),
        (
            "the same of mean confidence's",
            ours - mean_confidence,
            ours - mean_confidence >= -errors[1],
        ),
        (
            "natural shifts: coverage, 0.86 to 0.94",
            moved["coverage"],
            0.86 <= moved["coverage"] <= 0.94,
        ),
        (
            "seasons that the reference holds: coverage, at least 0.84",
            held["coverage"],
            held["coverage"] >= 0.84,
        ),
        (
            "car loans by month, if only the inputs changed: error, at most 0.45",
            lent["cbpe"],
            lent["cbpe"] <= 0.45,
        ),
        ("car loans by month, headline: error, at most 1.3", lent["error"], lent["error"] <= 1.3),
    ]
    return [{"limit": name, "value": found, "holds": bool(good)} for name, found, good in promised]


def page(result: kit.Result) -> str:
    some, scores = judged([Asked.from_dict(one) for one in result["targets"]])
    best = scores.best()
    rows = []
    for name, few in by_group(some).items():
        f = figures(few)
        rows.append([name, f"{f['targets']:.0f}", f"{f['parts']:.0f}", f"{f['error']:.1f}", f"{f['cbpe']:.1f}",
                     f"{f['coverage']:.0%}", f"{f['width']:.0f}", f"{f['rank']:.2f}", f"{f['rank of cbpe']:.2f}",
                     f"{f['rank of confidence']:.2f}", f"{f['any alarm']:.0%}", f"{f['any drop']:.0%}"])  # fmt: skip
    strengths = []
    for strength in STRENGTHS:
        found = [mean(scores.intervals[strength, spread].values()) for spread in HETEROGENEITIES]
        off = mean(scores.errors[strength].values())
        strengths.append([f"{strength:g}", f"{off:.3f}", *(f"{one:.2f}" for one in found)])
    shifted = {one.asked.source for one in some}
    natural = [one for one in some if one.asked.kind == "natural"]
    lines = [
        "# Parts: slices and chunks",
        "",
        f"Made by `python -m benchmarks.natural.parts`: {len(some)} targets of {len(shifted)} sources, cut into "
        f"{sum(len(one.parts) for one in some):,} parts. The prior of natural shifts and the two constants of "
        "`oodometer.headline.parts` were fitted without the whole source of a target. A part is said to have fallen "
        "where that is likely and its outputs changed beyond chance (Holm over the parts of a target). Differences of "
        "rank correlations have standard errors of "
        f"{' and '.join(f'{rank_error(natural, one):.3f}' for one in (estimate, confidence))} (whole sources drawn).",
        "",
        *kit.promises(limits(some)),
        "## By what moved, and how parts were made; 90 %",
        "",
        *kit.table(
            ["", "targets", "parts", "error", "cbpe", "coverage", "width", "rank", "cbpe", "mean confidence",
             "any alarm", "any drop by 3 points"], rows
        ),
        "## The constants: mean error, and mean interval score, by source",
        "",
        f"Reference rows at which a part's own accuracy counts half (down), and the spread that a shift adds (across). "
        f"Of all sources {best[0]:g} and {best[1]:g} are best; the package has {STRENGTH:g} and {HETEROGENEITY:g}.",
        "",
        *kit.table(["rows", "error", *(f"score at {spread:g}" for spread in HETEROGENEITIES)], strengths, "r"),
        "## Chunks: mean error by what a chunk takes of the correction even where it did not move",
        "",
        f"In units of m / (1 + m), m = moved; the package has {LEAST_MOVED:g}.",
        "",
        *kit.table(["", *(f"{least:g}" for least in LEASTS)], errors_of_chunks([one.asked for one in some])),
    ]  # fmt: skip
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    """All targets; each is kept on disk as it is done, and not measured again."""
    folder = work_folder()
    folder.mkdir(parents=True, exist_ok=True)
    jobs: list[Any] = [*natural_jobs(unpack(folder, SETS)), *temporal_jobs()]
    order = np.random.default_rng(SEED).permutation(len(jobs))
    jobs = [jobs[i] for i in order][: given.most or None]
    found, failed = measure_cases(
        jobs, folder / "parts.jsonl", ask, given.workers, Asked.to_dict, Asked.from_dict
    )
    for why in failed:
        print(f"failed and left out: {why}")
    every = [*found, deployed()]
    return {"targets": [asked.to_dict() for asked in sorted(every, key=lambda asked: asked.key)]}


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "parts",
            measure,
            page,
            workers=(1, "processes"),
            most=(0, "only so many targets"),
        )
    )

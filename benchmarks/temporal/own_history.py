"""Own history: how far late labels sharpen the headline of the next period; results/own_history.json and .md.

python -m benchmarks.temporal [--more FOLDER] [--page]

Models through time (`OODOMETER_DATA`/history, and what `python -m benchmarks.temporal.sources` builds): a labelled
reference, then periods in order. Each period is estimated once, by `Oodometer.estimate`, as a target of its own. Then
each period from the eleventh on is asked with the labels of so many periods before it (`oodometer.headline.
own_history`), beside what plain methods make of the same labels. All means are over sources, of means over models;
intervals are of 90 %, and the interval score is their width and 20 times what they miss by.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import kit
from oodometer import Oodometer
from oodometer.headline.label_posterior import cdf_without_labels
from oodometer.headline.natural_shifts import ShiftSigns, packaged_prior, signs_of_result
from oodometer.headline.own_history import (
    PastPeriod,
    Reading,
    given_past,
    quantiles_of,
    reading_of,
    truth_by_labels,
)
from oodometer.intervals import clopper_pearson
from oodometer.kernels import equal_bin
from oodometer.passes.plan import CONFIDENCE_BINS
from oodometer.results import Estimate
from oodometer.store import as_source
from oodometer.verbs.past_periods import periods_left_out

GUIDE = kit.ROOT / "docs" / "guides" / "late_labels.md"
LEVEL = 0.9
FIRST = 11  # the first period that is asked about
BEHIND = (1, 3, 10)  # labelled periods before it
SEVERE = 0.15  # by which a model lies below its reference in the median period: its source stands by itself
LABELS = 25
DRAWN = {
    "random": "at random",
    "unsure": "more often where the model is unsure, by p (1 - p)",
    "least sure": "the rows of least confidence",
}
CALM = 5  # periods before a public shift

Period = Mapping[str, Any]
Answer = tuple[float, float, float]  # lower, value, upper


# ------------------------------------------------------------------------------------------------------ estimates


def table(
    probabilities: np.ndarray, predicted: np.ndarray | None, label: np.ndarray | None
) -> dict[str, Any]:
    """Rows as `oodometer` takes them."""
    if probabilities.ndim == 1:
        probabilities = np.stack([1 - probabilities, probabilities], axis=1)
    out: dict[str, Any] = {
        "probabilities": probabilities / probabilities.sum(axis=1, keepdims=True)
    }
    if predicted is not None:
        out["prediction"] = predicted.astype(int)
    if label is not None:
        out["label"] = label.astype(int)
    return out


def rows_of(
    probabilities: np.ndarray, predicted: np.ndarray | None, label: np.ndarray, mask: np.ndarray
) -> dict[str, Any]:
    """The rows of a mask."""
    return table(probabilities[mask], None if predicted is None else predicted[mask], label[mask])


def estimated(path: Path) -> list[dict[str, Any]]:
    """What is said of each period of a source, model by model."""
    held = np.load(path)
    label, period = held["y"], held["period"]
    rng = np.random.default_rng(0)
    out = []
    for name in (name for name in held.files if name.startswith("p_")):
        model = name.removeprefix("p_")
        probabilities = held[name].astype(np.float64)
        predicted = held[f"pred_{model}"] if f"pred_{model}" in held.files else None

        odometer = Oodometer().fit(rows_of(probabilities, predicted, label, period == 0))
        for number in range(1, int(period.max()) + 1):
            mask = period == number
            if not mask.any():
                continue
            target = rows_of(probabilities, predicted, label, mask)
            found = odometer.estimate(
                {name: cells for name, cells in target.items() if name != "label"}
            )
            signs = signs_of_result(found)
            assert signs is not None
            correct, confidence = judged(odometer, target)
            values = {estimate.method: round(estimate.value, 5) for estimate in found.estimates}
            chosen = {name: values[name] for name in ("cbpe", "doc", "atc", "im") if name in values}
            covariate = found.assumptions["covariate"].interval
            nine = found.headline.bands["nine_in_ten"]
            out.append(
                {
                    "source": path.stem,
                    "model": model,
                    "period": number,
                    "rows": int(mask.sum()),
                    "truth": round(float(correct.mean()), 6),
                    "headline": [
                        round(end, 5) for end in (nine.lower, found.headline.value, nine.upper)
                    ],
                    "inputs": None
                    if covariate is None
                    else [
                        round(end, 5) for end in (covariate.lower, covariate.value, covariate.upper)
                    ],
                    "estimates": chosen,
                    "signs": {key: rounded(value) for key, value in asdict(signs).items()},
                    **drawn(correct, confidence, rng),
                }
            )
    return out


def judged(odometer: Oodometer, target: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Whether each row is right, and its confidence as the fitted plan has it."""
    plan = odometer.fitted_.plan
    batch = next(as_source(dict(target)).batches())
    calibrated = plan.choice.apply(batch)
    assert plan.confidence is not None
    return batch.verdicts.astype(float), np.asarray(plan.confidence(calibrated))


def drawn(
    correct: np.ndarray, confidence: np.ndarray, rng: np.random.Generator
) -> dict[str, list[float]]:
    """25 labels, drawn in each of three ways: the accuracy by them, and its standard error."""
    many = min(LABELS, len(correct))
    doubt = confidence * (1 - confidence) + 1e-9
    rows = {
        "random": rng.choice(len(correct), many, replace=False),
        "unsure": rng.choice(len(correct), many, replace=False, p=doubt / doubt.sum()),
        "least sure": np.argsort(confidence)[:many],
    }
    cells = equal_bin(confidence, CONFIDENCE_BINS)
    all_rows = np.bincount(cells, minlength=CONFIDENCE_BINS)
    out = {}
    for how, chosen in rows.items():
        known = np.bincount(cells[chosen], minlength=CONFIDENCE_BINS)
        out[how] = [
            round(one, 5) for one in truth_by_labels(known, all_rows, float(correct[chosen].sum()))
        ]
    return out


def rounded(value: Any) -> Any:
    """A number with the digits that a result file keeps."""
    return round(value, 5) if isinstance(value, float) else value


# ------------------------------------------------------------------------------------------------------ answers


def reading(period: Period) -> Reading:
    """The reading of a period."""
    said = [
        Estimate(name, v, v, v, LEVEL, "empirical", "", "")
        for name, v in period["estimates"].items()
    ]
    return reading_of(ShiftSigns(**period["signs"]), said, packaged_prior())


def behind(period: Period, labels: str | None) -> PastPeriod:
    """A period of the past with all its labels, or with some (``labels``: how they were drawn)."""
    truth, error = period["truth"], 0.0
    if labels is not None:
        truth, error = period[labels]
    return PastPeriod(
        str(period["period"]), float(period["period"]), period["reading"], truth, error
    )


def own_history(past: Sequence[Period], now: Period, labels: str | None = None) -> Answer:
    """The answer of this package."""
    made = given_past(
        [behind(one, labels) for one in past], now["reading"], float(now["period"]), now["public"]
    )
    low, value, high = made.quantile(np.array([0.05, 0.5, 0.95])).tolist()
    return low, value, high


def headline(past: Sequence[Period], now: Period) -> Answer:
    """The headline, which hears of no label."""
    low, value, high = now["headline"]
    return low, value, high


def cbpe_alone(past: Sequence[Period], now: Period) -> Answer:
    """`cbpe`, with the interval that is right if only the inputs changed."""
    low, value, high = now["inputs"]
    scale = 1.645 / 1.96  # it stands at 95 %
    return value - scale * (value - low), value, value + scale * (high - value)


def cbpe_and_mean(past: Sequence[Period], now: Period) -> Answer:
    """`cbpe` and the mean of its past errors, with Student's interval of the next one."""
    from scipy.stats import t

    errors = np.array([one["truth"] - one["estimates"]["cbpe"] for one in past])
    value = float(np.clip(now["estimates"]["cbpe"] + errors.mean(), 0, 1))
    if len(errors) < 2:
        return 0.0, value, 1.0
    half = float(t.ppf(0.95, len(errors) - 1) * errors.std(ddof=1) * np.sqrt(1 + 1 / len(errors)))
    return max(value - half, 0.0), value, min(value + half, 1.0)


def last_labelled(past: Sequence[Period], now: Period) -> Answer:
    """The accuracy of the last labelled period, with the exact interval of its rows."""
    one = past[-1]
    low, high = clopper_pearson(round(one["truth"] * one["rows"]), one["rows"], LEVEL)
    return low, one["truth"], high


METHODS: dict[str, Callable[[Sequence[Period], Period], Answer]] = {
    "own history": own_history,
    "headline without it": headline,
    "`cbpe` alone": cbpe_alone,
    "`cbpe` + mean of past errors (t)": cbpe_and_mean,
    "last labelled period, exact": last_labelled,
}


def prepared(cases: Sequence[dict[str, Any]]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Source -> model -> periods, with their readings and distributions by public shifts."""
    out: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for case in cases:
        public = cdf_without_labels(packaged_prior(), ShiftSigns(**case["signs"]))
        made = {**case, "reading": reading(case), "public": public}
        out.setdefault(case["source"], {}).setdefault(case["model"], []).append(made)
    return out


def scores(truth: float, answer: Answer) -> np.ndarray:
    """Absolute error, whether the interval holds the truth, width, interval score."""
    low, value, high = answer
    missed = max(low - truth, truth - high, 0.0)
    return np.array(
        [abs(value - truth), float(missed <= 0), high - low, high - low + 2 / (1 - LEVEL) * missed]
    )


def asked(
    periods: Sequence[Period], many: int, delay: int, first: int = FIRST
) -> Iterator[tuple[list[Period], Period]]:
    """Periods from the eleventh on, each with the ``many`` labelled ones that lie ``delay`` or more before it."""
    for place, now in enumerate(periods):
        last = place - delay
        if now["period"] >= first and last >= 0:
            yield list(periods[max(last - many + 1, 0) : last + 1]), now


def mean_scores(
    sources: Mapping[str, Mapping[str, Sequence[Period]]],
    answer: Callable[[Sequence[Period], Period], Answer],
    many: int,
    delay: int = 1,
) -> dict[str, np.ndarray]:
    """Source -> mean scores over its models."""
    out = {}
    for source, models in sources.items():
        means = []
        for periods in models.values():
            if many + delay > FIRST and len(periods) < many + delay:
                continue
            found = [
                scores(now["truth"], answer(past, now)) for past, now in asked(periods, many, delay)
            ]
            if found:
                means.append(np.mean(found, axis=0))
        if means:
            out[source] = np.mean(means, axis=0)
    return out


# ------------------------------------------------------------------------------------------------------ other questions


def after_calm(seed: int = 0) -> dict[str, Any]:
    """Five calm periods, then a shift like a public one: every third shifted case of results/natural.json, the calm
    ones drawn as chance makes them around its reference accuracy.
    """
    rng = np.random.default_rng(seed)
    prior = packaged_prior()
    cases = json.loads((kit.RESULTS / "natural.json").read_text())["cases"]
    moves = [
        case["signs"]["moved"]
        for case in cases
        if case["kind"] == "none" and case["signs"]["moved"] is not None
    ]
    shifted = [
        case for case in cases if case["kind"] != "none" and case["signs"]["moved"] is not None
    ]
    rows: dict[str, list[float]] = {"own history": [], "headline without it": [], "width": []}
    for case in shifted[::3]:
        signs = ShiftSigns(**case["signs"])
        chance = np.sqrt(signs.source * (1 - signs.source) / signs.rows)
        past = []
        for number in range(CALM):
            estimate = float(np.clip(signs.source + 0.4 * chance * rng.normal(), 0, 1))
            still = replace(
                signs,
                estimate=estimate,
                moved=float(rng.choice(moves)),
                apart=0.005,
                separation=None,
            )
            said = [Estimate("cbpe", estimate, estimate, estimate, LEVEL, "empirical", "", "")]
            truth = float(np.clip(signs.source + chance * rng.normal(), 0, 1))
            past.append(
                PastPeriod(str(number), float(number), reading_of(still, said, prior), truth)
            )
        said = [
            Estimate(name, three[0], three[0], three[0], LEVEL, "empirical", "", "")
            for name, three in case["estimates"].items()
            if name in ("cbpe", "doc")
        ]
        public = cdf_without_labels(prior, signs)
        assert public is not None
        made = given_past(past, reading_of(signs, said, prior), float(CALM), public)
        low, high = made.quantile(np.array([0.05, 0.95])).tolist()
        public_low, public_high = quantiles_of(public, np.array([0.05, 0.95])).tolist()
        rows["own history"].append(low <= case["truth"] <= high)
        rows["headline without it"].append(public_low <= case["truth"] <= public_high)
        rows["width"].append(high - low)
    means = {name: round(float(np.mean(values)), 4) for name, values in rows.items()}
    return {"cases": len(rows["width"]), **means}


def inside_reference(path: Path, periods: int) -> list[dict[str, Any]]:
    """What a reference of the first so many periods tells of itself, for every second of the twelve after it."""
    held = np.load(path)
    label, period = held["y"], held["period"]
    out = []
    names = [name for name in held.files if name.startswith("p_")]
    for name in [name for name in names if f"pred_{name.removeprefix('p_')}" not in held.files][:2]:
        rows = np.flatnonzero((period >= 1) & (period <= periods))
        if len(rows) > 10_000:
            rows = np.sort(np.random.default_rng(0).choice(rows, 10_000, replace=False))
        months = (np.datetime64("2000-01") + period.astype(int)).astype("datetime64[D]")
        reference = table(held[name][rows].astype(np.float64), None, label[rows])
        with_time = Oodometer().fit({**reference, "time": months[rows]})
        left_out = periods_left_out(
            with_time.fitted_.reference.record, packaged_prior(), None, 0.95, 0
        )
        for number in range(periods + 1, min(periods + 13, int(period.max()) + 1), 2):
            mask = period == number
            if not mask.any() or not left_out:
                continue
            target = table(held[name][mask].astype(np.float64), None, label[mask])
            without = Oodometer.estimate(with_time, {"probabilities": target["probabilities"]})
            found = with_time.estimate(
                {"probabilities": target["probabilities"], "time": months[mask]}
            )
            correct = float(
                (np.asarray(target["probabilities"]).argmax(axis=1) == label[mask]).mean()
            )
            sides = {}
            for side, result in (("own history", found), ("headline without it", without)):
                nine = result.headline.bands["nine_in_ten"]
                sides[side] = scores(
                    correct, (nine.lower, result.headline.value, nine.upper)
                ).tolist()
            out.append({"source": path.stem, "model": name, "period": number, **sides})
    return out


# ------------------------------------------------------------------------------------------------------ page


def line(name: str, means: np.ndarray) -> str:
    """A row of a table: error, coverage, width and interval score."""
    error, inside, width, score = means
    return f"| {name} | {100 * error:.2f} | {100 * inside:.0f} | {100 * width:.1f} | {100 * score:.1f} |"


OURS = ("own history", "headline without it")
COMPARED = (*OURS, "`cbpe` + mean of past errors (t)")
HEAD = "| {} | error | coverage of 90 | width | interval score |\n|---|---|---|---|---|"


def severe(models: Mapping[str, Sequence[Period]]) -> bool:
    """Whether a model of the source lost so much that the mean over sources would be about little else."""
    losses = [
        rows[0]["signs"]["source"] - np.median([one["truth"] for one in rows])
        for rows in models.values()
    ]
    return bool(max(losses) > SEVERE)


def scored(cases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each source: how many models and periods, whether it is severe, and the mean scores of each question,
    as `scores` has them.
    """
    out = []
    for source, models in prepared([dict(case) for case in cases]).items():
        only = {source: models}
        found: dict[str, Any] = {}
        for many in BEHIND:
            for name, answer in METHODS.items():
                found[f"{name}, {many}"] = mean_scores(only, answer, many)
        for many in BEHIND[1:]:
            found[f"late, {many}"] = mean_scores(only, own_history, many, delay=3)
        for labels in DRAWN:
            found[labels] = mean_scores(only, partial(own_history, labels=labels), 3)
        means = {
            name: [round(one, 6) for one in by[source].tolist()]
            for name, by in found.items()
            if source in by
        }
        periods = sum(len(list(asked(rows, 1, 1))) for rows in models.values())
        about = {
            "source": source,
            "models": len(models),
            "periods": periods,
            "severe": severe(models),
        }
        out.append({**about, "scores": means})
    return out


def over(rows: Sequence[Mapping[str, Any]], question: str) -> np.ndarray:
    """The mean over sources."""
    return np.asarray(
        np.mean([row["scores"][question] for row in rows if question in row["scores"]], axis=0)
    )


def page(result: Mapping[str, Any]) -> str:
    """The tables."""
    every = result["sources"]
    main = [row for row in every if not row["severe"]]
    apart = sorted(row["source"] for row in every if row["severe"])
    models, periods = (sum(row[name] for row in main) for name in ("models", "periods"))
    out = [
        "# Own history: late labels and the next period",
        "",
        f"`{result['command']}`: {len(main)} sources, {models} models, {periods} periods from the eleventh on.",
        "Points; means over sources of means over models. Sources of which a model lost more than 15 points in the",
        f"median period stand by themselves: {', '.join(apart) or 'none'}.",
    ]
    for many in BEHIND:
        out += [
            "",
            f"## {many} labelled period{'s' if many > 1 else ''} behind it",
            "",
            HEAD.format(""),
        ]
        for name, answer in METHODS.items():
            if many > 1 or answer is not cbpe_and_mean:
                out.append(line(name, over(main, f"{name}, {many}")))
    out += _compared(main, result["further"])
    out += ["", "## Labels that come three periods late", "", HEAD.format("periods behind it")]
    out += [line(f"{many}", over(main, f"late, {many}")) for many in BEHIND[1:]]
    out += ["", f"## {LABELS} labels a period, three periods", "", HEAD.format("drawn")]
    out += [line(words, over(main, how)) for how, words in DRAWN.items()]
    out += _by_source(every)
    calm = result["calm"]
    out += [
        "",
        "## Five calm periods, then a shift like a public one",
        "",
        f"Of {calm['cases']} cases of `natural.json` (every third shifted one), the calm periods drawn by chance, the "
        f"band of 90 holds {100 * calm['own history']:.0f} % with own history, "
        f"{100 * calm['headline without it']:.0f} % without it; mean width {100 * calm['width']:.0f}.",
    ]
    return "\n".join([*out, *_inside(result["inside"], apart)]) + "\n"


def _compared(main: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Sources that the constants were chosen on beside further ones."""
    further = [row for row in main if row["source"] in names]
    given = [row for row in main if row["source"] not in names]
    if not further:
        return []
    out = ["", "## Sources that the formula was fitted on, and further ones", ""]
    out += [
        "The constants were chosen on the first; the further ones were built afterwards. Interval scores.",
        "",
    ]
    out += [
        "| periods behind it | sources | own history | headline | `cbpe` + mean of past errors (t) |"
    ]
    out += ["|---|---|---|---|---|"]
    for many in BEHIND[1:]:
        for name, some in (("fitted on", given), ("further", further)):
            cells = " | ".join(
                f"{100 * over(some, f'{method}, {many}')[3]:.1f}" for method in COMPARED
            )
            out.append(f"| {many} | {len(some)} {name} | {cells} |")
    return out


def _by_source(every: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each source beside its best plain method."""
    out = ["", "## By source, three labelled periods", ""]
    out += [
        "| source | own history: error, coverage, score | headline | best plain method | its score |"
    ]
    out += ["|---|---|---|---|---|"]
    for row in every:
        found = {name: row["scores"][f"{name}, 3"] for name in METHODS}
        plain = {name: scores[3] for name, scores in found.items() if name not in OURS}
        best = min(plain, key=lambda name: plain[name])
        both = (found[name] for name in OURS)
        cells = (f"{100 * one[0]:.2f}, {100 * one[1]:.0f}, {100 * one[3]:.1f}" for one in both)
        out.append(f"| {row['source']} | {' | '.join(cells)} | {best} | {100 * plain[best]:.1f} |")
    return out


def _inside(
    by_periods: Mapping[str, Sequence[Mapping[str, Any]]], apart: Sequence[str]
) -> list[str]:
    """What a reference with times tells of itself."""
    out = [
        "",
        "## Inside the reference",
        "",
        "The reference is the first periods, cut into ten by time and left out one by one; targets are every second of "
        "the twelve that follow.",
        "",
        HEAD.format("reference of"),
    ]
    for periods, rows in by_periods.items():
        for side in OURS:
            grouped: dict[str, list[Any]] = {}
            for row in rows:
                if row["source"] not in apart:
                    grouped.setdefault(row["source"], []).append(row[side])
            means = np.mean([np.mean(some, axis=0) for some in grouped.values()], axis=0)
            out.append(line(f"{periods} periods, {side}", means))
    return out


def renewed(guide: str, result: Mapping[str, Any]) -> str:
    """The guide with the figures of the result between its marks."""
    calm, text = result["calm"], page(result)
    parts = {}
    for many in (1, 3, 10):
        parts[many] = re.findall(
            rf"## {many} labelled period.*?\n\n.*?\n\|---.*?\n(.*?)\n\n", text, re.DOTALL
        )[0]
    rows = [
        "| labelled periods | | error | coverage of 90 | width | interval score |",
        "|---|---|---|---|---|---|",
    ]
    rows += [f"| {many} {row}" for many, lines in parts.items() for row in lines.splitlines()]
    said = f"{100 * calm['own history']:.0f} % of the truths (without history "
    said += f"{100 * calm['headline without it']:.0f} %)"
    guide = re.sub(
        r"(<!-- calm -->).*?(<!-- /calm -->)", rf"\g<1>{said}\g<2>", guide, flags=re.DOTALL
    )
    table = "\n".join([text.split("\n\n")[1], "", *rows])
    marks = r"(<!-- own history -->\n).*?(<!-- /own history -->)"
    return re.sub(marks, lambda found: f"{found[1]}{table}\n{found[2]}", guide, flags=re.DOTALL)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.temporal", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "--more", type=Path, default=[], action="append", help="a further folder of sources"
    )
    parser.add_argument(
        "--page", action="store_true", help="write the tables again, from the cases that are kept"
    )
    given = parser.parse_args(argv)
    path = kit.RESULTS / "own_history"
    before = (
        json.loads(Path(f"{path}.json").read_text())
        if Path(f"{path}.json").exists()
        else {"cases": []}
    )
    cases: list[dict[str, Any]] = before["cases"] if given.page else []
    inside: dict[str, list[Any]] = before["inside"] if given.page else {"5": [], "10": []}
    if not given.page:
        files = [
            file
            for folder in (kit.data_folder() / "history", *given.more)
            for file in sorted(folder.glob("*.npz"))
        ]
        for file in files:
            cases += estimated(file)
            if file.parent not in given.more:
                for periods, rows in inside.items():
                    rows += inside_reference(file, int(periods))
            print(f"{file.stem}: {len(cases)} periods", file=sys.stderr, flush=True)
    command = "python -m benchmarks.temporal" + "".join(" --more FOLDER" for _ in given.more)
    result = {
        "command": before.get("command", command) if given.page else command,
        "cases": cases,
        "inside": inside,
    }
    names = [file.stem for folder in given.more for file in folder.glob("*.npz")]
    result["further"] = before["further"] if given.page else sorted(names)
    result |= {"sources": scored(cases), "calm": after_calm()}
    print(kit.save(path, result, page))
    kit.write(GUIDE, renewed(GUIDE.read_text(encoding="utf-8"), result))
    return 0

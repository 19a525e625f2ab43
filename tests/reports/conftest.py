"""Results of a realistic size, made by hand: what the verbs write as JSON."""

from __future__ import annotations

import json
import math
import random
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from oodometer import compare
from oodometer.reports import render

METHODS = [
    (
        "source",
        "clopper1934",
        "exact",
        0.912,
        0.006,
        "the target is distributed as the reference (no shift)",
    ),
    ("ac", "guo2017", "conditional", 0.871, 0.004, "confidence is calibrated on the target"),
    (
        "doc",
        "guillory2021",
        "conditional",
        0.861,
        0.007,
        "accuracy falls by as much as mean confidence",
    ),
    (
        "atc",
        "garg2022",
        "conditional",
        0.842,
        0.009,
        "as many samples lie above the threshold as are correct",
    ),
    (
        "atc-entropy",
        "garg2022",
        "conditional",
        0.836,
        0.009,
        "as many samples lie above the threshold as are correct",
    ),
    (
        "cbpe",
        "nannyml2022",
        "conditional",
        0.853,
        0.006,
        "P(y | x) is unchanged, so that calibration carries over",
    ),
    (
        "gde",
        "jiang2022",
        "conditional",
        0.801,
        0.005,
        "the ensemble is calibrated as a class aggregate on the target",
    ),
    (
        "votes",
        "yao2024",
        "empirical",
        0.814,
        0.061,
        "the judges generalise to the target and do not all fail alike",
    ),
    (
        "explain",
        "garg2022",
        "backtest",
        0.832,
        0.041,
        "the shift is one of those that were simulated",
    ),
]


def interval(value: float, half: float, kind: str = "conditional", **more: Any) -> dict[str, Any]:
    low, high = max(value - half, 0.0), min(value + half, 1.0)
    return {"value": value, "lower": low, "upper": high, "level": 0.95, "kind": kind, **more}


def make_curve(name: str = "estimated accuracy", low: float = 0.83) -> dict[str, Any]:
    x = [(i + 1) / 100 for i in range(100)]
    y = [0.995 - (0.995 - low) * at**2.2 for at in x]
    last = max(i for i in range(100) if y[i] >= 0.95)
    safe = max(i for i in range(100) if y[i] - 0.012 * x[i] - 0.004 >= 0.95)
    thresholds = [1 - 0.62 * at**1.5 for at in x]
    answer = {"accuracy": 0.95, "threshold": thresholds[last], "coverage": x[last]}
    return {
        "name": "risk_coverage",
        "x_name": "coverage",
        "y_name": name,
        "x": x,
        "y": y,
        "lower": [value - 0.012 * at - 0.004 for at, value in zip(x, y, strict=True)],
        "upper": [min(value + 0.012 * at + 0.004, 1) for at, value in zip(x, y, strict=True)],
        "thresholds": thresholds,
        "level": 0.95,
        "kind": "conditional",
        "assumes": "the rate of being correct at a given confidence carries over to the target",
        "answers": [answer | {"safe_threshold": thresholds[safe], "safe_coverage": x[safe]}],
    }


def make_reliability() -> dict[str, Any]:
    confidence = [0.37, 0.46, 0.55, 0.64, 0.73, 0.82, 0.91, 0.985]
    rows = [60, 140, 260, 410, 690, 1190, 2100, 5150]
    accuracy = [0.35, 0.41, 0.52, 0.58, 0.69, 0.78, 0.885, 0.974]
    half = [1.96 * math.sqrt(a * (1 - a) / n) for a, n in zip(accuracy, rows, strict=True)]
    return {
        "confidence": confidence,
        "accuracy": accuracy,
        "lower": [a - h for a, h in zip(accuracy, half, strict=True)],
        "upper": [min(a + h, 1) for a, h in zip(accuracy, half, strict=True)],
        "rows": rows,
    }


def histogram(power: float) -> list[float]:
    edges = [i / 20 for i in range(21)]
    cumulative = [max(edge - 0.2, 0) ** power for edge in edges]
    total = cumulative[-1]
    return [(b - a) / total for a, b in pairwise(cumulative)]


def make_chunks(count: int = 14) -> list[dict[str, Any]]:
    rng = random.Random(3)
    found = []
    for week in range(count):
        day = 5 + 7 * week
        value = 0.905 - 0.008 * week + rng.uniform(-0.012, 0.012)
        truth = (
            interval(value - 0.01 + rng.uniform(-0.01, 0.01), 0.02, "exact") if week < 5 else None
        )
        found.append({
            "start": f"2026-{1 + (day - 1) // 28:02d}-{1 + (day - 1) % 28:02d}",
            "end": f"2026-{1 + (day + 6) // 28:02d}-{1 + (day + 6) % 28:02d}",
            "rows": 3500 + 31 * week,
            "headline": interval(value, 0.025 + 0.001 * week, method="explain", assumes="", trust="low"),
            "estimates": [],
            "truth": truth,
        })  # fmt: skip
    return found


def make_slices(count: int = 9) -> list[dict[str, Any]]:
    rng = random.Random(5)
    return [
        {
            "by": "group",
            "value": f"hospital {chr(65 + i)}" if i < 26 else f"ward {i}",
            "rows": rng.randint(200, 9000),
            "headline": interval(
                0.71 + 0.2 * rng.random(), 0.015 + 0.03 * rng.random(), method="explain"
            ),
            "estimates": [],
        }
        for i in range(count)
    ]


def make_estimate() -> dict[str, Any]:
    estimates = [
        interval(
            value, half, kind, method=name, assumes=assumes, citation=key, rows=50000, score=None
        )
        for name, key, kind, value, half, assumes in METHODS
    ]
    estimates[3]["score"] = "max_probability"
    estimates[6]["warnings"] = ["only 3 members; agreement between so few is coarse"]
    return {
        "command": "estimate",
        "version": "0.1.0",
        "argv": "oodometer estimate ref.parquet target.parquet --by hospital --report page.html",
        "level": 0.95,
        "seed": 0,
        "reference": {"name": "ref.parquet", "rows": 10000, "accuracy": 0.912, "lower": 0.906, "upper": 0.918,
                      "kind": "exact"},
        "target": {"name": "target.parquet", "rows": 50000, "labelled": 400,
                   "accuracy": interval(0.822, 0.038, "exact")},
        "headline": {**{k: v for k, v in estimates[8].items() if k not in ("citation", "rows", "score")},
                     "trust": "low", "why": "the methods disagree by 7 points"},
        "estimates": estimates,
        "skipped": [{"method": "aline-d", "why": "needs members of at least 3 models; the file has none"},
                    {"method": "pape", "why": "needs features; the reference has none"}],
        "warnings": ["12 % of the target rows have a confidence above 0.999: was the model trained on them?",
                     "The target holds 2 classes that the reference has fewer than 20 times."],
        "diagnosis": {"kind": "covariate", "findings": [
            {"name": "label shift fits", "statistic": 41.2, "p_value": 0.001, "power": 0.93, "supports": [],
             "refutes": ["label"]},
            {"name": "domain classifier AUC", "statistic": 0.71, "p_value": 0.001, "power": 0.99,
             "supports": ["covariate"], "refutes": ["none"]}]},
        "calibration": {"name": "temperature", "why": "lowest cross-validated error of calibration",
                        "scores": {"none": 0.0341, "temperature": 0.0124, "isotonic": 0.0151}},
        "risk_coverage": make_curve(),
        "reliability": make_reliability(),
        "confidence": {"edges": [i / 20 for i in range(21)], "reference": histogram(7.0), "target": histogram(4.2)},
        "slices": make_slices(),
        "chunks": make_chunks(),
    }  # fmt: skip


def make_evaluate(classes: int = 8) -> dict[str, Any]:
    rng = random.Random(1)
    names = ["cat", "dog", "horse", "ship", "truck", "plane", "frog", "deer"]
    names = [*names, *(f"class {i}" for i in range(8, classes))][:classes]
    counts = [[0] * classes for _ in names]
    for i in range(classes):
        for _ in range(400):
            j = i if rng.random() < 0.9 - 0.03 * (i % 5) else rng.randrange(classes)
            counts[i][j] += 1
    recall = [row[i] / sum(row) for i, row in enumerate(counts)]
    metrics = {
        "accuracy": interval(0.853, 0.012, "exact"),
        "brier": interval(0.214, 0.015, "asymptotic"),
        "ece": interval(0.0312, 0.007, "asymptotic"),
        "auc_coverage": interval(0.961, 0.005, "asymptotic"),
        "aurc": interval(0.039, 0.005, "asymptotic"),
        "disca": {"value": 0.71, "a": 1.0, "b": 2.0, "fluctuations": 3, "penalty": 0.1},
    }
    return {
        "command": "evaluate",
        "version": "0.1.0",
        "argv": ["oodometer", "evaluate", "my predictions.csv"],
        "level": 0.95,
        "seed": 0,
        "name": "my predictions.csv",
        "rows": 400 * classes,
        "metrics": metrics,
        "per_class": [
            {
                "class": name,
                "rows": 400,
                "recall": interval(value, 0.02, "exact"),
                "precision": value - 0.01,
            }
            for name, value in zip(names, recall, strict=True)
        ],
        "skipped": [{"metric": "smece", "why": "needs probabilities"}],
        "risk_coverage": make_curve("accuracy", 0.853) | {"kind": "asymptotic", "assumes": ""},
        "reliability": make_reliability(),
        "confusion": {"classes": names, "counts": counts},
    }


def make_demo() -> dict[str, Any]:
    steps = []
    for severity in range(6):
        truth = 0.97 - 0.008 * severity - 0.022 * severity**2
        steps.append({
            "severity": severity,
            "name": f"digits turned by {9 * severity}°",
            "truth": interval(truth, 0.012, "exact"),
            "headline": interval(truth + 0.012 * severity, 0.02 + 0.022 * severity, "backtest", method="explain",
                                 trust=("high", "high", "low", "low", "none", "none")[severity]),
            "estimates": [
                interval(min(truth + (value - 0.8) * 0.45 * severity + 0.001 * i, 1), half, kind, method=name)
                for i, (name, _, kind, value, half, _) in enumerate(METHODS)
            ],
            "source": interval(0.97, 0.005, "exact"),
        })  # fmt: skip
    return {
        "command": "demo",
        "version": "0.1.0",
        "argv": "oodometer demo",
        "seed": 0,
        "steps": steps,
        "estimate": make_estimate(),
    }


def make_models(count: int, rows: int = 300, **more: Any) -> dict[str, Any]:
    """What `compare` finds for models that part: the later a model comes, the more often it errs, and the earlier."""
    label = [i % 2 for i in range(rows)]

    def one(index: int, wrong: float) -> dict[str, Any]:
        rng = random.Random(index)
        errors, confidence = [], []
        for i in range(rows):
            at = (i + 0.5) / rows
            confidence.append(round(0.99 - 0.45 * at ** (1 + 0.3 * index), 4))
            # Even models err where they are unsure, odd ones about as often everywhere.
            errors.append(rng.random() < wrong * (2 * at if index % 2 == 0 else 0.9))
        prediction = [1 - y if wrong_ else y for y, wrong_ in zip(label, errors, strict=True)]
        return {"label": label, "prediction": prediction, "confidence": confidence}

    home = [one(i, 0.04 + 0.03 * i) for i in range(count)]
    away = [one(i, 0.15 + 0.05 * i) for i in range(count)]
    bare = [
        {"prediction": found["prediction"], "confidence": found["confidence"]} for found in away
    ]
    names = [f"model {'abcdefghijklmnopqrst'[i]}" for i in range(count)]
    given = {
        "out_of_domain": away,
        "target": bare,
        "energy": [1.0 + i for i in range(count)],
        "names": names,
    }
    found = compare(home, **{**given, "require": (0.8, 0.9, 0.95), **more}).to_dict()
    return {
        **json.loads(json.dumps(found)),
        "argv": "oodometer compare a.csv b.csv --report page.html",
    }


@cache
def _kept(count: int) -> str:
    return json.dumps(make_models(count))


@cache
def _page(count: int) -> str:
    return render(json.loads(_kept(count)))


@pytest.fixture
def two_page() -> str:
    """The page of `two`."""
    return _page(2)


@pytest.fixture
def ten_page() -> str:
    """The page of `ten`."""
    return _page(10)


@pytest.fixture
def two() -> dict[str, Any]:
    """A result of `compare` with two models and every part."""
    return json.loads(_kept(2))


@pytest.fixture
def ten() -> dict[str, Any]:
    """A result of `compare` with ten models and every part."""
    return json.loads(_kept(10))


@pytest.fixture
def estimate() -> dict[str, Any]:
    """A result of `estimate` with every part."""
    return make_estimate()


@pytest.fixture
def evaluate() -> dict[str, Any]:
    """A result of `evaluate` with every part."""
    return make_evaluate()


@pytest.fixture
def demo() -> dict[str, Any]:
    """A result of `demo` with every part."""
    return make_demo()


def past(number: int, at: str, value: float, **more: Any) -> dict[str, Any]:
    """A run as `oodometer history --json` tells it."""
    told = {
        "number": number,
        "at": f"{at}T05:15:00+00:00",
        "job": "loans",
        "verb": "estimate",
        "version": "0.1.0",
    }
    told |= {
        "reference": "r.oodo",
        "target": "lake",
        "rows": 700,
        "value": value,
        "lower": value - 0.05,
    }
    told |= {
        "upper": value + 0.05,
        "level": 0.95,
        "kind": "empirical",
        "method": "ac",
        "trust": "high",
        "why": "close",
    }
    told |= {
        "truth": None,
        "reference_accuracy": 0.91,
        "diagnosis": "covariate",
        "alarms": 0,
        "new": 0,
        "exit_code": 0,
    }
    return (
        told
        | {"repeats": None, "options": {"every": "month", "fail_below": {"accuracy": 0.8}}}
        | more
    )


def past_part(
    kind: str, name: str, seen: list[tuple[int, str, float, float, float]], **more: Any
) -> dict[str, Any]:
    """A part as `oodometer history --json` tells it; ``seen``: run, day, value and ends."""
    rows = int(more.pop("rows", 300))
    told = [
        {
            "run": run,
            "at": f"{day}T05:15:00+00:00",
            "rows": rows,
            "value": v,
            "lower": low,
            "upper": high,
            "trust": "high",
        }
        for run, day, v, low, high in seen
    ]
    start = (
        {"start": f"{name}-01", "end": f"{name}-28"}
        if kind == "chunk"
        else {"start": None, "end": None}
    )
    bare = {
        "kind": kind,
        "part": name,
        "name": name,
        "metric": "accuracy",
        **start,
        **told[-1],
        "truth": None,
    }
    return {**bare, "fell": None, "alarms": [], "seen": told, **more}


@pytest.fixture
def history() -> dict[str, Any]:
    """Past runs of three jobs: by month with alarms and truth, by slice, and as a whole without rules."""

    def alarm(day: str, stands: bool) -> list[dict[str, Any]]:
        since = f"{day}T05:15:00+00:00"
        return [{"rule": "below", "amount": 0.8, "bound": 0.8, "since": since, "stands": stands}]

    days = ("2026-01-31", "2026-02-28", "2026-02-28", "2026-03-04")
    january = [
        (i + 1, day, v, 0.85, 0.94)
        for i, (day, v) in enumerate(zip(days, (0.79, 0.9, 0.9, 0.9), strict=True))
    ]
    values = zip(days[1:], (0.75, 0.74, 0.72), strict=True)
    february = [(i + 2, day, v, v - 0.06, v + 0.06) for i, (day, v) in enumerate(values)]
    truths = [
        {"value": 0.88, "lower": 0.84, "upper": 0.91},
        {"value": 0.7, "lower": 0.6, "upper": 0.8},
    ]
    months = [
        past_part("chunk", "2026-01", january, truth=truths[0], alarms=alarm(days[0], False)),
        past_part("chunk", "2026-02", february, truth=truths[1], alarms=alarm(days[1], True)),
        past_part(
            "chunk",
            "2026-03",
            [(4, days[3], 0.79, 0.6, 0.88)],
            rows=100,
            alarms=alarm(days[3], True),
        ),
    ]
    by_month = [past(i + 1, day, 0.85 + (3 - i) / 100) for i, day in enumerate(days)]
    by_month[1] |= {"alarms": 1, "new": 1, "exit_code": 3}
    by_month[2] |= {"repeats": 2}
    shops = [(5, "2026-03-01", 0.9, 0.8, 0.95), (6, "2026-03-02", 0.86, 0.8, 0.95)]
    slices = [past_part("slice", name, shops) for name in ("north", "south")]
    target = [past_part("target", "target", shops)]
    alone = [(8, "2026-03-02", 0.9, 0.8, 0.95), (9, "2026-03-03", 0.88, 0.8, 0.95)]
    runs = [
        past(8, "2026-03-02", 0.9, options={}, truth=0.91),
        past(9, "2026-03-03", 0.88, options={}),
    ]
    of_shops = [past(5, "2026-03-01", 0.9), past(6, "2026-03-02", 0.86)]
    jobs = [
        {"job": "loans", "runs": by_month, "parts": months},
        {"job": "shops", "runs": of_shops, "parts": [*slices, *target]},
        {"job": "alone", "runs": runs, "parts": [past_part("target", "target", alone)]},
    ]
    argv = "oodometer history runs.sqlite"
    return {
        "command": "history",
        "version": "0.1.0",
        "argv": argv,
        "store": "runs.sqlite",
        "jobs": jobs,
    }

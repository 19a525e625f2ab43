"""What should an alarm be judged by? How often each rule of `--fail-when` is right, on natural shifts and car loans.

python -m benchmarks.natural.alarm_rules             # results/alarms_rules.json and alarms_rules.md

A bound lies some points below the accuracy of the reference (`--fail-drop`). Large parts are those of
results/alarms.json, whole targets and parts of 500 rows, asked without their labels. Small targets (50 to 200 rows) are
seeded cases of the bed `small-target`, and the deployed model of car loans is cut into its months; both are asked here.
Every prior was fitted without the source of the case.
"""

from __future__ import annotations

import argparse
import json
import tarfile
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import kit
from benchmarks.kit import RESULTS, data_folder
from benchmarks.natural.alarms import MARGINS, NIGHTS, AskedPart, night, priors, rates, rounded
from benchmarks.natural.tables import LEVEL
from oodometer.headline.alarms import decide
from oodometer.headline.natural_shifts import packaged_prior
from oodometer.results import Interval
from oodometer.results.alarms import AlarmRule

SEED, SMALL_CASES = 0, 30
DROPS = MARGINS
RULES = ("default", "value, chance as well", "value", "likely", "upper")
GROUPS = {"whole": "natural shifts, whole targets", "parts": "natural shifts, parts of 500 rows",
    "small": "natural shifts, targets of 50 to 200 rows", "months": "car loans, months",
    "same": "no shift, parts of 500 rows"}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A part with its headline and its truth.

    series : what is looked at together. changed : p-value of any change. chances : for each of `DROPS`.
    """

    group: str
    series: str
    reference: float
    truth: float
    interval: tuple[float, float, float]
    changed: float | None
    chances: tuple[float | None, ...]


def large() -> Iterator[Asked]:
    """The parts that `benchmarks.natural.alarms` has asked."""
    kept = json.loads((RESULTS / "alarms.json").read_text(encoding="utf-8"))["parts"]
    for part in map(AskedPart.from_dict, kept):
        if part.group == "deployed" or (part.group == "same" and part.part is None):
            continue
        group = "same" if part.group == "same" else "whole" if part.part is None else "parts"
        truth = part.reference - part.fell
        yield Asked(
            group, part.series, part.reference, truth, part.interval, part.changed, part.chances
        )


def small(folder: Path) -> Iterator[Asked]:
    """Seeded cases of small targets, asked as `oodometer.estimate` is, their source left out of the prior."""
    with tarfile.open(data_folder() / "natural" / "small-target.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    cases = sorted(path.parent for path in folder.glob("small-target/*/truth.json"))
    for place in np.random.default_rng(SEED).permutation(len(cases))[:SMALL_CASES]:
        case = cases[place]
        truth = json.loads((case / "truth.json").read_text(encoding="utf-8"))
        prior = priors().get(truth["source"].partition("-")[0], packaged_prior())
        (folder / "prior.json").write_text(json.dumps(prior.to_dict()), encoding="utf-8")
        labels = pd.read_parquet(case / "labels.parquet")
        yield from ask(
            "small", case.name, case / "reference.parquet", case / "target.parquet", labels, folder
        )


def months(folder: Path) -> Iterator[Asked]:
    """The months of the deployed model, its truth joined by `id`."""
    home = data_folder() / "deployed"
    names = {
        "repaid": "label",
        "y_pred": "prediction",
        "timestamp": "time",
        "y_pred_proba": "prob_1",
    }
    tables = {}
    for name in ("reference", "analysis", "analysis_target"):
        table = pd.read_csv(home / f"car_loan_{name}.csv.xz").rename(columns=names)
        tables[name] = table[
            [c for c in ("id", "time", "prob_1", "prediction", "label") if c in table]
        ]
        tables[name] = tables[name].assign(
            **{"label": table["label"].astype(int)} if "label" in table else {}
        )
        if "time" in table:
            tables[name] = tables[name].assign(time=pd.to_datetime(table["time"]))
    (folder / "prior.json").write_text(json.dumps(packaged_prior().to_dict()), encoding="utf-8")
    yield from ask(
        "months",
        "car loans",
        tables["reference"],
        tables["analysis"],
        tables["analysis_target"],
        folder,
        "month",
    )


def ask(
    group: str,
    series: str,
    reference: Any,
    target: Any,
    labels: Any,
    folder: Path,
    every: str | None = None,
) -> Iterator[Asked]:
    """The headline, test and truth of the target, or of each of its chunks."""
    import oodometer

    asked: dict[str, Any] = {
        "prior": folder / "prior.json",
        "backtest": folder / "trials",
        "level": LEVEL,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = oodometer.estimate(
            reference, target, labels=labels, every=every, workers=1, **asked
        )
    whole = (
        found.headline,
        found.fell_without_labels or found.fell,
        found.target["accuracy"]["value"],
    )
    parts = [
        (c.headline, c.fell_without_labels or c.fell, c.truth.value)
        for c in found.chunks
        if c.truth is not None
    ]
    for headline, fell, truth in parts or [whole]:
        assert fell is not None
        i = headline.interval
        chances = tuple(None for _ in DROPS)
        middle = (i.value, i.lower, i.upper)
        yield Asked(
            group, series, found.reference["accuracy"], truth, middle, fell.changed, chances
        )


def fails(part: Asked, drop: float, place: int, rule: str) -> bool:
    """Whether a rule raises an alarm."""
    interval = Interval(*part.interval, LEVEL, "empirical")
    asked = AlarmRule("accuracy", "drop", drop)
    when: Any = rule.partition(",")[0]
    changed = None if rule == "value, chance as well" else part.changed
    chance = part.chances[place]
    return (
        decide(asked, interval, part.reference, chance=chance, changed=changed, when=when)
        == "fails"
    )


def table(parts: Sequence[Asked], group: str) -> list[str]:
    """A bound and a rule a line."""
    some = [part for part in parts if part.group == group]
    rows = []
    for place, drop in enumerate(DROPS):
        fell = np.array([part.truth < part.reference - drop for part in some])
        bound = f"{100 * drop:.0f} below"
        for rule in RULES:
            alarm = np.array([fails(part, drop, place, rule) for part in some])
            still = float(
                np.mean([fails(part, drop, place, rule) for part in parts if part.group == "same"])
            )
            nights = [night(alarm, fell, still, share) for share in NIGHTS]
            rows.append(
                [
                    bound,
                    f"{fell.mean():.0%}",
                    rule,
                    str(int(alarm.sum())),
                    *rates(alarm, fell),
                    *nights,
                ]
            )
            if group == "same":
                series = sorted({part.series for part in some})
                raised = {part.series for part, one in zip(some, alarm, strict=True) if one}
                rows[-1].append(f"{len(raised) / len(series):.0%}")
    more = ["series with any alarm"] if group == "same" else []
    return kit.table(
        ["bound, points from the reference", "truly below", "judged by", "alarms", "detected", "false alarms",
         "alarms that are right", *(f"the same, {share:.0%} of nights shifted" for share in NIGHTS), *more], rows
    )  # fmt: skip


def page(result: kit.Result) -> str:
    parts = [*large(), *(Asked(**one) for one in result["parts"])]
    lines = [
        "# What an alarm is judged by",
        "",
        "Made by `python -m benchmarks.natural.alarm_rules`. `default`: at least 70 % likely below the bound, and the "
        "outputs changed by more than chance (5 % after Holm's correction; for small targets and months the chance is "
        "read off the interval). `likely`: the same at 80 %. `value`: the estimate lies below, and that test. `value, "
        f"chance as well`: without it. `upper`: the upper end of the {LEVEL:.0%} interval lies below, and that test. "
        "Truth is the accuracy of the rows asked about. Detected: of those that are truly below the bound. False "
        "alarms: of those that are not. The source of each case was left out of its prior.",
    ]
    for group, title in GROUPS.items():
        some = [part for part in parts if part.group == group]
        lines += ["", f"## {title[0].upper()}{title[1:]} ({len(some)})", "", *table(parts, group)]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    with tempfile.TemporaryDirectory() as folder:
        asked = [*small(Path(folder)), *months(Path(folder))]
    parts = []
    for one in asked:
        interval = [float(f"{end:.6g}") for end in one.interval]
        parts.append({**rounded(asdict(one)), "interval": interval})
    return {"parts": parts}


if __name__ == "__main__":
    raise SystemExit(kit.command(__doc__, "alarms_rules", measure, page))

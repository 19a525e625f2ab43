"""Did the accuracy fall? Alarms on natural shifts and on deployed models, beside a plain rule.

python -m benchmarks.natural.alarms             # results/alarms.json and alarms.md

Every eighth case of probabilities alone and every third unshifted one is cut into series of 500 rows, the two deployed
models of NannyML's sample sets into series of 1,000. Each is asked as `oodometer.estimate` does, whole and by its
parts, once for each margin, with a prior that was fitted without the whole source. The plain rule raises an alarm where
the CBPE of a part lies more than three standard deviations of such parts below the accuracy of the reference.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import kit
from benchmarks.kit import RESULTS, data_folder
from benchmarks.natural.prior import MARGINS, fit_prior, source_of
from benchmarks.natural.run import chosen, unpack, work_folder
from benchmarks.natural.tables import CLASSES_ALONE, LEVEL, read_shifts
from oodometer.headline.natural_shifts import ALARM, NaturalShifts, is_alarm, packaged_prior

ROWS, DEPLOYED_ROWS, EVERY, EVERY_SAME = 500, 1000, 8, 3
DEVIATIONS = 3.0
NIGHTS = (0.1, 0.01)  # of which share of the nights are shifted


@dataclass(frozen=True)
class AskedPart:
    """A whole target, or a part of its series: what was said, its truth, and the plain rule's statistic.

    series : bed and case; source : public data set; part : its number, None of the whole; reference : accuracy that it
    is held against; interval : value and ends; chances : how likely it fell by each of `MARGINS`; fell : reference
    minus truth; changed : p-value of any change, corrected for the parts of the series; below : standard deviations
    that the CBPE lies below the accuracy of the reference.
    """

    series: str
    source: str
    group: str
    part: int | None
    reference: float
    interval: tuple[float, float, float]
    chances: tuple[float | None, ...]
    fell: float
    changed: float | None
    below: float

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> AskedPart:
        """The part that `asdict` wrote."""
        value, low, high = plain["interval"]
        return cls(**{**plain, "interval": (value, low, high), "chances": tuple(plain["chances"])})


def ask(
    series: str, source: str, group: str, tables: tuple[Any, Any, np.ndarray], rows: int
) -> list[AskedPart]:
    """The whole target and its parts; ``tables`` are reference, target and which target rows are right."""
    import oodometer

    reference, target, right = tables
    count = max(len(target) // rows, 1)
    number = np.minimum(np.arange(len(target)) // rows, count - 1)
    parted, prior = target.assign(part=number), work_folder() / "prior.json"
    prior.write_text(json.dumps(priors().get(source, packaged_prior()).to_dict()), encoding="utf-8")
    how: dict[str, Any] = {
        "by": "part",
        "level": LEVEL,
        "prior": prior,
        "backtest": work_folder() / "trials",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            oodometer.estimate(reference, parted, margin=margin, workers=1, **how)
            for margin in MARGINS
        ]
    accuracy = found[0].reference["accuracy"]
    spread = float(np.stack(reference["probabilities"].to_numpy()).max(axis=1).std())
    told: list[tuple[int | None, list[Any]]] = [(None, found)]
    told += [
        (int(some[0].place["value"]), list(some))
        for some in zip(*(f.slices for f in found), strict=True)
    ]
    out = []
    for which, said in told:
        inside = np.ones(len(target), bool) if which is None else number == which
        first = said[0]
        held = accuracy if which is None or first.reference is None else first.reference.pooled
        cbpe = next(e.value for e in first.estimates if e.method == "cbpe")
        interval = first.headline.interval
        out.append(
            AskedPart(
                series=series,
                source=source,
                group=group,
                part=which,
                reference=held,
                interval=(interval.value, interval.lower, interval.upper),
                chances=tuple(one.fell.p for one in said),
                fell=held - float(right[inside].mean()),
                changed=first.fell.changed,
                below=(accuracy - cbpe) / max(spread / float(inside.sum()) ** 0.5, 1e-9),
            )
        )
    return out


def natural_series() -> Iterator[tuple[str, str, str, Path]]:
    """Series, source, group and folder of every eighth case of probabilities alone, and every third without a shift."""
    seen = Counter[bool]()
    for case in chosen(unpack(work_folder()), None):
        bed = case.parent.name
        if "+" in bed or bed.startswith(CLASSES_ALONE) or bed == "small-target":
            continue
        same = bed in ("same", "same4", "same5")
        seen[same] += 1
        if seen[same] % (EVERY_SAME if same else EVERY) == 1:
            source = json.loads((case / "truth.json").read_text(encoding="utf-8"))[
                "source"
            ].partition("-")[0]
            yield f"{bed}/{case.name}", source, "same" if same else "natural", case


def natural_tables(case: Path) -> tuple[Any, Any, np.ndarray]:
    """Reference, target, and which target rows are right."""
    reference, target, labels = (
        pd.read_parquet(case / f"{name}.parquet") for name in ("reference", "target", "labels")
    )
    kept = [name for name in ("probabilities", "prediction") if name in target]
    said = (
        target["prediction"].to_numpy()
        if "prediction" in target
        else np.stack(target["probabilities"].to_numpy()).argmax(axis=1)
    )
    return reference[[*kept, "label"]], target[kept], said == labels["label"].to_numpy()


def deployed_tables() -> Iterator[tuple[str, tuple[Any, Any, np.ndarray]]]:
    """The two deployed models: name, and reference, target and which target rows are right."""
    folder = data_folder() / "deployed"
    for name, truth, label, columns in (
        ("car_loan", "car_loan_analysis_target", "repaid", ["y_pred_proba"]),
        ("mc", "mc_analysis_gt", "y_true",
         [f"y_pred_proba_{c}_card" for c in ("prepaid", "highstreet", "upmarket")]),
    ):  # fmt: skip
        here, there = (
            pd.read_csv(folder / f"{name}_{which}.csv.xz") for which in ("reference", "analysis")
        )
        there = there.merge(pd.read_csv(folder / f"{truth}.csv.xz"), on="id", validate="one_to_one")
        names = [column.removeprefix("y_pred_proba_") for column in columns]
        sides = []
        for side in (here, there):
            share = side[columns].to_numpy()
            share = (
                np.hstack([1 - share, share])
                if len(columns) == 1
                else share / share.sum(axis=1, keepdims=True)
            )
            code = side[label].astype(int) if len(columns) == 1 else side[label].map(names.index)
            sides.append(pd.DataFrame({"probabilities": list(share), "label": code}))
        said = np.stack(sides[1]["probabilities"].to_numpy()).argmax(axis=1)
        yield name, (sides[0], sides[1][["probabilities"]], said == sides[1]["label"].to_numpy())


def measured() -> list[AskedPart]:
    """All series; each is kept on disk as it is done, and not measured again."""
    kept = work_folder() / "alarms.jsonl"
    done: dict[str, list[AskedPart]] = {}
    for line in kept.read_text().splitlines() if kept.exists() else ():
        parts = [AskedPart.from_dict(one) for one in json.loads(line)]
        done[parts[0].series] = parts
    jobs = [(*about, partial(natural_tables, case), ROWS) for *about, case in natural_series()]
    jobs += [
        (name, name, "deployed", lambda t=tables: t, DEPLOYED_ROWS)
        for name, tables in deployed_tables()
    ]
    start = time.perf_counter()
    with kept.open("a") as file:
        for i, (series, source, group, tables, rows) in enumerate(jobs, 1):
            if series not in done:
                done[series] = ask(series, source, group, tables(), rows)
                file.write(json.dumps([asdict(p) for p in done[series]]) + "\n")
                file.flush()
            if i % 50 == 0:
                print(
                    f"{i} of {len(jobs)} series, {time.perf_counter() - start:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
    return [part for parts in done.values() for part in parts]


@cache
def priors() -> dict[str, NaturalShifts]:
    """The prior of each source, fitted without it."""
    shifts, _ = read_shifts(RESULTS / "natural.json")
    return {
        one: fit_prior([s for s in shifts if source_of(s) != one])
        for one in set(map(source_of, shifts))
    }


def alarms(parts: Sequence[AskedPart], margin: float) -> np.ndarray:
    """Which parts raise an alarm, as `oodometer.headline.natural_shifts.is_alarm` has it; prior without the source."""
    place = MARGINS.index(margin)
    return np.array([is_alarm(part.chances[place], part.changed) for part in parts])


def night(alarm: np.ndarray, fell: np.ndarray, still: float, shifted: float) -> str:
    """Share of the alarms that are right where so many nights are shifted, and others raise the rate ``still``."""
    raised = shifted * alarm.mean() + (1 - shifted) * still
    return f"{shifted * (alarm & fell).mean() / raised:.0%}" if raised else "-"


def still_rate(parts: Sequence[AskedPart], margin: float) -> float:
    """Share of the unshifted parts that raise an alarm."""
    return float(
        alarms([p for p in parts if p.group == "same" and p.part is not None], margin).mean()
    )


def rates(alarm: np.ndarray, fell: np.ndarray) -> list[str]:
    """Cells: share of the falls that were detected, of the others that raised an alarm, of alarms that are right."""
    shares = [alarm[fell], alarm[~fell], fell[alarm]]
    return [f"{one.mean():.0%}" if len(one) else "-" for one in shares]


def table(parts: Sequence[AskedPart]) -> list[str]:
    """A group and a margin a line: the plain rule, ours, and the plain rule at our rate of false alarms."""
    rows = []
    for title, some in (
        ("natural shifts, whole targets", [p for p in parts if p.group == "natural" and p.part is None]),
        (f"natural shifts, parts of {ROWS} rows", [p for p in parts if p.group == "natural" and p.part is not None]),
        (f"deployed models, parts of {DEPLOYED_ROWS:,} rows",
         [p for p in parts if p.group == "deployed" and p.part is not None]),
        ("all parts, unshifted ones as well", [p for p in parts if p.part is not None]),
    ):  # fmt: skip
        below = np.array([p.below for p in some])
        for margin in MARGINS:
            fell = np.array([p.fell >= margin for p in some])
            alarm = alarms(some, margin)
            strict = np.quantile(below[~fell], 1 - alarm[~fell].mean(), method="higher")
            nights = [night(alarm, fell, still_rate(parts, margin), share) for share in NIGHTS]
            about = [title, f"{100 * margin:.0f}", str(len(some)), f"{fell.mean():.0%}"]
            plain = [*rates(below > DEVIATIONS, fell), f"{(below > strict)[fell].mean():.0%}"]
            rows.append([*about, *rates(alarm, fell), *nights, *plain])
    ours = ["detected", "false alarms", "alarms that are right"]
    nightly = [f"the same, {share:.0%} of nights shifted" for share in NIGHTS]
    others = [
        "plain rule: detected",
        "false alarms",
        "alarms that are right",
        "detected at our false alarms",
    ]
    return kit.table(["parts", "margin in points", "count", "fell", *ours, *nightly, *others], rows)


def still_table(parts: Sequence[AskedPart]) -> list[str]:
    """Series without a shift: how many raise any alarm."""
    same = [p for p in parts if p.group == "same" and p.part is not None]
    names = sorted({p.series for p in same})
    rows = []
    for margin in MARGINS:
        raised = {p.series for p, one in zip(same, alarms(same, margin), strict=True) if one}
        rows.append([f"{100 * margin:.0f}", str(len(names)), f"{len(raised) / len(names):.1%}"])
    plain = {p.series for p in same if p.below > DEVIATIONS}
    rows.append(["plain rule", str(len(names)), f"{len(plain) / len(names):.1%}"])
    return kit.table(["margin in points", "series without a shift", "with any alarm"], rows)


def page(result: kit.Result) -> str:
    parts = [AskedPart.from_dict(one) for one in result["parts"]]
    whole = [p for p in parts if p.group == "natural"]
    lines = [
        "# Alarms: did the accuracy fall?",
        "",
        f"Made by `python -m benchmarks.natural.alarms` from {len({p.series for p in whole})} natural shifts (every "
        f"eighth) of {len({p.source for p in whole})} sources (probabilities alone), unshifted series and two deployed "
        "models. The prior of each case was fitted without its whole source. An alarm asks that a fall by the margin "
        f"is {ALARM:.0%} likely, and for a change beyond chance; the plain rule says that the CBPE lies "
        f"{DEVIATIONS:.0f} standard deviations of such parts below the accuracy of the reference. The last column "
        "moves its threshold until it raises as many false alarms as ours.",
        "",
        *table(parts),
        "## Without a shift",
        "",
        *still_table(parts),
    ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    parts = []
    for part in measured():
        plain = rounded(asdict(part))
        for name in ("interval", "chances"):
            plain[name] = [None if x is None else float(f"{x:.6g}") for x in plain[name]]
        parts.append(plain)
    return {"parts": parts}


def rounded(plain: dict[str, Any]) -> dict[str, Any]:
    """The mapping, its fractions with six digits."""
    return {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in plain.items()}


if __name__ == "__main__":
    raise SystemExit(kit.command(__doc__, "alarms", measure, page))

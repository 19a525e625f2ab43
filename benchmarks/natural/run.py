"""Measures every default method and the headline on natural shifts; an interrupted run goes on where it stopped.

python -m benchmarks.natural                  # every case: results/natural.json and .md, and the guide's tables
python -m benchmarks.natural --most 7         # seven cases of each bed, drawn by a fixed seed (28 of mixed beds)
python -m benchmarks.natural --tables         # nothing is measured: tables from the JSON
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import kit
from benchmarks.kit import RESULTS, data_folder
from benchmarks.natural.prior import left_out
from benchmarks.natural.tables import GUIDE, LEVEL, Shift, read_shifts, renewed, write_results
from benchmarks.quality.tables import Case
from oodometer.headline.headline import Evidence
from oodometer.headline.natural_shifts import doubt_of, signs_of_result

SEED = 0
SETS: dict[str, dict[str, str]] = {
    "natural": {},
    "natural4": {},
    "natural5": {"same4": "same5"},
}  # and beds renamed
EVERY = 3  # periods of a temporal source that are asked: neighbours are alike
MIXED = {
    "same": 4,
    "same4": 4,
    "same5": 4,
    "small-target": 4,
}  # beds that mix all sources: so many times the cases of another bed


def work_folder() -> Path:
    """Where cases are unpacked and what is done so far is kept."""
    return kit.bench_dir() / "natural"


def unpack(folder: Path, names: Sequence[str] = tuple(SETS)) -> Path:
    """All beds of these sets as folders of cases; those that are there already are left as they are."""
    packed = sorted(path for name in names for path in (data_folder() / name).glob("*.tar.xz"))
    if not packed:
        raise SystemExit(
            "the natural shifts are missing: set OODOMETER_DATA to the folder that holds natural/"
        )
    beds = folder / "beds"
    beds.mkdir(parents=True, exist_ok=True)
    for path in packed:
        name = path.name.removesuffix(".tar.xz")
        bed = beds / SETS[path.parent.name].get(name, name)
        if not bed.is_dir():
            with tempfile.TemporaryDirectory(dir=folder) as half, tarfile.open(path) as archive:
                archive.extractall(half, filter="data")
                (Path(half) / name).rename(bed)
    periods_of = sorted((data_folder() / "history").glob("*.npz")) if names == tuple(SETS) else []
    for path in periods_of:
        with np.load(path) as periods:
            for model in [
                name.removeprefix("p_") for name in periods.files if name.startswith("p_")
            ]:
                bed = beds / f"time-{path.stem}-{model}"
                if not bed.is_dir():
                    with tempfile.TemporaryDirectory(dir=folder) as half:
                        _write_periods(periods, model, path.stem, Path(half) / bed.name)
                        (Path(half) / bed.name).rename(bed)
    return beds


def _write_periods(periods: Any, model: str, source: str, bed: Path) -> None:
    """Every third period of a model as a case, its period 0 as the reference of all."""
    probabilities = periods[f"p_{model}"].astype(np.float64)
    if probabilities.ndim == 1:
        probabilities = np.column_stack([1 - probabilities, probabilities])
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    own = f"pred_{model}"
    predicted = (
        periods[own].astype(np.int64) if own in periods.files else probabilities.argmax(axis=1)
    )
    rows = pd.DataFrame(
        {"probabilities": list(probabilities), "prediction": predicted, "label": periods["y"]}
    )
    period = periods["period"]
    for number in range(1, int(period.max()) + 1, EVERY):
        case, target = bed / f"{number:02d}", rows[period == number]
        case.mkdir(parents=True)
        rows[period == 0].reset_index(drop=True).to_parquet(case / "reference.parquet")
        target.drop(columns="label").reset_index(drop=True).to_parquet(case / "target.parquet")
        target[["label"]].reset_index(drop=True).to_parquet(case / "labels.parquet")
        truth = {
            "accuracy": float((target["prediction"] == target["label"]).mean()),
            "source": source,
        }
        (case / "truth.json").write_text(json.dumps(truth), encoding="utf-8")


def chosen(beds: Path, most: int | None) -> list[Path]:
    """The cases in a seeded order, bed after bed in turn, so that whatever is done so far is spread over all beds."""
    rng = np.random.default_rng(SEED)
    drawn = []
    for bed in sorted(beds.iterdir()):
        cases = sorted(p.parent for p in bed.glob("*/truth.json"))
        many = None if most is None else most * MIXED.get(bed.name, 1)
        drawn.append([cases[i] for i in rng.permutation(len(cases))[:many]])
    return [case for turn in zip_longest(*drawn) for case in turn if case is not None]


def measure(case: Path, cache: Path) -> Shift:
    import oodometer

    truth = json.loads((case / "truth.json").read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = oodometer.estimate(
            case / "reference.parquet",
            case / "target.parquet",
            level=LEVEL,
            backtest=cache,
            workers=1,
        )
    head = found.headline
    kind = "none given" if found.diagnosis is None else found.diagnosis.kind
    said = Case(case.parent.name, case.name, int(found.reference["rows"]), int(found.target["rows"]), truth["accuracy"],
        (head.value, head.lower, head.upper), head.trust, kind, head.method,
        {e.method: (e.value, e.lower, e.upper) for e in found.estimates})  # fmt: skip
    still = found.headline.bands.get("unchanged", found.headline.interval)
    signs, evidence = signs_of_result(found), Evidence(LEVEL, diagnosis=found.diagnosis)
    assert signs is not None
    three = (still.value, still.lower, still.upper)
    return Shift(
        said, truth["source"], found.reference["accuracy"], signs, doubt_of(signs, evidence), three
    )


def measure_all(cases: Sequence[Path], folder: Path, workers: int) -> tuple[list[Shift], list[str]]:
    """All cases and what failed; each is kept on disk as it is done, and not measured again."""
    work = partial(measure, cache=folder / "trials")
    return measure_cases(
        cases, folder / "done.jsonl", work, workers, Shift.to_dict, Shift.from_dict
    )


def measure_cases(
    cases: Sequence[Path], kept: Path, work: Callable[[Path], Any], workers: int, write: Callable[[Any], Any],
    read: Callable[[Any], Any]
) -> tuple[list[Any], list[str]]:  # fmt: skip
    """What ``work`` makes of each case, and what failed; kept line by line in a file, and not measured again."""
    done = dict(_read(kept, read))
    left = [case for case in cases if (case.parent.name, case.name) not in done]
    failed: list[str] = []
    with kept.open("a") as file:
        for case, found, why in kit.spawned(work, left, workers):
            if why:
                failed.append(why)
                continue
            done[case.parent.name, case.name] = found
            file.write(
                json.dumps({"key": [case.parent.name, case.name], "found": write(found)}) + "\n"
            )
            file.flush()
    wanted = [(case.parent.name, case.name) for case in cases]
    return [done[key] for key in wanted if key in done], failed


def _read(kept: Path, read: Callable[[Any], Any]) -> Iterator[tuple[tuple[str, str], Any]]:
    """What an interrupted run has done; a line that was cut off is left out."""
    for line in kept.read_text().splitlines() if kept.exists() else ():
        try:
            plain = json.loads(line)
            yield (plain["key"][0], plain["key"][1]), read(plain["found"])
        except (ValueError, LookupError):
            continue


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.natural",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument(
        "--most", type=int, help="cases of each bed, drawn by a fixed seed; by default all"
    )
    parser.add_argument(
        "--tables", action="store_true", help="measure nothing, make the tables again"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="forget what an interrupted run has done"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="folder for natural.json and natural.md"
    )
    options = parser.parse_args(arguments)
    failed: list[str] = []
    command = "python -m benchmarks.natural" + (
        "" if options.most is None else f" --most {options.most}"
    )
    if options.tables:
        shifts, command = read_shifts(options.out / "natural.json")
    else:
        folder = work_folder()
        folder.mkdir(parents=True, exist_ok=True)
        if options.fresh:
            (folder / "done.jsonl").unlink(missing_ok=True)
        shifts, failed = measure_all(chosen(unpack(folder), options.most), folder, options.workers)
    shifts = left_out(shifts)
    write_results(sorted(shifts, key=lambda s: s.key), options.out, command)
    if options.out == RESULTS:
        GUIDE.write_text(
            renewed(GUIDE.read_text(encoding="utf-8"), read_shifts(RESULTS / "natural.json")[0])
        )
    for failure in failed:
        print(f"failed and left out: {failure}", file=sys.stderr)
    return int(bool(failed))

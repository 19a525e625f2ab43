"""The benchmark's data: seeded synthetic classifiers, written as Parquet and NPZ into a cache folder.

The reference is calibrated by construction: its labels are drawn from its own probabilities (accuracy
about 0.85). The target is shifted in three ways: its classes are tilted, it is harder (smaller margins, so
confidence falls), and its probabilities are too sharp (its labels come from the same logits at temperature
1.3). Target labels are never written, only their accuracy, in `meta.json`.

    python -m benchmarks.data 1m-10

Every block of rows has a seed of its own, so that the data do not depend on how they are written, and nothing
larger than one row group is ever held in memory while Parquet is written.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks.kit import bench_dir

VERSION = 1  # raise it when the data change: old caches are then ignored
ROW_GROUP = 131_072
ACCURACY = 0.85
TEMPERATURE = 1.3
HARDER = 0.85
TILT = 0.7


@dataclass(frozen=True)
class Size:
    """How many rows and classes one case has, and which extra copies are written for peers."""

    reference: int
    target: int
    classes: int
    wide: bool = False  # prob_<class>, y_pred, y_true: the layout NannyML reads
    arrays: bool = True  # .npz, for jobs on arrays in memory
    csv: bool = False  # prob_<class> and label as CSV


SIZES = {"2k-10": Size(2_000, 2_000, 10, csv=True), "10k-10": Size(10_000, 10_000, 10, wide=True),
    "100k-10": Size(100_000, 100_000, 10, wide=True), "1m-10": Size(1_000_000, 1_000_000, 10, wide=True),
    "10m-10": Size(1_000_000, 10_000_000, 10, arrays=False), "50k-1000": Size(50_000, 50_000, 1000)}  # fmt: skip


def softmax(logits: np.ndarray) -> np.ndarray:
    """Row-wise softmax, in place."""
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits


def draw_logits(
    rng: np.random.Generator, rows: int, classes: int, scale: float, tilt: float
) -> np.ndarray:
    """Noise plus, for one class a row, a margin of varying size: many sure rows and a long unsure tail."""
    weights = np.exp(tilt * np.linspace(-1, 1, classes))
    top = rng.choice(classes, size=rows, p=weights / weights.sum())
    logits = rng.standard_normal((rows, classes), dtype=np.float32)
    logits[np.arange(rows), top] += scale * rng.gamma(3.0, 1.0, size=rows).astype(np.float32)
    return logits


def find_scale(classes: int) -> float:
    """The margin at which the mean top probability, hence the reference accuracy, is ACCURACY."""
    low, high = 0.1, 50.0
    for _ in range(30):
        middle = (low + high) / 2
        rng = np.random.default_rng(7)
        top = (
            softmax(draw_logits(rng, 4_000_000 // (classes * 10), classes, middle, 0.0))
            .max(axis=1)
            .mean()
        )
        low, high = (middle, high) if top < ACCURACY else (low, middle)
    return low


def draw_labels(rng: np.random.Generator, probabilities: np.ndarray) -> np.ndarray:
    """One label a row from that row's probabilities, by the inverse of the cumulative sum."""
    steps = np.cumsum(probabilities, axis=1, dtype=np.float64)
    cut = rng.random((len(steps), 1)) * steps[:, -1:]
    return (steps <= cut).sum(axis=1)


def blocks(
    rows: int, classes: int, scale: float, shifted: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (probabilities, labels) a few million numbers at a time."""
    size = min(32_768, max(1, 4_000_000 // classes))
    for number, start in enumerate(range(0, rows, size)):
        rng = np.random.default_rng([VERSION, classes, int(shifted), number])
        count = min(size, rows - start)
        margin, tilt = (scale * HARDER, TILT) if shifted else (scale, 0.0)
        logits = draw_logits(rng, count, classes, margin, tilt)
        truth = softmax(logits / TEMPERATURE) if shifted else None
        probabilities = softmax(logits)
        yield probabilities, draw_labels(rng, probabilities if truth is None else truth)


def row_groups(
    rows: int, classes: int, scale: float, shifted: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The same, in pieces of about a row group of a file each."""
    waiting: list[tuple[np.ndarray, np.ndarray]] = []
    held = done = 0
    for probabilities, label in blocks(rows, classes, scale, shifted):
        waiting.append((probabilities, label))
        held, done = held + len(label), done + len(label)
        if held >= ROW_GROUP or done == rows:
            yield (
                np.concatenate([one[0] for one in waiting]),
                np.concatenate([one[1] for one in waiting]),
            )
            waiting, held = [], 0


def as_list_column(probabilities: np.ndarray) -> pa.Array:
    """The array as a list<float> column, without a copy."""
    rows, classes = probabilities.shape
    offsets = pa.array(np.arange(0, rows * classes + 1, classes, dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, pa.array(probabilities.ravel()))


def narrow_table(probabilities: np.ndarray, label: np.ndarray | None) -> pa.Table:
    """The predictions file: `probabilities`, and `label` where it is known."""
    columns = {"probabilities": as_list_column(probabilities)}
    return pa.table(columns if label is None else {**columns, "label": label})


def wide_table(probabilities: np.ndarray, label: np.ndarray | None) -> pa.Table:
    """The layout NannyML reads: one column a class, `y_pred`, and `y_true` where it is known."""
    columns = {
        f"prob_{k}": np.ascontiguousarray(probabilities[:, k])
        for k in range(probabilities.shape[1])
    }
    columns["y_pred"] = probabilities.argmax(axis=1)
    return pa.table(columns if label is None else {**columns, "y_true": label})


def write_csv(path: Path, probabilities: np.ndarray, label: np.ndarray | None) -> None:
    """Wide columns as text, for sizes of one row group."""
    columns = {
        f"prob_{k}": probabilities[:, k].astype(np.float64) for k in range(probabilities.shape[1])
    }
    pacsv.write_csv(pa.table(columns if label is None else {**columns, "label": label}), path)


def write_sample(folder: Path, name: str, size: Size, scale: float) -> dict[str, float]:
    """Write one sample in every layout the case asks for; return its rows, accuracy and mean confidence."""
    shifted = name == "target"
    rows = size.target if shifted else size.reference
    layouts = {name: narrow_table} | ({f"{name}_wide": wide_table} if size.wide else {})
    writers: dict[str, pq.ParquetWriter] = {}
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    correct, confidence = 0, 0.0
    for probabilities, label in row_groups(rows, size.classes, scale, shifted):
        correct += int((probabilities.argmax(axis=1) == label).sum())
        confidence += float(probabilities.max(axis=1).sum(dtype=np.float64))
        labels = None if shifted else label
        if size.arrays:
            kept.append((probabilities, label))
        for layout, build in layouts.items():
            table = build(probabilities, labels)
            if layout not in writers:
                writers[layout] = pq.ParquetWriter(folder / f"{layout}.parquet", table.schema)
            writers[layout].write_table(table, row_group_size=ROW_GROUP)
    for writer in writers.values():
        writer.close()
    if size.csv:
        write_csv(folder / f"{name}.csv", probabilities, labels)
    if size.arrays:
        arrays = {"probabilities": np.concatenate([part[0] for part in kept])}
        if not shifted:
            arrays["label"] = np.concatenate([part[1] for part in kept])
        np.savez(folder / f"{name}.npz", **arrays)
    return {"rows": rows, "accuracy": correct / rows, "confidence": confidence / rows}


def make(case: str) -> Path:
    """The folder of one case, written on first use."""
    folder = bench_dir() / f"data-v{VERSION}" / case
    if (folder / "meta.json").exists():
        return folder
    size = SIZES[case]
    scale = find_scale(size.classes)
    part = folder.with_name(f"{case}.{os.getpid()}.part")
    part.mkdir(parents=True)
    try:
        samples = {name: write_sample(part, name, size, scale) for name in ("reference", "target")}
        about = {"case": case, **asdict(size), "samples": samples}
        (part / "meta.json").write_text(json.dumps(about, indent=1) + "\n")
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def load(folder: Path, name: str) -> dict[str, np.ndarray]:
    """The arrays of `reference` or `target`."""
    with np.load(folder / f"{name}.npz") as file:
        return {key: file[key] for key in file.files}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write benchmark data and print their folders.")
    parser.add_argument("case", nargs="+", choices=sorted(SIZES))
    for one in parser.parse_args().case:
        print(make(one))

"""The floor: the same jobs as a strong engineer would write them in plain numpy, for one use.

One thread, arrays in memory (or, for `stream`, one pass over Parquet batches). This is what oodometer's speed
is measured against; it checks no input, handles no ties or empty files, and explains nothing.

    python -m benchmarks.lean_numpy estimate FOLDER
    python -m benchmarks.lean_numpy whole FOLDER npz      # the same as a program: read, estimate, print
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

BINS = 10
REPLICATES = 1000
RESAMPLES = 500


def top(probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Predicted class and its probability."""
    predicted = probabilities.argmax(axis=1)
    return predicted, np.take_along_axis(probabilities, predicted[:, None], axis=1)[:, 0]


def binned(counts: np.ndarray, hits: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Accuracy of each reference bin, weighted by the target's share of it (last axis is the bin)."""
    return (hits / np.maximum(counts, 1) * target).sum(axis=-1) / target.sum(axis=-1)


def bin_of(confidence: np.ndarray) -> np.ndarray:
    """Equal-width bins on [0, 1]."""
    return np.minimum((confidence * BINS).astype(np.intp), BINS - 1)


def summary(counts: np.ndarray, hits: np.ndarray, target: np.ndarray) -> dict[str, float]:
    """The binned estimate and its interval from resampled bin counts: exact for bins, and free of n."""
    rng = np.random.default_rng(0)
    cells = np.concatenate([hits, counts - hits])
    redrawn = rng.multinomial(int(cells.sum()), cells / cells.sum(), size=REPLICATES)
    redrawn_hits, redrawn_counts = redrawn[:, :BINS], redrawn[:, :BINS] + redrawn[:, BINS:]
    redrawn_target = rng.multinomial(int(target.sum()), target / target.sum(), size=REPLICATES)
    low, high = np.quantile(binned(redrawn_counts, redrawn_hits, redrawn_target), [0.025, 0.975])
    return {
        "binned": float(binned(counts, hits, target)),
        "lower": float(low),
        "upper": float(high),
    }


def estimate(reference: np.ndarray, label: np.ndarray, target: np.ndarray) -> dict[str, float]:
    """AC, DoC, ATC and the binned estimate with its interval, on arrays in memory."""
    predicted, sure = top(reference)
    right = predicted == label
    _, target_sure = top(target)
    errors = int(np.count_nonzero(~right))
    threshold = np.sort(sure)[errors]
    cell, target_cell = bin_of(sure), bin_of(target_sure)
    ac = float(target_sure.mean(dtype=np.float64))
    return {"source": float(right.mean()), "ac": ac, "doc": float(right.mean() + ac - sure.mean(dtype=np.float64)),
        "atc": float((target_sure >= threshold).mean()),
        **summary(np.bincount(cell, minlength=BINS), np.bincount(cell[right], minlength=BINS),
        np.bincount(target_cell, minlength=BINS))}  # fmt: skip


def stream(folder: Path) -> dict[str, float]:
    """The same from Parquet in batches, keeping sums only: ATC from a fine histogram instead of a sort."""
    import pyarrow.parquet as pq

    fine = 4096
    classes = json.loads((folder / "meta.json").read_text())["classes"]
    size = min(65_536, 4_000_000 // classes)
    counts = {name: np.zeros(fine + 1) for name in ("reference", "target")}
    sums = dict.fromkeys(counts, 0.0)
    hits = np.zeros(fine + 1)
    for name in counts:
        with pq.ParquetFile(
            folder / f"{name}.parquet", pre_buffer=False
        ) as file:  # the default holds the whole file
            for batch in file.iter_batches(batch_size=size, use_threads=False):
                rows = batch.num_rows
                column = batch.column("probabilities").flatten().to_numpy().reshape(rows, -1)
                predicted, sure = top(column)
                cell = (sure * fine).astype(np.intp)
                counts[name] += np.bincount(cell, minlength=fine + 1)
                sums[name] += float(sure.sum(dtype=np.float64))
                if name == "reference":
                    right = predicted == batch.column("label").to_numpy()
                    hits += np.bincount(cell[right], minlength=fine + 1)
    n, m = counts["reference"].sum(), counts["target"].sum()
    threshold = np.searchsorted(np.cumsum(counts["reference"]), n - hits.sum())
    coarse = np.minimum(np.arange(fine + 1) * BINS // fine, BINS - 1)
    kept = (counts["reference"], hits, counts["target"])
    ten = [np.bincount(coarse, weights=one).astype(np.int64) for one in kept]
    return {"source": float(hits.sum() / n), "ac": sums["target"] / m,
        "doc": float(hits.sum() / n + sums["target"] / m - sums["reference"] / n),
        "atc": float(counts["target"][threshold:].sum() / m), **summary(*ten)}  # fmt: skip


def ece(probabilities: np.ndarray, label: np.ndarray, bins: int = 15) -> float:
    """Expected calibration error, equal-width bins."""
    predicted, sure = top(probabilities)
    cell = np.minimum((sure * bins).astype(np.intp), bins - 1)
    gap = np.bincount(cell, weights=(predicted == label) - sure.astype(np.float64), minlength=bins)
    return float(np.abs(gap).sum() / len(label))


def aurc(probabilities: np.ndarray, label: np.ndarray) -> float:
    """Mean error rate of the k most confident rows, over all k (ties in the order they come)."""
    predicted, sure = top(probabilities)
    wrong = (predicted != label)[np.argsort(-sure)]
    return float((np.cumsum(wrong) / np.arange(1, len(wrong) + 1)).mean())


def aurc_bootstrap(probabilities: np.ndarray, label: np.ndarray) -> float:
    """AURC with a 95 % interval from RESAMPLES samples of all rows, each drawn, sorted and summed anew."""
    predicted, sure = top(probabilities)
    wrong = predicted != label
    rng = np.random.default_rng(0)
    places = np.arange(1, len(wrong) + 1)
    found = []
    for _ in range(RESAMPLES):
        rows = rng.integers(0, len(wrong), len(wrong))
        found.append((np.cumsum(wrong[rows][np.argsort(-sure[rows])]) / places).mean())
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low + high) / 2


def load(folder: Path, name: str) -> dict[str, np.ndarray]:
    """The arrays of `reference` or `target`."""
    with np.load(folder / f"{name}.npz") as file:
        return {key: file[key] for key in file.files}


def whole(folder: Path, form: str) -> dict[str, float]:
    """Files in, answer out: what is set against the typed command."""
    if form == "parquet":
        return stream(folder)
    reference, target = load(folder, "reference"), load(folder, "target")
    return estimate(reference["probabilities"], reference["label"], target["probabilities"])


def main() -> None:
    if sys.argv[1] == "whole":  # timed from outside, so nothing is imported for a stopwatch
        print(json.dumps(whole(Path(sys.argv[2]), sys.argv[3])))
        return
    from benchmarks import probe

    args = probe.arguments("estimate", "stream", "ece", "aurc", "aurc-bootstrap")
    packages = ("numpy", "pyarrow")
    if args.job == "stream":
        probe.report(lambda: {"value": stream(args.folder)}, args.runs, packages)
        return
    reference = load(args.folder, "reference")
    p, y = reference["probabilities"], reference["label"]
    if args.job == "estimate":
        q = load(args.folder, "target")["probabilities"]
        probe.report(lambda: {"value": estimate(p, y, q)}, args.runs, packages)
    else:
        metric = {"ece": ece, "aurc": aurc, "aurc-bootstrap": aurc_bootstrap}[args.job]
        probe.report(lambda: metric(p, y), args.runs, packages)


if __name__ == "__main__":
    main()

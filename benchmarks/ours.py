"""Our side of every job: oodometer called as a user would call it.

A job whose part of the package does not exist yet says "pending" and the other sides are still measured.

    python -m benchmarks.ours estimate FOLDER --runs 5
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks import probe
from benchmarks.data import load

Job = Callable[[], Any]
# Every estimator of the first wave that probabilities alone can feed: the job that the peers are measured on.
FIRST_WAVE = (
    "source", "ac", "doc", "atc", "atc-entropy", "threshold:margin", "threshold-classwise", "im", "cbpe")  # fmt: skip
PACKAGES = ("oodometer", "numpy", "scipy", "pyarrow")


def answer(result: Any) -> dict[str, Any]:
    """What the result table keeps of an estimate: the headline and each method's value."""
    found = result.to_dict()
    return {"value": found["headline"]["value"], "interval": [found["headline"]["lower"], found["headline"]["upper"]],
        "methods": {one["method"]: one["value"] for one in found["estimates"]}}  # fmt: skip


def estimate(args: argparse.Namespace) -> Job:
    """All first-wave estimators with intervals, arrays in memory; checking the input is inside the clock."""
    import oodometer

    arrays = {name: load(args.folder, name) for name in ("reference", "target")}
    make, call = oodometer.Predictions.from_probabilities, oodometer.estimate

    def job() -> dict[str, Any]:
        reference = make(arrays["reference"]["probabilities"], label=arrays["reference"]["label"])
        target = make(arrays["target"]["probabilities"])
        return answer(call(reference, target, methods=FIRST_WAVE, diagnosis=False))

    return job


def estimate_files(args: argparse.Namespace) -> Job:
    """The same from two Parquet files, read in batches; option `workers=N`."""
    from oodometer import estimate as call

    paths = [str(args.folder / f"{name}.parquet") for name in ("reference", "target")]
    workers = int(args.options.get("workers", 1))
    return lambda: answer(call(*paths, workers=workers, methods=FIRST_WAVE, diagnosis=False))


def estimate_whole(args: argparse.Namespace) -> Job:
    """What a user gets by default: every method, the diagnosis, and a headline weighed by a backtest of its own."""
    import oodometer

    arrays = {name: load(args.folder, name) for name in ("reference", "target")}
    make = oodometer.Predictions.from_probabilities
    # a folder by this name beside the data, so that a run finds the trials of the one before
    cache = args.folder / args.options["cache"] if "cache" in args.options else None

    def job() -> dict[str, Any]:
        reference = make(arrays["reference"]["probabilities"], label=arrays["reference"]["label"])
        with tempfile.TemporaryDirectory() as fresh:
            return answer(
                oodometer.estimate(
                    reference, make(arrays["target"]["probabilities"]), backtest=cache or fresh
                )
            )

    return job


def metric(args: argparse.Namespace, module: str, name: str) -> Job:
    """One metric from probabilities and labels; checking the input is inside the clock."""
    from oodometer import Predictions
    from oodometer.metrics.base import confidence_and_verdict

    arrays = load(args.folder, "reference")
    function = getattr(import_module(f"oodometer.metrics.{module}"), name)

    def job() -> float:
        sample = Predictions.from_probabilities(arrays["probabilities"], label=arrays["label"])
        return float(function(*confidence_and_verdict(sample)))

    return job


SELECTIVE = (
    "auc_coverage", "aurc", "e_aurc", "augrc", "disca", "coverage_at_risk", "risk_at_coverage", "accuracy_coverage",
    "risk_coverage")  # fmt: skip


def selective(args: argparse.Namespace) -> Job:
    """Every selective metric with its band, from probabilities and labels; checking the input is inside the clock.

    Option `models=N` judges so many models on the same rows, one after the other.
    """
    from oodometer import Predictions
    from oodometer.registry import create

    arrays = load(args.folder, "reference")
    models = int(args.options.get("models", 1))

    def job() -> dict[str, Any]:
        for _ in range(models):
            sample = Predictions.from_probabilities(arrays["probabilities"], label=arrays["label"])
            metrics = [create("metric", name) for name in SELECTIVE]
            state = metrics[0].summarize(sample)
            found = {metric.name: metric.finish(state) for metric in metrics}
        return {name: one.value for name, one in found.items() if hasattr(one, "value")}

    return job


def compare(args: argparse.Namespace) -> Job:
    """`compare` over ten models on the same rows, in memory: the reference with its logits under rising noise."""
    import numpy as np

    import oodometer

    arrays = load(args.folder, "reference")
    rows = int(args.options.get("rows", 50_000))
    logits, label = np.log(arrays["probabilities"][:rows] + 1e-30), arrays["label"][:rows]
    rng = np.random.default_rng(0)
    models = []
    for i in range(10):
        noisy = logits + rng.normal(0, 0.1 * (i + 1), logits.shape)
        noisy -= noisy.max(axis=1, keepdims=True)
        probabilities = np.exp(noisy)
        models.append((probabilities / probabilities.sum(axis=1, keepdims=True)).astype(np.float32))

    def job() -> dict[str, Any]:
        records = [oodometer.Predictions.from_probabilities(p, label=label) for p in models]
        found = oodometer.compare(records, names=[f"model {i}" for i in range(10)])
        return {
            "best": {name: rows[0]["model"] for name, rows in found.rankings["in_domain"].items()}
        }

    return job


JOBS: dict[str, Callable[[argparse.Namespace], Job]] = {
    "estimate": estimate,
    "estimate-files": estimate_files,
    "estimate-whole": estimate_whole,
    "ece": lambda args: metric(args, "ece", "expected_calibration_error"),
    "selective": selective,
    "compare": compare,
    "aurc": lambda args: metric(args, "aurc", "area_under_risk_coverage"),
}


def main() -> None:
    args = probe.arguments(*JOBS)
    try:
        job = JOBS[args.job](args)
    except (ImportError, AttributeError) as missing:
        probe.pending(f"{type(missing).__name__}: {missing}")
        return
    probe.report(job, args.runs, PACKAGES)


if __name__ == "__main__":
    main()

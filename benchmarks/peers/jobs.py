"""One job for each peer, run inside that peer's own environment: `python -m benchmarks.peers.jobs JOB FOLDER`.

``cbpe``: NannyML, CBPE of the target, from the wide Parquet files of a case; options `chunks=N` (its default is 10) and
`metrics=accuracy,f1,...` (default accuracy); the clock runs over `fit` and `estimate`, which are also given apart.
``ece-netcal``, ``ece-torchmetrics``: expected calibration error of the reference, 15 equal-width bins; with the option
`checks=no` torchmetrics leaves out its validation. ``aurc``: torch-uncertainty, area under the risk-coverage curve.
Reading and importing are outside the clock.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

from benchmarks import probe


def arrays(args: argparse.Namespace) -> tuple[Any, Any]:
    """Probabilities and labels of the reference."""
    import numpy as np

    with np.load(args.folder / "reference.npz") as file:
        return file["probabilities"], file["label"]


def cbpe(args: argparse.Namespace) -> None:
    os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"
    import pandas as pd
    from nannyml import CBPE

    reference = pd.read_parquet(args.folder / "reference_wide.parquet")
    target = pd.read_parquet(args.folder / "target_wide.parquet")
    classes = {int(name[5:]): name for name in reference.columns if name.startswith("prob_")}
    chunks, metrics = args.options.get("chunks"), args.options.get("metrics", "accuracy").split(",")

    def job() -> dict[str, object]:
        start = time.perf_counter()
        estimator = CBPE(metrics=metrics, y_pred_proba=classes, y_pred="y_pred", y_true="y_true",
            problem_type="classification_multiclass", chunk_number=int(chunks) if chunks else None)  # fmt: skip
        estimator.fit(reference)
        fitted = time.perf_counter()
        found = estimator.estimate(target).filter(period="analysis").to_df()
        done = time.perf_counter()
        rows = found["chunk", "end_index"] - found["chunk", "start_index"] + 1
        return {"value": float((found["accuracy", "value"] * rows).sum() / rows.sum()), "chunks": len(found),
            "fit_seconds": fitted - start, "estimate_seconds": done - fitted}  # fmt: skip

    probe.report(job, args.runs, ("nannyml", "pandas", "numpy", "scikit-learn"))


def netcal(args: argparse.Namespace) -> None:
    from netcal.metrics import ECE

    probabilities, label = arrays(args)
    probe.report(
        lambda: float(ECE(bins=15).measure(probabilities, label)), args.runs, ("netcal", "numpy")
    )


def torchmetrics(args: argparse.Namespace) -> None:
    import torch
    from torchmetrics.classification import MulticlassCalibrationError

    probabilities, label = map(torch.from_numpy, arrays(args))
    checks = args.options.get("checks") != "no"

    def job() -> float:
        metric = MulticlassCalibrationError(
            probabilities.shape[1], n_bins=15, norm="l1", validate_args=checks
        )
        metric.update(probabilities, label)
        return float(metric.compute())

    probe.report(job, args.runs, ("torchmetrics", "torch"))


def aurc(args: argparse.Namespace) -> None:
    # Importing the package as a whole needs torchvision and lightning, which have no part in this metric, so its
    # metric file is loaded by its path: the code that runs is theirs, unchanged.
    from importlib.metadata import files
    from importlib.util import module_from_spec, spec_from_file_location

    import torch

    probabilities, label = map(torch.from_numpy, arrays(args))
    listed = files("torch-uncertainty") or []
    path = next(
        entry for entry in listed if str(entry).endswith("metrics/classification/risk_coverage.py")
    )
    spec = spec_from_file_location("risk_coverage", str(path.locate()))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)

    def job() -> float:
        metric = module.AURC()
        metric.update(probabilities, label)
        return float(metric.compute())

    probe.report(job, args.runs, ("torch-uncertainty", "torchmetrics", "torch"))


if __name__ == "__main__":
    jobs = {"cbpe": cbpe, "ece-netcal": netcal, "ece-torchmetrics": torchmetrics, "aurc": aurc}
    given = probe.arguments(*jobs)
    jobs[given.job](given)

"""torchmetrics: expected calibration error of the reference, 15 equal-width bins, update + compute.

Option: `checks=no` leaves out its validation of arguments.
"""

from __future__ import annotations

import numpy as np
import torch
from torchmetrics.classification import MulticlassCalibrationError

from benchmarks import probe


def main() -> None:
    """Read the tensors, then time the metric."""
    args = probe.arguments("ece")
    with np.load(args.folder / "reference.npz") as file:
        probabilities, label = torch.from_numpy(file["probabilities"]), torch.from_numpy(file["label"])
    classes = probabilities.shape[1]
    checks = args.options.get("checks") != "no"

    def job() -> float:
        metric = MulticlassCalibrationError(classes, n_bins=15, norm="l1", validate_args=checks)
        metric.update(probabilities, label)
        return float(metric.compute())

    probe.report(job, args.runs, ("torchmetrics", "torch"))


if __name__ == "__main__":
    main()

"""netcal: expected calibration error of the reference, 15 equal-width bins."""

from __future__ import annotations

import numpy as np
from netcal.metrics import ECE

from benchmarks import probe


def main() -> None:
    """Read the arrays, then time the metric."""
    args = probe.arguments("ece")
    with np.load(args.folder / "reference.npz") as file:
        probabilities, label = file["probabilities"], file["label"]
    probe.report(lambda: float(ECE(bins=15).measure(probabilities, label)), args.runs, ("netcal", "numpy"))


if __name__ == "__main__":
    main()

"""torch-uncertainty: area under the risk-coverage curve of the reference, update + compute.

Importing the package as a whole needs torchvision and lightning, which have no part in this metric, so its
metric file is loaded by its path: the code that runs is theirs, unchanged.
"""

from __future__ import annotations

from importlib.metadata import files
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import torch

from benchmarks import probe


def load_metric() -> type:
    """The class AURC from the installed package's own file."""
    listed = files("torch-uncertainty") or []
    path = next(entry for entry in listed if str(entry).endswith("metrics/classification/risk_coverage.py"))
    spec = spec_from_file_location("risk_coverage", str(path.locate()))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.AURC


def main() -> None:
    """Read the tensors, then time the metric."""
    args = probe.arguments("aurc")
    with np.load(args.folder / "reference.npz") as file:
        probabilities, label = torch.from_numpy(file["probabilities"]), torch.from_numpy(file["label"])
    aurc = load_metric()

    def job() -> float:
        metric = aurc()
        metric.update(probabilities, label)
        return float(metric.compute())

    probe.report(job, args.runs, ("torch-uncertainty", "torchmetrics", "torch"))


if __name__ == "__main__":
    main()

"""Published models: agreement among thirty networks on a test set that was made anew, CIFAR-10.1."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ...datasets.folder import data_folder
from ...estimators.threshold import find_threshold, total_credit
from .errors import mean_and_spread

__all__ = ["published_agreement"]

_FILE = "outputs/cifar10_1_predictions.npz"
_SETS = {"cifar10.1 v4": "v4", "cifar10.1 v6": "v6"}


def published_agreement() -> dict[str, Any] | None:
    """Error of agreement on CIFAR-10.1 for each published model, thresholds from the CIFAR-10 test set.

    Read from ``outputs/cifar10_1_predictions.npz`` in the folder OODOMETER_DATA; None where it is not there.
    """
    folder = data_folder()
    if folder is None or not (folder / _FILE).is_file():
        return None
    with np.load(folder / _FILE, allow_pickle=False) as held:
        found: dict[str, Array] = {name: held[name] for name in held.files}
    classes, labels = found["preds_original"], found["labels_original_test"]
    out: dict[str, Any] = {"models": len(classes), "shifts": {}}
    for name, key in _SETS.items():
        there, truth = found[f"preds_{key}"], found[f"labels_{key}"]
        errors = []
        for base in range(len(classes)):
            others = [i for i in range(len(classes)) if i != base]
            scores = np.sort((classes[others] == classes[base]).mean(0))
            fitted = find_threshold(scores, float((classes[base] == labels).sum()))
            said = total_credit((there[others] == there[base]).mean(0), fitted) / len(truth)
            errors.append(abs(said - float((there[base] == truth).mean())))
        out["shifts"][name] = mean_and_spread(errors)
    return out

"""Accuracy, macro averages, area under the ROC curve and calibration error against torchmetrics."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from oodometer import Predictions
from oodometer import metrics as m


@pytest.fixture
def functional(library: Callable[[str], ModuleType]) -> Any:
    return library("torchmetrics.functional.classification")


@pytest.fixture
def tensors(library: Callable[[str], ModuleType], record: Predictions) -> tuple[Any, Any]:
    torch = library("torch")
    return torch.tensor(record.probabilities), torch.tensor(record.label).long()


@pytest.mark.parametrize(
    ("metric", "peer", "options"),
    [
        (m.Accuracy, "multiclass_accuracy", {"average": "micro"}),
        (m.MacroF1, "multiclass_f1_score", {"average": "macro"}),
        (m.MacroRecall, "multiclass_recall", {"average": "macro"}),
        (m.MacroPrecision, "multiclass_precision", {"average": "macro"}),
        (m.ExpectedCalibrationError, "multiclass_calibration_error", {"n_bins": 15, "norm": "l1"}),
    ],
)
def test_metric(
    functional: Any,
    tensors: tuple[Any, Any],
    record: Predictions,
    metric: Any,
    peer: str,
    options: Any,
) -> None:
    expected = getattr(functional, peer)(*tensors, num_classes=record.num_classes, **options)
    assert metric().compute(record).value == pytest.approx(float(expected), abs=1e-5)

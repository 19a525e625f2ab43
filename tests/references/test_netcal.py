"""Calibration errors and temperature scaling against netcal."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from oodometer import Predictions
from oodometer import metrics as m
from oodometer.calibrators.temperature import fit_temperature


def test_ece(library: Callable[[str], ModuleType], record: Predictions) -> None:
    probabilities = record.probabilities if record.num_classes > 2 else record.top.first
    truth = record.label if record.num_classes > 2 else record.verdicts
    expected = library("netcal.metrics").ECE(15).measure(probabilities, truth)
    assert m.ExpectedCalibrationError().compute(record).value == pytest.approx(expected, abs=1e-6)


def test_temperature(library: Callable[[str], ModuleType], record: Predictions) -> None:
    assert record.probabilities is not None
    assert record.label is not None
    two = record.num_classes == 2
    scaling = library("netcal.scaling").TemperatureScaling()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stated = record.probabilities[:, 1] if two else record.probabilities
        calibrated = scaling.fit_transform(stated, record.label)
    ours = fit_temperature(np.log(record.probabilities), record.label)
    softened = record.probabilities ** (1 / ours)
    softened /= softened.sum(axis=1, keepdims=True)
    # netcal searches with a tolerance of its own, so that probabilities agree to two or three digits.
    assert (softened[:, 1] if two else softened) == pytest.approx(calibrated, abs=2e-3)

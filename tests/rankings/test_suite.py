"""Suites: classes in one order, and records that do not belong together."""

from __future__ import annotations

from oodometer.errors import InputError, UsageError
from oodometer.predictions import Predictions
from oodometer.rankings import suite_of

from ..snapshots import raises_snapshot

A = Predictions.from_probabilities(
    [[0.9, 0.1], [0.4, 0.6]], label=["yes", "no"], classes=["no", "yes"]
)


def test_classes_are_put_in_one_order() -> None:
    other = Predictions.from_probabilities(
        [[0.9, 0.1], [0.4, 0.6]], label=["yes", "no"], classes=["yes", "no"]
    )
    found = suite_of({"a": A, "b": other})
    assert found.classes == ("no", "yes")
    assert found.predicted.tolist() == [[0, 1], [1, 0]]
    assert found.truth.tolist() == [1, 0]
    assert found.probabilities[1].tolist() == [[0.1, 0.9], [0.6, 0.4]]


def test_predictions_that_lack_a_class_are_taken() -> None:
    only = Predictions.from_classes(["no", "no"])
    found = suite_of({"a": only, "b": A})
    assert found.predicted.tolist() == [[0, 0], [0, 1]]
    assert found.probabilities is None


def test_unknown_truth_and_classes_that_no_model_predicts() -> None:
    a = Predictions.from_classes(["no", "no", "no"], label=["no", "yes", None])
    b = Predictions.from_classes(["no", "no", "maybe"], label=["no", "yes", None])
    found = suite_of({"a": a, "b": b})
    assert found.labelled.tolist() == [0, 1]


def test_records_that_do_not_belong_together() -> None:
    three = Predictions.from_probabilities(
        [[0.9, 0.1, 0.0], [0.4, 0.6, 0.0]], classes=["no", "yes", "maybe"]
    )
    with raises_snapshot(UsageError):
        suite_of({"a": A})
    with raises_snapshot(InputError):
        suite_of({"a": A, "b": three})
    with raises_snapshot(InputError):
        suite_of({"a": A, "b": A.slice(0, 1)})
    with raises_snapshot(InputError):
        suite_of({"a": A, "b": Predictions.from_classes(["no", "yes"], label=["yes", "yes"])})
    with raises_snapshot(InputError):
        suite_of({"a": Predictions.from_classes(["no"]), "b": Predictions.from_classes(["no"])})
    with raises_snapshot(InputError):
        suite_of({"a": A, "b": Predictions.from_confidence([0.5, 0.5])})

"""Decisions: predictions that are not the class of highest probability, through the door and every method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer import InputError, Predictions
from oodometer.errors import UsageError
from oodometer.scores import Margin, MaxProbability
from oodometer.store import RecordSource
from oodometer.store.memory import decided_source

from .snapshots import raises_snapshot

THRESHOLD = 0.7


def drawn(rows: int, shift: float, seed: int) -> dict[str, Any]:
    """A calibrated binary model whose inputs shift, P(y | x) unchanged, deciding from 0.7 on."""
    rng = np.random.default_rng(seed)
    x = rng.normal(shift, 1.3, rows)
    p = 1 / (1 + np.exp(-x))
    return {
        "prob_1": p,
        "label": (rng.random(rows) < p).astype(int),
        "prediction": (p >= THRESHOLD).astype(int),
    }


REFERENCE, TARGET = drawn(20_000, 0.0, 0), drawn(20_000, 0.7, 1)
TRUTH = float((TARGET["prediction"] == TARGET["label"]).mean())


@pytest.fixture(scope="module")
def found() -> oodometer.Estimation:
    unlabelled = {name: values for name, values in TARGET.items() if name != "label"}
    return oodometer.estimate(REFERENCE, unlabelled, backtest=None, diagnosis=False)


@pytest.mark.parametrize(
    "method", ["ac", "doc", "cbpe", "pape", "importance", "im", "atc", "threshold:margin"]
)
def test_the_decision_is_estimated_not_the_argmax(found: oodometer.Estimation, method: str) -> None:
    argmax = float(((TARGET["prob_1"] > 0.5) == TARGET["label"]).mean())
    assert abs(argmax - TRUTH) > 0.04
    assert found[method].value == pytest.approx(TRUTH, abs=0.02)


def test_methods_of_the_argmax_say_that_they_do_not_apply(found: oodometer.Estimation) -> None:
    why = {one.method: one.why for one in found.skipped}
    assert "`prediction` is a decision" in why["cot"]
    assert "`prediction` is a decision" in why["cott"]


@pytest.mark.parametrize("calibrator", ["none", "temperature", "isotonic"])
def test_a_calibrator_changes_nothing_about_that(calibrator: str) -> None:
    far = {name: values[:500] for name, values in TARGET.items() if name != "label"}
    near = {name: values[:500] for name, values in REFERENCE.items()}
    options: dict[str, Any] = {"methods": ["cot", "ac"], "calibrator": calibrator, "backtest": None}
    decided = oodometer.estimate(near, far, **options)
    assert [one.method for one in decided.skipped] == ["cot"]
    assert "`prediction` is a decision" in decided.skipped[0].why
    argmax = [{**one, "prediction": (one["prob_1"] > 0.5).astype(int)} for one in (near, far)]
    assert (
        oodometer.estimate(*argmax, **options)["cot"].value > 0.5
    )  # a calibrator may move the argmax: no decision


def test_a_warning_tells_the_threshold(found: oodometer.Estimation) -> None:
    (said,) = (one for one in found.warnings if "accuracy is computed from `prediction`" in one)
    assert "a threshold of 0.7 to 0.7 on the probability of class 1 explains it" in said


@pytest.mark.parametrize("rows", [500, 3000])
def test_batches_change_nothing(rows: int) -> None:
    record = Predictions.from_arrays(
        probabilities=REFERENCE["prob_1"],
        label=REFERENCE["label"],
        prediction=REFERENCE["prediction"],
    )
    pieces = Predictions.concat([record.slice(at, at + rows) for at in range(0, len(record), rows)])
    for score in (MaxProbability(), Margin()):
        np.testing.assert_array_equal(score(record), score(pieces))
        np.testing.assert_array_equal(score(record.take(np.arange(50))), score(record)[:50])


def test_scores_are_those_of_the_decision() -> None:
    p = Predictions.from_probabilities([[0.4, 0.6], [0.2, 0.8], [0.7, 0.3]], prediction=[0, 1, 0])
    assert not p.is_argmax
    assert MaxProbability()(p).round(3).tolist() == [0.4, 0.8, 0.7]
    assert Margin()(p).round(3).tolist() == [-0.2, 0.6, 0.4]
    three = Predictions.from_probabilities([[0.2, 0.5, 0.3], [0.1, 0.8, 0.1]], prediction=[2, 1])
    assert Margin()(three).round(3).tolist() == [-0.2, 0.7]


def test_a_threshold_decides_as_the_column_does() -> None:
    whole = {name: values for name, values in REFERENCE.items() if name != "prediction"}
    column = oodometer.evaluate(REFERENCE, metrics=["accuracy", "ece"])
    asked = oodometer.evaluate(whole, metrics=["accuracy", "ece"], threshold=THRESHOLD)
    assert column["accuracy"].value == asked["accuracy"].value
    assert column["ece"].value == asked["ece"].value
    far = {"prob_1": TARGET["prob_1"]}
    one = oodometer.estimate(whole, far, threshold=THRESHOLD, methods=["cbpe"], backtest=None)
    two = oodometer.estimate(
        REFERENCE, far | {"prediction": TARGET["prediction"]}, methods=["cbpe"], backtest=None
    )
    assert one["cbpe"].value == pytest.approx(two["cbpe"].value)


def test_the_positive_class_is_that_of_the_lone_column(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(
        "prob_approved,label\n0.65,approved\n0.4,rejected\n0.9,approved\n", encoding="utf-8"
    )
    found = oodometer.evaluate(path, threshold=0.6, metrics=["accuracy"])
    assert found["accuracy"].value == 1.0  # by name the other class comes second


@pytest.mark.parametrize("target_rule", ["argmax", "none"])
def test_a_target_must_follow_the_references_rule(target_rule: str) -> None:
    p = TARGET["prob_1"]
    if target_rule == "none":
        with raises_snapshot(InputError):
            oodometer.estimate(REFERENCE, {"prob_1": p}, methods=["ac"], backtest=None)
    else:
        plain = {**REFERENCE, "prediction": (REFERENCE["prob_1"] > 0.5).astype(int)}
        with raises_snapshot(InputError):
            oodometer.estimate(
                plain,
                {"prob_1": p, "prediction": TARGET["prediction"]},
                methods=["ac"],
                backtest=None,
            )


def test_swapped_columns_are_still_found() -> None:
    p = REFERENCE["prob_1"]
    swapped = {
        "prob_0": p,
        "prob_1": 1 - p,
        "label": REFERENCE["label"],
        "prediction": REFERENCE["prediction"],
    }
    with raises_snapshot(InputError):
        oodometer.evaluate(swapped)


@pytest.mark.parametrize("threshold", [-0.1, 1.5, 60])
def test_thresholds_that_are_no_probabilities(threshold: float) -> None:
    with raises_snapshot(UsageError):
        oodometer.evaluate({"prob_1": [0.2], "label": [1]}, threshold=threshold)


def test_a_threshold_without_probabilities_is_not_ignored() -> None:
    sure = {"confidence": [0.9, 0.8] * 60, "correct": [1, 0] * 60}
    with raises_snapshot(InputError):
        oodometer.evaluate(sure, threshold=0.6)
    with raises_snapshot(InputError):
        oodometer.estimate(sure, {"confidence": [0.9]}, threshold=0.6, backtest=None)


def test_labels_need_no_probabilities_beside_a_threshold() -> None:
    near = {"prob_1": REFERENCE["prob_1"][:300], "label": REFERENCE["label"][:300]}
    far = {"prob_1": TARGET["prob_1"][:50], "id": list(range(50))}
    labels = {"id": list(range(50))[::-1], "label": TARGET["label"][:50][::-1]}
    found = oodometer.estimate(
        near, far, threshold=THRESHOLD, labels=labels, methods=["cbpe"], backtest=None
    )
    want = float((TARGET["prediction"][:50] == TARGET["label"][:50]).mean())
    assert found.target["accuracy"]["value"] == pytest.approx(want)


def test_a_threshold_beside_a_decision_or_three_classes() -> None:
    with raises_snapshot(InputError):
        oodometer.evaluate({"prob_1": [0.2], "label": [1], "prediction": [0]}, threshold=0.6)
    with raises_snapshot(InputError):
        oodometer.evaluate({"probabilities": [[0.2, 0.3, 0.5]], "label": [1]}, threshold=0.6)


def test_a_decided_source_is_a_source() -> None:
    record = Predictions.from_probabilities(REFERENCE["prob_1"], label=REFERENCE["label"])
    source = decided_source(RecordSource(record), THRESHOLD)
    want = REFERENCE["prediction"].tolist()
    assert source.read().predicted.tolist() == want
    assert [
        c for part in source.parts(7000) for b in part.batches() for c in b.predicted.tolist()
    ] == want
    assert source.aligned(source.axes).read().predicted.tolist() == want
    assert "prediction" in source.fields


def test_a_backtest_tries_decisions() -> None:
    found = oodometer.backtest(REFERENCE, methods=["ac", "cbpe"], repeats=2, cache=None)
    errors = {row.method: row.error for row in found.rows if row.family == "none"}
    assert errors["ac"] < 0.03
    assert "logit_noise" not in {row.family for row in found.rows}

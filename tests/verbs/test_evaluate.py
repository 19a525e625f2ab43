"""The verb `evaluate`: the JSON that people rely on, one pass over batches, slices, files, and its errors."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.errors import InputError, UsageError
from oodometer.passes import evaluating
from oodometer.results.evaluation import Evaluation, Evaluations
from oodometer.verbs.evaluate import evaluate

from ..snapshots import assert_snapshot, raises_snapshot

NAMES = ["ant", "bee", "cat"]
RANKED = ("auc_coverage", "aurc", "e_aurc", "augrc")
CALIBRATED = ("ece", "ece_equal_mass", "ece_debiased", "smece", "ks_calibration_error")


@pytest.fixture(scope="module")
def classified() -> Predictions:
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.full(3, 0.5), 900)
    label = [NAMES[rng.choice(3, p=p)] for p in probabilities]
    return Predictions.from_probabilities(
        probabilities,
        label=label,
        classes=NAMES,
        group=rng.choice(["x", "y"], 900),
        columns={"site": rng.integers(0, 3, 900)},
    )


def is_interval(found: dict[str, Any]) -> bool:
    return found["lower"] <= found["value"] <= found["upper"] and found["kind"] in (
        "exact",
        "asymptotic",
        "empirical",
    )


def test_json_of_class_probabilities(classified: Predictions) -> None:
    found = evaluate(classified)
    text = json.dumps(found.to_dict(), allow_nan=False)
    result = json.loads(text)
    assert result["command"] == "evaluate"
    assert result["rows"] == 900
    for name in ("accuracy", "brier", "nll", *CALIBRATED, *RANKED, "macro_f1"):
        one = result["metrics"][name]
        assert is_interval(one), name
        assert one["level"] == 0.95
    assert {"value", "a", "b", "fluctuations", "penalty", "tolerance", "weights"} <= set(
        result["metrics"]["disca"]
    )
    assert result["metrics"]["accuracy"]["kind"] == "exact"
    parts = result["metrics"]["brier"]["decomposition"]
    assert set(parts) > {"reliability", "resolution", "uncertainty"}
    assert [row["class"] for row in result["per_class"]] == ["ant", "bee", "cat"]
    assert is_interval(result["per_class"][0]["recall"])
    assert np.sum(result["confusion"]["counts"]) == 900
    curve, diagram = result["risk_coverage"], result["reliability"]
    assert len(curve["x"]) == len(curve["y"]) == len(curve["thresholds"])
    assert curve["y"][-1] == pytest.approx(result["metrics"]["accuracy"]["value"])
    assert sum(diagram["rows"]) == 900
    assert diagram["confidence"] == diagram["x"]
    assert result["skipped"] == []
    assert result["warnings"] == []
    assert isinstance(found, Evaluation)
    assert found["ece"].value == result["metrics"]["ece"]["value"]


def test_confidence_and_correctness_are_enough() -> None:
    found = evaluate(Predictions.from_confidence([0.9, 0.8, 0.7, 0.2], correct=[1, 1, 0, 0]))
    assert {"accuracy", "brier", *CALIBRATED, *RANKED} <= set(found.metrics)
    assert found["auc_coverage"].value == pytest.approx((1 + 1 + 2 / 3 + 1 / 2) / 4)
    assert found["brier"].to_dict()["form"] == "binary"
    why = {s["metric"]: s["why"] for s in found.to_dict()["skipped"]}
    assert set(why) == {
        "f1",
        "roc_auc",
        "nll",
        "failure_cases",
        "macro_f1",
        "macro_precision",
        "macro_recall",
        "per_class",
        "confusion",
    }
    assert_snapshot(why["nll"])
    assert found.to_dict()["per_class"] == []
    assert_snapshot(found.warnings)
    with raises_snapshot(UsageError):
        found["nll"]


def test_classes_alone_have_no_confidence() -> None:
    found = evaluate({"prediction": ["a", "b", "b"], "label": ["a", "b", "a"]})
    assert found["accuracy"].value == pytest.approx(2 / 3)
    assert "ece" not in found.metrics
    assert_snapshot(next(s.why for s in found.skipped if s.method == "ece"))


def test_rows_of_unknown_truth_are_left_out_and_counted(classified: Predictions) -> None:
    assert classified.label is not None
    label = np.where(np.arange(900) % 3 == 0, -1, classified.label)
    names: list[Any] = [None if code < 0 else NAMES[code] for code in label]
    rows = {"probabilities": classified.probabilities, "label": names, "group": classified.group}
    found = evaluate(rows, classes=["ant", "bee", "cat"])
    expected = evaluate(classified.take(label >= 0))
    assert (found.rows, found.unlabelled) == (600, 300)
    assert_snapshot(found.warnings)
    assert found.metrics == expected.metrics


@pytest.mark.parametrize(
    "record",
    [
        {"confidence": [0.5, 0.6]},
        {"confidence": [0.5, 0.6], "correct": [None, None]},
        {"probabilities": [[0.5, 0.5]]},
        {"label": [0, 1], "confidence": [0.5, 0.6]},
    ],
)
def test_no_truth_is_an_error(record: dict[str, Any]) -> None:
    with raises_snapshot(InputError):
        evaluate(record)


def test_files_in_batches_equal_the_record_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    confidence, correct = rng.random(500).round(4), rng.integers(0, 2, 500)
    lines = [
        "confidence,correct",
        *(f"{c},{y}" for c, y in zip(confidence.tolist(), correct.tolist(), strict=True)),
    ]
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(evaluating, "batch_rows", lambda classes: 64)
    found = evaluate(tmp_path / "a.csv", tmp_path / "b.csv", workers=1)
    assert isinstance(found, Evaluations)
    assert len(found) == 2
    whole = evaluate(Predictions.from_confidence(confidence, correct=correct))
    assert list(found) == [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    for one in found.values():
        for name, number in whole.metrics.items():
            assert one[name].value == pytest.approx(number.value, abs=1e-12), name
            assert one[name].lower == pytest.approx(number.lower, abs=1e-9), name
    result = found.to_dict()
    assert [Path(one["name"]).name for one in result["files"]] == ["a.csv", "b.csv"]
    assert "metrics" not in result
    assert found[0].to_dict() == result["files"][0]


@pytest.mark.parametrize("by", ["site", "group", "label", "prediction"])
def test_slices(classified: Predictions, by: str) -> None:
    found = evaluate(classified, by=by)
    assert sum(one.rows for one in found.slices) == 900
    values = {str(one.value) for one in found.slices}
    assert values == {"site": {"0", "1", "2"}, "group": {"x", "y"}}.get(by, {"ant", "bee", "cat"})
    first = found.slices[0]
    mask = {
        "site": lambda: classified.columns["site"] == first.value,
        "group": lambda: classified.group == first.value,
        "label": lambda: np.array(classified.classes)[classified.label] == first.value,
        "prediction": lambda: np.array(classified.classes)[classified.predicted] == first.value,
    }[by]()
    alone = evaluate(classified.take(mask))
    for name, number in first.metrics.items():
        assert number.value == pytest.approx(alone[name].value), name
    assert {"accuracy", "ece", "aurc"} <= set(first.metrics)
    assert found.to_dict()["slices"][0]["by"] == by


def test_slices_get_the_metrics_asked_for(classified: Predictions) -> None:
    found = evaluate(classified, by="site", metrics=["smece", "risk_coverage"])
    assert set(found.metrics) == {"smece"}
    assert set(found.curves) == {"risk_coverage"}
    assert set(found.slices[0].metrics) == {"smece"}


def test_slicing_by_an_identifier_is_refused(classified: Predictions) -> None:
    many = Predictions.from_confidence(
        np.full(900, 0.5), correct=np.ones(900, dtype=int), columns={"id": np.arange(900)}
    )
    with raises_snapshot(UsageError):
        evaluate(many, by="id")


def test_large_confusions_wait_to_be_asked_for() -> None:
    label = np.arange(60)
    record = Predictions.from_classes(label, label=label)
    assert "confusion" not in evaluate(record).tables
    assert len(evaluate(record, metrics=["confusion"]).tables["confusion"]["classes"]) == 60


def test_everything_right_is_said() -> None:
    found = evaluate(Predictions.from_confidence(np.full(50, 0.9), correct=np.ones(50, dtype=int)))
    assert_snapshot(found.warnings)
    assert found["accuracy"].lower < 1


def test_wrong_calls() -> None:
    record = Predictions.from_confidence([0.5], correct=[1])
    with raises_snapshot(UsageError):
        evaluate(record, metrics=["acuracy"])
    with pytest.raises(UsageError, match="level"):
        evaluate(record, level=95)
    with raises_snapshot(UsageError):
        evaluate()  # type: ignore[call-overload]
    with raises_snapshot(InputError):
        evaluate(record, metrics=["nll"])


def test_same_seed_same_result(classified: Predictions) -> None:
    shuffled = classified.take(np.random.default_rng(3).permutation(900))
    one, other = evaluate(classified, seed=1), evaluate(shuffled, seed=1)
    for name in one.metrics:
        assert other[name].value == pytest.approx(one[name].value, abs=1e-12), name
        assert other[name].lower == pytest.approx(one[name].lower, abs=1e-9), name


def test_progress_and_states_travel(classified: Predictions) -> None:
    seen: list[tuple[int, int]] = []
    found = evaluate(classified, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 1)]
    assert pickle.loads(pickle.dumps(found)).metrics == found.metrics


def test_two_slices_have_their_difference_with_newcombes_interval() -> None:
    from statsmodels.stats.proportion import confint_proportions_2indep

    from oodometer.intervals import difference_ends, wilson

    seen = np.arange(150) < 70
    correct = np.concatenate([np.arange(70) < 56, np.arange(80) < 48])
    found = evaluate({"correct": correct, "seen": np.where(seen, "yes", "no")}, by="seen")
    apart = found.slice_difference
    assert apart is not None
    assert (apart.value, apart.other, apart.metric) == ("yes", "no", "accuracy")
    assert apart.difference.value == pytest.approx(0.2)
    assert_snapshot(str(found))
    ends = [
        (right / rows, *wilson(right / rows, rows, 0.95)) for right, rows in ((56, 70), (48, 80))
    ]
    expected = confint_proportions_2indep(56, 70, 48, 80, method="newcomb")
    assert difference_ends(*ends)[1:] == pytest.approx(expected)
    assert apart.difference.lower <= expected[0]  # exact ends of the parts are a little wider
    assert apart.difference.upper >= expected[1]
    assert (
        evaluate({"correct": correct, "part": np.arange(150) % 3}, by="part").slice_difference
        is None
    )

"""Metrics of decisions through the record: against scikit-learn, coverage of intervals, merging, and odd cases."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from oodometer import Predictions, evaluate
from oodometer.errors import InputError, NotApplicable, UsageError
from oodometer.metrics import average_precision, fpr_at_tpr, ks_statistic, roc_auc, top_k_accuracy
from oodometer.metrics.one_vs_rest import OneVsRest
from oodometer.registry import create, named

from ..snapshots import raises_snapshot

sk = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed (extra: dev)")


def sample(rng: np.random.Generator, rows: int, classes: int, sharp: float = 1.2) -> Predictions:
    """A model that knows something; two classes of unequal size, or more."""
    share = np.linspace(2, 1, classes)
    label = rng.choice(classes, rows, p=share / share.sum())
    z = rng.standard_normal((rows, classes)) + sharp * np.eye(classes)[label]
    return Predictions.from_logits(z, label=label)


@pytest.fixture(scope="module", params=[2, 4], ids=lambda classes: f"{classes} classes")
def record(request: pytest.FixtureRequest) -> Predictions:
    return sample(np.random.default_rng(1), 900, request.param)


def theirs(record: Predictions) -> dict[str, float]:
    y, g, p = record.label, record.predicted, record.probabilities
    two = record.num_classes == 2
    average = "binary" if two else "macro"
    one_hot = np.eye(record.num_classes)[y]
    rest = [sk.recall_score(y != k, g != k) for k in range(record.num_classes)]
    return {
        "f1": sk.f1_score(y, g, average=average),
        "precision": sk.precision_score(y, g, average=average),
        "recall": sk.recall_score(y, g, average=average),
        "specificity": rest[1] if two else float(np.mean(rest)),
        "balanced_accuracy": sk.balanced_accuracy_score(y, g),
        "mcc": sk.matthews_corrcoef(y, g),
        "cohen_kappa": sk.cohen_kappa_score(y, g),
        "roc_auc": sk.roc_auc_score(y, p[:, 1] if two else p, multi_class="ovr"),
        "average_precision": sk.average_precision_score(y, p[:, 1])
        if two
        else sk.average_precision_score(one_hot, p),
        "top_k_accuracy:2": sk.top_k_accuracy_score(y, p[:, 1] if two else p, k=2)
        if not two
        else 1.0,
    }


def test_against_scikit_learn(record: Predictions) -> None:
    for name, wanted in theirs(record).items():
        if name == "top_k_accuracy:2" and record.num_classes == 2:
            assert "more than 2 classes" in str(create("metric", name).why_not(record))
            continue
        found = create("metric", name).compute(record)
        assert found.value == pytest.approx(wanted, abs=1e-12), name
        assert found.lower < found.value < found.upper


def test_the_other_class_is_the_positive_one(record: Predictions) -> None:
    if record.num_classes != 2:
        pytest.skip("of two classes")
    y, g, p = record.label == 0, record.predicted == 0, record.probabilities
    for name, wanted in {
        "f1": sk.f1_score(y, g),
        "precision": sk.precision_score(y, g),
        "specificity": sk.recall_score(~y, ~g),
        "average_precision": sk.average_precision_score(y, p[:, 0]),
        "roc_auc": sk.roc_auc_score(y, p[:, 0]),
    }.items():
        metric = create("metric", name)
        metric.positive = "0"
        found = metric.compute(record)
        assert found.value == pytest.approx(wanted), name
        assert found.extras["positive"] == 0
    metric.positive = "yes"
    with raises_snapshot(InputError):
        metric.compute(record)


def test_per_class_carries_the_area(record: Predictions) -> None:
    rows = create("metric", "per_class").compute(record)
    p = record.probabilities
    for k, row in enumerate(rows):
        assert row["roc_auc"].value == pytest.approx(sk.roc_auc_score(record.label == k, p[:, k]))
    classes = Predictions.from_classes(record.predicted, label=record.label)
    assert "roc_auc" not in create("metric", "per_class").compute(classes)[0]


def test_bins_stand_in_for_many_rows(record: Predictions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether kept, put in order or counted in bins, the answer is the same to about the width of a bin."""
    exact = {
        name: create("metric", name).compute(record)
        for name in ("roc_auc", "average_precision", "ks_statistic", "fpr_at_95_tpr")
    }
    assert "binning" not in exact["roc_auc"].extras
    monkeypatch.setattr("oodometer.metrics.one_vs_rest._SORTED", 10)
    for kept in (1 << 22, 500):
        monkeypatch.setattr("oodometer.metrics.one_vs_rest._KEPT", kept)
        states = [OneVsRest.of(batch) for batch in record.batches(250)]
        whole = states[0] + states[1] + (states[2] + states[3])
        assert (whole.binned is None) == (kept > 500)
        for name, wanted in exact.items():
            found = create("metric", name).finish(whole)
            assert found.value == pytest.approx(wanted.value, abs=2e-3), name
            wider = (found.upper - found.lower) / (wanted.upper - wanted.lower)
            # of more classes what a row's scores do together is not seen in counts, and is bounded
            assert 0.98 < wider < (1.02 if record.num_classes == 2 else 2), name
        area = create("metric", "roc_auc").finish(whole)
        assert abs(area.value - exact["roc_auc"].value) <= area.extras["binning"] < 1e-3


@pytest.mark.parametrize(
    ("name", "classes", "rows", "sharp"),
    [
        ("roc_auc", 2, 60, 2.5),
        ("roc_auc", 2, 400, 1.0),
        ("roc_auc", 4, 200, 1.0),
        ("average_precision", 2, 300, 1.0),
        ("average_precision", 4, 300, 1.0),
        ("ks_statistic", 2, 300, 1.0),
        ("ks_statistic", 4, 300, 1.0),
        ("fpr_at_95_tpr", 2, 500, 1.5),
        ("mcc", 2, 100, 1.0),
        ("mcc", 4, 100, 1.0),
        ("cohen_kappa", 2, 100, 1.0),
        ("cohen_kappa", 4, 100, 1.0),
        ("specificity", 4, 100, 1.0),
        ("expected_value", 4, 100, 1.0),
        ("f1", 2, 100, 1.0),
    ],
)
def test_coverage(name: str, classes: int, rows: int, sharp: float) -> None:
    """Nominal 90 % intervals hold the truth in at least 84 of 100 simulated sets."""
    payoff = {str(i): {str(j): 2.0 - (i - j) ** 2 for j in range(classes)} for i in range(classes)}
    metric = create("metric", name, **({"payoff": payoff} if name == "expected_value" else {}))
    truth = metric.compute(sample(np.random.default_rng(5), 50_000, classes, sharp)).value
    rng = np.random.default_rng(6)
    found = [metric.compute(sample(rng, rows, classes, sharp), level=0.9) for _ in range(100)]
    held = sum(one.lower <= truth <= one.upper for one in found)
    assert held >= 84


def test_undefined_follows_scikit_learn_and_says_so_in_the_interval() -> None:
    never = Predictions.from_classes([0, 0, 0], label=[0, 1, 1], classes=[0, 1])
    for name in ("precision", "f1", "mcc"):
        found = create("metric", name).compute(never)
        assert found.value == 0
        assert found.upper > 0.5, name
    assert create("metric", "precision").compute(never).upper == 1
    scored = Predictions.from_probabilities([0.2, 0.7], label=[1, 1])
    for name in ("roc_auc", "average_precision", "ks_statistic", "fpr_at_95_tpr"):
        with raises_snapshot(NotApplicable):
            create("metric", name).compute(scored)
    with raises_snapshot(NotApplicable):
        create("metric", "cohen_kappa").compute(
            Predictions.from_classes([1, 1], label=[1, 1], classes=[0, 1])
        )


def test_perfect_order_of_few_rows_is_not_certain() -> None:
    record = Predictions.from_probabilities(
        [0.1, 0.2, 0.3, 0.7, 0.8, 0.9], label=[0, 0, 0, 1, 1, 1]
    )
    found = create("metric", "roc_auc").compute(record)
    assert found.value == 1
    assert found.lower < 0.6


def test_pure_functions_take_any_score() -> None:
    rng = np.random.default_rng(4)
    y, score = rng.integers(0, 2, 200), np.round(rng.normal(size=200) * 3)
    assert roc_auc(y, score) == pytest.approx(sk.roc_auc_score(y, score))
    assert average_precision(y, score) == pytest.approx(sk.average_precision_score(y, score))
    assert 0 < fpr_at_tpr(y, score) <= 1
    false, found, _ = sk.roc_curve(y, score, drop_intermediate=False)
    assert ks_statistic(y, score) == pytest.approx((found - false).max())
    p = rng.dirichlet(np.ones(4), 200)
    labels = rng.integers(0, 4, 200)
    assert top_k_accuracy(p, labels, 2) == pytest.approx(sk.top_k_accuracy_score(labels, p, k=2))
    for wrong in ([[0.1, 0.2]], ["a", "b"], [0.1, float("nan")]):
        with pytest.raises(InputError):
            roc_auc([0, 1], wrong)


def test_names_that_people_type() -> None:
    wanted = {"TNR": "specificity", "PPV": "precision",
              "AUC": "roc_auc", "auroc": "roc_auc", "F1": "f1", "f1-score": "f1", "ap": "average_precision",
              "pr_auc": "average_precision", "kappa": "cohen_kappa", "bacc": "balanced_accuracy", "tpr": "recall",
              "sensitivity": "recall", "log_loss": "nll", "logloss": "nll", "acc": "accuracy"}  # fmt: skip
    assert {name: named("metric", name) for name in wanted} == wanted
    found = evaluate(
        {"probabilities": [[0.2, 0.8], [0.6, 0.4]], "label": [1, 0]},
        metrics=["AUC", "log_loss", "nll"],
    )
    assert list(found.metrics) == ["roc_auc", "nll"]
    assert found["auc"].value == 1
    assert found["logloss"] == found["nll"]
    with raises_snapshot(UsageError):
        evaluate({"prediction": [0], "label": [0]}, metrics=["rocauc2"])


def run(data: dict[str, Any], **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return evaluate(data, **options)


def test_positive_class_in_the_verb() -> None:
    data = {
        "prediction": ["fraud", "ok", "ok", "fraud"],
        "label": ["fraud", "ok", "fraud", "fraud"],
    }
    assert run(data)["precision"].extras["positive"] == "ok"  # the second by name
    found = run(data, positive="=fraud")
    assert (found["precision"].value, found["recall"].value) == (1, pytest.approx(2 / 3))
    with raises_snapshot(InputError):
        run(data, positive="=spam")
    lone = {"p": [0.9, 0.2, 0.8], "label": ["bad", "ok", "ok"]}
    assert run(lone, positive="p=bad")["f1"].extras["positive"] == "bad"
    assert (
        run({"prob_bad": [0.9, 0.2, 0.8], "label": ["bad", "ok", "ok"]})["f1"].extras["positive"]
        == "bad"
    )
    wide = {"prob_bad": [0.65, 0.2, 0.8], "prob_ok": [0.35, 0.8, 0.2], "label": ["bad", "ok", "ok"]}
    assert run(wide, positive="=bad", threshold=0.7)["recall"].value == 0


def test_payoff(tmp_path: Any) -> None:
    data = {"prediction": ["yes", "no", "yes"], "label": ["yes", "no", "no"]}
    table = {"no": {"no": 0, "yes": -1}, "yes": {"no": -20, "yes": 5}}
    wanted = pytest.approx((5 + 0 - 1) / 3)
    assert run(data, payoff=table)["expected_value"].value == wanted
    file = tmp_path / "worth.csv"
    file.write_text("truth,no,yes\nno,0,-1\nyes,-20,5\n")
    found = run(data, payoff=str(file), metrics=["accuracy"])
    assert list(found.metrics) == ["accuracy", "expected_value"]
    assert found["value"].value == wanted
    assert "expected_value" not in run(data).metrics
    for odd, why in (
        (
            {"no": {"no": 0, "yes": 1}},
            "a row for each of the 2 classes no, yes, got none for 'yes'",
        ),
        ({**table, "maybe": {}}, "names among the 2 classes no, yes, got 'maybe'"),
        ({"no": {"no": 0}, "yes": {"no": 1, "yes": 2}}, "a column for each of"),
        (
            {"no": {"no": "x", "yes": 1}, "yes": {}},
            "a number for truth 'no' and prediction 'no', got 'x'",
        ),
        ("[[1, 2], [3, 4]]", "rows by true class"),
        ("{no", "expected JSON"),
        (str(tmp_path / "none.json"), "a file with a pay-off matrix"),
    ):
        with pytest.raises(InputError, match=why):
            run(data, payoff=odd)
    file.write_text("truth,no,yes\nno,0\n")
    with raises_snapshot(InputError):
        run(data, payoff=str(file))


@pytest.mark.parametrize(
    ("name", "named_instead"),
    [
        ("KS", "ks_statistic"),
        ("gini", "roc_auc"),
        ("FPR", "specificity"),
        ("fnr", "recall"),
        ("npv", "precision"),
    ],
)
def test_numbers_that_are_none_of_ours_name_the_metric_that_tells_them(
    name: str, named_instead: str
) -> None:
    with raises_snapshot(UsageError):
        create("metric", name)

"""Classes that the labelled reference lacks, what is 0/0, and rare classes of a large reference."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as sk

from oodometer import audit, diagnose, estimate, evaluate
from oodometer.errors import InputError

CLASSES = ["zebra", "ant", "bee", "cow"]


def four(rows, seed, without=None):
    """Calibrated probabilities of four classes; rows of one of them may be left out."""
    rng = np.random.default_rng(seed)
    p = np.exp(rng.normal(0, 1, (rows, 4)))
    p /= p.sum(axis=1, keepdims=True)
    label = np.array(CLASSES)[(p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)]
    keep = label != without
    return {**{f"prob_{c}": p[keep, k] for k, c in enumerate(CLASSES)}, "label": label[keep]}


def rare(rows, seed, centre=-9.0):
    """One row in a thousand is positive; the probabilities are right."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-(centre + 2.2 * rng.standard_normal(rows))))
    return p, (rng.random(rows) < p).astype(int)


@pytest.mark.parametrize("name", ["recall:cow", "precision:cow", "f1:cow", "roc_auc:cow", "macro_f1", "recall", "mcc"])
def test_no_reference_row_is_no_proof_of_zero(name):
    """`mcc` goes over all pairs of classes, the others over the class or its mean."""
    found = estimate(four(900, 0, "cow"), four(900, 1), metrics=[name, "recall:ant"], backtest=None)
    assert list(found.metrics) == ["recall:ant"]
    (why,) = [one.why for one in found.skipped if one.method == name]
    assert "no labelled reference row is of class 'cow'" in why
    assert any(name in warning and "'cow'" in warning for warning in found.warnings)
    assert {one["method"] for one in found.to_dict()["skipped"]} >= {name}


def test_alone_it_is_skipped_too_and_an_alarm_by_it_is_refused():
    reference, target = four(400, 0, "cow"), four(400, 1)
    assert not estimate(reference, target, metrics=["recall:cow"], backtest=None).metrics
    with pytest.raises(InputError, match="an alarm asks for"):
        estimate(reference, target, fail_below={"recall:cow": 0.3}, backtest=None)


@pytest.mark.parametrize("only", [0, 1])
def test_a_reference_of_one_class_of_two(only):
    p, label = rare(4000, 0, centre=0.0)
    kept = label == only
    reference = {"prob_1": p[kept], "label": label[kept]}
    named = ["f1", "precision", "mcc", "recall"]
    found = estimate(reference, {"prob_1": p}, metrics=named, backtest=None, classes=[0, 1])
    assert list(found.metrics) == (["recall"] if only else [])


def test_a_class_that_occurs_nowhere_stops_no_mean():
    reference, target = four(600, 0, "cow"), four(600, 1, "cow")
    for one in (reference, target):
        one["prob_cow"][:] = 0.0
        total = sum(one[f"prob_{c}"] for c in CLASSES)
        for c in CLASSES:
            one[f"prob_{c}"] = one[f"prob_{c}"] / total
    assert "macro_f1" in estimate(reference, target, metrics=["macro_f1"], backtest=None).metrics


def test_two_missed_rows_prove_little():
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 0.4, 1000)
    label = np.zeros(1000, dtype=int)
    label[:2] = 1
    found = estimate({"prob_1": p, "label": label}, {"prob_1": np.append(p, 0.9)}, metrics=["recall"], backtest=None)
    one = found.metrics["recall"]
    assert one.reference.upper > 0.8
    assert one["source"].upper > 0.8
    assert one.upper > 0.5


@pytest.fixture(scope="module")
def none_positive():
    """A target of which no row is predicted positive."""
    (p, label), (q, truth) = rare(20_000, 1, -6.0), rare(8_000, 2, -9.0)
    q = np.minimum(q, 0.49)
    names = ["precision", "recall", "f1", "mcc", "cohen_kappa", "specificity", "macro_f1"]
    halves = np.where(np.arange(len(q)) % 2, "a", "b")
    target = {"prob_1": q, "label": truth, "half": halves}
    found = estimate({"prob_1": p, "label": label}, target, metrics=names, backtest=None, by="half")
    return found, evaluate({"prob_1": q, "label": truth}, metrics=names), truth


def test_what_is_0_by_definition_is_so_in_estimate_and_evaluate(none_positive):
    found, measured, truth = none_positive
    guess = np.zeros(len(truth), dtype=int)
    for part in (found, *found.slices):
        for name in ("precision", "recall", "f1", "mcc", "cohen_kappa"):
            assert part.metrics[name].value == 0, name
            assert part.metrics[name].truth.value == 0, name
    for name, one in found.metrics.items():
        assert one.truth.value == pytest.approx(measured[name].value), name
        assert (one.truth.lower, one.truth.upper) == pytest.approx((measured[name].lower, measured[name].upper)), name
    assert measured["precision"].value == sk.precision_score(truth, guess, zero_division=0)
    assert measured["mcc"].value == sk.matthews_corrcoef(truth, guess)
    assert found.metrics["specificity"].value == 1


def test_what_is_0_over_0_is_not_trusted_and_says_so(none_positive):
    found = none_positive[0]
    for name, bounds in (("precision", (0, 1)), ("mcc", (-1, 1))):
        one = found.metrics[name]
        assert (one.lower, one.upper) == bounds
        assert one.headline.trust == "none"
        assert "counts as 0" in one.headline.why
    assert found.metrics["recall"].headline.trust == "high"
    assert 0 < found.metrics["recall"].upper < found.metrics["recall"].truth.upper


def test_the_table_of_classes_has_the_same_rule():
    record = {"prediction": [0, 0, 0, 0], "label": [0, 1, 0, 1]}
    table = evaluate(record, metrics=["per_class"]).tables["per_class"]
    named = dict(zip(("precision", "recall", "f1"), (table[1][k] for k in ("precision", "recall", "f1")), strict=True))
    assert {k: v.value for k, v in named.items()} == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert (named["precision"].lower, named["precision"].upper) == (0.0, 1.0)


def test_a_rare_class_of_a_large_reference_keeps_its_weight():
    (p, label), (q, _) = rare(120_000, 11), rare(5_000, 12)
    guess = p >= 0.05
    names = ["recall", "precision", "f1", "mcc"]
    found = estimate(
        {"prob_1": p, "label": label}, {"prob_1": q}, threshold=0.05, metrics=names, backtest=None,
        methods=["source", "label-shift"],
    )  # fmt: skip
    oracle = [
        sk.recall_score(label, guess), sk.precision_score(label, guess), sk.f1_score(label, guess),
        sk.matthews_corrcoef(label, guess),
    ]  # fmt: skip
    for name, value in zip(names, oracle, strict=True):
        assert found.metrics[name]["source"].value == pytest.approx(value, abs=1e-9), name
        assert found.metrics[name].reference.value == pytest.approx(value, abs=1e-9), name


def test_the_intervals_of_weighted_rows_are_as_wide_as_those_of_all():
    """Of 60,000 rows a third is kept: the spread is that of the rare rows, all of which are there."""
    p, label = rare(60_000, 3, -7.0)
    target = {"prob_1": rare(60_000, 4, -7.0)[0]}
    one = estimate({"prob_1": p, "label": label}, target, metrics=["recall"], backtest=None, methods=["source"])
    i, n = one.metrics["recall"]["source"], int(label.sum())
    chance = np.sqrt(i.value * (1 - i.value) * 2 / n)  # both samples
    assert 0.75 < (i.upper - i.lower) / (2 * 1.96 * chance) < 1.3


def one_class(rows=60):
    """A reference of one class, all right, and a target that is taken for the other one."""
    sure = np.full(rows, 1e-300)
    reference = {"prob_b": sure, "prob_a": np.ones(rows), "label": np.array(["a"] * rows)}
    return reference, {"prob_b": np.ones(2), "prob_a": np.array([1e-15, 1e-9])}


def test_a_reference_of_one_class_gets_an_answer_and_no_test_of_class_shares():
    reference, target = one_class()
    found = estimate(reference, target, backtest=None)
    assert any("no class prior explains the target" in said for said in found["label-shift"].warnings)
    label = next(one for one in found.diagnosis.findings if one.name == "label shift")
    assert label.p_value is None
    assert "not tested: all labelled reference rows are of one class" in label.says
    assert found.diagnosis.kind == "unknown"
    assert diagnose(reference, target).to_dict()["kind"] == "unknown"
    labels = {"label": np.array(["b", "b"])}
    assert audit(reference, target, labels=labels).to_dict()["label_only"]["value"] == 1


def test_cells_that_the_reference_lacks_are_improbable_and_not_impossible():
    """Two classes, both right all along, and a third one that only the target is taken for."""
    p = np.eye(3)[np.arange(200) % 2]
    reference = {"probabilities": p, "label": np.arange(200) % 2}
    target = {"probabilities": np.tile([0.0, 0.0, 1.0], (50, 1))}
    found = estimate(reference, target, backtest=None)
    assert np.isfinite(found["label-shift"].value)

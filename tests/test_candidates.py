"""Candidates: the record, its scores and metrics against plain loops, and what does not apply to positions."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions, registry
from oodometer.arrays import Ragged
from oodometer.errors import InputError, NotApplicable
from oodometer.fields import NO_CLASSES
from oodometer.scores import natural_confidence
from oodometer.testing import example_candidates

from .snapshots import raises_snapshot

SCORES = [[2.0, 0.0], [0.5, 1.5, 1.5], [-1.0, -2.0, -3.0, 4.0], [0.0, 0.0]]
LABEL = [0, 2, 0, None]
ROWS = st.lists(st.lists(st.floats(-50, 50), min_size=2, max_size=6), min_size=1, max_size=8)


def softmaxes(rows: list[list[float]]) -> list[list[float]]:
    """The softmax of each row, by a loop."""
    return [
        [math.exp(s - max(row)) / sum(math.exp(t - max(row)) for t in row) for s in row]
        for row in rows
    ]


def made(**fields: Any) -> Predictions:
    return Predictions.from_candidates(SCORES, **{"label": LABEL, **fields})


def test_what_follows_from_the_scores() -> None:
    record = made()
    assert record.label.tolist() == [0, 2, 0, -1]
    assert record.predicted.tolist() == [0, 1, 3, 0], "the first of two that tie"
    assert record.confidence == pytest.approx([max(row) for row in softmaxes(SCORES)])
    assert record.verdicts.tolist() == [1, 0, 0, -1]
    assert record.accuracy == pytest.approx(1 / 3)
    assert (record.classes, record.has_classes, record.num_classes) == (None, False, 0)
    assert record.fields == ("label", "prediction", "confidence", "candidate_scores")
    assert not made(label=None).without_labels().has_classes


def test_what_is_given_stays() -> None:
    record = made(prediction=[1, 2, 0, 1])
    assert record.predicted.tolist() == [1, 2, 0, 1]
    own = [row[k] for row, k in zip(softmaxes(SCORES), [1, 2, 0, 1], strict=True)]
    assert record.confidence == pytest.approx(own), "that in what was predicted"
    assert record.verdicts.tolist() == [0, 1, 1, -1]
    given_too = made(confidence=[0.25] * 4)
    assert given_too.confidence == pytest.approx(made().confidence), (
        "that of a whole output does not come before it"
    )
    assert natural_confidence(given_too)(given_too) == pytest.approx(made().confidence)
    assert made(correct=[0, 0, 1, 1]).verdicts.tolist() == [0, 0, 1, 1]


@given(rows=ROWS)
def test_scores_of_confidence_are_those_of_a_loop(rows: list[list[float]]) -> None:
    record = Predictions.from_candidates(rows)
    shares = softmaxes(rows)
    ordered = [sorted(share, reverse=True) for share in shares]
    assert record.predicted.tolist() == [row.index(max(row)) for row in rows]
    expected = {
        "max_probability": [p[0] for p in ordered],
        "confidence": [p[0] for p in ordered],
        "margin": [p[0] - p[1] for p in ordered],
        "negative_entropy": [sum(p * math.log(p) for p in share if p > 0) for share in shares],
    }
    for name, values in expected.items():
        found = registry.create("score", name)(record)
        assert found == pytest.approx(values, abs=1e-9), name


@given(rows=ROWS, data=st.data())
def test_losses_are_those_of_a_loop(rows: list[list[float]], data: st.DataObject) -> None:
    label = [data.draw(st.integers(0, len(row) - 1)) for row in rows]
    record = Predictions.from_candidates(rows, label=label)
    shares = softmaxes(rows)
    brier = [
        sum((p - (k == y)) ** 2 for k, p in enumerate(share))
        for share, y in zip(shares, label, strict=True)
    ]
    loss = [
        math.log(sum(math.exp(s - row[y]) for s in row)) for row, y in zip(rows, label, strict=True)
    ]
    found = registry.create("metric", "brier").compute(record)
    assert found.value == pytest.approx(np.mean(brier), abs=1e-9)
    assert found.extras["form"] == "candidates"
    parts = found.extras["decomposition"]
    signs = dict(zip(parts, (1, -1, 1, 1, -1), strict=True))
    assert sum(sign * parts[name] for name, sign in signs.items()) == pytest.approx(
        found.value, abs=1e-9
    )
    assert registry.create("metric", "nll").compute(record).value == pytest.approx(
        np.mean(loss), abs=1e-9
    )


def test_a_score_far_below_the_best_has_a_finite_loss() -> None:
    record = Predictions.from_candidates([[0.0, 2000.0], [1e308, -1e308]], label=[0, 0])
    assert record.confidence.tolist() == [1.0, 1.0]
    assert registry.create("metric", "nll").compute(record).value == pytest.approx(1000.0)


def test_a_hopeless_candidate_changes_no_score() -> None:
    few = Predictions.from_candidates([[1.0, 0.5]])
    more = Predictions.from_candidates([[1.0, 0.5, -2000.0]])
    for name in ("max_probability", "margin", "negative_entropy"):
        score = registry.create("score", name)
        assert score(more) == pytest.approx(score(few)), name


def same(a: Predictions, b: Predictions) -> bool:
    """Whether two records hold the same scores and positions."""
    one, other = a.candidate_scores, b.candidate_scores
    assert one is not None
    assert other is not None
    lists = [(r.label.tolist(), r.predicted.tolist(), r.confidence.tolist()) for r in (a, b)]  # type: ignore[union-attr]
    return lists[0] == lists[1] and all(
        np.array_equal(x, y) for x, y in ((one.values, other.values), (one.offsets, other.offsets))
    )


def test_cutting_and_joining() -> None:
    record = example_candidates(50, seed=3)
    assert same(Predictions.concat(list(record.batches(7))), record)
    order = np.random.default_rng(0).permutation(50)
    back = record.take(order).take(np.argsort(order))
    assert same(back, record)
    assert back.top.first.tolist() == pytest.approx(record.top.first.tolist())
    assert same(pickle.loads(pickle.dumps(record)), copy.deepcopy(record))
    assert same(record.take(record.verdicts >= 0), record.known())
    part = record.slice(10, 20)
    assert part.top.second.tolist() == record.top.second[10:20].tolist()
    assert len(record.slice(5, 5)) == 0


def test_a_part_of_a_larger_ragged_array_is_taken() -> None:
    whole = Ragged(np.arange(9, dtype=np.float32), np.array([2, 4, 7]))
    record = Predictions.from_candidates(whole, label=[1, 2])
    assert record.candidate_scores.values.tolist() == [2, 3, 4, 5, 6]
    assert record.candidate_scores.values.dtype == np.float32
    assert record.accuracy == 1.0


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "one candidate": (
        {"candidate_scores": [[1.0, 2.0], [1.0]]},
        "row 2: column candidate_scores: expected at least 2 "
        "candidates, got 1; a choice needs two: add the others' scores, or drop the row",
    ),
    "no candidate": (
        {"candidate_scores": [[], [1.0, 2.0]]},
        "row 1: column candidate_scores: expected at least 2 "
        "candidates, got 0; a choice needs two: add the others' scores, or drop the row",
    ),
    "not finite": (
        {"candidate_scores": [[1.0, 2.0], [0.0, 1.0, np.nan]]},
        "row 2: column candidate_scores[2]: "
        "expected a finite number, got nan; leave the candidate out or find out why the model gave it",
    ),
    "texts": (
        {"candidate_scores": [["a", "b"]]},
        "column candidate_scores: expected a list of numbers a sample, got "
        "other values; give one score for each candidate, larger = more likely right",
    ),
    "label outside": (
        {"candidate_scores": SCORES, "label": [0, 3, 0, 0]},
        "row 2: column label: expected a position "
        "below 3, the number of candidates in the row, got 3; positions count from 0: check that the candidates are "
        "those of this row",
    ),
    "labels from 1": (
        {"candidate_scores": SCORES, "label": [1, 3, 4, 2]},
        "row 2: column label: expected a position "
        "below 3, the number of candidates in the row, got 3; these seem to count from 1: subtract 1",
    ),
    "prediction outside": (
        {"candidate_scores": SCORES, "prediction": [0, 0, 9, 0]},
        "row 3: column prediction: "
        "expected a position below 4, the number of candidates in the row, got 9; positions count from 0: check that "
        "the candidates are those of this row",
    ),
    "no prediction": (
        {"candidate_scores": SCORES, "prediction": [0, None, 1, 1]},
        "row 2: column prediction: expected a predicted position, got null; leave the column out, then what has the "
        "highest probability is predicted; a dropped row is no error",
    ),
    "a negative label": (
        {"candidate_scores": SCORES, "label": [0, -1, 0, 0]},
        "row 2: column label: expected the "
        "position of a candidate (0, 1, ...), got -1; use null where the right one is unknown",
    ),
    "a label by name": (
        {"candidate_scores": SCORES, "label": ["A", "B", "A", "B"]},
        "row 1: column label: expected "
        "the position of a candidate (0, 1, ...), got 'A'; beside candidate_scores say which of them is right by its "
        "place in the list, counted from 0",
    ),
    "a verdict as label": (
        {"candidate_scores": SCORES, "label": [True, False, True, True]},
        "row 1: column label: "
        "expected the position of a candidate (0, 1, ...), got True; beside candidate_scores say which of them is "
        "right by its place in the list, counted from 0",
    ),
    "members": (
        {"candidate_scores": SCORES, "members": [[0, 1, 2, 5]]},
        "row 4: column members: expected a position "
        "below 2, the number of candidates in the row, got 5; positions count from 0: check that the candidates are "
        "those of this row",
    ),
    "lengths": (
        {"candidate_scores": SCORES, "label": [0, 1]},
        "column label: expected 4 entries, one a sample, got 2; align the arrays by sample",
    ),
    "probabilities": (
        {"candidate_scores": SCORES, "probabilities": [[0.5, 0.5]] * 4},
        "column probabilities: expected "
        "no field of classes beside `candidate_scores`, got `probabilities`; positions among candidates are not "
        "classes: leave one of the two out",
    ),
    "names": (
        {"candidate_scores": SCORES, "classes": ["A", "B"]},
        "column candidate_scores: expected no class names "
        "beside `candidate_scores`, got A, B; labels are positions among candidates: leave classes=[...] out",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    fields, expected = REFUSED[case]
    with pytest.raises(InputError) as caught:
        Predictions.from_arrays(**fields)
    assert str(caught.value) == expected


def test_positions_without_scores() -> None:
    record = Predictions.from_arrays(label=[3, 1], prediction=[3, 0], positions=True)
    assert (record.label is not None and record.label.tolist(), record.has_classes) == (
        [3, 1],
        False,
    )
    assert record.accuracy == 0.5
    for more in ({"classes": ["A", "B"]}, {"probabilities": [[0.5, 0.5]] * 2}):
        with raises_snapshot(InputError):
            Predictions.from_arrays(label=[1, 0], positions=True, **more)


@pytest.mark.parametrize("field", ["logits", "member_probabilities"])
def test_no_field_of_classes_beside_candidates(field: str) -> None:
    with raises_snapshot(InputError):
        made(**{field: np.zeros((4, 2)) if field == "logits" else np.full((2, 4, 2), 0.5)})


TAKES_CLASSES = {
    "estimator": (
        "label-shift",
        "bbse",
        "sld",
        "leap",
        "cot",
        "cott",
        "dis2",
        "threshold-classwise",
        "threshold-distance",
    ),
    "metric": ("confusion", "per_class", "macro_f1"),
    "simulation": ("class_prior",),
    "score": ("energy",),
    "ranker": ("dispersion", "nuclear-norm"),
}


@pytest.mark.parametrize(
    ("kind", "name"), [(k, n) for k, all_ in TAKES_CLASSES.items() for n in all_]
)
def test_methods_of_classes_say_so(kind: Any, name: str) -> None:
    assert registry.create(kind, name).why_not(example_candidates(50)) == NO_CLASSES


def test_a_calibrator_refuses() -> None:
    with raises_snapshot(NotApplicable):
        registry.create("calibrator", "temperature").fit(example_candidates(50))

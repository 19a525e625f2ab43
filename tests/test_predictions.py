"""The record: constructors, what is derived, cutting and joining every field, users' arrays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions
from oodometer.arrays import Ragged, softmax
from oodometer.errors import InputError, NotApplicable
from oodometer.predictions import FIELDS
from oodometer.testing import example_candidates, example_record

from .snapshots import raises_snapshot

CLASSES = ("ant", "bee", "cat")


def full_record(rows: int = 9, seed: int = 0) -> Predictions:
    """Every field there is, and two further columns; labels and verdicts partly unknown."""
    rng = np.random.default_rng([seed, rows])
    logits = rng.standard_normal((rows, 3))
    names = np.array(CLASSES, dtype=object)
    label = names[rng.integers(3, size=rows)]
    label[rng.random(rows) < 0.2] = None
    plain = [
        name
        for name, field in FIELDS.items()
        if (field.kind, field.axes) == ("number", ("sample",))
    ]
    return Predictions.from_arrays(
        classes=CLASSES,
        label=label,
        prediction=names[logits.argmax(axis=1)],
        probabilities=softmax(logits),
        logits=logits,
        members=names[rng.integers(3, size=(2, rows))],
        member_probabilities=rng.dirichlet(np.ones(3), (2, rows)),
        token_logprobs=[(-rng.random(rng.integers(0, 4))).tolist() for _ in range(rows)],
        views=names[rng.integers(3, size=(4, rows))],
        votes=rng.random((5, rows)) < 0.5,
        features=rng.standard_normal((rows, 2)).astype(np.float32),
        correct=np.where(rng.random(rows) < 0.2, np.nan, rng.random(rows) < 0.5),
        input=np.array([f"in {i}" for i in range(rows)], dtype=object),
        output=np.array([f"out {i}" for i in range(rows)], dtype=object),
        time=np.datetime64("2026-01-01") + np.arange(rows),
        group=rng.integers(0, 2, rows),
        **{name: rng.random(rows) for name in plain},
        columns={
            "row": np.arange(rows),
            "word": np.array([f"w{i}" for i in range(rows)], dtype=object),
        },
        names={"model": ["a", "b"]},
        source="full.csv",
        first_row=100,
    )


def rows_of(record: Predictions) -> list[tuple[Any, ...]]:
    """Every field of every row as plain values, sample by sample, by a loop."""
    out = []
    for i in range(len(record)):
        row: list[Any] = []
        for name, field in FIELDS.items():
            value = getattr(record, name)
            if isinstance(value, Ragged):
                row.append((name, value.values[value.offsets[i] : value.offsets[i + 1]].tolist()))
            elif value is not None:
                row.append(
                    (name, value[(slice(None),) * field.sample + (slice(i, i + 1),)].tolist())
                )
        row += [(name, values[i]) for name, values in sorted(record.columns.items())]
        out.append(tuple(row))
    return out


def test_the_example_has_every_field() -> None:
    """All but candidates, beside which there are no classes; these have an example of their own."""
    assert full_record().fields == tuple(
        name for name, field in FIELDS.items() if not field.positions
    )
    assert {*full_record().fields, *example_candidates().fields} == set(FIELDS)


# ------------------------------------------------------------------------------------------ constructors


def test_from_probabilities() -> None:
    record = Predictions.from_probabilities([[0.9, 0.1], [0.4, 0.6]], label=[0, 0])
    assert record.classes == (0, 1)
    assert record.num_classes == 2
    assert record.predicted.tolist() == [0, 1]
    assert record.fields == ("label", "probabilities")
    assert record.accuracy == 0.5


def test_from_logits_keeps_logits_and_gives_their_softmax() -> None:
    logits = np.array([[1.0, 3.0, -2.0], [-1000.0, 1000.0, 0.0]])
    record = Predictions.from_logits(logits)
    assert record.logits is logits
    assert record.probabilities is not None
    np.testing.assert_allclose(record.probabilities, softmax(logits))
    assert record.probabilities[1].tolist() == [0.0, 1.0, 0.0]


def test_log_probabilities_are_logits_too() -> None:
    p = np.array([[0.7, 0.2, 0.1]])
    made = Predictions.from_logits(np.log(p)).probabilities
    assert made is not None
    np.testing.assert_allclose(made, p)


def test_from_classes_and_from_confidence() -> None:
    record = Predictions.from_classes(["dog", "cat"], label=["dog", "ant"])
    assert record.classes == ("ant", "cat", "dog")
    assert record.verdicts.tolist() == [1, 0]
    bare = Predictions.from_confidence([0.2, 1.0], correct=[False, None])
    assert bare.classes is None
    assert bare.num_classes == 0
    assert bare.verdicts.tolist() == [0, -1]


def test_classes_of_all_columns_are_put_together() -> None:
    record = Predictions.from_arrays(
        prediction=["b", "b"], members=[["c", "b"]], views=[["b", "a"]], label=["d", None]
    )
    assert record.classes == ("a", "b", "c", "d")
    assert record.members.tolist() == [[2, 1]]


def test_correct_goes_before_the_label() -> None:
    """Where correctness is not label == prediction (a translation), the column `correct` says it."""
    record = Predictions.from_arrays(prediction=[0, 1], label=[0, 0], correct=[False, True])
    assert record.verdicts.tolist() == [0, 1]


def test_without_a_prediction_the_first_member_is_judged() -> None:
    record = Predictions.from_arrays(members=[[0, 1], [1, 1]], label=[0, 0])
    assert record.predicted.tolist() == [0, 1]
    assert record.verdicts.tolist() == [1, 0]


def test_a_label_without_any_prediction_cannot_be_judged() -> None:
    record = Predictions.from_arrays(confidence=[0.5], label=[1])
    with raises_snapshot(NotApplicable):
        _ = record.verdicts
    unlabelled = Predictions.from_arrays(confidence=[0.5])
    assert unlabelled.verdicts.tolist() == [-1]
    assert np.isnan(unlabelled.accuracy)
    assert not unlabelled.is_labelled


def test_empty_records() -> None:
    for record in (
        Predictions.from_probabilities(np.empty((0, 3)), label=[]),
        Predictions.from_classes([], label=[]),
        Predictions.from_confidence([], correct=[]),
    ):
        assert len(record) == 0
        assert not record.is_labelled
        assert np.isnan(record.accuracy)
        assert list(record.batches()) == []
        assert len(record.take([])) == len(record.slice(0, 5)) == 0


def test_what_is_derived_is_computed_once() -> None:
    record = Predictions.from_probabilities([[0.9, 0.1]] * 2)
    assert record.top is record.top
    calls = []
    for _ in range(2):
        record.derived("x", lambda: calls.append(1))
    assert calls == [1]
    assert record.slice(0, 1).top is not record.top, "a cut has its own"
    assert record.slice(0, 2) is record


def test_a_user_cannot_change_a_record() -> None:
    with pytest.raises(AttributeError):
        full_record().label = None  # type: ignore[misc]


# ------------------------------------------------------------------------------------------ users' arrays


class Tensor:
    """Looks like a torch tensor on a device that requires a gradient."""

    def __init__(self, values: Any, ready: bool = False) -> None:
        self.values, self.ready = values, ready

    def detach(self) -> Tensor:
        return Tensor(self.values)

    def cpu(self) -> Tensor:
        return Tensor(self.values, ready=True)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if not self.ready:
            raise TypeError("can't convert a cuda tensor that requires grad")
        return np.asarray(self.values, dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_tensors_on_a_device(dtype: Any) -> None:
    logits = np.array([[1.0, 2.0], [0.5, -1.0]], dtype=dtype)
    record = Predictions.from_logits(Tensor(logits), label=Tensor(np.array([1, 1])))
    assert record.accuracy == 0.5
    assert record.logits.dtype == (np.float64 if dtype is np.float64 else np.float32)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_frames(library: str) -> None:
    frames: Any = pytest.importorskip(library)
    frame = frames.DataFrame(
        {
            "ant": [0.9, 0.2],
            "bee": [0.1, 0.8],
            "label": ["ant", "ant"],
            "correct": [True, False],
            "confidence": [0.9, 0.8],
            "when": ["2026-01-01", "2026-01-02"],
            "group": ["x", "y"],
        }
    )
    record = Predictions.from_arrays(
        probabilities=frame[["ant", "bee"]],
        label=frame["label"],
        correct=frame["correct"],
        confidence=frame["confidence"],
        time=frame["when"],
        group=frame["group"],
        classes=["ant", "bee"],
        columns={"again": frame["group"]},
    )
    assert record.predicted.tolist() == [0, 1]
    assert record.label.tolist() == [0, 0]
    assert record.verdicts.tolist() == [1, 0]
    assert str(record.time[1]) == "2026-01-02T00:00:00.000000"  # type: ignore[index]
    assert record.columns["again"].tolist() == ["x", "y"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_token_lists_in_a_frame(library: str) -> None:
    frames: Any = pytest.importorskip(library)
    frame = frames.DataFrame({"t": [[-0.5, -1.0], [-2.0], [-3.0]]})
    record = Predictions.from_arrays(token_logprobs=frame["t"])
    assert record.token_logprobs.sums().tolist() == [-1.5, -2.0, -3.0]


def test_lists_of_objects_become_numbers() -> None:
    record = Predictions.from_arrays(
        probabilities=np.array([[0.25, 0.75]], dtype=object), confidence=[1]
    )
    assert record.probabilities.dtype == np.float64


def test_times_of_any_resolution_are_microseconds() -> None:
    for unit in ("D", "s", "ns"):
        record = Predictions.from_arrays(time=np.array(["2026-03-01"], dtype=f"datetime64[{unit}]"))
        assert record.time.dtype == "datetime64[us]"
        assert str(record.time[0]) == "2026-03-01T00:00:00.000000"


# ------------------------------------------------------------------------------------------ cutting and joining


@given(start=st.integers(-12, 12), stop=st.integers(-12, 12))
def test_slices_are_those_of_a_list(start: int, stop: int) -> None:
    record = full_record()
    cut = record.slice(start, stop)
    assert rows_of(cut) == rows_of(record)[start:stop]
    assert len(cut) == len(range(9)[start:stop])
    assert cut.first_row == 100 + slice(start, stop).indices(9)[0]
    assert (cut.source, cut.names, cut.classes) == (record.source, record.names, record.classes)


@given(index=st.lists(st.integers(-9, 8), max_size=15))
def test_take_is_that_of_a_list(index: list[int]) -> None:
    record = full_record()
    whole = rows_of(record)
    positive = [i % 9 for i in index]
    assert rows_of(record.take(positive)) == [whole[i] for i in positive]
    assert rows_of(record.take(np.array(index, dtype=int))) == [whole[i] for i in index]
    mask = np.isin(np.arange(9), positive)
    assert rows_of(record.take(mask)) == [
        row for row, kept in zip(whole, mask, strict=True) if kept
    ]


@given(rows=st.integers(1, 12))
def test_batches_and_concat_are_inverse(rows: int) -> None:
    record = full_record()
    pieces = list(record.batches(rows))
    assert [len(p) for p in pieces] == [min(rows, 9 - a) for a in range(0, 9, rows)]
    assert [p.first_row for p in pieces] == [100 + a for a in range(0, 9, rows)]
    joined = Predictions.concat(pieces)
    assert rows_of(joined) == rows_of(record)
    assert len(joined) == 9
    assert joined.first_row == 100


@given(parts=st.lists(st.integers(0, 4), min_size=1, max_size=4), seed=st.integers(0, 9))
def test_concat_of_different_records(parts: list[int], seed: int) -> None:
    records = [full_record(1 + rows, seed + i) for i, rows in enumerate(parts)]
    assert rows_of(Predictions.concat(records)) == [row for r in records for row in rows_of(r)]


def test_a_slice_copies_nothing_and_a_take_does() -> None:
    record = full_record()
    assert record.probabilities is not None
    assert np.shares_memory(record.slice(2, 5).probabilities, record.probabilities)  # type: ignore[arg-type]
    assert not np.shares_memory(record.take([2, 3]).probabilities, record.probabilities)  # type: ignore[arg-type]


def test_concat_drops_what_a_part_lacks_and_refuses_other_classes() -> None:
    a = Predictions.from_arrays(
        prediction=[0, 1], label=[0, 1], confidence=[0.5, 0.6], columns={"x": [1, 2], "y": [1, 2]}
    )
    b = Predictions.from_arrays(prediction=[1, 0], label=[0, 0], columns={"y": [3, 4]})
    joined = Predictions.concat([a, b])
    assert joined.fields == ("label", "prediction")
    assert joined.columns["y"].tolist() == [1, 2, 3, 4]
    assert "x" not in joined.columns
    assert joined.accuracy == 0.75
    assert Predictions.concat([a]) is a
    with raises_snapshot(InputError):
        Predictions.concat([])
    c = Predictions.from_arrays(prediction=[0, 2], source="c.csv")
    with raises_snapshot(InputError):
        Predictions.concat([a, c])


def test_known_rows() -> None:
    record = Predictions.from_arrays(prediction=[0, 1, 0], label=[0, None, 1])
    assert record.known().label.tolist() == [0, 1]  # type: ignore[union-attr]
    whole = Predictions.from_arrays(prediction=[0, 1], label=[0, 1])
    assert whole.known() is whole
    assert not record.is_labelled
    assert whole.is_labelled


def test_taking_the_labels_away() -> None:
    record = example_record(50)
    bare = record.without_labels()
    assert set(record.fields) - set(bare.fields) == {"label", "score"}
    assert (bare.verdicts == -1).all()
    assert record.accuracy > 0, "the first record is as it was"
    assert (bare.predicted == record.predicted).all()


def test_other_probabilities_keep_the_prediction() -> None:
    record = Predictions.from_probabilities([[0.9, 0.1], [0.4, 0.6]], label=[0, 0])
    turned = record.with_probabilities(np.array([[0.2, 0.8], [0.4, 0.6]]), "test")
    assert turned.predicted.tolist() == [0, 1]
    assert turned.top.best.tolist() == [1, 1]
    assert turned.accuracy == record.accuracy
    assert turned.calibrated == "test"
    assert record.calibrated is None


def test_the_verdict_of_every_row() -> None:
    record = full_record(200)
    assert record.correct is not None
    assert record.verdicts is record.correct
    bare = Predictions.from_arrays(
        prediction=record.predicted, label=np.where(record.label < 0, np.nan, record.label)
    )  # type: ignore[operator]
    want = [-1 if y < 0 else int(y == h) for y, h in zip(bare.label, bare.predicted, strict=True)]  # type: ignore[arg-type]
    assert bare.verdicts.tolist() == want
    known = [w for w in want if w >= 0]
    assert bare.accuracy == pytest.approx(sum(known) / len(known))


def test_two_threads_that_work_out_a_value_share_it() -> None:
    record, both_inside = Predictions.from_classes([0, 1]), Barrier(2, timeout=10)

    def make() -> object:
        both_inside.wait()
        return object()

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda _: record.derived("value", make), range(2))
    assert first is second, "what is kept of a fit tells which arrays are shared"


def test_columns_in_another_order_are_named_by_the_predictions() -> None:
    rng = np.random.default_rng(0)
    p, names = rng.dirichlet([0.5] * 3, 200), np.array(["cat", "dog", "eel"])
    given = {"probabilities": p[:, [2, 0, 1]], "prediction": names[p.argmax(axis=1)]}
    with raises_snapshot(InputError):
        Predictions.from_arrays(**given, classes=["cat", "dog", "eel"])
    assert Predictions.from_arrays(**given, classes=["eel", "cat", "dog"]).rows == 200
    few = {name: values[:12] for name, values in given.items()}  # prove no order
    with raises_snapshot(InputError):
        Predictions.from_arrays(**few, classes=["cat", "dog", "eel"])

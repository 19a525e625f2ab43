"""The door: each kind of wrong input gets a message that names the place, what came and what to do."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions
from oodometer.arrays import Coded
from oodometer.classes import encode, find_classes, is_null, one_form, truth_values
from oodometer.errors import InputError
from oodometer.fields import SUM_TOLERANCE, check_confidence, check_finite, check_probabilities

from .snapshots import raises_snapshot

GOOD = [[0.9, 0.1], [0.3, 0.7]]


def message(**fields: Any) -> str:
    with pytest.raises(InputError) as caught:
        Predictions.from_arrays(**fields)
    return str(caught.value)


# ------------------------------------------------------------------------------------------ probabilities

PROBABILITIES: dict[str, tuple[Any, str]] = {
    "percents": ([[70.0, 30.0], [50.0, 50.0]], "row 1: column probabilities: expected probabilities that sum to 1 "
     "(±0.001), got a row that sums to 100; these look like percents: divide them by 100"),
    "log-probabilities": (np.log([[0.9, 0.1], [0.5, 0.5]]), "row 1: column probabilities: expected probabilities that "
     "sum to 1 (±0.001), got a row of values below 0 whose exponentials sum to 1; these look like log-probabilities: "
     "pass them as logits (column prefix logit_ or Predictions.from_logits), which is exact for log-probabilities"),
    "logits": ([[0.9, 0.1], [4.0, -2.0]], "row 2: column probabilities[1]: expected probabilities between 0 and 1, "
     "got -2; if these are logits, use column prefix logit_ (or `logits`) or Predictions.from_logits"),
    "logits without a negative": ([[0.9, 0.1], [4.0, 2.0]], "row 2: column probabilities: expected probabilities that "
     "sum to 1 (±0.001), got a row that sums to 6; if these are logits, use column prefix logit_ (or `logits`) or "
     "Predictions.from_logits; if a class is missing, give all of them"),
    "above one": ([[1.5, -0.5]], "row 1: column probabilities[1]: expected probabilities between 0 and 1, got -0.5; "
     "if these are logits, use column prefix logit_ (or `logits`) or Predictions.from_logits"),
    "row sum": ([[0.9, 0.1], [0.3, 0.7], [0.3, 0.6]], "row 3: column probabilities: expected probabilities that sum "
     "to 1 (±0.001), got a row that sums to 0.9; if these are logits, use column prefix logit_ (or `logits`) or "
     "Predictions.from_logits; if a class is missing, give all of them"),
    "nan": ([[0.9, 0.1], [0.3, np.nan]], "row 2: column probabilities[1]: expected a finite number, got nan; drop the "
     "row or find out why the model gave it"),
    "infinity": ([[0.9, 0.1], [np.inf, 0.0]], "row 2: column probabilities[0]: expected a finite number, got inf; "
     "drop the row or find out why the model gave it"),
    "one class": ([[1.0], [1.0]], "column probabilities: expected at least two classes, got 1; for the probability of "
     "one positive class give one axis, shape (sample,), or the column prob_1 (--positive)"),
    "three axes": ([GOOD, GOOD], "column probabilities: expected an array with axes (sample, class), got shape "
     "(2, 2, 2); transpose or reshape it"),
    "one number": (0.5, "column probabilities: expected an array with axes (sample, class), got shape (); give one "
     "value a row"),
    "text": ([["a", "b"]], "column probabilities: expected numbers in an array with axes (sample, class), got rows of "
     "different lengths or cells that are no numbers; give every row one number for each class"),
    "rows of different lengths": ([[0.5, 0.5], [1.0]], "column probabilities: expected numbers in an array with axes "
     "(sample, class), got rows of different lengths or cells that are no numbers; give every row one number for each "
     "class"),
    "complex": (np.array([[1j, 0]]), "column probabilities: expected numbers, got dtype complex128; convert the column "
     "to numbers"),
}  # fmt: skip


@pytest.mark.parametrize("kind", PROBABILITIES)
def test_what_is_no_probability_is_explained(kind: str) -> None:
    value, expected = PROBABILITIES[kind]
    assert message(probabilities=value) == expected


def test_the_class_is_named_where_classes_have_names() -> None:
    assert message(probabilities=[[0.5, np.nan]], classes=["cat", "dog"]).startswith(
        "row 1: column probabilities[dog]: expected a finite number"
    )
    assert message(probabilities=[[1.5, -0.5]], classes=["cat", "dog"]).startswith(
        "row 1: column probabilities[dog]: expected probabilities between 0 and 1"
    )
    assert message(logits=[[0.5, np.inf]], classes=["cat", "dog"]).startswith(
        "row 1: column logits[dog]"
    )


def test_rows_count_from_the_start_of_the_file() -> None:
    """A batch that begins at row 1000 names row 1002, and its file."""
    for fields in (
        {"probabilities": [[0.5, 0.5], [0.9, 0.9]]},
        {"confidence": [0.5, 2.0]},
        {"prediction": [0, 1], "label": [0, {}]},
        {"correct": [True, "perhaps"]},
        {"token_logprobs": [[-1.0], [0.5]]},
        {"features": [[0.0], [np.nan]]},
        {"votes": [[True, None]]},
        {"time": ["2026-01-01", None]},
    ):
        found = message(source="a.csv", first_row=1000, **fields)
        assert found.startswith("a.csv: row 1002: column "), found


@given(
    row=st.integers(0, 9),
    cell=st.integers(0, 2),
    value=st.sampled_from([np.nan, np.inf, -np.inf, -0.1]),
)
def test_the_first_bad_cell_is_named(row: int, cell: int, value: float) -> None:
    table = np.full((12, 3), 1 / 3)
    table[row, cell] = table[11, 0] = value
    found = message(probabilities=table, classes=["a", "b", "c"])
    assert f"row {row + 1}: column probabilities[{'abc'[cell]}]: " in found


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, int])
def test_types_of_numbers(dtype: Any) -> None:
    got = check_probabilities(np.array([[1, 0], [0, 1]], dtype=dtype))
    assert got.dtype == (np.float32 if dtype in (np.float16, np.float32) else np.float64)
    assert got.tolist() == [[1.0, 0.0], [0.0, 1.0]]


@given(error=st.floats(-3 * SUM_TOLERANCE, 3 * SUM_TOLERANCE))
def test_the_tolerance_of_a_row_sum(error: float) -> None:
    """1.001 passes, 1.0011 does not; what passes is taken as it is."""
    value = [[0.25, 0.75 + error]]
    if abs(error) < SUM_TOLERANCE * 0.999:
        assert check_probabilities(value).tolist() == value
    elif abs(error) > SUM_TOLERANCE * 1.001:
        with pytest.raises(InputError, match=r"a row that sums to (0\.99|1\.00)"):
            check_probabilities(value)


def test_rounding_below_zero_becomes_zero_and_the_input_stays() -> None:
    given_value = np.array([[1.0, -1e-7]])
    assert check_probabilities(given_value).tolist() == [[1.0, 0.0]]
    assert given_value[0, 1] == -1e-7
    with raises_snapshot(InputError):
        check_probabilities([[1.00001, -1e-5]])


def test_good_arrays_are_not_copied() -> None:
    value = np.array(GOOD)
    assert check_probabilities(value) is value
    assert check_finite(value, "logits") is value


def test_one_bad_batch_is_enough() -> None:
    """Logits that look like probabilities in most rows: the row that gives them away is named, nothing is converted."""
    rows = np.full((1000, 2), 0.5)
    rows[700] = [1.7, -0.7]
    assert message(probabilities=rows).startswith("row 701: column probabilities[1]")


@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows(rows: int) -> None:
    assert check_probabilities(np.full((rows, 3), 1 / 3)).shape == (rows, 3)


def test_the_sum_of_large_finite_numbers_is_no_infinity() -> None:
    big = np.full((2, 2), 1e308)
    assert check_finite(big, "logits") is big
    assert message(logits=[[np.inf, 0.0], [-np.inf, 0.0]]).startswith("row 1: column logits[0]")


def test_logits_with_one_class() -> None:
    assert message(logits=[[1.0], [2.0]]) == (
        "column logits: expected at least two classes, got 1; give one logit for each class"
    )


# ------------------------------------------------------------------------------------------ confidence

CONFIDENCES: dict[str, tuple[Any, str]] = {
    "percents": ([50.0, 99.0], "row 1: column confidence: expected a confidence between 0 and 1, got 50; these look "
     "like percents: divide them by 100"),
    "logs": ([-0.1, -2.0], "row 1: column confidence: expected a confidence between 0 and 1, got -0.1; these look like "
     "log-probabilities: those of whole outputs, or their means over tokens, belong in the column logprob"),
    "scores": ([0.5, 1.5, -3.0], "row 2: column confidence: expected a confidence between 0 and 1, got 1.5; give the "
     "probability that the answer is right"),
    "nan": ([0.5, np.nan], "row 2: column confidence: expected a finite number, got nan; drop the row or find out why "
     "the model gave it"),
    "matrix": ([[0.5]], "column confidence: expected an array with axes (sample), got shape (1, 1); transpose or "
     "reshape it"),
}  # fmt: skip


@pytest.mark.parametrize("kind", CONFIDENCES)
def test_what_is_no_confidence_is_explained(kind: str) -> None:
    value, expected = CONFIDENCES[kind]
    assert message(confidence=value) == expected


def test_the_ends_are_confidences() -> None:
    assert check_confidence([0, 1, True]).tolist() == [0.0, 1.0, 1.0]


# ------------------------------------------------------------------------------------------ classes

LABELS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown class": ({"probabilities": GOOD, "label": [0, 7]}, "row 2: column label: expected one of the 2 known "
     "classes (0, 1), got 7; check its spelling; where the model does not know the class, add a column prob_7 of "
     "zeros to every file; null means that the truth is unknown"),
    "unknown name": ({"probabilities": GOOD, "label": ["cat", "cow"], "classes": ["cat", "dog"]}, "row 2: column "
     "label: expected one of the 2 known classes (cat, dog), got 'cow'; check its spelling; where the model does "
     "not know the class, add a column prob_cow of zeros to every file; null means that the truth is unknown"),
    "minus one": ({"probabilities": GOOD, "label": [1, -1]}, "row 2: column label: expected one of the 2 known classes "
     "(0, 1), got -1; if -1 is the other class, name both, --classes -1,1; null means that the truth is unknown"),
    "counted from one": ({"probabilities": GOOD, "label": [1, 2]}, "row 2: column label: expected one of the 2 known "
     "classes (0, 1), got 2; these seem to count from 1: subtract 1, or name the classes with classes=[...]"),
    "names without an order": ({"probabilities": GOOD, "label": ["cat", "dog"]}, "row 1: column label: expected one "
     "of the 2 known classes (0, 1), got 'cat'; name the classes in the order of the probabilities: columns "
     "prob_<class>, or classes=[...] (of one column its class: --positive COLUMN=CLASS)"),
    "mixed types": ({"label": ["a", 1], "prediction": ["a", "a"]}, "row 2: column label: expected labels of one type, "
     "all integers or all strings, got 'a' and 1; make them one type"),
    "mixed columns": ({"label": ["a", "b"], "prediction": [0, 1]}, "column label: expected classes of one type, all "
     "integers or all strings, got both, such as "),
    "scores": ({"probabilities": GOOD, "prediction": [0.9, 0.7]}, "row 1: column prediction: expected a class (an "
     "integer or a string), got 0.9; give one class number or name a cell, not scores, not lists"),
    "infinity": ({"probabilities": GOOD, "label": [0.0, np.inf]}, "row 2: column label: expected a class (an integer "
     "or a string), got inf; give one class number or name a cell, not scores, not lists"),
    "other objects": ({"probabilities": GOOD, "label": [0, Decimal("0.5")]}, "row 2: column label: expected a class "
     "(an integer or a string), got Decimal('0.5'); give one class number or name a cell, not scores, not lists"),
    "lists": ({"probabilities": GOOD, "label": [[0], [0, 1]]}, "row 1: column label: expected a class (an integer or "
     "a string), got [0]; give one class number or name a cell, not scores, not lists"),
    "two axes": ({"probabilities": GOOD, "label": [[0], [1]]}, "column label: expected an array with axes (sample), "
     "got shape (2, 1); reshape it"),
    "null prediction": ({"probabilities": GOOD, "prediction": [0, None]}, "row 2: column prediction: expected a "
     "predicted class, got null; leave the column out, then what has the highest probability is predicted; a dropped "
     "row is no error"),
    "null member": ({"prediction": ["a", "a"], "members": [["a", "b"], ["a", None]]}, "row 2: column members: expected "
     "a predicted class, got null; leave out the model or view that has no answer there"),
    "name twice": ({"probabilities": GOOD, "classes": ["a", "a"]}, "column classes: expected distinct class names, "
     "got a name twice; rename one"),
    "name twice but for its type": ({"probabilities": GOOD, "classes": [1, "1"]}, "column classes: expected distinct "
     "class names, got a name twice; rename one"),
    "too many names": ({"probabilities": GOOD, "classes": ["a", "b", "c"]}, "column probabilities: expected 3 classes, "
     "got 2; name every class once, in column order"),
    "widths differ": ({"probabilities": GOOD, "member_probabilities": [[[0.5, 0.25, 0.25]] * 2]}, "expected one number "
     "of classes, got probabilities: 2, member_probabilities: 3; align them"),
    "swapped columns": ({"probabilities": [[0.9, 0.1]] * 3 + [[0.2, 0.8]], "prediction": ["cat", "dog", "dog", "cat"],
     "classes": ["cat", "dog"]}, "row 2: column prediction: expected predictions that go with the probabilities, got "
     "'dog' where 'cat' has the highest, and the like in 75.0 % of the rows; check whether class columns are "
     "swapped; to judge the argmax, leave `prediction` out"),
}  # fmt: skip


@pytest.mark.parametrize("kind", LABELS)
def test_what_is_no_class_is_explained(kind: str) -> None:
    fields, expected = LABELS[kind]
    found = message(**fields)
    assert found == expected or (kind == "mixed columns" and found.startswith(expected))


def test_many_known_classes_are_not_all_shown() -> None:
    found = message(probabilities=np.full((1, 10), 0.1), label=[10])
    assert "one of the 10 known classes (0, 1, 2, 3, 4, 5, ...), got 10" in found


def test_labels_above_the_last_class_are_not_always_counted_from_one() -> None:
    """With a 0 among them they count from 0, and a class is missing."""
    assert "count from 1" not in message(probabilities=GOOD, label=[0, 2])
    assert "count from 1" not in message(probabilities=GOOD, label=[1, 3])


def test_minus_one_may_be_the_name_of_a_class() -> None:
    """Without a class axis the classes are those that occur, as -1 and 1 do in some old data."""
    record = Predictions.from_arrays(prediction=[-1, 1, 1], label=[-1, -1, 1])
    assert record.classes == (-1, 1)
    assert record.accuracy == pytest.approx(2 / 3)


UNKNOWN = [
    [0.0, np.nan, 1.0],
    [0, None, 1],
    ["0", None, "1"],
    ["0", np.nan, "1"],
    np.array([0, None, 1], dtype=object),
    [False, None, True],
]


@pytest.mark.parametrize("label", UNKNOWN, ids=repr)
def test_null_is_an_unknown_label(label: Any) -> None:
    record = Predictions.from_probabilities([[0.9, 0.1]] * 3, label=label)
    assert record.label.tolist() == [0, -1, 1]
    assert record.verdicts.tolist() == [1, -1, 0]
    assert record.accuracy == 0.5


def test_unknown_labels_of_frames() -> None:
    import pandas as pd
    import polars as pl

    columns = [
        pd.Series([0, pd.NA, 1], dtype="Int64"),
        pd.Series(["0", pd.NA, "1"], dtype="string"),
        pd.Series(["0", None, "1"], dtype="category"),
        pd.Series(["0", None, "1"]),
        pl.Series([0, None, 1]),
        pl.Series(["0", None, "1"]),
    ]
    for column in columns:
        assert encode(column, (0, 1), "label").tolist() == [0, -1, 1], column
        assert [str(c) for c in find_classes({"label": column})] == ["0", "1"], column


def test_an_unknown_label_makes_no_class() -> None:
    """NaN must not count as a class of its own, nor as class 0."""
    assert find_classes({"label": [1.0, np.nan, 2.0]}) == (1, 2)
    assert find_classes({"label": ["a", np.nan], "members": [None, "b"]}) == ("a", "b")
    assert find_classes({"label": [None, None]}) == ()


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint16, np.int64, np.float32, np.float64, object, str]
)
def test_integer_labels_of_any_type(dtype: Any) -> None:
    values = np.array([2, 0, 1]).astype(dtype)
    got = encode(values, (0, 1, 2), "label")
    assert got.dtype == np.int32
    assert got.tolist() == [2, 0, 1]
    assert encode(values, (2, 0, 1), "label").tolist() == [0, 1, 2], "by name, not by position"
    assert encode(values, ("2", "1", "0"), "label").tolist() == [0, 2, 1]


@pytest.mark.parametrize("kind", ["list", "numpy", "objects"])
def test_boolean_labels_are_0_and_1(kind: str) -> None:
    values: Any = [True, False]
    if kind != "list":
        values = np.array(values, dtype=bool if kind == "numpy" else object)
    assert encode(values, (0, 1), "label").tolist() == [1, 0]
    record = Predictions.from_arrays(prediction=values, label=[1, 1])
    assert record.classes == (0, 1)
    assert record.verdicts.tolist() == [1, 0]


NAMES = st.text(max_size=3).map(one_form)  # as the classes of a record are


@given(names=st.lists(NAMES, min_size=1, max_size=6, unique=True), data=st.data())
def test_encode_is_a_look_up_by_name(names: list[str], data: st.DataObject) -> None:
    cells = data.draw(st.lists(st.sampled_from([*names, None]), max_size=12))
    want = [-1 if c is None else names.index(c) for c in cells]
    assert encode(cells, tuple(names), "label").tolist() == want
    distinct = sorted(set(names))
    coded = Coded(
        np.array([-1 if c is None else distinct.index(c) for c in cells], dtype=np.int64), distinct
    )
    assert encode(coded, tuple(names), "label").tolist() == want


def test_a_value_of_a_dictionary_that_does_not_occur_may_be_anything() -> None:
    """A column that was filtered keeps the names of what was filtered out."""
    assert encode(Coded(np.array([0, -1]), ["a", "zebra"]), ("a", "b"), "label").tolist() == [0, -1]


def test_a_tie_is_an_argmax_and_so_is_a_hair_below() -> None:
    for second in (0.5, 0.5 - 1e-8):
        record = Predictions.from_arrays(probabilities=[[0.5, second]], prediction=[1])
        assert record.predicted.tolist() == [1]


# ------------------------------------------------------------------------------------------ truth values


@pytest.mark.parametrize(
    "values",
    [
        [True, False, None],
        [1, 0, None],
        [1.0, 0.0, np.nan],
        ["true", "false", ""],
        ["True", "FALSE", None],
        ["1", " 0 ", None],
        ["yes", "no", np.nan],
        ["correct", "Incorrect", None],
        np.array([True, False, np.nan], dtype=object),
    ],
    ids=repr,
)
def test_truth_values_in_many_words(values: Any) -> None:
    got = truth_values(values, "correct")
    assert got.dtype == np.int8
    assert got.tolist() == [1, 0, -1]


def test_truth_values_of_frames() -> None:
    import pandas as pd
    import polars as pl

    for column in (
        pd.Series([True, False, pd.NA], dtype="boolean"),
        pd.Series([True, False, None], dtype=object),
        pl.Series([True, False, None]),
    ):
        assert truth_values(column, "correct").tolist() == [1, 0, -1], column


@pytest.mark.parametrize(
    ("values", "shown", "row"),
    [
        ([True, "perhaps"], "'perhaps'", 2),
        ([0, 1, 2], "2", 3),
        ([0, -1], "-1", 2),
        ([0.5, 1.0], "0.5", 1),
        ([[1], [0, 1]], r"\[1\]", 1),
    ],
    ids=repr,
)
def test_what_is_neither_true_nor_false(values: Any, shown: str, row: int) -> None:
    pattern = rf"row {row}: column correct: expected true or false \(or 1, 0, null\), got {shown}; give one verdict"
    with pytest.raises(InputError, match=pattern):
        truth_values(values, "correct")


def test_is_null() -> None:
    import pandas as pd

    assert all(
        is_null(cell) for cell in (None, np.nan, float("nan"), pd.NA, pd.NaT, np.float64("nan"))
    )
    assert not any(is_null(cell) for cell in (0, "", "nan", False, 0.0, [], "NA"))


# ------------------------------------------------------------------------------------------ the other fields

FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "lengths differ": ({"probabilities": GOOD, "label": [0]}, "column label: expected 2 entries, one a sample, got 1; "
     "align the arrays by sample"),
    "members the wrong way round": ({"prediction": [0, 1, 1], "members": [[0, 1], [1, 1], [0, 0]]}, "column members: "
     "expected 3 entries, one a sample, got 2; align the arrays by sample"),
    "further column": ({"prediction": [0, 1], "columns": {"x": [1, 2, 3]}}, "column x: expected 2 entries, one a "
     "sample, got 3; align the arrays by sample"),
    "unknown field": ({"probability": GOOD}, "expected fields among label, prediction, "),
    "nothing": ({}, "expected at least one field, got none; give one of label, "),
    "only null": ({"label": None}, "expected at least one field, got none; give one of label, "),
    "token log-probabilities": ({"token_logprobs": [[-0.5], [], [-1.0, 0.25]]}, "row 3: column token_logprobs: "
     "expected log-probabilities (at most 0), got 0.25; take the logarithm of probabilities; use natural logarithms"),
    "token nan": ({"token_logprobs": [[-0.5, np.nan]]}, "row 1: column token_logprobs: expected log-probabilities (at "
     "most 0), got nan; take the logarithm of probabilities; use natural logarithms"),
    "token text": ({"token_logprobs": ["abc"]}, "column token_logprobs: expected a list of numbers a sample, got other "
     "values; one log-probability a token"),
    "votes": ({"votes": [[True, False], [None, True]]}, "row 1: column votes: expected a verdict from every judge, got "
     "null; drop the row"),
    "votes of one judge": ({"votes": [True, False]}, "column votes: expected axes ('judge', 'sample'), got shape (2,)"),
    "time": ({"time": ["yesterday"]}, "column time: expected timestamps, got "),
    "no time": ({"time": ["2026-01-01", None, "2026-01-02"]}, "row 2: column time: expected a timestamp, got null; "
     "drop the row"),
    "features": ({"features": [[0.0, np.nan]]}, "row 1: column features[1]: expected a finite number, got nan; drop "
     "the row or find out why the model gave it"),
    "members' probabilities": ({"member_probabilities": [GOOD, [[0.5, 0.5], [3.0, -2.0]]]}, "row 2: column "
     "member_probabilities[1][1]: expected probabilities between 0 and 1, got -2; if these are logits, use column "
     "prefix logit_ (or `logits`) or Predictions.from_logits"),
    "members' probabilities of one model": ({"member_probabilities": GOOD}, "column member_probabilities: expected an "
     "array with axes (model, sample, class), got shape (2, 2); stack one (sample, class) array for each model"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FIELDS)
def test_other_fields_are_explained(kind: str) -> None:
    fields, expected = FIELDS[kind]
    found = message(**fields)
    assert found == expected or (expected.endswith((" ", ", ")) and found.startswith(expected)), (
        found
    )

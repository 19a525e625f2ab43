"""What is written reads back the same: every field, every format; in batches and in parts as well as whole."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer.arrays import Ragged
from oodometer.predictions import FIELDS, Predictions
from oodometer.store import as_source, open_predictions, read_predictions, write_predictions

FORMATS = ("parquet", "arrow", "feather", "jsonl", "csv", "npz")
EXTRA = ("age", "weight")


def plain(value: Any) -> Any:
    if isinstance(value, Ragged):
        return value.values.tolist(), value.offsets.tolist()
    return value if value is None else (value.shape, value.tolist())


def assert_same(a: Predictions, b: Predictions) -> None:
    for name in FIELDS:
        assert plain(getattr(a, name)) == plain(getattr(b, name)), name
    assert {k: v.tolist() for k, v in a.columns.items()} == {
        k: v.tolist() for k, v in b.columns.items()
    }
    assert a.classes == b.classes
    assert a.names == b.names


CLASSES = {"names": ("cat", "dog", 'é,"x'), "counted": (0, 1, 2), "integers": (3, 1, 7)}


@pytest.fixture(scope="module", params=CLASSES.values(), ids=CLASSES)
def full(request: pytest.FixtureRequest, record_of: Callable[..., Predictions]) -> Predictions:
    return record_of(23, request.param)


@pytest.mark.parametrize("form", FORMATS)
def test_every_field_comes_back(full: Predictions, form: str, tmp_path: Path) -> None:
    source = open_predictions(write_predictions(full, tmp_path / f"p.{form}"), extra_columns=EXTRA)
    assert_same(full, source.read(FIELDS))
    assert set(source.fields) == set(full.fields)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("rows", [1, 7, 100])
def test_batches_equal_the_whole(full: Predictions, form: str, rows: int, tmp_path: Path) -> None:
    source = open_predictions(write_predictions(full, tmp_path / f"p.{form}"), extra_columns=EXTRA)
    batches = list(source.batches(FIELDS, rows=rows))
    assert [b.first_row for b in batches] == np.cumsum([0, *map(len, batches[:-1])]).tolist()
    assert max(map(len, batches)) <= rows
    assert_same(full, Predictions.concat(batches))
    assert source.rows == 23


@pytest.mark.parametrize("form", FORMATS)
def test_parts_are_read_elsewhere(full: Predictions, form: str, tmp_path: Path) -> None:
    source = open_predictions(write_predictions(full, tmp_path / f"p.{form}"), extra_columns=EXTRA)
    parts = [pickle.loads(pickle.dumps(part)) for part in source.parts(target_rows=5)]
    batches = [batch for part in parts for batch in part.batches(FIELDS, rows=4)]
    assert [b.first_row for b in batches] == np.cumsum([0, *map(len, batches[:-1])]).tolist()
    assert_same(full, Predictions.concat(batches))


def test_parts_of_a_file_are_ranges_of_row_groups(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    label = np.arange(1000) % 7
    table = pa.table({"label": label, "prediction": label[::-1].copy()})
    pq.write_table(table, tmp_path / "p.parquet", row_group_size=90)
    with pa.ipc.new_file(tmp_path / "p.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=90)
    for name in ("p.parquet", "p.arrow"):
        source = open_predictions(tmp_path / name)
        parts = source.parts(target_rows=250)
        assert len(parts) == 4
        assert [next(part.batches()).first_row for part in parts] == [0, 270, 540, 810]
        whole = Predictions.concat([b for part in parts for b in part.batches()])
        assert whole.label.tolist() == label.tolist()
    assert len(as_source(table).parts(target_rows=250)) == 4
    for part in as_source(table).parts(target_rows=250):
        assert len(pickle.dumps(part)) < 6000, "a slice travels without the table behind it"


def test_parts_of_a_record() -> None:
    record = Predictions.from_classes(np.arange(10) % 2, label=[0] * 10)
    parts = [pickle.loads(pickle.dumps(part)) for part in as_source(record).parts(target_rows=4)]
    assert [b.first_row for part in parts for b in part.batches(rows=3)] == [0, 3, 4, 7, 8]


def test_list_column_without_names_stays_a_list(tmp_path: Path) -> None:
    record = Predictions.from_probabilities([[0.5, 0.25, 0.25]])
    assert open_predictions(write_predictions(record, tmp_path / "p.parquet")).columns == (
        "probabilities",
    )
    assert open_predictions(write_predictions(record, tmp_path / "p.csv")).columns == (
        "prob_0",
        "prob_1",
        "prob_2",
    )


# Names that a person might give a class; NPZ cannot hold a trailing NUL, CSV no lone surrogate.
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@st.composite
def records(draw: st.DrawFn) -> Predictions:
    classes: Any = draw(
        st.lists(NAMES, min_size=2, max_size=4, unique=True)
        | st.lists(st.integers(-5, 10**6), min_size=2, max_size=4, unique=True)
        | st.integers(2, 4).map(lambda k: list(range(k)))
    )
    rows = draw(st.integers(1, 6))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    weights = np.array(draw(st.lists(st.lists(st.integers(1, 99), min_size=len(classes), max_size=len(classes)),
                                     min_size=rows, max_size=rows)), dtype=dtype)  # fmt: skip
    probabilities = weights / weights.sum(axis=1, keepdims=True)
    cell = st.sampled_from(classes)
    fields: dict[str, Any] = {"probabilities": probabilities}
    unknown_is_told = "" not in classes
    optional = {
        "label": st.lists(
            cell | st.none() if unknown_is_told else cell, min_size=rows, max_size=rows
        ),
        "members": st.lists(st.lists(cell, min_size=rows, max_size=rows), min_size=1, max_size=3),
        "confidence": st.lists(st.floats(0, 1), min_size=rows, max_size=rows),
        "features": st.lists(
            st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=2), min_size=rows, max_size=rows
        ),
        "token_logprobs": st.lists(
            st.lists(st.floats(-1e300, 0), max_size=3), min_size=rows, max_size=rows
        ),
        "correct": st.lists(st.booleans() | st.none(), min_size=rows, max_size=rows),
        "votes": st.lists(
            st.lists(st.booleans(), min_size=rows, max_size=rows), min_size=1, max_size=3
        ),
        "input": st.lists(
            st.text(st.characters(codec="utf-8", exclude_characters="\0")),
            min_size=rows,
            max_size=rows,
        ),
        "group": st.lists(st.sampled_from(["a", "b", "", "x y"]), min_size=rows, max_size=rows),
    }
    for name, values in optional.items():
        if draw(st.booleans()):
            fields[name] = draw(values)
    for name in ("label", "members"):
        if name in fields:
            fields[name] = np.array(fields[name], dtype=object)
    return Predictions.from_arrays(classes=classes, **fields)


@given(record=records())
@settings(max_examples=40)
def test_any_record_comes_back(record: Predictions) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMATS:
            path = write_predictions(record, Path(folder) / f"p.{form}")
            # Text files do not tell "1" from 1, nor classes apart from the columns: the names are given.
            assert_same(record, open_predictions(path, classes=record.classes).read(FIELDS))


@given(record=records(), order=st.randoms())
@settings(max_examples=20)
def test_classes_are_matched_by_name(record: Predictions, order: Any) -> None:
    assert record.probabilities is not None
    if record.classes == tuple(range(len(record.classes))):
        return  # counted classes are a list, whose order nothing tells
    shuffled = list(range(len(record.classes)))
    order.shuffle(shuffled)
    classes = [record.classes[i] for i in shuffled]
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMATS:
            read = read_predictions(
                write_predictions(record, Path(folder) / f"p.{form}"), classes=classes
            )
            assert read.probabilities.tolist() == record.probabilities[:, shuffled].tolist()
            if record.label is not None and read.label is not None:
                assert [classes[i] if i >= 0 else None for i in read.label] == [
                    record.classes[i] if i >= 0 else None for i in record.label
                ]

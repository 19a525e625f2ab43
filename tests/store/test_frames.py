"""Frames: pandas, polars, pyarrow, data sets, mappings of arrays, records and standard input."""

from __future__ import annotations

import io
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from oodometer.errors import InputError, UsageError
from oodometer.predictions import Predictions
from oodometer.store import Source, as_source, frames, read_predictions

from ..snapshots import raises_snapshot

ROWS = [[0.9, 0.1], [0.2, 0.8]]
WIDE = {"prob_a": [0.9, 0.2], "prob_b": [0.1, 0.8], "label": ["a", None], "age": [31, 45]}


def read(data: Any, **options: Any) -> tuple[Any, Any]:
    record = read_predictions(data, **options)
    assert record.probabilities.tolist() == ROWS
    return record.label.tolist(), record.columns["age"].tolist() if record.columns else None


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, dict], ids=lambda m: m.__name__
)
def test_wide_frames(make: Callable[[Any], Any]) -> None:
    assert read(make(WIDE), extra_columns=["age"]) == ([0, -1], [31, 45])


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=lambda m: m.__name__
)
def test_list_columns(make: Callable[[Any], Any]) -> None:
    assert read(make({"probabilities": ROWS, "label": [1, 0]})) == ([1, 0], None)
    assert read(
        make({"probabilities": ROWS, "y": ["b", "a"]}), classes=["a", "b"], mapping={"y": "label"}
    )[0] == [1, 0]


def test_pandas_kinds() -> None:
    assert read(
        pd.DataFrame(
            {"probabilities": [np.array(r) for r in ROWS], "label": pd.Categorical(["1", "0"])}
        )
    )[0] == [1, 0]
    frame = pd.DataFrame({"prediction": [1, 2], "label": [1.0, np.nan]}, index=["x", "y"])
    record = read_predictions(frame)
    assert record.label.tolist() == [0, -1]
    nullable = read_predictions(
        pd.DataFrame({"confidence": [0.1, 0.2], "correct": pd.array([True, None], dtype="boolean")})
    )
    assert nullable.correct.tolist() == [1, -1]


def test_polars_kinds() -> None:
    frame = pl.DataFrame(
        {"probabilities": ROWS, "label": pl.Series(["b", None], dtype=pl.Enum(["a", "b"]))},
        schema_overrides={"probabilities": pl.Array(pl.Float64, 2)},
    )
    assert read(frame, classes=["a", "b"])[0] == [1, -1]


def test_mapping_of_arrays_has_the_axes_of_npz() -> None:
    data = {
        "probabilities": ROWS, "members": [["a", "b"], ["b", "b"], ["b", "a"]], "label": np.array(["a", ""]),
        "token_logprobs": [[-0.1], [-0.2, -0.3]], "classes": ["a", "b"], "weight": [1, 2], "note": "not a column",
    }  # fmt: skip
    record = read_predictions(data, extra_columns=["weight"])
    assert record.classes == ("a", "b")
    assert record.members.tolist() == [[0, 1], [1, 1], [1, 0]]
    assert record.label.tolist() == [0, -1]


def test_data_sets_by_their_manner() -> None:
    class DataSet:
        features: ClassVar = {
            "label": SimpleNamespace(names=["a", "b"]),
            "prob_a": SimpleNamespace(),
        }

        def with_format(self, form: str) -> DataSet:
            return self

        def __getitem__(self, key: slice) -> Any:
            return pa.table({"prob_a": [0.9, 0.2], "prob_b": [0.1, 0.8], "label": [1, -1]})[key]

    assert read(DataSet())[0] == [1, -1]
    with raises_snapshot(UsageError):
        as_source({"train": DataSet(), "test": DataSet()})
    streamed = SimpleNamespace(with_format=None, features={})
    with raises_snapshot(UsageError):
        as_source(streamed)


def test_sources_and_records_pass_through() -> None:
    record = Predictions.from_probabilities(ROWS, label=["a", "b"], classes=["a", "b"])
    source = as_source(record)
    assert isinstance(source, Source)
    assert as_source(source) is source
    assert source.read() is record
    turned = as_source(source, classes=["b", "a"]).read()
    assert (turned.probabilities.tolist(), turned.label.tolist()) == (
        [[0.1, 0.9], [0.8, 0.2]],
        [1, 0],
    )
    again = as_source(as_source(pa.table(WIDE)), classes=["b", "a"]).read()
    assert again.probabilities.tolist() == [[0.1, 0.9], [0.8, 0.2]]
    with raises_snapshot(InputError):
        as_source(record, classes=["a", "c"])
    with raises_snapshot(UsageError):
        as_source(record, extra_columns=["age"])
    assert as_source(record, extra_columns=["label"]).read().columns["label"].tolist() == [0, 1]
    counted = Predictions.from_probabilities(ROWS)
    assert as_source(counted, classes=["a", "b"]).classes == ("a", "b")


def feed(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    frames.spooled_stdin.cache_clear()  # it is read once a process
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))


@pytest.mark.parametrize(
    "content",
    [b"label,prediction\n1,2\n", b' \n{"label": 1, "prediction": 2}\n'],
    ids=["csv", "jsonl"],
)
def test_standard_input(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(content, monkeypatch)
    source = as_source("-")
    assert source.classes == (1, 2)
    assert source.read().rows == source.read().rows == as_source("-").read().rows == 1


@pytest.mark.parametrize("content", [b"", b"\n \n", b"PAR1", b"\0\0"])
def test_bad_standard_input(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(content, monkeypatch)
    with raises_snapshot(InputError):
        as_source("-")


def test_odd_frames() -> None:
    with raises_snapshot(InputError):
        as_source(pd.DataFrame({"prediction": [1, "a"]}))
    with raises_snapshot(InputError):
        as_source(pd.DataFrame([[1, 2]], columns=["label", "label"]))
    with raises_snapshot(InputError):
        as_source(pl.DataFrame({"label": []}))
    with raises_snapshot(InputError):
        as_source({"probabilities": [[1, 0], [1]]})
    with raises_snapshot(InputError):
        as_source({"label": np.array([1, "a"], dtype=object)})
    with raises_snapshot(InputError):
        as_source({"label": [1, 2], "prediction": [1]})
    with raises_snapshot(UsageError):
        as_source(object())
    assert as_source(pd.Series([1, 2])).fields == (
        "label",
    )  # of pandas, which has an index to join by
    with raises_snapshot(UsageError):  # scores are no classes
        as_source(pd.Series([0.25, 0.75], name="prob_cat"))

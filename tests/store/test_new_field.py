"""A new field is one row of the table and one line of the record: a field that is made up here goes everywhere."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from oodometer.arrays import Array, Ragged
from oodometer.backtests.trials import fingerprint
from oodometer.errors import InputError
from oodometer.fields import FIELDS, Field, check_finite
from oodometer.predictions import Predictions
from oodometer.store import InPlace, as_source, columns, open_predictions, scan, write_predictions
from oodometer.store import base as axes

from ..snapshots import raises_snapshot
from .test_round_trip import FORMATS, assert_same

ROWS = 12


@dataclass(frozen=True, eq=False)
class Wider(Predictions):
    """The record with the one line more that each new field needs."""

    delays: Ragged | None = None
    seconds: Array | None = None
    heads: Array | None = None
    tags: Array | None = None


def as_ragged(value: Any) -> Ragged:
    """Lists, or what a reader made of them."""
    return value if isinstance(value, Ragged) else Ragged.from_rows(value)


NEW = {
    "delays": Field("number", check=lambda value, *_: as_ragged(value), ragged=True),
    "seconds": Field("number", check=lambda value, *_: check_finite(value, "seconds", "sample")),
    "heads": Field("class", ("head", "sample"), "head_"),
    "tags": Field("text", on_request=True),
}


@pytest.fixture(autouse=True)
def _wider(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, field in NEW.items():
        monkeypatch.setitem(FIELDS, name, field)
        if (
            field.prefix and field.axis
        ):  # what is worked out from the table where the store is imported
            monkeypatch.setitem(columns.WIDE, field.prefix, name)
            monkeypatch.setitem(columns.AXES, name, field.axis)
            monkeypatch.setitem(axes._FIELD, field.axis, name)
    monkeypatch.setattr(scan, "Predictions", Wider)


def made(rows: int = ROWS) -> Wider:
    rng = np.random.default_rng(0)
    record = Wider.from_arrays(
        prediction=rng.integers(3, size=rows),
        label=rng.integers(3, size=rows),
        delays=[rng.random(n).tolist() for n in rng.integers(4, size=rows)],
        seconds=rng.random(rows),
        heads=rng.integers(3, size=(2, rows)),
        tags=[f"t{i}" for i in range(rows)],
    )
    assert isinstance(record, Wider)
    return record


@pytest.mark.parametrize("form", FORMATS)
def test_it_is_written_and_read(form: str, tmp_path: Path) -> None:
    record = made()
    opened = open_predictions(write_predictions(record, tmp_path / f"p.{form}"))
    assert set(opened.fields) == set(record.fields) > set(NEW)
    assert_same(record, opened.read(FIELDS))
    assert not opened.read().has("tags"), "it is read on request"
    pieces = [pickle.loads(pickle.dumps(part)) for part in opened.parts(target_rows=5)]
    assert_same(
        record, Predictions.concat([b for part in pieces for b in part.batches(FIELDS, rows=2)])
    )


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=lambda m: m.__name__)
def test_it_is_read_from_tables(make: Callable[[Any], Any]) -> None:
    found = as_source(
        make({"prediction": [0, 1], "delays": [[0.5], [1.0, 2.0]], "seconds": [1, 2]})
    ).read()
    assert isinstance(found, Wider)
    assert found.delays.lengths.tolist() == [1, 2]
    assert found.seconds.tolist() == [1, 2]


def test_every_field_of_lists_may_be_wide() -> None:
    """CSV writes what has one axis beside that of the samples as a column for each entry, which needs names."""
    assert {
        name for name, field in FIELDS.items() if len(field.axes) == 2 and not field.prefix
    } == set()


def test_it_is_cut_joined_and_told_apart() -> None:
    record = made()
    assert_same(Predictions.concat(list(record.batches(5))), record)
    order = np.arange(ROWS)[::-1]
    assert_same(record.take(order).take(order), record)
    assert fingerprint(record) != fingerprint(record.take(order))
    flat = Wider.from_arrays(prediction=record.prediction, seconds=record.seconds)
    together = InPlace(ROWS)
    for batch in flat.batches(5):
        together.put(batch)
    whole = together.whole()
    assert whole is not None
    assert_same(whole, flat)


def test_a_bad_cell_of_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("prediction,seconds\n1,0.5\n0,soon\n")
    with raises_snapshot(InputError):
        open_predictions(path).read()
    path.write_text('prediction,delays\n1,"[0.5]"\n0,soon\n')
    with raises_snapshot(InputError):
        open_predictions(path).read()

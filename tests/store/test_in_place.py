"""Batches that are put in place make the record that joining them makes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.passes.reference import read_reference
from oodometer.store import InPlace, as_source, write_predictions


def rich(rows: int = 100, **more: Any) -> Predictions:
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), rows).astype(np.float32)
    return Predictions.from_probabilities(
        p, label=rng.integers(0, 3, rows), members=rng.integers(0, 3, (2, rows)),
        time=np.arange(rows).astype("M8[s]"), group=[f"g{i % 7}" for i in range(rows)],
        features=rng.normal(size=(rows, 4)), columns={"weight": rng.random(rows)}, **more,
    )  # fmt: skip


def same(a: Predictions, b: Predictions) -> None:
    assert (a.fields, a.classes, sorted(a.columns), len(a)) == (
        b.fields,
        b.classes,
        sorted(b.columns),
        len(b),
    )
    for name in a.fields:
        one, other = getattr(a, name), getattr(b, name)
        assert one.dtype == other.dtype, name
        assert one.tolist() == other.tolist(), name
    for name, values in a.columns.items():
        assert values.tolist() == b.columns[name].tolist()
    assert [v.tolist() for v in a.top] == [v.tolist() for v in b.top]
    assert a.verdicts.tolist() == b.verdicts.tolist()


@pytest.mark.parametrize("looked", [False, True])
def test_batches_in_any_order_become_the_record(looked: bool) -> None:
    record = rich()
    batches = list(record.batches(13))
    for batch in batches:
        _ = (batch.top, batch.verdicts) if looked else None
    np.random.default_rng(0).shuffle(batches)  # type: ignore[arg-type]
    together = InPlace(len(record))
    pieces = []
    for batch in batches:
        assert together.whole() is None
        pieces.append(together.put(batch))
        assert ("verdicts" in pieces[-1]._cache) == looked
    whole = together.whole()
    same(whole, record)
    for batch, piece in zip(batches, pieces, strict=True):
        same(piece, batch)
        assert piece.first_row == batch.first_row
        assert np.shares_memory(piece.probabilities, whole.probabilities)


def test_threads_fill_one_record() -> None:
    record = rich(5000)
    together = InPlace(len(record))
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(together.put, record.batches(37)))
    whole = together.whole()
    assert whole is not None
    same(whole, record)


def test_what_does_not_fit_stays_as_it_is() -> None:
    record = rich()
    first, second, *_ = record.batches(50)
    lacking = Predictions.from_probabilities(second.probabilities, first_row=50)
    double = Predictions.from_arrays(
        **{name: getattr(second, name) for name in second.fields if name != "features"},
        features=second.features.astype(np.float32), columns=dict(second.columns), first_row=50,
    )  # fmt: skip
    beyond = Predictions.from_probabilities(second.probabilities, first_row=99)
    for other in (lacking, double, beyond):
        together = InPlace(len(record))
        together.put(first)
        assert together.put(other) is other
        assert together.whole() is None


def test_nothing_is_placed_where_it_is_not_wanted() -> None:
    record = rich()
    sequences = Predictions.from_arrays(token_logprobs=[[-0.1], [-0.2, -0.3]])
    for together, batch in (
        (InPlace(None), record),
        (InPlace(len(record), lambda batch: len(batch) < 10), record),
        (InPlace(2), sequences),
    ):
        assert together.put(batch) is batch
        assert together.put(batch) is batch
        assert together.whole() is None


@pytest.mark.parametrize("suffix", ["parquet", "csv", "npz"])
@pytest.mark.parametrize("unlabelled", [0, 3])
def test_a_reference_read_from_a_file_is_the_record(
    tmp_path: Any, suffix: str, unlabelled: int
) -> None:
    rows = 300_000 if suffix == "parquet" else 500  # several parts, or one
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(2), rows).astype(np.float32)
    label = rng.integers(0, 2, rows).astype(object)
    label[:unlabelled] = None
    record = Predictions.from_probabilities(p, label=label)
    path = tmp_path / f"reference.{suffix}"
    write_predictions(record, path)
    found = read_reference(as_source(path))
    assert (found.rows, found.unlabelled, found.sampled) == (rows - unlabelled, unlabelled, False)
    known = record.known()
    assert found.record.label.tolist() == known.label.tolist()
    np.testing.assert_array_equal(found.record.probabilities, known.probabilities)
    assert found.record.verdicts.tolist() == known.verdicts.tolist()
    assert found.correct == known.verdicts.sum()


@pytest.mark.parametrize("rows", [2, 3, 6])
def test_what_was_noted_of_batches_adds_up(rows: int, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("label,prob_ant,prob_bee\n" + "NA,0.9,0.1\nant,0.4,0.6\n" * 3)
    together = InPlace(6)
    pieces = [together.put(batch) for batch in as_source(path).batches(rows=rows)]
    whole = together.whole()
    assert whole is not None
    assert len(pieces) == 6 // rows
    assert whole.noted == {"missing 'NA'": 3}

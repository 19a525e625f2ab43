"""The field `score`: a number a row, null where unknown, and when a column of that name is it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from oodometer import Predictions
from oodometer.errors import InputError, UsageError
from oodometer.fields import check_on_scale
from oodometer.store import as_source, write_predictions
from oodometer.verbs.options import Scale, parse_scale

from .snapshots import raises_snapshot

NAN = float("nan")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow", "npz"])
def test_scores_are_written_and_read_in_every_format(tmp_path: Path, ending: str) -> None:
    record = Predictions.from_arrays(score=[1, None, 3.5, 0.25], correct=[1, None, 0, 1])
    path = tmp_path / f"graded.{ending}"
    write_predictions(record, path)
    (batch,) = as_source(path).batches(fields=["score", "correct"])
    np.testing.assert_array_equal(batch.score, [1, NAN, 3.5, 0.25])
    assert batch.verdicts.tolist() == [1, -1, 0, 1]


def test_scores_are_cut_and_joined_with_their_rows() -> None:
    record = Predictions.from_arrays(score=[0.1, None, 0.3])
    np.testing.assert_array_equal(
        Predictions.concat([record.slice(1, 3), record.take([0])]).score, [NAN, 0.3, 0.1]
    )
    assert record.without_labels().score is None


@pytest.mark.parametrize(
    ("columns", "is_field"),
    [
        (("score",), True),
        (("id", "score", "task"), True),
        (("correct", "score"), True),
        (("label", "correct", "score"), True),
        (("label", "score"), False),
        (("prediction", "score"), False),
        (("label", "prediction", "score"), False),
        (("y_true", "score", "confidence"), False),
        (("prediction", "confidence", "score"), False),
        (("prediction", "confidence", "score", "metric"), True),
        (("prob_0", "prob_1", "score"), False),
    ],
)
def test_a_column_score_is_the_field_where_nothing_makes_it_a_probability(
    columns: tuple[str, ...], is_field: bool
) -> None:
    table: dict[str, Any] = {
        name: [0.5, 1.0] if name in ("score", "confidence") else [0, 1] for name in columns
    }
    assert ("score" in as_source(pd.DataFrame(table)).fields) == is_field
    renamed = as_source(
        pd.DataFrame(table).rename(columns={"score": "grade"}), mapping={"grade": "score"}
    )
    assert "score" in renamed.fields


@pytest.mark.parametrize(
    ("cell", "got"), [("good", "'good'"), ("inf", "inf"), ("true", "'true'"), ("80%", "'80%'")]
)
def test_what_is_no_score_is_refused_by_row(tmp_path: Path, cell: str, got: str) -> None:
    path = tmp_path / "graded.csv"
    path.write_text(f"id,score\na,1\nb,{cell}\n")
    with raises_snapshot(InputError):
        next(as_source(path).batches(fields=["score"]))


@pytest.mark.parametrize("given", ["1,5,7", "low,high", "5,1", "1,1", "0,inf", "1"])
def test_a_scale_is_two_numbers_in_order(given: str) -> None:
    with pytest.raises(UsageError, match="LOW,HIGH"):
        Scale(scale=parse_scale(given))


def test_a_score_outside_its_scale_is_named() -> None:
    check_on_scale(np.array([1, NAN, 5]), (1, 5))
    with raises_snapshot(InputError):
        check_on_scale(np.array([1, NAN, 0]), (1, 5), "g.csv", 10)

"""Columns that hold ids in the place of classes are refused before a table of classes by classes is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.errors import InputError
from oodometer.predictions import Predictions
from oodometer.store import as_source

from ..snapshots import raises_snapshot

IDS = [f"id{i}" for i in range(6_000)]


def given(columns: dict[str, Any], form: str, folder: Path) -> Any:
    frame = pd.DataFrame(columns)
    match form:
        case "csv":
            frame.to_csv(folder / "t.csv", index=False)
        case "parquet":
            frame.to_parquet(folder / "t.parquet")
        case "jsonl":
            frame.to_json(folder / "t.jsonl", orient="records", lines=True)
        case _:
            return frame
    return folder / f"t.{form}"


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "pandas"])
@pytest.mark.parametrize("column", ["label", "prediction"])
@pytest.mark.parametrize("rows", [1_200, 6_000])
def test_ids_are_no_classes(column: str, rows: int, form: str, tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "label": ["cat", "dog"] * (rows // 2),
        "prediction": ["dog"] * rows,
        column: IDS[:rows],
    }
    words = f"column {column}: expected classes, at most 4,096 of them, got {rows:,} different values in {rows:,} rows"
    with raises_snapshot(InputError) as caught:
        as_source(given(columns, form, tmp_path)).read()
    assert f"--map COLUMN={column}" in str(caught.value)
    with pytest.raises(InputError, match=words):
        Predictions.from_arrays(label=columns["label"], prediction=columns["prediction"])


def test_more_classes_than_a_table_has_room_for() -> None:
    columns = {"label": IDS * 3, "prediction": IDS * 3}
    with raises_snapshot(InputError):
        Predictions.from_arrays(label=columns["label"], prediction=columns["prediction"])


def test_what_other_columns_hold_is_no_id() -> None:
    """Written answers hardly come twice, and are right where they are those of the label."""
    record = as_source(
        pd.DataFrame({"label": IDS[:1_500], "prediction": [*IDS[:1_000], *["?"] * 500]})
    ).read()
    assert np.isclose(record.accuracy, 2 / 3)


def test_labels_of_a_target_that_are_ids() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1], 1_500)
    reference = pd.DataFrame(
        {"label": rng.integers(2, size=1_500), "prob_0": p[:, 0], "prob_1": p[:, 1]}
    )
    target = pd.DataFrame({"label": IDS[:1_500], "prob_0": p[:, 0], "prob_1": p[:, 1]})
    with pytest.raises(InputError, match="label"):
        oodometer.estimate(reference, target)


def test_three_thousand_classes_with_probabilities() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(3_000, 0.01), 400).astype(np.float32)
    label = np.array([rng.choice(3_000, p=row / row.sum()) for row in p.astype(float)])
    source = as_source({"probabilities": p, "label": label})
    assert len(source.classes or ()) == 3_000
    assert 0 < source.read().accuracy <= 1

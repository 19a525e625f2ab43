"""A name in two forms of Unicode, as a Mac and a browser write an accent, is one class."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.predictions import Predictions
from oodometer.store import as_source

from ..snapshots import raises_snapshot

COMPOSED = unicodedata.normalize("NFC", "café")
APART = unicodedata.normalize("NFD", "café")
FORMS = ("csv", "parquet", "jsonl", "pandas", "dict")


def given(columns: dict[str, Any], form: str, folder: Path) -> Any:
    frame = pd.DataFrame(columns)
    match form:
        case "csv":
            frame.to_csv(folder / "t.csv", index=False)
        case "parquet":
            frame.to_parquet(folder / "t.parquet")
        case "jsonl":
            frame.to_json(folder / "t.jsonl", orient="records", lines=True, force_ascii=False)
        case "pandas":
            return frame
        case _:
            return columns
    return folder / f"t.{form}"


@pytest.mark.parametrize("form", FORMS)
def test_labels_and_predictions(form: str, tmp_path: Path) -> None:
    columns = {
        "label": [COMPOSED, APART, COMPOSED, "thé"],
        "prediction": [APART, COMPOSED, "thé", "thé"],
    }
    record = as_source(given(columns, form, tmp_path)).read()
    assert record.classes == (COMPOSED, "thé")
    assert record.accuracy == 0.75


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("column", [COMPOSED, APART])
def test_columns_of_classes(column: str, form: str, tmp_path: Path) -> None:
    columns = {
        "label": [COMPOSED, APART, "thé"],
        f"prob_{column}": [0.9, 0.2, 0.3],
        "prob_thé": [0.1, 0.8, 0.7],
    }
    for classes in (None, [COMPOSED, "thé"], [APART, "thé"]):
        record = as_source(given(columns, form, tmp_path), classes=classes).read()
        assert record.classes == (COMPOSED, "thé")
        assert np.isclose(record.accuracy, 2 / 3)


def test_one_form_of_a_class_beside_another_is_a_column_too_many() -> None:
    columns = {
        "label": ["thé"],
        f"prob_{COMPOSED}": [0.5],
        f"prob_{APART}": [0.4],
        "prob_thé": [0.1],
    }
    with raises_snapshot(oodometer.InputError):
        as_source(pd.DataFrame(columns))


def test_names_that_a_user_types() -> None:
    record = Predictions.from_arrays(
        label=[APART, "thé"], prediction=[COMPOSED, COMPOSED], classes=[APART, "thé"]
    )
    assert record.classes == (COMPOSED, "thé")
    assert record.accuracy == 0.5
    columns = {"label": [COMPOSED, "thé"] * 40, "prediction": [COMPOSED, "thé", "thé", "thé"] * 20}
    by_form = [
        oodometer.evaluate(pd.DataFrame(columns), positive=f"={name}") for name in (COMPOSED, APART)
    ]
    assert [result["recall"].value for result in by_form] == [0.5, 0.5]


def test_answers_in_one_cell() -> None:
    cells = [{name: 0.7, "thé": 0.3} for name in (COMPOSED, COMPOSED)]
    record = as_source(pd.DataFrame({"label": [APART, "thé"], "scores": cells})).read()
    assert record.classes == (COMPOSED, "thé")
    pairs = [
        [{"label": name, "score": 0.7}, {"label": "thé", "score": 0.3}]
        for name in (COMPOSED, APART)
    ]
    record = as_source(pd.DataFrame({"label": [APART, "thé"], "output": pairs})).read()
    assert record.accuracy == 0.5

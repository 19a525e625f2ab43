"""Columns of probabilities without names beside predictions that are words, which prove the order or leave it open."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oodometer

from ..snapshots import raises_snapshot

NAMES = np.array(
    ["fish", "cat", "dog"]
)  # the order of the columns, which is not that of the alphabet
NUMBERS = {"not counting": [30, 10, 20], "from 1": [1, 2, 3], "in another order": [2, 0, 1]}


def made(seed: int, rows: int = 300, names: Any = NAMES) -> dict[str, Any]:
    """Rows of a model that is right in about nine of ten."""
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=rows)
    scores = rng.normal(size=(rows, 3))
    scores[np.arange(rows), label] += 2.5
    p = np.exp(scores)
    p /= p.sum(axis=1, keepdims=True)
    return {
        "label": names[label].tolist(),
        "prediction": names[p.argmax(axis=1)].tolist(),
        "probabilities": p.tolist(),
    }


def right(data: dict[str, Any]) -> float:
    return float(np.mean([a == b for a, b in zip(data["label"], data["prediction"], strict=True)]))


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "npz", "mapping"])
@pytest.mark.parametrize("names", [NAMES, *map(np.array, NUMBERS.values())])
def test_the_order_of_nameless_columns_is_the_predictions(
    names: Any, form: str, tmp_path: Path
) -> None:
    data = made(0, names=names)
    path = tmp_path / f"rows.{form}"
    if form == "parquet":
        pq.write_table(pa.table(data), path)
    elif form == "jsonl":
        rows = [dict(zip(data, cells, strict=True)) for cells in zip(*data.values(), strict=True)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "csv":
        cells = [
            [json.dumps(cell).replace('"', "") for cell in row]
            for row in zip(*data.values(), strict=True)
        ]
        path.write_text("\n".join(";".join(row) for row in [[*data], *cells]))
    elif form == "npz":
        np.savez(path, **{name: np.array(cells) for name, cells in data.items()})
    given = data if form == "mapping" else path
    found = oodometer.evaluate(given)
    assert found.metrics["accuracy"].value == pytest.approx(right(data))
    assert found.metrics["roc_auc"].value > 0.9  # the probabilities go with the labels


def test_a_target_follows_the_reference() -> None:
    reference, target = made(1), made(2)
    del target["label"]
    result = oodometer.estimate(reference, target, backtest="none")
    named = [{**data, "classes": NAMES.tolist()} for data in (reference, target)]
    same = oodometer.estimate(*named, backtest="none")
    assert result.headline.value == same.headline.value


def test_without_predictions_the_order_is_asked_for() -> None:
    data = made(3)
    del data["prediction"]
    with raises_snapshot(oodometer.InputError):
        oodometer.evaluate(data)


def test_predictions_that_contradict_each_other_prove_nothing() -> None:
    data = made(4)
    rng = np.random.default_rng(0)
    data["prediction"] = NAMES[rng.integers(3, size=len(data["label"]))].tolist()
    with raises_snapshot(oodometer.InputError):
        oodometer.evaluate(data)


def test_swapped_columns_are_named_in_a_remedy_that_works(tmp_path: Path) -> None:
    data = made(5, names=np.array([2, 0, 1]))
    p = np.array(data.pop("probabilities"))
    table = pd.DataFrame({**data, **{f"prob_{k}": p[:, k] for k in range(3)}})
    with pytest.raises(oodometer.InputError) as refused:
        oodometer.evaluate(table)
    maps = re.findall(r"--map (\w+)=(\w+)", str(refused.value.remedy))
    assert oodometer.evaluate(table, mapping=dict(maps)).metrics["accuracy"].value == right(data)

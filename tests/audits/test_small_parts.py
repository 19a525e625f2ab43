"""How labels are joined, and what a worksheet calls its columns: small functions on their smallest case."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oodometer.audits.joining import (
    _differ,
    _shared,
    _whole_numbers,
    joined_truth,
    key_of,
    matched_rows,
    wrong_where_unseen,
)
from oodometer.audits.suggestion import Suggestion
from oodometer.audits.worksheet import Worksheet
from oodometer.store import as_source


def test_labels_are_joined_by_key_row_or_place() -> None:
    labels, target = (
        as_source({"loan": [7], "label": [1]}),
        as_source({"id": [7], "prediction": [1]}),
    )
    assert (key_of("id=loan", labels, target), key_of(None, labels, target)) == (
        ("id", "loan"),
        None,
    )
    labels, target = (
        as_source({"id": ["c", "a"], "label": [1, 0]}),
        as_source({"id": [*"abc"], "prediction": [0, 1, 1]}),
    )
    rows = matched_rows(labels, target, 3)
    assert rows.row.tolist() == [2, 0]
    labels = as_source({"row": [2], "label": [1]}, extra_columns=["row"], axes=target.axes)
    truth = joined_truth(labels, target)[0].label
    assert truth.tolist() == [-1, -1, 1]


def test_columns_that_say_whether_rows_are_the_same() -> None:
    one, other = (
        {"mail": ["a"], name: ["b"], "y_pred": [0], "label": [1]} for name in ("Site", "site")
    )
    assert _shared(as_source(one), as_source(other)) == [("mail", "mail"), ("Site", "site")]
    assert _differ(pa.array(["7", "x "]), pa.array(["7.0", "X"])).tolist() == [0]
    assert _differ(pa.array(["0.5"]), pa.array(["0.50"])).tolist() == []
    whole = [_whole_numbers(pa.array(ids)).to_pylist() for ids in (["7.0", "12.0"], ["1.0", "1.1"])]
    assert whole == [["7", "12"], ["1.0", "1.1"]]


def test_labels_of_classes_that_the_model_does_not_know_are_its_errors() -> None:
    source, warnings = wrong_where_unseen(
        as_source({"prob_ant": [0.9, 0.2], "prob_bee": [0.1, 0.8], "label": ["ant", "elk"]})
    )
    assert source.read().accuracy == 0.5
    assert warnings == (
        "table: 1 labels are of classes that the model does not know ('elk'): they count as its errors",
    )


def test_columns_called_like_the_draw_are_renamed() -> None:
    target = as_source(pa.table({"id": [1], "row": [2], "target_row": [3], "prediction": [1]}))
    drawn = Suggestion(
        np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.ones(1), np.ones(1), 1.0
    )
    table = Worksheet.of(drawn, target, predicted=None).table()
    assert table.column_names[:3] == ["id", "target_target_row", "target_row"]

"""Documents: rows of a JSON document wherever they stand in it, by every command, or what stands there instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import oodometer
from oodometer.errors import InputError
from oodometer.store.documents import read_document

ROWS: list[dict[str, Any]] = [{"id": f"q{i}", "correct": i % 4 > 0} for i in range(8)]
PLACES: dict[str, Any] = {
    "an array": ROWS,
    "a list in a document": {"model": "m", "run": {"rows": ROWS, "stats": {"n": 8}}},
    "objects by their id": {row["id"]: {"correct": row["correct"], "said": "a"} for row in ROWS},
    "attempts by their id": {row["id"]: [{"correct": row["correct"]}] for row in ROWS},
    "columns and rows": {"columns": ["id", "correct"], "data": [[*row.values()] for row in ROWS]},
    "numbered cells by name": {
        name: {str(i): row[name] for i, row in enumerate(ROWS)} for name in ("id", "correct")
    },
    "lists by name": {name: [row[name] for row in ROWS] for name in ("id", "correct")},
}


@pytest.mark.parametrize("place", PLACES)
def test_rows_are_read_wherever_they_stand(tmp_path: Path, place: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(PLACES[place], indent=1))
    assert oodometer.evaluate(path)["accuracy"].value == 6 / 8
    reading = oodometer.read(path)
    assert reading.accuracy is not None
    assert reading.accuracy.value == 6 / 8
    assert reading.ids == {"column": "id", "distinct": 8, "most": 1}


def test_json_lines_and_single_rows_are_no_documents(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert read_document(str(path)) is None
    assert oodometer.evaluate(path).rows == 8
    path.write_text(json.dumps(ROWS[0]))
    assert read_document(str(path)) is None


def test_cells_of_several_kinds_do_not_stop_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "mixed.json"
    said = [1, "x", {"y": 1}, None, [2]]
    rows = [{"said": cell, "correct": True} for cell in said]
    path.write_text(json.dumps([*rows, {"correct": False, "note": "late"}]))
    document = read_document(str(path))
    assert document is not None
    assert document.table.column("said").to_pylist() == ["1", "x", '{"y": 1}', None, "[2]", None]
    assert oodometer.evaluate(path)["accuracy"].value == pytest.approx(5 / 6)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"accuracy": 0.5}, "got totals alone: `accuracy` (0.5); run the harness again"),
        ({"results": {}}, "got totals alone; run the harness again"),
        (
            {"runs": {"a": {"q": 1, "ok": True}}, "config": {"k": 1}},
            "got `runs` (1 name: a), `config` (1 name: k); write a list of at least 5 objects",
        ),
        ({"a": ROWS, "b": ROWS}, "`a` and `b`, both of 8"),
        ([1, 2], "row 1: expected a JSON object, got int"),
    ],
)
def test_what_stands_in_the_place_of_rows_is_described(
    tmp_path: Path, document: Any, said: str
) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError) as error:
        oodometer.evaluate(path)
    assert said in str(error.value)

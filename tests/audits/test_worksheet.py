"""Worksheets: suggested rows with the target's own columns, out to a table or a spreadsheet and back as labels."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import audit
from oodometer.errors import InputError, UsageError
from oodometer.predictions import Predictions
from oodometer.store import as_source
from oodometer.store.write import guarded, same_cell, unguarded
from oodometer.testing import example_record

REFERENCE, TARGET = example_record(300, seed=1), example_record(200, seed=2, difficulty=1.5)
SOURCE = Predictions.from_arrays(probabilities=REFERENCE.probabilities, label=REFERENCE.label)
NASTY = ["=1+1", "+SUM(A1)", "-well", "@x", "\t=1", "-0.5", "plain", 'say "é", \n</script>']
ODD_IDS = ["007", "1234567890123456789", "1e5", "=cmd", "ü7", "-3"]


def rows_of(record: Predictions) -> list[dict[str, Any]]:
    """The target as a stranger has it: odd ids, odd texts, columns called as ours."""
    names = [f"p_{c}" for c in range(record.probabilities.shape[1])]
    return [
        {
            "cust": ODD_IDS[i] if i < len(ODD_IDS) else f"{i:05d}",
            "text": NASTY[i % len(NASTY)],
            "weight": 70 + i,
            "row": i + 1000,
            **{name: float(p) for name, p in zip(names, record.probabilities[i], strict=True)},
            "label": None,
        }
        for i in range(len(record))
    ]


MAPPING = {"cust": "id"} | {f"p_{c}": f"prob_{c}" for c in range(4)}


@pytest.fixture(scope="module", params=["csv", "jsonl", "parquet"])
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("target") / f"target.{request.param}"
    rows = rows_of(TARGET)
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=64)
    return path


def ask(target: Path, **more: Any) -> Any:
    return audit(SOURCE, target, methods=["ac"], mapping=MAPPING, **more)


def read_sheet(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def write_sheet(path: Path, rows: list[dict[str, Any]], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_rows_go_out_with_all_columns_and_come_back(target: Path, tmp_path: Path) -> None:
    out = tmp_path / "next.csv"
    found = ask(target, suggest=200, out=out)
    assert out.read_bytes().startswith(b"\xef\xbb\xbf"), "a letter is not ASCII: Excel needs the mark"
    rows, given = read_sheet(out), rows_of(TARGET)
    assert list(rows[0])[:4] == ["cust", "text", "target_weight", "target_row"]
    assert list(rows[0])[-7:] == ["draw", "row", "stratum", "probability", "weight", "share", "label"]
    for row, at in zip(rows, found.suggestion.row.tolist(), strict=True):
        assert int(row["row"]) == at
        assert unguarded(row["cust"]) == given[at]["cust"]
        assert unguarded(row["text"]) == given[at]["text"]
        assert int(row["target_row"]) == at + 1000
        assert float(row["p_2"]) == given[at]["p_2"]
        assert row["label"] == ""
        assert not any(cell[:1] in tuple("=+@\t") for cell in row.values())
    assert sum(row["text"].startswith("'") for row in rows) == 200 * 5 // 8
    for row in rows[:60]:
        row["label"] = str(TARGET.label[int(row["row"])])
    back = ask(target, labels=write_sheet(tmp_path / "back.csv", rows))
    plain = {"row": found.suggestion.row[:60], "label": TARGET.label[found.suggestion.row[:60]]}
    assert back.labels == 60
    same = ask(target, labels=plain)
    assert (back.correct, back.estimate) == (same.correct, same.estimate)


def test_what_a_spreadsheet_does_to_a_file_is_forgiven(target: Path, tmp_path: Path) -> None:
    """As LibreOffice and Excel save it: 007 is 7, long numbers are rounded, semicolons, decimal commas, sorted anew."""
    out = tmp_path / "next.csv"
    ask(target, suggest=200, out=out)
    rows = read_sheet(out)[::-1]
    assert any(row["cust"] == "007" for row in rows)
    for row in rows:
        row["label"] = str(TARGET.label[int(row["row"])])
        row["cust"] = {"1234567890123456789": "1,23457E+18", "1e5": "100000"}.get(row["cust"], row["cust"].lstrip("0"))
        row["probability"] = f"{float(row['probability']):.6g}".replace(".", ",")
    found = ask(target, labels=write_sheet(tmp_path / "back.csv", rows, ";"))
    assert found.labels == 200
    assert found.correct == int((TARGET.predicted == TARGET.label).sum())
    other = next(row for row in rows if row["cust"] == "7")
    other["cust"] = "8"
    with pytest.raises(InputError, match=r"column id: expected '007', the id of target row 0, got '8'; write it so"):
        ask(target, labels=write_sheet(tmp_path / "wrong.csv", rows, ";"))


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "arrow"])
def test_tables_keep_what_was_there(target: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"next.{ending}"
    found = ask(target, suggest=30, out=out)
    table = as_source(out, mapping={"cust": "id"}, extra_columns=["text", "row"])
    assert table.columns[-1] == "label"
    record, given = table.read(["label"]), rows_of(TARGET)
    assert (record.columns["row"] == found.suggestion.row).all()
    assert record.columns["text"].tolist() == [given[at]["text"] for at in found.suggestion.row.tolist()]


def test_a_threshold_and_a_lone_probability(tmp_path: Path) -> None:
    p = np.linspace(0.02, 0.98, 60)
    frame = {"score": p, "note": [f"n{i}" for i in range(60)]}
    asked: dict[str, Any] = {"positive": "score", "threshold": 0.6, "methods": ["ac"]}
    out = tmp_path / "next.csv"
    audit({**frame, "label": (p > 0.5).astype(int)}, frame, suggest=20, out=out, **asked)
    rows = read_sheet(out)
    for row in rows:
        row["label"] = str(int(p[int(row["row"])] >= 0.6))
    back = audit({**frame, "label": (p > 0.5).astype(int)}, frame, labels=write_sheet(out, rows), **asked)
    assert (back.labels, back.correct) == (20, 20)


def test_files_that_no_sheet_can_be(tmp_path: Path) -> None:
    plain = {"probabilities": TARGET.probabilities}
    for out, message in (("x.xlsx", "for a spreadsheet"), ("x.npz", "a page to label on"), ("x", "end the name in")):
        with pytest.raises(UsageError, match=message):
            audit(SOURCE, plain, suggest=3, out=tmp_path / out)
    with pytest.raises(UsageError, match=r'mapping=\{"draw": "id"\}'):
        audit(SOURCE, plain, suggest=3, out=tmp_path / "x.csv", key="draw")


def test_cells() -> None:
    assert [guarded(text) for text in NASTY[:6]] == ["'=1+1", "'+SUM(A1)", "'-well", "'@x", "'\t=1", "-0.5"]
    assert all(unguarded(guarded(text)) == text for text in (*NASTY, *ODD_IDS, "", "'", "'a"))
    same = [("007", "7"), ("1e5", "100000"), ("true", "TRUE"), ("a", " a "), ("=x", "'=x"), (None, None)]
    assert all(same_cell(*pair) for pair in same)
    other = [("7", "8"), ("12345", "12346"), ("a", "A"), ("1234567890123456", "1234567890123956"), ("7", None)]
    assert not any(same_cell(*pair) for pair in other)

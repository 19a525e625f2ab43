"""Reading: names of columns, kinds of text files, what is loaded, what unknown looks like."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oodometer.predictions import Predictions
from oodometer.store import open_predictions, read_predictions, write_predictions

Put = Callable[[str, str | bytes], Path]
HEAD = "prob_cat,prob_dog,label\n"
LINES = '{"prob_cat":0.9,"prob_dog":0.1,"label":"cat"}\r\n'


def labels(record: Predictions) -> list[int | str | None]:
    assert record.label is not None
    return [record.classes[i] if i >= 0 else None for i in record.label]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("unix.csv", HEAD + "0.9,0.1,cat\n0.4,0.6,\n"),
        ("windows.csv", ("\ufeff" + HEAD + "0.9,0.1,cat\n0.4,0.6,\n").replace("\n", "\r\n")),
        ("old.csv", (HEAD + "0.9,0.1,cat\n0.4,0.6,\n").replace("\n", "\r")),
        ("open_end.csv", HEAD + "0.9,0.1,cat\n0.4,0.6,"),
        ("blanks.csv", "prob_cat, prob_dog, label\n0.9, 0.1, cat\n0.4, 0.6, \n"),
        ("gaps.csv", "\n" + HEAD + "0.9,0.1,cat\n\n0.4,0.6,\n\n"),
        ("quoted.csv", '"prob_cat","prob_dog","label"\n"0.9","0.1","cat"\n"0.4","0.6",""\n'),
        ("semicolon.csv", "prob_cat;prob_dog;label\n0,9;0,1;cat\n0,4;0,6;\n"),
        ("points.csv", "prob_cat;prob_dog;label\n0.9;0.1;cat\n0.4;0.6;\n"),
        ("tabs.tsv", "prob_cat\tprob_dog\tlabel\n0.9\t0.1\tcat\n0.4\t0.6\t\n"),
        ("nan.csv", HEAD + "0.9,0.1,cat\n0.4,0.6,NaN\n"),
        ("packed.csv.gz", gzip.compress((HEAD + "0.9,0.1,cat\n0.4,0.6,\n").encode(), mtime=0)),
        ("lines.jsonl", LINES + '{"prob_cat":0.4,"prob_dog":0.6,"label":null}\n'),
        ("absent.ndjson", LINES + '\r\n{"prob_cat":0.4,"prob_dog":0.6}'),
        ("packed.csv.xz", lzma.compress((HEAD + "0.9,0.1,cat\n0.4,0.6,\n").encode())),
        ("packed.jsonl.bz2", bz2.compress((LINES + '{"prob_cat":0.4,"prob_dog":0.6}').encode())),
        ("packed.jsonl.gz", gzip.compress((LINES + '{"prob_cat":0.4,"prob_dog":0.6}').encode(), mtime=0)),
    ],
)  # fmt: skip
def test_text_files_people_have(put: Put, name: str, content: str | bytes) -> None:
    record = read_predictions(put(name, content))
    assert record.classes == ("cat", "dog")
    assert labels(record) == ["cat", None]
    assert record.probabilities.tolist() == [[0.9, 0.1], [0.4, 0.6]]


def test_classes_are_integers_where_all_are_written_so(put: Put) -> None:
    assert open_predictions(put("a.csv", "prob_2,prob_0\n1,0\n")).classes == (2, 0)
    assert open_predictions(put("b.csv", "prob_2,prob_x\n1,0\n")).classes == ("2", "x")
    assert open_predictions(put("c.csv", "label,prediction\n10,9\n9.0,9\n")).classes == (9, 10)
    assert open_predictions(put("d.csv", "label,prediction\nTrue,False\n")).classes == (
        "False",
        "True",
    )
    assert open_predictions(put("e.csv", "label,member_a\nx,y\n,z\n")).classes == ("x", "y", "z")


def test_whole_floats_are_integers(tmp_path: Path, put: Put) -> None:
    assert labels(read_predictions(put("a.csv", "prob_0,prob_1,label\n1,0,1.0\n1,0,nan\n"))) == [
        1,
        None,
    ]
    pq.write_table(pa.table({"label": [1.0, None], "prediction": [1, 2]}), tmp_path / "p.parquet")
    assert labels(read_predictions(tmp_path / "p.parquet")) == [1, None]


def test_truth_as_people_write_it(put: Put) -> None:
    record = read_predictions(
        put("a.csv", "confidence,correct\n0.5,True\n0.5,no\n0.5,\n0.5,1\n0.5, false\n")
    )
    assert record.correct.tolist() == [1, 0, -1, 1, 0]


def test_boolean_labels_match_classes_by_name(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"prob_False": [0.9], "prob_True": [0.1], "label": [True]}), tmp_path / "p.parquet"
    )
    assert labels(read_predictions(tmp_path / "p.parquet")) == ["True"]
    pq.write_table(
        pa.table({"prob_0": [0.9], "prob_1": [0.1], "label": [True]}), tmp_path / "q.parquet"
    )
    assert labels(read_predictions(tmp_path / "q.parquet")) == [1]


def test_mapping_and_further_columns(put: Put) -> None:
    path = put("a.csv", "P_cat,P_dog,y_true,age,who\n0.9,0.1,cat,31,ann\n0.4,0.6,dog,45,\n")
    mapping = {"P_cat": "prob_cat", "P_dog": "prob_dog", "y_true": "label"}
    record = read_predictions(path, mapping=mapping, extra_columns=["age", "who", "y_true"])
    assert labels(record) == ["cat", "dog"]
    assert {k: v.tolist() for k, v in record.columns.items()} == {
        "age": [31, 45],
        "who": ["ann", None],
        "y_true": ["cat", "dog"],
    }


def test_type_of_a_further_column_does_not_depend_on_the_batch(put: Put) -> None:
    path = put("a.csv", "confidence,group\n" + "0.5,1\n" * 300_000 + "0.5,x\n")
    batch = next(open_predictions(path).batches(rows=10))
    assert batch.group.tolist() == ["1"] * 10


def test_fields_asked_for_and_their_stand_ins(tmp_path: Path) -> None:
    table = pa.table(
        {"logits": [[1.0, 0.0]], "label": [0], "input": ["hello"], "features": [[1.0, 2.0]]}
    )
    pq.write_table(table, tmp_path / "p.parquet")
    source = open_predictions(tmp_path / "p.parquet")
    assert source.fields == ("label", "probabilities", "logits", "features", "input")
    assert source.read().fields == ("label", "probabilities", "logits", "features")
    assert source.read(["probabilities"]).fields == ("probabilities", "logits")
    assert source.read(["prediction", "label"]).predicted.tolist() == [0]
    assert source.read(["input"]).fields == ("input",)
    assert source.columns == ("logits", "label", "input", "features")


def test_batches_of_very_wide_rows_are_shorter(tmp_path: Path) -> None:
    names = [f"prob_{k}" for k in range(1000)]
    path = tmp_path / "p.csv"
    path.write_text(",".join(names) + "\n" + (",".join(["0.001"] * 1000) + "\n") * 9000)
    batches = list(open_predictions(path).batches())
    assert sum(map(len, batches)) == 9000
    assert max(map(len, batches)) <= 8000
    assert batches[0].num_classes == 1000


def test_row_longer_than_a_block(put: Put) -> None:
    long = "word " * 500_000
    record = read_predictions(put("a.csv", f"confidence,input\n0.5,{long}\n" + "0.5,short\n" * 3))
    assert record.rows == 4


def test_jsonl_of_many_blocks(tmp_path: Path) -> None:
    rows = [{"confidence": 0.5, "output": "x" * 100, "group": i % 5} for i in range(120_000)]
    rows[-1]["correct"] = True  # a truth that no line of the first block has
    path = tmp_path / "p.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    record = read_predictions(path)
    assert record.rows == 120_000
    assert (record.correct[-1], int((record.correct < 0).sum())) == (1, 119_999)
    with path.open("a") as file:
        file.write('\n{"confidence": "x"}')
    with pytest.raises(ValueError, match="row 120001: column confidence"):
        read_predictions(path)


def test_jsonl_floats_after_integers(put: Put) -> None:
    record = read_predictions(
        put("a.jsonl", '{"label": 1, "prediction": 1}\n{"label": 2.0, "prediction": 1}\n')
    )
    assert labels(record) == [1, 2]


def test_npz_packed_and_in_column_order(tmp_path: Path) -> None:
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    members = np.array([[0, 1, 1], [0, 0, 1]])
    np.savez_compressed(tmp_path / "a.npz", probabilities=probabilities, members=members)
    np.savez(tmp_path / "b.npz", probabilities=np.asfortranarray(probabilities), members=members)
    np.savez(
        tmp_path / "c.npz", prob_0=probabilities[:, 0], prob_1=probabilities[:, 1], members=members
    )
    for name in "abc":
        record = Predictions.concat(
            list(open_predictions(tmp_path / f"{name}.npz").batches(rows=2))
        )
        assert record.probabilities.tolist() == probabilities.tolist()
        assert record.members.tolist() == members.tolist()


def test_npz_padded_log_probabilities(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "a.npz",
        token_logprobs=[[-1.0, np.nan], [-2.0, -3.0], [np.nan, np.nan]],
        correct=[1, 0, 1],
    )
    ragged = read_predictions(tmp_path / "a.npz").token_logprobs
    assert ragged.lengths.tolist() == [1, 2, 0]


def test_arrow_streams(tmp_path: Path) -> None:
    table = pa.table({"probabilities": [[0.9, 0.1]] * 10, "label": [0] * 10})
    with pa.ipc.new_stream(tmp_path / "p.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    source = open_predictions(tmp_path / "p.arrow")
    assert [b.first_row for b in source.batches()] == [0, 4, 8]
    assert source.rows == 10


def test_types_that_other_tools_write(tmp_path: Path) -> None:
    from datetime import UTC, date, datetime
    from decimal import Decimal

    table = pa.table({
        "probabilities": pa.array([[0.75, 0.25]] * 2, pa.list_(pa.float16(), 2)),
        "label": pa.array(["1", None]).dictionary_encode(),
        "members": pa.array([["0", "1"], ["1", "1"]], pa.large_list(pa.large_string())),
        "confidence": pa.array([Decimal("0.5"), Decimal("1")]),
        "time": pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * 2, pa.timestamp("ns", tz="Europe/Berlin")),
        "group": pa.array([date(2026, 1, 1)] * 2),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "p.parquet")
    record = read_predictions(tmp_path / "p.parquet")
    assert labels(record) == [1, None]
    assert record.probabilities.dtype == np.float32
    assert record.members.tolist() == [[0, 1], [1, 1]]
    assert record.confidence.tolist() == [0.5, 1]
    assert str(record.time[0]) == "2026-01-01T00:00:00.000000"


def test_column_names_with_dots(tmp_path: Path) -> None:
    table = pa.table({"prob_a": [0.5], "prob_a.b": [0.25], "prob_a.c": [0.25], "label": ["a.b"]})
    pq.write_table(table, tmp_path / "p.parquet")
    assert labels(read_predictions(tmp_path / "p.parquet")) == ["a.b"]


def test_member_names_stay(put: Put) -> None:
    record = read_predictions(
        put("a.csv", "member_small,member_big,vote_judge,feature_0\na,b,1,0.5\n")
    )
    assert dict(record.names) == {"model": ("small", "big"), "judge": ("judge",)}


@pytest.mark.skipif(os.name == "nt", reason="needs the module resource")
def test_a_pass_holds_a_few_batches_of_many_rows(tmp_path: Path) -> None:
    """A pass over millions of rows holds a few batches, not the file."""
    rng = np.random.default_rng(0)
    weights = rng.random((200_000, 10), dtype=np.float32)
    probabilities = np.concatenate([weights / weights.sum(axis=1, keepdims=True)] * 15)
    write_predictions(Predictions.from_probabilities(probabilities), tmp_path / "p.parquet")
    code = (
        "import resource, sys; from oodometer.store import open_predictions\n"
        f"source = open_predictions({str(tmp_path / 'p.parquet')!r})\n"
        "next(iter(source.batches()))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert sum(len(b) for b in source.batches()) == 3_000_000\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 60_000_000, "the file's numbers take 120 MB"


def test_import_loads_no_library_of_formats() -> None:
    code = "import sys, oodometer.store; print(sorted({'pyarrow', 'pandas', 'polars', 'narwhals'} & set(sys.modules)))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


def test_a_path_in_a_footer_that_is_no_text_is_not_needed(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"candidate_scores": [[0.1, 0.2], [0.3, 0.4, 1.0]], "label": [0, 2]}), path
    )
    content, name = path.read_bytes(), b"candidate_scores"
    path.write_bytes(
        content[: content.rindex(name)] + b"\xff" + content[content.rindex(name) + 1 :]
    )
    assert read_predictions(path).label.tolist() == [0, 2]

"""Bad files: each gives one clear line that names the file, and the row and the column where there is one."""

from __future__ import annotations

import gzip
import lzma
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oodometer.errors import InputError, UsageError
from oodometer.predictions import Predictions
from oodometer.store import as_source, open_predictions, read_predictions

from ..snapshots import assert_snapshot, raises_snapshot

Put = Callable[[str, str | bytes], Path]
HEAD = "prob_cat,prob_dog,label\n"
GOOD = "0.9,0.1,cat\n"


def refused(path: Path, **options: Any) -> InputError:
    """Read everything; return the one error, which must name the file and be one line."""
    with pytest.raises(InputError) as caught:
        open_predictions(path, **options).read()
    error = caught.value
    assert error.file == str(path)
    assert "\n" not in str(error)
    assert error.remedy or error.naming
    return error


# name, content, row, column, words in the message
FILES: list[tuple[str, str | bytes, int | None, str | None, str]] = [
    ("empty.csv", "", None, None, "an empty file"),
    ("empty.parquet", "", None, None, "an empty file"),
    ("header.csv", HEAD, None, None, "at least one row"),
    ("blank.csv", "\n\n", None, None, "blank lines"),
    ("blank.jsonl", "\n\n", None, None, "at least one row"),
    ("short.csv", HEAD + GOOD + "0.9,0.1\n", 2, None, "3 cells, as in the header line, got 2"),
    ("long.csv", HEAD + GOOD + "0.9,0.1,cat,1\n", 2, None, "got 4"),
    ("quote.csv", 'label,prediction\n"a,a\nb,b\n', 1, None, "got 1"),
    ("cell.csv", HEAD + GOOD * 3 + "0.9,high,cat\n", 4, "prob_dog", "a number, got 'high'"),
    ("percent_sign.csv", HEAD + GOOD + "90%,10%,cat\n", 2, "prob_cat", "write 70% as 0.7"),
    ("no_percent.csv", HEAD + "90%,10%,cat\n0.9,0.1,cat\n", 2, "prob_cat", "percents such as 73.1%, as in row 1"),
    ("percents.csv", HEAD + "90,10,cat\n90,20,cat\n", 1, "prob_*", "sum to 1"),
    ("lone.csv", "prob_1,label\n90,1\n", 1, "prob_1", "divide them by 100"),
    ("comma.csv", HEAD + '"0,9","0,1",cat\n', 1, "prob_cat", "decimal points, not commas"),
    ("null.csv", HEAD + GOOD + "0.9,,cat\n", 2, "prob_dog", "null (an empty cell)"),
    ("nan.csv", HEAD + GOOD + "nan,0.1,cat\n", 2, "prob_cat", "a finite number, got nan"),
    ("sum.csv", HEAD + GOOD + "0.9,0.9,cat\n", 2, "prob_*", "sums to 1.8"),
    ("negative.csv", HEAD + "1.1,-0.1,cat\n", 1, "prob_dog", "logit_"),
    ("twice.csv", "prob_a,prob_b,prob_a\n1,0,0\n", None, "prob_a", "prob_a twice"),
    ("both.csv", 'prob_a,prob_b,probabilities\n1,0,"[1,0]"\n', None, "prob_a", "got both"),
    ("nothing.csv", "x,y\n1,2\n", None, None, "got x, y; the file has y: --map y=label"),
    ("renamed.csv", "y_pred,y_pred_proba,age\na,0.5,1\n", None, None,
     "the file has y_pred, y_pred_proba: --map y_pred=prediction --positive y_pred_proba"),
    ("class.csv", HEAD + GOOD + "0.9,0.1,bird\n", 2, "label", "(cat, dog), got 'bird'"),
    ("swapped.csv", HEAD.replace("label", "prediction") + "0.2,0.8,cat\n0.9,0.1,dog\n", 1, "prediction", "swapped"),
    ("unpredicted.csv", "prediction,prob_a,prob_b\na,0.9,0.1\n,0.2,0.8\n", 2, "prediction", "class, got null"),
    ("mixed.csv", "label,prediction\n1,1\n2,2\ncat,1\n", 3, "label", "all integers or all strings, got '1' and 'cat'"),
    ("truth.csv", "confidence,correct\n0.5,True\n0.5,perhaps\n", 2, "correct", "true or false"),
    ("confidence.csv", "confidence,correct\n0.5,1\n1.5,1\n", 2, "confidence", "between 0 and 1, got 1.5"),
    ("time.csv", "confidence,time\n0.5,2026-01-31\n0.5,yesterday\n", 2, "time", "a timestamp, got 'yesterday'"),
    ("lists.csv", 'probabilities\n"[0.9,0.1]"\n[0.2 0.8]\n', 2, "probabilities", "got '[0.2 0.8]'"),
    ("lengths.csv", 'probabilities\n"[0.9,0.1]"\n"[1,0,0]"\n', 2, "probabilities", "a list of 2 entries"),
    ("latin.csv", HEAD.encode() + GOOD.encode() + b"0.9,0.1,caf\xe9\n", 2, None, "text in UTF-8"),
    ("latin_head.csv", b"prob_caf\xe9,prob_b\n1,0\n", None, None, "byte 0xe9"),
    ("utf16.csv", (HEAD + GOOD).encode("utf-16")[:-1], None, None, "utf-16"),
    ("binary.csv", bytes(range(256)), None, None, "binary data"),
    ("binary.jsonl", bytes(range(256)), None, None, "binary data"),
    ("cut.csv.gz", gzip.compress((HEAD + GOOD * 999).encode())[:50], None, None, "cut off or damaged"),
    ("cut.csv.xz", lzma.compress((HEAD + GOOD * 999).encode())[:60], None, None, "cut off or damaged"),
    ("flipped.csv.xz", lzma.compress((HEAD + GOOD * 999).encode())[:40] + b"x" * 60, None, None, "cut off or damaged"),
    ("text.parquet", HEAD + GOOD, None, None, "parquet (by its ending), got other bytes"),
    ("text.npz", HEAD + GOOD, None, None, "npz (by its ending), got other bytes"),
    ("text.arrow", HEAD + GOOD, None, None, "a whole and readable arrow file"),
    ("array.jsonl", "[1, 2]\n", None, None, "a JSON array"),
    ("broken.jsonl", '{"confidence": 0.5}\n{bad\n', 2, None, "a JSON object on the line"),
    ("number.jsonl", '{"confidence": 0.5}\n\n3\n', 2, None, "a JSON object on the line, got 3"),
    ("latin.jsonl", b'{"label": "a"}\n{"label": "caf\xe9"}\n', 2, None, "UTF-8"),
    ("types.jsonl", '{"label": 1}\n{"label": "cat"}\n', 2, "label", "'cat'"),
    ("text.jsonl", '{"confidence": 0.5}\n{"confidence": "high"}\n', 2, "confidence", "a number, got 'high'"),
    ("missing.jsonl", '{"probabilities": [0.9, 0.1]}\n{"label": 0}\n', 2, "probabilities", "got null"),
    ("lengths.jsonl", '{"probabilities": [0.9, 0.1]}\n{"probabilities": [1]}\n', 2, "probabilities", "2 entries"),
    ("inner.jsonl", '{"probabilities": [0.9, 0.1]}\n{"probabilities": [1, "x"]}\n', 2, "probabilities", "numbers"),
    ("uneven.jsonl", '{"member_probabilities": [[], [1]]}\n', 1, "member_probabilities", "a list of 0 entries"),
    ("nan.jsonl", '{"confidence": 0.5}\n{"confidence": NaN}\n', 2, "confidence", "a finite number, got nan"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "row", "column", "words"), FILES, ids=[f[0] for f in FILES]
)
def test_bad_text(
    put: Put, name: str, content: str | bytes, row: int | None, column: str | None, words: str
) -> None:
    error = refused(put(name, content))
    assert error.row == row
    assert error.column == column
    assert words in str(error)


# columns of a Parquet file, row, column, words
TABLES: dict[str, tuple[dict[str, Any], int | None, str | None, str]] = {
    "null list": ({"probabilities": [[0.9, 0.1], None]}, 2, "probabilities", "a list, got null"),
    "null entry": ({"probabilities": [[0.9, 0.1], [0.9, None]]}, 2, "probabilities", "a number, got null"),
    "lengths": ({"probabilities": [[0.9, 0.1], [1.0]]}, 2, "probabilities", "2 entries"),
    "no list": ({"probabilities": [0.9, 0.1]}, 1, "probabilities", "a list a row, got 0.9"),
    "one class": ({"probabilities": [[1.0], [1.0]]}, None, "probabilities", "at least two classes"),
    "text": ({"prob_a": ["1"], "prob_b": ["0"]}, 1, "prob_a", "a number, got '1'"),
    "names": ({"probabilities": [[1.0, 0.0]], "label": ["cat"]}, 1, "label", "classes=[...]"),
    "outside": ({"probabilities": [[1.0, 0.0]] * 2, "label": [1, 2]}, 2, "label", "2 known classes (0, 1), got 2"),
    "scores": ({"label": [0, 1], "prediction": [1.0, 0.5]}, 2, "prediction", "not scores"),
    "epoch": ({"confidence": [0.5], "time": [0]}, 1, "time", "a timestamp (8 digits are a day, got 0"),
    "member": ({"members": [["a", "b"], ["a", None]]}, 2, "members", "a predicted class, got null"),
    "wide member": ({"member_x": ["a", "b"], "member_y": ["a", None]}, 2, "member_*", "a predicted class, got null"),
    "vote": ({"vote_x": [True, None], "label": [1, 1]}, 2, "vote_*", "a verdict from every judge"),
    "inner": ({"member_probabilities": [[[1.0, 0]] * 2, [[1.0, 0], [1.0]]]}, 2, "member_probabilities", "2 entries"),
    "logprobs": ({"token_logprobs": [[-0.1], [0.5]]}, 2, "token_logprobs", "at most 0"),
    "verdict": ({"confidence": [0.5, 0.5], "correct": [1, 2]}, 2, "correct", "true or false"),
    "no rows": ({"label": pa.array([], pa.int64())}, None, None, "at least one row"),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
@pytest.mark.parametrize("before", [0, 5], ids=["first", "later"])
def test_bad_table(tmp_path: Path, case: str, before: int) -> None:
    columns, row, column, words = TABLES[case]
    table = pa.table(columns)
    if (
        before and row is not None and row > 1
    ):  # rows are counted from the file's start, whatever the batch
        table = pa.concat_tables([table.slice(0, row - 1)] * before + [table.slice(row - 1)])
        row = (row - 1) * before + 1
    pq.write_table(table, tmp_path / "p.parquet", row_group_size=2)
    with pytest.raises(InputError) as caught:
        for _ in open_predictions(tmp_path / "p.parquet").batches(rows=2):
            pass
    assert words.split(" got ")[0] in str(caught.value)
    assert (caught.value.row, caught.value.column) == (row, column)
    assert caught.value.file == str(tmp_path / "p.parquet")


def test_rows_in_parts_are_counted_from_the_files_start(tmp_path: Path) -> None:
    probabilities = [[0.9, 0.1]] * 50 + [[0.9, 0.9]] + [[0.9, 0.1]] * 49
    pq.write_table(
        pa.table({"probabilities": probabilities}), tmp_path / "p.parquet", row_group_size=10
    )
    parts = open_predictions(tmp_path / "p.parquet").parts(target_rows=20)
    assert len(parts) == 5
    with pytest.raises(InputError, match="row 51: column probabilities"):
        list(pickle.loads(pickle.dumps(parts[2])).batches(rows=7))


def test_ragged_rows_far_down_are_found(put: Put) -> None:
    path = put("p.csv", HEAD + GOOD * 200_000 + "0.9,0.1\n")
    assert refused(path).row == 200_001


def test_same_column_twice_in_parquet(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([0.0])], names=["prob_a", "prob_a"])
    pq.write_table(table, tmp_path / "p.parquet")
    assert refused(tmp_path / "p.parquet").column == "prob_a"


@pytest.mark.parametrize("keep", [4, 100, -1, -40], ids=str)
@pytest.mark.parametrize("form", ["parquet", "arrow", "npz"])
def test_cut_off(tmp_path: Path, form: str, keep: int) -> None:
    from oodometer.store import write_predictions

    path = write_predictions(
        Predictions.from_probabilities([[0.9, 0.1]] * 50), tmp_path / f"p.{form}"
    )
    path.write_bytes(path.read_bytes()[:keep])
    error = refused(path)
    assert (error.row, error.column) == (None, None)
    assert (
        error.expected == f"a whole and readable {form} file"
        or "other bytes at the start" in str(error.got)
    )
    assert error.remedy in (
        "it may be cut off or damaged: write it again",
        "check what the file is",
    )


def test_column_names_of_parquet_that_are_no_text(tmp_path: Path) -> None:
    import oodometer

    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"prob_cat": [0.9], "prob_dog": [0.1]}), path)
    path.write_bytes(path.read_bytes().replace(b"prob_cat", b"prob\xffcat"))
    assert_snapshot(str(refused(path)))
    with raises_snapshot(InputError):
        oodometer.load(path)


def test_what_is_no_predictions_file(tmp_path: Path, put: Put) -> None:
    (tmp_path / "folder.parquet").mkdir()
    assert_snapshot(str(refused(tmp_path / "folder.parquet")))
    assert "no such file" in str(refused(tmp_path / "none.csv"))
    assert_snapshot(str(refused(put("model.pkl", pickle.dumps([1])))))
    assert_snapshot(str(refused(put("model.csv", pickle.dumps([1])))))
    assert "np.savez" in str(refused(put("p.npy", b"\x93NUMPY")))
    assert_snapshot(str(refused(put("p.xlsx", b"PK\x03\x04"))))
    assert_snapshot(str(refused(put("p.doc", "text"))))
    assert_snapshot(str(refused(put("p", "text"))))
    assert_snapshot(str(refused(put("p.csv", b"PAR1"))))


def test_no_pickle_in_npz(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (os.mkdir, (str(tmp_path / "trapped"),))

    np.savez(tmp_path / "p.npz", label=np.array([Trap(), None], dtype=object))
    error = refused(tmp_path / "p.npz")
    assert error.column == "label"
    assert "pickle" in str(error)
    assert not (tmp_path / "trapped").exists()


def test_npz_whose_list_of_files_is_damaged(tmp_path: Path) -> None:
    """An array is not left out because its name is no longer that of an array."""
    path = tmp_path / "p.npz"
    np.savez(path, prob_a=[0.1, 0.9], prob_b=[0.9, 0.1], feature_age=[1.0, 2.0])
    content = path.read_bytes()
    listed = content.rindex(b"feature_age.npy")
    path.write_bytes(content[:listed] + content[listed:].replace(b".npy", b".~py"))
    assert_snapshot(str(refused(path)))


def test_npz_axes(tmp_path: Path) -> None:
    np.savez(tmp_path / "length.npz", label=[1, 2], prediction=[1])
    assert refused(tmp_path / "length.npz").column == "prediction"
    np.savez(tmp_path / "axes.npz", probabilities=[0.1, 0.9])
    assert_snapshot(str(refused(tmp_path / "axes.npz")))
    np.savez(tmp_path / "rows.npz", label=np.array([], dtype=int))
    assert_snapshot(str(refused(tmp_path / "rows.npz")))


@pytest.mark.skipif(
    os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all"
)
def test_no_permission(put: Put) -> None:
    path = put("p.csv", HEAD + GOOD)
    path.chmod(0)
    assert "permission denied" in str(refused(path))


def test_permission_error_is_told(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put("p.csv", HEAD + GOOD)
    monkeypatch.setattr(
        Path, "open", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    )
    assert "permission denied" in str(refused(path))


@pytest.mark.parametrize("when", ["before", "between", "after"])
def test_file_that_changes(put: Put, when: str) -> None:
    path = put("p.csv", HEAD + GOOD * 100)
    source = open_predictions(path)
    if when == "before":
        os.utime(path, ns=(1, 1))

    def one_pass() -> None:
        for batch in source.batches(rows=40):
            if when == "between" and batch.first_row == 40:
                path.write_text(HEAD)
            if when == "after" and batch.first_row == 80:
                path.unlink()

    with raises_snapshot(InputError):
        one_pass()


def test_classes_that_do_not_fit_the_reference(put: Put, tmp_path: Path) -> None:
    path = put("p.csv", HEAD + GOOD)
    assert refused(path, classes=["cat", "dog", "emu"]).column == "prob_emu"
    assert refused(path, classes=["cat"]).column == "prob_dog"
    pq.write_table(pa.table({"probabilities": [[0.9, 0.1]]}), tmp_path / "p.parquet")
    assert_snapshot(str(refused(tmp_path / "p.parquet", classes=["a", "b", "c"])))


def test_wrong_use(put: Put) -> None:
    path = put("p.csv", HEAD + GOOD)
    with raises_snapshot(UsageError):
        open_predictions(path, mapping={"y": "label"})
    with raises_snapshot(UsageError):
        open_predictions(path, extra_columns=["age"])
    with raises_snapshot(UsageError):
        open_predictions(path).read(["lable"])
    with raises_snapshot(InputError):
        open_predictions(path).read(["features"])
    with raises_snapshot(InputError):
        open_predictions(path, format="excel")
    with raises_snapshot(InputError):
        open_predictions(put("q.csv", "a,y\n1,1\n"), mapping={"y": "label", "a": "label"})
    for thing in (3, None, [1, 2], np.zeros((2, 2)), object()):
        with raises_snapshot(UsageError):
            as_source(thing)


def test_read_predictions_names_the_file_too(put: Put) -> None:
    with raises_snapshot(InputError):
        read_predictions(put("p.csv", HEAD + "1,x,cat\n"))


def test_probabilities_of_one_positive_class_in_a_file_are_told_their_column(
    tmp_path: Path,
) -> None:
    path = tmp_path / "p.npz"
    np.savez(path, probabilities=np.array([0.2, 0.9]))
    with raises_snapshot(InputError):
        as_source(path).read()
    assert as_source(path, mapping={"probabilities": "prob_1"}).read().predicted.tolist() == [0, 1]

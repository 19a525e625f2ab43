"""Small functions of the store, each by an example."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from oodometer.errors import InputError
from oodometer.predictions import Predictions
from oodometer.results.diagnosis import UserColumn
from oodometer.store import as_source
from oodometer.store.artifact_cache import checksum, content_of, read_artifact, write_artifact
from oodometer.store.base import name_order, rows_of_a_part
from oodometer.store.cells import column_of, key_cells
from oodometer.store.columns import as_options, class_names, usual_field
from oodometer.store.encoding import ColumnEncoding, FeatureEncoding, category_name, text_figures
from oodometer.store.files import KnownFiles, Stamp, check_unpacked, format_of
from oodometer.store.many_files import _matches, partition_of
from oodometer.store.scan import runs_of
from oodometer.store.source import pick_rows

from ..snapshots import raises_snapshot

COLOURS = ColumnEncoding(UserColumn("colour", "category", 0, ("red", "blue")), "name")
AGES = ColumnEncoding(UserColumn("age", "number", 2, (), (40.0,), (9.0,)), "number")
NAMES = ("y_pred_proba", "p_yes", "score", "prediction", "score_of_bureau")


@pytest.mark.parametrize(("got", "wanted"), [
    ([name_order(names) for names in (("10", "9"), ("b", "a"), (1, 0))], [("9", "10"), ("a", "b"), (0, 1)]),
    ([rows_of_a_part(1 << 17, rows) for rows in (10**6, 10**8, 10**10)], [131072, 781250, 1048576]),
    (list(runs_of([4, 4, 4, 4], 8)), [(0, 2, 0), (2, 4, 8)]),
    (list(runs_of([4, 4, 4], 8, {0, 2})), [(0, 1, 0), (2, 3, 8)]),
    (key_cells(pa.array([7.0, None]), "id").to_pylist(), ["7", None]),
    (column_of(np.array([[0, 1, 1], [0, 0, 1]]), "classes", "members").to_pylist(), [[0, 0], [1, 0], [1, 1]]),
    ([_matches(n.split("/"), ["b", "**", "x*"]) for n in ("b/1/2/x1", "b/x", "b/1/y")], [True, True, False]),
    (partition_of("lake/day=2026-11-24/site=S%C3%BCd/a.parquet"), {"day": "2026-11-24", "site": "Süd"}),
    (format_of(Path("a.CSV.gz")), "csv"),
    (check_unpacked(10**9, 2 * 10**9, "a.npz"), None),
    ([usual_field(name) for name in NAMES], [*["probabilities"] * 3, None, None]),
    (as_options({"y": "label", "my score": "prob_1"}), "--map y=label --positive 'my score'"),
    (as_options({"score": "prob_yes"}), "--positive score=yes"),
    ([class_names(["1", "0"]), class_names(["1", "01"])], [(1, 0), ("1", "01")]),
    ([category_name(v, True) for v in (7.0, "7.0", True, "TRUE", " a ", "NaN", None)],
     ["7", "7", "true", "true", "a", None, None]),
    ([part.astype(float).round(2).tolist() for part in text_figures(pa.array(["Ab 1", None]), "x", True)],
     [[[1.61, 1.1, 0.25, 0.25, 0.0], [0.0] * 5], [1.0, 0.0]]),
    (COLOURS.features(pa.array(["red", "blue", "green", None]), True).tolist(),
     [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (FeatureEncoding.from_dict(FeatureEncoding((COLOURS, AGES)).to_dict()), FeatureEncoding((COLOURS, AGES))),
    (checksum("ab", "c") == checksum("a", "bc"), False),
    (content_of("no-such-file"), "FileNotFoundError"),
])  # fmt: skip
def test_examples(got: Any, wanted: Any) -> None:
    assert got == wanted


def test_what_is_known_of_a_file_is_known_of_this_content_alone(tmp_path: Path) -> None:
    known = KnownFiles(tmp_path / "files.json")
    known.put("s3://b/a.csv", Stamp(10, 99), "rows", 7)
    assert known.get("s3://b/a.csv", Stamp(10, 99), "rows") == 7
    assert known.get("s3://b/a.csv", Stamp(10, 100), "rows") is None
    assert read_artifact(
        write_artifact(tmp_path / "answers.json", "answers", [0.5]), "answers"
    ) == [0.5]


def test_bombs_and_pickles_are_refused() -> None:
    with raises_snapshot(InputError):
        check_unpacked(10**6, 2 * 10**9, "a.npz", "features")
    with raises_snapshot(InputError):
        format_of(Path("model.pkl"))


def test_rows_of_a_record_are_picked_in_the_order_asked_for() -> None:
    record = Predictions.from_arrays(prediction=[0, 1, 1], input=["a", "b", "c"])
    picked = pick_rows(as_source(record), np.array([2, 0]))
    assert picked.table.column("input").to_pylist() == ["c", "a"]
    assert (picked.field_of("prediction"), picked.field_of("text")) == ("prediction", None)

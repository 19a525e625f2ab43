"""Files with scores of candidates: every format, other tables in memory, labels elsewhere, and what is refused."""

from __future__ import annotations

import json
import math
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer.errors import InputError
from oodometer.predictions import Predictions
from oodometer.store import as_source, open_predictions, read_predictions, write_predictions
from oodometer.testing import example_candidates

from ..snapshots import raises_snapshot
from .test_round_trip import FORMATS, assert_same

Put = Callable[[str, str | bytes], Path]
SCORES = [[2.0, 0.0], [0.5, 1.5, 1.0], [-1.0, -2.0, -3.0, 4.0]]
LABEL = [0, None, 3]


@st.composite
def records(draw: st.DrawFn) -> Predictions:
    """Records with candidates of any number, with and without what follows from them."""
    kind = draw(st.sampled_from([np.float32, np.float64]))
    limit = float(np.finfo(np.float32).max) if kind is np.float32 else 1e300
    value = st.floats(-limit, limit, width=32 if kind is np.float32 else 64)
    rows = draw(st.lists(st.lists(value, min_size=2, max_size=5), min_size=1, max_size=6))
    place = [st.integers(0, len(row) - 1) for row in rows]
    fields: dict[str, Any] = {}
    if draw(st.booleans()):
        fields["label"] = [draw(one | st.none()) for one in place]
    if draw(st.booleans()):
        fields["prediction"] = [draw(one) for one in place]
    if draw(st.booleans()):
        fields["members"] = [[draw(one) for one in place] for _ in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        fields["confidence"] = [draw(st.floats(0, 1)) for _ in rows]
    if draw(st.booleans()):
        fields["token_logprobs"] = [draw(st.lists(st.floats(-9, 0), max_size=3)) for _ in rows]
    record = Predictions.from_candidates(rows, **fields)
    scores = record.candidate_scores
    narrow = type(scores)(scores.values.astype(kind), scores.offsets)
    return Predictions.from_arrays(**fields, candidate_scores=narrow)


@given(record=records())
@settings(max_examples=40)
def test_any_record_comes_back(record: Predictions) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMATS:
            assert_same(
                record, read_predictions(write_predictions(record, Path(folder) / f"p.{form}"))
            )


@pytest.mark.parametrize("form", FORMATS)
def test_batches_and_parts_equal_the_whole(form: str, tmp_path: Path) -> None:
    record = example_candidates(40, seed=2)
    source = open_predictions(write_predictions(record, tmp_path / f"p.{form}"))
    assert_same(record, Predictions.concat(list(source.batches(rows=7))))
    parts = [pickle.loads(pickle.dumps(part)) for part in source.parts(target_rows=9)]
    assert_same(
        record, Predictions.concat([batch for part in parts for batch in part.batches(rows=4)])
    )


@pytest.mark.parametrize("form", FORMATS)
def test_what_follows_from_scores_may_be_asked_for(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"p.{form}"
    if form == "npz":
        flat, offsets = np.concatenate(SCORES), np.cumsum([0, *map(len, SCORES)])
        np.savez(
            path, candidate_scores=flat, candidate_scores_offsets=offsets, label=[0, np.nan, 3]
        )
    else:
        columns = {"candidate_scores": SCORES, "label": LABEL}
        write_table(path, columns)
    source = open_predictions(path)
    assert source.fields == ("label", "prediction", "confidence", "candidate_scores")
    assert source.classes is None
    for asked in ("prediction", "confidence", "label"):
        found = source.read([asked])
        assert found.has("candidate_scores"), asked
        assert found.predicted.tolist() == [0, 1, 3]
    label = source.read(["label"]).label
    assert label.tolist() == [0, -1, 3]


def test_scores_come_before_a_confidence_that_stands_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    write_table(
        path, {"candidate_scores": SCORES, "prediction": [1, 1, 2], "confidence": [0.0, 1e-25, 0.0]}
    )
    confidence = open_predictions(path).read(["confidence"]).confidence
    assert confidence is not None
    own = [
        math.exp(row[k]) / sum(map(math.exp, row)) for row, k in zip(SCORES, [1, 1, 2], strict=True)
    ]
    assert confidence == pytest.approx(own)


def write_table(path: Path, columns: dict[str, Any]) -> None:
    """Columns as a file of any format but NPZ, by other means than ours."""
    form = path.suffix
    if form == ".jsonl":
        rows = [
            dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == ".csv":
        lists = {
            k: [json.dumps(v) if isinstance(v, list) else v for v in cells]
            for k, cells in columns.items()
        }
        pd.DataFrame(lists).to_csv(path, index=False)  # a label beside a null becomes 3.0
    elif form == ".parquet":
        pd.DataFrame(columns).to_parquet(path)
    else:
        import pyarrow.feather as feather

        feather.write_feather(pa.table(columns), path)


def test_npz_rows_may_be_padded(tmp_path: Path) -> None:
    padded = np.array([[2.0, 0.0, np.nan], [0.5, 1.5, 1.0]])
    np.savez(tmp_path / "p.npz", candidate_scores=padded, label=[1, 2])
    scores = read_predictions(tmp_path / "p.npz").candidate_scores
    assert scores.lengths.tolist() == [2, 3]


def test_npz_offsets_of_a_renamed_array(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "p.npz",
        loglik=[2.0, 0.0, 1.0, 0.5, 3.0],
        loglik_offsets=[0, 2, 5],
        token_logprobs=[-1.0, -2.0],
        token_logprobs_offsets=[0, 1, 2],
    )
    record = read_predictions(tmp_path / "p.npz", mapping={"loglik": "candidate_scores"})
    assert record.predicted.tolist() == [0, 2]
    assert record.token_logprobs.lengths.tolist() == [1, 1]


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=lambda m: m.__name__
)
def test_tables_in_memory(make: Callable[[Any], Any]) -> None:
    record = read_predictions(make({"candidate_scores": SCORES, "label": LABEL}))
    assert (record.label.tolist(), record.predicted.tolist()) == ([0, -1, 3], [0, 1, 3])


def test_a_hugging_face_data_set() -> None:
    datasets = pytest.importorskip("datasets")
    record = read_predictions(
        datasets.Dataset.from_dict({"candidate_scores": SCORES, "label": [0, 1, 2]})
    )
    assert record.verdicts.tolist() == [1, 1, 0]


def test_members_by_columns() -> None:
    wide = read_predictions(
        {"candidate_scores": SCORES, "member_b": [1, 2, 0], "member_a": [0, 0, 3]}
    )
    lists = read_predictions(
        pd.DataFrame({"candidate_scores": SCORES, "members": [[1, 0], [2, 0], [0, 3]]})
    )
    assert wide.members.tolist() == lists.members.tolist() == [[1, 2, 0], [0, 0, 3]]
    turned = read_predictions(
        {"candidate_scores": SCORES, "member_a": [0, 0, 3], "member_b": [1, 2, 0]},
        axes=as_source(
            {"candidate_scores": SCORES, "member_b": [1, 2, 0], "member_a": [0, 0, 3]}
        ).axes,
    )
    assert turned.members.tolist() == wide.members.tolist()


@pytest.mark.parametrize("label", [[1, 3], ["1", "3"], [1.0, 3.0]], ids=str)
def test_labels_in_another_file_are_positions(label: list[Any]) -> None:
    goal = as_source({"candidate_scores": [SCORES[2]] * 2})
    for labels in ({"label": label}, as_source({"label": label}).read()):
        found = as_source(labels).aligned(goal.axes).read()
        assert (found.label.tolist(), found.has_classes) == ([1, 3], False), (
            "not the first and the second of two"
        )


def test_classes_and_positions_do_not_follow_each_other() -> None:
    positions = as_source({"candidate_scores": SCORES, "label": [0, 1, 2]})
    classes = as_source({"probabilities": [[0.5, 0.5]] * 3, "label": [0, 1, 1]})
    pairs = [(positions, classes.axes), (classes, positions.axes)]
    pairs += [(as_source(source.read()), axes) for source, axes in pairs]
    for source, axes in pairs:
        with raises_snapshot(InputError):
            source.aligned(axes).read()
    with raises_snapshot(InputError):
        as_source({"candidate_scores": SCORES}, classes=["A", "B"]).read()


# name, content, row, column, words in the message
FILES: list[tuple[str, str, int | None, str, str]] = [
    (
        "one.jsonl",
        '{"candidate_scores": [1,2]}\n{"candidate_scores": [1]}\n',
        2,
        "candidate_scores",
        "at least 2",
    ),
    (
        "none.jsonl",
        '{"candidate_scores": [1,2]}\n{"candidate_scores": []}\n',
        2,
        "candidate_scores",
        "got 0",
    ),
    (
        "null.jsonl",
        '{"candidate_scores": [1,2]}\n{"candidate_scores": null}\n',
        2,
        "candidate_scores",
        "got null",
    ),
    (
        "inner.jsonl",
        '{"candidate_scores": [1,2]}\n{"candidate_scores": [1,null]}\n',
        2,
        "candidate_scores",
        "got null",
    ),
    (
        "text.jsonl",
        '{"candidate_scores": [1,2]}\n{"candidate_scores": ["a", 2]}\n',
        2,
        "candidate_scores",
        "numbers",
    ),
    (
        "nan.jsonl",
        '{"candidate_scores": [1,2]}\n{"candidate_scores": [1, NaN]}\n',
        2,
        "candidate_scores[1]",
        "finite",
    ),
    (
        "out.jsonl",
        '{"candidate_scores": [1,2], "label": 2}\n',
        1,
        "label",
        "below 2, the number of candidates",
    ),
    (
        "name.jsonl",
        '{"candidate_scores": [1,2], "label": "A"}\n',
        1,
        "label",
        "the position of a candidate",
    ),
    ("half.jsonl", '{"candidate_scores": [1,2], "label": 0.5}\n', 1, "label", "got 0.5"),
    (
        "truth.jsonl",
        '{"candidate_scores": [1,2], "label": true}\n',
        1,
        "label",
        "call the column `correct`",
    ),
    (
        "both.jsonl",
        '{"candidate_scores": [1,2], "probabilities": [0.5, 0.5]}\n',
        None,
        "probabilities",
        "leave one",
    ),
    (
        "wide.csv",
        'candidate_scores,prob_a,prob_b\n"[1,2]",0.5,0.5\n',
        None,
        "prob_*",
        "leave one of the two out",
    ),
    (
        "cell.csv",
        'candidate_scores\n"[1,2]"\n1 2\n',
        2,
        "candidate_scores",
        "a list such as [0.9, 0.1], got '1 2'",
    ),
    ("out.csv", 'candidate_scores,label\n"[1,2]",0\n"[1,2,3]",\n"[1,2]",3\n', 3, "label", "got 3"),
    (
        "said.csv",
        'candidate_scores,prediction\n"[1,2]",0\n"[1,2,3]",\n',
        2,
        "prediction",
        "a predicted position",
    ),
    (
        "member.csv",
        'candidate_scores,member_a,member_b\n"[1,2]",0,1\n"[1,2]",0,2\n',
        2,
        "member_*",
        "got 2",
    ),
]


@pytest.mark.parametrize(
    ("name", "content", "row", "column", "words"), FILES, ids=[f[0] for f in FILES]
)
def test_bad_files(
    put: Put, name: str, content: str, row: int | None, column: str, words: str
) -> None:
    path = put(name, content)
    with pytest.raises(InputError) as caught:
        open_predictions(path).read()
    error = caught.value
    assert (error.file, error.row, error.column) == (str(path), row, column)
    assert words in str(error)
    assert "\n" not in str(error)
    assert error.remedy


def test_npz_offsets_that_do_not_rise(tmp_path: Path) -> None:
    for offsets in ([0, 3, 2], [[0, 2]], [0, 2, 9]):
        np.savez(
            tmp_path / "p.npz", candidate_scores=[1.0, 2.0, 3.0], candidate_scores_offsets=offsets
        )
        with pytest.raises(InputError):
            open_predictions(tmp_path / "p.npz").read()


def test_npz_offsets_alone(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", label=[0, 1], candidate_scores_offsets=[0, 2, 4])
    with raises_snapshot(InputError):
        open_predictions(tmp_path / "p.npz").read()

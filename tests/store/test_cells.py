"""Cells that libraries misread in silence: masks, blank lines, late and repeated names, verdicts, odd byte orders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oodometer import estimate, evaluate
from oodometer.errors import InputError, UsageError
from oodometer.predictions import Predictions
from oodometer.store import open_predictions, read_predictions

from ..snapshots import raises_snapshot

Put = Callable[[str, str | bytes], Path]
P = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
LONG = '{"prediction": 1, "x": "' + "z" * 1000 + '"}\n'


def told(record: Predictions) -> Any:
    return record.label.tolist()


MASK = [False, False, True]


@pytest.mark.parametrize(
    "label",
    [
        np.ma.array([0, 1, 1], mask=MASK),
        np.ma.array([0.0, 1.0, 1.0], mask=MASK),
        np.ma.array(["0", "1", "1"], mask=MASK),
        [0, 1, np.ma.masked],
    ],
    ids=["integers", "floats", "texts", "a masked cell"],
)
def test_a_masked_label_is_unknown(label: Any) -> None:
    assert told(Predictions.from_probabilities(P, label=label)) == [0, 1, -1]
    assert told(read_predictions({"probabilities": P, "label": label})) == [0, 1, -1]


def test_masked_labels_apart_from_the_target() -> None:
    p, y = np.tile(P, (40, 1)), np.tile([0, 1, 0], 40)
    labels = {"label": np.ma.array(y, mask=np.arange(120) >= 60)}
    found = estimate(
        {"probabilities": p, "label": y},
        {"probabilities": p},
        labels=labels,
        methods=["ac"],
        diagnosis=False,
    )
    assert found.target["labelled"] == 60


@pytest.mark.parametrize("field", ["probabilities", "features", "logits"])
def test_a_masked_number_is_null(field: str) -> None:
    values = np.ma.array(P, mask=[[False] * 2, [True, False], [False] * 2])
    given = {"prediction": [0, 1, 0], field: values}
    with raises_snapshot(InputError):
        read_predictions(given)
    with raises_snapshot(InputError):
        Predictions.from_arrays(**given)


def test_masked_rows_in_a_list() -> None:
    with raises_snapshot(InputError):
        Predictions.from_probabilities([np.ma.array([0.9, 0.1], mask=[True, False])])


def test_the_masked_end_of_a_row_of_tokens_is_padding() -> None:
    tokens = np.ma.array([[-0.1, -0.2], [-0.3, 0.0], [0.0, 0.0]], mask=[[0, 0], [0, 1], [1, 1]])
    record = Predictions.from_arrays(token_logprobs=tokens)
    assert record.token_logprobs.lengths.tolist() == [2, 1, 0]
    with pytest.raises(InputError, match="row 1: column token_logprobs"):
        Predictions.from_arrays(token_logprobs=np.ma.array([[-0.1, -0.2]], mask=[[1, 0]]))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_blank_line_in_one_column_is_an_empty_cell(put: Put, end: str) -> None:
    lines = ["", "", "label", "a", "", "b", "", "", "a", "", ""]
    assert told(open_predictions(put("l.csv", end.join(lines))).read()) == [0, -1, 1, -1, -1, 0]
    assert told(open_predictions(put("l.csv", end.join(lines[2:9]))).read()) == [
        0,
        -1,
        1,
        -1,
        -1,
        0,
    ]
    assert told(
        open_predictions(put("l.csv", end.join(["label", "a", '""', "b", '""']))).read()
    ) == [0, -1, 1, -1]


def test_a_blank_line_among_more_columns_is_no_row(put: Put) -> None:
    assert told(open_predictions(put("l.csv", "label,prediction\na,a\n\nb,b\n\n")).read()) == [0, 1]


def test_rows_in_errors_count_blank_lines_of_one_column(put: Put) -> None:
    with raises_snapshot(InputError):
        open_predictions(put("c.csv", b"label\na\n\ncaf\xe9" + b"\nb" * (1 << 20))).read()


def test_an_empty_cell_is_no_slice_of_its_name() -> None:
    group = np.tile(np.array(["a", "(missing)", None, "'(missing)'"], dtype=object), 30)
    p, y = np.tile(P, (40, 1)), np.tile([0, 1, 0], 40)
    wanted = {"a", "(missing)", "'(missing)'", "''(missing)''"}
    target = {"probabilities": p, "label": y, "group": group}
    assert {part.value for part in evaluate(target, by="group").slices} == wanted
    parts = estimate(target, target, by="group", methods=["ac"], diagnosis=False).slices
    assert {part.place["value"] for part in parts} == wanted
    assert {part.rows for part in parts} == {30}


@pytest.mark.parametrize("wide", [False, True])
def test_a_name_that_comes_late_in_json_lines_is_a_column(put: Put, wide: bool) -> None:
    late = {"prediction": 1, "label": 0, "group": "late"}
    source = open_predictions(put("l.jsonl", LONG * 1500 + json.dumps(late) + "\n"))
    assert set(source.fields) == {"prediction", "label", "group"}
    record = source.read()
    assert told(record) == [-1] * 1500 + [0]
    assert record.group.tolist() == [None] * 1500 + ["late"]
    name = "feature_b" if wide else "confidence"
    path = put("l.jsonl", LONG * 1500 + json.dumps({"prediction": 1, name: 0.5}) + "\n")
    with raises_snapshot(InputError):
        open_predictions(path).read()


def test_a_late_wide_column_beside_others(put: Put) -> None:
    row = '{"prob_a": 0.5, "prob_b": 0.5, "x": "' + "z" * 1000 + '"}\n'
    path = put("l.jsonl", row * 1500 + '{"prob_a": 0.5, "prob_b": 0.25, "prob_c\\u00e9": 0.25}\n')
    with raises_snapshot(InputError):
        open_predictions(path).read()


def test_names_deeper_in_an_object_or_in_a_text_are_no_columns(put: Put) -> None:
    odd = {"prediction": 1, "meta": {"label": 2, "prob_z": 1}, "x": '"correct": true, "prob_y": 1'}
    source = open_predictions(put("l.jsonl", LONG * 1500 + json.dumps(odd) + "\n"))
    assert source.fields == ("prediction",)
    assert source.read().rows == 1501


@pytest.mark.parametrize("before", [0, 1500])
def test_a_name_twice_in_an_object(put: Put, before: int) -> None:
    first = LONG.replace('"x"', '"label": 1, "x"') * before
    path = put("d.jsonl", first + '{"prediction": 1, "label": 1, "label": 0}\n')
    with raises_snapshot(InputError):
        open_predictions(path).read()


@pytest.mark.parametrize(
    ("name", "content", "column"),
    [
        ("a.jsonl", '{"confidence": 0.5}\n{"confidence": true}\n', "confidence"),
        (
            "a.jsonl",
            '{"probabilities": [0.5, 0.5]}\n{"probabilities": [true, 0]}\n',
            "probabilities",
        ),
        ("a.jsonl", '{"token_logprobs": [-1]}\n{"token_logprobs": [false]}\n', "token_logprobs"),
        ("a.jsonl", '{"label": 1.0, "prediction": 1}\n{"label": true, "prediction": 1}\n', "label"),
        ("a.csv", "confidence\n0.5\ntrue\n", "confidence"),
        ("a.csv", 'probabilities\n"[0.5,0.5]"\n"[true,0]"\n', "probabilities"),
        ("a.csv", "feature_a,prediction\n0.5,1\nTrue,1\n", "feature_a"),
    ],
)
def test_a_verdict_is_no_number(put: Put, name: str, content: str, column: str) -> None:
    with raises_snapshot(InputError):
        open_predictions(put(name, content)).read()


def test_a_verdict_is_no_probability_but_may_be_a_feature(tmp_path: Path) -> None:
    for given in ({"probabilities": P > 0.5}, {"logits": P > 0.5}, {"confidence": P[:, 0] > 0.5}):
        with raises_snapshot(InputError):
            read_predictions(given)
        with raises_snapshot(InputError):
            Predictions.from_arrays(**given)
    np.savez(tmp_path / "a.npz", features=P > 0.5, prediction=[0, 1, 0])
    wide = pa.table(
        {"prediction": [0, 1, 0], "feature_a": P[:, 0] > 0.5, "feature_b": P[:, 1] > 0.5}
    )
    lists = pa.table(
        {"prediction": [0, 1, 0], "features": [[True, False], [False, True], [True, False]]}
    )
    for data in (tmp_path / "a.npz", wide, lists, {"prediction": [0, 1, 0], "features": P > 0.5}):
        features = read_predictions(data).features
        assert features.tolist() == [[1, 0], [0, 1], [1, 0]]


def test_arrays_of_another_byte_order(tmp_path: Path) -> None:
    given = {"probabilities": P.astype(">f8"), "label": np.array([0, 1, 1], ">i4"),
             "features": P.astype(">f4"), "members": np.array([[0, 1, 1]], ">u2")}  # fmt: skip
    np.savez(tmp_path / "a.npz", **given)
    for record in (
        read_predictions(given),
        read_predictions(tmp_path / "a.npz"),
        Predictions.from_arrays(**given),
    ):
        assert told(record) == [0, 1, 1]
        assert record.probabilities.tolist() == P.tolist()
        assert record.probabilities.dtype.isnative


PAIRS = {
    "counted": ("0", "1"),
    "named": ("False", "True"),
    "small": ("false", "true"),
    "large": ("FALSE", "TRUE"),
}


@pytest.mark.parametrize("names", PAIRS.values(), ids=PAIRS)
def test_true_and_false_as_labels(put: Put, names: tuple[str, str]) -> None:
    a, b = (f"prob_{name}" for name in names)
    for cell in ("True", "TRUE", "true"):
        path = put(
            "b.csv",
            f"{a},{b},label\n.4,.6,{cell}\n.6,.4,{'False' if cell == 'True' else 'false'}\n.5,.5,\n",
        )
        assert told(read_predictions(path)) == [1, 0, -1]
    rows = [{a: 0.4, b: 0.6, "label": label} for label in (True, False, None)]
    assert told(
        read_predictions(put("b.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))
    ) == [1, 0, -1]
    assert told(read_predictions(pa.Table.from_pylist(rows))) == [1, 0, -1]
    labels = np.array([True, False, None], dtype=object)
    assert told(Predictions.from_probabilities(P, label=labels, classes=names)) == [1, 0, -1]
    assert told(Predictions.from_probabilities(P, label=P[:, 0] < 0.5, classes=names)) == [0, 1, 0]
    assert Predictions.from_probabilities(P, classes=[False, True]).classes == ("False", "True")


def test_true_is_none_of_three_classes() -> None:
    with raises_snapshot(InputError):
        Predictions.from_probabilities(np.full((2, 3), 1 / 3), label=[True, False])


SEMICOLONS = {
    "integers first": "1;0;0\n0,5;0,5;1\n",
    "late": "1;0;0\n" * 200_000 + "0,5;0,5;1\n",
    "scientific": "1e0;0;0\n9,5e-1;5,0E-02;1\n",
    "quoted": '1;0;0\n"0,5";"0,5";"1"\n',
    "no digit before": "1;0;0\n,5;,5;1\n",
    "whole floats": "1,0;0,0;0,0\n0,5;0,5;1,0\n",
}


@pytest.mark.parametrize("rows", SEMICOLONS.values(), ids=SEMICOLONS)
@pytest.mark.parametrize("delimiter", [";", "\t"], ids=["semicolon", "tab"])
def test_decimal_commas(put: Put, rows: str, delimiter: str) -> None:
    text = f"prob_0;prob_1;label\n{rows}".replace(";", delimiter)
    record = read_predictions(put("s.csv", text))
    assert record.probabilities[0].tolist() == [1, 0]
    assert record.probabilities[-1].tolist() in ([0.5, 0.5], [0.95, 0.05])
    assert told(record)[-2:] == [0, 1]


@pytest.mark.parametrize("rows", ["0.5;0.5;0\n0,5;0,5;1\n", "0,5;0,5;1\n0.5;0.5;0\n"])
def test_points_and_commas_in_one_file(put: Put, rows: str) -> None:
    with raises_snapshot(InputError):
        read_predictions(put("s.csv", f"prob_0;prob_1;label\n{rows}"))


def test_a_flipped_bit_in_an_npz_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    p = np.random.default_rng(0).dirichlet(np.ones(3), 50_000)
    np.savez(path, probabilities=p, members=p.argmax(axis=1)[None])
    data = bytearray(path.read_bytes())
    source = open_predictions(path)
    assert source.read().rows == 50_000
    for array, column in (
        (p[40_000, 1:2], "probabilities"),
        (p.argmax(axis=1)[40_000:40_032], "members"),
    ):
        at = data.find(array.tobytes())
        broken = data.copy()
        broken[at] ^= 1
        path.write_bytes(broken)
        with pytest.raises(
            InputError, match=f"column {column}: expected the array as it was written"
        ):
            read_predictions(path)


def test_an_npz_that_ends_early(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", probabilities=np.tile(P, (2000, 1)))
    data = (tmp_path / "a.npz").read_bytes()
    start = data.find(b"PK\x01\x02")
    (tmp_path / "a.npz").write_bytes(data[: start - 40_000] + data[start:])
    with pytest.raises(InputError, match=r"a\.npz: "):
        read_predictions(tmp_path / "a.npz")


INDICATOR = [True, False, True]
WITH_INDICATOR = {"confidence": [0.9, 0.8, 0.6], "correct": [1, 1, 0], "feature_new": INDICATOR}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "arrow", "npz", "pandas"])
def test_a_feature_may_be_an_indicator_in_every_format(tmp_path: Path, form: str) -> None:
    data: Any = tmp_path / f"a.{form}"
    table = pa.table(WITH_INDICATOR)
    if form == "csv":
        table.to_pandas().to_csv(data, index=False)
    elif form == "jsonl":
        data.write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
    elif form == "parquet":
        pq.write_table(table, data)
    elif form == "arrow":
        with pa.OSFile(str(data), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    elif form == "npz":
        np.savez(data, **{k: np.array(v) for k, v in WITH_INDICATOR.items()})
    else:
        data = table.to_pandas()
    found = read_predictions(data)
    assert found.features.tolist() == [[1], [0], [1]]


@pytest.mark.parametrize("column", ["confidence", "feature_new"])
def test_an_indicator_is_one_in_every_row_and_no_other_number_is_one(put: Put, column: str) -> None:
    rows = [
        ["confidence", "correct", "feature_new"],
        ["0.9", "1", "True"],
        ["0.8", "1", "False"],
        ["0.7", "0", "True"],
    ]
    place = rows[0].index(column)
    for row in rows[1:3]:
        row[place] = "True"
    rows[3][place] = "0.5"
    path = put("a.csv", "\n".join(",".join(row) for row in rows))
    with raises_snapshot(InputError):
        read_predictions(path)
    lines = [
        json.dumps(dict(zip(rows[0], map(json.loads, map(str.lower, row)), strict=True)))
        for row in rows[1:]
    ]
    with raises_snapshot(InputError):
        read_predictions(put("a.jsonl", "\n".join(lines)))


def test_a_column_that_a_user_names_may_come_late_in_json_lines(put: Put) -> None:
    late = {"prediction": 1, "truth": 0, "place": "there"}
    path = put("l.jsonl", LONG * 1500 + json.dumps(late) + "\n")
    source = open_predictions(path, mapping={"truth": "label"}, extra_columns=["place"])
    record = source.read()
    assert told(record)[-2:] == [-1, record.classes.index(0) if record.classes else None]
    assert record.columns["place"].tolist() == [None] * 1500 + ["there"]
    with raises_snapshot(UsageError):
        open_predictions(path, extra_columns=["plaice"])

"""Answers that tools write into one cell are read as columns, the same from every format."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oodometer
from oodometer.errors import InputError
from oodometer.predictions import Predictions
from oodometer.store import as_source
from oodometer.store.nested import value_of

from ..snapshots import raises_snapshot

CLASSES = ("cat", "dog", "eel")
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(3, size=60)
LOGITS = RNG.normal(size=(60, 3)) + 1.5 * np.eye(3)[TRUTH]
P = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
Rows = list[dict[str, Any]]
FORMATS = ("csv", "printed", "parquet", "jsonl", "arrow", "pandas", "polars", "dict", "folder")


def rows_of(
    cell: Callable[[Any], Any], name: str, label: Callable[[int], Any] = CLASSES.__getitem__
) -> Rows:
    return [{"label": label(int(k)), name: cell(p)} for k, p in zip(TRUTH, P, strict=True)]


def ordered(p: Any) -> list[int]:
    return list(map(int, np.argsort(-p)))


def pairs(p: Any, label: str = "label", score: str = "score", most: int = 3) -> Any:
    return [{label: CLASSES[k], score: float(p[k])} for k in ordered(p)[:most]]


def best(p: Any) -> Any:
    return pairs(p, most=1)[0]


WIDE: dict[str, Rows] = {
    "hugging_face": rows_of(pairs, "output"),
    "hugging_face_of_one": rows_of(lambda p: [pairs(p)], "output"),
    "bigquery": rows_of(lambda p: pairs(p, "label", "prob"), "predicted_label_probs"),
    "vertex": rows_of(
        lambda p: {"classes": list(CLASSES), "scores": p.tolist()}, "predicted_label"
    ),
    "zero_shot": rows_of(
        lambda p: {"labels": [CLASSES[k] for k in ordered(p)], "scores": p[ordered(p)].tolist()},
        "answer",
    ),
    "map": rows_of(lambda p: dict(zip(CLASSES, p.tolist(), strict=True)), "scores"),
    "spark": rows_of(
        lambda p: {"type": 1, "size": None, "indices": None, "values": p.tolist()},
        "probability",
        int,
    ),
    "lists": rows_of(lambda p: p.tolist(), "probability", float),
    "served": rows_of(lambda p: p.tolist(), "predictions", int),
    "snowflake": rows_of(
        lambda p: {"logs": None, "probability": dict(zip(CLASSES, p.tolist(), strict=True))},
        "answer",
    ),
    "sagemaker": rows_of(lambda p: {"probabilities": p.tolist(), "took": 3}, "output", int),
}
BEST: dict[str, Rows] = {
    "top_1": rows_of(lambda p: pairs(p, most=1), "output"),
    "top_2": rows_of(lambda p: pairs(p, most=2), "output"),
    "dict": rows_of(best, "prediction"),
}


def given(rows: Rows, form: str, folder: Path) -> Any:
    """The rows in a form that users have them in."""
    table = pa.Table.from_pylist(rows)
    match form:
        case "csv" | "printed":  # JSON, and what pandas prints
            path = folder / "t.csv"
            if form == "printed":
                pd.DataFrame(rows).to_csv(path, index=False)
                return path
            with path.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(rows[0])
                cells: Any = [
                    [json.dumps(v) if isinstance(v, list | dict) else v for v in r.values()]
                    for r in rows
                ]
                writer.writerows(cells)
            return path
        case "parquet":
            pq.write_table(table, folder / "t.parquet", row_group_size=7)
            return folder / "t.parquet"
        case "jsonl":
            (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            return folder / "t.jsonl"
        case "arrow":
            with pa.ipc.new_file(folder / "t.arrow", table.schema) as writer:
                writer.write_table(table, 7)
            return folder / "t.arrow"
        case "folder":
            (folder / "day=1").mkdir()
            (folder / "day=2").mkdir()
            pq.write_table(table.slice(0, 20), folder / "day=1" / "a.parquet")
            pq.write_table(table.slice(20), folder / "day=2" / "b.parquet")
            return folder
        case "pandas":
            return pd.DataFrame(rows)
        case "polars":
            return pl.DataFrame(rows)
    return {name: [row[name] for row in rows] for name in rows[0]}


def in_order(record: Predictions) -> Any:
    assert record.probabilities is not None
    assert record.classes is not None
    return record.probabilities[:, np.argsort([str(name) for name in record.classes])]


# a matrix under the name of classes is no answer
FORMS_OF_WIDE = [
    (tool, form) for tool in WIDE for form in FORMATS if (tool, form) != ("served", "dict")
]


@pytest.mark.parametrize(("tool", "form"), FORMS_OF_WIDE)
def test_all_classes(tool: str, form: str, tmp_path: Path) -> None:
    record = as_source(given(WIDE[tool], form, tmp_path)).read()
    assert np.allclose(in_order(record), P)
    assert record.accuracy == (P.argmax(axis=1) == TRUTH).mean()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("named", [True, False])
def test_the_decision_in_a_record_goes_before_its_probabilities(
    named: bool, form: str, tmp_path: Path
) -> None:
    """The class that a tool decided for need not be the likeliest one."""
    decided = np.where(P[:, 0] > 0.2, 0, P.argmax(axis=1))

    def record(k: int) -> dict[str, Any]:
        if named:
            shares = dict(zip(CLASSES, P[k].tolist(), strict=True))
            return {"class": CLASSES[decided[k]], "probability": shares}
        return {"predicted_label": int(decided[k]), "probabilities": P[k].tolist()}

    truth = [CLASSES[k] if named else int(k) for k in TRUTH]
    rows = [{"label": label, "output": record(i)} for i, label in enumerate(truth)]
    found = oodometer.evaluate(given(rows, form, tmp_path))
    assert found["accuracy"].value == (decided == TRUTH).mean()
    right = np.eye(3)[TRUTH]
    assert found["brier"].value == pytest.approx(((P - right) ** 2).sum(axis=1).mean())


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("tool", BEST)
def test_best_class(tool: str, form: str, tmp_path: Path) -> None:
    record = as_source(given(BEST[tool], form, tmp_path)).read()
    assert not record.has("probabilities")
    assert record.accuracy == (P.argmax(axis=1) == TRUTH).mean()
    assert np.allclose(record.confidence, P.max(axis=1))  # type: ignore[arg-type]


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "printed"])
@pytest.mark.parametrize("sign", ["%", " %"])
def test_percents(form: str, sign: str, tmp_path: Path) -> None:
    texts = [
        {f"prob_{name}": f"{100 * x:.3f}{sign}" for name, x in zip(CLASSES, p, strict=True)}
        for p in P
    ]
    rows = [{"label": CLASSES[k], **cells} for k, cells in zip(TRUTH, texts, strict=True)]
    assert np.allclose(in_order(as_source(given(rows, form, tmp_path)).read()), P, atol=1e-4)


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "printed"])
@pytest.mark.parametrize("column", ["score", "quality"])
def test_scores_in_percent(form: str, column: str, tmp_path: Path) -> None:
    rows = [{"id": i, column: f"{50 + i / 2:g} %"} for i in range(20)]
    mapping = None if column == "score" else {column: "score"}
    record = as_source(given(rows, form, tmp_path), mapping=mapping).read(("score",))
    assert record.score.tolist() == pytest.approx([0.5 + i / 200 for i in range(20)])


def test_maps_of_arrow(tmp_path: Path) -> None:
    cells = pa.array(
        [list(zip(CLASSES, p.tolist(), strict=True)) for p in P], pa.map_(pa.string(), pa.float64())
    )
    labels = pa.array([CLASSES[k] for k in TRUTH])
    pq.write_table(
        pa.table({"label": labels, "proba": cells}).slice(0),
        tmp_path / "m.parquet",
        row_group_size=7,
    )
    assert np.allclose(in_order(as_source(tmp_path / "m.parquet").read()), P)


def test_vectors_as_text_and_sparse() -> None:
    dense, sparse = "[0.25 0.75]", "(2,[1],[1.0])"
    record = as_source(pd.DataFrame({"label": [1, 0], "probability": [dense, sparse]})).read()
    assert in_order(record).tolist() == [[0.25, 0.75], [0, 1]]
    structs = [
        {"type": 0, "size": 2, "indices": [1], "values": [1.0]},
        {"type": 1, "size": None, "indices": None, "values": [0.25, 0.75]},
    ]
    record = as_source(pd.DataFrame({"label": [1, 0], "probability": structs})).read()
    assert in_order(record).tolist() == [[0, 1], [0.25, 0.75]]


def test_what_stands_beside_counts() -> None:
    """A column of our own names is the answer; one that is none of both is left as it is."""
    rows = [{**row, "prob_cat": 1.0, "prob_dog": 0.0, "prob_eel": 0.0} for row in WIDE["map"]]
    assert in_order(as_source(pd.DataFrame(rows)).read())[:, 0].tolist() == [1.0] * 60
    rows = [{**row, "topics": {"a": 0.5, "b": 0.5}} for row in WIDE["map"]]
    assert in_order(as_source(pd.DataFrame(rows)).read()).shape == (
        60,
        3,
    )  # scores, which is named as answers are


def test_a_name_decides_between_two() -> None:
    rows = [
        {"label": "cat", "a": {"cat": 0.5, "dog": 0.5}, "b": {"cat": 0.9, "dog": 0.1}}
        for _ in range(30)
    ]
    with raises_snapshot(InputError):
        as_source(pd.DataFrame(rows))
    record = as_source(pd.DataFrame(rows), mapping={"b": "probabilities"}).read()
    assert in_order(record)[0].tolist() == [0.9, 0.1]


BAD: list[tuple[Any, str]] = [
    (
        [{"label": "cow", "score": 1.0}],
        r"the 3 classes of the first rows \(cat, dog, eel\), got 'cow'",
    ),
    (
        [{"label": "cat", "score": 1.0}],
        r"the 3 classes of the first rows \(cat, dog, eel\), got no dog",
    ),
    (pairs(P[0]) + pairs(P[0])[:1], r"each class once, got (cat|dog|eel) 2 times"),
    (None, r"an answer, got null \(an empty cell\)"),
    ([{"label": None, "score": 1.0}], "a class beside every score"),
]


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize(("cell", "words"), BAD)
def test_a_row_that_differs_is_named(cell: Any, words: str, form: str, tmp_path: Path) -> None:
    rows = WIDE["hugging_face"] * 20  # it stands behind the rows that say what the column holds
    rows = [*rows, {"label": "cat", "output": cell}, *rows[:5]]
    with pytest.raises(InputError, match=words) as caught:
        as_source(given(rows, form, tmp_path)).read()
    assert caught.value.row == 1201
    assert caught.value.column == "output"


def test_text_that_is_none_is_named(tmp_path: Path) -> None:
    path = given(WIDE["hugging_face"] * 20, "csv", tmp_path)
    with path.open("a") as file:
        file.write("cat,[{label: cat\n")
    with raises_snapshot(InputError):
        as_source(path).read()


UNREAD = (["a", "b"], {"type": "x", "n": [1]}, {"cat": 0.9, "dog": 0.9}, [{"name": "cat"}])


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "pandas"])
@pytest.mark.parametrize("cell", UNREAD)
def test_what_is_no_answer_is_refused_with_its_cell(cell: Any, form: str, tmp_path: Path) -> None:
    rows = [{"label": "cat", "probability": cell} for _ in range(30)]
    with raises_snapshot(InputError):
        as_source(given(rows, form, tmp_path))
    as_source(
        given([{**row, "prediction": "dog"} for row in rows], form, tmp_path)
    ).read()  # that is answer enough


def test_parts_conditions_and_slices(tmp_path: Path) -> None:
    rows = [{**row, "site": "AB"[i % 2]} for i, row in enumerate(WIDE["hugging_face"])]
    for form in ("csv", "parquet", "jsonl"):
        source: Any = as_source(
            given(rows, form, tmp_path), where="site == A", extra_columns=["site"]
        )
        assert np.allclose(in_order(source.read()), P[::2])
        parts = [batch for part in source.parts(10) for batch in part.batches()]
        assert sum(map(len, parts)) == 30
        result = oodometer.evaluate(given(rows, form, tmp_path), by="site")
        assert result["accuracy"].value == (P.argmax(axis=1) == TRUTH).mean()


@pytest.mark.parametrize(
    "form", ["{}", "probability.{}", "proba({})", "p[{}]", "prob={}", "predictions.scores.{}"]
)
def test_names_of_wide_columns(form: str) -> None:
    columns: dict[str, Sequence[Any]] = {
        form.format(name): p for name, p in zip(CLASSES, P.T, strict=True)
    }
    result = oodometer.evaluate(pd.DataFrame({"label": [CLASSES[k] for k in TRUTH], **columns}))
    assert result["accuracy"].value == (P.argmax(axis=1) == TRUTH).mean()
    assert result["brier"].value > 0


@pytest.mark.parametrize(
    "form", [form for form in FORMATS if form != "dict"]
)  # whose arrays have one order of classes
def test_lists_of_classes_beside_lists_of_their_probabilities(form: str, tmp_path: Path) -> None:
    """SageMaker gives both, the likeliest class first."""
    rows: Rows = [
        {
            "label": CLASSES[k],
            "labels": [CLASSES[i] for i in ordered(p)],
            "probabilities": sorted(p.tolist())[::-1],
        }
        for k, p in zip(TRUTH, P, strict=True)
    ]
    record = oodometer.load(given(rows, form, tmp_path))
    np.testing.assert_allclose(in_order(record), P, atol=1e-6)
    assert [record.classes[k] for k in record.label] == [CLASSES[k] for k in TRUTH]  # type: ignore[index]


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_a_list_of_fewer_classes_than_probabilities_is_named(form: str, tmp_path: Path) -> None:
    rows: Rows = [
        {"label": CLASSES[k], "labels": list(CLASSES), "probabilities": p.tolist()}
        for k, p in zip([*TRUTH] * 20, [*P] * 20, strict=True)
    ]
    rows[1100]["labels"] = ["cat", "dog"]  # behind the rows that say what the columns hold
    with raises_snapshot(InputError):
        oodometer.load(given(rows, form, tmp_path))


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_inputs_beside_the_answer_are_columns_of_their_own(form: str, tmp_path: Path) -> None:
    """Batch predictions of clouds repeat the inputs in an object, and the truth is often among them."""
    rows: Rows = [
        {
            "instance": {"age": 20 + int(k), "plan": "a", "label": CLASSES[k]},
            "prediction": {"classes": list(CLASSES), "scores": p.tolist()},
        }
        for k, p in zip(TRUTH, P, strict=True)
    ]
    record = oodometer.load(
        given(rows, form, tmp_path),
        mapping={"instance.label": "label"},
        extra_columns=("instance.age",),
    )
    np.testing.assert_allclose(in_order(record), P, atol=1e-6)
    assert [record.classes[k] for k in record.label] == [CLASSES[k] for k in TRUTH]  # type: ignore[index]
    assert record.columns["instance.age"].tolist() == [20 + k for k in TRUTH]


PRINTED: dict[str, Callable[[Any], str]] = {
    "JSON": lambda p: json.dumps(p.tolist()),
    "numpy 2": lambda p: str([*p]),
    "an array": lambda p: repr(p.tolist()).join(("array(", ", dtype=float64)")),
    "torch": lambda p: repr(p.tolist()).join(("tensor(", ", device='cuda:0')")),
    "objects of numpy": lambda p: str(
        [{"label": np.str_(k), "score": v} for k, v in zip(CLASSES, p, strict=True)]
    ),
}


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "pandas"])
@pytest.mark.parametrize("how", PRINTED)
def test_what_libraries_print_is_read_from_every_format(
    how: str, form: str, tmp_path: Path
) -> None:
    rows = rows_of(PRINTED[how], "probabilities", int if "obj" not in how else CLASSES.__getitem__)
    record = as_source(given(rows, form, tmp_path)).read()
    assert np.allclose(in_order(record), P)
    assert record.accuracy == (P.argmax(axis=1) == TRUTH).mean()


def test_strings_that_numpy_prints_side_by_side_are_not_joined() -> None:
    assert value_of("['walk' 'bike'\n 'car']") == ["walk", "bike", "car"]
    assert value_of("__import__('os')") is None


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "pandas"])
@pytest.mark.parametrize("column", ["predictions", "top_classes", "pred_labels", "top_3"])
def test_classes_by_rank_name_the_probabilities_beside_them(
    column: str, form: str, tmp_path: Path
) -> None:
    rows: Rows = [
        {"label": int(k), column: ordered(p), "probabilities": p[ordered(p)].tolist()}
        for k, p in zip(TRUTH, P, strict=True)
    ]
    record = as_source(given(rows, form, tmp_path)).read()
    assert np.allclose(in_order(record), P)
    assert record.accuracy == (P.argmax(axis=1) == TRUTH).mean()


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "pandas"])
def test_the_best_of_a_ranked_few_is_the_answer(form: str, tmp_path: Path) -> None:
    rows: Rows = [
        {
            "label": CLASSES[k],
            "predictions": [CLASSES[i] for i in ordered(p)[:2]],
            "scores": p[ordered(p)[:2]].tolist(),
        }
        for k, p in zip(TRUTH, P, strict=True)
    ]
    record = as_source(given(rows, form, tmp_path)).read()
    assert record.accuracy == (P.argmax(axis=1) == TRUTH).mean()
    assert np.allclose(record.confidence, P.max(axis=1))  # type: ignore[arg-type]

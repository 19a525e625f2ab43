"""The user's own columns as features: what is learnt on the reference holds for every other file, by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oodometer import Predictions, load
from oodometer.errors import InputError, UsageError
from oodometer.store import as_source
from oodometer.store.encoding import FeatureEncoding, raw_numbers
from oodometer.verbs.opening import with_features

from ..snapshots import raises_snapshot

ROWS = 40
HEADER = "label,prediction,age,colour,member,note,who,day,same"


def cells(i: int) -> list[str]:
    """One row: a number, a category, a truth value, a text, an identifier, a time and a constant."""
    age = "" if i == 3 else f"{20 + 0.5 * i}"
    note = f"Call number {i} of {'many' * (i % 5)} THIS year"
    return [
        "1",
        str(i % 2),
        age,
        ("red", "blue", "red", "green")[i % 4],
        str(i % 3 == 0),
        note,
        f"k{i}",
        "2026-01-02",
        "x",
    ]


def write(path: Path, rows: list[list[str]], header: str = HEADER) -> str:
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("encoding")


@pytest.fixture(scope="module")
def reference(folder: Path) -> str:
    return write(folder / "reference.csv", [cells(i) for i in range(ROWS)])


def learnt(reference: str, asked: str = "auto") -> FeatureEncoding:
    found = with_features([as_source(reference)], None, asked)[0][0].encoding
    assert found is not None
    return found


def test_auto_takes_what_can_be_an_input_and_says_why_not(reference: str) -> None:
    found = learnt(reference)
    assert {one.name: one.kind for one in found.users} == {
        "age": "number",
        "colour": "category",
        "member": "category",
        "note": "text",
    }
    assert found.left_out == {
        "who": "an identifier (nearly all values differ)",
        "day": "times",
        "same": "constant ('x')",
    }


def test_features_are_those_of_plain_numpy(reference: str) -> None:
    source = with_features([as_source(reference)], None, "colour,age,note")[0][0]
    record = source.read()
    assert record.names["feature"][:5] == (
        "colour=blue",
        "colour=green",
        "colour: other",
        "colour: missing",
        "age",
    )
    features = record.features
    rows = [cells(i) for i in range(ROWS)]
    colours = np.array([row[3] for row in rows])
    ages = np.array([float(row[2] or "nan") for row in rows])
    scaled = (ages - np.nanmean(ages)) / np.nanstd(ages)
    assert (features[:, 0] == (colours == "blue")).all()
    assert (features[:, 1] == (colours == "green")).all()
    assert not features[:, 2:4].any()
    assert np.allclose(features[:, 4], np.where(np.isnan(ages), 0, scaled), atol=1e-5)
    assert features[:, 5].tolist() == np.isnan(ages).astype(float).tolist()
    lengths = np.log1p([len(row[5]) for row in rows])
    assert np.allclose(features[:, 6], (lengths - lengths.mean()) / lengths.std(), atol=1e-4)


def test_unseen_values_are_other_and_the_order_of_columns_and_the_format_say_nothing(
    folder: Path, reference: str
) -> None:
    rows = [["purple", "30", "0"], ["blue", "", "1"], ["", "20.5", "1"]]
    names = "colour,age,prediction"
    csv = write(folder / "other.csv", rows, names)
    parquet = folder / "other.parquet"
    table = {
        "age": pa.array([30.0, None, 20.5]),
        "prediction": [0, 1, 1],
        "colour": ["purple", "blue", None],
    }
    pq.write_table(pa.table(table), parquet)
    read_ = []
    for target in (
        csv,
        str(parquet),
        {"colour": ["purple", "blue", None], "age": [30.0, np.nan, 20.5], "prediction": [0, 1, 1]},
    ):
        _, found = with_features([as_source(reference)], as_source(target), "colour,age")
        read_.append(found.read().features)
    assert read_[0] is not None
    assert read_[0][0, 2] == 1
    assert read_[0][2, 3] == 1
    assert read_[0][1, 5] == 1
    assert all(np.array_equal(read_[0], one) for one in read_[1:])


def test_batches_and_parts_give_the_same_as_the_whole(folder: Path, reference: str) -> None:
    source = with_features([as_source(reference)], None, "auto")[0][0]
    whole = source.read().features
    pieces = [batch.features for part in source.parts() for batch in part.batches(rows=7)]
    assert np.array_equal(whole, np.concatenate([p for p in pieces if p is not None]))


def test_a_record_in_memory_is_encoded_alike(reference: str) -> None:
    encoding = learnt(reference, "colour,age")
    record = load(reference, extra_columns=["colour", "age"])
    again = as_source(Predictions.from_classes(record.prediction, columns=record.columns)).encoded(
        encoding
    )
    source = as_source(reference).encoded(encoding)
    assert np.array_equal(again.read().features, source.read().features)


@pytest.mark.parametrize(
    ("column", "cell", "says"),
    [
        ("age", "old", "row 2: column age: expected a number, as in the reference, got 'old'"),
        ("age", "inf", "row 2: column age: expected a finite number, got inf"),
        (
            "member",
            "maybe",
            "row 2: column member: expected true or false, as in the reference, got 'maybe'",
        ),
    ],
)
def test_cells_of_another_type_are_one_line_with_file_row_and_column(
    folder: Path, reference: str, column: str, cell: str, says: str
) -> None:
    rows = [cells(i) for i in range(4)]
    rows[1][HEADER.split(",").index(column)] = cell
    path = write(folder / f"bad_{column}_{cell}.csv", rows)
    _, target = with_features([as_source(reference)], as_source(path), "age,member,colour")
    with pytest.raises(InputError, match=r"^[^\n]*$") as told:
        target.read()
    assert str(told.value).startswith(f"{path}: {says}")


def test_numbers_where_the_reference_has_names_are_an_error(folder: Path, reference: str) -> None:
    rows = [[*row[:3], str(i), *row[4:]] for i, row in enumerate(cells(i) for i in range(4))]
    path = write(folder / "codes.csv", rows)
    _, target = with_features([as_source(reference)], as_source(path), "colour")
    with raises_snapshot(InputError):
        target.read()


def test_a_column_that_the_target_lacks_is_named_with_its_file(
    folder: Path, reference: str
) -> None:
    path = write(folder / "lacks.csv", [["0", "red"]], "prediction,colour")
    with raises_snapshot(InputError):
        with_features([as_source(reference)], as_source(path), "age,colour")
    _, target = with_features([as_source(reference)], as_source(path), "auto")
    assert [user.name for user in target.encoding.users] == ["colour"]
    assert target.encoding.left_out["age"] == f"{path} has none"


@pytest.mark.parametrize("asked", ["label", "prediction", "age,age", "age,,colour", "nope"])
def test_columns_that_are_no_inputs_are_refused(reference: str, asked: str) -> None:
    with pytest.raises((UsageError, InputError)):
        with_features([as_source(reference)], None, asked)


def test_decimal_commas_and_empty_words_of_text_files() -> None:
    found = raw_numbers(pa.array(["0,5", "NA", None, "1,25"]), "x", True, comma=True)
    assert np.array_equal(found, [0.5, np.nan, np.nan, 1.25], equal_nan=True)


def test_rare_values_share_one_feature_and_the_width_is_bounded() -> None:
    rng = np.random.default_rng(0)
    data = {f"c{k}": rng.integers(0, 400, 600).astype(str).tolist() for k in range(12)}
    source = as_source({"prediction": [0, 1] * 300, **data})
    found = with_features([source], None, "auto")[0][0].encoding
    assert found.width <= 60

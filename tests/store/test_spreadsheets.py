"""Tables as spreadsheets and warehouses save them: what is read as it is, and what is no row of a sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.store.files import packing

ROWS = 240
rng = np.random.default_rng(3)
P = rng.dirichlet([0.6] * 3, ROWS).round(4)
KINDS = np.array(["Käuz", "cat 1", "dog"])
TABLE = pd.DataFrame(
    {
        "id": range(ROWS),
        "label": KINDS[(P.cumsum(1) > rng.random((ROWS, 1))).argmax(1)],
        "prediction": KINDS[P.argmax(1)],
        **{f"p_{name}": P[:, k] for k, name in enumerate(KINDS)},
    }
)
ACCURACY = float((TABLE["label"] == TABLE["prediction"]).mean())
TEXT = TABLE.to_csv(index=False)
PLAIN = TABLE[["id", "label", "prediction"]].to_csv(index=False)


def accuracy(path: Path, **options: object) -> float:
    found = oodometer.evaluate(path, metrics=["accuracy"], **options)
    assert found.rows == ROWS
    return float(found["accuracy"].value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", TEXT),
        ("a.tsv", TABLE.to_csv(index=False, sep="\t")),
        ("a.jsonl", TABLE.to_json(orient="records", lines=True)),
        ("a.csv", TABLE[["prediction"]].to_csv(index=False)),
    ],
)
def test_the_mark_of_a_text_says_how_it_is_encoded(
    name: str, text: str, encoding: str, tmp_path: Path
) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    path = tmp_path / name
    path.write_bytes((mark + text).encode(encoding))
    assert (packing(str(path)) == "utf-16") == ("16" in encoding)
    if "label" in text:
        assert accuracy(path) == ACCURACY
    else:
        labels = TABLE.rename(columns={"p_Käuz": "x"})[["label"]]
        assert accuracy(path, labels=labels) == ACCURACY


def test_a_file_of_utf_16_that_was_cut_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT.encode("utf-16")[:-1])
    with pytest.raises(oodometer.InputError, match="cut off or damaged"):
        oodometer.evaluate(path)


@pytest.mark.parametrize("quoting", [0, 1])
def test_bars_part_cells(quoting: int, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    TABLE.to_csv(path, index=False, sep="|", quoting=quoting)
    assert accuracy(path) == ACCURACY


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sep=;\n" + TABLE.to_csv(index=False, sep=";"), "delete the first line"),
        ("Scores of May, all accounts\n\n" + TEXT, "unknown"),
        ("Scores of May\n\n" + TEXT, "delete what stands above the header line"),
        ("Scores of May,,\n,,\n" + TEXT, "delete what stands above the header line"),
        (TEXT.partition("\n")[2], "write a line with the names of the columns"),
        (PLAIN + PLAIN, f"row {ROWS + 1}: .* got the header line again"),
        (PLAIN + f"Total,{ROWS},\n", "got a total in the last one: Total"),
        (PLAIN + f"Grand total,{ROWS},\n\n", "delete the last row"),
        (TEXT + ",Summe,240,1,1,1\n", "delete the last row"),
    ],
)
def test_what_is_no_row_is_an_error(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(oodometer.OodometerError, match=None if why == "unknown" else why):
        oodometer.evaluate(path)


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("word", "total,dog,dog"),
        ("word", "mean,cat 1,dog"),
        ("label", "dog,dog,dog"),
    ],
)
def test_words_of_rows_are_no_totals(first: str, last: str, tmp_path: Path) -> None:
    cells = [f"w{i}" for i in range(ROWS - 1)] if first == "word" else ["dog"] * (ROWS - 1)
    table = TABLE[["label", "prediction"]].iloc[:-1]
    path = tmp_path / "a.csv"
    text = table.assign(word=cells)[["word", "label", "prediction"]].to_csv(index=False)
    path.write_text(text + last + "\n", encoding="utf-8")
    assert oodometer.evaluate(path, metrics=["accuracy"]).rows == ROWS


def test_a_class_may_be_called_as_its_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    TABLE.replace("dog", "label")[["label", "prediction"]].to_csv(path, index=False)
    assert accuracy(path) == ACCURACY


def test_a_column_of_texts_with_commas_is_no_title(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    words = TABLE["label"].replace("dog", "dog, a\nbig one")
    words.to_csv(path, index=False)
    predictions = TABLE["prediction"].replace("dog", "dog, a\nbig one").to_frame()
    assert oodometer.evaluate(predictions, labels=path, metrics=["accuracy"]).rows == ROWS


PERCENTS = {f"p_{name}": (100 * P[:, k]).round(2) for k, name in enumerate(KINDS)}


@pytest.mark.parametrize("form", ["csv", "semicolons", "parquet", "jsonl", "frame"])
@pytest.mark.parametrize("head", ["p_", "prob_", ""])
@pytest.mark.parametrize("digits", [2, 0])
def test_percents_of_all_classes_need_no_sign(
    form: str, head: str, digits: int, tmp_path: Path
) -> None:
    shares = {f"{head}{name[2:]}": cells.round(digits) for name, cells in PERCENTS.items()}
    table = TABLE[["label", "prediction"]].assign(**shares)
    path = tmp_path / f"a.{'csv' if form == 'semicolons' else form}"
    if form == "jsonl":
        table.to_json(path, orient="records", lines=True)
    elif form == "parquet":
        table.to_parquet(path)
    else:
        sign = {"sep": ";", "decimal": ","} if form == "semicolons" else {}
        table.to_csv(path, index=False, **sign)
    found = oodometer.evaluate(table if form == "frame" else path)
    plain = oodometer.evaluate(
        TABLE.assign(**{name: cells.round(digits) / 100 for name, cells in PERCENTS.items()})
    )
    assert found["accuracy"].value == ACCURACY
    assert found["brier"].value == pytest.approx(plain["brier"].value, abs=1e-12)
    assert any("sum to 100 in every row: read as percents" in line for line in found.warnings)


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "frame", "npz", "dict"])
def test_lists_of_percents_are_read_alike(form: str, tmp_path: Path) -> None:
    shares = np.column_stack([*PERCENTS.values()])
    table = TABLE[["prediction"]].assign(label=TABLE["label"], probabilities=shares.tolist())
    path = tmp_path / f"a.{form}"
    given = {"label": table["label"].to_numpy(), "probabilities": shares}
    if form == "npz":
        np.savez(path, label=given["label"].astype(str), probabilities=shares)
    elif form == "jsonl":
        table.to_json(path, orient="records", lines=True)
    elif form in ("csv", "parquet"):
        getattr(table, f"to_{form}")(path, index=False)
    data = {"frame": table, "dict": given}.get(form, path)
    plain = TABLE[["label"]].assign(**{f"prob_{n}": P[:, k] for k, n in enumerate(KINDS)})
    found = oodometer.evaluate(data, classes=[*KINDS])
    assert found["accuracy"].value == ACCURACY
    assert found["brier"].value == pytest.approx(oodometer.evaluate(plain)["brier"].value)


def test_what_sums_to_100_in_some_rows_only_is_an_error() -> None:
    table = TABLE[["label"]].assign(**{f"prob_{n[2:]}": cells for n, cells in PERCENTS.items()})
    table.loc[7, "prob_dog"] += 3
    with pytest.raises(oodometer.InputError, match="divide them by 100"):
        oodometer.evaluate(table)


def test_the_composition_of_a_soil_is_no_answer() -> None:
    names = ("sand", "silt", "clay")
    soil = dict(zip(names, PERCENTS.values(), strict=True))
    found = oodometer.evaluate(TABLE[["label", "prediction"]].assign(**soil))
    assert "brier" not in found.metrics

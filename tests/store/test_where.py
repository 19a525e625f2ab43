"""Conditions on rows: what is left is what a file with those rows alone gives, and what need not be read is not."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from oodometer import audit, backtest, compare, diagnose, estimate, evaluate, fit
from oodometer.errors import InputError, OodometerError, UsageError
from oodometer.passes.run_folder import read_manifest
from oodometer.predictions import Predictions
from oodometer.store import as_source, write_predictions
from oodometer.store.parquet import ParquetReader
from oodometer.store.scan import Piece
from oodometer.store.source import pick_rows
from oodometer.store.where import parse_where
from oodometer.testing import example_record

from ..snapshots import assert_snapshot, raises_snapshot
from . import drawn_conditions
from .forms import numbers

FORMS = ("parquet", "csv", "jsonl", "arrow")


def table(rows: int = 600, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0, 1.0, 0.5], rows)
    label = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    start = np.datetime64("2026-11-01", "us")
    age = [None if draw < 0.1 else int(100 * draw) for draw in rng.random(rows)]
    return pa.table(
        {
            **{f"prob_{k}": p[:, k] for k in range(3)},
            "label": label,
            "time": pa.array(start + np.arange(rows) * np.timedelta64(1, "h")),
            "site": np.array(["north", "south", "a, b"])[rng.integers(0, 3, rows)],
            "age": pa.array(age, pa.int64()),
            "key": np.arange(rows),
        }
    )


def write(whole: pa.Table, path: Path) -> Path:
    """A table in any format, of Parquet and Arrow in several groups of rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    form = path.suffix[1:]
    if form == "parquet":
        pq.write_table(whole, path, row_group_size=50)
    elif form == "arrow":
        with pa.ipc.new_file(path, whole.schema) as writer:
            writer.write_table(whole, max_chunksize=50)
    else:
        from oodometer.store import csv_file, jsonl

        with path.open("wb") as file:
            (csv_file if form == "csv" else jsonl).write(
                file, whole.schema, iter(whole.to_batches())
            )
    return path


CASES: dict[str, tuple[list[str], Any]] = {
    "time": (["time >= 2026-11-05", "time < 2026-11-06T12:00"], lambda t: _between(t)),
    "number": (["age > 50"], lambda t: pc.field("age") > 50),
    "not equal": (["age != 50"], lambda t: pc.field("age") != 50),
    "text": (["site = north"], lambda t: pc.field("site") == "north"),
    "among": (["site in (north, 'a, b')", "age <= 30.5"], lambda t: _among()),
    "field": (["prob_0 >= 0.5"], lambda t: pc.field("prob_0") >= 0.5),
    "class": (["label in (0, 2)"], lambda t: pc.field("label").isin([0, 2])),
}


def _between(_: Any) -> Any:
    first, last = (
        pa.scalar(datetime.datetime(2026, 11, day, hour)) for day, hour in ((5, 0), (6, 12))
    )
    return (pc.field("time") >= first) & (pc.field("time") < last)


def _among() -> Any:
    return pc.field("site").isin(["north", "a, b"]) & (pc.field("age") <= 30.5)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", FORMS)
def test_what_is_left_is_the_file_of_these_rows(form: str, case: str, tmp_path: Path) -> None:
    """`pyarrow` filters the rows of the file that it is compared with."""
    whole = table()
    where, expression = CASES[case]
    left = whole.filter(expression(whole))
    assert 0 < len(left) < len(whole)
    path, other = write(whole, tmp_path / f"a.{form}"), write(left, tmp_path / "left" / f"a.{form}")
    source, alone = (
        as_source(path, extra_columns=["key"], where=where),
        as_source(other, extra_columns=["key"]),
    )
    read = source.read()
    keys = left.column("key").to_pylist()
    assert read.columns["key"].tolist() == keys
    np.testing.assert_array_equal(read.probabilities, alone.read().probabilities)
    pieces = [batch for part in source.parts(100) for batch in part.batches(rows=32)]
    assert [one.first_row for one in pieces] == np.cumsum([0, *map(len, pieces)])[:-1].tolist()
    assert [key for one in pieces for key in one.columns["key"].tolist()] == keys
    assert source.keys("key").to_pylist() == [str(key) for key in keys]
    picked = pick_rows(source, np.array([len(keys) - 1, 0])).table.column("key").to_pylist()
    assert [int(key) for key in picked] == [keys[-1], keys[0]]


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_is_that_of_the_file_of_these_rows(form: str, tmp_path: Path) -> None:
    reference = write(table(900, 1), tmp_path / "reference.parquet")
    whole = table()
    where, left = (
        ["age > 20", "site != south"],
        whole.filter((pc.field("age") > 20) & (pc.field("site") != "south")),
    )
    for number in range(3):
        write(whole.slice(200 * number, 200), tmp_path / "lake" / f"{number}.{form}")
    single = write(left, tmp_path / f"left.{form}")
    options: dict[str, Any] = {"backtest": None, "every": "100rows"}
    one, two = (
        estimate(reference, tmp_path / "lake", where=where, workers=n, **options).to_dict()
        for n in (1, 2)
    )
    other = estimate(reference, single, **options).to_dict()
    assert numbers(one) == numbers(two)
    for mine, theirs in zip(numbers(one), numbers(other), strict=True):
        assert mine == (pytest.approx(theirs, abs=1e-9) if isinstance(theirs, float) else theirs)
    assert one["target"]["name"] == f"{tmp_path / 'lake'} where age > 20 and site != south"
    assert evaluate(tmp_path / "lake", where=where).to_dict()["rows"] == len(left)
    kinds = [
        diagnose(reference, data, where=asked).kind
        for data, asked in ((single, None), (tmp_path / "lake", where))
    ]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize(
    "make",
    [lambda t: t, lambda t: t.to_pandas(), lambda t: as_source(t).read()],
    ids=["table", "frame", "record"],
)
def test_frames_and_records(make: Callable[[Any], Any]) -> None:
    found = as_source(make(table()), where=["label = 1"])
    assert found.read().rows == int((np.asarray(table().column("label")) == 1).sum())
    with raises_snapshot(InputError):
        as_source(make(table()), where="label = 7").read()


def test_npz(tmp_path: Path) -> None:
    path = write_predictions(as_source(table()).read(), tmp_path / "a.npz")
    left = as_source(path, where="time >= 2026-11-20")
    assert left.read().rows == 600 - 19 * 24
    with raises_snapshot(UsageError):
        as_source(path, where="probabilities > 0.5")


def groups_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The row groups of Parquet that are read, as they are."""
    read: list[int] = []
    tables = ParquetReader.tables

    def noted(self: ParquetReader, *given: Any) -> Any:
        read.extend(range(self.start, self.start + len(self.groups)))
        return tables(self, *given)

    monkeypatch.setattr(ParquetReader, "tables", noted)
    return read


@pytest.mark.parametrize(("where", "groups"), [
    ("time < 2026-11-04", {0, 1}), ("time >= 2026-11-24T00:00:00Z", {11}), ("key in (60, 130)", {1, 2}),
    ("key = 599", {11}), ("site = north", set(range(12))), ("age > 1000", set()),
])  # fmt: skip
def test_row_groups_that_cannot_hold_such_rows_are_not_read(
    where: str, groups: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = as_source(write(table(), tmp_path / "a.parquet"), where=where)
    _ = source.classes
    read = groups_read(monkeypatch)
    if groups:
        assert sum(len(batch) for part in source.parts(100) for batch in part.batches()) > 0
        assert set(read) == groups
        read.clear()
        source.read()
    else:
        with raises_snapshot(InputError):
            source.parts()
    assert set(read) == groups


def lake(folder: Path, form: str = "parquet") -> Path:
    """Ten days of 24 rows in folders."""
    for day in range(10):
        write(table().slice(24 * day, 24), folder / f"day=2026-11-{day + 1:02}" / f"part.{form}")
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_folders_that_hold_no_such_row_are_not_opened(form: str, tmp_path: Path) -> None:
    home = lake(tmp_path, form)
    for day in (1, 2, 5):
        (home / f"day=2026-11-{day:02}" / f"part.{form}").write_bytes(b"damaged")
    where = ["day >= 2026-11-03", "day != '2026-11-05'"]
    assert as_source(home, where=where).read().rows == 7 * 24
    found = as_source(home, mapping={"day": "group"}, where=[*where, "group < 2026-11-05"])
    assert found.read().rows == 2 * 24
    with pytest.raises(OodometerError, match="day=2026-11-01"):
        as_source(home).read()
    with raises_snapshot(InputError):
        as_source(home, where="day = x")


def test_a_folder_that_stands_for_the_time(tmp_path: Path) -> None:
    for day in range(3):
        rows = table().slice(24 * day, 24).drop_columns(["time"])
        write(rows, tmp_path / f"day=2026-11-{day + 1:02}" / "part.parquet")
    for name in ("time", "day"):
        source = as_source(tmp_path, mapping={"day": "time"}, where=f"{name} >= 2026-11-02T00:00")
        assert source.read().rows == 48


def test_numbers_of_folders_are_numbers(tmp_path: Path) -> None:
    for hour in (1, 9, 10):
        write(table(20), tmp_path / f"hour={hour}" / "part.parquet")
    assert as_source(tmp_path, where="hour >= 9").read().rows == 40
    with raises_snapshot(UsageError):
        as_source(tmp_path, where="hour = x").read()
    write(table(20), tmp_path / "hour=night" / "part.parquet")
    assert as_source(tmp_path, where="hour = '9'").read().rows == 20


def test_a_column_of_the_file_counts_more_than_its_folder(tmp_path: Path) -> None:
    for name in ("north", "south"):
        write(table(), tmp_path / f"site={name}" / "part.parquet")
    rows = int((np.asarray(table().column("site")) == "north").sum())
    with pytest.warns(UserWarning, match="the folder says site=north and the column site says"):
        source = as_source(tmp_path, where="site = north")
    assert source.read().rows == 2 * rows


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (
            "nope = 1",
            "there is no column nope for the condition 'nope = 1'; its columns are prob_0",
        ),
        ("agee > 1", "did you mean age? its columns"),
        ("age > old", "the column age holds numbers, got 'old' in the condition 'age > old'"),
        ("age > '5'", "the column age holds numbers, got '5'"),
        ("site > 5", "got '5' in the condition 'site > 5'; put a text in quotes: site > '5'"),
        ("time > soon", "the column time holds times, got 'soon'"),
        ("prob_1 > much", "the column prob_1 holds numbers, got 'much'"),
        ("age > 99999999999999999999999", "the column age holds numbers of 64 bits, got '9999"),
        ("key < 0", "expected rows where key < 0, got none; check the conditions of --where"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_what_cannot_be_asked_is_one_line(form: str, where: str, said: str, tmp_path: Path) -> None:
    path = write(table(), tmp_path / f"a.{form}")
    for ask in (
        lambda: as_source(path, where=where).read(),
        lambda: as_source(path, where=where).parts(),
    ):
        with pytest.raises(OodometerError) as caught:
            ask()
        assert str(caught.value).startswith(f"{path}: ")
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["", "age", "age >", "> 5", "age in ()", "age in (1,)", "age = 1, 2", "age = 'x", "a ~ b"],
)
def test_what_is_no_condition(text: str) -> None:
    with raises_snapshot(UsageError):
        parse_where(text)


@pytest.mark.parametrize(("text", "sign", "at"), [
    ("day > 2026-01-10 && n < 2", "'&&'", 18), ("n > 1 or n < -1", "'or'", 7), ("n !== 1", "'!=='", 3),
    ("n => 1", "'=>'", 3), ("n ≥ 1", "'≥'", 3), ("n > 1 # a comment", "'#'", 7), ("n > 1 -- a comment", "'--'", 7),
    ("n > 1;", "';'", 6), ("n > 1, n < 3", "','", 6), ("day > 10 January 2026", "'January'", 10),
    ("site = a b", "'b'", 10), ("site = no*", "'*'", 10), ("site = “north”", "'“'", 8),
    ("not site = north", "'not'", 1), ("1 < n < 3", "'<'", 7), ("n > 1 and", "the end", None),
    ("n > 1 and and n < 3", "'and'", 11), ("site in [a, b]", "'['", 9), ("site in (a b)", "'b'", 12),
    ("site not = a", "'='", 10), ("n > 1 n < 3", "'n'", 7), ("(n > 1)", "'('", 1), ("n > $x", "'$'", 5),
])  # fmt: skip
def test_the_sign_that_is_not_understood_is_named(text: str, sign: str, at: int | None) -> None:
    where = re.escape(sign) + ("" if at is None else f" at character {at}")
    with pytest.raises(UsageError, match=rf"got .*: {where} is not understood; "):
        parse_where(text)


DAYS = pa.array([datetime.date(2026, 1, 1 + i // 7) for i in range(120)])


def dated(path: Path, written: Callable[[datetime.date], Any] = str) -> Path:
    """120 rows, seven a day from the first of January."""
    days = [written(day) for day in DAYS.to_pylist()]
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(
        pa.table({"confidence": np.full(120, 0.5), "row": np.arange(120), "day": days}), path
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "written",
    [str, lambda d: d, lambda d: f"{d}T00:00:00Z", lambda d: f"{d} 01:00:00+01:00"],
    ids=["text", "date", "zone", "other zone"],
)
@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_days_are_compared_as_days(
    form: str, written: Callable[[datetime.date], Any], quote: str, tmp_path: Path
) -> None:
    path = dated(tmp_path / f"a.{form}", written)
    for where, rows in (
        (f"day >= {quote}2026-01-10{quote} and day < {quote}2026-01-12{quote}", range(63, 77)),
        (f"day = {quote}2026-01-10{quote}", range(63, 70)),
        (f"day in ({quote}2026-01-10T00:00{quote}, 2026-01-11)", range(63, 77)),
        (
            f"day >= {quote}2026-01-10T01:00+01:00{quote} and day < '2026-01-11 01:00+01:00'",
            range(63, 70),
        ),
        (f"day != {quote}2026-01-01{quote}", range(7, 120)),
    ):
        found = as_source(path, extra_columns=["row"], where=where).read().columns["row"]
        assert found.tolist() == list(rows), where


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [
    "10.01.2026", "2026/01/10", "01/10/2026", "20260110", "2026-01", "2026", "'10 Jan 2026'", "2026-02-30", "soon",
    "today", "2026-1-9", "2026-01-10T12:00Uhr",
])  # fmt: skip
def test_a_day_in_another_form_is_refused(form: str, value: str, tmp_path: Path) -> None:
    value = value.replace("_", " ")
    for written in (str, lambda d: d):
        path = dated(tmp_path / f"a.{form}", written)
        for sign in (">=", "<", "!=") if value != "soon" else (">=", "<"):
            with raises_snapshot(UsageError):
                as_source(path, where=f"day {sign} {value}").read()


@pytest.mark.parametrize("form", FORMS)
def test_days_in_a_column_of_another_form_are_refused(form: str, tmp_path: Path) -> None:
    path = dated(tmp_path / f"a.{form}", lambda d: d.strftime("%d.%m.%Y"))
    with raises_snapshot(InputError):
        as_source(path, where="day >= 2026-01-10").read()
    with raises_snapshot(UsageError):
        as_source(path, where="day >= 10.01.2026").read()
    assert as_source(path, where="day = 10.01.2026").read().rows == 7
    mixed = dated(tmp_path / f"b.{form}", lambda d: "unknown" if d.day == 5 else str(d))
    assert as_source(mixed, where="day != unknown").read().rows == 113
    assert as_source(mixed, where="day = 2026-01-10").read().rows == 7
    with raises_snapshot(InputError):
        as_source(mixed, where="day >= 2026-01-02").read()


@pytest.mark.parametrize("form", FORMS)
def test_a_column_is_not_compared_with_a_column(form: str, tmp_path: Path) -> None:
    path = write(table(), tmp_path / f"a.{form}")
    for where in ("site != label", "prob_0 > prob_1"):
        with raises_snapshot(UsageError):
            as_source(path, where=where)
    assert as_source(path, where="site != 'label'").read().rows == 600
    record = as_source(path, extra_columns=["key"]).read()
    with raises_snapshot(UsageError):
        as_source(record, where="label = key")


def test_numbers_above_those_with_a_sign(tmp_path: Path) -> None:
    cells = pa.array([0, 1, 2**63, 2**64 - 1], pa.uint64())
    path = write(pa.table({"confidence": np.full(4, 0.5), "u": cells}), tmp_path / "a.parquet")
    for where, rows in (
        ("u > 5", 2),
        (f"u = {2**64 - 1}", 1),
        (f"u >= {2**63}", 2),
        (f"u in (1, {2**63})", 2),
    ):
        assert as_source(path, where=where).read().rows == rows, where


def test_classes_of_a_record_are_asked_by_name() -> None:
    record = Predictions.from_classes(["b", "a", "b"], label=["a", "a", "b"], classes=["b", "a"])
    assert as_source(record, where="label = a").read().rows == 2
    assert as_source(record, where="prediction != a and label not in (a)").read().rows == 1


def test_no_condition_holds_of_an_empty_cell(tmp_path: Path) -> None:
    """NaN, which is all that NPZ and some Parquet files have for an empty cell, is one."""
    cells = np.array([1.0, np.nan, 3.0])
    np.savez(tmp_path / "a.npz", confidence=[0.5, 0.6, 0.7], x=cells)
    write(pa.table({"confidence": [0.5, 0.6, 0.7], "x": cells}), tmp_path / "a.parquet")
    for path in (tmp_path / "a.npz", tmp_path / "a.parquet"):
        assert as_source(path, where="x != 1").read().confidence.tolist() == [0.7]  # type: ignore[union-attr]
        assert as_source(path, where="x not in (2, 3)").read().rows == 1


def test_true_and_false_in_any_letters(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("confidence,flag\n0.5,True\n0.6,False\n0.7,\n0.8,TRUE\n")
    assert as_source(path, where="flag = true").read().rows == 2
    assert as_source(path, where="flag != 'true'").read().rows == 1


@pytest.mark.parametrize("form", drawn_conditions.FORMS)
def test_generated_conditions_leave_the_rows_that_pandas_leaves(form: str) -> None:
    wrong, left = drawn_conditions.differing(30, form, seed=1)
    assert wrong == []
    assert left > 10


def test_written_in_other_ways() -> None:
    told = [
        (one.column, one.sign, *(v.text for v in one.values))
        for one in parse_where(
            ["a==1", "a <> 1", '"my column"<=-1.5e3', "b IN ('it''s', \"x\")", " in = out "]
        )
    ]
    assert told == [
        ("a", "equal", "1"),
        ("a", "not_equal", "1"),
        ("my column", "less_equal", "-1.5e3"),
        ("b", "is_in", "it's", "x"),
        ("in", "equal", "out"),
    ]


def test_truth_values_and_empty_cells(tmp_path: Path) -> None:
    rows = {
        "confidence": [0.9, 0.8, 0.7, 0.6],
        "correct": [True, False, None, True],
        "flag": [True, None, False, True],
    }
    for form in FORMS:
        path = write(pa.table(rows), tmp_path / f"t.{form}")
        for where, left in (
            ("correct = true", [0.9, 0.6]),
            ("correct != 1", [0.8]),
            ("correct in (true, false)", [0.9, 0.8, 0.6]),
            ("flag = false", [0.7]),
        ):
            if form == "csv" and where.startswith("flag"):
                continue  # where a column of one's own is text
            assert as_source(path, where=where).read().confidence.tolist() == left  # type: ignore[union-attr]
    assert as_source(tmp_path / "t.csv", where="flag = 'true'").read().confidence.tolist() == [
        0.9,
        0.6,
    ]  # type: ignore[union-attr]


def test_a_number_of_32_bits_is_its_own(tmp_path: Path) -> None:
    """0.7 in a column of 32 bits is not 0.7 in 64, and still the number that was written there."""
    path = write(
        pa.table({"confidence": pa.array([0.6, 0.7, 0.8], pa.float32())}), tmp_path / "a.parquet"
    )
    assert as_source(path, where="confidence >= 0.7").read().rows == 2
    assert as_source(path, where="confidence = 0.7").read().rows == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_bad_value_counts_where_its_row_is_left(form: str, tmp_path: Path) -> None:
    whole = table()
    probability = whole.column("prob_0").to_pylist()
    probability[470] = 3.0
    path = write(whole.set_column(0, "prob_0", pa.array(probability)), tmp_path / f"a.{form}")
    assert as_source(path, where="key < 470").read().rows == 470
    for read in (
        lambda s: s.read(),
        lambda s: [list(part.batches(rows=16)) for part in s.parts(100)],
    ):
        with pytest.raises(InputError) as caught:
            read(as_source(path, where=["age > 5", "key >= 400"] if probability else ""))
        assert str(caught.value).startswith(f"{path}: row 471: ")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_bad_class_names_its_row_in_its_file(form: str, tmp_path: Path) -> None:
    whole = table(40)
    names = pa.array(["a", "b"] * 19 + ["a", "x"])
    bad = whole.set_column(3, "label", names)
    write(whole.set_column(3, "label", pa.array(["a", "b"] * 20)), tmp_path / f"1.{form}")
    write(bad, tmp_path / f"2.{form}")
    mapping = {"prob_0": "prob_a", "prob_1": "prob_b", "prob_2": "prob_c"}
    read = partial(as_source, tmp_path, classes=["a", "b", "c"], mapping=mapping)
    with raises_snapshot(InputError):
        read(where="key > 30").read()
    assert read(where="key < 39").read().rows == 78


def test_classes_of_two_types_name_the_row(tmp_path: Path) -> None:
    for name, labels in (("a", [0, 1, 1]), ("b", ["x", "y", "y"])):
        write(
            pa.table({"prediction": labels, "label": labels, "key": [0, 1, 2]}),
            tmp_path / f"{name}.parquet",
        )
    with raises_snapshot(InputError):
        as_source(tmp_path, where="key > 0").read()


def test_labels_are_joined_by_a_column(tmp_path: Path) -> None:
    reference = write(table(900, 1), tmp_path / "reference.parquet")
    target = write(table().drop_columns(["label"]), tmp_path / "target.parquet")
    labels = {"key": list(range(0, 600, 3)), "label": table().column("label").to_pylist()[::3]}
    options: dict[str, Any] = {
        "where": "key >= 300",
        "backtest": None,
        "methods": ["doc"],
        "diagnosis": False,
    }
    found = estimate(reference, target, labels=labels, key="key", **options)
    assert found.target["labelled"] == 100
    assert_snapshot(found.warnings)
    for told in ({"label": labels["label"]}, {"row": list(range(200)), "label": labels["label"]}):
        with raises_snapshot(UsageError):
            estimate(reference, target, labels=told, **options)
        with raises_snapshot(UsageError):
            audit(reference, target, labels=told, where="key >= 300")
    with raises_snapshot(UsageError):
        audit(reference, target, suggest=5, out=tmp_path / "sheet.csv", where="key >= 300")
    audit(reference, target, suggest=5, out=tmp_path / "sheet.csv", where="key >= 300", key="key")
    sheet = as_source(tmp_path / "sheet.csv", extra_columns=["key"])
    assert all(int(key) >= 300 for key in sheet.keys("key").to_pylist())


def test_a_reference_of_some_rows(tmp_path: Path) -> None:
    path = write(table(900, 1), tmp_path / "reference.parquet")
    made = fit(path, where="site = north", methods=["doc"], backtest=None)
    rows = int((np.asarray(table(900, 1).column("site")) == "north").sum())
    assert made.fitted_.reference.rows == rows
    assert made.estimate(table(), where="key < 100").target["rows"] == 100


def test_a_run_folder_tells_conditions_apart(tmp_path: Path) -> None:
    reference = write(table(900, 1), tmp_path / "reference.parquet")
    home = lake(tmp_path / "lake")

    def asked(where: list[str], kept: bool = True) -> Any:
        folder = tmp_path / "run" if kept else None
        options: dict[str, Any] = {
            "methods": ["doc"],
            "diagnosis": False,
            "backtest": None,
            "run_folder": folder,
        }
        return estimate(reference, home, where=where, **options).to_dict()

    def read() -> tuple[int, int]:
        found = read_manifest(tmp_path / "run")
        return found["read"], found["done"]

    for where, fresh in (
        ([], 10),
        (["age > 50"], 10),
        (["age > 51"], 10),
        (["day < 2026-11-04"], 3),
    ):
        assert asked(where) == asked(where, kept=False)
        assert read() == (fresh, 10 if fresh == 10 else 3)
        asked(where)
        assert read()[0] == 0


def test_a_second_run_counts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = write(table(900, 1), tmp_path / "reference.parquet")
    home = lake(tmp_path / "lake", "csv")
    options: dict[str, Any] = {
        "where": "age > 50",
        "backtest": None,
        "methods": ["doc"],
        "diagnosis": False,
    }
    options["run_folder"] = tmp_path / "run"
    first = estimate(reference, home, **options).to_dict()
    read: list[str] = []
    tables = Piece.tables
    monkeypatch.setattr(
        Piece,
        "tables",
        lambda self, *a: (self.where and read.append(str(self.file)), tables(self, *a))[1],
    )
    assert estimate(reference, home, **options).to_dict() == first
    assert {Path(file).parent.name for file in read} == {"day=2026-11-01"}  # the first batch


VALUES = st.one_of(st.none(), st.integers(-3, 3))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cells=st.lists(VALUES, min_size=1, max_size=30),
    sign=st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "in"]),
    value=st.integers(-3, 3),
    form=st.sampled_from(FORMS),
)
def test_every_sign_on_every_format(
    cells: list[int | None], sign: str, value: int, form: str, tmp_path: Path
) -> None:
    signs: dict[str, Callable[[int], bool]] = {
        "=": lambda c: c == value,
        "!=": lambda c: c != value,
        "<": lambda c: c < value,
        "<=": lambda c: c <= value,
        ">": lambda c: c > value,
        ">=": lambda c: c >= value,
        "in": lambda c: c in (value, 2),
    }
    known = [0, *cells]  # a first cell that is there, from which JSONL takes the type
    data = {
        "confidence": np.full(len(known), 0.5),
        "x": pa.array(known, pa.int64()),
        "n": np.arange(len(known)),
    }
    path = write(pa.table(data), tmp_path / f"a.{form}")
    wanted = [i for i, cell in enumerate(known) if cell is not None and signs[sign](cell)]
    source = as_source(
        path,
        extra_columns=["n"],
        where=f"x in ({value}, 2)" if sign == "in" else f"x {sign} {value}",
    )
    if not wanted:
        with pytest.raises(InputError, match="got none"):
            source.read()
    else:
        assert source.read().columns["n"].tolist() == wanted


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cells=st.lists(
        st.none() | st.sampled_from([-1.0, -0.0, 0.0, 0.1, 0.5, float("nan"), float("inf")]),
        min_size=1,
    ),
    names=st.lists(st.none() | st.text("abé", max_size=3), min_size=1),
    kind=st.sampled_from([pa.float32(), pa.float64()]),
    sign=st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    value=st.sampled_from(["x %s 0", "x %s 0.1", "s %s ab", "s %s 'é'", "t %s 2026-01-02"]),
)
@example(cells=[None], names=[None, None, ""], kind=pa.float32(), sign="=", value="s %s ab")
def test_row_groups_never_hold_a_row_that_is_asked_for(
    cells: list[Any], names: list[Any], kind: Any, sign: str, value: str, tmp_path: Path
) -> None:
    rows = max(len(cells), len(names))
    days = [None if i % 3 == 2 else datetime.datetime(2026, 1, 1 + i % 4) for i in range(rows)]
    data = {
        "confidence": np.full(rows, 0.5),
        "x": pa.array((cells * rows)[:rows], kind),
        "s": pa.array((names * rows)[:rows], pa.string()),
        "t": pa.array(days, pa.timestamp("ns", "UTC")),
        "n": np.arange(rows),
    }
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(data), path, row_group_size=2)
    where = value % sign

    def left() -> list[int] | str:
        try:
            found: list[int] = (
                as_source(path, extra_columns=["n"], where=where).read().columns["n"].tolist()
            )
        except InputError as error:
            return str(error)
        return found

    with pytest.MonkeyPatch.context() as patch:
        split = ParquetReader.split
        patch.setattr(ParquetReader, "split", lambda self, rows, where=(): split(self, rows))
        unpruned = left()
    assert left() == unpruned


def test_conditions_belong_to_the_opening() -> None:
    with raises_snapshot(UsageError):
        as_source(as_source(table()), where="age > 1")
    record = Predictions.from_arrays(confidence=[0.5, 0.9])
    with raises_snapshot(UsageError):
        as_source(record, where="x = 1")


def test_few_rows_are_looked_for_in_batches_of_many(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The widths of lists are read from the first row, which may stand far down."""
    source = as_source(write(table(), tmp_path / "a.parquet"), where="key = 599")
    asked: list[int] = []
    tables = ParquetReader.tables
    monkeypatch.setattr(
        ParquetReader,
        "tables",
        lambda self, kinds, rows: (asked.append(rows), tables(self, kinds, rows))[1],
    )
    [(batch, _)] = list(source.pieces[0].tables({"key": "any"}, 1))  # type: ignore[attr-defined]
    assert batch.column("key").to_pylist() == [599]
    assert min(asked) >= 1024


@pytest.mark.parametrize("labels_apart", [False, True])
def test_a_comparison_is_that_of_files_with_these_rows_alone(
    labels_apart: bool, tmp_path: Path
) -> None:
    rng = np.random.default_rng(4)
    label, site = rng.integers(0, 2, 400), rng.integers(0, 2, 400)

    def files(name: str, kept: Any) -> list[Path]:
        out = []
        for seed in (1, 2, 3, 4):
            mine = np.random.default_rng(seed)
            right, confidence = mine.random(400) < 0.6 + seed / 12, mine.uniform(0.5, 1, 400)
            prediction = np.where(right, label, 1 - label)
            order = mine.permutation(400)  # each model's rows in an order of its own
            order = order[kept[order]]
            data = {
                "id": order,
                "site": site[order],
                "prediction": prediction[order],
                "confidence": confidence[order],
            }
            data |= {} if labels_apart and seed < 3 else {"label": label[order]}
            out.append(write(pa.table(data), tmp_path / f"{name}-{seed}.parquet"))
        return out

    pq.write_table(pa.table({"id": np.arange(400), "label": label}), tmp_path / "truth.parquet")
    truth = {"labels": tmp_path / "truth.parquet"} if labels_apart else {}

    def told(paths: list[Path], **more: Any) -> dict[str, Any]:
        return compare(
            paths[:2], out_of_domain=paths[2:], names=["a", "b"], **truth, **more
        ).to_dict()

    found, wanted = told(files("all", site >= 0), where="site = 1"), told(files("north", site == 1))
    assert found["paired"]["in_domain"]["paired"] is True
    for name in ("rankings", "disagreements", "pairs", "findings", "paired", "warnings"):
        assert found[name] == wanted[name], name
    assert found["models"][0]["in_domain"]["rows"] == (site == 1).sum()


def test_a_backtest_is_that_of_a_file_with_these_rows_alone(tmp_path: Path) -> None:
    record = example_record(600, seed=2)
    site = np.arange(600) % 3
    data = {"probabilities": list(record.probabilities), "label": record.label, "site": site}
    every, some = tmp_path / "all.parquet", tmp_path / "some.parquet"
    pq.write_table(pa.table(data), every)
    pq.write_table(pa.table(data).filter(pa.array(site != 1)), some)
    options: dict[str, Any] = {
        "methods": ["source", "atc"],
        "families": ["none"],
        "repeats": 3,
        "cache": None,
    }
    found = backtest(every, where="site != 1", **options)
    assert found.trials == backtest(some, **options).trials
    assert found.reference["rows"] == 400
    with raises_snapshot(UsageError):
        backtest(every, where="city = 1", **options)

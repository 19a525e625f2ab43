"""Many files: a folder, a pattern or a list gives what one file with all rows gives; errors name file and row."""

from __future__ import annotations

import os
import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oodometer import estimate
from oodometer.errors import InputError, OodometerError, UsageError
from oodometer.predictions import Predictions
from oodometer.store import Source, as_source, write_predictions
from oodometer.store.source import pick_rows

from ..snapshots import assert_snapshot, raises_snapshot

ROWS = (300, 1, 250)


def record(rows: int = sum(ROWS), seed: int = 0) -> Predictions:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0, 1.0, 0.5], rows)
    label = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    site = np.array(["north", "south"])[rng.integers(0, 2, rows)]
    return Predictions.from_probabilities(
        p, label=label, columns={"site": site, "key": np.arange(rows)}
    )


def parted(whole: Predictions, folder: Path, form: str) -> Path:
    """The record in files of several lengths; between them what is no part of it."""
    start = 0
    for number, rows in enumerate(ROWS):
        place = folder / f"batch {number}"
        place.mkdir(parents=True)
        write_predictions(whole.slice(start, start + rows), place / f"part-{number}.{form}")
        start += rows
    (folder / "_SUCCESS").touch()
    (folder / "README.md").write_text("not a part")
    (folder / ".hidden.csv").write_text("not a part")
    (folder / "_temporary").mkdir()
    (folder / "_temporary" / f"half.{form}").write_text("not a part")
    return folder


def same(one: Predictions, other: Predictions) -> None:
    np.testing.assert_array_equal(one.probabilities, other.probabilities)
    np.testing.assert_array_equal(one.label, other.label)
    assert one.classes == other.classes
    assert one.columns["site"].tolist() == other.columns["site"].tolist()


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl", "arrow", "npz"])
def test_a_folder_is_one_file_with_all_rows(form: str, tmp_path: Path) -> None:
    whole = record()
    folder = parted(whole, tmp_path / "lake", form)
    single = write_predictions(whole, tmp_path / f"single.{form}")
    alone = as_source(single, extra_columns=["site"])
    for data in (folder, str(folder / "*" / f"*.{form}"), sorted(folder.glob(f"b*/*.{form}"))):
        source = as_source(data, extra_columns=["site"])
        assert source.fields == alone.fields
        assert source.rows in (None, sum(ROWS))
        same(source.read(), alone.read())
        assert source.rows == sum(ROWS)
        parts = pickle.loads(pickle.dumps(source.parts(100)))
        pieces = [batch for part in parts for batch in part.batches(rows=64)]
        assert [p.first_row for p in pieces] == np.cumsum(
            [0, *[len(p) for p in pieces[:-1]]]
        ).tolist()
        assert Predictions.concat([p.slice(0, len(p)) for p in pieces]).accuracy == whole.accuracy
        if form != "npz":
            assert source.keys("key").to_pylist() == [str(row) for row in range(sum(ROWS))]
            raw = pa.Table.from_batches(list(source.raw(["key"])))
            assert [int(cell) for cell in raw.column("key").to_pylist()] == list(range(sum(ROWS)))
            picked = pick_rows(source, np.array([550, 0, 300])).table.column("key").to_pylist()
            assert [int(cell) for cell in picked] == [550, 0, 300]


def numbers(answer: Any) -> list[float]:
    """All numbers in an answer; sums over other parts differ in their last digits."""
    if isinstance(answer, (list, tuple)):
        return [n for one in answer for n in numbers(one)]
    if isinstance(answer, dict):
        return numbers([one for name, one in answer.items() if "seconds" not in name])
    return [float(answer)] if isinstance(answer, (int, float)) else []


def test_an_estimate_on_folders_is_that_on_files(tmp_path: Path) -> None:
    reference, target = record(seed=1), record(seed=2)
    both = [
        parted(reference, tmp_path / "reference", "parquet"),
        parted(target, tmp_path / "target", "parquet"),
    ]
    files = [
        write_predictions(reference, tmp_path / "r.parquet"),
        write_predictions(target, tmp_path / "t.parquet"),
    ]
    on_folders, on_files = (
        estimate(*data, by="site", backtest=None, workers=2).to_dict()
        for data in (both, files)  # type: ignore[misc]
    )
    assert numbers(on_folders["headline"]) == pytest.approx(numbers(on_files["headline"]), abs=1e-9)
    assert numbers(on_folders["slices"]) == pytest.approx(numbers(on_files["slices"]), abs=1e-6)


def test_folders_name_columns(tmp_path: Path) -> None:
    whole = record(40)
    days = ("2026-11-01", "2026-11-02")
    for number, day in enumerate(days):
        for hour in (1, 12):
            place = tmp_path / f"day={day}" / f"hour={hour}" / "zone=__HIVE_DEFAULT_PARTITION__"
            place.mkdir(parents=True)
            write_predictions(whole.slice(20 * number, 20 * number + 10), place / "part.parquet")
    source = as_source(tmp_path, extra_columns=["day", "hour"])
    assert source.columns[-3:] == ("day", "hour", "zone")
    read = source.read()
    assert read.columns["day"].tolist() == [days[0]] * 20 + [days[1]] * 20
    assert read.columns["hour"].tolist() == [1] * 10 + [12] * 10 + [1] * 10 + [12] * 10
    batch = next(iter(source.raw(["zone", "day"])))
    assert batch.column("zone").null_count == batch.num_rows
    assert as_source(str(tmp_path / "day=2026-11-02" / "**" / "*.parquet")).rows is not None
    shown = estimate(
        record(), tmp_path, every="1d", mapping={"day": "time"}, backtest=None
    ).to_dict()
    assert [chunk["start"][:10] for chunk in shown["chunks"]] == list(days)


def put(folder: Path, name: str, table: dict[str, Any], **options: Any) -> Path:
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(table), place, **options)
    return place


GOOD = {"prob_a": [0.9, 0.2], "prob_b": [0.1, 0.8], "label": ["a", "b"], "site": ["x", "y"]}


def refused(data: Any, **options: Any) -> str:
    with pytest.raises(OodometerError) as caught:
        as_source(data, **options).read()
    return str(caught.value)


def test_an_error_names_the_file_and_the_row_in_it(tmp_path: Path) -> None:
    put(tmp_path, "a.parquet", GOOD)
    put(tmp_path, "b.parquet", {**GOOD, "prob_a": [0.9, 3.0]}, row_group_size=1)
    assert refused(tmp_path).startswith(f"{tmp_path}/b.parquet: row 2: column prob_*: expected")
    *_, last = as_source(tmp_path).parts(1)
    with pytest.raises(InputError, match=r"b\.parquet: row 2: column prob_\*"):
        list(last.batches())
    put(tmp_path, "b.parquet", {**GOOD, "label": ["a", "c"]})
    assert f"{tmp_path}/b.parquet: row 2: column label: expected" in refused(tmp_path)
    for name in ("a", "b"):
        (tmp_path / f"{name}.parquet").unlink()
        (tmp_path / f"{name}.csv").write_text("prob_a,prob_b,label\n0.9,0.1,a\n0.2,0.8,b\n")
    (tmp_path / "b.csv").write_text("prob_a,prob_b,label\n0.9,0.1,a\n0.2,x,b\n")
    assert refused(tmp_path).startswith(f"{tmp_path}/b.csv: row 2: column prob_b: expected")
    (tmp_path / "b.csv").write_text("prob_a,prob_b,label\n0.9,0.1,a\n0.2,0.1,b\n")
    assert refused(tmp_path).startswith(f"{tmp_path}/b.csv: row 2: ")


def test_mixed_types_are_placed_in_their_file(tmp_path: Path) -> None:
    put(tmp_path, "a.parquet", {"prediction": [0, 1], "label": [0, 1]})
    put(tmp_path, "b.parquet", {"prediction": ["x", "y"], "label": ["x", "y"]})
    assert refused(tmp_path).startswith(
        f"{tmp_path}/b.parquet: row 1: column prediction: expected classes of one type"
    )


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    first = put(tmp_path, "a.parquet", GOOD)
    second = put(tmp_path, "b.parquet", {k: v for k, v in GOOD.items() if k != "label"})
    message = refused(tmp_path)
    assert message.startswith(
        f"{second}: column label: expected the columns of the other files, such as {first}, got no"
    )
    assert_snapshot(message)
    put(tmp_path, "b.parquet", {**GOOD, "prob_c": [0.0, 0.0]})
    assert refused(tmp_path).startswith(
        f"{first}: column prob_c: expected the columns of the other files, such as {second}"
    )
    put(tmp_path, "b.parquet", {k: v for k, v in GOOD.items() if k != "site"})
    assert as_source(tmp_path).own_columns == ()  # a column of one's own may be absent
    assert refused(tmp_path, extra_columns=["site"]).startswith(
        f"{second}: column site: expected the columns of the oth"
    )
    second.unlink()
    (tmp_path / "b.csv").write_text("prob_a,prob_b\n1,0\n")
    assert refused(tmp_path) == (
        f"{tmp_path}: expected files of one format, got 1 parquet, 1 csv; name those that belong together, such as "
        f"'{tmp_path}/**/*.parquet'"
    )
    (tmp_path / "a.parquet").unlink()
    (tmp_path / "c.csv").write_text("prob_a;prob_b\n0,9;0,1\n")
    assert_snapshot(refused(tmp_path))


def test_classes_in_another_order(tmp_path: Path) -> None:
    """Lists are matched by position, so their names must agree."""
    for name, classes in (("a", ["cat", "dog"]), ("b", ["dog", "cat"])):
        np.savez(tmp_path / f"{name}.npz", probabilities=[[0.9, 0.1]], classes=np.array(classes))
    message = refused(tmp_path)
    assert message.startswith(
        f"{tmp_path}/b.npz: expected the names of classes as in {tmp_path}/a.npz (cat, dog), got dog"
    )


def test_nothing_there(tmp_path: Path) -> None:
    assert_snapshot(refused(tmp_path))
    assert refused(str(tmp_path / "*.csv")).startswith(
        f"{tmp_path}/*.csv: expected a file that the pattern matches, got"
    )
    with pytest.raises(UsageError):
        as_source([])
    put(tmp_path, "a.parquet", {k: v[:0] for k, v in GOOD.items()}, row_group_size=1)
    assert (
        refused(tmp_path) == f"{tmp_path}: expected at least one row, got none; check what wrote it"
    )
    put(tmp_path, "b.parquet", GOOD)
    assert as_source(tmp_path).read().rows == 2
    for name in ("a", "b"):
        (tmp_path / f"{name}.parquet").unlink()
        (tmp_path / f"{name}.csv").write_text("prob_a,prob_b\n")
    assert "got none" in refused(tmp_path)
    (tmp_path / "b.csv").write_text("prob_a,prob_b\n1,0\n")
    assert as_source(tmp_path).read().rows == 1
    (tmp_path / "b.csv").write_text("")
    assert refused(tmp_path).startswith(
        f"{tmp_path}/b.csv: expected predictions, got an empty file"
    )


def test_a_file_with_magic_in_its_name_is_that_file(tmp_path: Path) -> None:
    write_predictions(record(5), tmp_path / "run[1].parquet")
    assert as_source(tmp_path / "run[1].parquet").read().rows == 5
    assert (
        as_source((tmp_path / "run[1].parquet").as_uri().replace("%5B", "[").replace("%5D", "]"))
        .read()
        .rows
        == 5
    )


def test_a_file_that_changes_meanwhile(tmp_path: Path) -> None:
    put(tmp_path, "a.parquet", GOOD)
    second = put(tmp_path, "b.parquet", GOOD)
    source = as_source(tmp_path)
    second.unlink()
    with raises_snapshot(InputError):
        source.read()
    shutil.copy(tmp_path / "a.parquet", second)
    with raises_snapshot(InputError):
        list(source.parts(1)[1].batches())


def test_many_files_are_opened_side_by_side(tmp_path: Path) -> None:
    for number in range(40):
        put(tmp_path, f"{number:02}.parquet", GOOD)
    source: Source = as_source(tmp_path)
    assert source.rows == 80
    assert len(source.parts(1)) == 40


def keys_of(data: Any) -> list[int]:
    return sorted(as_source(data, extra_columns=["key"]).read().columns["key"].tolist())


def test_a_link_that_leads_back_is_gone_through_once(tmp_path: Path) -> None:
    home = tmp_path / "lake"
    (home / "inner").mkdir(parents=True)
    write_predictions(record(20), home / "inner" / "a.csv")
    (home / "self").symlink_to(home)
    (home / "inner" / "up").symlink_to(home)
    for data in (home, f"{home}/**/*.csv", f"{home}/**"):
        with pytest.warns(
            UserWarning, match=r"lake/\S+ and 1 more: a link to a folder that is read already"
        ):
            assert keys_of(data) == list(range(20))
    assert keys_of(f"{home}/*/*.csv") == list(range(20))


def test_two_names_of_one_file_are_read_once_and_named(tmp_path: Path) -> None:
    home = tmp_path / "lake"
    home.mkdir()
    path = write_predictions(record(20), home / "a.csv")
    os.link(path, home / "b.csv")
    (home / "c.csv").symlink_to(path)
    named = r"lake/b\.csv and \S+lake/a\.csv are one file, which is read once"
    for data in (home, f"{home}/*.csv", f"{home}/**/*.csv", [path, home / "b.csv"]):
        with pytest.warns(UserWarning, match=named):
            assert keys_of(data) == list(range(20))
    with pytest.warns(UserWarning, match=r"a\.csv and \S+a\.csv are one file, which is read once"):
        assert keys_of([path, path]) == list(range(20))


def test_links_between_folders_that_say_two_things_are_refused(tmp_path: Path) -> None:
    home = tmp_path / "lake"
    (home / "day=1").mkdir(parents=True)
    path = write_predictions(record(20), home / "day=1" / "a.csv")
    (home / "day=2").symlink_to(home / "day=1")
    said = r"day=2\S*: expected what folders say of \S*day=1\S*, got another thing, .* by a link; remove the link, or"
    for link in (home / "day=2", home / "day=2" / "a.csv"):
        if link.name == "a.csv":
            (home / "day=2").unlink()
            (home / "day=2").mkdir()
            os.link(path, link)
        with pytest.raises(InputError, match=said):
            as_source(home)
        assert keys_of(f"{home}/day=2/*.csv") == list(range(20))


def test_a_link_to_a_folder_elsewhere_is_read(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "elsewhere").mkdir()
    write_predictions(record(20), tmp_path / "elsewhere" / "a.csv")
    (tmp_path / "lake" / "day=1").symlink_to(tmp_path / "elsewhere")
    assert keys_of(tmp_path / "lake") == list(range(20))
    assert as_source(tmp_path / "lake", where="day = 1").read().rows == 20


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl", "arrow"])
def test_a_folder_and_a_column_that_say_two_things_are_named(form: str, tmp_path: Path) -> None:
    whole = record(20)
    for day, site in (("2026-11-01", "north"), ("2026-11-02", "south")):
        day_column = np.full(
            20,
            np.datetime64(f"{day}T00:00", "us") if form != "csv" else f"{day}T12:00",
            dtype=object,
        )
        columns = {"site": np.full(20, site, dtype=object), "day": day_column, "n": np.full(20, 7)}
        kept = replace(whole, columns=columns)
        (tmp_path / "lake" / f"day={day}" / f"site={site}" / "n=07").mkdir(parents=True)
        write_predictions(
            kept, tmp_path / "lake" / f"day={day}" / f"site={site}" / "n=07" / f"a.{form}"
        )
    assert as_source(tmp_path / "lake", where="site = north").read().rows == 20
    (tmp_path / "lake" / "day=2026-11-02" / "site=south").rename(
        tmp_path / "lake" / "day=2026-11-02" / "site=east"
    )
    said = rf"site=east/n=07/a\.{form}: the folder says site=east and the column site says 'south'; the column counts"
    with pytest.warns(UserWarning, match=said):
        source = as_source(tmp_path / "lake", where="site = south")
    assert source.read().rows == 20

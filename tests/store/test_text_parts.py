"""Parts of text: each file of a folder, and ranges of large files, read as the whole is; a wrong cut cannot happen."""

from __future__ import annotations

import io
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oodometer import estimate
from oodometer.errors import InputError, OodometerError
from oodometer.predictions import Predictions
from oodometer.store import as_source, csv_file, write_predictions
from oodometer.store.csv_file import CsvReader, index_cells
from oodometer.store.jsonl import JsonlReader, filled_lines
from oodometer.store.source import pick_rows

from ..snapshots import raises_snapshot
from .forms import numbers


@pytest.fixture
def fine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a few rows are cut, too."""
    from oodometer.store import jsonl

    monkeypatch.setattr(csv_file, "_STEP", 256)
    monkeypatch.setattr(jsonl, "_MARKED", 256)
    monkeypatch.setattr("oodometer.store.source._SMALL", 0)


def cells(text: bytes) -> list[tuple[Any, ...]] | None:
    """The rows as the reader of Arrow has them, in which all is text; None where it refuses them."""
    try:
        table = pacsv.read_csv(
            io.BytesIO(text),
            parse_options=pacsv.ParseOptions(newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(column_types={"a": pa.string(), "b": pa.string()}),
            read_options=pacsv.ReadOptions(use_threads=False),
        )
    except (pa.ArrowException, ValueError):
        return None
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


CELL = st.text('x,"\n\r ', max_size=6)
QUOTED = CELL.map(lambda cell: '"' + cell.replace('"', '""') + '"')
PLAIN = st.text("xy ", max_size=4)
LINES = st.lists(st.tuples(PLAIN | QUOTED, PLAIN | QUOTED), max_size=12)
TEXT = st.text('x,"\n\r', max_size=40) | LINES.map(lambda rows: "\n".join(map(",".join, rows)))


@settings(max_examples=400, deadline=None)
@given(
    text=st.text('x,"\n\r', max_size=40) | LINES.map(lambda rows: "\n".join(map(",".join, rows))),
    step=st.integers(1, 9),
)
@example(text='x,5" disk\nx,"a\nb"', step=4)
@example(text='"x"",\n",x\n', step=2)
@example(text="x,x\r\n\r\nx,x\r", step=1)
def test_an_index_is_right_or_absent(text: str, step: int) -> None:
    content = b"a,b\n" + text.encode()
    whole = cells(content)
    before, csv_file._STEP = csv_file._STEP, step
    try:
        index = index_cells(io.BytesIO(content), ",")
    finally:
        csv_file._STEP = before
    if whole is None or index is None:
        return
    assert index[0] == len(whole)
    for at, rows in index[1]:  # a file that is cut there is two files
        assert (cells(content[:at]) or []) == whole[:rows]
        assert (cells(b"a,b\n" + content[at:]) or []) == whole[rows:]


def test_usual_files_have_an_index() -> None:
    rows = [("plain", '"quoted, with ""quotes"" and\r\nlines"')] * 40
    content = "\ufeffa,b\r\n" + "\r\n".join(map(",".join, rows))
    found = index_cells(io.BytesIO(content.encode()), ",")
    assert found[0] == 40
    assert index_cells(io.BytesIO(b"a;b\n1;2\n"), ";") == (1, ((8, 1),))


@given(st.text('x{"}\n \r\t', max_size=40))
def test_lines_are_counted_without_blank_ones(text: str) -> None:
    assert filled_lines(text.encode()) == sum(1 for line in text.split("\n") if line.strip())


def record(rows: int, seed: int = 0) -> Predictions:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0, 1.0, 0.5], rows)
    label = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    words = np.array(['a "quoted" word', "two\nlines", "plain", "5, 6"])[rng.integers(0, 4, rows)]
    site = np.array(["north", "south"])[rng.integers(0, 2, rows)]
    columns = {"site": site, "words": words, "key": np.arange(rows)}
    return Predictions.from_probabilities(p, label=label, columns=columns)


@pytest.mark.usefixtures("fine")
@pytest.mark.parametrize("form", ["csv", "jsonl", "csv.gz"])
def test_ranges_of_a_file_are_the_file(form: str, tmp_path: Path) -> None:
    whole = record(300)
    path = write_predictions(whole, tmp_path / f"a.{form.removesuffix('.gz')}")
    if form.endswith("gz"):
        import gzip

        packed = tmp_path / "b.csv.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path = packed
    source = as_source(path, extra_columns=["site", "words"])
    parts = pickle.loads(pickle.dumps(source.parts(40)))
    assert len(parts) == 1 if form.endswith("gz") else len(parts) >= 5
    pieces = [batch for part in parts for batch in part.batches()]
    assert [one.first_row for one in pieces] == np.cumsum([0, *map(len, pieces)])[:-1].tolist()
    if len(parts) > 1:
        assert [part.span() for part in parts][-1][1] == 300
    joined, alone = Predictions.concat([one.slice(0, len(one)) for one in pieces]), source.read()
    np.testing.assert_array_equal(joined.probabilities, alone.probabilities)
    for name in ("site", "words"):
        assert (
            joined.columns[name].tolist()
            == alone.columns[name].tolist()
            == whole.columns[name].tolist()
        )
    assert pick_rows(source, np.array([299, 41])).table.column("key").to_pylist() in (
        [299, 41],
        ["299", "41"],
    )


@pytest.mark.usefixtures("fine")
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_an_error_in_a_range_names_the_row_of_the_file(form: str, tmp_path: Path) -> None:
    lines = {
        "csv": ["prob_a,prob_b,site", *["0.25,0.75,x"] * 200],
        "jsonl": ['{"prob_a": 0.25, "prob_b": 0.75, "site": "x"}'] * 200,
    }[form]
    good = lines[-1]
    for bad, said in (
        ("0.5", "row 150: "),
        ("oops", "row 150: column prob_a: expected a number, got 'oops'"),
    ):
        text = good.replace("0.25", bad if form == "csv" or bad == "0.5" else f'"{bad}"')
        path = tmp_path / f"a.{form}"
        path.write_text("\n".join([*lines[:-51], text, *lines[-50:]]))
        part = next(one for one in as_source(path).parts(30) if one.span()[1] >= 150)  # type: ignore[index]
        assert part.span()[0] > 0  # type: ignore[index]
        with pytest.raises(InputError) as caught:
            list(part.batches())
        assert str(caught.value).startswith(f"{path}: {said}")


@pytest.mark.usefixtures("fine")
def test_a_decimal_sign_that_shows_late_leaves_a_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("prob_a;prob_b\n" + "0;1\n" * 300)
    assert len(as_source(path).parts(50)) == 1
    path.write_text("prob_a;prob_b\n0,5;0,5\n" + "0;1\n" * 300)
    assert len(as_source(path).parts(50)) > 1


def test_a_file_whose_rows_were_counted_wrongly_is_refused(tmp_path: Path) -> None:
    path = write_predictions(record(50), tmp_path / "a.csv")
    source = as_source(path)
    piece = source.pieces[0]  # type: ignore[attr-defined]
    source._counted = (replace(piece, reader=replace(piece.reader, rows=51)),)  # type: ignore[attr-defined]
    with raises_snapshot(InputError):
        list(source.parts()[0].batches())


def test_an_object_a_line_all_the_way_down(tmp_path: Path) -> None:
    """The head is looked at line by line; further down two objects on a line, or one on two, would shift all rows."""
    line = '{"prob_a": 0.5, "prob_b": 0.5, "site": "x"}'
    rows = (1 << 20) // len(line)
    for bad in (f"{line} {line}", line.replace(", ", ",\n")):
        path = tmp_path / "a.jsonl"
        path.write_text("\n".join([line] * (rows + 9)) + f"\n{bad}\n{line}\n")
        with raises_snapshot(InputError):
            as_source(path).read()


def lake(folder: Path, form: str, rows: tuple[int, ...] = (300, 1, 250)) -> tuple[Path, Path]:
    """A folder of files and the file with all their rows."""
    whole, start = record(sum(rows), 2), 0
    (folder / form).mkdir(parents=True)
    for number, count in enumerate(rows):
        write_predictions(whole.slice(start, start + count), folder / form / f"{number}.{form}")
        start += count
    return folder / form, write_predictions(whole, folder / f"whole.{form}")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "asked",
    [{"every": "100rows"}, {"by": "site"}, {"labels": "position"}, {"labels": "row"}],
    ids=str,
)
def test_a_folder_is_the_file_whatever_counts_rows(
    form: str, asked: dict[str, Any], tmp_path: Path
) -> None:
    reference = write_predictions(record(900, 1), tmp_path / "reference.parquet")
    folder, single = lake(tmp_path, form)
    truth = np.random.default_rng(4).integers(0, 3, 551)
    if asked.get("labels") == "position":
        asked = {"labels": {"label": truth}}
    elif asked.get("labels") == "row":
        order = np.random.default_rng(5).permutation(551)[:200]
        asked = {"labels": {"label": truth[order], "row": order}}
    options = {"backtest": None, **asked}
    one, two = (estimate(reference, folder, workers=n, **options).to_dict() for n in (1, 2))
    assert numbers(one) == numbers(two)
    other = estimate(reference, single, **options).to_dict()
    for mine, theirs in zip(numbers(one), numbers(other), strict=True):
        assert mine == (pytest.approx(theirs, abs=1e-9) if isinstance(theirs, float) else theirs)


@pytest.mark.parametrize("where", [None, "key >= 0"])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_file_that_vanishes_before_it_is_counted(
    form: str, where: str | None, tmp_path: Path
) -> None:
    folder, _ = lake(tmp_path, form)
    source = as_source(folder, where=where)
    (folder / f"1.{form}").unlink()
    with raises_snapshot(InputError):
        source.parts()


def test_each_file_is_a_part_and_empty_ones_are_none(tmp_path: Path) -> None:
    folder, _ = lake(tmp_path, "csv")
    (folder / "05.csv").write_text((folder / "0.csv").read_text().splitlines()[0] + "\n")
    parts = as_source(folder).parts()
    assert [part.span() for part in parts] == [(0, 300), (300, 301), (301, 551)]
    assert len({part.identity() for part in parts}) == 3


def values(data: Any, column: str) -> list[Any]:
    source = as_source(data, extra_columns=[column])
    read = source.read().columns[column].tolist()
    assert [
        v for part in source.parts() for b in part.batches() for v in b.columns[column].tolist()
    ] == read
    return read


def test_a_column_is_cast_alike_in_all_files(tmp_path: Path) -> None:
    """What a cell is may not depend on the file that it is in."""
    head, ends = "prob_a,prob_b,site", {"a": ["1", "2"], "b": ["3", "4"]}
    cases = (
        (["3", "4"], [1, 2, 3, 4]),
        (["3.5", "4"], [1.0, 2.0, 3.5, 4.0]),
        (["x", "04"], ["1", "2", "x", "04"]),
    )
    for cells_of_b, wanted in cases:
        for name, own in {**ends, "b": cells_of_b}.items():
            (tmp_path / f"{name}.csv").write_text(
                "\n".join([head, *(f"0.5,0.5,{cell}" for cell in own)])
            )
        found = values(tmp_path, "site")
        assert found == wanted
        assert [type(one) for one in found] == [type(one) for one in wanted]
        single = tmp_path / "all.txt"
        single.write_text(
            "\n".join([head, *(f"0.5,0.5,{cell}" for cell in (*ends["a"], *cells_of_b))])
        )
        one = as_source(single.rename(tmp_path.parent / "all.csv"), extra_columns=["site"]).read()
        assert one.columns["site"].tolist() == wanted


def test_a_column_of_another_type_in_a_later_file_is_refused(tmp_path: Path) -> None:
    line = '{"prob_a": 0.5, "prob_b": 0.5, "site": %s}\n'
    for first, later in (("1", '"1"'), ('"1"', "1"), ("true", "1"), ("1", "true")):
        (tmp_path / "a.jsonl").write_text(line % first * 2)
        (tmp_path / "b.jsonl").write_text(line % "null" + line % later)
        for read in (lambda s: s.read(), lambda s: [list(part.batches()) for part in s.parts()]):
            with pytest.raises(OodometerError) as caught:
                read(as_source(tmp_path, extra_columns=["site"]))
            assert str(caught.value).startswith(
                f"{tmp_path}/b.jsonl: row 2: column site: expected values of one type"
            )
    (tmp_path / "a.jsonl").write_text(line % "1")
    (tmp_path / "b.jsonl").write_text(line % "2.5")
    assert values(tmp_path, "site") == [1, 2.5]


def test_a_column_of_another_type_in_a_later_block_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from oodometer.store import jsonl

    monkeypatch.setattr(jsonl, "_BLOCK", 64)
    line = '{"prob_a": 0.5, "prob_b": 0.5, "site": %s}\n'
    (tmp_path / "a.jsonl").write_text(line % '"1"' * 5 + line % "1" * 5)
    with raises_snapshot(InputError):
        as_source(tmp_path / "a.jsonl", extra_columns=["site"]).read()


def test_what_opening_found_is_recalled(tmp_path: Path) -> None:
    path = write_predictions(record(20), tmp_path / "a.csv")
    made = CsvReader.open(str(path))
    assert CsvReader.from_facts(str(path), made.facts()) == made
    other = tmp_path / "a.jsonl"
    other.write_text(
        '{"probabilities": [0.5, 0.5], "votes": [[1, 0]], "x": null, "n": 1, "t": "a", "b": true}\n'
    )
    lines = JsonlReader.open(str(other))
    assert JsonlReader.from_facts(str(other), lines.facts()) == lines

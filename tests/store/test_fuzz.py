"""Fuzz: damaged files and noise never raise anything but our own errors."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from oodometer.errors import InputError, OodometerError
from oodometer.predictions import FIELDS, Predictions
from oodometer.store import open_predictions, write_predictions

FORMATS = ("parquet", "arrow", "jsonl", "csv", "npz")
HEADS = {
    "parquet": b"PAR1",
    "arrow": b"ARROW1\0\0",
    "npz": b"PK\x03\x04",
    "csv": b"prob_a,prob_b,label\n",
    "jsonl": b'{"label":',
}


def is_read_or_refused(path: Path) -> bool:
    """Whether a file gives a record, or one line of ours that names it."""
    try:
        record = open_predictions(path).read(FIELDS)
    except InputError as error:
        return error.file == str(path) and "\n" not in str(error)
    except OodometerError as error:
        return "\n" not in str(error)
    return record.rows > 0


@pytest.fixture(scope="module", params=FORMATS)
def valid(
    request: pytest.FixtureRequest, record_of: Callable[..., Predictions], tmp_path_factory: Any
) -> tuple[str, bytes]:
    path = write_predictions(record_of(5), tmp_path_factory.mktemp("fuzz") / f"p.{request.param}")
    return request.param, path.read_bytes()


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files(valid: tuple[str, bytes], data: st.DataObject) -> None:
    form, content = valid
    broken = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(broken) - 1))
        what = data.draw(st.sampled_from(["flip", "cut", "insert", "drop"]))
        if what == "flip":
            broken[at] = data.draw(st.integers(0, 255))
        elif what == "cut":
            del broken[max(at, 1) :]
        elif what == "insert":
            broken[at:at] = data.draw(st.binary(min_size=1, max_size=8))
        elif len(broken) > 20:
            del broken[at : at + 8]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"p.{form}"
        path.write_bytes(bytes(broken))
        assert is_read_or_refused(path)


@example(form="jsonl", content=b"\xfd7zXZ\x00", headed=False)
@given(form=st.sampled_from(FORMATS), content=st.binary(max_size=400), headed=st.booleans())
@settings(max_examples=150)
def test_noise(form: str, content: bytes, headed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"p.{form}"
        path.write_bytes(HEADS[form] + content if headed else content)
        assert is_read_or_refused(path)


@pytest.mark.parametrize("packing", ["gz", "xz", "bz2"])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_packed_text_that_is_cut_names_the_file(tmp_path: Path, form: str, packing: str) -> None:
    """Behind its first block too, which opening reads."""
    row = (
        "0.{:06},0.5,cat\n"
        if form == "csv"
        else '{{"prob_cat": 0.{:06}, "prob_dog": 0.5, "label": "cat"}}\n'
    )
    text = HEADS["csv"].decode() * (form == "csv") + "".join(map(row.format, range(150_000)))
    whole = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}[packing](text.encode())
    path = tmp_path / f"p.{form}.{packing}"
    for cut in (8, 40, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError) as error:
            open_predictions(path).read(FIELDS)
        assert error.value.file == str(path)
        assert "\n" not in str(error.value)


CELLS = """cat|0.5|1|0||"|"a"|nan|1e999|[1,2]|[|{}|null|true|-1|é| |1_0|2026-01-31"""
NAMES = [
    *FIELDS,
    *(f"{field.prefix}{end}" for field in FIELDS.values() if field.prefix for end in "ab"),
    "x",
]
CELL = st.sampled_from(CELLS.split("|"))
NAME = st.sampled_from(NAMES)


@given(header=st.lists(NAME, min_size=1, max_size=5), rows=st.lists(st.lists(CELL, max_size=5), max_size=5),
       delimiter=st.sampled_from([",", ";", "\t"]))  # fmt: skip
@settings(max_examples=200)
def test_csv_of_likely_cells(header: list[str], rows: list[list[str]], delimiter: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.csv"
        path.write_text("\n".join(delimiter.join(row) for row in [header, *rows]), encoding="utf-8")
        assert is_read_or_refused(path)


VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 10**20)
    | st.floats()
    | st.sampled_from(["cat", "", "1", "2026-01-31"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAME, inner, max_size=2),
    max_leaves=4,
)


@example(rows=[{"prediction": {"label": [None, None]}}])
@example(rows=[{"prob_a": [None, 0]}])
@given(rows=st.lists(st.dictionaries(NAME, VALUE, max_size=4), min_size=1, max_size=5))
@settings(max_examples=200)
def test_json_lines_of_any_values(rows: list[dict[str, Any]]) -> None:
    import json

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        assert is_read_or_refused(path)

"""Chunks by the calendar and by rows, named by their first row; slices in the order in which people list them."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import estimate
from oodometer.errors import UsageError
from oodometer.passes.slicing import CALENDAR, RowChunks, TimeChunks, in_natural_order, parse_chunks
from oodometer.testing import example_record

from ..snapshots import raises_snapshot

REFERENCE = {"probabilities": [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]] * 40, "label": [0, 0, 1] * 40}


def asked(target: dict[str, Any], every: str, **more: Any) -> list[tuple[Any, ...]]:
    found = estimate(REFERENCE, target, every=every, methods=["ac"], backtest=None, **more)
    return [(c.name, c.place["start"], c.place["end"], c.rows) for c in found.chunks]


def at(*times: str) -> dict[str, Any]:
    return {
        "probabilities": [[0.9, 0.1]] * len(times),
        "time": np.array(times, dtype="datetime64[us]"),
    }


@given(
    seconds=st.lists(st.integers(-(10**10), 10**10), min_size=1, max_size=20),
    unit=st.sampled_from(CALENDAR),
)
def test_every_time_lies_in_its_unit_of_the_calendar(seconds: list[int], unit: str) -> None:
    """Against the calendar of the standard library."""
    times = np.array(seconds, dtype="datetime64[s]").astype("datetime64[us]")
    cut = TimeChunks(unit)
    for time, number in zip(times, cut.at(times).tolist(), strict=True):
        assert cut.begins(number) <= time < cut.begins(number + 1)
        first, day = cut.begins(number).item(), time.item()
        same = {
            "day": first.date() == day.date(),
            "week": first.isocalendar()[:2] == day.isocalendar()[:2] and first.weekday() == 0,
            "month": (first.year, first.month, first.day) == (day.year, day.month, 1),
            "quarter": (first.year, (first.month - 1) // 3, first.day)
            == (day.year, (day.month - 1) // 3, 1),
            "year": (first.year, first.month, first.day) == (day.year, 1, 1),
        }
        assert same[unit]
        assert (first.hour, first.minute, first.second) == (0, 0, 0)


def test_months_are_months_from_their_border() -> None:
    """Whatever their first row is."""
    days = [
        f"2024-{m:02d}-{d:02d}T06:30"
        for m, some in ((2, (29, 10, 11)), (3, (31, 5, 9)))
        for d in some
    ]
    want = [
        ("2024-02", "2024-02-01", "2024-03-01", 3),
        ("2024-03 (partial)", "2024-03-01", "2024-04-01", 3),
    ]
    assert asked(at(*days), "month") == want
    assert asked(at(*days), "Month ") == want
    assert [one[0] for one in asked(at(*days), "quarter")] == ["2024-Q1"]
    assert [one[0] for one in asked(at(*days), "week")][:2] == ["2024-W06", "2024-W09"]
    assert asked(at(*days), "7d")[0][:2] == ("2024-02-05", "2024-02-05")
    assert asked(at(*days), "12h")[0][:2] == ("2024-02-10 00:00", "2024-02-10T00:00:00")


def test_a_short_last_month_is_partial_and_leaves_the_one_before_as_it_was() -> None:
    """It was once added to the month before, whose finished number so changed on the first of each month."""
    days = [
        f"2024-{m:02d}-{d:02d}"
        for m, many in ((1, 31), (2, 29), (3, 20))
        for d in range(1, many + 1)
    ]
    assert [(one[0], one[3]) for one in asked(at(*days), "month")][1:] == [
        ("2024-02", 29),
        ("2024-03 (partial)", 20),
    ]
    assert [one[0] for one in asked(at(*days[:60]), "month")] == ["2024-01", "2024-02"]


@given(
    first=st.integers(0, 300),
    cuts=st.lists(st.integers(1, 500), min_size=2, max_size=3, unique=True),
    every=st.sampled_from(["7d", "36h", "90m", "week", "month", "70rows"]),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kolkata"]),
)
def test_finished_chunks_keep_their_borders_and_names(
    first: int, cuts: list[int], every: str, zone: str
) -> None:
    """Rows are added at the end, and another extract begins later (of rows that have times)."""
    cut, times = (
        parse_chunks(every, zone),
        np.datetime64("2024-03-01T09:10", "us") + np.arange(500) * (3 * 10**9),
    )
    seen: dict[int, Any] = {}
    for many in sorted(cuts):
        for begin in {0, first if isinstance(cut, TimeChunks) and first < many else 0}:
            numbers = (
                cut.at(times[begin:many])
                if isinstance(cut, TimeChunks)
                else np.arange(many) // cut.count
            )
            for number in np.unique(numbers).tolist():
                timed = isinstance(cut, TimeChunks) and number == numbers[-1]
                latest = cut.latest(times[begin:many]) if timed else None
                place = cut.place(number, int((numbers == number).sum()), latest)
                if not place.get("partial"):
                    assert seen.setdefault(number, place) == place


@pytest.mark.parametrize("every", ["day", "1d", "100rows"])
def test_what_is_said_of_a_finished_chunk_alone_stays_when_the_next_begins(every: str) -> None:
    """Its own estimate and its other metrics; the correction is that of all chunks together and moves with them."""
    record = example_record(1200, seed=3)
    rare = np.flatnonzero(record.label == 0)[
        :400
    ]  # what comes then is of one class, which the diagnosis sees
    days = [f"2024-03-{1 + min(i // 100, 2):02d}T{4 + i % 100 // 5:02d}:00" for i in range(500)]
    reference, before = example_record(1000, seed=4), None
    probabilities = np.concatenate([record.probabilities[:200], record.probabilities[rare]])
    for rows in (200, 201, 230, 500):
        target = {
            "probabilities": probabilities[:rows],
            "time": np.array(days[:rows], "datetime64[us]"),
        }
        found = estimate(reference, target, every=every, backtest=None, metrics=["macro_f1"])
        own = [(c.name, c.rows, c.headline.bands["unchanged"]) for c in found.chunks[:2]]
        numbers = [
            (*some, c.metrics["macro_f1"].interval)
            for some, c in zip(own, found.chunks, strict=False)
        ]
        assert before in (None, numbers)
        before = numbers
        assert [c.place.get("partial") for c in found.chunks] == [None, None, True][
            : 2 + (rows > 200)
        ] or rows > 300


def test_rows_in_the_order_of_the_file_need_no_time() -> None:
    target = {"probabilities": [[0.9, 0.1]] * 25}
    want = [
        ("rows 1 to 10", 0, 10, 10),
        ("rows 11 to 20", 10, 20, 10),
        ("rows 21 to 25 (partial)", 20, 25, 5),
    ]
    assert asked(target, "10rows") == asked(target, "10 rows") == want
    assert asked({"probabilities": [[0.9, 0.1]] * 24}, "10rows")[-1] == (
        "rows 21 to 24 (partial)",
        20,
        24,
        4,
    )


def test_chunks_of_parts_and_threads_are_those_of_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are counted over all parts, and the first row of a chunk may lie in any of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    record = example_record(300, seed=3)
    draw = random.Random(0)
    days = [f"2024-{draw.randint(1, 4):02d}-{draw.randint(1, 28):02d}" for _ in range(300)]
    times = np.array(days, dtype="datetime64[us]")
    table = pa.table({"probabilities": record.probabilities.tolist(), "time": pa.array(times)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=32)
    reference = example_record(200, seed=4)
    monkeypatch.setattr("oodometer.verbs.target_plan.PART_ROWS", 40)
    for every in ("month", "70rows"):
        found = estimate(
            reference,
            tmp_path / "t.parquet",
            every=every,
            methods=["ac", "doc"],
            backtest=None,
            workers=3,
        )
        groups = {name: np.flatnonzero(index) for name, index in _groups(every, times).items()}
        assert [c.name.removesuffix(" (partial)") for c in found.chunks] == list(groups)
        for chunk, rows in zip(found.chunks, groups.values(), strict=True):
            alone = estimate(
                reference,
                {"probabilities": record.probabilities[rows]},
                methods=["ac"],
                backtest=None,
            )
            assert chunk.rows == len(rows)
            assert chunk.estimates[0].value == pytest.approx(alone["ac"].value)
            start = chunk.place["start"]
            assert start == (int(rows[0]) if every == "70rows" else f"{chunk.name[:7]}-01")


def _groups(every: str, times: Any) -> dict[str, Any]:
    if every == "month":
        return {
            f"2024-0{m}": times.astype("datetime64[M]") == np.datetime64(f"2024-0{m}")
            for m in range(1, 5)
        }
    ends = [0, 70, 140, 210, 280, 300]
    place = np.arange(300)
    return {f"rows {a + 1} to {b}": (place >= a) & (place < b) for a, b in pairwise(ends)}


@pytest.mark.parametrize(
    "text", ["months", "monthly", "1M", "0rows", "-5rows", "1.5rows", "rows", "2 months", "week 1"]
)
def test_what_is_no_chunk(text: str) -> None:
    with raises_snapshot(UsageError):
        parse_chunks(text)
    assert parse_chunks("5ROWS") == RowChunks(5)


@pytest.mark.parametrize(
    "ordered",
    [
        ["-3", "2", "10", "1e3"],
        [-3, 2.5, 10],
        [False, True],
        ["0 - 20K", "20K - 40K", "60K+"],
        ["a2", "A10", "b1"],
        ["2023-12-31", "2024-01-02"],
        ["bin 9", "bin 10", "(missing)"],
        [1, 2, "(missing)"],
        ["2", "10", "other"],
    ],
    ids=str,
)
def test_slices_stand_in_their_natural_order(ordered: list[Any]) -> None:
    keys = [("by", one) for one in ordered]
    for seed in range(4):
        mixed = random.Random(seed).sample(keys, len(keys))
        assert in_natural_order(mixed) == keys

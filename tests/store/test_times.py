"""Times as people write them, against the standard library: one column has one form, whatever batch and file."""

from __future__ import annotations

import email.utils
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oodometer import Oodometer, estimate
from oodometer.errors import InputError, OodometerError, UsageError
from oodometer.store import as_source
from oodometer.store.columns import TimeFormat
from oodometer.store.times import settled, time_cells
from oodometer.zones import check_zone, clock, instants

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Pacific/Apia",
)
MOMENTS = st.datetimes(datetime(1974, 1, 1), datetime(2199, 12, 31))
OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=moment.tzinfo)) // timedelta(microseconds=1)


def half(moment: datetime) -> str:
    return moment.strftime(f"%m/%d/%Y {moment.hour % 12 or 12}:%M:%S %p")


# how a moment of UTC is written -> to which microseconds it is so
WRITERS: dict[str, tuple[Callable[[datetime], str], int]] = {
    "ISO": (lambda t: t.isoformat(), 1),
    "a blank": (lambda t: t.isoformat(" "), 1),
    "Z": (lambda t: t.isoformat() + "Z", 1),
    "BigQuery": (lambda t: f"{t.isoformat(' ', 'microseconds')} UTC", 1),
    "nanoseconds": (lambda t: f"{t.isoformat(' ', 'microseconds')}789", 1),
    "basic": (lambda t: t.strftime("%Y%m%dT%H%M%SZ"), 10**6),
    "fourteen digits": (lambda t: t.strftime("%Y%m%d%H%M%S"), 10**6),
    "eight digits": (lambda t: t.strftime("%Y%m%d"), 86_400 * 10**6),
    "slashes": (lambda t: f"{t.year}/{t.month}/{t.day} {t.hour}:{t:%M}", 60 * 10**6),
    "day first": (lambda t: t.strftime("%d/%m/%Y %H:%M:%S"), 10**6),
    "dots": (lambda t: f"{t.day}.{t.month}.{t.year} {t:%H:%M}", 60 * 10**6),
    "month first": (half, 10**6),
    "in words": (lambda t: t.strftime("%b %d, %Y %H:%M"), 60 * 10**6),
    "RFC 2822": (lambda t: email.utils.format_datetime(t.replace(tzinfo=UTC)), 10**6),
    "C": (lambda t: t.ctime(), 10**6),
    "a log": (lambda t: t.strftime("%d/%b/%Y:%H:%M:%S +0000"), 10**6),
    "s": (lambda t: f"{micros(t) // 10**6}", 10**6),
    "s with a fraction": (lambda t: f"{micros(t) // 10**6}.{t.microsecond:06d}", 1),
    "ms": (lambda t: f"{micros(t) // 1000}", 1000),
    "us": (lambda t: f"{micros(t)}", 1),
    "ns": (lambda t: f"{micros(t)}123", 1),
}  # fmt: skip


@settings(max_examples=15)
@pytest.mark.parametrize("writer", WRITERS)
@given(moments=st.lists(MOMENTS, min_size=1, max_size=20))
def test_what_is_written_is_read(writer: str, moments: list[datetime]) -> None:
    write, step = WRITERS[writer]
    moments = [datetime(2026, 1, 25, 10, 11, 12), *moments]  # a day that no month is
    got = time_cells(pa.array([None, *map(write, moments)]), "time", TimeFormat()).astype(np.int64)
    assert got[1:].tolist() == [micros(moment) // step * step for moment in moments]
    large = pa.array([*map(write, moments)], pa.large_string())
    assert time_cells(large, "time").astype(np.int64).tolist() == got[1:].tolist()
    if all(1.8e9 > micros(moment) / 10**6 > 1e9 for moment in moments) and writer in (
        "s",
        "ms",
        "us",
        "ns",
    ):
        numbers = pa.array([int(write(moment)) for moment in moments])
        assert time_cells(numbers, "time").astype(np.int64).tolist() == got[1:].tolist()


@given(st.lists(st.tuples(MOMENTS, OFFSETS), min_size=1, max_size=20), st.sampled_from(ZONES))
def test_mixed_offsets_are_converted(pairs: list[tuple[datetime, timezone]], zone: str) -> None:
    moments = [moment.replace(tzinfo=offset) for moment, offset in pairs]
    got = time_cells(pa.array([moment.isoformat() for moment in moments]), "time", TimeFormat(zone))
    assert got.tolist() == [moment.astimezone(UTC).replace(tzinfo=None) for moment in moments]


@given(
    moments=st.lists(st.datetimes(datetime(1880, 1, 1), datetime(2300, 1, 1)), min_size=1),
    zone=st.sampled_from(ZONES[1:]),
)
@example(
    moments=[datetime(1999, 10, 31, 1, fold=1)], zone="America/New_York"
)  # an hour that comes twice
def test_the_clock_of_a_zone_is_that_of_zoneinfo(moments: list[datetime], zone: str) -> None:
    times, place = np.array(moments, "datetime64[us]"), ZoneInfo(zone)
    shown = [moment.replace(tzinfo=UTC).astimezone(place) for moment in moments]
    assert clock(times, zone).tolist() == [moment.replace(tzinfo=None) for moment in shown]
    # A clock does not show whether an hour comes for the first or the second time (fold): the first is taken
    back = [
        moment.replace(tzinfo=place, fold=0).astimezone(UTC).replace(tzinfo=None)
        for moment in moments
    ]
    assert instants(times, zone).tolist() == back


@given(
    moments=st.lists(MOMENTS, min_size=1, max_size=10),
    zone=st.sampled_from(ZONES[1:]),
    typed=st.booleans(),
)
@example(
    moments=[datetime(2007, 2, 25, 2)], zone="America/Sao_Paulo", typed=False
)  # the second 23:00 of that night
def test_times_without_a_zone_are_those_of_its_clock(
    moments: list[datetime], zone: str, typed: bool
) -> None:
    place = ZoneInfo(zone)
    there = [
        moment.replace(tzinfo=UTC).astimezone(place).replace(tzinfo=None, fold=0)
        for moment in moments
    ]
    cells = pa.array(there if typed else [moment.isoformat(" ") for moment in there])
    expected = [
        moment.replace(tzinfo=place).astimezone(UTC).replace(tzinfo=None) for moment in there
    ]
    assert time_cells(cells, "time", TimeFormat(zone)).tolist() == expected


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_typed_times_with_a_zone_are_instants_and_floored(unit: str) -> None:
    moment = datetime(1969, 12, 31, 23, 59, 59)
    cells = pa.array([moment, None]).cast(pa.timestamp(unit, tz="Europe/Berlin"))
    assert time_cells(cells, "time", TimeFormat("Asia/Kolkata"))[0].item() == moment
    assert time_cells(pa.array([-1], pa.timestamp("ns")), "time")[0] == np.datetime64(
        "1969-12-31T23:59:59.999999"
    )
    assert time_cells(pa.array([20_000], pa.date32()), "time")[0] == np.datetime64("2024-10-04")


# ------------------------------------------------------------------------------------------ columns of files


def written(folder: Path, form: str, cells: list[Any], name: str = "t") -> Path:
    path = folder / f"{name}.{form}"
    if form == "csv":
        path.write_text("prob_1,time\n" + "".join(f'0.5,"{cell}"\n' for cell in cells))
    elif form == "jsonl":
        path.write_text("".join(json.dumps({"prob_1": 0.5, "time": cell}) + "\n" for cell in cells))
    else:
        pq.write_table(
            pa.table({"prob_1": [0.5] * len(cells), "time": cells}), path, row_group_size=7
        )
    return path


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("writer", WRITERS)
def test_a_text_is_the_same_instant_in_every_format(form: str, writer: str, tmp_path: Path) -> None:
    write, step = WRITERS[writer]
    moments = [datetime(2026, 1, 5, 10, 11, 12) + k * timedelta(days=1, hours=1) for k in range(30)]
    source = as_source(written(tmp_path, form, [write(moment) for moment in moments]))
    want = [micros(moment) // step * step for moment in moments]
    assert [
        t for batch in source.batches(rows=4) for t in batch.time.astype(np.int64).tolist()
    ] == want
    assert source.read(["time"]).time.astype(np.int64).tolist() == want
    if form == "jsonl" and writer in ("s", "ms", "us", "ns", "s with a fraction"):  # as numbers
        numbers = written(
            tmp_path, form, [json.loads(write(moment)) for moment in moments], "numbers"
        )
        assert as_source(numbers).read(["time"]).time.astype(np.int64).tolist() == want
    left = as_source(source.path, where="time >= 2026-01-20").read(["time"])
    assert left.rows == sum(moment >= datetime(2026, 1, 20) for moment in moments)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_month_is_its_first_day(form: str, tmp_path: Path) -> None:
    source = as_source(written(tmp_path, form, ["2026-01", "2026-1", "2025/12"]))
    firsts = np.array(["2026-01-01", "2026-01-01", "2025-12-01"], dtype="M8[us]")
    np.testing.assert_array_equal(source.read(["time"]).time, firsts)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_the_whole_column_tells_days_from_months(form: str, tmp_path: Path) -> None:
    """What decides stands far down, or in another file; where nothing does, the remedies work."""
    early, late = [f"{day:02d}/02/2026" for day in range(1, 13)], ["13/02/2026"]
    february = as_source(written(tmp_path, form, [*early, *late])).read(["time"]).time
    assert february.astype("M8[D]").tolist() == [
        datetime(2026, 2, day).date() for day in range(1, 14)
    ]
    lake = tmp_path / "lake"
    lake.mkdir()
    written(lake, form, early, "a"), written(lake, form, late, "b")
    np.testing.assert_array_equal(as_source(lake).read(["time"]).time, february)
    american = written(tmp_path, form, [*early, "02/13/2026"], "m")
    assert as_source(american).read(["time"]).time[1] == np.datetime64("2026-02-02")
    assert as_source(american).read(["time"]).time[2] == np.datetime64("2026-03-02")
    torn = written(tmp_path, form, [*early, *late, "02/13/2026"], "torn")
    with pytest.raises(
        InputError,
        match=r"torn\.\w+: row 14: column time: .* such as 31/01/2026 12:00, got '02/13/2026'",
    ):
        as_source(torn).read(["time"])
    open_ = written(tmp_path, form, early, "open")
    with pytest.raises(
        InputError,
        match=r"row 1: column time: .*--map time=time:day/month or --map time=time:month/day",
    ):
        as_source(open_).read(["time"])
    assert as_source(open_).read(["probabilities"]).rows == 12  # nobody asks
    for order, month in (("day/month", 2), ("month/day", 12)):
        ordered = as_source(open_, mapping={"time": f"time:{order}"}, where="time >= 2026-02-01")
        assert ordered.read(["time"]).time[-1].item().month == month
    with pytest.raises(
        UsageError,
        match=r"expected mapping=.*\"time:day/month\".*, time:month/day or time:UTC, got",
    ):
        as_source(open_, mapping={"time": "time:%d/%m"})


BAD = {
    "a word": (["2026-01-31", "yesterday"], 2, "a timestamp, got 'yesterday'; write them as ISO 8601"),
    "no day": (["2026/01/31", "2026/02/30"], 2, "a timestamp, got '2026/02/30'"),
    "epochs of two units": (["1767607872", "1767607872123"], 2, r"seconds since 1970 \(9 or 10 .*, got '176.*123'"),
    "twelve digits": (["202601051011"], 1, r"a timestamp \(8 digits are a day, 14 a second.*got '202601051011'"),
    "few digits": (["12345"], 1, r"since 1970, 10 are seconds.*got '12345'"),
    "two forms": (["Jan 5, 2026", "2026-01-06"], 2, "a timestamp such as Jan 31, 2026 12:00, got '2026-01-06'"),
    "a zone by letters": (["2026-01-31 10:00 CET"], 1, "a timestamp, got '2026-01-31 10:00 CET'"),
    "with and without": (["2026-01-31T10:00Z", "2026-01-31T10:00"], 2, "with a zone, as .*--map time=time:UTC"),
    "without and with": (["2026-01-31T10:00", "2026-01-31T10:00 UTC"], 2, "without a zone, as in the rows before"),
    "no offset": (["2026-01-31T10:00+01:75"], 1, "a timestamp, got"),
    "hour 24": (["2026-01-31T24:00"], 1, "a timestamp, got"),
    "13 pm": (["31/01/2026 13:00 pm"], 1, "a timestamp such as 31/01/2026 12:00, got"),
}  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("case", BAD)
def test_a_bad_time_names_file_row_and_column(form: str, case: str, tmp_path: Path) -> None:
    cells, row, words = BAD[case]
    path = written(tmp_path, form, cells)
    with pytest.raises(InputError, match=rf"t\.{form}: row {row}: column time: expected .*{words}"):
        for _ in as_source(path).batches(["time"], rows=1):
            pass


def test_times_with_and_without_a_zone_stand_together_where_one_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "csv", ["2026-01-31T10:00Z", "2026-01-31T11:00"])
    assert np.unique(as_source(path, timezone="Europe/Berlin").read(["time"]).time).size == 1
    for options in (
        {"timezone": "UTC"},
        {"mapping": {"time": "time:UTC"}, "timezone": "Europe/Berlin"},
    ):
        assert as_source(path, **options).read(["time"]).time[1] == np.datetime64(
            "2026-01-31T11:00"
        )


def test_a_time_that_no_clock_showed_is_refused(tmp_path: Path) -> None:
    """It was written in another zone; a day that has no midnight is a day all the same."""
    path = written(tmp_path, "csv", ["2026-03-29 01:30", "2026-03-29 02:30"])
    with pytest.raises(
        InputError,
        match=r"t\.csv: row 2: column time: .*clock of Europe/Berlin showed.*--map time=time:UTC",
    ):
        as_source(path, timezone="Europe/Berlin").read(["time"])
    for options in ({}, {"mapping": {"time": "time:UTC"}, "timezone": "Europe/Berlin"}):
        assert as_source(path, **options).read(["time"]).time[1] == np.datetime64(
            "2026-03-29T02:30"
        )
    day = (
        as_source(written(tmp_path, "csv", ["2018-11-04"], "d"), timezone="America/Sao_Paulo")
        .read(["time"])
        .time
    )
    assert day[0] == np.datetime64("2018-11-04T03:00")


def test_zones_that_are_none() -> None:
    for name, hint in {
        "europe/berlin": "Europe/Berlin",
        "Berlin": "Europe/Berlin",
        "Europe/Berlim": "Europe/Berlin",
    }.items():
        with pytest.raises(
            UsageError, match=rf"there is no time zone '{name}'; did you mean {hint}\?"
        ):
            check_zone(name)
    for name in ("Mars", "../etc/passwd", "", "Europe"):
        with pytest.raises(UsageError, match="there is no time zone"):
            check_zone(name)


def test_without_a_database_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import zoneinfo

    zoneinfo.ZoneInfo.clear_cache()
    zoneinfo.reset_tzpath(to=[])
    for name in [name for name in sys.modules if name.split(".")[0] == "tzdata"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tzdata", None)
    try:
        with pytest.raises(UsageError, match=r"no time zone database.*: pip install tzdata"):
            check_zone("Europe/Berlin")
        assert check_zone("UTC") == "UTC"
    finally:
        zoneinfo.reset_tzpath()


def test_a_million_times_take_about_a_second() -> None:
    """Timed generously; each form is read by whole arrays."""
    import time

    import pyarrow.compute as pc

    cells = pc.strftime(
        pa.array(np.datetime64("2026-01-05", "s") + np.arange(300_000) * 60), "%m/%d/%Y %H:%M:%S"
    )
    begin = time.process_time()
    format = settled(
        TimeFormat("Asia/Kolkata"), [cells.slice(at, 65_536) for at in range(0, 300_000, 65_536)]
    )
    assert np.unique(time_cells(cells, "time", format)).size == 300_000
    assert time.process_time() - begin < 5


# ------------------------------------------------------------------------------------------ calendars

REFERENCE = {"probabilities": [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]] * 40, "label": [0, 0, 1] * 40}


def hourly(first: str, hours: int) -> dict[str, Any]:
    times = np.datetime64(first, "us") + np.arange(hours) * np.timedelta64(1, "h")
    return {"probabilities": [[0.9, 0.1]] * hours, "time": [f"{t}Z" for t in times]}


@pytest.mark.parametrize(
    ("day", "rows", "offsets"), [("2026-03-29", 23, "12"), ("2026-10-25", 25, "21")]
)
def test_days_of_a_zone_have_23_and_25_hours(day: str, rows: int, offsets: str) -> None:
    options: dict[str, Any] = {
        "every": "day",
        "timezone": "Europe/Berlin",
        "methods": ["ac"],
        "backtest": None,
    }
    start = np.datetime64(day, "us") - np.timedelta64(int(offsets[0]), "h")
    found = estimate(REFERENCE, hourly(str(start), 48), **options)
    assert (found.chunks[0].name, found.chunks[0].rows) == (day, rows)
    place = found.to_dict()["chunks"][0]
    assert place["timezone"] == "Europe/Berlin"
    ends = (
        f"{day}T00:00:00+0{offsets[0]}:00",
        f"{np.datetime64(day) + 1}T00:00:00+0{offsets[1]}:00",
    )
    assert (place["start"], place["end"]) == ends
    assert "chunk (Europe/Berlin)" in str(found)
    hours = estimate(REFERENCE, hourly(str(start), 48), **(options | {"every": "1h"}))
    assert len({chunk.name for chunk in hours.chunks}) == 48
    assert hours.chunks[0].name == f"{day} 00:00+0{offsets[0]}:00"


def test_a_fitted_file_keeps_the_zone(tmp_path: Path) -> None:
    Oodometer(timezone="Asia/Kolkata", methods=["ac"], backtest=None).fit(REFERENCE).save(
        tmp_path / "m.oodo"
    )
    fitted, target = Oodometer.load(tmp_path / "m.oodo"), hourly("2026-01-05T18:00", 3)
    assert fitted.timezone == "Asia/Kolkata"
    assert [c.rows for c in fitted.estimate(target, every="day").chunks] == [1, 2]
    assert len(fitted.estimate(target, every="day", timezone="UTC").chunks) == 1
    assert fitted.estimate(target, where="time >= 2026-01-06").target["rows"] == 2


def test_runs_of_another_zone_are_not_mixed(tmp_path: Path) -> None:
    from oodometer import history

    target = hourly("2026-01-05T18:00", 12)
    options: dict[str, Any] = {
        "every": "day",
        "store": tmp_path / "s.sqlite",
        "job": "j",
        "fail_below": 0.99,
    }
    options |= {"methods": ["ac"], "backtest": None, "alarms": "new"}
    first = estimate(REFERENCE, target, **options)
    assert first.alarms
    assert not estimate(
        REFERENCE, target | {"time": [*target["time"]]}, **options, margin=0.02
    ).alarms
    other = estimate(REFERENCE, target, timezone="Europe/Berlin", **options)
    assert other.alarms  # its days are others, so that their alarms are new
    parts = history(tmp_path / "s.sqlite", job="j")["j"].of("chunk")
    assert {(part.part, len(part.seen)) for part in parts} == {
        ("2026-01-05 Europe/Berlin", 1),
        ("2026-01-06 Europe/Berlin", 1),
    }


def test_a_zone_that_is_none_is_refused_before_the_work() -> None:
    with pytest.raises(OodometerError, match=r"timezone.*no time zone 'Berlin'"):
        estimate(REFERENCE, hourly("2026-01-05", 3), timezone="Berlin")

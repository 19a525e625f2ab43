"""Alarms that earlier runs raised: what is new, what is known and since when, what ended and came back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer import Estimation
from oodometer.errors import UsageError
from oodometer.histories import recording

from ..snapshots import assert_snapshot, raises_snapshot

Night = Callable[..., Estimation]


def new(found: Estimation) -> list[str]:
    return [str(one.place["name"]) for one in found.alarms.new]


def known(found: Estimation) -> dict[str, str]:
    return {
        str(one.place["name"]): one.known_since
        for one in found.alarms.where
        if one.known_since is not None
    }


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets the time at which runs end."""
    return lambda day: monkeypatch.setattr(recording, "now", lambda: f"{day}T05:15:00.000+00:00")


def test_an_alarm_counts_once_and_is_told_as_known(
    night: Night, clock: Callable[[str], None]
) -> None:
    clock("2026-02-27")
    first = night({"2026-01": 0.9, "2026-02": 0.7})
    assert (bool(first.alarms), new(first), known(first)) == (True, ["2026-02"], {})
    clock("2026-03-27")
    second = night({"2026-01": 0.9, "2026-02": 0.7, "2026-03": 0.9})
    assert second.alarms is not None
    assert (bool(second.alarms), new(second)) == (False, [])
    assert known(second) == {"2026-02": "2026-02-27T05:15:00+00:00"}
    line, last = second.alarms.lines()
    assert_snapshot(line)
    assert line.endswith(", known since 2026-02-27")
    assert_snapshot(last)
    clock("2026-04-27")
    third = night({"2026-01": 0.9, "2026-02": 0.7, "2026-03": 0.9, "2026-04": 0.6})
    assert (bool(third.alarms), new(third)) == (True, ["2026-04"])
    assert known(third) == {"2026-02": "2026-02-27T05:15:00+00:00"}
    told = third.to_dict()["alarms"]
    assert (told["asked"], told["new"], told["raised"]) == ("new", 1, True)
    assert [one["known_since"] is None for one in told["where"]] == [False, True]
    assert third.alarms.lines()[0].startswith("ALARM 2026-04")


def test_by_default_every_alarm_counts_and_the_known_are_marked(night: Night) -> None:
    night({"2026-01": 0.7, "2026-02": 0.9})
    found = night({"2026-01": 0.7, "2026-02": 0.9, "2026-03": 0.9}, alarms="all")
    assert found.alarms.raised
    line, last = found.alarms.lines()
    assert line.startswith("ALARM 2026-01: accuracy ")
    assert ", known since 2" in line
    assert_snapshot(last)


def test_an_alarm_that_ended_and_comes_back_is_raised_anew(night: Night) -> None:
    assert new(night({"2026-01": 0.7})) == ["2026-01"]
    assert new(night({"2026-01": (0.7, 41)})) == []
    assert new(night({"2026-01": (0.9, 42)})) == []
    assert new(night({"2026-01": (0.7, 43)})) == ["2026-01"]
    assert new(night({"2026-01": (0.7, 44)})) == []


def test_a_run_that_does_not_look_at_a_chunk_leaves_it_known(night: Night) -> None:
    night({"2026-01": 0.7, "2026-02": 0.9})
    night({"2026-02": 0.9, "2026-03": 0.9})
    found = night({"2026-01": 0.7, "2026-02": 0.9, "2026-03": 0.9})
    assert (new(found), list(known(found))) == ([], ["2026-01"])


def test_a_chunk_that_grows_and_changes_its_name_stays_known(night: Night) -> None:
    assert new(night({"2026-01": 0.9, "2026-02": (0.7, 25)})) == ["2026-02 (partial)"]
    assert new(night({"2026-01": 0.9, "2026-02": (0.7, 40)})) == []
    begun = night(
        {"2026-01": 0.9, "2026-02": 0.7, "2026-03": (0.9, 4)}
    )  # March has begun, February stays as it was
    assert list(known(begun)) == ["2026-02"]
    split = night({"2026-01": 0.9, "2026-02": 0.7, "2026-03": (0.7, 40)})
    assert (new(split), list(known(split))) == (["2026-03"], ["2026-02"])


def test_chunks_of_rows_are_known_by_where_they_begin(night: Night) -> None:
    first = night({"2026-01": (0.9, 100), "2026-02": (0.7, 60)}, every="100rows")
    assert new(first) == ["rows 101 to 160 (partial)"]
    second = night(
        {"2026-01": (0.9, 100), "2026-02": (0.7, 100), "2026-03": (0.7, 60)}, every="100rows"
    )
    assert (new(second), list(known(second))) == (
        ["rows 201 to 260 (partial)"],
        ["rows 101 to 200"],
    )


def test_another_rule_metric_or_job_knows_nothing_of_it(night: Night) -> None:
    night({"2026-01": 0.7})
    assert new(night({"2026-01": (0.7, 41)}, fail_below=0.75)) == ["2026-01"]
    assert new(night({"2026-01": (0.7, 42)}, job="other")) == ["2026-01"]
    both = night({"2026-01": (0.7, 43)}, fail_below=0.75, fail_drop=0.02)
    assert [one.rule.kind for one in both.alarms.new] == ["drop"]  # type: ignore[union-attr]


def test_the_target_as_a_whole_and_slices(night: Night) -> None:
    assert new(night({"2026-01": 0.7}, every=None)) == ["target"]
    again = night({"2026-01": (0.7, 50)}, every=None)
    assert_snapshot(again.alarms.lines()[-1])
    assert new(night({"2026-01": (0.9, 60)}, every=None)) == []
    assert new(night({"2026-01": (0.7, 70)}, every=None)) == ["target"]


def test_slices_are_known_by_their_value(place: str) -> None:
    def ask(north: int) -> Estimation:
        p = np.array([0.7] * north + [0.9] * 40)
        target = {
            "probabilities": np.stack([p, 1 - p], axis=1),
            "group": ["north"] * north + ["south"] * 40,
        }
        reference = {"probabilities": [[0.9, 0.1], [0.2, 0.8]] * 60, "label": [0, 1] * 60}
        asked: dict[str, Any] = {
            "methods": ["ac"],
            "backtest": None,
            "diagnosis": False,
            "calibrator": "none",
        }
        return oodometer.estimate(
            reference, target, by="group", fail_below=0.8, store=place, alarms="new", **asked
        )

    assert new(ask(40)) == ["north"]
    assert (new(ask(41)), list(known(ask(42)))) == ([], ["north"])


def test_an_unchanged_answer_rings_once_however_often_it_is_asked_for(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    months = {"2026-01": 0.9, "2026-02": 0.7}
    rung = 0
    for hour in range(12):
        monkeypatch.setattr(
            recording, "now", lambda at=hour: f"2026-02-27T{at:02d}:00:00.000+00:00"
        )
        rung += bool(new(night(months)))
    assert rung == 1


def test_a_retry_gives_the_same_answer_and_the_next_night_another(
    night: Night, clock: Callable[[str], None]
) -> None:
    months = {"2026-01": 0.9, "2026-02": 0.7}
    clock("2026-02-27")
    assert new(night(months)) == ["2026-02"]
    assert new(night(months)) == [
        "2026-02"
    ]  # a scheduler that tries again must not hear that all is well
    assert new(night(months)) == ["2026-02"]
    clock("2026-02-28")  # nothing came, and the alarm was heard
    assert new(night(months)) == []
    assert new(night(months)) == []


def test_words_that_need_a_store_are_refused_without_one() -> None:
    data = {"probabilities": [[0.9, 0.1]] * 9, "label": [0] * 9}
    for asked, said in (
        ({"alarms": "new"}, "alarms new needs a store"),
        ({"job": "shop"}, "job needs a store"),
    ):
        with pytest.raises(UsageError, match=said):
            oodometer.estimate(data, data, **asked)  # type: ignore[arg-type]
    with raises_snapshot(UsageError):
        oodometer.estimate(data, data, alarms="some", store="runs.sqlite")
    with raises_snapshot(UsageError):
        oodometer.estimate(data, data, job=" ", store="runs.sqlite")

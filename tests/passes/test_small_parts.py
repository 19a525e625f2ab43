"""What small functions of the passes give, each on its smallest case."""

from __future__ import annotations

import numpy as np

from oodometer import Interval, Predictions
from oodometer.backtests.trials import split_of, tasks_of
from oodometer.errors import InputError
from oodometer.passes.evaluating import widened
from oodometer.passes.folding import Execution, enter_phase
from oodometer.passes.plan import batch_rows, check_rule, decisions_said, rows_decided
from oodometer.passes.reference import check_numbers, labelled_rows, most, width
from oodometer.passes.run_folder import _that_serves
from oodometer.passes.slicing import Latest, RowChunks, TimeChunks, rows_by_value

from ..snapshots import assert_snapshot, raises_snapshot


def test_slices_and_chunks() -> None:
    names, rows = rows_by_value(np.array(["b", "a", "b"], dtype=object))
    assert (names, [index.tolist() for index in rows]) == (["b", "a"], [[0, 2], [1]])
    months, times = (
        TimeChunks("month"),
        np.array(["2018-12-31T23:59", "2019-01-01"], "datetime64[us]"),
    )
    assert months.at(times).tolist() == [587, 588]
    place = {"name": "2019-01", "start": "2019-01-01", "end": "2019-02-01"}
    assert (
        months.place(588, 1, None)
        == months.place(588, 1, months.latest(times[1:] + np.timedelta64(30, "D")))
        == place
    )
    unfinished = {"name": "2019-01 (partial)", "open": True, "partial": True}
    assert months.place(588, 1, months.latest(times[1:]) + Latest(times[0])) == place | unfinished
    assert RowChunks(1000).place(1, 1000, None) == {
        "name": "rows 1001 to 2000",
        "start": 1000,
        "end": 2000,
    }


def test_sizes() -> None:
    assert (batch_rows(10), batch_rows(1000)) == (65_536, 1024)
    records = [Predictions.from_probabilities(p) for p in ([[0.5, 0.5]], [[0.01] * 100])]
    assert [*map(most, records), width(records[0])] == [1_000_000, 514_851, 3]
    assert _that_serves("a", 20, [17, 21]) == "a-17.state"
    assert (_that_serves("a", 20, [21]), _that_serves("a", 0, [])) == ("a-20.state", "a.state")
    assert split_of(("none", 0.0, 6)) == 2
    keys = [("none", 0.0, repeat) for repeat in (*range(0, 40, 4), 1)]
    assert [len(task.keys) for task in tasks_of(keys)] == [8, 2, 1]


def test_decisions_are_seen() -> None:
    decided = Predictions.from_probabilities([[0.4, 0.6]] * 9, prediction=[1] * 8 + [0])
    assert rows_decided(decided) == 1
    check_rule(decided, is_argmax=False)
    with raises_snapshot(InputError):
        check_rule(decided, is_argmax=True)
    p = [[0.7, 0.3], [0.45, 0.55], [0.2, 0.8]]
    (text,) = decisions_said(Predictions.from_probabilities(p, prediction=[0, 0, 1]), "reference")
    assert_snapshot(text)


def test_prices_are_no_classes() -> None:
    price = np.arange(100)
    with raises_snapshot(InputError):
        check_numbers(range(1000, 2000, 10), price, np.minimum(price + 1, 99), None, None)


def test_labelled_rows_and_wider_intervals() -> None:
    there, known = labelled_rows(Predictions.from_arrays(prediction=[0, 1, 1], label=[0, None, 0]))
    assert (there.tolist(), known.verdicts.tolist()) == ([True, False, True], [1, 0])
    assert widened(Interval(0.5, 0.4, 0.6, 0.95, "exact"), 4.0).upper == 0.7
    assert round(widened(Interval(1.0, 0.9, 1.0, 0.95, "exact"), 2.0).lower, 2) == 0.81


def test_work_is_heard() -> None:
    heard: list[object] = []

    class Bar:
        def __call__(self, done: int, total: int) -> None:
            heard.append((done, total))

        def phase(self, name: str) -> None:
            heard.append(name)

    assert enter_phase(Bar(), "fitting") is not None
    assert enter_phase(print, "fitting") is None
    assert Execution(workers=1).heard_by(Bar()).fold(str, [1], max) == "1"
    assert heard == ["fitting", (1, 1)]
    assert Execution(workers=1).fold(lambda part: part * 10, [1, 2, 3], lambda a, b: a + b) == 60
    assert Execution().each(str, [1, 2]) == ["1", "2"]

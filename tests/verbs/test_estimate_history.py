"""Estimates with own history: in the target, in files of the past, in a store, in a fitted file, in the reference."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import oodometer
from oodometer.cli.main import app
from oodometer.errors import InputError
from oodometer.histories import labelled_parts

from ..snapshots import assert_snapshot

MONTHS = 6
ROWS = 400
LESS = 0.10  # by which the model is worse in every month than its confidence says


def rows(month: int, many: int = ROWS, less: float = LESS, labelled: float = 1.0) -> dict[str, Any]:
    """Rows of a month whose accuracy lies below what the model says of them."""
    rng = np.random.default_rng(month)
    confidence = rng.beta(8, 2, many) / 2 + 0.5
    right = rng.random(many) < confidence - less
    predicted = rng.integers(0, 2, many)
    probability = np.where(predicted == 1, confidence, 1 - confidence)
    label = np.where(right, predicted, 1 - predicted)
    known = rng.random(many) < labelled
    return {
        "prob_0": (1 - probability).tolist(),
        "prob_1": probability.tolist(),
        "time": [f"2024-{month:02d}-{day:02d}" for day in rng.integers(1, 28, many)],
        "label": [int(one) if told else None for one, told in zip(label, known, strict=True)],
    }


def joined(tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {name: [cell for table in tables for cell in table[name]] for name in tables[0]}


def without(table: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: cells for name, cells in table.items() if name not in names}


def truth(month: int) -> float:
    table = rows(month)
    said = np.array(table["prob_1"]) > 0.5
    return float((said == np.array(table["label"])).mean())


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    return without(rows(100, 3000, less=0.0), "time")


@pytest.fixture(scope="module")
def target() -> dict[str, Any]:
    """Six months, the first three with labels."""
    return joined(
        [rows(month, labelled=1.0 if month <= 3 else 0.0) for month in range(1, MONTHS + 1)]
    )


@pytest.fixture(scope="module")
def taught(reference: Any, target: Any) -> oodometer.results.Estimation:
    return oodometer.estimate(reference, target, every="month")


def test_labelled_months_teach_those_that_follow(taught: Any, reference: Any, target: Any) -> None:
    untaught = oodometer.estimate(reference, without(target, "label"), every="month")
    for month in (4, 5, 6):
        with_labels, alone = taught.chunks[month - 1].headline, untaught.chunks[month - 1].headline
        assert with_labels.history.periods == 3
        assert with_labels.history.public == alone.interval
        assert abs(with_labels.value - truth(month)) < abs(alone.value - truth(month))
        assert with_labels.lower <= truth(month) <= with_labels.upper
    assert taught.chunks[5].fell.alarm  # the outputs did not move, the labels did
    assert not untaught.chunks[5].fell.alarm


def test_whole_is_the_mean_of_its_months(taught: Any) -> None:
    values = [
        taught.chunks[i].truth.value if i < 3 else taught.chunks[i].headline.value
        for i in range(MONTHS)
    ]
    assert taught.headline.value == pytest.approx(np.mean(values), abs=0.003)
    assert taught.not_random is None
    assert_snapshot(taught.warnings)


def test_later_labels_leave_earlier_months_as_they_were(taught: Any, reference: Any) -> None:
    more = joined(
        [
            rows(month, labelled=1.0 if month <= 3 or month == 6 else 0.0)
            for month in range(1, MONTHS + 1)
        ]
    )
    found = oodometer.estimate(reference, more, every="month")
    assert [chunk.headline.value for chunk in found.chunks[:5]] == [
        c.headline.value for c in taught.chunks[:5]
    ]


def test_without_labels_nothing_is_said_of_history(reference: Any, target: Any) -> None:
    found = oodometer.estimate(reference, without(target, "label"), every="month")
    assert "history" not in json.dumps(found.to_dict()["headline"])
    assert all(chunk.headline.history is None for chunk in found.chunks)


def test_files_of_the_past_say_what_months_of_the_target_do(reference: Any, taught: Any) -> None:
    past = joined([rows(month) for month in (1, 2, 3)])
    rest = without(joined([rows(month) for month in (4, 5, 6)]), "label")
    found = oodometer.estimate(reference, rest, every="month", history=past)
    for chunk, same in zip(found.chunks, taught.chunks[3:], strict=True):
        assert chunk.headline.history.errors == pytest.approx(same.headline.history.errors)
        assert chunk.headline.value == pytest.approx(
            same.headline.value, abs=2e-3
        )  # the public share differs


def test_a_table_a_period(reference: Any) -> None:
    past = [without(rows(month), "time") for month in (1, 2, 3)]
    found = oodometer.estimate(reference, without(rows(4), "label", "time"), history=past)
    assert [*found.headline.history.names] == ["history 1", "history 2", "history 3"]
    assert found.headline.lower <= truth(4) <= found.headline.upper
    assert_snapshot(found.headline.why)
    assert_snapshot(str(found))


def test_fitted_file_keeps_its_history(reference: Any, tmp_path: Path) -> None:
    past = joined([rows(month) for month in (1, 2, 3)])
    rest = without(joined([rows(month) for month in (4, 5)]), "label")
    direct = oodometer.estimate(reference, rest, every="month", history=past)
    path = tmp_path / "model.oodo"
    oodometer.fit(reference, history=past, every="month", out=path)
    found = oodometer.estimate(path, rest, every="month")
    assert [chunk.headline.value for chunk in found.chunks] == [
        chunk.headline.value for chunk in direct.chunks
    ]


def test_store_remembers_what_labels_told(reference: Any, tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    oodometer.estimate(
        reference,
        joined([rows(month) for month in (1, 2, 3)]),
        every="month",
        store=store,
        job="shop",
    )
    rest = without(joined([rows(month) for month in (4, 5)]), "label")
    found = oodometer.estimate(reference, rest, every="month", store=store, job="shop")
    again = oodometer.estimate(
        reference, rest, every="month", history=joined([rows(m) for m in (1, 2, 3)])
    )
    for chunk, same in zip(found.chunks, again.chunks, strict=True):
        assert chunk.headline.history.periods == 3
        assert chunk.headline.value == pytest.approx(same.headline.value, abs=1e-6)


def test_store_of_whole_targets(reference: Any, tmp_path: Path) -> None:
    import pandas as pd

    store = tmp_path / "runs.sqlite"
    for month in (1, 2, 3, 4):
        path = tmp_path / f"night{month}.csv"
        table = without(rows(month), "time")
        pd.DataFrame(table if month < 4 else without(table, "label")).to_csv(path, index=False)
        found = oodometer.estimate(reference, path, store=store, job="shop")
    assert found.headline.history.periods == 3
    assert found.headline.lower <= truth(4) <= found.headline.upper


def test_a_store_whose_past_cannot_be_read_costs_the_history_and_says_so(
    reference: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: Any) -> None:
        raise InputError("a store of past runs", got="a damaged one", file="runs.sqlite")

    monkeypatch.setattr(labelled_parts, "labelled_parts", unreadable)
    found = oodometer.estimate(
        reference, without(rows(4), "label", "time"), store=tmp_path / "runs.sqlite"
    )
    assert found.headline.history is None
    assert any(
        "past runs could not be read" in warning and "a damaged one" in warning
        for warning in found.warnings
    )


def test_few_labels_a_month_count_as_a_difference(reference: Any) -> None:
    some = joined([rows(month, labelled=0.15 if month <= 3 else 0.0) for month in range(1, 5)])
    found = oodometer.estimate(reference, some, every="month").chunks[3].headline
    assert found.history.periods == 3
    assert found.lower <= truth(4) <= found.upper
    assert found.interval.upper - found.interval.lower < 0.3


def test_labels_picked_by_their_outcome_teach_nothing(reference: Any) -> None:
    table = rows(1)
    table["label"] = [0] * ROWS  # what stands there before anything was reported
    found = oodometer.estimate(
        reference, without(rows(2), "label", "time"), history=without(table, "time")
    )
    assert found.headline.history is None
    assert_snapshot(found.warnings)


def test_a_reference_with_times_is_its_own_history(reference: Any) -> None:
    dated = joined([rows(month, 400, less=0.02 * (month % 3)) for month in range(1, 11)])
    later = without(rows(11), "label")
    found = oodometer.estimate(dated, later)
    assert found.headline.history.kind == "inside the reference"
    assert (
        oodometer.estimate(dated, without(later, "time")).headline.history is None
    )  # nobody knows how far away it is


def test_command_line(reference: Any, tmp_path: Path) -> None:
    import pandas as pd

    names = ["reference.csv", "may.csv", "june.csv", "july.csv"]
    tables = [
        reference,
        *(without(rows(month), "time") for month in (1, 2)),
        without(rows(3), "time", "label"),
    ]
    for name, table in zip(names, tables, strict=True):
        pd.DataFrame(table).to_csv(tmp_path / name, index=False)
    ref, may, june, july = (str(tmp_path / name) for name in names)
    out = tmp_path / "answer.json"
    arguments = ["estimate", ref, july, "--history", may, "--history", june, "--json", str(out)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    history = json.loads(out.read_text())["headline"]["history"]
    assert history["periods"] == len(history["errors"]) == 2
    assert 0 <= history["guard"] <= 0.6
    assert set(history["public"]) >= {"value", "lower", "upper"}

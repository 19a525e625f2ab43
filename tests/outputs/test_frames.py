"""Frames: the numbers of a result, tidy, in the library that is there; and one line where none is."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import oodometer
from oodometer.errors import MissingExtraError, UsageError
from oodometer.outputs.frames import table_of, typed
from oodometer.results import Interval
from oodometer.results.prediction import Prediction
from oodometer.results.view import INTERVAL, Table

from ..snapshots import assert_snapshot, raises_snapshot
from .conftest import EVIL, KINDS, METHODS, table

HEADLINE = {"level", "kind", "assumes", "trust", "fell"}


def test_chunks_are_rows_with_what_the_result_says(made: dict[str, Any]) -> None:
    found = made["estimate"]
    frame = found.to_frame(wide=True, library="pandas")
    assert isinstance(frame, pd.DataFrame)
    main = ["part", "chunk", "start", "end", "rows", "value", "lower", "upper", "fell", "alarm"]
    main += ["truth", "level", "kind", "assumes", "trust"]
    assert list(found.to_frame()) == main
    assert frame["part"].tolist() == ["headline", "chunk", "chunk", "chunk"]
    frame = frame[frame["part"] == "chunk"]
    assert frame["assumes"].tolist() == [part.headline.assumes for part in found.chunks]
    assert len(frame) == len(found.chunks) == 3
    assert frame["start"].tolist() == [pd.Timestamp(f"2026-01-{day:02}") for day in (5, 12, 19)]
    assert frame["value"].tolist() == [part.headline.value for part in found.chunks]
    assert frame["truth"].tolist() == [part.truth.value for part in found.chunks]
    assert (frame["truth_lower"] < frame["truth"]).all()
    assert (frame["lower"] < frame["upper"]).all()
    assert frame["rows"].sum() == 400
    assert frame["alarm"].tolist() == [part.fell.alarm for part in found.chunks]
    assert (~frame["alarm"]).tolist() == [not part.fell.alarm for part in found.chunks]
    assert set(frame["metric"]) == {"accuracy"}
    assert frame["chunk"].tolist() == [part.name for part in found.chunks]
    assert "slice" not in frame


def test_slices_carry_their_names_and_no_truth_is_made_up(made: dict[str, Any]) -> None:
    frame = made["slices"].to_frame(wide=True, library="polars")
    assert isinstance(frame, pl.DataFrame)
    assert frame["part"][0] == "headline"
    frame = frame[1:]
    assert set(frame["slice"]) == {"north", EVIL}
    assert frame["truth"].null_count() == 2
    assert frame["truth"].dtype == pl.Float64
    assert frame["by"].to_list() == ["place", "place"]


def test_without_parts_methods_come_first(made: dict[str, Any]) -> None:
    found = made["methods"]
    main = ["method", "value", "lower", "upper", "kind", "level", "assumes", "trust", "fell"]
    assert list(found.to_frame(library="pandas")) == main
    frame = found.to_frame(library="pandas").set_index("method")
    assert frame.index.tolist() == ["headline", *METHODS]
    assert frame.loc["atc", "value"] == found["atc"].value
    methods = made["estimate"].to_frame("methods", library="pandas")["method"].tolist()
    assert methods == ["headline", *METHODS]
    with raises_snapshot(UsageError):
        found.to_frame("parts")
    with raises_snapshot(UsageError):
        found.to_frame(library="excel")


def test_further_metrics_are_rows_of_their_own(made: dict[str, Any]) -> None:
    found = made["metrics"]
    frame = found.to_frame("headline", library="pandas").set_index("metric")
    assert frame.index.tolist() == ["accuracy", "f1", "mcc"]
    assert frame["value"].tolist() == [
        found.headline.value,
        *(one.value for one in found.metrics.values()),
    ]
    assert frame.loc["mcc", "reference"] == found.metrics["mcc"].reference.value
    assert frame.loc["mcc", "truth"] == found.metrics["mcc"].truth.value
    assert frame.loc["accuracy", "reference"] == found.reference["accuracy"]
    assert frame.loc["accuracy", "truth"] == found.target["accuracy"]["value"]
    parts = found.to_frame(library="pandas")[1:].set_index(["slice", "metric"])
    for part in found.slices:
        assert parts.loc[(part.name, "mcc"), "value"] == part.metrics["mcc"].value
        assert parts.loc[(part.name, "mcc"), "truth"] == part.metrics["mcc"].truth.value
    methods = found.to_frame("methods", library="pandas")[1:]
    assert methods.groupby("metric")["method"].apply(list)["mcc"] == [
        e.method for e in found.metrics["mcc"].estimates
    ]
    moved = found.to_frame("columns", library="pandas").set_index("column")
    assert moved.loc["size", "distance"] == found.diagnosis.columns[0].distance


NUMBERS = {  # of a result -> its own number
    "evaluate": lambda found: found["accuracy"],
    "audit": lambda found: found.estimate.interval,
    "judge audit": lambda found: found.estimate.interval,
    "rank": lambda found: found.likeliest.accuracy,
    "battles": lambda found: found.ranking[0].win_rate,
    "history": lambda found: found["table"].of("chunk")[-1].newest,
    "judges": lambda found: found.estimate,
    "stress": lambda found: found.models[0].curves[0].points[-1].estimate,
}


@pytest.mark.parametrize("name", [one for one in KINDS if one not in ("diagnose", "evaluations")])
def test_every_first_table_begins_with_the_headline(made: dict[str, Any], name: str) -> None:
    found, (what, *_) = made[name], made[name].frames()
    row = found.to_frame(library="pandas").iloc[0]
    assert set(row.index) >= HEADLINE
    assert row.tolist().count("headline") == 1
    if name == "compare":
        assert row["value"] == found.difference["value"]
        assert_snapshot(row["says"])
    elif name == "backtest":
        assert row["error"] == found.overall()[0].error
        assert found.overall()[0].method in row["says"]
    else:
        number = NUMBERS.get(name, lambda found: found.headline)(found)
        assert row[["value", "lower", "upper"]].tolist() == [
            number.value,
            number.lower,
            number.upper,
        ]
    if isinstance(found, oodometer.Estimation):
        head = found.headline
        assert row["fell"] == found.fell.verdict
        assert row[["level", "kind", "assumes", "trust"]].tolist() == [
            0.95,
            head.interval.kind,
            head.assumes,
            head.trust,
        ]
    assert table_of(found, what).rows[0] == table_of(found).rows[0]


def test_a_number_without_a_table_is_a_table_of_its_own(tmp_path: Path) -> None:
    accuracy = Interval(0.8, 0.7, 0.9, 0.95, "exact")
    asked = Prediction("0", "m", "d.csv", None, 50, (0, 1), ("label",), accuracy)
    frame = pd.read_csv(asked.save(tmp_path / "a.csv"))
    assert frame[["result", "value", "kind"]].values.tolist() == [["headline", 0.8, "exact"]]
    with raises_snapshot(UsageError):
        asked.to_frame("rows")
    unknown = replace(asked, accuracy=None).to_frame(library="pandas").iloc[0]
    assert (unknown["result"], unknown["rows"]) == ("headline", 50)
    assert pd.isna(unknown["value"])


def test_results_without_a_number_have_no_headline(made: dict[str, Any]) -> None:
    table = table_of(made["evaluations"])
    assert "headline" not in {cell for row in table.rows for cell in map(str, row.values())}


@pytest.mark.parametrize("name", KINDS)
def test_every_table_of_every_result_is_the_same_in_both_libraries(
    made: dict[str, Any], name: str
) -> None:
    found = made[name]
    for what in found.frames():
        table = table_of(found, what)
        assert all(set(row) >= {"value"} for row in table.rows if "value" in table.columns)
        one, other = (
            found.to_frame(what, wide=True, library=library) for library in ("pandas", "polars")
        )
        assert one.shape == other.shape == (len(table.rows), len(table.columns))
        has_headline = bool(table.named) and name != "evaluations"
        assert not has_headline or list(one[table.named]).count("headline") == 1
        assert len(table.rows) > 0, what
        assert list(one.columns) == other.columns == list(table.columns)
        if set(INTERVAL) <= set(table.columns):
            known = one.dropna(subset=["value", "lower"])
            assert len(known), what
            assert ((known["lower"] <= known["value"]) & (known["value"] <= known["upper"])).all()


def test_numbers_of_other_results_are_theirs(made: dict[str, Any]) -> None:
    evaluation, audit, backtest, comparison = (
        made[name] for name in ("evaluate", "audit", "backtest", "compare")
    )
    metrics = evaluation.to_frame("metrics", library="pandas")[1:].set_index("metric")["value"]
    assert metrics["accuracy"] == evaluation["accuracy"].value
    assert (
        evaluation.to_frame(library="pandas")[1:].groupby("slice")["rows"].first().sum()
        == evaluation.rows
    )
    numbers = audit.to_frame(library="pandas").set_index("number")
    assert numbers.loc["audited", "value"] == audit.estimate.value
    assert numbers.loc["label-free", "upper"] == audit.headline.upper
    assert numbers.loc["believed", "lower"] == audit.believed.interval.lower
    trials = backtest.to_frame("trials", library="pandas")
    assert trials.groupby("method")["error"].apply(
        lambda e: e.abs().mean()
    ).to_dict() == pytest.approx({row.method: row.error for row in backtest.overall()})
    models = comparison.to_frame(library="pandas").set_index(["model", "metric"])
    assert models.loc[("a", "accuracy"), "rank"].item() == 1
    assert (
        models.loc[(EVIL, "accuracy"), "value"].item()
        == comparison[EVIL].in_domain["accuracy"].value
    )


def test_the_library_in_use_is_taken_and_an_absent_one_named(
    made: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made["methods"]
    assert isinstance(found.to_frame(), pd.DataFrame)
    monkeypatch.delitem(sys.modules, "pandas")
    assert isinstance(found.to_frame(), pl.DataFrame)
    monkeypatch.undo()
    for name in ("pandas", "polars"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("oodometer.outputs.frames.find_spec", lambda name: None)
    with pytest.raises(
        MissingExtraError, match=r"needs pandas or polars, .*; run: pip install pandas$"
    ):
        found.to_frame()
    with pytest.raises(MissingExtraError, match=r"needs polars, .*; run: pip install polars$"):
        found.to_frame(library="polars")
    assert found.to_frame(library="pyarrow").num_rows == 1 + len(METHODS)


def test_columns_keep_their_types_where_every_cell_is_empty() -> None:
    empty = typed(
        Table(("slice", "start", "value", "rows", "alarm"), [dict.fromkeys(("slice", "value"))])
    )
    assert [str(one) for one in empty.schema.types] == [
        "string",
        "timestamp[s]",
        "double",
        "int64",
        "bool",
    ]
    mixed = typed(
        Table(
            ("slice", "start"),
            [{"slice": 1, "start": "row 5"}, {"slice": "(missing)", "start": None}],
        )
    )
    rows = typed(Table(("start", "end"), [{"start": 0, "end": 500}, {"start": 500, "end": 1000}]))
    assert rows.to_pydict() == {
        "start": [0, 500],
        "end": [500, 1000],
    }  # numbers of rows are no years
    assert mixed.to_pydict() == {"slice": ["1", "(missing)"], "start": ["row 5", None]}
    assert typed(Table(("slice",), [{"slice": None}, {"slice": 3}])).to_pydict() == {
        "slice": [None, 3]
    }


def test_numbers_of_a_ranking_are_its_own(made: dict[str, Any]) -> None:
    found, labels = made["rank"], np.array(table(400, 2)["label"])[:60]
    models = found.to_frame(library="pandas").set_index("model")
    head, models = models.loc["headline"], models.drop("headline")
    assert (head["rank"], head["p_best"]) == (1, found.likeliest.p_best)
    assert_snapshot(head["says"])
    assert models["rank"].to_dict() == {"a": 1, EVIL: 2}
    assert (models["labels"] == 60).all()
    for name, difficulty in (("a", 1.0), (EVIL, 3.0)):
        rows = table(400, 2, difficulty).slice(0, 60)
        said = np.stack([np.array(rows[f"prob_{k}"]) for k in range(4)]).argmax(axis=0)
        assert models.loc[name, "right"] == (said == labels).sum()
        assert models.loc[name, "value"] == pytest.approx(models.loc[name, "right"] / 60)
    assert models["p_best"].sum() == pytest.approx(1)
    (pair,) = found.to_frame("pairs", library="pandas").to_dict("records")
    assert (pair["a"], pair["b"], pair["p_a_better"]) == ("a", EVIL, found.pairs[0].p_a_better)
    evidence = found.to_frame("evidence", library="pandas").set_index(["evidence", "model"])
    assert evidence.loc[("accuracy", "a"), "value"] == pytest.approx(models.loc["a", "value"])


@pytest.mark.lab
def test_numbers_of_judges_are_those_of_their_votes(made: dict[str, Any]) -> None:
    numbers = made["judges"].to_frame(library="pandas").set_index("number")
    shares = {"lower": 2 / 6, "upper": 5 / 6, "mean": 7 / 12}
    assert numbers["value"][list(shares)].to_dict() == pytest.approx(shares)
    assert numbers["value"].tolist()[5:] == pytest.approx([3 / 6, 4 / 6, 3 / 6])
    assert (numbers["rows"] == 6).all()


@pytest.mark.lab
def test_a_stress_test_has_a_row_for_truth_and_estimate_of_each_severity(
    made: dict[str, Any],
) -> None:
    points = made["stress"].to_frame(library="pandas")
    assert_snapshot(points.loc[0, "says"])
    points = points[1:]
    assert points["step"].tolist()[2:] == ["0.1", "0.1", "0.2", "0.2"]
    assert points["step"][:2].isna().all()
    assert (points["model"] == EVIL).all()
    known = points[points["metric"] == "accuracy"]
    told = points[points["metric"] == "estimated accuracy"]
    assert known["value"].tolist() == [0.9, 0.8, 0.7]
    assert told["value"].tolist() == [0.91, 0.83, 0.66]
    assert told["error"].tolist() == pytest.approx([0.01, 0.03, -0.04])
    assert known["error"].isna().all()
    assert (told["trust"] == "high").all()

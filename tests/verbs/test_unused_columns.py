"""Columns that change no number though they might be meant to: weights, names of whom several rows are of, and rows
that stand in the reference and in the target.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer

from ..snapshots import assert_snapshot, raises_snapshot

ROWS = 400
RNG = np.random.default_rng(0)
P = RNG.uniform(0.05, 0.95, ROWS)
TABLE = pd.DataFrame(
    {"prob_0": 1 - P, "prob_1": P, "label": (RNG.uniform(size=ROWS) < P).astype(int)}
)
OTHER = TABLE.assign(
    prob_1=P[::-1] ** 1.1, prob_0=1 - P[::-1] ** 1.1, label=TABLE["label"].to_numpy()[::-1]
)
WEIGHT = RNG.uniform(0, 3, ROWS)
FORMS = pytest.mark.parametrize("form", ["csv", "parquet", "frame"])


def written(frame: pd.DataFrame, path: Path, form: str) -> Any:
    if form == "frame":
        return frame
    getattr(frame, f"to_{form}")(path.with_suffix(f".{form}"), index=False)
    return path.with_suffix(f".{form}")


def said(found: Any, words: str) -> list[str]:
    return [line for line in found.warnings if words in line]


@FORMS
@pytest.mark.parametrize(
    "name", ["sample_weight", "weight", "weights", "case_weight", "sampleWeight"]
)
def test_weights_are_said_not_to_be_used(form: str, name: str, tmp_path: Path) -> None:
    given = written(TABLE.assign(**{name: WEIGHT}), tmp_path / "a", form)
    found = oodometer.evaluate(given, metrics=["accuracy"])
    (line,) = said(found, "is not used")
    assert f": {name} is not used: every row counts alike; count each by it with" in line
    assert not said(oodometer.evaluate(given, metrics=["accuracy"], weight=name), "is not used")
    assert (
        found["accuracy"].value == oodometer.evaluate(TABLE, metrics=["accuracy"])["accuracy"].value
    )
    other = written(OTHER.drop(columns="label").assign(**{name: WEIGHT}), tmp_path / "b", form)
    for told in (
        oodometer.estimate(given, other, methods=["ac"], backtest="none"),
        oodometer.compare([given, given], names=["a", "b"]),
        oodometer.audit(given, other, labels=OTHER["label"], methods=["ac"]),
    ):
        assert len(said(told, f"{name} is not used")) == 1


@pytest.mark.parametrize(
    "columns",
    [
        {"sample_weight": 1.0},
        {"sample_weight": WEIGHT - 1},
        {"sample_weight": "heavy"},
        {"weight": 60 + WEIGHT, "height": 170 + WEIGHT},
        {"weight_of_car": WEIGHT},
    ],
)
def test_what_is_no_weight(columns: dict[str, Any]) -> None:
    assert not said(
        oodometer.evaluate(TABLE.assign(**columns), metrics=["accuracy"]), "is not used"
    )
    named = oodometer.evaluate(
        TABLE.assign(sample_weight=WEIGHT.round()), by="sample_weight", metrics=["accuracy"]
    )
    assert not said(named, "is not used")


CUSTOMERS = [f"c{i // 8}" for i in range(ROWS)]


@FORMS
@pytest.mark.parametrize(
    "name", ["customer", "user_id", "patientId", "session", "group", "team", "cluster"]
)
def test_rows_of_one_customer_are_named(form: str, name: str, tmp_path: Path) -> None:
    given = written(TABLE.assign(**{name: CUSTOMERS}), tmp_path / "a", form)
    found = oodometer.evaluate(given, metrics=["accuracy"])
    (line,) = said(found, "depend on each other")
    text = f": 50 values of {name} repeat: where rows of one {name} depend on each other"
    assert line.endswith(f"{text}, --cluster {name} widens the intervals")
    plain = oodometer.evaluate(TABLE, metrics=["accuracy"])["accuracy"]
    assert (found["accuracy"].lower, found["accuracy"].upper) == (plain.lower, plain.upper)
    asked = oodometer.evaluate(given, cluster=name, metrics=["accuracy"])
    assert len(said(asked, "depend on each other")) == 1
    assert said(asked, "intervals are those of 50 clusters")
    other = written(OTHER.drop(columns="label").assign(**{name: CUSTOMERS}), tmp_path / "b", form)
    told = oodometer.estimate(given, other, methods=["ac"], backtest="none")
    assert len(said(told, f"--cluster {name} widens")) == 1
    assert not said(
        oodometer.estimate(given, other, methods=["ac"], backtest="none", cluster=name),
        "widens the int",
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"country": [f"c{i % 40}" for i in range(ROWS)]},
        {"sex": ["m", "f"] * 200},
        {"product": CUSTOMERS},
        {"group": [f"g{i % 4}" for i in range(ROWS)]},
        {"team": [f"g{i % 9}" for i in range(ROWS)]},
        {"customer": [f"c{i}" for i in range(ROWS)]},
        {"customer": WEIGHT},
        {"customer": CUSTOMERS, "id": CUSTOMERS},  # of ids that repeat it is said already
    ],
)
def test_categories_are_no_clusters(columns: dict[str, Any]) -> None:
    assert not said(
        oodometer.evaluate(TABLE.assign(**columns), metrics=["accuracy"]), "widens the intervals"
    )
    diagnosis = oodometer.diagnose(
        TABLE.assign(customer=CUSTOMERS), OTHER.assign(customer=CUSTOMERS)
    )
    assert not said(diagnosis, "--cluster")  # which has no such option


@FORMS
def test_rows_of_both_files(form: str, tmp_path: Path) -> None:
    both = pd.concat([OTHER, TABLE.head(40)]).drop(columns="label")
    reference, target = written(TABLE, tmp_path / "a", form), written(both, tmp_path / "b", form)
    (line,) = said(
        oodometer.estimate(reference, target, methods=["ac"], backtest="none"),
        "stand in the reference, too",
    )
    assert_snapshot(line)
    apart = written(OTHER.drop(columns="label"), tmp_path / "c", form)
    assert not said(
        oodometer.estimate(reference, apart, methods=["ac"], backtest="none"),
        "stand in the reference",
    )


def test_ids_of_both_files() -> None:
    names = np.array([f"u{i * 7919 % 100_003:06d}" for i in range(2 * ROWS)])
    reference, target = (
        TABLE.assign(id=names[:ROWS]),
        OTHER.drop(columns="label").assign(id=names[ROWS - 20 : -20]),
    )
    (line,) = said(
        oodometer.estimate(reference, target, methods=["ac"], backtest="none"),
        "stand in the reference, too",
    )
    assert_snapshot(line)
    counted = [
        frame.assign(id=[f"r{i}" for i in range(ROWS)])
        for frame in (TABLE, OTHER.drop(columns="label"))
    ]
    assert not said(
        oodometer.estimate(*counted, methods=["ac"], backtest="none"), "stand in the reference"
    )


def test_rows_that_coincide_by_chance() -> None:
    rounded = [frame.round(1) for frame in (TABLE, OTHER.drop(columns="label"))]
    assert not said(
        oodometer.estimate(*rounded, methods=["ac"], backtest="none"), "stand in the reference"
    )
    lists = [
        {
            "probabilities": frame[["prob_0", "prob_1"]].to_numpy(),
            "label": frame["label"].to_numpy(),
        }
        for frame in (TABLE, OTHER)
    ]
    del lists[1]["label"]
    assert not said(
        oodometer.estimate(*lists, methods=["ac"], backtest="none"), "stand in the reference"
    )
    lists[1]["probabilities"] = np.concatenate(
        [lists[1]["probabilities"], lists[0]["probabilities"][:40]]
    )
    assert said(
        oodometer.estimate(*lists, methods=["ac"], backtest="none"), "rows of the target stand in"
    )


def of_models(names: tuple[str, ...] = ("big", "small"), column: str = "model") -> pd.DataFrame:
    """Each row of the table by every model, in any order."""
    rows = [TABLE.assign(id=range(ROWS), **{column: name}) for name in names]
    return pd.concat(rows).sample(frac=1, random_state=0)


@FORMS
@pytest.mark.parametrize("column", ["model", "model_name", "system", "version", "Classifier ID"])
def test_rows_of_several_models_are_refused(form: str, column: str, tmp_path: Path) -> None:
    given = written(of_models(column=column), tmp_path / "a", form)
    other = written(OTHER, tmp_path / "b", form)
    calls: list[Any] = [
        lambda: oodometer.evaluate(given),
        lambda: oodometer.estimate(given, other),
        lambda: oodometer.estimate(other, given),
        lambda: oodometer.compare([other, given]),
        lambda: oodometer.fit(given),
    ]
    for call in calls:
        with raises_snapshot(oodometer.InputError):
            call()


def test_rows_of_several_people_and_of_models_without_ids_are_refused(tmp_path: Path) -> None:
    people = written(of_models(column="annotator"), tmp_path / "people", "csv")
    with pytest.raises(oodometer.InputError, match="labels of one person, got 2 in column annot"):
        oodometer.evaluate(people)
    one = oodometer.evaluate(people, where="annotator == big", metrics=["accuracy"])
    assert one.rows == ROWS
    in_order = pd.concat([TABLE.assign(model=name) for name in ("big", "small")])
    with pytest.raises(oodometer.InputError, match="answers of one model, got 2 in column model"):
        oodometer.evaluate(in_order)
    epochs = of_models(column="epoch")
    assert oodometer.evaluate(epochs, metrics=["accuracy"]).rows == 2 * ROWS


@FORMS
def test_rows_that_the_model_learnt_from_are_said_to_count(form: str, tmp_path: Path) -> None:
    held_out = np.arange(ROWS) % 3 == 0
    for name, cells, where in (
        ("Data Split", np.where(held_out, "Test", "Train"), '"Data Split" == Test'),
        ("is_train", ~held_out, "is_train == false"),
    ):
        given = written(TABLE.assign(**{name: cells}), tmp_path / "a", form)
        (line,) = said(oodometer.evaluate(given, metrics=["accuracy"]), "the model learnt from")
        assert where.lower() in line.lower()
        found = oodometer.evaluate(given, where=where, metrics=["accuracy"])
        assert found.rows == held_out.sum()
        assert not said(found, "the model learnt from")
    group = TABLE.assign(split=np.where(held_out, "a", "b"))
    assert not said(oodometer.evaluate(group, metrics=["accuracy"]), "the model learnt from")


def test_versions_of_other_rows_tell_no_models_apart() -> None:
    rows = TABLE.assign(id=range(ROWS), version=np.where(P > 0.5, "1.0", "1.1"))
    assert oodometer.evaluate(rows, metrics=["accuracy"]).rows == ROWS
    assert oodometer.evaluate(rows.drop(columns="id"), metrics=["accuracy"]).rows == ROWS


def test_models_are_told_apart_by_the_printed_words(tmp_path: Path) -> None:
    path = written(of_models(), tmp_path / "a", "csv")
    right = oodometer.evaluate(TABLE, metrics=["accuracy"])["accuracy"].value
    for given in (written(of_models(), path, "frame"), path):
        one = oodometer.evaluate(given, where="model == big", metrics=["accuracy"])
        assert one["accuracy"].value == right
        assert oodometer.evaluate(given, by="model", metrics=["accuracy"]).rows == 2 * ROWS
    with raises_snapshot(oodometer.InputError):
        oodometer.evaluate(path)


def test_a_model_of_a_car_is_no_model_that_answers() -> None:
    cars = TABLE.assign(id=range(ROWS), model=np.where(P > 0.5, "Civic", "Golf"))
    assert oodometer.evaluate(cars, metrics=["accuracy"]).rows == ROWS


@pytest.mark.parametrize("form", ["parquet", "frame"])
def test_lists_in_the_order_of_rank_are_warned_of(form: str, tmp_path: Path) -> None:
    p = np.random.default_rng(1).dirichlet([1.0] * 3, ROWS)
    label = p.argmax(axis=1)
    for lists, count in ((np.sort(p)[:, ::-1], 1), (p, 0)):
        table = pd.DataFrame({"label": label, "probabilities": [*lists.tolist()]})
        found = oodometer.evaluate(written(table, tmp_path / "a", form), metrics=["accuracy"])
        assert len(said(found, "probabilities falls from the first entry to the last")) == count


@FORMS
def test_errors_that_are_called_correct_are_warned_of(form: str, tmp_path: Path) -> None:
    table = TABLE.assign(prediction=(P > 0.5).astype(int))
    right = table["prediction"] == table["label"]
    for cells, count in ((~right, 1), (right, 0), (right | (np.arange(ROWS) % 7 == 0), 0)):
        given = written(table.assign(correct=cells.astype(int)), tmp_path / "a", form)
        lines = said(oodometer.evaluate(given, metrics=["accuracy"]), "correct is false in")
        assert len(lines) == count
        assert not lines or f"in {int(right.sum())} of {int(right.sum())} rows" in lines[0]


def test_prompts_that_repeat_are_said_to_depend_on_each_other() -> None:
    table = TABLE.assign(prompt=[f"question {row // 4}" for row in range(ROWS)])
    (line,) = said(oodometer.evaluate(table, metrics=["accuracy"]), "100 values of prompt repeat")
    assert "cluster" in line


def test_models_are_told_apart_by_texts_of_questions() -> None:
    table = pd.DataFrame(
        {
            "question": [f"How much is {k} and 2?" for k in range(30)] * 2,
            "system": ["A"] * 30 + ["B"] * 30,
            "correct": [1, 0, 1] * 20,
        }
    )
    with raises_snapshot(oodometer.OodometerError):
        oodometer.evaluate(table)
    assert oodometer.evaluate(table, where="system == A").rows == 30


def test_a_score_that_is_called_like_errors_is_warned_of() -> None:
    good = pd.DataFrame({"id": range(60), "wer": RNG.uniform(0, 0.2, 60).round(3)})
    bad = good.assign(wer=2 * good["wer"] + 0.1)
    found = oodometer.compare({"good": good, "bad": bad}, mapping={"wer": "score"})
    assert_snapshot("\n".join(said(found, "wer")))

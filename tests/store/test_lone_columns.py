"""Lone columns: a binary model that gives the probability, or the logit, of one of its two classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer import InputError, Predictions
from oodometer.errors import UsageError
from oodometer.store import as_source, read_predictions
from oodometer.verbs.opening import Opener, renamings

from ..snapshots import raises_snapshot

P = np.array([0.9, 0.2, 0.5, 0.75])
BOTH = np.stack([1 - P, P], axis=1)


def same(record: Predictions, want: Any) -> None:
    """The record has these probabilities."""
    assert record.probabilities is not None
    np.testing.assert_allclose(record.probabilities, np.array(want))


def labels_of(record: Predictions) -> list[int]:
    """Positions of the labels."""
    found: list[int] = record.label.tolist()
    return found


def written(folder: Path, ending: str, columns: dict[str, Any]) -> Path:
    """The columns as a file."""
    path, frame = folder / f"p.{ending}", pd.DataFrame(columns)
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path)
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif ending == "feather":
        frame.to_feather(path)
    else:
        arrays: dict[str, Any] = {name: np.array(values) for name, values in columns.items()}
        np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "feather", "npz"])
def test_one_column_is_enough_in_every_format(tmp_path: Path, ending: str) -> None:
    read = read_predictions(written(tmp_path, ending, {"prob_1": P, "label": [1, 0, 0, 1]}))
    assert read.classes == (0, 1)
    same(read, BOTH)
    assert labels_of(read) == [1, 0, 0, 1]


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_batches_say_what_the_whole_says(tmp_path: Path, rows: int) -> None:
    source = as_source(written(tmp_path, "csv", {"prob_1": P, "label": [1, 0, 0, 1]}))
    same(Predictions.concat(list(source.batches(rows=rows))), BOTH)


@pytest.mark.parametrize("given", ["probabilities", "prob_1"])
def test_arrays_of_one_axis(given: str) -> None:
    read = read_predictions({given: P, "label": [1, 0, 0, 1]})
    same(read, BOTH)
    if given == "probabilities":
        same(Predictions.from_probabilities(P.tolist()), BOTH)


def test_a_logit_is_that_against_the_other_class() -> None:
    z = np.array([0.3, -2.0])
    want = 1 / (1 + np.exp(-z))
    for read in (
        read_predictions({"logit_1": z}),
        read_predictions({"logits": z}),
        Predictions.from_logits(z),
    ):
        np.testing.assert_allclose(read.probabilities[:, 1], want)
    zero = read_predictions({"logit_0": z})
    np.testing.assert_allclose(zero.probabilities[:, 0], want)


def test_the_other_class_is_the_one_that_labels_name() -> None:
    read = read_predictions({"prob_yes": P, "label": ["yes", "no", "no", "yes"]})
    assert read.classes == ("no", "yes")
    same(read, BOTH)
    told = read_predictions({"prob_no": P}, classes=["yes", "no"])
    assert told.classes == ("yes", "no")
    same(told, BOTH)


def test_truths_are_classes() -> None:
    read = read_predictions({"p": P, "label": [True, False, False, True]}, mapping={"p": "prob_1"})
    assert labels_of(read) == [1, 0, 0, 1]


def test_a_target_follows_the_references_names() -> None:
    opener = Opener(renamings({"y": "label"}, "p=yes"))
    reference = opener.references({"p": P, "y": ["yes", "no", "no", "yes"]})[0].read()
    target = opener.target({"p": [0.3]}).read()
    assert reference.classes == target.classes == ("no", "yes")
    same(target, [[0.7, 0.3]])
    opener.check()


def test_both_columns_and_one_give_the_same_estimate() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(400).round(3)
    label = (rng.random(400) < p).astype(int)
    far = rng.random(300).round(3)
    both = oodometer.estimate(
        {"prob_0": 1 - p, "prob_1": p, "label": label}, {"prob_0": 1 - far, "prob_1": far}, methods=["doc", "cbpe"],
        backtest=None,
    )  # fmt: skip
    one = oodometer.estimate(
        {"p": p, "label": label}, {"p": far}, positive="p", methods=["doc", "cbpe"], backtest=None
    )
    assert [e.value for e in both.estimates] == pytest.approx([e.value for e in one.estimates])


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "percents": (
        {"prob_1": [90.0, 20.0]},
        "row 1: column prob_1: .* got 90; these look like percents",
    ),
    "below 0": ({"prob_1": [0.5, -0.2]}, "row 2: column prob_1: .* got -0.2; if these are logits"),
    "not a number": ({"prob_1": [0.5, np.nan]}, "row 2: column prob_1: expected a finite number"),
    "no such class": (
        {"prob_yes": [0.5, 0.2], "label": [0, 1]},
        "two classes, 'yes' and another one, got 0, 1, 'yes'",
    ),
    "no other class": (
        {"prob_yes": [0.5, 0.2]},
        "two classes, 'yes' and another one, got 'yes'; name both, --classes",
    ),
    "a third class": ({"prob_1": [0.5, 0.2], "label": [1, 2]}, "row 2: column label: .* got 2"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_columns_are_named(case: str) -> None:
    columns, words = BAD[case]
    with pytest.raises(InputError, match=words):
        read_predictions(columns)


def test_one_column_of_three_classes_is_too_few() -> None:
    with raises_snapshot(InputError):
        read_predictions({"prob_a": P}, classes=["a", "b", "c"])
    with raises_snapshot(InputError):
        read_predictions({"prob_c": P}, classes=["a", "b"])


def test_renamings_that_contradict_each_other_are_refused() -> None:
    with raises_snapshot(UsageError):
        renamings({"p": "confidence"}, "p")
    for wrong in ("", "=", "p="):
        with raises_snapshot(UsageError):
            renamings(None, wrong)
    with raises_snapshot(UsageError):
        oodometer.evaluate({"prob_1": P, "label": [1, 0, 0, 1]}, positive="nope")


FORMS = pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "frame"])
TRUTH = np.array([1, 0, 1, 0, 1, 1, 0, 0] * 5)
LIKELY = np.where(np.arange(40) % 5 == 0, 1 - TRUTH, TRUTH) * 0.6 + 0.2  # wrong in one row of five


def given(table: pd.DataFrame, form: str, folder: Path) -> Any:
    path = folder / f"t.{form}"
    match form:
        case "csv":
            table.to_csv(path, index=False)
        case "parquet":
            table.to_parquet(path, index=False)
        case "jsonl":
            table.to_json(path, orient="records", lines=True)
        case _:
            return table
    return path


@FORMS
@pytest.mark.parametrize("label", [TRUTH == 1, TRUTH])
def test_a_lone_probability_of_true(label: Any, form: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"label": label, "prob_True": LIKELY})
    found = oodometer.evaluate(given(table, form, tmp_path), metrics=["accuracy"])
    assert found["accuracy"].value == 0.8


@FORMS
@pytest.mark.parametrize("names", ["prob_{}.0", "prob_LABEL_{}"])
def test_numbers_are_the_classes_that_columns_write_otherwise(
    names: str, form: str, tmp_path: Path
) -> None:
    table = pd.DataFrame({"label": TRUTH, names.format(0): 1 - LIKELY, names.format(1): LIKELY})
    found = oodometer.evaluate(given(table, form, tmp_path), metrics=["accuracy"])
    assert found["accuracy"].value == 0.8
    with raises_snapshot(InputError):
        oodometer.evaluate(given(table.assign(label=TRUTH + 1), form, tmp_path))

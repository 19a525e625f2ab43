"""Labels that are off by one, exchanged or renamed: said by every verb; honest models are left in peace."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oodometer
from oodometer import Predictions
from oodometer.cli import main
from oodometer.errors import InputError
from oodometer.metrics.confusion import Confusion
from oodometer.passes.reference import below_chance, label_warnings
from oodometer.store import write_predictions
from oodometer.testing import example_record

from ..snapshots import assert_snapshot, raises_snapshot

SAID = "is far below chance"


def made(classes: int, accuracy: float, rows: int = 2000, seed: int = 0) -> Predictions:
    """Predictions that are right with this chance, and wrong evenly."""
    rng = np.random.default_rng(seed)
    label = rng.integers(classes, size=rows)
    wrong = (label + rng.integers(1, classes, size=rows)) % classes
    predicted = np.where(rng.random(rows) < accuracy, label, wrong)
    return Predictions.from_classes(predicted, label=label, classes=range(classes))


def said_of(record: Predictions) -> str:
    return " ".join(label_warnings("the reference", [record], record.accuracy))


def renamed(record: Predictions, names: np.ndarray) -> Predictions:
    assert record.label is not None
    return replace(record, label=names[record.label].astype(np.int32), _cache={})


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 30), st.sampled_from([-1, 1]), st.integers(0, 99))
def test_labels_off_by_one_are_named_with_the_accuracy_they_hide(
    classes: int, step: int, seed: int
) -> None:
    record = made(classes, 0.9, seed=seed)
    said = said_of(renamed(record, (np.arange(classes) + step) % classes))
    back = "label - 1" if step == 1 else "label + 1"
    assert back in said
    assert f"{100 * record.accuracy:.1f} %" in said


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 12), st.integers(0, 99))
def test_any_renaming_that_leaves_no_class_in_place_is_found(classes: int, seed: int) -> None:
    record = made(classes, 0.85, seed=seed)
    order = np.random.default_rng(seed).permutation(classes)
    names = np.empty(classes, dtype=np.int64)
    names[order] = np.roll(order, 1)  # one cycle through all classes
    said = said_of(renamed(record, names))
    assert SAID in said
    assert f"it would be {100 * record.accuracy:.1f} %" in said


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 200), st.floats(0, 1), st.integers(1, 3000), st.integers(0, 999))
def test_an_honest_model_is_left_in_peace(classes: int, skill: float, rows: int, seed: int) -> None:
    """Whatever it knows, down to nothing: from guessing upwards there is no warning."""
    assert said_of(made(classes, 1 / classes + skill * (1 - 1 / classes), rows, seed)) == ""


def test_two_classes_exchanged() -> None:
    said = said_of(renamed(made(2, 0.8), np.array([1, 0])))
    assert_snapshot(said)


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 12), st.integers(0, 99))
def test_two_of_many_classes_exchanged_are_named(classes: int, seed: int) -> None:
    """The accuracy may be high by the other classes: rows of these two tell."""
    record = made(classes, 0.88, seed=seed)
    a, b = sorted(np.random.default_rng(seed).permutation(classes)[:2].tolist())
    names = np.arange(classes)
    names[[a, b]] = b, a
    said = said_of(renamed(record, names))
    assert (
        f"with the labels {a} and {b} exchanged it would be {100 * record.accuracy:.1f} %" in said
    )


def test_a_thousand_classes_off_by_one_are_seen_though_chance_is_so_little() -> None:
    """One right in a hundred beats guessing among a thousand; the labels are off by one all the same."""
    record = made(1000, 0.7, rows=5000)
    label = (record.label + 1) % 1000  # type: ignore[operator]
    label[:100] = record.predicted[:100]
    said = said_of(replace(record, label=label, _cache={}))
    assert SAID not in said
    assert "label - 1" in said


def test_labels_of_other_rows_are_not_explained_by_a_renaming() -> None:
    """A model that is wrong on purpose, in no order: below chance, and no renaming helps."""
    assert_snapshot(said_of(made(10, 0.0, rows=5000)))


def test_the_spread_under_shuffling_is_that_of_shuffled_labels() -> None:
    from oodometer.passes.reference import agreement_by_chance

    record = made(4, 0.4, rows=60)
    counts = Confusion.of(record).matrix()
    rng = np.random.default_rng(0)
    right = [(rng.permutation(record.label) == record.predicted).sum() for _ in range(20_000)]  # type: ignore[arg-type]
    mean, spread = agreement_by_chance(counts)
    assert mean == pytest.approx(np.mean(right), rel=0.01)
    assert spread == pytest.approx(np.std(right), rel=0.03)


def test_few_rows_and_correct_alone_say_nothing() -> None:
    assert below_chance("x", np.array([[0, 9], [9, 0]]), (0, 1)) is None
    record = Predictions.from_arrays(correct=[0] * 50, confidence=[0.9] * 50)
    assert said_of(record) == ""


@pytest.fixture(scope="module")
def off_by_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reference and a target with labels, right; and both once more with every label one too high."""
    folder = tmp_path_factory.mktemp("labels")
    for name, seed in (("reference", 1), ("target", 2)):
        record = replace(example_record(400, seed=seed), features=None, logits=None, members=None, views=None,
                         votes=None, member_probabilities=None, token_logprobs=None)  # fmt: skip
        write_predictions(record, folder / f"{name}.parquet")
        assert record.label is not None
        label = (record.label + 1) % record.num_classes
        write_predictions(replace(record, label=label, _cache={}), folder / f"{name}_off.parquet")
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ["estimate", "reference_off.parquet", "target.parquet", "--backtest", "none"],
        ["estimate", "reference.parquet", "target_off.parquet", "--backtest", "none"],
        ["estimate", "reference.parquet", "target.parquet", "--labels", "target_off.parquet", "--backtest", "none"],
        ["evaluate", "reference_off.parquet"],
        ["compare", "reference.parquet", "reference_off.parquet"],
        ["audit", "reference.parquet", "target.parquet", "--labels", "target_off.parquet"],
        ["audit", "reference_off.parquet", "target.parquet", "--labels", "target.parquet"],
        ["backtest", "reference_off.parquet", "--method", "source", "--repeats", "1", "--no-cache"],
    ],
    ids=lambda c: " ".join(c[:3]),
)  # fmt: skip
def test_every_verb_says_it(off_by_one: Path, tmp_path: Path, command: list[str]) -> None:
    out = tmp_path / "out.json"
    given = [str(off_by_one / a) if a.endswith(".parquet") else a for a in command]
    assert main([*given, "--json", str(out)]) == 0
    said = [w for w in json.loads(out.read_text())["warnings"] if "label - 1" in w]
    assert len(said) == 1, "once, not twice"
    assert SAID in said[0]


def test_right_labels_are_not_spoken_of(off_by_one: Path) -> None:
    found = oodometer.estimate(
        off_by_one / "reference.parquet",
        off_by_one / "target.parquet",
        backtest=None,
        methods=["ac"],
    )
    assert not [w for w in found.warnings if "chance" in w]


def test_labels_that_may_be_exchanged_leave_no_trust(tmp_path: Path) -> None:
    """The warning reaches the number, that of a fitted file as well."""
    reference = renamed(made(2, 0.9), np.array([1, 0]))
    target = made(2, 0.9, seed=1).without_labels()
    for result in (
        oodometer.estimate(reference, target, backtest=None),
        oodometer.estimate(
            oodometer.fit(reference, backtest=None).save(tmp_path / "fitted.oodo"), target
        ),
    ):
        assert result.headline.trust == "none"
        assert SAID in result.headline.why
        assert any(SAID in line for line in result.warnings)
    honest = oodometer.estimate(made(2, 0.9), target, backtest=None)
    assert honest.headline.trust != "none"


def test_the_page_asks_first_which_class_is_which(tmp_path: Path) -> None:
    p = np.random.default_rng(2).uniform(size=400)
    y = (np.random.default_rng(3).uniform(size=400) < p).astype(int)
    target = {"prob_0": 1 - p, "prob_1": p}
    pages = []
    for labels in (1 - y, y):
        found = oodometer.estimate({**target, "label": labels}, target, methods=["ac"])
        found.save(tmp_path / "page.html")
        pages.append((tmp_path / "page.html").read_text(encoding="utf-8"))
        assert ("doubt" in found.reference) == (labels is not y)
    assert "Settle first which class is which" in pages[0]
    assert "rows.html" not in pages[0]
    assert "Settle first" not in pages[1]


@pytest.fixture
def survival() -> dict[str, Any]:
    """Who died, and the probability of the other class."""
    rng = np.random.default_rng(0)
    died = (rng.random(300) < 0.3).astype(int)
    risk = 1 / (1 + np.exp(-2 * (2 * died - 1 + rng.normal(size=300))))
    return {"id": np.arange(300), "survival": 1 - risk, "died": died}


def test_the_class_of_a_probability_that_is_higher_for_the_other_one_is_asked(
    survival: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not taken as that of class 1, which makes a good model bad, nor of class 0, which makes a bad one good."""
    monkeypatch.chdir(tmp_path)
    on: dict[str, Any] = {"mapping": {"died": "label"}, "positive": "survival"}
    with raises_snapshot(InputError):
        oodometer.evaluate(survival, **on)
    with raises_snapshot(InputError):
        oodometer.estimate(survival, survival, backtest=None, **on)
    labels = {"id": survival["id"], "died": survival.pop("died")}
    with raises_snapshot(InputError):
        oodometer.evaluate(survival, labels=labels, **on)
    right = np.mean((survival["survival"] < 0.5) == labels["died"])
    for named, accuracy in (("survival=0", right), ("survival=1", 1 - right)):
        found = oodometer.evaluate(survival, labels=labels, **{**on, "positive": named})
        assert found["accuracy"].value == pytest.approx(accuracy)


def test_labels_of_a_further_class_do_not_say_what_a_probability_is_of() -> None:
    rng = np.random.default_rng(0)
    label = rng.permutation(
        np.repeat([0, 1, 2], 100)
    )  # the model knows no 2, and finds it unlike a 1
    p = np.clip(np.choose(label, (0.45, 0.6, 0.02)) + rng.normal(0, 0.01, 300), 0, 1)
    known = label < 2
    reference = {"p": p[known], "label": label[known]}
    told = oodometer.estimate(
        reference, {"p": p, "label": label}, positive="p", methods=["ac"], backtest=None
    )
    assert told.target["accuracy"]["value"] == pytest.approx(np.mean((p >= 0.5) == label))

"""The same rows give the same numbers: whatever their order, their files, and the number of workers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer import backtest, diagnose, estimate
from oodometer.predictions import Predictions
from oodometer.store import write_predictions
from oodometer.verbs import target_plan as module

_NAMES = ("name", "source")


def differences(a: Any, b: Any, where: str = "") -> Iterator[str]:
    """Where two results differ, numbers by more than 1e-9 of a percentage point."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        for key in a:
            if key not in _NAMES:
                yield from differences(a[key], b[key], f"{where}/{key}")
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        for i, (own, other) in enumerate(zip(a, b, strict=True)):
            yield from differences(own, other, f"{where}/{i}")
    elif isinstance(a, float) and isinstance(b, float):
        if not (
            math.isclose(a, b, rel_tol=1e-11, abs_tol=1e-11) or (math.isnan(a) and math.isnan(b))
        ):
            yield f"{where}: {a} and {b}"
    elif a != b:
        yield f"{where}: {a} and {b}"


def rows_of(
    count: int, seed: int, *, labelled: bool, extra: str = "", digits: int = 9, classes: int = 3
) -> Predictions:
    """Answers of a model that is a little too sure; ``extra`` names a field that stands beside them."""
    rng = np.random.default_rng([seed, count])
    logits = rng.normal(0, 2 - 0.4 * seed, (count, classes))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    label = (p.cumsum(axis=1) > rng.random((count, 1))).argmax(axis=1)
    said = p**1.3 / (p**1.3).sum(axis=1, keepdims=True)
    said = np.round(said, digits)
    names = np.array(["wolf", "ant", "elk"], dtype=object)[:classes]
    fields: dict[str, Any] = {"probabilities": said.astype(np.float32), "classes": names.tolist()}
    if extra == "confidence":
        fields = {"confidence": said.max(axis=1)} | (
            {"correct": said.argmax(axis=1) == label} if labelled else {}
        )
        return Predictions.from_arrays(**fields)
    if extra == "features":
        fields["features"] = np.round(logits + rng.normal(size=logits.shape), 2)
    if extra == "members":
        wrong = rng.random((3, count)) < 0.2
        fields["members"] = names[
            np.where(wrong, rng.integers(classes, size=(3, count)), said.argmax(axis=1))
        ]
    if extra == "group":
        fields["group"] = rng.choice(["north", "south"], count)
    if labelled:
        fields["label"] = names[label]
    return Predictions.from_arrays(**fields)


def both(extra: str = "", rows: int = 400, digits: int = 9) -> tuple[Predictions, Predictions]:
    how: dict[str, Any] = {"extra": extra, "digits": digits}
    return rows_of(rows, 1, labelled=True, **how), rows_of(rows, 2, labelled=False, **how)


def assert_same(a: Any, b: Any) -> None:
    assert list(differences(a.to_dict(), b.to_dict())) == []


@pytest.mark.parametrize(
    ("extra", "digits"), [("", 9), ("", 2), ("features", 9), ("members", 2), ("confidence", 2)]
)
@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 999))
def test_order_changes_no_estimate(extra: str, digits: int, seed: int) -> None:
    reference, target = both(extra, digits=digits)
    rng = np.random.default_rng(seed)
    here, there = (side.take(rng.permutation(side.rows)) for side in (reference, target))
    how: dict[str, Any] = {"workers": 1}
    assert_same(estimate(here, there, workers=2), estimate(reference, target, **how))
    assert_same(diagnose(here, there), diagnose(reference, target))


@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 999))
def test_order_changes_no_slice(seed: int) -> None:
    reference, target = both("group", rows=600)
    rng = np.random.default_rng(seed)
    here, there = (side.take(rng.permutation(side.rows)) for side in (reference, target))
    assert_same(estimate(here, there, by="group"), estimate(reference, target, by="group"))


def test_order_changes_no_trial() -> None:
    reference = rows_of(300, 1, labelled=True, extra="group", digits=2)
    order = np.random.default_rng(5).permutation(300)
    there, moved = (
        backtest(rows, cache=None, repeats=1) for rows in (reference, reference.take(order))
    )
    assert_same(moved, there)
    assert [t.truth for t in moved.trials] == [t.truth for t in there.trials]


def test_a_trial_that_is_kept_serves_rows_in_another_order(tmp_path: Path) -> None:
    reference = rows_of(300, 1, labelled=True)
    backtest(reference, methods=["ac", "atc", "source"], repeats=1, cache=tmp_path)
    again = backtest(
        reference.take(np.arange(300)[::-1]),
        methods=["ac", "atc", "source"],
        repeats=1,
        cache=tmp_path,
    )
    assert again.reused == len(again.trials)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_and_their_order_change_nothing(ending: str, tmp_path: Path) -> None:
    reference, target = both(rows=500)
    write_predictions(reference, tmp_path / f"whole.{ending}")
    write_predictions(target, tmp_path / f"target.{ending}")
    parts = np.split(np.random.default_rng(0).permutation(500), [90, 300])
    for folder, order in (("a", (0, 1, 2)), ("b", (2, 0, 1))):
        (tmp_path / folder).mkdir()
        for number, k in enumerate(order):
            write_predictions(reference.take(parts[k]), tmp_path / folder / f"{number}.{ending}")
    away = tmp_path / f"target.{ending}"
    whole = estimate(tmp_path / f"whole.{ending}", away)
    for folder in ("a", "b"):
        assert_same(estimate(tmp_path / folder, away), whole)


@pytest.mark.parametrize("digits", [9, 3])
def test_order_changes_nothing_where_samples_are_read(
    digits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More rows than a domain classifier, a trial and a calibrator look at; half of the target is sure of itself."""
    monkeypatch.setattr(module, "PART_ROWS", 10_000)
    reference = rows_of(26_000, 1, labelled=True, digits=digits, classes=2)
    p = rows_of(45_000, 2, labelled=False, digits=digits, classes=2).probabilities
    assert p is not None
    p[::2] = [0.0, 1.0]
    target = Predictions.from_probabilities(p, classes=["wolf", "ant"])
    rng = np.random.default_rng(0)
    here, there = (side.take(rng.permutation(side.rows)) for side in (reference, target))
    assert_same(estimate(here, there, workers=2), estimate(reference, target, workers=1))

"""Drift of columns: the one that drives the accuracy comes first, others that only move later, noise stays quiet."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.arrays import Array
from oodometer.diagnoses.column_drift import ColumnDrift, columns_finding
from oodometer.results.diagnosis import ColumnChange, UserColumn, most_moved

ROWS = 4_000
COLOUR = UserColumn("colour", "category", 0, ("red", "blue", "green"))
AGE = UserColumn("age", "number", COLOUR.width, (), (40.0,), (10.0,))


def draw(
    rng: np.random.Generator, shift: tuple[float, float, float] = (0, 0, 0), rows: int = ROWS
) -> tuple[Array, Array]:
    """Three columns, of which the first and the third say where the model is right; 20 noise columns beside them."""
    x = rng.normal(size=(rows, 13))
    x[:, :3] += shift
    chance = 0.9 - 0.35 * (x[:, 0] > 0.5) - 0.3 * (x[:, 2] > 0.5)
    return x, rng.random(rows) < chance


def changes_of(
    here: tuple[Array, Array], there: Array, columns: tuple[UserColumn, ...] = ()
) -> tuple[ColumnChange, ...]:
    drift = ColumnDrift(columns).fit(Predictions.from_arrays(features=here[0], correct=here[1]))
    return drift.finish(drift.summarize(Predictions.from_arrays(features=there)))


@pytest.fixture(scope="module")
def moved() -> dict[str, ColumnChange]:
    """The first column moves by half a deviation, the second one by a whole one, the third stays."""
    rng = np.random.default_rng(0)
    found = changes_of(draw(rng), draw(rng, (0.5, 1.0, 0.0))[0])
    assert found[0].name == "feature 0"
    return {one.name: one for one in found}


def test_the_column_that_drives_the_accuracy_explains_its_change(moved: dict[str, ColumnChange]) -> None:
    explains = moved["feature 0"].explains
    rng = np.random.default_rng(1)
    truth = np.mean(draw(rng, (0.5, 1.0, 0.0), 200_000)[1]) - np.mean(draw(rng, rows=200_000)[1])
    assert moved["feature 0"].matters
    assert explains.lower < truth < explains.upper < 0


def test_a_column_may_move_further_and_explain_nothing(moved: dict[str, ColumnChange]) -> None:
    assert moved["feature 1"].moved
    assert not moved["feature 1"].matters
    assert moved["feature 1"].distance > moved["feature 0"].distance
    assert not moved["feature 2"].moved
    assert sum(one.moved for one in moved.values()) == 2
    line = most_moved([one.to_dict() for one in moved.values()])
    assert line.startswith("Most moved: feature 0 (explains -")
    assert line.endswith("points), feature 1")


def test_without_a_shift_columns_seldom_move() -> None:
    rng = np.random.default_rng(2)
    false = [any(one.moved for one in changes_of(draw(rng, rows=2000), draw(rng, rows=400)[0])) for _ in range(100)]
    assert sum(false) <= 10  # at 5 % more than 10 of 100 have a chance of 1 %


def test_what_a_category_explains_is_post_stratification_by_hand() -> None:
    rng = np.random.default_rng(3)
    codes = {"here": rng.choice(3, 3000, p=[0.6, 0.3, 0.1]), "there": rng.choice(3, 2000, p=[0.2, 0.3, 0.5])}
    hot = {side: np.pad(np.eye(3)[c][:, 1:], ((0, 0), (0, 2))) for side, c in codes.items()}
    right = rng.random(3000) < np.array([0.95, 0.8, 0.4])[codes["here"]]
    (found,) = changes_of((hot["here"], right), hot["there"], (COLOUR,))
    p, q = (np.bincount(c, minlength=3) / len(c) for c in codes.values())
    accuracy = [right[codes["here"] == k].mean() for k in range(3)]
    assert found.explains.value == pytest.approx((q - p) @ accuracy, abs=2e-3)
    assert found.psi == pytest.approx(float((q - p) @ np.log(q / p)), abs=2e-2)
    assert found.says.startswith(("red ", "green "))


def test_states_of_batches_are_that_of_the_whole() -> None:
    rng = np.random.default_rng(4)
    here, there = draw(rng), draw(rng, rows=1000)[0]
    drift = ColumnDrift().fit(Predictions.from_arrays(features=here[0], correct=here[1]))
    parts = [drift.summarize(Predictions.from_arrays(features=piece)) for piece in np.array_split(there, 3)]
    joined = drift.finish(drift.merge(drift.merge(parts[2], parts[0]), parts[1]))
    assert [one.to_dict() for one in joined] == [
        one.to_dict() for one in drift.finish(drift.summarize(Predictions.from_arrays(features=there)))
    ]


def test_missing_cells_and_numbers_beyond_the_reference_are_told() -> None:
    rng = np.random.default_rng(5)
    column = UserColumn("age", "number", 0, (), (40.0,), (10.0,))
    here = np.column_stack([rng.normal(size=2000), np.zeros(2000)])
    there = np.column_stack([rng.normal(size=2000) + 4, rng.random(2000) < 0.2])
    there[there[:, 1] == 1, 0] = 0
    (found,) = changes_of((here, rng.random(2000) < 0.8), there, (column,))
    assert found.missing[0] == 0
    assert found.missing[1] == pytest.approx(0.2, abs=0.04)
    assert found.unseen[1] > 0.4
    assert "mean 40" in found.says or "mean 39" in found.says
    assert "missing 0 % -> 2" in found.says
    assert "beyond the reference's range" in found.says


def test_a_spread_that_grows_is_told_by_the_stretch_that_changed() -> None:
    rng = np.random.default_rng(8)
    here, there = rng.normal(size=(3000, 1)), 1.5 * rng.normal(size=(3000, 1))
    (found,) = changes_of((here, rng.random(3000) < 0.8), there)
    assert found.moved
    low, high = (float(one) for one in found.says.partition(":")[0].split(" to "))
    share = [((x > low) & (x <= high)).mean() for x in (here, there)]
    assert f": {100 * share[0]:.0f} % -> {100 * share[1]:.0f} %" in found.says


def test_odd_columns_are_called_as_in_the_file() -> None:
    rng = np.random.default_rng(6)
    here = np.zeros((50, COLOUR.width + AGE.width))
    here[:, 0], here[:, AGE.first] = rng.random(50) < 0.5, rng.normal(size=50)
    there = np.zeros_like(here)
    there[:, 0], there[:, AGE.first] = 1, -4
    found = columns_finding((here, there), None, (COLOUR, AGE))
    assert found.details["odd"] == ["colour=blue in every row", "age: constant at 0"]
    there[:, 0], there[:, AGE.first], there[:, AGE.first + 1] = 0, rng.normal(size=50) / 9, 1
    found = columns_finding((here, there), None, (COLOUR, AGE))
    assert found is not None  # that no row is blue is nothing odd
    assert found.details["odd"] == ["age: missing in 100 % of the rows, and never in the reference"]


def test_embeddings_are_no_columns() -> None:
    wide = np.random.default_rng(7).normal(size=(100, 64))
    assert changes_of((wide, np.ones(100)), wide) == ()

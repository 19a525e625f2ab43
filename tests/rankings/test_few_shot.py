"""The few-shot protocol: an example worked by hand, ties, absent values, equal models, GUESS, and speed."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError
from oodometer.predictions import Predictions
from oodometer.rankings import (
    baseline_methods,
    draw_rows,
    drawn_scores,
    few_shot_evaluation,
    fixed,
    guess,
    guess_accuracy,
    random_order,
    suite_of,
)
from oodometer.rankings.few_shot import Rule

from ..snapshots import raises_snapshot

RIGHT = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]], dtype=float)


def over(rows: list[list[int]]) -> Rule:
    """The score of the given draws, whatever is drawn."""
    return lambda drawn: drawn_scores(RIGHT, np.array(rows))


def test_three_models_and_four_rows_by_hand() -> None:
    # draws of two rows; scores of m1, m2, m3 are 2, 2, 0 / 1, 0, 1 / 1, 1, 1 halves
    draws = [[0, 1], [2, 3], [1, 3]]
    found = few_shot_evaluation({"ACC": over(draws)}, [0.75, 0.5, 0.25], rows=4, draws=3, size=2)
    assert found.pairs == ((0, 1), (0, 2), (1, 2))
    assert found.of("ACC").tolist() == [[0.5, 1, 0.5], [1, 0.5, 0.5], [1, 0, 0.5]]
    assert found.pairwise.tolist() == [[2 / 3, 2 / 3, 0.5]]
    assert found.few_shot[0] == pytest.approx((2 / 3 + 2 / 3 + 0.5) / 3)
    assert found.ties[0] == pytest.approx(5 / 9)


def test_every_draw_gives_what_enumeration_gives() -> None:
    every = [list(rows) for rows in itertools.product(range(4), repeat=2)]
    exact = few_shot_evaluation(
        {"ACC": over(every)}, [0.75, 0.5, 0.25], rows=4, draws=len(every), size=2
    )
    drawn = few_shot_evaluation({"ACC": RIGHT}, [0.75, 0.5, 0.25], draws=20_000, size=2)
    assert np.allclose(drawn.pairwise, exact.pairwise, atol=0.015)


def test_the_same_draws_for_all_methods_and_a_turned_method_is_the_complement() -> None:
    values = np.random.default_rng(0).random((4, 50))
    found = few_shot_evaluation(
        {"v": values, "again": values, "turned": -values}, [0.4, 0.3, 0.2, 0.1]
    )
    assert np.array_equal(found.of("v"), found.of("again"))
    assert np.array_equal(found.of("v"), 1 - found.of("turned"))


def test_equal_models_are_left_out_and_counted() -> None:
    found = few_shot_evaluation({"ACC": RIGHT}, [0.5, 0.75, 0.5])
    assert found.pairs == ((1, 0), (1, 2))
    assert found.equal == 1
    with raises_snapshot(InputError):
        few_shot_evaluation({"ACC": RIGHT}, [0.5, 0.5, 0.5])


def test_absent_values_are_left_out_of_the_mean_and_nothing_left_is_a_tie() -> None:
    values = np.array([[np.nan, 1.0], [0.5, 0.5]])
    rule_rows = np.array([[0, 1], [0, 0]])
    found = few_shot_evaluation(
        {"f": lambda drawn: drawn_scores(values, rule_rows)}, [0.9, 0.1], rows=2, draws=2
    )
    assert found.of("f").tolist() == [[1.0, 0.5]]


def test_draws_are_with_replacement_and_seeded() -> None:
    rows = draw_rows(5, draws=100, size=10, seed=3)
    assert rows.shape == (100, 10)
    assert set(np.unique(rows)) == set(range(5))
    assert np.array_equal(rows, draw_rows(5, draws=100, size=10, seed=3))
    assert not np.array_equal(rows, draw_rows(5, draws=100, size=10, seed=4))


def test_guess_is_that_of_the_paper() -> None:
    # RoBERTa, ELECTRA and DeBERTa on HANS-SUB, HANS-CON and PAWS (Table 6); ELECTRA named best gives 72.2 %
    sets = [[66.8, 63.5, 62.7], [57.8, 72.5, 65.7], [69.0, 80.5, 71.8]]
    assert guess_accuracy(sets)[1] == pytest.approx((0.5 + 2.5 / 3 + 2.5 / 3) / 3)
    assert round(100 * guess_accuracy(sets)[1], 1) == 72.2
    with raises_snapshot(UsageError):
        guess(3, 3)


def test_random_order_is_right_half_of_the_time() -> None:
    found = few_shot_evaluation({"RANDOM": random_order(6)}, np.arange(6) / 6, rows=10, draws=2000)
    assert found.few_shot[0] == pytest.approx(0.5, abs=0.02)
    assert found.ties[0] == 0


def test_baselines_and_both_directions_of_confidence() -> None:
    a = Predictions.from_probabilities([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], label=[0, 0, 1])
    b = Predictions.from_probabilities([[0.7, 0.3], [0.4, 0.6], [0.3, 0.7]], label=[0, 0, 1])
    methods = baseline_methods(suite_of({"a": a, "b": b}))
    assert np.asarray(methods["ACC"]).tolist() == [[1, 0, 0], [1, 0, 1]]
    assert np.allclose(np.asarray(methods["CONF"]), [[0.9, 0.8, 0.6], [0.7, 0.6, 0.7]])
    assert np.allclose(np.asarray(methods["CONF-GT"]), [[0.9, 0.2, 0.4], [0.7, 0.4, 0.7]])
    found = few_shot_evaluation(methods, [0.3, 0.6])
    for name in ("CONF", "CONF-GT"):
        assert np.allclose(found.of(name) + found.of(f"{name} reversed"), 1)


def test_without_labels_or_probabilities_some_baselines_are_left_out() -> None:
    a = Predictions.from_probabilities([[0.9, 0.1], [0.2, 0.8]])
    assert list(baseline_methods(suite_of({"a": a, "b": a}))) == ["CONF", "CONF reversed", "RANDOM"]
    c = Predictions.from_classes([0, 1], label=[0, 0])
    assert list(baseline_methods(suite_of({"c": c, "d": c}))) == ["ACC", "RANDOM"]


def test_twenty_methods_of_six_models_take_well_under_a_second() -> None:
    rng = np.random.default_rng(0)
    methods = {str(i): rng.random((6, 400)) for i in range(20)}
    start = time.perf_counter()
    few_shot_evaluation(methods, np.arange(6) / 6)
    assert time.perf_counter() - start < 1


def test_what_makes_no_sense_is_refused() -> None:
    with raises_snapshot(UsageError):
        few_shot_evaluation({"ACC": RIGHT[:1]}, [0.5])
    with raises_snapshot(UsageError):
        few_shot_evaluation({"ACC": RIGHT}, [0.5, 0.6])
    with raises_snapshot(UsageError):
        few_shot_evaluation({"ACC": RIGHT, "v": RIGHT[:, :2]}, [0.5, 0.6, 0.7])
    with raises_snapshot(UsageError):
        few_shot_evaluation({"pool": fixed([1, 2])}, [0.5, 0.6])
    with raises_snapshot(InputError):
        few_shot_evaluation({"ACC": RIGHT}, [0.5, np.nan, 0.7])
    with raises_snapshot(UsageError):
        few_shot_evaluation({}, [0.5, 0.6], rows=3)
    with raises_snapshot(UsageError):
        few_shot_evaluation({"ACC": RIGHT}, [0.5, 0.6, 0.7], size=0)


def test_the_same_values_in_another_order_are_a_tie() -> None:
    values = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    drawn = np.array([[0, 1, 2]])
    found = drawn_scores(values, drawn)
    assert found[0, 0] != found[0, 1]  # to the last digit
    assert few_shot_evaluation({"f": lambda _: found}, [0.9, 0.1], rows=3, draws=1).of(
        "f"
    ).tolist() == [[0.5]]
    assert few_shot_evaluation({"f": values * 1e-9}, [0.9, 0.1], draws=200, size=1).ties[0] < 0.5


def test_a_number_is_no_method() -> None:
    with raises_snapshot(UsageError):
        few_shot_evaluation({"a": 1.0}, [0.5, 0.6])  # type: ignore[dict-item]

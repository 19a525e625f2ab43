"""Labels alone and with predictions: exact intervals, p-values, PPI++ against a loop, the choice that does not peek."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import binom

import oodometer
from oodometer.audits.judge import (
    confidence_pays,
    effective_labels,
    exact_interval,
    exact_p_value,
    hypergeometric,
    judge,
    ppi_plus_plus,
    predicted_widths,
    refutes,
)
from oodometer.audits.labels import LabelledRows, collect, read_labels
from oodometer.audits.result import noticeable, strata
from oodometer.audits.suggestion import COUNTS, expected_widths, labels_alone_width, moved
from oodometer.cli import main
from oodometer.errors import InputError
from oodometer.inference.betting import SampledRows
from oodometer.intervals import clopper_pearson
from oodometer.results import Interval
from oodometer.store import as_source

from ..snapshots import assert_snapshot, raises_snapshot

GOAL = as_source({"prediction": [0, 1, 1, 0, 1], "label": [0, 1, 0, 0, 1]})
PREDICTED = np.array([0, 1, 1, 0, 1])


@pytest.mark.parametrize(
    ("hits", "labels", "rows"), [(3, 5, 12), (5, 5, 12), (0, 4, 9), (7, 10, 60)]
)
def test_hypergeometric_is_the_search_through_every_share(
    hits: int, labels: int, rows: int
) -> None:
    kept = [
        m / rows
        for m in range(hits, rows - labels + hits + 1)
        if stats.hypergeom(rows, m, labels).sf(hits - 1) > 0.05
        and stats.hypergeom(rows, m, labels).cdf(hits) > 0.05
    ]
    assert hypergeometric(hits, labels, rows, 0.9) == (min(kept), max(kept))


def test_hypergeometric_covers_exactly() -> None:
    for right in range(31):
        draw = stats.hypergeom(30, right, 8)
        held = [k for k in range(9) if draw.pmf(k) > 0
                and hypergeometric(k, 8, 30, 0.9)[0] <= right / 30 <= hypergeometric(k, 8, 30, 0.9)[1]]  # fmt: skip
        assert draw.pmf(held).sum() >= 0.9 - 1e-12


def test_hypergeometric_lies_within_clopper_pearson() -> None:
    low, high = hypergeometric(36, 40, 400, 0.95)
    a, b = clopper_pearson(36, 40, 0.95)
    assert a < low < 0.9 < high < b


def binomial_p_value(hits: int, labels: int, lower: float, upper: float) -> float:
    """Of a target so large that its size does not matter."""
    return exact_p_value(hits, labels, 10**9, lower, upper)


def test_p_value_is_the_largest_inside_the_claim() -> None:
    p = np.linspace(0.6, 0.8, 401)
    for k in range(13):
        two_sided = np.minimum(
            1.0, 2 * np.minimum(stats.binom.cdf(k, 12, p), stats.binom.sf(k - 1, 12, p))
        )
        wanted = two_sided.max()
        inside = 0.6 <= k / 12 <= 0.8
        assert binomial_p_value(k, 12, 0.6, 0.8) == pytest.approx(
            1.0 if inside else wanted, abs=1e-9
        )


def test_ten_labels_refute_a_headline_of_95_where_the_truth_is_13() -> None:
    hits = stats.binom(10, 0.13)
    power = sum(hits.pmf(k) for k in range(11) if binomial_p_value(k, 10, 0.9, 0.98) < 0.05)
    assert power > 0.999
    true = stats.binom(10, 0.92)
    wrong = sum(true.pmf(k) for k in range(11) if binomial_p_value(k, 10, 0.9, 0.98) < 0.05)
    assert wrong <= 0.05


def test_a_p_value_agrees_with_clopper_pearson() -> None:
    low, high = clopper_pearson(30, 40, 0.95)
    assert (
        binomial_p_value(30, 40, high + 1e-6, 1) < 0.05 < binomial_p_value(30, 40, high - 1e-6, 1)
    )
    assert binomial_p_value(30, 40, 0, low - 1e-6) < 0.05 < binomial_p_value(30, 40, 0, low + 1e-6)


def test_effective_labels_of_an_interval_half_as_wide() -> None:
    low, high = clopper_pearson(360, 400, 0.95)
    assert effective_labels(0.9, high - low, 0.95, 1e6) == pytest.approx(400, abs=1e-3)
    assert effective_labels(0.9, 0.0, 0.95, 500) == 500
    assert effective_labels(0.9, 1.0, 0.95, 500) == pytest.approx(0, abs=1e-6)


def test_ppi_plus_plus_by_loop() -> None:
    rng = np.random.default_rng(0)
    score = rng.random(60)
    correct = (rng.random(60) < score).astype(float)
    mean, rows = 0.47, 900
    y_bar, f_bar = sum(correct) / 60, sum(score) / 60
    cov = sum((y - y_bar) * (f - f_bar) for y, f in zip(correct, score, strict=True)) / 59
    var = sum((f - f_bar) ** 2 for f in score) / 59
    lean = cov / ((1 + 60 / rows) * var)
    rest = [y - lean * f for y, f in zip(correct, score, strict=True)]
    centre = sum(rest) / 60
    spread = sum((r - centre) ** 2 for r in rest) / 59
    half = stats.norm.ppf(0.95) * math.sqrt(spread / 60 + lean**2 * var / rows)
    value = lean * mean + centre
    assert ppi_plus_plus(correct, score, mean, rows, 0.9) == pytest.approx(
        (value, value - half, value + half)
    )


def test_ppi_plus_plus_is_never_nan() -> None:
    assert ppi_plus_plus(np.ones(1), np.full(1, 0.5), 0.5, 10, 0.9)[0] == 1.0
    assert ppi_plus_plus(np.ones(9), np.full(9, 0.5), 0.5, 10, 0.9) == (1.0, 1.0, 1.0)


def test_ppi_plus_plus_with_enough_labels_holds_its_level_and_is_narrower() -> None:
    rng = np.random.default_rng(1)
    score = rng.beta(3, 1.5, size=20_000)
    right = (rng.random(20_000) < score).astype(float)
    held, ratio = [], []
    for _ in range(600):
        row = rng.integers(20_000, size=500)
        _, low, high = ppi_plus_plus(right[row], score[row], float(score.mean()), 20_000, 0.9)
        held.append(low <= right.mean() <= high)
        ratio.append((high - low) / np.diff(clopper_pearson(right[row].sum(), 500, 0.9))[0])
    assert np.mean(held) >= 0.86
    assert np.mean(ratio) < 0.95


def test_ppi_plus_plus_fails_at_ten_labels() -> None:
    """The reason why it is never printed there: with accuracy 0.98 most draws hold no error and no width."""
    rng = np.random.default_rng(2)
    score = rng.beta(0.98 * 2, 0.02 * 2, size=5000)
    right = (rng.random(5000) < score).astype(float)
    held = []
    for _ in range(300):
        row = rng.permutation(5000)[:10]
        _, low, high = ppi_plus_plus(right[row], score[row], float(score.mean()), 5000, 0.9)
        held.append(low <= right.mean() <= high)
    assert np.mean(held) < 0.5
    judged = judge(SampledRows.evenly(row, right[row]), score, 1.0, 0.9)
    assert "ppi++" not in {e.method for e in judged.intervals}


def test_the_choice_does_not_look_at_labels() -> None:
    rng = np.random.default_rng(3)
    score, row = rng.beta(2, 1, size=1000), np.arange(0, 1000, 10)
    chosen = {judge(SampledRows.evenly(row, (rng.random(100) < p).astype(int)), score, 1.0, 0.9).estimate.method
              for p in (0.0, 0.1, 0.5, 0.9, 1.0)}  # fmt: skip
    assert len(chosen) == 1
    assert (
        judge(SampledRows.evenly(row + 1, np.ones(100)), score, 1.0, 0.9).estimate.method in chosen
    )


def test_predictions_are_used_where_they_say_much_and_left_where_they_say_nothing() -> None:
    sharp = np.tile([0.02, 0.5, 0.99, 0.98], 500)
    assert confidence_pays(sharp, 1.0, 100, 0.9)
    assert confidence_pays(sharp, 1.0, 1000, 0.9)
    for labels in (10, 100, 1000):
        assert not confidence_pays(np.full(2000, 0.8), 1.0, labels, 0.9)
        assert not confidence_pays(sharp, 0.0, labels, 0.9)


def test_predicted_widths_are_those_of_real_audits_where_f_is_calibrated() -> None:
    rng = np.random.default_rng(4)
    score = rng.beta(3, 1, size=2000)
    right = (rng.random(2000) < score).astype(float)
    found = []
    for seed in range(16):
        row = np.random.default_rng(seed).permutation(2000)[:60]
        by_name = {
            e.method: e
            for e in judge(SampledRows.evenly(row, right[row]), score, 1.0, 0.9).intervals
        }
        found.append(by_name["ppi-betting"].upper - by_name["ppi-betting"].lower)
    assert predicted_widths(score, 1.0, 60, 0.9)["ppi-betting"] == pytest.approx(
        np.mean(found), rel=0.08
    )


def test_sharp_predictions_make_labels_worth_more() -> None:
    rng = np.random.default_rng(5)
    score = rng.choice([0.02, 0.98], size=5000, p=[0.3, 0.7])
    right = (rng.random(5000) < score).astype(int)
    row = rng.permutation(5000)[:300]
    found = judge(SampledRows.evenly(row, right[row]), score, 1.0, 0.95)
    assert found.estimate.method == "ppi-betting"
    assert found.estimate.kind == "exact"
    assert found.estimate.lower <= right.mean() <= found.estimate.upper
    assert found.effective_labels > 600


def test_labels_alone_are_worth_what_they_are() -> None:
    found = judge(SampledRows.evenly(np.arange(40), np.ones(40)), np.full(100_000, 0.9), 0.0, 0.95)
    assert (found.estimate.method, found.effective_labels) == ("clopper-pearson", 40.0)
    assert found.estimate.interval == found.label_only.interval
    assert [e.method for e in found.intervals] == ["clopper-pearson"]


@pytest.mark.parametrize("answers", [[1], [0], [1, 1], [0, 1]])
def test_one_or_two_labels(answers: list[int]) -> None:
    found = judge(
        SampledRows.evenly(np.arange(len(answers)), np.array(answers)),
        np.linspace(0.5, 1, 50),
        1.0,
        0.95,
    )
    for e in found.intervals:
        assert 0 <= e.lower <= e.value <= e.upper <= 1
    assert found.estimate.upper - found.estimate.lower > 0.5
    assert any("only" in w for w in found.warnings)


def test_gaps_widen_the_interval_by_what_they_could_hide() -> None:
    score, row = np.full(100, 0.8), np.arange(20)
    ones, none = np.ones(20), np.zeros(0, dtype=np.int64)
    full = SampledRows(row, np.tile([1, 1, 1, 0], 5), 0.5 * ones, np.nan * ones, none)
    holes = SampledRows(
        row, full.correct, full.share, full.probability, np.array([30, 31, 32, 33, 34])
    )
    a, b = judge(full, score, 1.0, 0.9), judge(holes, score, 1.0, 0.9)
    assert b.estimate.upper - b.estimate.lower > a.estimate.upper - a.estimate.lower + 0.03
    assert_snapshot(b.warnings[0])


@pytest.mark.parametrize("rows", [400, 40_000])
def test_even_rows_passed_over_may_hold_any_truth(rows: int) -> None:
    """Random rows that were suggested and skipped: whoever skips the hard ones must not gain by it."""
    row, score = np.arange(40), np.full(rows, 0.9)
    ones = np.ones(40)
    gaps = np.arange(100, 100 + rows // 10)
    whole = SampledRows(row, np.ones(40), ones, ones * np.nan, np.zeros(0, dtype=np.int64))
    holed = SampledRows(row, np.ones(40), ones, ones * np.nan, gaps)
    a, b = judge(whole, score, 0.0, 0.9), judge(holed, score, 0.0, 0.9)
    for one, other in zip(a.intervals, b.intervals, strict=True):
        assert other.lower == pytest.approx(0.9 * one.lower, abs=0.01)
        assert other.upper == 1
    assert b.effective_labels < a.effective_labels
    assert (
        refutes(holed, score, 0.0, 0.6, 0.9, 0.9) == 1.0 > refutes(whole, score, 0.0, 0.6, 0.9, 0.9)
    )


def test_suggested_labels_refute_too() -> None:
    rng = np.random.default_rng(6)
    score, row = rng.uniform(0.6, 1, size=500), np.arange(40)
    wrong = SampledRows(
        row, np.zeros(40), np.full(40, 0.6), np.full(40, np.nan), np.zeros(0, dtype=np.int64)
    )
    assert refutes(wrong, score, 1.0, 0.8, 0.95, 0.95) < 0.001
    assert refutes(wrong, score, 1.0, 0.0, 0.95, 0.95) == 1.0


def test_labels_in_both_forms() -> None:
    whole = read_labels({"label": [0, None, 1, None, None]}, GOAL, PREDICTED, 5)
    assert whole.correct.tolist() == [1, -1, 1, -1, -1]
    few = read_labels({"row": [4, 0], "correct": [False, True]}, GOAL, PREDICTED, 5)
    assert (few.row.tolist(), few.correct.tolist()) == ([4, 0], [0, 1])


@pytest.mark.parametrize(
    "data",
    [
        {"label": [0, 1]},
        {"row": [5], "label": [0]},
        {"row": [-1], "label": [0]},
        {"row": [1.5], "label": [0]},
        {"row": [1], "label": [7]},
        {"row": [1], "prediction": [1]},
    ],
)
def test_labels_that_do_not_fit(data: dict[str, list[float]]) -> None:
    with raises_snapshot(InputError):
        read_labels(data, GOAL, PREDICTED, 5)


def test_labels_need_predicted_classes() -> None:
    with pytest.raises(InputError, match="`correct`"):
        read_labels({"row": [1], "label": [1]}, GOAL, None, 5)


def test_two_truths_of_a_row() -> None:
    # both are wrong answers of the model, and still they cannot both be true
    goal = as_source({"prediction": [0, 1, 2], "label": [0, 1, 2]})
    part = read_labels({"row": [0, 0], "label": [1, 2]}, goal, np.array([0, 1, 2]), 3)
    with raises_snapshot(InputError):
        collect([part], np.ones(3))


def test_a_row_given_twice_alike_counts_once() -> None:
    part = read_labels({"row": [1, 1, 2], "label": [1, 1, 0]}, GOAL, PREDICTED, 5)
    assert sorted(collect([part, part], np.ones(5)).row.tolist()) == [1, 2]


def test_nothing_known() -> None:
    part = read_labels({"row": [1, 2], "label": [None, None]}, GOAL, PREDICTED, 5)
    with raises_snapshot(InputError):
        collect([part], np.ones(5))


def test_chances_of_another_target_are_noticed() -> None:
    score = np.array([0.6, 0.9, 0.99, 0.7])
    half = np.full(2, 0.5)
    part = LabelledRows("f", np.array([0, 2]), np.array([1, 1]), half, np.array([0.4, 0.4]))
    with raises_snapshot(InputError):
        collect([part], score)
    true = SampledRows(part.row, part.correct, half, half, np.zeros(0, dtype=np.int64)).chances(
        score
    )
    assert collect([LabelledRows("f", part.row, part.correct, half, true)], score).weighted


def test_rows_passed_over_are_gaps_and_those_at_the_end_are_not() -> None:
    correct, nan = np.array([1, -1, 1, -1]), np.full(4, np.nan)
    suggested = LabelledRows("f", np.array([3, 0, 2, 1]), correct, np.full(4, 0.5), nan)
    drawn = collect([suggested], np.full(9, 0.8))
    assert (drawn.row.tolist(), drawn.gaps.tolist()) == ([3, 2], [0])
    later = LabelledRows("g", np.array([0]), np.array([0]), np.full(1, np.nan), np.full(1, np.nan))
    assert collect([suggested, later], np.full(9, 0.8)).gaps.tolist() == []


def test_the_exact_test_and_the_exact_interval_agree() -> None:
    """A claim about a small target is refuted at 5 % just where the 95 % interval does not touch it."""
    rows, labels = 60, 12
    for hits in range(labels + 1):
        low, high = hypergeometric(hits, labels, rows, 0.95)
        for right in range(rows + 1):
            p = exact_p_value(hits, labels, rows, right / rows, right / rows)
            inside = low - 1e-9 <= right / rows <= high + 1e-9
            assert inside == (p > 0.05), (hits, right, p)


def test_the_exact_test_of_a_small_target_counts_hypergeometrically() -> None:
    """By hand: 3 of 5 rows labelled, all wrong; if 2 of 5 were right, one draw in ten misses both; two-sided 0.2."""
    assert exact_p_value(0, 3, 5, 0.4, 1.0) == pytest.approx(0.2)
    assert exact_p_value(3, 3, 5, 0.0, 0.6) == pytest.approx(0.2)
    assert exact_p_value(0, 3, 5, 0.6, 1.0) == 0.0, "three right rows cannot hide among two"


ROWS = 300
RNG = np.random.default_rng(3)
P = RNG.uniform(0.02, 0.98, ROWS).round(3)
TRUTH = (RNG.uniform(size=ROWS) < P).astype(int)
REFERENCE = pd.DataFrame({"prob_0": 1 - P, "prob_1": P, "label": TRUTH})
TARGET = pd.DataFrame({"id": np.arange(1000, 1000 + ROWS), "prob_0": 1 - P, "prob_1": P})
RIGHT = float(((P > 0.5) == TRUTH).mean())


def all_labels(before: int, name: str = "id") -> pd.DataFrame:
    """The target's labels behind those of ``before`` earlier rows, all wrong, in any order."""
    own = pd.DataFrame({name: TARGET["id"], "label": TRUTH})
    earlier = pd.DataFrame(
        {name: np.arange(10_000, 10_000 + before), "label": RNG.integers(0, 2, before)}
    )
    return pd.concat([earlier, own]).sample(frac=1, random_state=0)


def estimated(labels: Any, **asked: Any) -> oodometer.Estimation:
    return oodometer.estimate(
        REFERENCE, TARGET, labels=labels, methods=["ac"], backtest=None, diagnosis=False, **asked
    )


@pytest.mark.parametrize("before", [1, 2000])
@pytest.mark.parametrize(("name", "key"), [("id", None), ("case", "id=case")])
def test_labels_of_other_rows_are_left_out_and_counted(
    before: int, name: str, key: str | None
) -> None:
    found = estimated(all_labels(before, name), key=key)
    assert found.target["labelled"] == ROWS
    assert found.target["accuracy"]["value"] == pytest.approx(RIGHT)
    (said,) = (one for one in found.warnings if "labels" in one)
    verb = (
        "is not needed: the target has no row of its id"
        if before == 1
        else "are not needed: the target has no row of their id"
    )
    assert said.endswith(f": {before:,} of {before + ROWS:,} labels {verb}")


def test_every_verb_with_labels_leaves_them_out() -> None:
    labels = all_labels(500)
    evaluated = oodometer.evaluate(TARGET, labels=labels, metrics=["accuracy"])
    assert (evaluated.rows, evaluated["accuracy"].value) == (ROWS, pytest.approx(RIGHT))
    compared = oodometer.compare([TARGET, TARGET.copy()], labels=labels, names=["a", "b"], steps=20)
    assert compared["a"].in_domain.metrics["accuracy"].value == pytest.approx(RIGHT)
    assert oodometer.backtest(
        TARGET, labels=labels, methods=["source"], families=["none"], repeats=1, cache=None
    ).reference["accuracy"] == pytest.approx(RIGHT)
    for found in (evaluated, compared):
        assert_snapshot(found.warnings)


def test_an_audit_is_that_of_the_labels_of_its_rows() -> None:
    labels = all_labels(500).assign(correct=lambda rows: rows["label"] == 1).drop(columns="label")
    kept = labels[labels["id"] < 10_000]
    asked: dict[str, Any] = {"methods": ["ac"], "seed": 1}
    wide, own = (oodometer.audit(REFERENCE, TARGET, labels=one, **asked) for one in (labels, kept))
    assert (wide.labels, wide.estimate) == (own.labels, own.estimate)
    assert [one for one in wide.warnings if one not in own.warnings] == [
        one for one in wide.warnings if "500 of 800 labels are not needed" in one
    ]


def test_labels_that_are_not_needed_may_repeat_and_those_needed_may_not() -> None:
    labels = all_labels(4)
    twice = pd.concat([labels, labels[labels["id"] >= 10_000]])
    assert estimated(twice).target["accuracy"]["value"] == pytest.approx(RIGHT)
    with raises_snapshot(InputError):
        estimated(pd.concat([labels, labels[labels["id"] == 1000]]))


@pytest.mark.parametrize(("found", "refused"), [(0, True), (2, True), (3, False)])
def test_ids_of_which_hardly_any_is_found_are_other_ids(found: int, refused: bool) -> None:
    labels = all_labels(1000)
    labels = labels[(labels["id"] >= 10_000) | (labels["id"] < 1000 + found)]
    if not refused:
        assert estimated(labels).target["labelled"] == found
        return
    with raises_snapshot(InputError):
        estimated(labels)


def test_an_unknown_id_beside_a_row_is_refused() -> None:
    labels = pd.DataFrame({"id": [1000, 7], "row": [0, 1], "label": [1, 1]})
    with raises_snapshot(InputError):
        estimated(labels)


def test_the_line_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"r.csv": REFERENCE, "t.csv": TARGET, "l.csv": all_labels(500)}
    for name, rows in files.items():
        rows.to_csv(tmp_path / name, index=False)
    reference, target, labels = (str(tmp_path / name) for name in files)
    assert (
        main(
            [
                "estimate",
                reference,
                target,
                "--labels",
                labels,
                "--method",
                "ac",
                "--backtest",
                "none",
            ]
        )
        == 0
    )
    said = " ".join(capsys.readouterr().out.split())
    assert_snapshot(said)


def refuted(labels: int, lower: float, upper: float, level: float, accuracy: float) -> float:
    """Chance that the test speaks, every number of hits counted."""
    hits = np.arange(labels + 1)
    speaks = [binomial_p_value(int(k), labels, lower, upper) < 1 - level for k in hits]
    return float(binom.pmf(hits, labels, accuracy) @ np.array(speaks))


@pytest.mark.parametrize("labels", [5, 10, 40, 300])
@pytest.mark.parametrize(("lower", "upper"), [(0.9, 1.0), (0.4, 0.6), (0.0, 0.3)])
def test_power_is_what_counting_gives(labels: int, lower: float, upper: float) -> None:
    found = noticeable(labels, 10**9, lower, upper, 0.95)
    for end, step in ((found.below, -1), (found.above, 1)):
        if end is not None:
            assert refuted(labels, lower, upper, 0.95, end) == pytest.approx(0.9, abs=0.002)
            assert refuted(labels, lower, upper, 0.95, end + 0.01 * step) > 0.9
    if found.below is None:
        assert refuted(labels, lower, upper, 0.95, 0.0) < 0.9 or lower == 0
    if found.above is None:
        assert refuted(labels, lower, upper, 0.95, 1.0) < 0.9 or upper == 1


def test_a_claim_of_everything_cannot_be_noticed() -> None:
    found = noticeable(1000, 10**9, 0.0, 1.0, 0.95)
    assert (found.below, found.above) == (None, None)


@pytest.mark.parametrize("rows", [600, 100_000])
def test_width_of_labels_alone_is_the_mean_over_all_hits(rows: int) -> None:
    hits = np.arange(61)
    widths = np.array([np.diff(exact_interval(int(k), 60, rows, 0.95))[0] for k in hits])
    whole = float(binom.pmf(hits, 60, 0.85) @ widths)
    assert labels_alone_width(0.85, 60, rows, 0.95) == pytest.approx(whole, rel=0.04)


def test_moved_chances_have_the_mean_and_the_order() -> None:
    score = np.array([0.0, 0.3, 0.9, 1.0])
    for mean in (0.05, 0.5, 0.93):
        chance = moved(score, mean)
        assert chance.mean() == pytest.approx(mean, abs=1e-6)
        assert (np.diff(chance) > 0).all()


def test_widths_ahead_are_those_of_audits_that_come() -> None:
    rng = np.random.default_rng(0)
    score = np.tile([0.55, 0.9, 0.98, 1.0], 500)
    chance = moved(score, 0.8)
    ahead = expected_widths(
        score, 1.0, 0.9, 0.8, Interval(0.8, 0.7, 0.9, 0.9, "exact"), (40, 200)
    ).widths
    for one in ahead:
        widths = []
        for seed in range(6):
            row = rng.permutation(len(score))[: one.labels]
            found = judge(
                SampledRows.evenly(row, (rng.random(one.labels) < chance[row]).astype(int), seed),
                score,
                1.0,
                0.9,
            )
            widths.append(found.estimate.upper - found.estimate.lower)
        assert one.random == pytest.approx(float(np.mean(widths)), rel=0.08)
        assert one.narrowest < one.alone < one.widest
    assert ahead[0].alone > ahead[1].alone


def test_no_width_is_promised_beyond_the_target() -> None:
    score = np.linspace(0.6, 1, 25)
    found = expected_widths(score, 0.5, 0.95, 0.9, Interval(0.9, 0.7, 1.0, 0.95, "exact"), COUNTS)
    assert [w.labels for w in found.widths] == [10, 20]


def test_strata_hold_all_rows_and_labels() -> None:
    score = np.random.default_rng(1).random(97)
    row = np.arange(0, 97, 3)
    found = strata(score, row, (row % 2 == 0).astype(int), np.array([1, 4]))
    assert [s.stratum for s in found] == list(range(10))
    assert sum(s.rows for s in found) == 97
    assert sum(s.labels for s in found) == len(row)
    assert sum(s.correct for s in found) == int((row % 2 == 0).sum())
    assert sum(s.suggested for s in found) == 2
    assert all(a.highest <= b.lowest for a, b in pairwise(found))
    assert strata(np.full(9, 0.5), row[:2], np.array([1, 0])) == ()


def test_power_speaks_of_the_test_that_an_audit_makes() -> None:
    few = SampledRows.evenly(np.arange(40), (np.arange(40) < 20).astype(int))
    assert noticeable(40, 10**9, 0.8, 0.9, 0.95).below > 0.5
    assert refutes(few, np.full(900, 0.9), 0.0, 0.8, 0.9, 0.95) < 0.05

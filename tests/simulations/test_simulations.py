"""Simulated shifts: which rows they draw, how far these move, and what each family promises to leave alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from oodometer import Predictions
from oodometer.registry import create, names, register, unregister
from oodometer.simulations import Simulation
from oodometer.simulations.base import coordinates, draw_by_shares, draw_by_weight
from oodometer.simulations.clusters import k_means
from oodometer.testing import example_record
from oodometer.verbs.backtest import backtest

ROWS = 1200
DAYS = np.datetime64("2026-01-01", "us") + np.arange(ROWS) * np.timedelta64(3600 * 10**6, "us")
POOL = replace(
    example_record(ROWS, seed=3, difficulty=1.4),
    time=DAYS,
    columns={"row": np.arange(ROWS)},
    _cache={},
)
FAMILIES = [
    "none", "class_prior", "clusters", "tilt", "confidence_tilt", "logit_noise", "logit_temperature", "groups",
    "periods",
]  # fmt: skip
CHANGE_OUTPUTS = {"logit_noise", "logit_temperature"}
CASES = [(f, s) for f in FAMILIES for s in create("simulation", f).severities]


def draw(family: str, severity: float, seed: int, pool: Predictions = POOL) -> Predictions:
    drawn = create("simulation", family).draw(pool, severity, np.random.default_rng(seed))
    return drawn


def test_every_family_of_the_house_is_tested_here() -> None:
    assert names("simulation") == FAMILIES


@pytest.mark.parametrize(("family", "severity"), CASES)
def test_targets_hold_rows_of_the_pool_and_none_twice(family: str, severity: float) -> None:
    for seed in range(4):
        drawn = draw(family, severity, seed)
        rows = drawn.columns["row"]
        assert 20 <= len(drawn) <= ROWS
        assert (np.diff(rows) > 0).all(), "in their order, no row twice"
        same = POOL.take(rows)
        assert (drawn.label == same.label).all()
        assert drawn.is_labelled
        if family not in CHANGE_OUTPUTS:
            assert (drawn.probabilities == same.probabilities).all()
            assert (drawn.features == same.features).all()
            assert (drawn.members == same.members).all()
            assert drawn.accuracy == same.accuracy


@pytest.mark.parametrize(("family", "severity"), CASES)
def test_a_seed_gives_one_target(family: str, severity: float) -> None:
    first, again = draw(family, severity, 5), draw(family, severity, 5, replace(POOL, _cache={}))
    assert (first.columns["row"] == again.columns["row"]).all()
    assert (first.probabilities == again.probabilities).all()
    others = [draw(family, severity, seed).columns["row"].tolist() for seed in range(6, 16)]
    assert any(rows != first.columns["row"].tolist() for rows in others)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_pool_is_left_as_it_was(family: str) -> None:
    before = {
        n: getattr(POOL, n).tobytes()
        for n in ("probabilities", "label", "features", "members", "time")
    }
    for severity in create("simulation", family).severities:
        draw(family, severity, 0)
    assert before == {n: getattr(POOL, n).tobytes() for n in before}


def shares(values: Any, length: int) -> Any:
    return np.bincount(values, minlength=length) / len(values)


def moved_classes(drawn: Predictions) -> float:
    return float(np.abs(shares(drawn.label, 4) - shares(POOL.label, 4)).sum() / 2)


def moved_clusters(drawn: Predictions) -> float:
    assert create("simulation", "clusters").why_not(POOL) is None
    part = POOL.derived("simulation:clusters", lambda: None)
    count = part.max() + 1
    return float(np.abs(shares(part[drawn.columns["row"]], count) - shares(part, count)).sum() / 2)


def moved_points(drawn: Predictions) -> float:
    points = coordinates(POOL)
    return float(np.linalg.norm(points[drawn.columns["row"]].mean(axis=0)))


def confidence(drawn: Predictions) -> float:
    return float(drawn.top.first.mean())


def moved_groups(drawn: Predictions) -> float:
    return max(float((drawn.group == k).mean()) for k in range(4))


def moved_time(drawn: Predictions) -> float:
    return -float(drawn.columns["row"].std())


MEASURES: dict[str, Callable[[Predictions], float]] = {
    "class_prior": moved_classes,
    "clusters": moved_clusters,
    "tilt": moved_points,
    "confidence_tilt": lambda drawn: -confidence(drawn),
    "logit_noise": lambda drawn: -drawn.accuracy,
    "logit_temperature": lambda drawn: -confidence(drawn),
    "groups": moved_groups,
    "periods": moved_time,
}


@pytest.mark.parametrize("family", MEASURES)
def test_more_severe_is_further(family: str) -> None:
    """On average over draws, and no shift is nearer than the mildest (or between the signs of one that has two)."""
    severities = create("simulation", family).severities
    pool = replace(POOL, group=np.arange(ROWS) % 4, _cache={}) if family == "groups" else POOL
    means = [
        np.mean([MEASURES[family](draw(family, s, seed, pool)) for seed in range(30)])
        for s in severities
    ]
    assert means == sorted(means)
    assert len(set(means)) == len(means)
    still = float(np.mean([MEASURES[family](draw("none", 0.0, seed, pool)) for seed in range(30)]))
    mildest = sum(s < 0 for s in severities)
    assert still < means[mildest]
    assert mildest == 0 or means[mildest - 1] < still


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=25)
@given(rows=st.integers(0, 70), seed=st.integers(0, 9))
def test_a_pool_that_is_too_small_gives_nothing(family: str, rows: int, seed: int) -> None:
    """No error and no target of a few rows, whatever the size."""
    pool = POOL.slice(0, rows)
    simulation = create("simulation", family)
    for severity in simulation.severities:
        if simulation.why_not(pool) is None:
            drawn = simulation.draw(pool, severity, np.random.default_rng(seed))
            assert drawn is None or 20 <= len(drawn) <= rows
        if rows < 20:
            assert simulation.why_not(pool) is not None or drawn is None


BARE = Predictions.from_arrays(correct=[1, 0] * 100)
LACKING = {
    "class_prior": "needs `label` of at least two classes",
    "clusters": "needs `features`, `probabilities` or `confidence` that vary",
    "tilt": "needs `features`, `probabilities` or `confidence` that vary",
    "confidence_tilt": "needs `probabilities`, `confidence` or `members`",
    "logit_noise": "needs `probabilities` (or `logits`) and `label`",
    "logit_temperature": "needs `probabilities` (or `logits`)",
    "groups": "needs `group` with at least two values of 20 rows",
    "periods": "needs `time` and at least 100 rows",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_lacking_is_named(family: str) -> None:
    simulation = create("simulation", family)
    assert simulation.why_not(BARE) == LACKING.get(family)
    assert simulation.why_not(POOL) is None
    if family in ("clusters", "tilt", "confidence_tilt", "groups", "periods", "logit_temperature"):
        assert simulation.draw(BARE, simulation.severities[0], np.random.default_rng(0)) is None


def test_one_class_or_one_value_cannot_be_shifted() -> None:
    one = Predictions.from_probabilities([[0.9, 0.1]] * 200, label=[0] * 200)
    assert create("simulation", "class_prior").why_not(one)
    assert create("simulation", "tilt").why_not(one)
    assert create("simulation", "clusters").why_not(one)
    alike = Predictions.from_arrays(
        correct=[1] * 200, features=np.zeros((200, 3)), group=["a"] * 200
    )
    for family in ("tilt", "clusters", "groups"):
        assert create("simulation", family).why_not(alike)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_thousand_classes(family: str) -> None:
    """Classes of a row or two cannot be given other shares; everything else goes on as usual."""
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.full(1000, 0.02), size=600)
    pool = Predictions.from_probabilities(
        probabilities, label=rng.integers(1000, size=600), time=DAYS[:600], group=np.arange(600) % 3
    )
    simulation = create("simulation", family)
    for severity in simulation.severities:
        drawn = simulation.draw(pool, severity, np.random.default_rng(0))
        assert drawn is None if family == "class_prior" else len(drawn) >= 20


def test_no_shift_draws_every_row_alike() -> None:
    counts = np.zeros(ROWS)
    for seed in range(300):
        counts[draw("none", 0.0, seed).columns["row"]] += 1
    assert counts.sum() == 300 * 400
    assert abs(counts - 100).max() < 5 * np.sqrt(100 * 2 / 3)
    assert abs(counts[:600].mean() - 100) < 2


def test_class_prior_keeps_what_a_class_looks_like() -> None:
    """P(x | y) stays: accuracy and mean feature of each class are, on average, those of the pool."""
    for k in range(4):
        own = POOL.take(POOL.label == k)
        deviations = []
        for seed in range(60):
            drawn = draw("class_prior", 1.0 if seed % 2 else 0.5, seed)
            mine = drawn.take(drawn.label == k)
            if len(mine) >= 10:
                deviations.append(
                    (mine.accuracy - own.accuracy, *(mine.features - own.features.mean(0)).mean(0))
                )
        spread = np.std(deviations, axis=0) / np.sqrt(len(deviations))
        assert (np.abs(np.mean(deviations, axis=0)) < 4 * spread).all()


def test_class_prior_at_its_strongest_is_one_class_for_nine_rows_in_ten() -> None:
    most = set()
    for seed in range(20):
        held = shares(draw("class_prior", 1.0, seed).label, 4)
        assert held.max() == pytest.approx(0.9, abs=0.01)
        most.add(int(held.argmax()))
    assert most == {0, 1, 2, 3}


def by_value(values: Any, verdicts: Any) -> Any:
    return np.array([verdicts[values == v].mean() for v in range(5)])


def test_tilt_and_clusters_keep_the_accuracy_of_like_rows() -> None:
    """P(y | x) stays: each of five values of x has its own accuracy, in every target the same on average."""
    rng = np.random.default_rng(701)
    x = rng.integers(5, size=6000)
    correct = rng.random(6000) < 0.5 + 0.1 * x
    pool = Predictions.from_arrays(
        correct=correct, features=x[:, None].astype(float), columns={"x": x}
    )
    for family, severity in (("tilt", 0.5), ("clusters", 0.5)):
        drawn = [draw(family, severity, seed, pool) for seed in range(20)]
        inside = np.nanmean([by_value(d.columns["x"], d.verdicts) for d in drawn], axis=0)
        assert inside == pytest.approx(by_value(x, pool.verdicts), abs=0.03)
        assert np.std([d.accuracy for d in drawn]) > 0.03, "while that of all rows moves"


def test_confidence_tilt_keeps_calibration() -> None:
    rng = np.random.default_rng(702)
    p = rng.random(9000)
    pool = Predictions.from_confidence(p, correct=rng.random(9000) < p)
    for severity in (-0.5, 0.5, 1.0):
        drawn = [draw("confidence_tilt", severity, seed, pool) for seed in range(8)]
        assert abs(np.mean([d.accuracy - d.confidence.mean() for d in drawn])) < 0.015
        assert abs(np.mean([d.accuracy for d in drawn]) - 0.5) > 0.1, "while accuracy moves"


def test_confidence_tilt_reads_the_agreement_of_members_where_there_is_no_confidence() -> None:
    bare = Predictions.from_arrays(members=POOL.members, label=POOL.label)
    agreement = [
        float((d.members == d.members[0]).mean())
        for d in (draw("confidence_tilt", s, 0, bare) for s in (-0.5, 1.0))
    ]
    assert agreement[0] > agreement[1]


def test_temperature_changes_confidence_as_the_formula_says_and_nothing_else() -> None:
    p = np.linspace(0.51, 0.99, 300)
    pool = Predictions.from_probabilities(
        np.column_stack([p, 1 - p]),
        label=[0, 1, 0] * 100,
        confidence=p,
        columns={"row": np.arange(300)},
    )
    for severity in (-0.5, -0.25, 0.25, 0.5):
        drawn = draw("logit_temperature", severity, 0, pool)
        same = pool.take(drawn.columns["row"])
        odds = (same.probabilities[:, 1] / same.probabilities[:, 0]) ** np.exp(-severity)
        assert drawn.probabilities[:, 0] == pytest.approx(1 / (1 + odds), abs=1e-6)
        assert (drawn.predicted == same.predicted).all()
        assert (drawn.verdicts == same.verdicts).all()
        assert drawn.confidence is None, "a stale confidence would contradict the probabilities"
    with_logits = draw("logit_temperature", 0.5, 0)
    same = POOL.take(with_logits.columns["row"])
    assert (with_logits.predicted == same.predicted).all()
    assert (with_logits.members == same.members).all()
    assert with_logits.logits is None


def test_noise_lowers_accuracy_more_than_confidence() -> None:
    falls, unseen = [], []
    for seed in range(10):
        drawn = draw("logit_noise", 1.0, seed)
        same = POOL.take(drawn.columns["row"])
        falls.append(same.accuracy - drawn.accuracy)
        unseen.append(falls[-1] - (confidence(same) - confidence(drawn)))
        assert drawn.probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert np.mean(falls) > 0.03
    assert np.mean(unseen) > 0.03


def test_noise_leaves_nothing_that_was_said_without_it() -> None:
    """`correct` of the clean predictions would hide the fall; votes and members speak of what is gone."""
    pool = replace(POOL, correct=POOL.verdicts, _cache={})
    drawn = draw("logit_noise", 1.0, 0, pool)
    assert drawn.accuracy == np.mean(drawn.label == drawn.probabilities.argmax(axis=1))
    assert drawn.accuracy < POOL.take(drawn.columns["row"]).accuracy
    assert set(drawn.fields) == {"label", "probabilities", "group", "time"}


def test_noise_takes_only_rows_whose_class_is_known() -> None:
    label = np.where(np.arange(ROWS) % 2, POOL.label, -1)
    pool = replace(POOL, label=label, correct=POOL.verdicts, _cache={})
    assert draw("logit_noise", 0.5, 0, pool).is_labelled
    unknown = replace(pool, label=np.full(ROWS, -1, dtype=np.int32), _cache={})
    assert create("simulation", "logit_noise").why_not(unknown)


def test_groups_and_periods_are_the_users_own() -> None:
    pool = replace(POOL, group=np.repeat(["a", "b", "c"], [600, 590, 10]).astype(object), _cache={})
    seen = set()
    for seed in range(20):
        whole = draw("groups", 1.0, seed, pool)
        (own,) = set(whole.group.tolist())
        seen.add(own)
        assert len(whole) == {"a": 600, "b": 590}[own]
        half = draw("groups", 0.5, seed, pool)
        assert max(np.mean(half.group == g) for g in "ab") == pytest.approx(0.5, abs=0.02)
    assert seen == {"a", "b"}, "a group of ten rows is none"
    mixed = np.random.default_rng(0).permutation(ROWS)
    for seed in range(10):
        drawn = draw("periods", 1.0, seed, POOL.take(mixed))
        rows = np.sort(drawn.columns["row"])
        assert len(rows) == 240
        assert rows[-1] - rows[0] == 239, "one stretch of time, whatever the order of rows"


def test_draw_by_shares_by_hand() -> None:
    """Rows of part -1 are never drawn, and parts are drawn in the shares that are asked for."""
    part = np.repeat([-1, 0, 2], [100, 300, 300])
    pool = Predictions.from_arrays(correct=[1] * 700, columns={"part": part})
    sizes = []
    for seed in range(50):
        drawn = draw_by_shares(pool, part, 1e6, np.random.default_rng(seed))
        sizes.append(np.bincount(drawn.columns["part"] + 1, minlength=4))
    assert np.mean(sizes, axis=0) == pytest.approx([0, 300, 0, 300], abs=2)
    assert draw_by_shares(pool, np.zeros(700, dtype=int), 1.0, np.random.default_rng(0)) is None


def test_draw_by_weight_prefers_heavy_rows() -> None:
    """Two kinds of rows with weights 1 and e: sampling without replacement, against numpy's own."""
    weight = np.repeat([0.0, 1.0], 300)
    pool = Predictions.from_arrays(correct=[1] * 600, columns={"heavy": weight})
    got, want = [], []
    for seed in range(60):
        drawn = draw_by_weight(pool, weight, np.random.default_rng(seed))
        got.append(drawn.columns["heavy"].mean())
        p = np.exp(weight) / np.exp(weight).sum()
        other = np.random.default_rng(1000 + seed).choice(600, len(drawn), replace=False, p=p)
        want.append(weight[other].mean())
    assert np.mean(got) == pytest.approx(np.mean(want), abs=0.015)


def test_coordinates_are_white_and_few() -> None:
    rng = np.random.default_rng(0)
    wide = Predictions.from_arrays(
        features=rng.normal(size=(500, 60)) * np.arange(1, 61), correct=[1] * 500
    )
    points = coordinates(wide)
    assert points.shape == (500, 20)
    assert points.std(axis=0) == pytest.approx(1)
    assert np.cov(points.T) == pytest.approx(np.eye(20) * 500 / 499, abs=1e-6)
    assert coordinates(BARE) is None


def test_a_plugin_simulation_is_tried_by_the_backtest() -> None:
    @register("simulation")
    class Firsts(Simulation):
        """The first rows of the pool."""

        name = "firsts"
        about = "the first rows"
        severities = (1.0,)

        def draw(self, pool: Predictions, severity: float, rng: np.random.Generator) -> Predictions:
            return pool.slice(0, 50)

    try:
        found = backtest(example_record(200), methods=["source", "ac"], repeats=2, cache=None)
        assert "firsts" in found.families
        assert [t.rows for t in found.trials if t.family == "firsts"] == [50, 50]
        assert any(r.family == "firsts" and r.method == "ac" for r in found.rows)
    finally:
        unregister("simulation", "firsts")


@pytest.mark.parametrize(
    ("rows", "columns", "count"), [(100, 1, 2), (400, 3, 10), (3000, 10, 10), (500, 20, 7)]
)
def test_clusters_are_those_of_sklearn(rows: int, columns: int, count: int) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(rows, columns)) + rng.integers(0, 4, size=(rows, 1))
        oracle = KMeans(count, n_init=1, max_iter=50, random_state=0).fit_predict(points)
        assert (k_means(points, count) == oracle).mean() > 0.999


def test_clusters_of_repeated_rows() -> None:
    points = np.repeat(np.array([[0.0], [1.0], [5.0]]), [50, 3, 1], axis=0)
    assert len(np.unique(k_means(points, 3))) == 3

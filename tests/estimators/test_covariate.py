"""Domain classifier, importance weighting, PAPE and Mandoline against known density ratios, loops and sklearn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from oodometer import Predictions
from oodometer.arrays import Array
from oodometer.errors import NotApplicable
from oodometer.estimators import CBPE, PAPE, ImportanceWeighting, Mandoline, SourceAccuracy
from oodometer.estimators.importance import log_linear_tilt, weighted_isotonic
from oodometer.inference.domain_classifier import (
    _ratio,
    area_under_curve,
    check_overlap,
    coarse_order,
    compare_domains,
    compare_samples,
    compared_once,
    domain_sample,
    effective_rows,
    fit_boosting,
    fit_logistic,
    narrow,
    principal_components,
    representation,
    weighted_accuracy,
)
from oodometer.intervals import wilson_from_variance
from oodometer.kernels import LOG_ODDS_BINS, log_odds_bin
from oodometer.testing import example_record

from ..snapshots import assert_snapshot, raises_snapshot


def normal(seed: int, rows: int, columns: int = 1, shift: float = 0.0) -> Array:
    x = np.random.default_rng([seed, 3]).standard_normal((rows, columns))
    x[:, 0] += shift
    return x


def tilted(seed: int, rows: int, shift: float = 0.0, labelled: bool = True) -> Predictions:
    """One feature; P(correct | x) = 1 / (1 + exp(-1 - x)) everywhere, so that only the density of x changes."""
    rng = np.random.default_rng([seed, 4])
    x = rng.standard_normal(rows) + shift
    right = rng.random(rows) < 1 / (1 + np.exp(-1 - x))
    confidence = 0.5 + 0.4 * rng.random(rows)  # says nothing
    return Predictions.from_arrays(
        features=x[:, None], confidence=confidence, correct=right if labelled else None
    )


@given(
    low=st.lists(st.integers(0, 4), min_size=1, max_size=12),
    high=st.lists(st.integers(0, 4), min_size=1, max_size=12),
)
def test_area_and_error_are_those_of_loops_and_sklearn(low: list[int], high: list[int]) -> None:
    area, error = area_under_curve(np.array(low, dtype=float), np.array(high, dtype=float))
    truth = [0] * len(low) + [1] * len(high)
    assert area == pytest.approx(roc_auc_score(truth, low + high))

    def win(h: int, w: int) -> float:
        return 1.0 if h > w else 0.5 if h == w else 0.0

    above = [sum(win(h, w) for w in low) / len(low) for h in high]
    below = [sum(win(h, w) for h in high) / len(high) for w in low]
    want = (0.5 / min(len(low), len(high))) ** 2
    for part in (above, below):
        mean = sum(part) / len(part)
        want += sum((v - mean) ** 2 for v in part) / len(part) / max(len(part) - 1, 1)
    assert error == pytest.approx(want**0.5)


def test_the_ratio_of_shifted_normals_is_found() -> None:
    """N(0.8, 1) over N(0, 1) is exp(0.8 x - 0.32)."""
    x = normal(1, 4000)
    found = compare_domains(x, normal(2, 3000, shift=0.8))
    true = 0.8 * x[:, 0] - 0.32
    near = np.abs(x[:, 0]) < 2
    assert np.abs(np.log(found.weights) - true)[near].max() < 0.25
    assert found.weights.mean() == pytest.approx(1)
    assert found.auc == pytest.approx(0.714, abs=0.02)  # Phi(0.8 / sqrt 2)
    assert found.effective_rows == pytest.approx(4000 / np.exp(0.64), rel=0.15)
    assert found.p_value < 1e-6


def test_the_ratio_does_not_depend_on_the_share_of_target_rows() -> None:
    """p / (1 - p) alone would be ten times too large; after scaling a constant factor is gone, its cut is not."""
    x = normal(1, 400)
    found = compare_domains(x, normal(2, 4000, shift=0.8))
    true = np.exp(0.8 * x[:, 0] - 0.32)
    assert np.corrcoef(np.log(found.weights), np.log(true))[0, 1] > 0.98
    assert found.weights.max() < 3 * true.max()


def test_a_change_of_spread_needs_squares() -> None:
    """N(0, 0.5) over N(0, 1): the ratio falls on either side, an AUC from a linear score would be 0.5."""
    x = normal(1, 1500)
    found = compare_domains(x, normal(2, 1500) * 0.5)
    assert found.auc > 0.6
    inner, outer = np.abs(x[:, 0]) < 0.5, np.abs(x[:, 0]) > 1.5
    assert found.weights[inner].mean() > 4 * found.weights[outer].mean()


def test_trees_are_chosen_where_lines_and_squares_see_nothing() -> None:
    a, b = normal(1, 3000, 2), normal(2, 3000, 2)
    b = b[b[:, 0] * b[:, 1] > 0]
    found = compare_domains(a, b)
    assert found.learner == "boosting"
    assert (
        found.weights[a[:, 0] * a[:, 1] > 0].mean()
        > 5 * found.weights[a[:, 0] * a[:, 1] < 0].mean()
    )


def test_rounded_confidences_that_did_not_move_are_not_called_shifted() -> None:
    """Equal rows were dealt out in turn: with 1,500 rows of two decimals a shift was found in 100 of 100."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sides = (Predictions.from_confidence(np.round(rng.beta(5, 1.5, 1500), 2)) for _ in range(2))
        found.append(compare_samples(*(domain_sample(one) for one in sides)))
    assert np.mean([f.p_value < 0.05 for f in found]) <= 0.15
    assert np.mean([f.learner == "boosting" for f in found]) < 0.1


def test_no_shift_is_rarely_called_one() -> None:
    found = [compare_domains(normal(2 * i, 80, 4), normal(2 * i + 1, 80, 4)) for i in range(100)]
    assert np.mean([f.p_value < 0.05 for f in found]) <= 0.11
    assert np.mean([f.auc for f in found]) == pytest.approx(0.5, abs=0.02)
    assert np.mean([f.learner == "none" for f in found]) > 0.6
    assert all(f.effective_rows > 72 for f in found if f.learner == "none"), (
        "nothing was learnt that moves much"
    )
    assert np.mean([f.effective_rows for f in found]) > 78


def test_odds_are_cut_after_they_are_scaled() -> None:
    """Cut before, odds of e^-20 to e^-10 would all be the smallest allowed: equal weights, a perfect effective size."""
    weights, mean = _ratio(np.linspace(-20, -10, 50))
    assert effective_rows(weights) < 12
    assert mean == pytest.approx(np.exp(np.linspace(-20, -10, 50)).mean())
    weights, _ = _ratio(np.linspace(-300, 300, 50))
    assert np.isfinite(weights).all()


@pytest.mark.parametrize("rows", [300, 1000])  # without and with trees
def test_without_overlap_nothing_is_covered(rows: int) -> None:
    """Trees give every reference row the same tiny odds: equal weights, but they cover nothing."""
    found = compare_domains(normal(1, rows, 2), normal(2, rows, 2, shift=9.0))
    assert found.auc > 0.999
    assert found.auc_error > 0
    assert found.covered < 0.1
    with raises_snapshot(NotApplicable):
        check_overlap(found.effective_rows, found.auc, found.covered)
    assert compare_domains(normal(1, rows), normal(2, rows, shift=1.0)).covered > 0.85


def test_columns_of_every_kind() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    wide = np.random.default_rng(1).standard_normal((50, 80))
    here, there = representation(
        {"features": wide, "probabilities": p}, {"features": wide[:20], "probabilities": p[:20]}
    )
    assert here.shape == (50, 50 + 3 + 1)
    assert there.shape == (20, 54)
    assert there[:, 50:] == pytest.approx(here[:20, 50:])
    assert here[:, 53] == pytest.approx(np.log(p.max(axis=1) / (1 - p.max(axis=1))))
    here, _ = representation(
        {"features": wide[:, :2], "confidence": p[:, 0]}, {"confidence": p[:, 1]}
    )
    assert here == pytest.approx(np.log(p[:, :1] / (1 - p[:, :1])))
    certain, _ = representation(
        {"confidence": np.array([0.0, 1.0])}, {"confidence": np.array([1.0])}
    )
    assert np.isfinite(certain).all()
    with raises_snapshot(NotApplicable):
        representation({"features": wide}, {"confidence": p[:, 0]})


def test_a_constant_column_does_no_harm() -> None:
    x = np.hstack([normal(1, 200), np.full((200, 1), 7.0)])
    assert np.isfinite(compare_domains(x, x + 0.0).weights).all()
    assert narrow(np.ones((30, 70))).shape == (30, 30)


@given(
    pairs=st.lists(st.tuples(st.floats(0.01, 9), st.integers(0, 1)), min_size=1, max_size=12),
    rows=st.integers(1, 50),
)
def test_weighted_accuracy_is_that_of_loops(pairs: list[tuple[float, int]], rows: int) -> None:
    total = sum(w for w, _ in pairs)
    v = sum(w * c for w, c in pairs) / total
    n = total**2 / sum(w * w for w, _ in pairs)
    variance = (
        sum(w * w * (c - v) ** 2 for w, c in pairs) / total**2 + 1 / n**2 + v * (1 - v) / rows
    )
    found = weighted_accuracy(
        np.array([w for w, _ in pairs]), np.array([c for _, c in pairs]), rows, 0.9
    )
    assert found == pytest.approx(
        (v, *wilson_from_variance(v, variance, min(n, rows), 0.9)), abs=1e-9
    )
    assert effective_rows(np.array([w for w, _ in pairs])) == pytest.approx(n)


def test_importance_follows_a_shift_that_the_source_misses() -> None:
    reference, target = tilted(1, 3000), tilted(2, 3000, shift=-1.0)
    found = ImportanceWeighting().fit(reference).estimate(target)
    assert abs(found.value - target.accuracy) < 0.04
    assert found.lower <= target.accuracy <= found.upper
    assert abs(reference.accuracy - target.accuracy) > 0.15
    assert found.details["effective_rows"] < 2500
    assert found.warnings == ()
    away = ImportanceWeighting().fit(reference).estimate(tilted(3, 3000, shift=1.0))
    assert away.value > reference.accuracy > found.value, (
        "weights point to the target, not away from it"
    )


def test_importance_and_pape_cover_under_covariate_shift() -> None:
    for cls in (ImportanceWeighting, PAPE):
        held = []
        for seed in range(40):
            reference, target = tilted(2 * seed + 10, 500), tilted(2 * seed + 11, 500, shift=-0.7)
            try:
                found = cls(level=0.9).fit(reference).estimate(target)
            except (
                NotApplicable
            ):  # one draw is on the edge of what is refused, and its folds decide
                continue
            held.append(found.lower <= target.accuracy <= found.upper)
        assert len(held) >= 38
        assert np.mean(held) >= 0.8, cls.name


def test_importance_says_nothing_new_where_the_truth_changed_alone() -> None:
    """The same inputs, other labels: the assumption fails, and the answer stays that of the source."""
    reference = tilted(1, 1000)
    target = Predictions.from_arrays(
        features=reference.features,
        confidence=reference.confidence,
        correct=np.zeros(1000, dtype=bool),
    )
    found = ImportanceWeighting().fit(reference).estimate(target)
    assert found.value == pytest.approx(
        SourceAccuracy().fit(reference).estimate(target).value, abs=1e-9
    )


def test_little_overlap_is_refused_or_warned_of() -> None:
    reference, fewer = tilted(1, 400), "needs 30 rows on both sides"
    for method, here, there, why in (
        (ImportanceWeighting(), reference, tilted(2, 400, shift=4.0), "the samples hardly overlap"),
        (ImportanceWeighting(), reference, tilted(2, 1), fewer),
        (PAPE(), reference.slice(0, 1), tilted(2, 400), fewer),
    ):
        with pytest.raises(NotApplicable, match=why):
            method.fit(here).estimate(there)
    with raises_snapshot(NotApplicable):
        check_overlap(29.9)
    assert len(check_overlap(99, 0.999, 0.4)) == 3
    assert check_overlap(100, 0.99) == ()


def test_fields_must_match() -> None:
    fitted = ImportanceWeighting().fit(tilted(1, 100))
    other = Predictions.from_arrays(features=np.zeros((50, 3)))
    assert_snapshot(fitted.why_not(other))
    alone = ImportanceWeighting().fit(
        Predictions.from_arrays(features=np.zeros((50, 3)), correct=[1] * 50)
    )
    why = alone.why_not(Predictions.from_confidence([0.5]))
    assert_snapshot(why)


@pytest.mark.parametrize("cls", [ImportanceWeighting, PAPE])
def test_edges(cls: Any) -> None:
    rng = np.random.default_rng(0)
    for classes, rows in ((2, 60), (1000, 300)):
        p = rng.dirichlet(np.ones(classes), 2 * rows)
        for correct in (np.ones(rows, dtype=bool), np.zeros(rows, dtype=bool)):
            reference = Predictions.from_arrays(probabilities=p[:rows], correct=correct)
            found = cls().fit(reference).estimate(Predictions.from_probabilities(p[rows:]))
            assert 0 <= found.lower <= found.value <= found.upper <= 1
            assert found.upper - found.lower > 0.005, "no errors seen is not certainty"


def test_comparison_of_samples_is_that_of_their_columns() -> None:
    reference, target = tilted(1, 200), tilted(2, 300, shift=1.0)
    a, b = domain_sample(reference, "verdicts"), domain_sample(target)
    found = compare_samples(a, b)
    # The folds follow the rows as the shared columns order them: weights are matched by the rows' values.
    shared = [domain_sample(reference), b]
    columns = [
        {k: s.arrays[k][coarse_order(s)] for k in ("features", "confidence")} for s in shared
    ]
    weights = compare_domains(*representation(*columns)).weights
    of_row = {
        row.tobytes(): weight for row, weight in zip(columns[0]["features"], weights, strict=True)
    }
    assert len(of_row) == 200
    assert found.weights == pytest.approx([of_row[row.tobytes()] for row in a["features"]])
    assert found.weights @ a["verdicts"] / 200 > reference.accuracy


@settings(max_examples=30)
@given(
    rows=st.lists(
        st.tuples(st.floats(0, 1), st.booleans(), st.floats(0.1, 5)), min_size=1, max_size=25
    )
)
def test_weighted_isotonic_is_that_of_sklearn(rows: list[tuple[float, bool, float]]) -> None:
    p, c, w = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    bins = log_odds_bin(p)
    rate, block = weighted_isotonic(bins, c, w)
    oracle = IsotonicRegression(out_of_bounds="clip").fit(bins, c, sample_weight=w)
    every = np.arange(LOG_ODDS_BINS)
    assert rate == pytest.approx(oracle.predict(every), abs=1e-6)
    assert (np.diff(rate) >= -1e-12).all()
    assert (np.diff(block) >= 0).all()


def region(seed: int, rows: int, share: float, labelled: bool = True) -> Predictions:
    """Where x = 1 the model is right half of the time whatever it says; where x = 0 its confidence is right."""
    rng = np.random.default_rng([seed, 9])
    x, p = rng.random(rows) < share, rng.uniform(0.5, 1, rows)
    right = rng.random(rows) < np.where(x, 0.5, p)
    return Predictions.from_arrays(features=x[:, None].astype(float), confidence=p, correct=right)


def test_pape_sees_the_region_that_cbpe_misses() -> None:
    reference, target = region(1, 4000, 0.3), region(2, 4000, 0.9)
    pape, cbpe = PAPE().fit(reference).estimate(target), CBPE().fit(reference).estimate(target)
    assert abs(pape.value - target.accuracy) < 0.03
    assert pape.lower <= target.accuracy <= pape.upper
    assert abs(cbpe.value - target.accuracy) > 0.08
    assert pape.details["calibration"] == "pooled"


def test_pape_without_shift_is_the_reference_or_its_confidence() -> None:
    reference = region(1, 2000, 0.0)
    found = PAPE().fit(reference).estimate(region(2, 2000, 0.0))
    assert found.details["calibration"] == "raw"
    assert found.value == pytest.approx(0.75, abs=0.01)
    assert found.details["effective_rows"] > 1900


def sliced(counts: dict[str, tuple[int, int]]) -> Predictions:
    """A reference from (correct, wrong) rows of each group."""
    group = [name for name, (a, b) in counts.items() for _ in range(a + b)]
    right = [c for a, b in counts.values() for c in [1] * a + [0] * b]
    return Predictions.from_arrays(correct=right, group=np.array(group, dtype=object))


def asked(groups: dict[str, int], **columns: Any) -> Predictions:
    group = [name for name, n in groups.items() for _ in range(n)]
    return Predictions.from_arrays(
        confidence=[0.5] * len(group), group=np.array(group, dtype=object), columns=columns
    )


def test_one_column_is_post_stratification() -> None:
    reference = sliced({"a": (40, 10), "b": (30, 30), "c": (5, 45)})
    found = Mandoline().fit(reference).estimate(asked({"a": 10, "b": 70, "c": 20}))
    assert found.value == pytest.approx(0.1 * 0.8 + 0.7 * 0.5 + 0.2 * 0.1, abs=2e-3)
    assert found.details["slices"] == ["group"]
    gone = Mandoline().fit(reference).estimate(asked({"a": 50, "b": 50}))
    assert gone.value == pytest.approx(0.65, abs=2e-3), (
        "a slice that the target lacks gets no weight"
    )
    same = Mandoline().fit(reference).estimate(asked({"a": 50, "b": 60, "c": 50}))
    assert same.value == pytest.approx(reference.accuracy)
    assert same.details["effective_rows"] == pytest.approx(160)


def test_two_columns_are_raked() -> None:
    """Iterative proportional fitting to the target's margins, an independent way to the same maximum entropy."""
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 3, 900), rng.integers(0, 2, 900)
    right = rng.random(900) < 0.3 + 0.2 * a + 0.1 * b
    ta, tb = rng.choice(3, 500, p=[0.1, 0.2, 0.7]), rng.choice(2, 500, p=[0.8, 0.2])
    reference = Predictions.from_arrays(correct=right, columns={"a": a, "b": b})
    target = Predictions.from_arrays(confidence=np.full(500, 0.5), columns={"a": ta, "b": tb})
    w = np.ones(900)
    for _ in range(200):
        for own, their, k in ((a, ta, 3), (b, tb, 2)):
            goal = np.bincount(their, minlength=k) / 500
            w *= (goal / (np.bincount(own, weights=w, minlength=k) / w.sum()))[own]
    found = Mandoline().fit(reference).estimate(target)
    assert found.value == pytest.approx(w @ right / w.sum(), abs=2e-3)
    assert found.details["effective_rows"] == pytest.approx(w.sum() ** 2 / (w @ w), rel=0.01)


@given(rows=st.lists(st.integers(1, 50), min_size=2, max_size=6), data=st.data())
def test_the_tilt_matches_the_frequencies(rows: list[int], data: st.DataObject) -> None:
    there = data.draw(st.lists(st.integers(1, 50), min_size=len(rows), max_size=len(rows)))
    means = np.array(there) / sum(there)
    weight = np.array(rows) * np.exp(log_linear_tilt(np.eye(len(rows)), np.array(rows), means))
    assert weight / weight.sum() == pytest.approx(means, abs=2e-3)


def test_values_that_the_reference_never_had() -> None:
    reference = sliced({"a": (40, 10), "b": (20, 30)})
    found = Mandoline().fit(reference).estimate(asked({"a": 30, "b": 30, "new": 40}))
    assert found.value == pytest.approx(0.5 * 0.8 + 0.5 * 0.4, abs=2e-3)
    assert_snapshot(found.warnings)
    assert found.details["share_unseen"] == {"group": 0.4}
    with raises_snapshot(NotApplicable):
        Mandoline().fit(reference).estimate(asked({"a": 40, "new": 60}))


def test_slices_are_columns_of_few_values() -> None:
    right = np.arange(100) % 2
    columns = {
        "many": np.arange(100),
        "one": np.ones(100),
        "few": np.arange(100) % 4,
        "pair": np.zeros((100, 2)),
    }
    reference = Predictions.from_arrays(correct=right, columns=columns)
    fitted = Mandoline().fit(reference)
    as_text = {"few": np.array([f"{k}.0" for k in (0, 2, 2, 2)], dtype=object)}
    found = fitted.estimate(Predictions.from_arrays(confidence=[0.5] * 4, columns=as_text))
    assert found.details["slices"] == ["few"]
    assert found.value == pytest.approx(0, abs=2e-3), "2, 2.0 and '2.0' are one value"
    assert fitted.why_not(reference.without_labels()) is None
    assert_snapshot(fitted.why_not(asked({"a": 2})))
    with raises_snapshot(NotApplicable):
        Mandoline().fit(Predictions.from_arrays(correct=right, columns={"one": np.ones(100)}))


def test_slices_that_no_weights_can_match_are_warned_of() -> None:
    """On the reference a and b are always equal; on the target they never are."""
    a = np.arange(200) % 2
    reference = Predictions.from_arrays(correct=a, columns={"a": a, "b": a})
    target = Predictions.from_arrays(
        confidence=np.full(100, 0.5),
        columns={"a": np.zeros(100, dtype=int), "b": np.ones(100, dtype=int)},
    )
    found = Mandoline().fit(reference).estimate(target)
    assert found.value == pytest.approx(0.5)
    assert_snapshot(found.warnings)


def test_many_slices_take_the_other_road() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 20, (600, 4))
    cells = np.hstack([np.eye(20)[codes[:, j]] for j in range(4)])
    weights = rng.random(600) + 0.5
    goal = weights @ cells / weights.sum()
    tilt = np.exp(log_linear_tilt(cells, np.ones(600, dtype=int), goal))
    assert tilt @ cells / tilt.sum() == pytest.approx(goal, abs=2e-3)


def test_missing_values_are_a_slice() -> None:
    group = np.array(["a", None] * 50, dtype=object)
    reference = Predictions.from_arrays(correct=[1, 0] * 50, group=group)
    found = (
        Mandoline()
        .fit(reference)
        .estimate(Predictions.from_arrays(confidence=[0.5] * 100, group=group))
    )
    assert found.value == pytest.approx(0.5)


def test_a_shift_onto_few_rows_is_refused() -> None:
    reference = sliced({"common": (80, 20), "rare": (2, 2)})
    with raises_snapshot(NotApplicable):
        Mandoline().fit(reference).estimate(asked({"rare": 1000}))


def test_mandoline_covers_under_a_shift_of_slices() -> None:
    held = []
    accuracy = np.array([0.95, 0.7, 0.4])
    for seed in range(100):
        rng = np.random.default_rng([seed, 8])
        here, there = rng.choice(3, 300, p=[0.6, 0.3, 0.1]), rng.choice(3, 300, p=[0.2, 0.3, 0.5])
        right, truth = rng.random(300) < accuracy[here], rng.random(300) < accuracy[there]
        reference = Predictions.from_arrays(correct=right, group=here.astype(object))
        target = Predictions.from_arrays(confidence=np.full(300, 0.5), group=there.astype(object))
        found = Mandoline(level=0.9).fit(reference).estimate(target)
        held.append(found.lower <= truth.mean() <= found.upper)
    assert np.mean(held) >= 0.85


def case(seed: int, rows: int, columns: int, distinct: int, strength: float) -> tuple[Array, Array]:
    """Standardised columns, some of a few values and one the mirror of another, and two classes they tell apart."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    x[:, ::2] = rng.integers(0, distinct, size=x[:, ::2].shape)
    x[:, -1] = -x[:, 0]
    y = (strength * x[:, 0] + rng.logistic(size=rows) > strength * np.median(x[:, 0])).astype(int)
    y[:2] = 0, 1
    return (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12), y


cases = st.builds(
    case,
    seed=st.integers(0, 10_000),
    rows=st.integers(60, 400),
    columns=st.integers(1, 6),
    distinct=st.integers(2, 90),
    strength=st.floats(0, 5),
)


@settings(max_examples=25, deadline=None)
@given(one=cases, c=st.sampled_from([1.0, 0.01]))
def test_logistic_regression_is_that_of_sklearn(one: tuple[Array, Array], c: float) -> None:
    x, y = one
    both = np.hstack([x, np.square(x)])
    oracle = LogisticRegression(C=c, solver="newton-cholesky").fit(both, y).decision_function(both)
    assert fit_logistic(both, y, c)(both) == pytest.approx(oracle, abs=1e-6)


def test_logistic_regression_of_separated_classes_is_finite() -> None:
    x = np.concatenate([np.linspace(-5, -4, 50), np.linspace(4, 5, 50)])[:, None]
    y = np.repeat([0, 1], 50)
    oracle = LogisticRegression(C=1.0, solver="newton-cholesky").fit(x, y).decision_function(x)
    assert fit_logistic(x, y, 1.0)(x) == pytest.approx(oracle, abs=1e-6)


@settings(max_examples=15, deadline=None)
@given(one=cases)
def test_boosting_is_that_of_sklearn(one: tuple[Array, Array]) -> None:
    x, y = one
    model = HistGradientBoostingClassifier(
        max_iter=50, max_depth=3, max_bins=64, early_stopping=False
    )
    other = x[::-1] * 0.9
    assert fit_boosting(x, y)(other) == pytest.approx(
        model.fit(x, y).decision_function(other), abs=1e-6
    )


@pytest.mark.parametrize("shape", [(300, 70), (55, 120)])
def test_principal_components_are_those_of_sklearn(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape) * np.linspace(3, 0.1, shape[1])
    x -= x.mean(axis=0)
    oracle = PCA(40, svd_solver="randomized", iterated_power=1, random_state=0).fit_transform(x)
    assert principal_components(x, 40) == pytest.approx(oracle, abs=1e-6)


def test_a_comparison_is_shared_and_does_not_depend_on_what_else_is_sampled() -> None:
    reference, target = example_record(), example_record(seed=5)
    plain, more = domain_sample(reference), domain_sample(reference, "verdicts")
    there = domain_sample(target)
    alone = compare_samples(plain, there)
    with compared_once():
        first, second = compare_samples(plain, there), compare_samples(more, there)
    assert first.auc == second.auc == alone.auc
    assert first.weights == pytest.approx(alone.weights)
    by_row = {}
    for sample, found in ((plain, first), (more, second)):
        rows = [tuple(row) for row in sample["probabilities"].tolist()]
        by_row[len(by_row)] = sorted(zip(rows, found.weights.tolist(), strict=True))
    assert by_row[0] == by_row[1]

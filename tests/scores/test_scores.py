"""Scores against scipy, scikit-learn and plain loops, at the edges of their range, and in batches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions, registry
from oodometer.arrays import Ragged
from oodometer.calibrators import Isotonic, Temperature
from oodometer.errors import NotApplicable
from oodometer.scores import (
    Energy,
    Margin,
    MaxProbability,
    ModelAgreement,
    NegativeEntropy,
    NeighborDistance,
    SequenceMeanProbability,
    SequenceMinProbability,
    SequenceProbability,
    ViewAgreement,
    VoteShare,
    energy,
    margin,
    max_probability,
    natural_confidence,
    negative_entropy,
)
from oodometer.scores.agreement import copies_of_base
from oodometer.scores.base import lacking
from oodometer.testing import example_record

from ..snapshots import raises_snapshot

SHAPES = [(k, dtype) for k in (2, 10, 64, 65, 100) for dtype in (np.float32, np.float64)]


def probabilities(classes: int, dtype: Any, rows: int = 200) -> Any:
    """Random rows, then certain ones, ties of two, and a tie of all."""
    p = np.random.default_rng(classes).dirichlet(np.full(classes, 0.5), rows)
    p[0] = 0
    p[0, classes // 2] = 1
    p[1] = 1 / classes
    p[2] = 0
    p[2, [0, -1]] = 0.5
    return p.astype(dtype)


@pytest.mark.parametrize(("classes", "dtype"), SHAPES)
def test_scores_of_a_distribution(classes: int, dtype: Any) -> None:
    p = probabilities(classes, dtype)
    atol = 1e-5 if dtype is np.float32 else 1e-12
    ordered = np.sort(p, axis=1)
    assert max_probability(p).tolist() == ordered[:, -1].tolist()
    assert margin(p).tolist() == (ordered[:, -1] - ordered[:, -2]).tolist()
    np.testing.assert_allclose(
        negative_entropy(p), -scipy.stats.entropy(p.astype(np.float64), axis=1), atol=atol
    )
    for found in (max_probability(p), margin(p), negative_entropy(p)):
        assert found.dtype == dtype
        assert found.shape == (len(p),)


@pytest.mark.parametrize(("classes", "dtype"), SHAPES)
def test_energy_is_logsumexp(classes: int, dtype: Any) -> None:
    z = (np.random.default_rng(classes).standard_normal((200, classes)) * 20).astype(dtype)
    z[0] = 0
    z[1] = -80
    z[2] = 80
    z[3, 0] = -3e4 if dtype is np.float32 else -1e300
    want = scipy.special.logsumexp(z.astype(np.float64), axis=1)
    np.testing.assert_allclose(energy(z), want, rtol=1e-6, atol=1e-5)
    assert energy(z)[0] == pytest.approx(math.log(classes), rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entropy_by_hand(dtype: Any) -> None:
    """Two halves: -log 2; certainty: 0 exactly, from below; four quarters: -log 4. Never above 0."""
    p = np.array([[0.5, 0.5, 0, 0], [1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]], dtype=dtype)
    got = negative_entropy(p)
    np.testing.assert_allclose(got, [-math.log(2), 0, -math.log(4)], rtol=1e-6)
    assert got[1] == 0
    assert (got <= 0).all()


@given(row=st.lists(st.floats(0, 1), min_size=2, max_size=12).filter(lambda r: sum(r) > 1e-3))
def test_bounds_of_entropy_and_margin(row: list[float]) -> None:
    p = np.array([row]) / sum(row)
    assert -math.log(len(row)) - 1e-9 <= negative_entropy(p)[0] <= 0
    assert 0 <= margin(p)[0] <= max_probability(p)[0]
    assert max_probability(p)[0] >= 1 / len(row) - 1e-12


def test_a_sharper_distribution_scores_higher() -> None:
    """All four point the same way: more concentrated is more likely correct."""
    z = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0], [9.0, 0.0, 0.0]])
    record = Predictions.from_logits(z)
    for score in (MaxProbability(), Margin(), NegativeEntropy(), Energy()):
        assert (np.diff(score(record)) > 0).all(), score.name


def test_energy_looks_at_logits_and_not_at_their_softmax() -> None:
    """A shift of all logits changes energy by the shift and nothing else."""
    z = np.array([[1.0, 2.0], [0.0, -1.0]])
    a, b = Predictions.from_logits(z), Predictions.from_logits(z + 5)
    np.testing.assert_allclose(Energy()(b) - Energy()(a), 5)
    np.testing.assert_allclose(MaxProbability()(b), MaxProbability()(a))
    logs = Predictions.from_logits(np.log([[0.9, 0.1], [0.4, 0.6]]))
    np.testing.assert_allclose(Energy()(logs), 0, atol=1e-12)


@pytest.mark.parametrize("name", registry.names("score"))
def test_a_score_that_lacks_its_fields_says_which(name: str) -> None:
    score = registry.create("score", name)
    record = Predictions.from_arrays(input=np.array(["a"], dtype=object))
    first = score.needs[0].split("|")[0]
    assert f"needs `{first}`" in score.why_not(record)
    with raises_snapshot(NotApplicable):
        score(record)


def test_reasons_name_all_that_is_missing() -> None:
    record = Predictions.from_arrays(confidence=[0.5], votes=[[1]])
    assert lacking(("views", "prediction|probabilities"), record) == (
        "needs `views` and `prediction` or `probabilities`; there are only confidence, votes"
    )
    assert lacking((), record) is None
    nothing = Predictions.from_arrays(input=np.array(["a"], dtype=object))
    assert lacking(("views",), nothing) == "needs `views`; there are only input"


def test_the_natural_confidence_of_a_record() -> None:
    tokens = {"token_logprobs": [[-1.0]]}
    for fields, name in (
        ({"probabilities": [[0.6, 0.4]], "confidence": [0.9], **tokens}, "max_probability"),
        ({"logits": [[0.6, 0.4]]}, "max_probability"),
        ({"confidence": [0.9], **tokens}, "confidence"),
        (tokens, "sequence_probability"),
    ):
        assert natural_confidence(Predictions.from_arrays(**fields)).name == name
    with raises_snapshot(NotApplicable):
        natural_confidence(Predictions.from_classes([0, 1]))


def test_after_calibration_it_is_the_confidence_in_the_predicted_class() -> None:
    """Class 1 is predicted with 0.9 and right in 30 % of cases: calibrated, the confidence is 0.3 and not 0.7."""
    p = [[0.1, 0.9]] * 300 + [[0.8, 0.2]] * 300
    record = Predictions.from_probabilities(p, label=[0] * 210 + [1] * 90 + [0] * 300)
    cured = Isotonic().fit(record)(record)
    assert cured.predicted.tolist() == [1] * 300 + [0] * 300
    np.testing.assert_allclose(MaxProbability()(cured)[:300], 0.3, atol=1e-6)
    assert MaxProbability()(cured).mean() == pytest.approx(record.accuracy, abs=1e-6)


def test_a_temperature_does_not_move_the_argmax() -> None:
    record = example_record(200, seed=5)
    cured = Temperature().fit(record)(record)
    np.testing.assert_allclose(MaxProbability()(cured), cured.probabilities.max(axis=1))
    np.testing.assert_allclose(
        Margin()(cured), np.diff(np.sort(cured.probabilities, axis=1))[:, -1]
    )


@given(data=st.data())
def test_shares_are_those_of_loops(data: st.DataObject) -> None:
    rows, models = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    classes = st.integers(0, 2)
    base = data.draw(st.lists(classes, min_size=rows, max_size=rows))
    others = [data.draw(st.lists(classes, min_size=rows, max_size=rows)) for _ in range(models)]
    votes = [
        data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)) for _ in range(models)
    ]
    record = Predictions.from_arrays(
        prediction=base, members=others, views=others, votes=votes, classes=[0, 1, 2]
    )
    agree = [sum(o[i] == base[i] for o in others) / models for i in range(rows)]
    assert ModelAgreement()(record).tolist() == pytest.approx(agree)
    assert ViewAgreement()(record).tolist() == pytest.approx(agree)
    assert VoteShare()(record).tolist() == pytest.approx(
        [sum(v[i] for v in votes) / models for i in range(rows)]
    )


def test_agreement_is_with_the_judged_model_not_with_the_majority() -> None:
    record = Predictions.from_arrays(
        prediction=[0, 0], members=[[1, 0], [1, 1], [1, 1]], views=[[1, 0], [1, 1], [1, 1]]
    )
    assert ModelAgreement()(record).tolist() == pytest.approx([0, 1 / 3])
    assert ViewAgreement()(record).tolist() == pytest.approx([0, 1 / 3])


def test_without_a_prediction_the_first_member_is_compared_with_the_others() -> None:
    record = Predictions.from_arrays(members=[[0, 1, 1], [0, 0, 1], [1, 1, 1]])
    assert ModelAgreement()(record).tolist() == [0.5, 0.5, 1.0]
    alone = Predictions.from_arrays(members=[[0, 1, 1]])
    with raises_snapshot(NotApplicable):
        ModelAgreement()(alone)


def members_with_copy(rows: int) -> Predictions:
    """Three members, the middle one is the judged model itself."""
    rng = np.random.default_rng(rows)
    base, first, last = rng.integers(0, 3, (3, rows))
    base[:3] = first[:3] = last[:3] = [0, 1, 2]
    return Predictions.from_arrays(prediction=base, members=[first, base, last], label=base)


def test_a_member_that_is_the_judged_model_does_not_vote() -> None:
    record = members_with_copy(60)
    assert copies_of_base(record).tolist() == [False, True, False]
    want = np.mean(record.members[[0, 2]] == record.predicted, axis=0)
    np.testing.assert_allclose(ModelAgreement().fit(record)(record), want)


def test_a_copy_is_told_on_the_reference_and_left_out_on_the_target() -> None:
    """On three target rows every model may agree; which is the copy was learnt from the reference."""
    fitted = ModelAgreement().fit(members_with_copy(60))
    target = Predictions.from_arrays(
        prediction=[0, 1, 1], members=[[1, 0, 0], [0, 1, 1], [0, 1, 1]]
    )
    assert fitted(target).tolist() == [0.5, 0.5, 0.5]
    bare = ModelAgreement()(target)
    np.testing.assert_allclose(bare, 2 / 3, err_msg="three rows prove no copy")


def test_a_few_rows_of_full_agreement_make_no_copy() -> None:
    assert copies_of_base(members_with_copy(49)).tolist() == [False, False, False]
    assert copies_of_base(members_with_copy(50)).tolist() == [False, True, False]


def test_another_number_of_members_is_refused() -> None:
    fitted = ModelAgreement().fit(members_with_copy(60))
    target = Predictions.from_arrays(prediction=[0, 1], members=[[1, 0], [0, 1]])
    assert fitted.why_not(target) == "needs the 3 members of the reference; there are 2"
    with raises_snapshot(NotApplicable):
        fitted(target)


@given(rows=st.lists(st.lists(st.floats(-30, 0), max_size=5), min_size=1, max_size=6))
def test_sequence_scores_are_those_of_loops(rows: list[list[float]]) -> None:
    record = Predictions.from_arrays(token_logprobs=rows)
    # an empty output is the least sure, not the surest
    assert SequenceProbability()(record).tolist() == pytest.approx(
        [math.exp(math.fsum(r)) if r else 0 for r in rows]
    )
    means = [math.exp(math.fsum(r) / len(r)) if r else 0 for r in rows]
    assert SequenceMeanProbability()(record).tolist() == pytest.approx(means)
    assert SequenceMinProbability()(record).tolist() == pytest.approx(
        [math.exp(min(r)) if r else 0 for r in rows]
    )


def test_tokens_of_probability_0_and_1() -> None:
    """The logarithm of 1 may be rounded above 0; that of 0 is minus infinity and harms no other row."""
    record = Predictions.from_arrays(
        token_logprobs=Ragged.from_rows([[1e-7, 0.0], [-np.inf, -1.0], [math.log(0.5)]])
    )
    assert SequenceProbability()(record).tolist() == pytest.approx([1.0, 0.0, 0.5])
    assert SequenceProbability()(record).max() <= 1


def slow_distances(reference: Any, target: Any, neighbors: int = 25) -> list[float]:
    """Minus the mean of the smallest Euclidean distances, pair by pair."""
    out = []
    for x in target:
        near = sorted(math.dist(x, y) for y in reference)[:neighbors]
        out.append(-sum(near) / len(near))
    return out


@pytest.mark.parametrize("width", [1, 3, 40])
@pytest.mark.parametrize("rows", [1, 5, 25, 60])
def test_neighbour_distance_is_that_of_a_loop(width: int, rows: int) -> None:
    rng = np.random.default_rng([width, rows])
    reference, target = rng.standard_normal((rows, width)), rng.standard_normal((12, width)) + 1
    score = NeighborDistance().fit(Predictions.from_arrays(features=reference))
    got = score(Predictions.from_arrays(features=target))
    np.testing.assert_allclose(got, slow_distances(reference.tolist(), target.tolist()), rtol=1e-9)


def test_neighbour_distance_is_that_of_scikit_learn() -> None:
    from sklearn.neighbors import NearestNeighbors

    rng = np.random.default_rng(1)
    reference, target = rng.standard_normal((500, 20)), rng.standard_normal((300, 20))
    near, _ = NearestNeighbors(n_neighbors=25, algorithm="brute").fit(reference).kneighbors(target)
    score = NeighborDistance().fit(Predictions.from_arrays(features=reference))
    np.testing.assert_allclose(score(Predictions.from_arrays(features=target)), -near.mean(axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [2, 64, 300])
@pytest.mark.parametrize("shift", [0.0, 20.0])
def test_a_reference_row_is_not_its_own_neighbour(width: int, dtype: Any, shift: float) -> None:
    """With many features distances come from a matrix product, and a row's distance to itself is not exactly 0."""
    rng = np.random.default_rng(width)
    features = (rng.standard_normal((80, width)) + shift).astype(dtype)
    record = Predictions.from_arrays(features=features)
    got = NeighborDistance().fit(record).leave_one_out(record)
    rows = features.tolist()
    want = [slow_distances(rows[:i] + rows[i + 1 :], [rows[i]])[0] for i in range(80)]
    np.testing.assert_allclose(got, want, rtol=1e-4)


def test_duplicates_are_neighbours_but_a_row_itself_is_not() -> None:
    record = Predictions.from_arrays(features=[[0.0], [0.0], [3.0]])
    score = NeighborDistance().fit(record)
    assert score.leave_one_out(record).tolist() == pytest.approx([-1.5, -1.5, -3.0])
    assert score(record).tolist() == pytest.approx([-1.0, -1.0, -2.0])


def test_the_rows_of_a_large_reference_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    import oodometer.scores.neighbor_distance as module

    monkeypatch.setattr(module, "_LARGEST_REFERENCE", 100)
    features = np.random.default_rng(0).standard_normal((400, 2))
    record = Predictions.from_arrays(features=features)
    score = NeighborDistance().fit(record)
    assert len(score._index) == 100
    own = score.leave_one_out(record)
    assert np.isfinite(own).all()
    kept = {tuple(row) for row in score._index._tree.data.tolist()}
    assert score._neighbors == 7  # the share that 25 of 400 rows have, and no fewer
    for i in (0, 1, 2, 3, 50, 399):
        rest = [row for row in kept if row != tuple(features[i].tolist())]
        assert own[i] == pytest.approx(slow_distances(rest, [features[i].tolist()], 7)[0])


@pytest.mark.parametrize(
    ("rows", "neighbors"), [(10, 10), (300, 25), (4_000, 25), (8_000, 13), (30_000, 5)]
)
def test_a_sample_of_the_reference_has_as_many_neighbours_as_its_share(
    rows: int, neighbors: int
) -> None:
    """A row's region is as large as in the whole reference, so its mean distance hardly depends on the thinning."""
    features = np.random.default_rng(rows).standard_normal((rows, 2))
    score = NeighborDistance().fit(Predictions.from_arrays(features=features))
    assert score._neighbors == neighbors
    target = np.random.default_rng(1).standard_normal((40, 2))
    whole = slow_distances(features.tolist(), target.tolist(), max(25, round(25 * rows / 20_000)))
    assert score(Predictions.from_arrays(features=target)).mean() == pytest.approx(
        np.mean(whole), rel=0.2
    )


def test_neighbours_need_a_fit_and_as_many_features() -> None:
    target = Predictions.from_arrays(features=[[0.0, 1.0]])
    with raises_snapshot(NotApplicable):
        NeighborDistance()(target)
    with raises_snapshot(NotApplicable):
        NeighborDistance().fit(Predictions.from_classes([0]))(target)
    fitted = NeighborDistance().fit(Predictions.from_arrays(features=[[0.0], [1.0]]))
    assert fitted.why_not(target) == "needs features of 1 numbers as in the reference, got 2"
    with raises_snapshot(NotApplicable):
        fitted(target)


def test_other_scores_are_the_same_on_the_reference_itself() -> None:
    record = example_record(100)
    for name in registry.names("score"):
        if name != "neighbor_distance":
            score = registry.create("score", name).fit(record)
            assert score.leave_one_out(record).tolist() == score(record).tolist()

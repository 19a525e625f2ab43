"""Rankers against numpy, scipy, scikit-learn and loops; what they all obey; orders and how firm they are."""

from __future__ import annotations

import inspect
import json
from typing import Any

import numpy as np
import pytest
import scipy.special
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions, registry
from oodometer.accuracy_proxies import (
    Dispersion,
    MaNo,
    MetaDistributionEnergy,
    NuclearNorm,
    SoftmaxCorrelation,
    dispersion,
    nuclear_norm,
    rank_models,
    softmax_correlation,
    taylor_softmax,
)
from oodometer.arrays import softmax
from oodometer.citations import BIBTEX
from oodometer.errors import NotApplicable, UsageError
from oodometer.testing import example_record

from ..snapshots import raises_snapshot

NAMES = registry.names("ranker")


def hard(difficulty: float, rows: int = 1500, seed: int = 2) -> Predictions:
    """A record on which every ranker should be right: more noise, less confidence, classes of features nearer."""
    record = example_record(rows, seed=seed, difficulty=difficulty)
    features = record.features / (1 + difficulty**2)
    return Predictions.from_arrays(logits=record.logits, features=features, label=record.label)


def logits_of(rows: int, classes: int, seed: int = 0, scale: float = 2.0) -> Any:
    return scale * np.random.default_rng([seed, rows, classes]).standard_normal((rows, classes))


@pytest.mark.parametrize(
    ("rows", "classes"), [(1, 2), (3, 7), (200, 2), (200, 10), (40, 40), (150, 300)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nuclear_norm_is_that_of_the_singular_values(rows: int, classes: int, dtype: Any) -> None:
    p = softmax(logits_of(rows, classes)).astype(dtype)
    want = np.linalg.svd(p.astype(float), compute_uv=False).sum() / np.sqrt(
        min(rows, classes) * rows
    )
    assert NuclearNorm().score(Predictions.from_probabilities(p)) == pytest.approx(want, rel=1e-6)


def test_nuclear_norm_of_few_rows_is_free_of_the_rounding_of_empty_directions() -> None:
    p = softmax(logits_of(5, 800))
    want = np.linalg.svd(p, compute_uv=False).sum() / 5
    assert NuclearNorm().score(Predictions.from_probabilities(p)) == pytest.approx(want, rel=1e-9)


def test_nuclear_norm_by_hand() -> None:
    """Certain and even: 1. Certain of one class: sqrt(1/K). Undecided: the same, there is one direction alone."""
    assert NuclearNorm().score(
        Predictions.from_probabilities(np.eye(4)[np.arange(40) % 4])
    ) == pytest.approx(1)
    one = Predictions.from_probabilities(np.eye(4)[np.zeros(40, dtype=int)])
    assert NuclearNorm().score(one) == pytest.approx(0.5)
    flat = Predictions.from_probabilities(np.full((40, 4), 0.25))
    assert NuclearNorm().score(flat) == pytest.approx(0.25)
    assert nuclear_norm(np.diag([9.0, 4.0]), 13) == pytest.approx(5 / np.sqrt(26))


@given(
    seed=st.integers(0, 10**6),
    scale=st.floats(0.1, 6),
    rows=st.integers(1, 30),
    classes=st.integers(2, 8),
)
def test_mano_is_that_of_loops(seed: int, scale: float, rows: int, classes: int) -> None:
    z = logits_of(rows, classes, seed, scale)
    record = Predictions.from_logits(z)
    plain = scipy.special.softmax(z, axis=1)
    taylor = np.array(
        [[(1 + v + v**2 / 2) / sum(1 + w + w**2 / 2 for w in row) for v in row] for row in z]
    )
    np.testing.assert_allclose(taylor_softmax(z), taylor)
    want = {k: np.mean(s**4) ** 0.25 for k, s in (("softmax", plain), ("taylor", taylor))}
    surprise = -scipy.special.log_softmax(z, axis=1).mean()
    chosen = "softmax" if surprise > 5 else "taylor"
    assert MaNo().score(record) == pytest.approx(want[chosen])
    assert MaNo(normalization="softmax").score(record) == pytest.approx(want["softmax"])
    assert MaNo(normalization="taylor").score(record) == pytest.approx(want["taylor"])
    assert 0 < MaNo().score(record) <= 1


def test_mano_chooses_the_normalisation_by_its_criterion() -> None:
    sure, unsure = (
        np.array([[20.0, 0.0], [0.0, 20.0]]),
        np.array([[8.0, 0.0], [0.0, 8.0]]),
    )  # 10 and 4 on average
    assert MaNo().score(Predictions.from_logits(sure)) == pytest.approx(0.5**0.25)
    v = 1 + 8 + 32
    want = ((v**4 + 1) / (v + 1) ** 4 / 2) ** 0.25
    assert MaNo().score(Predictions.from_logits(unsure)) == pytest.approx(want)


def test_mano_of_probabilities_alone_takes_them_as_they_are() -> None:
    p = softmax(logits_of(50, 3))
    want = np.mean(p**4) ** 0.25
    assert MaNo().score(Predictions.from_probabilities(p)) == pytest.approx(want)
    assert MaNo().score(Predictions.from_probabilities([[1.0, 0.0]])) == pytest.approx(0.5**0.25)
    with raises_snapshot(NotApplicable):
        MaNo(normalization="taylor").score(Predictions.from_probabilities(p))
    with pytest.raises(UsageError, match="normalization"):
        MaNo(normalization="soft")


def answers(accuracy: float, sizes: tuple[float, ...], seed: int, rows: int = 1000) -> Predictions:
    """Logits of ten classes, 3 more for the class that is predicted; each share of the rows has its own size."""
    rng = np.random.default_rng([seed, 5])
    label = np.arange(rows) % 10
    said = np.where(rng.random(rows) < accuracy, label, (label + rng.integers(1, 10, rows)) % 10)
    z = rng.standard_normal((rows, 10)) + 3 * np.eye(10)[said]
    return Predictions.from_logits(z * np.resize(np.repeat(sizes, 10), rows)[:, None], label=label)


def test_a_ranking_by_mano_has_one_normalisation() -> None:
    """The wrong model is sure on half of the rows and knows nothing on the others: its criterion lies above 5 and its
    number below that of the others under either normalisation, but softmax's numbers are larger than Taylor's.
    """
    records = {
        "right": answers(1.0, (1.6,), 1),
        "middle": answers(0.7, (1.55,), 2),
        "wrong": answers(0.1, (3.5, 0.1), 3),
    }
    criteria = [-scipy.special.log_softmax(r.logits, axis=1).mean() for r in records.values()]
    assert criteria[0] < 5 < criteria[2]
    assert records["wrong"].accuracy < 0.25
    alone = {name: MaNo().score(record) for name, record in records.items()}
    assert max(alone, key=lambda name: alone[name]) == "wrong", "numbers that do not compare"
    found = rank_models(records, "mano")
    assert found.models == ("right", "middle", "wrong")
    assert found.p_best[2] < 0.01
    (note,) = found.warnings
    assert "both sides of its criterion" in note
    assert rank_models({n: records[n] for n in ("right", "middle")}, "mano").warnings == ()


@given(sizes=st.lists(st.floats(0.5, 4), min_size=1, max_size=4), bare=st.booleans())
def test_numbers_in_a_ranking_by_mano_are_of_one_normalisation(
    sizes: list[float], bare: bool
) -> None:
    records = {str(i): answers(0.5, (size,), i, 40) for i, size in enumerate(sizes)}
    if bare:
        records["bare"] = Predictions.from_probabilities(softmax(logits_of(40, 10)))
    criteria = [-np.log(r.probabilities).mean() for r in records.values()]
    want = "softmax" if np.mean(criteria) > 5 or bare else "taylor"
    found = rank_models(records, "mano")
    for name, record in records.items():
        assert found.evidence[name].value == MaNo(normalization=want).score(record)
    logits = [record.has("logits") for record in records.values()]
    alone = {
        "taylor" if c <= 5 and has else "softmax" for c, has in zip(criteria, logits, strict=True)
    }
    assert bool(found.warnings) == (len(alone) > 1)


def test_taylor_beside_the_published_code() -> None:
    """The authors' code takes the smallest entry of each row away before it divides: its numbers are larger."""
    for classes, apart in ((2, 0.2), (10, 0.1), (100, 0.05)):
        z = logits_of(500, classes)
        v = 1 + z + z**2 / 2
        v = v - v.min(axis=1, keepdims=True)
        published = np.mean((v / v.sum(axis=1, keepdims=True)) ** 4) ** 0.25
        ours = MaNo(normalization="taylor").score(Predictions.from_logits(z))
        assert ours <= published <= ours + apart


def test_softmax_correlation_is_the_cosine_of_matrices() -> None:
    p = softmax(logits_of(300, 5))
    matrix = sum(np.outer(row, row) for row in p) / len(p)
    even = np.eye(5) / 5
    want = (matrix * even).sum() / np.sqrt((matrix**2).sum() * (even**2).sum())
    assert SoftmaxCorrelation().score(Predictions.from_probabilities(p)) == pytest.approx(want)
    label = np.random.default_rng(0).choice(5, p=[0.6, 0.1, 0.1, 0.1, 0.1], size=300)
    prior = np.diag(np.bincount(label, minlength=5) / 300)
    want = (matrix * prior).sum() / np.sqrt((matrix**2).sum() * (prior**2).sum())
    record = Predictions.from_probabilities(p, label=label)
    fitted = SoftmaxCorrelation().fit(record)
    assert fitted.score(record) == pytest.approx(want)
    assert SoftmaxCorrelation().fit(record.without_labels())._prior is None
    with raises_snapshot(NotApplicable):
        fitted.score(Predictions.from_probabilities([[0.5, 0.5]]))
    assert softmax_correlation(np.eye(2), np.array([1.0, 0.0])) == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize("rows", [12, 500])
def test_dispersion_is_that_of_scikit_learn(rows: int) -> None:
    """The between-class scatter inside the Calinski-Harabasz index: CH = [B/(K-1)] / [W/(N-K)]."""
    rng = np.random.default_rng(rows)
    predicted = np.arange(rows) % 4
    features = rng.standard_normal((rows, 3)) + 5 + predicted[:, None]
    within = sum(
        np.square(features[predicted == k] - features[predicted == k].mean(0)).sum()
        for k in range(4)
    )
    index = sklearn.metrics.calinski_harabasz_score(features, predicted)
    between = index * within / (rows - 4)
    record = Predictions.from_arrays(prediction=predicted, features=features)
    assert Dispersion().score(record) == pytest.approx(np.log(between / rows))


def test_dispersion_by_hand_and_of_one_class() -> None:
    """Means 0 and 4 with 3 and 1 rows: mean 1, scatter (3 * 1 + 1 * 9)/4 = 3 over K - 1 = 1."""
    assert dispersion(np.array([3, 1]), np.array([[0.0], [4.0]])) == pytest.approx(np.log(3))
    one = Predictions.from_arrays(prediction=[0, 0], features=[[1.0], [2.0]], classes=[0, 1])
    assert Dispersion().score(one) < -700, "finite, and below all else"


@given(seed=st.integers(0, 10**6), scale=st.floats(0.1, 50), rows=st.integers(1, 40))
def test_energy_is_that_of_scipy_without_the_log_of_the_rows(
    seed: int, scale: float, rows: int
) -> None:
    z = logits_of(rows, 4, seed, scale)
    for temperature in (1.0, 2.5):
        energies = -temperature * scipy.special.logsumexp(z / temperature, axis=1)
        published = -scipy.special.log_softmax(energies).mean()
        found = MetaDistributionEnergy(temperature=temperature).score(Predictions.from_logits(z))
        assert found == pytest.approx(max(published - np.log(rows), 0), abs=1e-8)


def test_energy_refuses_log_probabilities() -> None:
    with raises_snapshot(NotApplicable):
        MetaDistributionEnergy().score(Predictions.from_logits(np.log([[0.7, 0.3], [0.2, 0.8]])))
    with pytest.raises(UsageError, match="temperature"):
        MetaDistributionEnergy(temperature=0)


@pytest.mark.parametrize("name", NAMES)
def test_larger_is_more_accurate(name: str) -> None:
    records = [hard(d) for d in (0.7, 1.0, 1.5, 2.5, 4.0)]
    accuracies = [r.accuracy for r in records]
    assert accuracies == sorted(accuracies, reverse=True)
    numbers = [registry.create("ranker", name).score(r) for r in records]
    assert numbers == sorted(numbers, reverse=True)


@pytest.mark.parametrize("name", NAMES)
def test_order_of_rows_batches_and_their_number_change_nothing(name: str) -> None:
    ranker, record = registry.create("ranker", name), hard(1.5, 300)
    number = ranker.score(record)
    order = np.random.default_rng(0).permutation(len(record))
    assert ranker.score(record.take(order)) == pytest.approx(number)
    assert ranker.score(record, batch_rows=7) == pytest.approx(number)
    pieces = [ranker.summarize(record.slice(a, b)) for a, b in ((100, 300), (0, 1), (1, 100))]
    assert ranker.finish(ranker.merge(ranker.merge(*pieces[:2]), pieces[2])) == pytest.approx(
        number
    )
    for times in (2, 5):
        assert ranker.score(Predictions.concat([record] * times)) == pytest.approx(number, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_more_rows_of_the_same_kind_give_about_the_same(name: str) -> None:
    few, many = (
        registry.create("ranker", name).score(hard(1.5, n, seed=3)) for n in (1000, 30_000)
    )
    apart = abs(
        registry.create("ranker", name).score(hard(1.0))
        - registry.create("ranker", name).score(hard(2.5))
    )
    assert abs(few - many) < 0.25 * apart


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_not_looked_at_and_nothing_is_changed(name: str) -> None:
    ranker, record = registry.create("ranker", name), hard(1.5, 200)
    before = [record.logits.tobytes(), record.probabilities.tobytes(), record.features.tobytes()]
    number = ranker.score(record)
    assert [
        record.logits.tobytes(),
        record.probabilities.tobytes(),
        record.features.tobytes(),
    ] == before
    assert ranker.score(record.without_labels()) == number == ranker.score(record)
    fresh = dict(vars(ranker))
    ranker.fit(record)
    assert vars(ranker) == fresh
    assert ranker.fit().score(record) == number


@pytest.mark.parametrize("name", NAMES)
def test_one_row_two_classes_and_what_is_missing(name: str) -> None:
    ranker = registry.create("ranker", name)
    one = Predictions.from_arrays(logits=[[3.0, 1.0]], features=[[1.0, 2.0]])
    assert np.isfinite(ranker.score(one))
    with raises_snapshot(NotApplicable):
        ranker.score(Predictions.from_confidence([0.5]))
    with raises_snapshot(NotApplicable):
        ranker.score(one.slice(0, 0))


@pytest.mark.parametrize("name", NAMES)
def test_documented(name: str) -> None:
    cls = registry.find("ranker", name)
    text = inspect.getdoc(cls) or ""
    assert ">>>" in text
    assert "Source:" in text
    assert cls.citation in BIBTEX
    assert getattr(cls, "__final__", False)


@pytest.mark.parametrize("name", NAMES)
def test_a_thousand_classes(name: str) -> None:
    rng = np.random.default_rng(0)
    z = logits_of(400, 1000)
    record = Predictions.from_arrays(logits=z, features=rng.standard_normal((400, 20)))
    assert np.isfinite(registry.create("ranker", name).score(record))


@pytest.mark.parametrize("name", NAMES)
def test_order_is_that_of_the_scores(name: str) -> None:
    records = {str(d): hard(d, 400) for d in (2.5, 0.7, 1.5)}
    found = rank_models(records, name)
    assert found.models == ("0.7", "1.5", "2.5")
    assert sum(found.p_best) == pytest.approx(1)
    assert found.p_best[0] > 0.9
    ranker = registry.create("ranker", name)
    ranker, _ = ranker.settled(
        {model: ranker.state_of(record) for model, record in records.items()}
    )
    for model in found.models:
        assert found.evidence[model].value == ranker.score(records[model])
    assert all(p > 0.5 for _, _, p in found.pairs)


def test_alike_records_share_the_first_place() -> None:
    record = hard(1.5, 200)
    found = rank_models({"b": record, "a": record, "c": hard(4.0, 200)})
    assert found.models == ("a", "b", "c")
    assert found.p_best[:2] == pytest.approx((0.5, 0.5), abs=1e-6)
    assert found.pairs[0] == ("a", "b", 0.5)


@pytest.mark.parametrize("name", NAMES)
def test_doubt_is_that_of_a_bootstrap(name: str) -> None:
    """Interval of a score against redrawing the rows; a jackknife over ten blocks is rough."""
    ranker, record = registry.create("ranker", name), hard(1.5, 2000)
    rng = np.random.default_rng(0)
    draws = [ranker.score(record.take(rng.integers(2000, size=2000))) for _ in range(60)]
    width = rank_models({"m": record}, name).evidence["m"].width
    assert 0.4 < width / (2 * 1.96 * np.std(draws)) < 2.2


def test_doubt_that_models_share_cancels() -> None:
    """The same rows seen by two models of nearly the same skill: firmer than two samples of their own."""
    record = hard(1.5, 600)
    cooler = Predictions.from_logits(record.logits * 0.98)
    paired = rank_models({"a": record, "b": cooler}, "softmax-correlation")
    apart = rank_models({"a": record, "b": cooler.slice(0, 599)}, "softmax-correlation")
    assert paired.p_best[0] > 0.99
    assert apart.p_best[0] < 0.95
    assert any("different lengths" in note for note in apart.warnings)


def test_ranking_is_plain_and_says_what_it_is_not() -> None:
    found = rank_models({"x": hard(1.0, 50), "y": hard(3.0, 50)}, "mde")
    plain = json.loads(json.dumps(found.to_dict()))
    assert [row["model"] for row in plain["ranking"]] == ["x", "y"]
    assert set(plain["ranking"][0]["evidence"]["mde"]) == {
        "value",
        "lower",
        "upper",
        "level",
        "kind",
    }
    assert plain["ranking"][0]["evidence"]["mde"]["kind"] == "empirical"
    assert {"a", "b", "p_a_better"} == set(plain["pairs"][0])
    assert any("one model" in note for note in found.warnings)
    assert "never estimates an accuracy" in (inspect.getdoc(rank_models) or "")


def test_same_seed_same_order_and_reference_is_used() -> None:
    records = {"x": hard(1.4, 80), "y": hard(1.5, 80)}
    assert rank_models(records, seed=4) == rank_models(records, seed=4)
    label = np.repeat([0, 1, 2, 3], [70, 10, 10, 10])
    skewed = Predictions.from_probabilities(np.eye(4)[label] * 0.9 + 0.025, label=label)
    even = Predictions.from_probabilities(np.eye(4)[np.arange(100) % 4] * 0.9 + 0.025)
    both = {"skewed": skewed.without_labels(), "even": even}
    assert rank_models(both, "softmax-correlation").models[0] == "even"
    assert rank_models(both, "softmax-correlation", reference=skewed).models[0] == "skewed"


def test_what_cannot_be_ranked() -> None:
    with raises_snapshot(UsageError):
        rank_models({})
    with raises_snapshot(UsageError):
        rank_models({"a": hard(1.0, 30)}, "nuclear")
    with raises_snapshot(NotApplicable):
        rank_models({"a": hard(1.0, 30), "b": Predictions.from_logits([[1.0, 0.0]])}, "dispersion")
    with pytest.raises(UsageError):
        rank_models({"a": hard(1.0, 30)}, level=95)
    found = rank_models({"a": hard(1.0, 5), "b": hard(3.0, 5)}, NuclearNorm())
    assert any("fewer than 20 rows" in note for note in found.warnings)

"""Traps seen in published code, all of them, and where each is caught.

=============================================================  ====================================================
temperature fitted and never applied                           estimators/test_traps.py
entropy with the wrong sign                                    estimators/test_traps.py
threshold search that starts at 0.0                            estimators/test_traps.py
off by one in the threshold rank                               estimators/test_traps.py
crash at zero correct or zero errors                           estimators/test_traps.py; here for rankers
nuclear norm multiplied where it should be divided             here
weights compared to 1 with ==                                  estimators/test_traps.py
raw logits averaged with probabilities                         estimators/test_traps.py
values outside [0, 1] taken for logits, batch by batch         estimators/test_traps.py
calibration error that stores every sample                     here; rank metrics: metrics/test_traps.py
batch-statistics layer left in train mode while scoring        here, for whatever scores a record
log-sum measures that grow with N                              here for rankers; estimators/test_traps.py
norm averaged batch by batch (MaNo)                            here
one sample's energy logarithm overflows                        here
=============================================================  ====================================================
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import Predictions, registry
from oodometer.accuracy_proxies import MaNo, MetaDistributionEnergy, NuclearNorm
from oodometer.arrays import softmax
from oodometer.testing import example_record

HERE = Path(__file__).resolve().parent
RANKERS = registry.names("ranker")


def one_hot(classes: int, rows: int) -> Predictions:
    """Certain rows, all classes equally often."""
    return Predictions.from_probabilities(np.eye(classes)[np.arange(rows) % classes])


def test_every_trap_is_tested_where_the_table_says() -> None:
    elsewhere = (HERE / "estimators" / "test_traps.py").read_text(encoding="utf-8")
    for name in (
        "temperature_fitted_and_never_applied",
        "threshold_search_that_starts_at_zero",
        "off_by_one_in_the_threshold_rank",
        "crash_at_zero_correct_or_zero_errors",
        "weights_compared_with_equality",
        "values_outside_0_and_1_taken_for_logits_batch_by_batch",
        "measures_that_grow_with_the_number_of_rows",
    ):
        assert f"def test_trap_{name}(" in elsewhere, name
    scores = (HERE / "scores" / "test_scores.py").read_text(encoding="utf-8")
    assert "def test_entropy_by_hand(" in scores, "entropy with the wrong sign"
    assert (HERE / "metrics" / "test_traps.py").is_file()


@pytest.mark.parametrize(("classes", "rows"), [(2, 10), (10, 1000), (100, 300)])
def test_trap_nuclear_norm_multiplied_where_it_should_be_divided(classes: int, rows: int) -> None:
    """The best that a model can show is exactly 1, and undecided rows give 1/K, whatever N and K are."""
    assert NuclearNorm().score(one_hot(classes, rows)) == pytest.approx(1)
    flat = Predictions.from_probabilities(np.full((rows, classes), 1 / classes))
    assert NuclearNorm().score(flat) == pytest.approx(1 / classes)


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("times", [2, 50])
def test_trap_measures_that_grow_with_n(name: str, times: int) -> None:
    record = example_record(60, seed=1, difficulty=1.5)
    ranker = registry.create("ranker", name)
    assert ranker.score(Predictions.concat([record] * times)) == pytest.approx(
        ranker.score(record), abs=1e-9
    )


def test_trap_norm_averaged_batch_by_batch() -> None:
    """The mean of fourth roots is no fourth root of a mean: an easy and a hard batch show the difference."""
    z = np.concatenate([np.tile([12.0, 0.0], (50, 1)), np.tile([0.1, 0.0], (50, 1))])
    record = Predictions.from_logits(z)
    for normalization in ("auto", "softmax", "taylor"):
        ranker = MaNo(normalization=normalization)  # type: ignore[arg-type]
        whole = ranker.score(record, batch_rows=100)
        assert ranker.score(record, batch_rows=50) == pytest.approx(whole)
        apart = np.mean([ranker.score(record.slice(0, 50)), ranker.score(record.slice(50, 100))])
        assert normalization == "auto" or abs(apart - whole) > 0.005, "the trap would show"
    # the criterion too is that of the whole data set: the easy batch alone would choose the other normalisation
    assert MaNo().score(record) == MaNo(normalization="taylor").score(record)
    assert MaNo().score(record.slice(0, 50)) == MaNo(normalization="softmax").score(
        record.slice(0, 50)
    )


def test_trap_energies_that_overflow() -> None:
    record = Predictions.from_logits([[2000.0, 0.0], [1990.0, 0.0], [-1000.0, -1001.0]])
    assert MetaDistributionEnergy().score(record) == pytest.approx(
        (1000 - np.log1p(np.exp(-1))) - np.log(3) + (3990 - 1000 + np.log1p(np.exp(-1))) / 3
    )


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("right", [True, False])
def test_trap_rankers_crash_at_zero_correct_or_zero_errors(name: str, right: bool) -> None:
    record = example_record(40, seed=1)
    label = record.predicted if right else (record.predicted + 1) % 4
    made = Predictions.from_arrays(logits=record.logits, features=record.features, label=label)
    ranker = registry.create("ranker", name)
    assert ranker.fit(made).fit(None).score(made) == pytest.approx(
        ranker.fit(made).score(made.without_labels())
    )


@pytest.mark.parametrize("name", ["ece", "ece_debiased", "smece", "brier", "nll", "accuracy"])
def test_trap_calibration_error_that_stores_every_sample(name: str) -> None:
    """The state of a hundred times as many rows is hardly larger."""
    metric = registry.create("metric", name)
    rng = np.random.default_rng(0)

    def size(rows: int) -> int:
        p = softmax(rng.standard_normal((rows, 3)))
        made = Predictions.from_probabilities(p, label=rng.integers(3, size=rows))
        return len(pickle.dumps(metric.summarize(made)))

    few, many = size(2_000), size(200_000)
    assert many < 1.5 * few + 20_000


@pytest.mark.parametrize("name", registry.names("score"))
def test_trap_statistics_of_the_batch_while_scoring(name: str) -> None:
    """A sample alone, among easy ones and among hard ones has one and the same score (train mode breaks this)."""
    score = registry.create("score", name).fit(example_record(300, seed=4))
    sample = example_record(5, seed=1, difficulty=1.5)
    alone = np.concatenate([score(sample.slice(i, i + 1)) for i in range(5)])
    for difficulty in (0.5, 4.0):
        among = Predictions.concat([sample, example_record(200, seed=2, difficulty=difficulty)])
        np.testing.assert_allclose(score(among)[:5], alone, rtol=1e-6)


@pytest.mark.parametrize("field", ["probabilities", "logits"])
def test_trap_statistics_of_the_batch_at_the_door(field: str) -> None:
    """Softmax runs along the classes of one sample, never along the batch."""
    z = np.random.default_rng(0).standard_normal((6, 3))
    given: Any = softmax(z) if field == "probabilities" else z
    whole = Predictions.from_arrays(**{field: given}).probabilities
    for i in range(6):
        part = Predictions.from_arrays(**{field: given[i : i + 1]}).probabilities
        np.testing.assert_allclose(part[0], whole[i])

"""Each method on a classifier and on a ranker: mean, variance, saving, going on, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from oodometer.arrays import softmax
from oodometer.errors import UsageError
from oodometer_lab.datasets import Dataset
from oodometer_lab.models import (
    Encoder,
    MonteCarloDropout,
    ResponseRanker,
    TemperatureScaling,
    load_model,
    open_classifier,
    train_deep_ensemble,
)
from oodometer_lab.models.base import Classifier, Request
from oodometer_lab.models.torch.batches import only_dropout
from oodometer_lab.models.torch.training import TrainingConfig

from ...snapshots import raises_snapshot

SHAPE = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
KINDS = ("classifier", "ranker")


def made(kind: str, seed: int = 0, epochs: int = 2) -> Classifier:
    training = TrainingConfig(
        epochs=epochs, batch_size=8, learning_rate=5e-3, seed=seed, checkpoint_seconds=0.0
    )
    given: dict[str, Any] = {
        "config": SHAPE,
        "vocab_size": 100,
        "max_length": 24,
        "training": training,
    }
    return Encoder(**given) if kind == "classifier" else ResponseRanker(**given)


def data_of(kind: str) -> Dataset:
    """Texts of two classes, or dialogues, in which the letters tell."""
    from oodometer_lab.datasets.dialogues import replies

    rng = np.random.default_rng(0)
    if kind == "ranker":
        said = [
            (str(i), tuple(" ".join(rng.choice(list("abcdefghij"), 4)) for _ in range(3)))
            for i in range(20)
        ]
        return replies(said, "toy", candidates=3)
    labels = tuple(int(one) for one in rng.integers(0, 2, 40))
    texts = tuple(" ".join(rng.choice(list("abcd" if one else "cdef"), 5)) for one in labels)
    return Dataset("letters", texts, labels)


@pytest.mark.parametrize("kind", KINDS)
def test_temperature_scaling(kind: str, torch: Any, transformers: Any, tmp_path: Path) -> None:
    data = data_of(kind)
    model = made(kind, epochs=15).fit(data)  # untrained, its logits differ by no more than rounding
    # A third of the truth is another one, or what the model has learnt by heart would want a temperature of 0.
    data = replace(
        data, targets=tuple((one + (row % 3 == 0)) % 2 for row, one in enumerate(data.targets))
    )
    scaled = TemperatureScaling(model).fit(data)
    logits, truth = model.logits(data).astype(float), np.array(data.targets)

    def loss(log_t: float) -> float:
        return float(-np.log(softmax(logits / np.exp(log_t))[np.arange(len(truth)), truth]).mean())

    best = float(np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x))
    assert scaled.temperature == pytest.approx(best, rel=1e-2)
    found = scaled.ask(data)
    np.testing.assert_allclose(
        found.distribution, softmax(model.logits(data) / scaled.temperature), atol=1e-6
    )
    assert (found.logits.argmax(1) == model.logits(data).argmax(1)).all()
    assert scaled.predict(data).accuracy == model.predict(data).accuracy
    scaled.save(tmp_path)
    again = open_classifier(str(tmp_path))
    np.testing.assert_allclose(again.ask(data).distribution, found.distribution, atol=1e-6)
    with raises_snapshot(UsageError):
        scaled.ask(data, Request(dropout=2))


@pytest.mark.parametrize("kind", KINDS)
def test_monte_carlo_dropout(kind: str, torch: Any, transformers: Any, tmp_path: Path) -> None:
    data = data_of(kind)
    model = made(kind).fit(data)
    dropout = MonteCarloDropout(model, passes=4, seed=3)
    found = dropout.ask(data)
    passes = [model.ask(data, Request(dropout=1, seed=3)).distribution]
    assert found.variance.max() > 0
    np.testing.assert_allclose(found.distribution.sum(1), 1, atol=1e-6)
    assert np.abs(passes[0] - found.distribution).max() > 0  # one pass is not the mean of four
    again = dropout.ask(data)
    np.testing.assert_array_equal(found.distribution, again.distribution)
    other = MonteCarloDropout(model, passes=4, seed=4).ask(data)
    assert np.abs(other.distribution - found.distribution).max() > 0
    np.testing.assert_array_equal(
        model.logits(data), model.logits(data)
    )  # the model itself is as it was
    record = dropout.predict(data)
    own = found.variance[np.arange(len(data)), found.distribution.argmax(1)]
    np.testing.assert_allclose(record.columns["variance"], own)
    dropout.save(tmp_path)
    loaded = load_model(tmp_path)
    assert (loaded.options(), loaded.kind) == ({"passes": 4, "seed": 3}, "monte-carlo-dropout")
    # Masks depend on batches, whose size a saved model does not keep.
    np.testing.assert_allclose(loaded.ask(data).distribution, found.distribution, atol=0.1)
    np.testing.assert_allclose(loaded.model.logits(data), model.logits(data), atol=1e-6)


def test_the_mean_and_variance_are_those_of_the_passes(torch: Any, transformers: Any) -> None:
    data = data_of("classifier")
    model = made("classifier").fit(data)
    alone = [model.ask(data, Request(dropout=1, seed=seed)).distribution for seed in range(400)]
    found = model.ask(data, Request(dropout=400, seed=5))
    assert found.variance is not None
    apart = np.abs(found.distribution - np.mean(alone, axis=0)).max()
    assert apart < 6 * np.std(alone, axis=0).max() / np.sqrt(200)
    np.testing.assert_allclose(found.variance.mean(), np.var(alone, axis=0).mean(), rtol=0.15)


def test_only_dropout_is_switched_on(torch: Any, transformers: Any) -> None:
    nn = torch.nn
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    with only_dropout(net, 0):
        assert [one.training for one in net] == [False, False, True]
        net(torch.ones(3, 4))
    assert net[1].num_batches_tracked == 0
    assert not any(one.training for one in net.modules())


def test_attention_drops_its_weights(torch: Any, transformers: Any) -> None:
    """Without it, passes with dropout in the attention alone would all be the same."""
    only = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.4}
    config = transformers.BertConfig(
        vocab_size=30, num_labels=2, classifier_dropout=0.0, **SHAPE, **only
    )
    net = transformers.BertForSequenceClassification(config).eval()
    ids = torch.arange(12)[None]
    found = []
    for seed in (0, 1):
        with only_dropout(net, seed), torch.inference_mode():
            found.append(net(input_ids=ids).logits.numpy())
    assert np.abs(found[0] - found[1]).max() > 0
    assert not any(one.training for one in net.modules())


@pytest.mark.parametrize("kind", KINDS)
def test_a_deep_ensemble_goes_on(kind: str, torch: Any, transformers: Any, tmp_path: Path) -> None:
    data = data_of(kind)
    whole = train_deep_ensemble(lambda seed: made(kind, seed), data, seeds=(0, 1, 2))

    def stop(at: int, total: int) -> None:
        if at > 1500:
            raise KeyboardInterrupt

    def make(seed: int) -> Classifier:
        return made(kind, seed)

    with pytest.raises(KeyboardInterrupt):
        train_deep_ensemble(make, data, seeds=(0, 1, 2), checkpoint=tmp_path, progress=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seed-0", "training-1"]
    before = (tmp_path / "seed-0" / "weights.safetensors").stat().st_mtime_ns
    found = train_deep_ensemble(make, data, seeds=(0, 1, 2), checkpoint=tmp_path)
    assert (tmp_path / "seed-0" / "weights.safetensors").stat().st_mtime_ns == before
    a, b = found.ask(data), whole.ask(data)
    np.testing.assert_allclose(a.distribution, b.distribution, atol=1e-4)
    assert a.variance is not None
    np.testing.assert_allclose(a.distribution, a.members.mean(0))
    np.testing.assert_allclose(a.variance, a.members.var(0))
    # Other data are another training: nothing that is kept is taken for it.
    less = data.take(range(len(data) - 1))
    other = train_deep_ensemble(make, less, seeds=(0, 1, 2), checkpoint=tmp_path)
    assert np.abs(other.ask(data).distribution - a.distribution).max() > 0


def test_what_the_methods_refuse(torch: Any, transformers: Any) -> None:
    data = data_of("classifier")
    model = made("classifier")
    with raises_snapshot(UsageError):
        MonteCarloDropout(model)
    model.fit(data)
    with raises_snapshot(UsageError):
        MonteCarloDropout(model, passes=1)
    with raises_snapshot(UsageError):
        TemperatureScaling(model, temperature=0)
    with raises_snapshot(UsageError):
        TemperatureScaling(model).ask(data)
    with raises_snapshot(UsageError):
        MonteCarloDropout(model).fit(data)
    with raises_snapshot(UsageError):
        TemperatureScaling(
            open_classifier(lambda texts: np.full((len(texts), 2), 0.5), classes=[0, 1])
        ).fit(data)
    with raises_snapshot(UsageError):
        train_deep_ensemble(lambda seed: made("classifier", 7), data)

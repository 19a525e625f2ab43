"""The best weights by the dev loss: which are kept, that they outlive an interruption, that dev changes no training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError
from oodometer_lab.models import BagOfWords, Encoder, load_model
from oodometer_lab.models.torch.training import Best, TrainingConfig, look_steps

QUICK = TrainingConfig(epochs=5, batch_size=16, learning_rate=0.02)


def test_looks_are_even_and_end_with_the_last_step() -> None:
    for total in (1, 7, 10, 25, 1000):
        steps = sorted(look_steps(total))
        assert steps[-1] == total
        assert len(steps) == min(total, 10)
        assert max(np.diff([0, *steps])) <= -(-total // 10)


class Losses:
    """A module with one weight, whose loss follows a list."""

    def __init__(self, torch: Any, values: list[float]) -> None:
        self.net = torch.nn.Linear(1, 1, bias=False)
        self.values, self.calls = list(values), 0

    def loss(self) -> float:
        assert not self.net.training
        self.calls += 1
        return self.values[self.calls - 1]

    def run(self, best: Best, steps: range, total: int) -> None:
        told = best.watching(None)
        for step in steps:
            self.net.train()
            self.net.weight.data.fill_(float(step))
            told(step, total)
            assert self.net.training


def test_the_smallest_loss_wins_and_the_earlier_of_equal_ones(torch: Any, tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        case = Losses(torch, [3, 1, 2, 1, float("nan")])
        best = Best(lambda case=case: case.net, case.loss, name="n", folder=folder)  # type: ignore[misc]
        case.run(best, range(1, 6), 5)
        best.restore()
        assert (best.value, best.step, float(case.net.weight.detach())) == (1, 2, 2.0)
        assert not case.net.training


def test_the_best_is_found_again_by_a_training_that_goes_on(torch: Any, tmp_path: Path) -> None:
    case = Losses(torch, [1, 2, 3, 4, 5, 6, 7, 8])
    case.run(Best(lambda: case.net, case.loss, name="n", folder=tmp_path), range(1, 4), 5)
    later = Best(lambda: case.net, case.loss, name="n", folder=tmp_path)
    case.run(later, range(4, 6), 5)
    later.restore()
    assert (later.value, later.step, float(case.net.weight.detach())) == (1, 1, 1.0)
    other = Best(lambda: case.net, case.loss, name="another training", folder=tmp_path)
    assert other.step == 0
    anew = Best(lambda: case.net, case.loss, name="n", folder=tmp_path)
    case.run(anew, range(1, 3), 5)  # from the first step: what was left is forgotten
    assert (anew.value, anew.step) == (6, 1)
    (tmp_path / "best.safetensors").write_bytes(b"nonsense")
    assert Best(lambda: case.net, case.loss, name="n", folder=tmp_path).step == 0


def test_an_interruption_waits_for_the_look(torch: Any) -> None:
    case = Losses(torch, [])
    answers: list[Callable[[], float]] = [
        lambda: (_ for _ in ()).throw(KeyboardInterrupt),
        lambda: 0.5,
    ]
    best = Best(lambda: case.net, lambda: answers.pop(0)(), name="n", folder=None)
    with pytest.raises(KeyboardInterrupt):
        best.watching(None)(3, 3)
    assert (best.value, best.step) == (0.5, 3)


@pytest.fixture(scope="module")
def noisy(reviews: Any) -> tuple[list[str], list[int], tuple[list[str], list[int]]]:
    """Training labels of which a third is wrong, and a dev set without noise: training too long hurts."""
    texts, labels = reviews
    rng = np.random.default_rng(0)
    flipped = [1 - one if rng.random() < 1 / 3 else one for one in labels[:120]]
    return texts[:120], flipped, (texts[120:], labels[120:])


def loss_of(model: Any, dev: Any) -> float:
    p = model.predict(dev[0]).probabilities
    return float(-np.log(p[np.arange(len(p)), dev[1]]).mean())


def test_a_dev_set_chooses_the_weights(torch: Any, noisy: Any) -> None:
    texts, labels, dev = noisy
    plan = TrainingConfig(epochs=40, batch_size=16, learning_rate=0.05)
    chosen, last = (
        BagOfWords(training=plan).fit(texts, labels, dev=dev),
        BagOfWords(training=plan).fit(texts, labels),
    )
    assert loss_of(chosen, dev) < loss_of(last, dev) - 0.02


@pytest.mark.parametrize("share", [0.35, 0.95])
def test_goes_on_to_the_same_choice(share: float, torch: Any, noisy: Any, tmp_path: Path) -> None:
    texts, labels, dev = noisy

    def stop(done: int, total: int) -> None:
        if done == int(share * total):
            raise KeyboardInterrupt

    plan = TrainingConfig(epochs=20, batch_size=16, learning_rate=0.05)
    with pytest.raises(KeyboardInterrupt):
        BagOfWords(training=plan).fit(texts, labels, dev=dev, checkpoint=tmp_path, progress=stop)
    resumed = BagOfWords(training=plan).fit(texts, labels, dev=dev, checkpoint=tmp_path)
    whole = BagOfWords(training=plan).fit(texts, labels, dev=dev)
    np.testing.assert_array_equal(resumed.logits(texts), whole.logits(texts))


def test_soft_targets(torch: Any, reviews: Any, tmp_path: Path) -> None:
    """With certain targets as with labels; with uncertain ones the mean of the answers is that of the targets."""
    texts, labels = reviews
    hard = np.eye(2)[labels]
    same = BagOfWords(training=QUICK).fit(texts, hard, classes=(0, 1))
    np.testing.assert_allclose(
        same.logits(texts), BagOfWords(training=QUICK).fit(texts, labels).logits(texts), atol=1e-4
    )
    soft = 0.2 + 0.6 * hard
    long = TrainingConfig(epochs=60, batch_size=16, learning_rate=0.02)
    model = BagOfWords(training=long).fit(
        texts, soft, classes=("bad", "good"), dev=(texts[:50], soft[:50])
    )
    p = load_model(model.save(tmp_path)).predict(texts).probabilities
    assert p[np.array(labels) == 1, 1].mean() == pytest.approx(0.8, abs=0.05)
    assert p[np.array(labels) == 0, 1].mean() == pytest.approx(0.2, abs=0.05)


def test_targets_are_checked(torch: Any) -> None:
    for targets, message in (
        ([[0.5, 0.5]], "expected 2 labels, one an input, got 1"),
        ([[0.5, 0.5], [0.9, 0.3]], "row 2: column targets: expected a distribution that sums to 1"),
        ([[0.5, 0.5], [1.5, -0.5]], "row 2: column targets"),
        ([[0.5, 0.5], [np.nan, 0.5]], "row 2: column targets"),
        (
            [[0.5, 0.5, 0], [0.5, 0.5, 0]],
            r"expected targets of the shape \(2, 2\), got shape \(2, 3\)",
        ),
    ):
        with pytest.raises(InputError, match=message):
            BagOfWords(training=QUICK).fit(["a a", "b b"], np.array(targets), classes=(0, 1))


def test_what_was_cut_is_counted(transformers: Any) -> None:
    model = Encoder(
        config={"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8},
        vocab_size=100, max_length=8, training=TrainingConfig(epochs=1),
    )  # fmt: skip
    pairs = [("a b", "c d"), ("a b", "c d e f g h"), ("a b c d e f g h", "a")]
    model.fit(pairs, [0, 1, 0])
    assert model.truncated == 2
    model.logits(pairs[:1])
    assert model.truncated == 0
    model.logits(["a b c d e f g h i"])
    assert model.truncated == 1
    ids = model._encode(pairs)
    kept = [model.tokenizer.decode(row) for row in np.split(ids.values, ids.offsets[1:-1])]
    assert kept[1] == "[CLS] a b [SEP] c d e [SEP]"  # the shorter side is whole
    assert kept[2] == "[CLS] a b c d [SEP] a [SEP]"

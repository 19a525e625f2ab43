"""Likelihood: the model's own probability of the output; learnt from right pairs alone, saved, refused untrained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer_lab.discriminators import (
    LikelihoodDiscriminator,
    Panel,
    fit_thresholds,
    load_discriminator,
)
from oodometer_lab.models.seq2seq import EncoderDecoder
from oodometer_lab.models.torch.training import TrainingConfig

T5 = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 1, "num_heads": 2, "dropout_rate": 0.0}
PLAN = TrainingConfig(epochs=8, batch_size=16, learning_rate=3e-3, warmup=0.1)
Pairs = tuple[list[str], list[str], list[bool]]


def untrained(**more: Any) -> LikelihoodDiscriminator:
    return LikelihoodDiscriminator(
        EncoderDecoder(config=T5, max_output_length=16, training=PLAN, **more)
    )


@pytest.fixture(scope="module")
def judge(transformers: Any, train: Pairs) -> LikelihoodDiscriminator:
    return untrained().fit(*train)


def test_it_is_the_models_probability_of_the_whole_output(
    judge: LikelihoodDiscriminator, held: Pairs
) -> None:
    inputs, outputs = held[0][:30], held[1][:30]
    p = judge.probabilities(inputs, outputs)
    assert p.dtype == np.float32
    tokens = judge.model.logprobs(inputs, outputs)
    ends = np.cumsum(tokens.lengths)
    by_hand = [
        np.exp(tokens.values[end - n : end].sum(dtype=float))
        for n, end in zip(tokens.lengths, ends, strict=True)
    ]
    np.testing.assert_allclose(p, by_hand, rtol=1e-5)


def test_it_learns_from_right_pairs_alone(
    judge: LikelihoodDiscriminator, train: Pairs, held: Pairs
) -> None:
    right = [row for row, good in enumerate(train[2]) if good]
    alone = untrained().fit(*([one[row] for row in right] for one in train))  # type: ignore[arg-type]
    np.testing.assert_array_equal(alone.probabilities(*held[:2]), judge.probabilities(*held[:2]))
    p, good = judge.probabilities(*held[:2]), np.array(held[2])
    assert p[good].mean() > 5 * p[~good].mean()
    cuts = fit_thresholds(p[None], held[2])
    assert ((p >= cuts.values[0]) == good).mean() > 0.8


def test_what_it_cannot_read_or_spell_has_no_probability(judge: LikelihoodDiscriminator) -> None:
    p = judge.probabilities(["w1 w2", "w1 w2", "w1 w2"], ["", "W2 Zebra", "W2 W1"])
    assert p[:2].tolist() == [0.0, 0.0]
    assert p[2] > 0


def test_saved_and_loaded(judge: LikelihoodDiscriminator, held: Pairs, tmp_path: Path) -> None:
    judge.save(tmp_path / "one")
    again = load_discriminator(tmp_path / "one")
    assert isinstance(again, LikelihoodDiscriminator)
    np.testing.assert_array_equal(again.probabilities(*held[:2]), judge.probabilities(*held[:2]))
    assert again.parameters == judge.parameters > 0
    panel = Panel.load(Panel([judge]).save(tmp_path / "panel"))
    np.testing.assert_array_equal(panel.probabilities(*held[:2])[0], judge.probabilities(*held[:2]))


def test_members_of_a_panel_differ_by_seed(
    transformers: Any, train: Pairs, held: Pairs, tmp_path: Path
) -> None:
    short = TrainingConfig(epochs=1, batch_size=16, learning_rate=3e-3)

    def make(seed: int) -> LikelihoodDiscriminator:
        how = TrainingConfig(**{**vars(short), "seed": seed})
        return LikelihoodDiscriminator(
            EncoderDecoder(config=T5, max_output_length=16, training=how)
        )

    panel = Panel.train(make, [0, 1], *train, dev=held, checkpoint=tmp_path)
    first, second = panel.probabilities(*held[:2])
    assert not np.array_equal(first, second)
    again = Panel.train(
        make, [0, 1], *train, dev=held, checkpoint=tmp_path
    )  # finished members are kept
    np.testing.assert_array_equal(again.probabilities(*held[:2]), panel.probabilities(*held[:2]))

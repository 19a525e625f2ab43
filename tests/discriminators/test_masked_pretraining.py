"""Masked pretraining: judges that start from it need fewer passes; it resumes, is kept, and says what is no text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError
from oodometer_lab.discriminators import ClassifierDiscriminator, pretrain
from oodometer_lab.models.torch.training import TrainingConfig

from ..snapshots import raises_snapshot

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}
PLAN = TrainingConfig(epochs=20, batch_size=16, learning_rate=3e-3, warmup=0.1)
Pairs = tuple[list[str], list[str], list[bool]]


def right_ones(pairs: Pairs) -> tuple[list[str], list[str]]:
    """The right pairs alone."""
    kept = [i for i, good in enumerate(pairs[2]) if good]
    return [pairs[0][i] for i in kept], [pairs[1][i] for i in kept]


@pytest.fixture(scope="module")
def start(train: Pairs, transformers: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pretrain(
        *right_ones(train),
        tmp_path_factory.mktemp("start") / "encoder",
        config=SIZES,
        max_length=24,
        training=PLAN,
    )


def test_judges_learn_faster_from_it(start: Path, train: Pairs, held: Pairs) -> None:
    plan = TrainingConfig(epochs=2, batch_size=16, learning_rate=3e-3, warmup=0.1)

    def rightness(**made: Any) -> float:
        judge = ClassifierDiscriminator(**made, head="tokens", max_length=24, training=plan).fit(
            *train, dev=held
        )
        return float((judge.judge(*held[:2]) == np.array(held[2])).mean())

    assert rightness(source=str(start)) > rightness(config=SIZES) + 0.05


def test_goes_on_after_an_interruption_and_is_kept(
    train: Pairs, transformers: Any, tmp_path: Path
) -> None:
    right = [part[:160] for part in right_ones(train)]

    def stop(done: int, total: int) -> None:
        if done == total // 2:
            raise KeyboardInterrupt

    def again(name: str = "encoder", state: str = "state", **more: Any) -> Path:
        return pretrain(*right, tmp_path / name, config=SIZES, max_length=24, training=replace(PLAN, epochs=4),
                        checkpoint=tmp_path / state, **more)  # fmt: skip

    whole = again("whole", "other")
    with pytest.raises(KeyboardInterrupt):
        again(progress=stop)
    assert not (tmp_path / "encoder").exists()
    steps: list[int] = []
    again(progress=lambda done, total: steps.append(done))
    assert steps[0] == steps[-1] // 2 + 1
    weights = "model.safetensors"
    assert (tmp_path / "encoder" / weights).read_bytes() == (whole / weights).read_bytes()
    steps.clear()
    again(progress=lambda done, total: steps.append(done))
    assert not steps  # the very same training is kept
    again(progress=lambda done, total: steps.append(done), vocab_size=300)
    assert steps


def test_what_was_cut_is_said(transformers: Any, tmp_path: Path) -> None:
    plan = TrainingConfig(epochs=1, batch_size=4)
    with pytest.warns(UserWarning, match=r"2 of 4 pairs \(50\.0 ?%\) are longer than 8 tokens"):
        pretrain(
            ["a b", "a " * 9] * 2,
            ["A B", "A " * 9] * 2,
            tmp_path / "e",
            config=SIZES,
            max_length=8,
            training=plan,
        )


def test_no_text_is_no_pair(tmp_path: Path) -> None:
    with raises_snapshot(InputError):
        pretrain(["a"], [None], tmp_path / "e", config=SIZES)  # type: ignore[list-item]
    assert not (tmp_path / "e").exists()

"""Judges under test: sequences to be reversed, with injected errors, which a small network can learn to find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

Pairs = tuple[list[str], list[str], list[bool]]


def reversals(
    rows: int, seed: int, *, words: int = 5, length: int = 2, share: float = 0.5
) -> Pairs:
    """Inputs of ``length`` words, outputs reversed and in capitals; but for ``share`` of them one word is wrong."""
    rng = np.random.default_rng(seed)
    inputs, outputs, verdicts = [], [], []
    for row in range(rows):
        drawn = rng.integers(0, words, length)
        made, right = drawn[::-1].copy(), bool((row + 0.5) / rows < share)
        if not right:
            at = rng.integers(length)
            made[at] = (made[at] + rng.integers(1, words)) % words
        inputs.append(" ".join(f"w{one}" for one in drawn))
        outputs.append(" ".join(f"W{one}" for one in made))
        verdicts.append(right)
    order = rng.permutation(rows)
    return [inputs[i] for i in order], [outputs[i] for i in order], [verdicts[i] for i in order]


@pytest.fixture(scope="session")
def train() -> Pairs:
    """900 pairs, half of them correct."""
    return reversals(900, 0)


@pytest.fixture(scope="session")
def held() -> Pairs:
    """400 other pairs."""
    return reversals(400, 1)


def accuracy(judge: Any, pairs: Pairs) -> float:
    """Share of right verdicts."""
    return float((judge.judge(*pairs[:2]) == np.array(pairs[2])).mean())

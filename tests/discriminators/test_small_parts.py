"""Small functions of the judges, each on its smallest case."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer.discriminators.base import check_pairs, check_verdicts, fit_temperature, probability
from oodometer.discriminators.pair_encoder import _parts
from oodometer.errors import InputError
from oodometer.models.torch.batches import ragged


def test_probabilities_of_margins() -> None:
    assert probability(np.log([0.9 / 0.1]), trained=0.9).round(3).tolist() == [0.5]  # as likely as everything else
    assert probability(np.log([0.9 / 0.1]), trained=0.9, share=None).tolist() == pytest.approx([0.9])
    margins, right = np.array([4.0] * 400 + [-4.0] * 400), np.array(([1] * 300 + [0] * 100) + ([0] * 300 + [1] * 100))
    assert round(fit_temperature(margins, right, trained=0.5), 1) == 3.7


def test_where_tokens_stand() -> None:
    assert _parts(ragged([[2, 7, 8, 3, 8, 9, 3]]), 3).values.tolist() == [0, 0, 0, 0, 1, 2, 1]


def test_what_is_no_pair_and_no_verdict_is_refused() -> None:
    with pytest.raises(InputError, match="row 2: column output: expected a text, got None; leave the row out or give"):
        check_pairs(["a", "b"], ["A", None])  # type: ignore[list-item]
    with pytest.raises(InputError, match="column correct: expected correct and incorrect outputs, got 3 of 3 correct"):
        check_verdicts([1, True, 1.0], 3)

"""Small functions of the judges, each on its smallest case."""

from __future__ import annotations

from oodometer_lab.discriminators.pair_encoder import _parts
from oodometer_lab.models.torch.batches import ragged


def test_where_tokens_stand() -> None:
    assert _parts(ragged([[2, 7, 8, 3, 8, 9, 3]]), 3).values.tolist() == [0, 0, 0, 0, 1, 2, 1]

"""Tensors of torch in mappings: every dense one is read, also of types that numpy lacks; others are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oodometer import InputError, load

from ..snapshots import raises_snapshot

torch = pytest.importorskip("torch")
P = [[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]]  # exact in eight bits


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("gradient", [False, True])
def test_a_dense_tensor_is_read_whatever_its_type(kind: str, gradient: bool) -> None:
    tensor = torch.tensor(P, dtype=getattr(torch, kind), requires_grad=gradient)
    for given in (tensor, torch.stack(list(tensor.T)).T):
        record = load({"probabilities": given, "label": torch.tensor([0, 0, 1])})
        assert record.probabilities is not None
        np.testing.assert_array_equal(record.probabilities, P)
        assert record.accuracy == 1


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize(
    "make", [lambda t: t.to("meta"), lambda t: t.to_sparse(), lambda t: t.to_sparse_csr()]
)
def test_a_tensor_without_numbers_of_its_own_is_refused(make: Any) -> None:
    with raises_snapshot(InputError):
        load({"probabilities": make(torch.tensor(P)), "label": [0, 0, 1]})

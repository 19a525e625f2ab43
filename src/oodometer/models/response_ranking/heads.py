"""Heads: how the hidden states of a pair become its score, from the first token, or from the means of both parts."""

from __future__ import annotations

from typing import Any

from ..torch.library import torch as load_torch

__all__ = ["HEADS", "score_of_means", "with_means"]

HEADS = ("first-token", "means")

_SCALE = 10.0  # of the cosine that training starts from: sure enough to learn from, not so sure that it stops learning


def with_means(encoder: Any) -> Any:
    """An encoder with the head `score_of_means`; weights start at 10, so that the score is 10 times a cosine."""
    torch = load_torch()
    score = torch.nn.Linear(encoder.config.hidden_size, 1, bias=False)  # softmax takes a constant away again
    torch.nn.init.constant_(score.weight, _SCALE)
    dropout = torch.nn.Dropout(getattr(encoder.config, "hidden_dropout_prob", 0.1))
    return torch.nn.ModuleDict({"encoder": encoder, "dropout": dropout, "score": score})


def score_of_means(net: Any, hidden: Any, real: Any, types: Any) -> Any:
    """s = sum_k w_k u_k v_k; u and v are the means of the hidden states of both parts, each of length 1.

    hidden has the shape (pair, token, unit), ``real`` and ``types`` (pair, token); s (pair,).
    """
    functional = load_torch().nn.functional
    hidden = net["dropout"](hidden)
    context, reply = (
        functional.normalize((hidden * part[..., None]).sum(1), dim=1)  # a sum points where the mean does
        for part in ((real & ~types).to(hidden.dtype), types.to(hidden.dtype))
    )
    return net["score"](context * reply)[:, 0]

"""Scoring: the log-probability of each token of a given output, in one pass for all positions (teacher forcing)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array, Ragged
from ...errors import WorkError
from ..base import Progress
from ..torch.asking import Asking
from ..torch.batches import padded, token_batches
from ..torch.library import torch as load_torch

IGNORED = -100  # transformers' label of a position that does not count
MOST_LOGITS = 2**25  # numbers in the logits of one pass: 128 MB


def token_scores(net: Any, labels: Any, **encoder: Any) -> Any:
    """log p(y_t | y_<t, x) of labels (row, position), 0 where a label is ignored; torch, float32, of the same shape.

    ``encoder`` holds what the module reads of the inputs: their ids and mask.
    """
    torch = load_torch()
    shifted = getattr(net, "prepare_decoder_input_ids_from_labels", None)
    # With the decoder's own inputs given, the module does not compute a loss that nobody reads.
    read = {"labels": labels} if shifted is None else {"decoder_input_ids": shifted(labels=labels)}
    logits = net(**read, **encoder).logits
    at = labels.clamp(min=0)
    found = torch.gather(logits, -1, at[..., None])[..., 0].float() - torch.logsumexp(logits.float(), -1)
    return found.clamp(max=0).masked_fill(labels == IGNORED, 0.0)  # rounding may leave more than 0


def score(
    net: Any,
    inputs: Ragged,
    outputs: Ragged,
    *,
    padding: int,
    batch_tokens: int,
    device: str,
    most_logits: int = MOST_LOGITS,
    progress: Progress | None = None,
) -> Ragged:
    """log p(y_t | y_<t, x) of each token of each output, float32, rows as in ``outputs``.

    Formula: log softmax(logits_t)[y_t], the decoder reading the output's own tokens before t.

    ``batch_tokens`` bounds the padded tokens of a batch, an input and its output together; ``most_logits`` its logits,
    so that a batch of a large vocabulary is smaller still.
    """
    torch = load_torch()
    lengths = np.stack([inputs.lengths, outputs.lengths], axis=1)
    values = np.zeros(int(outputs.offsets[-1]), dtype=np.float32)
    vocabulary = int(net.config.get_text_config(decoder=True).vocab_size)
    order = np.lexsort((-lengths[:, 1], -lengths[:, 0]))
    batches = [
        batch
        for large in token_batches(lengths, order, batch_tokens)
        for batch in token_batches(lengths[:, 1], large, max(1, most_logits // vocabulary))
    ]

    with Asking(batches, len(outputs), progress) as asking:
        for batch in asking:
            ids, real = padded(inputs, batch, padding)
            labels, own = padded(outputs, batch, IGNORED)
            found = token_scores(
                net,
                torch.from_numpy(labels).to(device),
                input_ids=torch.from_numpy(ids).to(device),
                attention_mask=torch.from_numpy(real).to(device).long(),
            )
            values[_places(outputs, batch)] = found.cpu().numpy()[own]
    return Ragged(values, outputs.offsets)


def must_be_numbers(logprobs: Array) -> None:
    """`WorkError` where log-probabilities are none."""
    if not np.isfinite(logprobs).all():
        raise WorkError(
            "the sequence model gives no numbers: its training diverged; train it with a lower learning rate"
        )


def _places(rows: Ragged, batch: Array) -> Array:
    """Where the values of the rows at ``batch`` are, row after row."""
    lengths = rows.lengths[batch]
    ends = np.cumsum(lengths)
    return np.repeat(rows.offsets[:-1][batch] - (ends - lengths), lengths) + np.arange(int(lengths.sum()))

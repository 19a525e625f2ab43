"""Decoding: beam search over batches of like length under a token budget; no answer depends on its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array, Ragged
from ..base import Progress
from ..torch.asking import Asking
from ..torch.batches import padded, token_batches
from ..torch.library import torch as load_torch
from .search import search


class Decoded(NamedTuple):
    """Token ids of all beams and their log-probabilities.

    ``ids`` and ``token_logprobs`` have one row for each sample and beam, (sample 0, beam 0), (sample 0, beam 1), ...;
    the end token is in them where it was reached. ``totals`` (sample, beam) is -inf where a beam is missing, and
    its row is empty.
    """

    ids: Ragged
    token_logprobs: Ragged
    totals: Array


@dataclass(frozen=True)
class DecodingOptions:
    """How outputs are searched for.

    Parameters
    ----------
    beams :
        Width of the search; 1 takes the most probable token at each step.
    padding :
        Id that fills the inputs.
    max_output_length :
        Tokens after which an output is cut.
    usual_output :
        Tokens within which most outputs end. Inputs are first decoded so far; the few that are not done are then
        decoded anew, together, as far as ``max_output_length``: batches need not be small for the sake of outputs
        without end. No answer depends on it, but for rounding.
    batch_tokens :
        Bound on rows x beams x (padded input + tokens that may be written): memory grows with this product.
    device :
        Where.
    """

    beams: int
    padding: int
    max_output_length: int
    usual_output: int
    batch_tokens: int
    device: str


def decode(net: Any, inputs: Ragged, how: DecodingOptions, *, progress: Progress | None = None) -> Decoded:
    """The ``beams`` best outputs of each input by total log-probability, without a reward for length.

    Parameters
    ----------
    net :
        Torch module of an encoder-decoder, in evaluation mode.
    inputs :
        Token ids, one row a sample.
    how :
        Width and limits of the search.
    progress :
        Called with (samples done, samples).
    """
    torch = load_torch()
    net.eval()
    device = how.device
    out, done = _Outputs(len(inputs), how.beams), 0

    def decoded(waiting: Array, cap: int) -> Array:
        """Decode some samples as far as ``cap`` tokens; returns those that are not done then."""
        lengths = np.stack([inputs.lengths, np.full(len(inputs), cap)], axis=1)
        again = [waiting[:0]]
        nonlocal done
        with Asking(token_batches(lengths, waiting, max(1, how.batch_tokens // how.beams)), len(inputs)) as asking:
            for batch in asking:
                ids, real = padded(inputs, batch, how.padding)
                mask = torch.from_numpy(real).to(device).long()
                states = net.get_encoder()(
                    input_ids=torch.from_numpy(ids).to(device), attention_mask=mask, return_dict=True
                )
                found = search(net, states, mask, beams=how.beams, cap=cap)
                written, logprobs, own, total, ended = (part.cpu().numpy() for part in found)
                finished = ended | (cap == how.max_output_length)
                out.take(batch[finished], *(part[finished] for part in (written, logprobs, own, total)))
                again.append(batch[~finished])
                done += int(finished.sum())
                if progress is not None and finished.any():
                    progress(done, len(inputs))
        return np.concatenate(again)

    waiting = np.argsort(-inputs.lengths, kind="stable")
    for cap in sorted({min(how.usual_output, how.max_output_length), how.max_output_length}):
        waiting = decoded(waiting, cap)
    return out.decoded()


class _Outputs:
    """The outputs of all batches, flat: many small arrays would take more memory than the tokens in them."""

    def __init__(self, samples: int, beams: int) -> None:
        self.totals = np.full((samples, beams), -np.inf, dtype=np.float32)
        self.lengths = np.zeros((samples, beams), dtype=np.int64)
        self.parts: list[tuple[Array, Array, Array]] = []

    def take(self, where: Array, written: Array, logprobs: Array, own: Array, totals: Array) -> None:
        """Keep the outputs of the samples ``where``; ``own`` says which positions are theirs."""
        self.totals[where] = totals
        self.lengths[where] = own.sum(-1)
        self.parts.append((where, written[own].astype(np.int32), logprobs[own].astype(np.float32)))

    def decoded(self) -> Decoded:
        """All outputs in the order of the samples; the parts are let go on the way."""
        beams = self.lengths.shape[1]
        lengths = self.lengths.ravel()
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        ids = np.empty(offsets[-1], dtype=np.int32)
        logprobs = np.empty(offsets[-1], dtype=np.float32)
        while self.parts:
            where, some_ids, some_logprobs = self.parts.pop()
            rows = (where[:, None] * beams + np.arange(beams)).ravel()
            long = lengths[rows]
            at = np.arange(long.sum()) + np.repeat(offsets[rows] - (np.cumsum(long) - long), long)
            ids[at], logprobs[at] = some_ids, some_logprobs
        return Decoded(Ragged(ids, offsets), Ragged(logprobs, offsets), self.totals)

"""Decoding: beam search, and the log-probability of given outputs, over batches of like length."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from oodometer.arrays import Array, Ragged

from ..base import Progress
from ..torch.batches import Asking, padded, token_batches
from ..torch.library import torch as load_torch
from .codec import Codec


@dataclass(frozen=True, eq=False)
class Beams:
    """Outputs of a beam search, best first.

    outputs : one list of strings for each sample, by falling log-probability.
    logprobs : total log-probability of each output, log p(y | x) = sum over its tokens, the end token included;
        float32, shape (sample, beam), NaN where a sample has fewer beams.
    token_logprobs : log-probability of each token of the best output, one row a sample.
    truncated : number of inputs that were too long and lost their end.

    >>> b = Beams([["yes", "no"]], np.log(np.array([[0.5, 0.25]], dtype=np.float32)), Ragged.from_rows([[-0.69]]), 0)
    >>> b.best, b.confidence.round(2).tolist()
    (['yes'], [0.5])
    """

    outputs: list[list[str]]
    logprobs: Array
    token_logprobs: Ragged
    truncated: int

    def __len__(self) -> int:
        return len(self.outputs)

    @property
    def best(self) -> list[str]:
        """The best output of each sample."""
        return [beams[0] for beams in self.outputs]

    @property
    def confidence(self) -> Array:
        """Probability of the best output, exp(sum of the log-probabilities of its tokens), shape (sample,)."""
        return np.clip(np.exp(self.token_logprobs.sums()), 0.0, 1.0)


IGNORED = -100  # transformers' label of a position that does not count
MOST_LOGITS = 2**25  # numbers in the logits of one pass: 128 MB


def token_scores(net: Any, labels: Any, **encoder: Any) -> Any:
    """log p(y_t | y_<t, x) of labels (row, position), 0 where ignored, float32; ``encoder``: what is read of inputs."""
    torch = load_torch()
    shifted = getattr(net, "prepare_decoder_input_ids_from_labels", None)
    # With the decoder's own inputs given, the module does not compute a loss that nobody reads.
    read = {"labels": labels} if shifted is None else {"decoder_input_ids": shifted(labels=labels)}
    logits = net(**read, **encoder).logits
    at = labels.clamp(min=0)
    scores = torch.gather(logits, -1, at[..., None])[..., 0].float() - torch.logsumexp(
        logits.float(), -1
    )
    return scores.clamp(max=0).masked_fill(labels == IGNORED, 0.0)  # rounding may leave more than 0


def score(
    net: Any,
    inputs: Ragged,
    outputs: Ragged,
    *,
    padding: int,
    batch_tokens: int,
    device: str,
    progress: Progress | None = None,
) -> Ragged:
    """log p(y_t | y_<t, x) = log softmax(logits_t)[y_t] of each token of each output, float32, rows as in ``outputs``.
    ``batch_tokens`` bounds the padded tokens of a batch.
    """
    torch = load_torch()
    lengths = np.stack([inputs.lengths, outputs.lengths], axis=1)
    values = np.zeros(int(outputs.offsets[-1]), dtype=np.float32)
    vocabulary = int(net.config.get_text_config(decoder=True).vocab_size)
    order = np.lexsort((-lengths[:, 1], -lengths[:, 0]))
    large, max_rows = token_batches(lengths, order, batch_tokens), max(1, MOST_LOGITS // vocabulary)
    batches = [batch for group in large for batch in token_batches(lengths[:, 1], group, max_rows)]

    with Asking(batches, len(outputs), progress) as asking:
        for batch in asking:
            ids, real = padded(inputs, batch, padding)
            labels, is_token = padded(outputs, batch, IGNORED)
            input_ids, mask, targets = (
                torch.from_numpy(array).to(device) for array in (ids, real, labels)
            )
            scores = token_scores(net, targets, input_ids=input_ids, attention_mask=mask.long())
            # where the values of these rows are, row after row
            lengths_here = outputs.lengths[batch]
            before = np.repeat(
                outputs.offsets[:-1][batch] - (np.cumsum(lengths_here) - lengths_here), lengths_here
            )
            values[before + np.arange(int(lengths_here.sum()))] = scores.cpu().numpy()[is_token]
    return Ragged(values, outputs.offsets)


# of the batch that is done, before the rest is packed together, which copies the caches
LEAST_GAIN = 0.15


def search(net: Any, states: Any, mask: Any, *, beams: int, cap: int) -> tuple[Any, ...]:
    """The ``beams`` most probable outputs that a beam search of this width finds within ``cap`` tokens.
    At each step the 2 x beams best continuations of a sample are taken by total log-probability. Those of the first
    ``beams`` that end join its answers, of which the best are kept; the best that do not end go on. A sample is done
    when it has as many answers as beams and none of its running beams is better than the worst of them. After ``cap``
    tokens running beams are answers as they are. These are the answers of transformers' ``generate`` with
    ``length_penalty=0``, which keeps every sample in the batch to the end of the last. Source: Sutskever, Vinyals and
    Le (2014).

    Returns ids and their log-probabilities (sample, beam, position), which of them count, totals (sample, beam), -inf
    where a sample has fewer beams, and whether all beams of a sample came to their end.
    """
    torch = load_torch()
    kind, hidden = type(states), states.last_hidden_state
    device, rows = hidden.device, len(hidden)
    settings = net.generation_config
    end = torch.as_tensor(settings.eos_token_id, device=device).reshape(-1)
    # the answers of all samples, gathered as they are done, and where among them each sample of the batch belongs
    all_ids = torch.full((rows, beams, cap), int(end[0]), dtype=torch.long, device=device)
    all_values = torch.zeros((rows, beams, cap), device=device)
    all_totals = torch.full((rows, beams), -torch.inf, device=device)
    sample = torch.arange(rows, device=device)

    def take(sample: Any, totals: Any, ids: Any, values: Any) -> None:
        all_totals[sample], width = totals, ids.shape[-1]
        all_ids[sample, :, :width], all_values[sample, :, :width] = ids, values

    totals = torch.zeros((rows, 1), device=device)
    ids = torch.empty((rows, 1, 0), dtype=torch.long, device=device)
    values = torch.empty((rows, 1, 0), device=device)
    none = torch.full((rows, beams), -torch.inf, device=device)
    best_answers = (none, ids.expand(-1, beams, -1), values.expand(-1, beams, -1))
    done = torch.zeros(rows, dtype=torch.bool, device=device)
    last = torch.full((rows, 1), int(settings.decoder_start_token_id), device=device)
    # transformers calls the cache of a decoder ``cache`` since version 5.24, ``past_key_values`` before.
    cache_name = "cache" if "cache" in signature(net.forward).parameters else "past_key_values"
    cache = None
    for step in range(cap):
        output = net(
            encoder_outputs=kind(last_hidden_state=hidden),
            attention_mask=mask,
            decoder_input_ids=last,
            use_cache=True,
            return_dict=True,
            **{cache_name: cache},
        )
        cache = output[cache_name]
        best, parent, token, value = _continuations(
            torch, output.logits[:, -1].float(), totals, 2 * beams
        )
        both = ((ids, token), (values, value))
        grown = [torch.cat([_rows(before, parent), new[..., None]], -1) for before, new in both]
        ends = torch.isin(token, end) | (step == cap - 1)
        answers = torch.where(ends & ~done[:, None], best, -torch.inf)[:, :beams]
        new = (answers, grown[0][:, :beams], grown[1][:, :beams])
        best_answers = _best(torch, best_answers, new, beams, int(end[0]))
        totals, order = torch.where(ends, -torch.inf, best).topk(beams)
        ids, values, parent = (
            _rows(grown[0], order),
            _rows(grown[1], order),
            parent.gather(1, order),
        )
        done |= totals[:, 0] <= best_answers[0][:, -1]
        live = int(len(done) - done.sum())
        if live == 0 or step == cap - 1:
            break
        width = last.shape[0] // len(done)
        stay = torch.arange(len(done), device=device)
        if live <= (1 - LEAST_GAIN) * len(done):
            take(sample[done], *(part[done] for part in best_answers))
            stay = stay[~done]
            sample, totals, ids, values, parent = (
                part[stay] for part in (sample, totals, ids, values, parent)
            )
            best_answers, done = (
                (best_answers[0][stay], best_answers[1][stay], best_answers[2][stay]),
                done[stay],
            )
        if beams > 1 or len(stay) < len(last):
            cache.self_attention_cache.reorder_cache((stay[:, None] * width + parent).flatten())
        if width < beams or len(stay) * beams < len(last):
            same = (
                stay[:, None] * width + torch.arange(beams, device=device).clamp(max=width - 1)
            ).flatten()
            cache.cross_attention_cache.reorder_cache(same)
            hidden, mask = hidden[same], mask[same]
        last = ids[..., -1].reshape(-1, 1)
    take(sample, *best_answers)
    ends = torch.isin(all_ids, end)  # positions behind the end token do not count
    real = ((ends.cumsum(-1) - ends.long()) == 0) & (all_totals > -torch.inf)[..., None]
    closed = (ends & real).any(-1) | (all_totals == -torch.inf)
    return all_ids, all_values, real, all_totals, closed.all(-1)


def _continuations(torch: Any, logits: Any, totals: Any, count: int) -> tuple[Any, Any, Any, Any]:
    rows, width = totals.shape
    top, token = logits.topk(min(count, logits.shape[-1]))
    # rounding may leave more than 0
    value = (top - torch.logsumexp(logits, -1, keepdim=True)).clamp(max=0)
    joint = (totals[..., None] + value.reshape(rows, width, -1)).reshape(rows, -1)
    best, at = joint.topk(min(count, joint.shape[1]))
    tokens, logprobs = (each.reshape(rows, -1).gather(1, at) for each in (token, value))
    continuations = (best, at // top.shape[1], tokens, logprobs)
    short = count - best.shape[1]
    if short == 0:
        return continuations
    # a vocabulary with fewer tokens than continuations asked for
    fills = (-torch.inf, 0, 0, -torch.inf)
    pad = torch.nn.functional.pad
    return tuple(
        pad(part, (0, short), value=fill) for part, fill in zip(continuations, fills, strict=True)
    )


def _rows(values: Any, index: Any) -> Any:
    """``values[i, index[i, j]]`` for all i and j."""
    return values.gather(1, index[..., None].expand(-1, -1, values.shape[-1]))


def _best(torch: Any, before: Any, new: Any, beams: int, fill: int) -> tuple[Any, Any, Any]:
    if not bool((new[0] > before[0][:, -1:]).any()):
        new = tuple(values[:, :0] for values in new)
    wider = new[1].shape[-1] - before[1].shape[-1]
    pad = torch.nn.functional.pad
    old = (before[0], pad(before[1], (0, wider), value=fill), pad(before[2], (0, wider)))
    totals, order = torch.cat([old[0], new[0]], 1).topk(beams)
    return (
        totals,
        _rows(torch.cat([old[1], new[1]], 1), order),
        _rows(torch.cat([old[2], new[2]], 1), order),
    )


def decode(
    net: Any,
    inputs: Ragged,
    codec: Codec,
    *,
    beams: int,
    usual_output: int,
    batch_tokens: int,
    device: str,
    progress: Progress | None = None,
) -> tuple[Ragged, Ragged, Array]:
    """The ``beams`` best outputs of each input by total log-probability, without a reward for length. Inputs are first
    decoded to ``usual_output`` tokens; the few that are not done then are decoded anew, together. ``batch_tokens``
    bounds rows x beams x (padded input + tokens that may be written). Returns ids and log-probabilities, a row for each
    sample and beam, and totals (sample, beam), -inf where one lacks.
    """
    torch = load_torch()
    net.eval()
    totals = np.full((len(inputs), beams), -np.inf, dtype=np.float32)
    lengths = np.zeros((len(inputs), beams), dtype=np.int64)
    # flat: many small arrays would take more memory than their tokens
    parts: list[tuple[Array, Array, Array]] = []
    waiting, done = np.argsort(-inputs.lengths, kind="stable"), 0
    for cap in sorted({min(usual_output, codec.max_output_length), codec.max_output_length}):
        sizes = np.stack([inputs.lengths, np.full(len(inputs), cap)], axis=1)
        again = [waiting[:0]]
        with Asking(
            token_batches(sizes, waiting, max(1, batch_tokens // beams)), len(inputs)
        ) as asking:
            for batch in asking:
                ids, real = padded(inputs, batch, codec.padding)
                input_ids, mask = (
                    torch.from_numpy(ids).to(device),
                    torch.from_numpy(real).to(device).long(),
                )
                states = net.get_encoder()(
                    input_ids=input_ids, attention_mask=mask, return_dict=True
                )
                answers = search(net, states, mask, beams=beams, cap=cap)
                finished = answers[4].cpu().numpy() | (cap == codec.max_output_length)
                written, values, is_token, total = (
                    part.cpu().numpy()[finished] for part in answers[:4]
                )
                finished_rows = batch[finished]
                totals[finished_rows], lengths[finished_rows] = total, is_token.sum(-1)
                parts.append(
                    (
                        finished_rows,
                        written[is_token].astype(np.int32),
                        values[is_token].astype(np.float32),
                    )
                )
                again.append(batch[~finished])
                done += len(finished_rows)
                if progress is not None and len(finished_rows):
                    progress(done, len(inputs))
        waiting = np.concatenate(again)
    offsets = np.concatenate([[0], np.cumsum(lengths.ravel())])
    all_ids, logprobs = (
        np.empty(offsets[-1], dtype=np.int32),
        np.empty(offsets[-1], dtype=np.float32),
    )
    while parts:  # in the order of the samples; the parts are let go on the way
        finished_rows, written, values = parts.pop()
        rows = (finished_rows[:, None] * beams + np.arange(beams)).ravel()
        sizes = lengths.ravel()[rows]
        at = np.arange(sizes.sum()) + np.repeat(offsets[rows] - (np.cumsum(sizes) - sizes), sizes)
        all_ids[at], logprobs[at] = written, values
    return Ragged(all_ids, offsets), Ragged(logprobs, offsets), totals

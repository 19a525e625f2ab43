"""Search: beam search over one batch; samples that are done leave it, so that the last ones do not hold up the rest."""

from __future__ import annotations

from inspect import signature
from typing import Any, NamedTuple

from ..torch.library import torch as load_torch

LEAST_GAIN = 0.15  # packing the rest of a batch together copies the caches


class Found(NamedTuple):
    """The beams of one batch, best first; torch, on the device of the search.

    ``ids`` (sample, beam, position) end with the end token; ``real`` says which positions count;
    ``token_logprobs`` has the same shape. ``totals`` (sample, beam) is -inf where a sample has fewer beams, ``ended``
    (sample,) says whether all its beams came to their end.
    """

    ids: Any
    token_logprobs: Any
    real: Any
    totals: Any
    ended: Any


def search(net: Any, states: Any, mask: Any, *, beams: int, cap: int, least_gain: float = LEAST_GAIN) -> Found:
    """The ``beams`` most probable outputs that a beam search of this width finds within ``cap`` tokens.

    At each step the 2 x beams best continuations of all beams of a sample are taken by total log-probability. Those of
    the first ``beams`` that end join the sample's answers, of which the best ``beams`` are kept; the best that do not
    end go on. A sample is done when it has as many answers as beams and none of its running beams, whose
    log-probability can only fall, is better than the worst of them. With one beam this takes the most probable token at
    each step. After ``cap`` tokens running beams are answers as they are.

    The answers are those of transformers' ``generate`` with ``length_penalty=0``; it keeps every sample in the batch to
    the end of the last, and repeats the attention to the input for each beam at each step.

    ``net`` is the torch module of an encoder-decoder with a cache, ``states`` what its encoder gave (sample, position,
    unit), ``mask`` says which positions of the inputs are real (sample, position). ``least_gain`` is the share of the
    batch that must be done before the rest is packed together.

    Source: Sutskever, Vinyals and Le (2014) for beam search.
    """
    torch = load_torch()
    kind, hidden = type(states), states.last_hidden_state
    device, rows = hidden.device, len(hidden)
    settings = net.generation_config
    end = torch.as_tensor(settings.eos_token_id, device=device).reshape(-1)
    out = _Answers(torch, rows, beams, cap, int(end[0]), device)
    place = torch.arange(rows, device=device)  # where in the output each sample of the batch belongs
    totals = torch.zeros((rows, 1), device=device)
    ids = torch.empty((rows, 1, 0), dtype=torch.long, device=device)
    values = torch.empty((rows, 1, 0), device=device)
    kept = (
        torch.full((rows, beams), -torch.inf, device=device),
        ids.expand(-1, beams, -1),
        values.expand(-1, beams, -1),
    )
    done = torch.zeros(rows, dtype=torch.bool, device=device)
    last = torch.full((rows, 1), int(settings.decoder_start_token_id), device=device)
    cache, cache_name = None, _cache_name(net)
    for step in range(cap):
        given = net(
            encoder_outputs=kind(last_hidden_state=hidden),
            attention_mask=mask,
            decoder_input_ids=last,
            use_cache=True,
            return_dict=True,
            **{cache_name: cache},
        )
        cache = given[cache_name]
        best, parent, token, value = _continuations(torch, given.logits[:, -1].float(), totals, 2 * beams)
        grown = (
            torch.cat([_rows(ids, parent), token[..., None]], -1),
            torch.cat([_rows(values, parent), value[..., None]], -1),
        )
        ends = torch.isin(token, end) | (step == cap - 1)
        answers = torch.where(ends & ~done[:, None], best, -torch.inf)[:, :beams]
        kept = _best(torch, kept, (answers, grown[0][:, :beams], grown[1][:, :beams]), beams, int(end[0]))
        totals, order = torch.where(ends, -torch.inf, best).topk(beams)
        ids, values, parent = _rows(grown[0], order), _rows(grown[1], order), parent.gather(1, order)
        done |= totals[:, 0] <= kept[0][:, -1]
        live = int(len(done) - done.sum())
        if live == 0 or step == cap - 1:
            break
        width = last.shape[0] // len(done)
        stay = torch.arange(len(done), device=device)
        if live <= (1 - least_gain) * len(done):
            out.take(place[done], *(one[done] for one in kept))
            stay = stay[~done]
            place, totals, ids, values, parent = (one[stay] for one in (place, totals, ids, values, parent))
            kept, done = (kept[0][stay], kept[1][stay], kept[2][stay]), done[stay]
        if beams > 1 or len(stay) < len(last):
            cache.self_attention_cache.reorder_cache((stay[:, None] * width + parent).flatten())
        if width < beams or len(stay) * beams < len(last):
            same = (stay[:, None] * width + torch.arange(beams, device=device).clamp(max=width - 1)).flatten()
            cache.cross_attention_cache.reorder_cache(same)
            hidden, mask = hidden[same], mask[same]
        last = ids[..., -1].reshape(-1, 1)
    out.take(place, *kept)
    return out.found(end)


def _cache_name(net: Any) -> str:
    """What transformers calls the cache of a decoder: ``cache`` since version 5.24, ``past_key_values`` before."""
    return "cache" if "cache" in signature(net.forward).parameters else "past_key_values"


def _continuations(torch: Any, logits: Any, totals: Any, most: int) -> tuple[Any, Any, Any, Any]:
    """The best continuations of each sample: total, beam, token and its log-probability, each (sample, most)."""
    rows, width = totals.shape
    top, token = logits.topk(min(most, logits.shape[-1]))
    value = (top - torch.logsumexp(logits, -1, keepdim=True)).clamp(max=0)  # rounding may leave more than 0
    joint = (totals[..., None] + value.reshape(rows, width, -1)).reshape(rows, -1)
    best, at = joint.topk(min(most, joint.shape[1]))
    found = (best, at // top.shape[1], token.reshape(rows, -1).gather(1, at), value.reshape(rows, -1).gather(1, at))
    short = most - best.shape[1]
    if short == 0:
        return found
    fills = (-torch.inf, 0, 0, -torch.inf)  # a vocabulary with fewer tokens than continuations asked for
    return tuple(torch.nn.functional.pad(one, (0, short), value=fill) for one, fill in zip(found, fills, strict=True))


def _rows(values: Any, index: Any) -> Any:
    """``values[i, index[i, j]]`` for all i and j."""
    return values.gather(1, index[..., None].expand(-1, -1, values.shape[-1]))


def _best(torch: Any, kept: Any, new: Any, beams: int, fill: int) -> tuple[Any, Any, Any]:
    """The best of the answers that were there and the new ones, which are longer by a token."""
    if not bool((new[0] > kept[0][:, -1:]).any()):
        new = tuple(one[:, :0] for one in new)
    wider = new[1].shape[-1] - kept[1].shape[-1]
    pad = torch.nn.functional.pad
    old = (kept[0], pad(kept[1], (0, wider), value=fill), pad(kept[2], (0, wider)))
    totals, order = torch.cat([old[0], new[0]], 1).topk(beams)
    return totals, _rows(torch.cat([old[1], new[1]], 1), order), _rows(torch.cat([old[2], new[2]], 1), order)


class _Answers:
    """The answers of all samples of the batch, gathered as they are done."""

    def __init__(self, torch: Any, rows: int, beams: int, cap: int, fill: int, device: Any) -> None:
        self.torch = torch
        self.ids = torch.full((rows, beams, cap), fill, dtype=torch.long, device=device)
        self.values = torch.zeros((rows, beams, cap), device=device)
        self.totals = torch.full((rows, beams), -torch.inf, device=device)

    def take(self, place: Any, totals: Any, ids: Any, values: Any) -> None:
        """Put the answers of some samples where they belong."""
        self.totals[place] = totals
        self.ids[place, :, : ids.shape[-1]] = ids
        self.values[place, :, : ids.shape[-1]] = values

    def found(self, end: Any) -> Found:
        """All of them, the positions behind the end token left out."""
        ends = self.torch.isin(self.ids, end)
        real = ((ends.cumsum(-1) - ends.long()) == 0) & (self.totals > -self.torch.inf)[..., None]
        closed = (ends & real).any(-1) | (self.totals == -self.torch.inf)
        return Found(self.ids, self.values, real, self.totals, closed.all(-1))

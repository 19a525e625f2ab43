"""Token encoder: a transformer that says of each token of a pair's second part whether it is right; all must be."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any, final

import numpy as np

from ...arrays import Array, Ragged
from ...errors import UsageError
from ..base import Text
from ..torch.batches import padded
from ..torch.library import torch as load_torch
from .encoder import TransformerClassifier
from .network import Tokens

START = 3.0  # log odds at which every token starts as right: else a long output would start as surely wrong
MARKS = 10.0  # weight of the tokens' own loss, which is small, since few tokens are wrong
LEAST = 1e-6  # of -log P: P stays below 1


@final
class TokenEncoder(TransformerClassifier):
    """Of two classes, the second is "every token of the second text of a pair is right".

    P = prod_t sigmoid(a_t) over the tokens t of the second text and the separator behind it, a_t the log odds of a
    linear head that token t is right; the logits are (0, log(P / (1 - P))). The separator stands for an end that comes
    too early.

    The loss is the cross-entropy, and ten times the mean over tokens of the cross-entropy of a_t, wherever it is known
    which tokens are wrong: all tokens of a right text are right; of a wrong one those that differ from a right text of
    the same first text among the training pairs (see `mistakes`), where there is one.

    Parameters as for `Encoder`. Raises `UsageError` for texts that are no pairs, or for other than two classes.

    Source: Cobbe et al. (2021) for verdicts on every token; Devlin et al. (2019) for pairs in an encoder.

    >>> from oodometer.models import TokenEncoder
    >>> TokenEncoder(config={"hidden_size": 32}).kind
    'token-encoder'
    """

    kind = "token-encoder"
    _task = "AutoModelForTokenClassification"
    _known: Array

    def _outputs(self) -> int:
        if len(self.classes) != 2:
            raise UsageError(f"expected two classes, wrong and right, got {len(self.classes)}; use Encoder")
        return 1

    def _ids(self, texts: Sequence[Text]) -> Ragged:
        if any(isinstance(text, str) for text in texts):
            raise UsageError("a token encoder reads pairs of texts, got single texts; use Encoder")
        return super()._ids(texts)

    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        heads = net(input_ids=ids, attention_mask=real.long(), **self._types(net, ids)).logits
        return _joined(*self._odds(heads, ids, real))

    def _odds(self, heads: Any, ids: Any, real: Any) -> tuple[Any, Any]:
        """Log odds that a token is right, and which tokens count, both (sample, position), of what the heads say."""
        torch = load_torch()
        separators = (ids == self.tokenizer.sep_token_id).long()
        return heads[..., 0].float() + START, ((separators.cumsum(1) - separators) > 0) & torch.as_tensor(real)

    def _loss(self, encoded: Tokens, batch: Array, truth: Any, device: str) -> Any:
        torch = load_torch()
        ids, real = self._tensors(encoded, batch, device)
        heads = self.net(input_ids=ids, attention_mask=real.long(), **self._types(self.net, ids)).logits
        odds, own = self._odds(heads, ids, real)
        whole = torch.nn.functional.cross_entropy(_joined(odds, own), truth[batch])
        wrong, _ = padded(Ragged(self._known, encoded.ids.offsets), batch, -1, least=self.least_width)
        faults = torch.from_numpy(wrong).to(device)
        known = own & (faults >= 0)
        each = torch.nn.functional.binary_cross_entropy_with_logits(
            odds, (faults == 0).to(odds.dtype), reduction="none"
        )
        return whole + MARKS * (each * known).sum() / known.sum().clamp(min=1)

    def _prepare(self, encoded: Tokens, truth: Array) -> None:
        if truth.ndim == 2:  # shares of right and wrong say nothing of single tokens
            self._known = np.full(len(encoded.ids.values), -1)
        else:
            self._known = mistakes(encoded.ids, truth > 0, int(self.tokenizer.sep_token_id))


def _joined(odds: Any, own: Any) -> Any:
    """Logits (0, log(P / (1 - P))) of the product over tokens."""
    torch = load_torch()
    log_p = (torch.nn.functional.logsigmoid(odds) * own).sum(1).clamp(max=-LEAST)
    margin = log_p - torch.log(-torch.expm1(log_p))
    return torch.stack([torch.zeros_like(margin), margin], 1)


def mistakes(sequences: Ragged, right: Array, separator: int) -> Array:
    """For each id of each pair: 0 it is right, 1 it is a mistake, -1 not known; int64, as long as all pairs together.

    Parameters
    ----------
    sequences :
        Ids of pairs, first part, ``separator``, second part, ``separator``; one row a pair.
    right :
        Which pairs are right, bool, shape (sample,).
    separator :
        Id that separates the parts.

    A wrong second part is laid beside a right one of the same first part, the first there is: what was put in or
    exchanged is a mistake; of what was left out, the token behind it. Source: Ratcliff and Metzener (1988).

    >>> from oodometer.models.torch.batches import ragged
    >>> pairs = ragged([[5, 0, 7, 8, 9, 0], [5, 0, 7, 9, 0], [5, 0, 7, 6, 9, 0], [4, 0, 7, 0]])
    >>> np.split(mistakes(pairs, np.array([True, False, False, False]), 0), pairs.offsets[1:-1])
    [array([0, 0, 0, 0, 0, 0]), array([0, 0, 0, 1, 0]), array([0, 0, 0, 1, 0, 0]), array([-1, -1, -1, -1])]
    """
    out = np.where(np.repeat(right, sequences.lengths), 0, -1)
    parts: list[tuple[bytes, int]] = []
    truth: dict[bytes, list[int]] = {}
    for row, good in enumerate(right.tolist()):
        start, stop = sequences.offsets[row], sequences.offsets[row + 1]
        ids = sequences.values[start:stop]
        first = int(np.argmax(ids == separator)) + 1
        parts.append((ids[:first].tobytes(), first))
        if good:
            truth.setdefault(parts[row][0], ids[first:].tolist())
    for row in np.flatnonzero(~right).tolist():
        key, first = parts[row]
        if key in truth:
            start, stop = int(sequences.offsets[row]), int(sequences.offsets[row + 1])
            out[start : start + first] = 0
            out[start + first : stop] = _differences(truth[key], sequences.values[start + first : stop].tolist())
    return out


def _differences(gold: list[int], found: list[int]) -> Array:
    """1 for each id of ``found`` that differs from ``gold``; both end with the same separator."""
    out = np.zeros(len(found), dtype=np.int64)
    short = min(len(gold), len(found))
    head = next((i for i in range(short) if gold[i] != found[i]), short)
    tail = next((i for i in range(short - head) if gold[-1 - i] != found[-1 - i]), short - head)
    a, b = gold[head : len(gold) - tail], found[head : len(found) - tail]
    for what, _, _, start, stop in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if what != "equal":
            out[min(head + start, len(found) - 1) : max(head + stop, min(head + start, len(found) - 1) + 1)] = 1
    return out

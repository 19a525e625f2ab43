"""Text metrics: how near an output is to the gold one, sample by sample, in [0, 1]: token F1 and sentence BLEU."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..arrays import Array
from ..errors import InputError


def token_f1(outputs: Sequence[str], golds: Sequence[str]) -> Array:
    """F1 = 2 c / (|output| + |gold|), c = tokens that both have, counted as often as they occur in both.

    Tokens stand between white space, case counts; order does not. Two empty texts have F1 = 1. float32, shape
    (sample,). Raises `InputError` where the lengths differ. Source: Rajpurkar et al. (2016), without their
    normalisation of English.

    >>> token_f1(["a b c", "a a", ""], ["c b a", "a b", "a"]).round(2).tolist()
    [1.0, 0.5, 0.0]
    """
    return np.array([_f1(*pair) for pair in _pairs(outputs, golds)], dtype=np.float32)


def sentence_bleu(outputs: Sequence[str], golds: Sequence[str], *, order: int = 4) -> Array:
    """BLEU = min(1, exp(1 - |gold| / |output|)) (prod_n p_n)^(1/N), p_n = share of the output's n-grams in gold.

    N is the smaller of ``order`` and the length of the output; the i-th precision that is 0 becomes 1 / (2^i times its
    number of n-grams), as in mteval. 0 where no word is shared, 1 where both are empty. Tokens stand between white
    space, case counts. float32, shape (sample,). Raises `InputError` where the lengths differ.
    Source: Papineni et al. (2002); smoothing: Chen and Cherry (2014), method 3.

    >>> print(sentence_bleu(["the cat sat", "the cat", "a"], ["the cat sat", "the cat sat", "b"]).round(3))
    [1.    0.607 0.   ]
    """
    return np.array([_bleu(*pair, order) for pair in _pairs(outputs, golds)], dtype=np.float32)


def _pairs(outputs: Sequence[str], golds: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    if len(outputs) != len(golds):
        raise InputError(
            f"{len(outputs)} gold texts, one an output",
            got=str(len(golds)),
            remedy="give as many golds as outputs",
            column="gold",
        )
    return [(output.split(), gold.split()) for output, gold in zip(outputs, golds, strict=True)]


def _f1(output: list[str], gold: list[str]) -> float:
    if not output and not gold:
        return 1.0
    return 2 * (Counter(output) & Counter(gold)).total() / (len(output) + len(gold))


def _bleu(output: list[str], gold: list[str], order: int) -> float:
    if not output or not gold:
        return float(output == gold)
    total, zeros, highest = 0.0, 0, min(order, len(output))
    for n in range(1, highest + 1):
        shared = (_grams(output, n) & _grams(gold, n)).total()
        if shared == 0 and n == 1:
            return 0.0
        zeros += shared == 0
        total += math.log((shared or 0.5**zeros) / (len(output) - n + 1))
    return math.exp(min(0.0, 1 - len(gold) / len(output)) + total / highest)


def _grams(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))

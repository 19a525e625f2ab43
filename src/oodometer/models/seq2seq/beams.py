"""Beams: what a sequence model answers, the best outputs of each input with their log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array, Ragged


@dataclass(frozen=True, eq=False)
class Beams:
    """Outputs of a beam search, best first.

    Parameters
    ----------
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

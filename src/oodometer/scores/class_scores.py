"""Scores of probabilities and logits: maximum, margin, entropy, energy; of tokens; and confidence as it is given."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, Ragged, present
from ..errors import NotApplicable
from ..kernels import entropy_sums, top_two
from ..predictions import Predictions
from ..registry import register
from .base import Score


def sequence_probability(token_logprobs: Ragged) -> Array:
    """exp(sum of token log-probabilities) of each sequence, shape (sample,), in [0, 1]; 0 for an empty one.

    ``token_logprobs`` holds the log-probabilities of each sequence's tokens, one row a sample. An empty product is 1,
    but nothing was said that the model could be sure of, and what ended it is not in the list. Source: Yao and Koller
    (2024), where it is the confidence baseline.

    >>> sequence_probability(Ragged.from_rows([[np.log(0.5), np.log(0.5)]])).round(3).tolist()
    [0.25]
    """
    return np.minimum(np.exp(token_logprobs.sums()), 1.0) * (token_logprobs.lengths > 0)


@register("score")
class SequenceProbability(Score):
    """Score exp(sum_t log p_t), shape (sample,), in [0, 1]; needs `token_logprobs`.

    Falls with the length of the output. `NotApplicable` without token log-probabilities. Source: Yao and Koller (2024).

    >>> p = Predictions.from_arrays(token_logprobs=[[-0.1, -0.1], [-2.0]])
    >>> SequenceProbability()(p).round(3).tolist()
    [0.819, 0.135]
    """

    name = "sequence_probability"
    needs = ("token_logprobs",)
    citation = "yao2024"
    is_probability = True

    def _score(self, record: Predictions) -> Array:
        return sequence_probability(present(record.token_logprobs))


@register("score")
class SequenceMeanProbability(Score):
    """Score exp((1/T) sum_t log p_t), shape (sample,), in [0, 1]; needs `token_logprobs`.

    The geometric mean of the tokens' probabilities, 1 / perplexity: it does not fall with length. 0 for an empty
    output; `NotApplicable` without the field. Source: Malinin and Gales (2021).

    >>> SequenceMeanProbability()(Predictions.from_arrays(token_logprobs=[[-1.0, -3.0]])).round(3).tolist()
    [0.135]
    """

    name = "sequence_mean_probability"
    needs = ("token_logprobs",)
    citation = "malinin2021"
    is_probability = True

    def _score(self, record: Predictions) -> Array:
        tokens = present(record.token_logprobs)
        return np.minimum(np.exp(tokens.sums() / np.maximum(tokens.lengths, 1)), 1.0) * (
            tokens.lengths > 0
        )


@register("score")
class SequenceMinProbability(Score):
    """Score min_t p_t, the probability of the weakest token, shape (sample,), in [0, 1]; needs `token_logprobs`.

    0 for an empty output; `NotApplicable` without the field. Source: Manakul et al. (2023).

    >>> SequenceMinProbability()(Predictions.from_arrays(token_logprobs=[[0.0, np.log(0.25)]])).round(3).tolist()
    [0.25]
    """

    name = "sequence_min_probability"
    needs = ("token_logprobs",)
    citation = "manakul2023"
    is_probability = True

    def _score(self, record: Predictions) -> Array:
        tokens = present(record.token_logprobs)
        return np.minimum(np.exp(tokens.minima()), 1.0) * (tokens.lengths > 0)


@register("score")
class Confidence(Score):
    """Score c = the column `confidence` as it is, shape (sample,), in [0, 1]; `NotApplicable` without it.

    Source: Hendrycks and Gimpel (2017), for any model that states one number.

    >>> Confidence()(Predictions.from_confidence([0.25, 1.0])).tolist()
    [0.25, 1.0]
    """

    name = "confidence"
    needs = ("confidence",)
    citation = "hendrycks2017"
    is_probability = True

    def _score(self, record: Predictions) -> Array:
        return present(record.confidence)


def negative_entropy(probabilities: Array) -> Array:
    """sum_k p_k log p_k (nats) of probabilities with axes (sample, class); shape (sample,), in [-log K, 0].

    A zero probability adds nothing (p log p -> 0). Source: Garg et al. (2022), where it beats max probability.

    >>> negative_entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4).tolist()
    [-0.6931, 0.0]
    """
    return entropy_sums(probabilities)


@register("score")
class NegativeEntropy(Score):
    """Score sum_k p_k log p_k, shape (sample,), nats, at most 0; needs `probabilities` or `candidate_scores`.

    Of candidates it is that of their softmax, and not divided by the logarithm of their number: exp(-score) is the
    effective number of candidates, which a further hopeless one does not change, and a guess between ten is less
    likely right than one between two. Raises `NotApplicable` without them. Source: Garg et al. (2022).

    >>> NegativeEntropy()(Predictions.from_probabilities([[1.0, 0.0]])).tolist()
    [0.0]
    """

    name = "negative_entropy"
    needs = ("probabilities|candidate_scores",)
    citation = "garg2022"

    def _score(self, record: Predictions) -> Array:
        def compute() -> Array:
            if record.candidate_scores is None:
                return negative_entropy(present(record.probabilities))
            p = record.candidate_probabilities.values
            logs = np.log(p, out=np.zeros_like(p), where=p > 0)
            return np.minimum(Ragged(p * logs, record.candidate_scores.offsets).sums(), 0.0)

        return record.derived("negative_entropy", compute)


def margin(probabilities: Array) -> Array:
    """p_(1) - p_(2) of probabilities with axes (sample, class); shape (sample,), in [0, 1]. Source: margin confidence
    as compared by Hendrycks and Gimpel (2017).

    >>> margin(np.array([[0.2, 0.5, 0.3]])).round(3).tolist()
    [0.2]
    """
    top = top_two(probabilities)
    return top.first - top.second


@register("score")
class Margin(Score):
    """Score p_(1) - p_(2), shape (sample,), in [0, 1]; needs `probabilities`, or `candidate_scores` (their softmax over
    the candidates of each sample); `NotApplicable` without them. Where the prediction is not the class of highest
    probability it is the predicted class' probability minus the highest of the others, in [-1, 1].

    Source: Hendrycks and Gimpel (2017).

    >>> Margin()(Predictions.from_probabilities([[0.75, 0.25]])).tolist()
    [0.5]
    """

    name = "margin"
    needs = ("probabilities|candidate_scores",)
    citation = "hendrycks2017"

    def _score(self, record: Predictions) -> Array:
        def compute() -> Array:
            top = record.top
            if record.is_argmax:
                return top.first - top.second
            ahead: Array = record.predicted == top.best
            return np.where(ahead, top.first - top.second, record.own_probability - top.first)

        return record.derived("margin", compute)


def energy(logits: Array) -> Array:
    """log sum_k exp(z_k) of logits with axes (sample, class); shape (sample,), stable for large logits. Source: Liu et
    al. (2020), with the sign turned so that larger = more likely correct.

    >>> energy(np.array([[1000.0, 1000.0]])).round(3).tolist()
    [1000.693]
    """
    highest = logits.max(axis=1)
    return np.asarray(highest + np.log(np.exp(logits - highest[:, None]).sum(axis=1)))


@register("score")
class Energy(Score):
    """Score logsumexp(z), shape (sample,); needs `logits`; raises `NotApplicable` without them.

    Log-probabilities given as logits make it constant 0 and useless; raw logits are wanted. Source: Liu et al. (2020).

    >>> Energy()(Predictions.from_logits([[0.0, 0.0]])).round(4).tolist()
    [0.6931]
    """

    name = "energy"
    needs = ("logits",)
    citation = "liu2020"

    def _score(self, record: Predictions) -> Array:
        return energy(present(record.logits))


def max_probability(probabilities: Array) -> Array:
    """max_k p_k of probabilities with axes (sample, class); shape (sample,), in [1/K, 1]. Source: Hendrycks and Gimpel
    (2017).

    >>> max_probability(np.array([[0.2, 0.8], [0.5, 0.5]])).tolist()
    [0.8, 0.5]
    """
    return top_two(probabilities).first


@register("score")
class MaxProbability(Score):
    """Score max_k p_k, shape (sample,); needs `probabilities`, or `candidate_scores`, whose softmax over the candidates
    of each sample it then takes; raises `NotApplicable` without them.

    Where the prediction is not the class of highest probability (a decision at another threshold, or a calibrator that
    moved the argmax) it is the probability of the class that was predicted. Source: Hendrycks and Gimpel (2017).

    >>> MaxProbability()(Predictions.from_probabilities([[0.2, 0.8]])).tolist()
    [0.8]
    """

    name = "max_probability"
    needs = ("probabilities|candidate_scores",)
    citation = "hendrycks2017"
    is_probability = True

    def _score(self, record: Predictions) -> Array:
        among_candidates = record.probabilities is None
        if among_candidates or (record.calibrated is None and record.is_argmax):
            return record.top.first
        return record.own_probability


def natural_confidence(record: Predictions) -> Score:
    """The score that reads as the model's own probability of being right, for this record.

    Max probability where there is a class distribution, else `confidence` (that in the chosen candidate among them),
    else the sequence probability; `NotApplicable` where there is none of them.

    >>> natural_confidence(Predictions.from_confidence([0.5])).name
    'confidence'
    """
    if record.candidate_scores is not None:
        return Confidence()
    if record.probabilities is not None:
        return MaxProbability()
    if record.confidence is not None:
        return Confidence()
    if record.token_logprobs is not None:
        return SequenceProbability()
    raise NotApplicable("needs `probabilities`, `logits`, `confidence` or `token_logprobs`")

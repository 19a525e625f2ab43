"""Agreement scores: how many models, views or judges say what the judged model says."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, present
from ..predictions import Predictions
from ..registry import register
from .base import Score


def vote_share(votes: Array) -> Array:
    """mean_j [judge j says Correct] of votes with axes (judge, sample); shape (sample,), in [0, 1]. Source: Yao and
    Koller (2024), whose two voting rules are its extremes 1 and > 0.

    >>> vote_share(np.array([[1, 0], [1, 1]])).tolist()
    [1.0, 0.5]
    """
    return np.asarray(np.mean(votes > 0, axis=0))


@register("score")
class VoteShare(Score):
    """Score mean_j [vote_j = Correct], shape (sample,), in [0, 1]; needs `votes`; `NotApplicable` without.

    Source: Yao and Koller (2024).

    >>> VoteShare()(Predictions.from_arrays(votes=[[True, False], [True, True]])).tolist()
    [1.0, 0.5]
    """

    name = "vote_share"
    needs = ("votes",)
    citation = "yao2024"
    is_probability = True

    def _score(self, record: Predictions) -> Array:
        return vote_share(present(record.votes))


def view_agreement(predicted: Array, views: Array) -> Array:
    """mean_j [h(x'_j) = h(x)]: predicted has axes (sample,), views (view, sample); shape (sample,), in [0, 1].

    Agreement with the prediction itself, as the paper defines it, not with the modal view. Source: Trivedi et al.
    (2023), equation 2; Ng et al. (2023).

    >>> view_agreement(np.array([0, 1]), np.array([[0, 0], [0, 0]])).tolist()
    [1.0, 0.0]
    """
    return np.asarray(np.mean(views == predicted, axis=0))


@register("score")
class ViewAgreement(Score):
    """Score mean_j [h(x'_j) = h(x)] over views, shape (sample,), in [0, 1]; needs `views` and a prediction.

    `NotApplicable` without them. Source: Trivedi et al. (2023); Ng et al. (2023).

    >>> ViewAgreement()(Predictions.from_arrays(prediction=[0, 1], views=[[0, 1], [1, 1]])).tolist()
    [0.5, 1.0]
    """

    name = "view_agreement"
    needs = ("views", "prediction|probabilities")
    citation = "ng2023"
    is_probability = True

    def _score(self, record: Predictions) -> Array:
        return view_agreement(record.predicted, present(record.views))


def view_consensus(views: Array) -> Array:
    """max_k mean_j [h(x'_j) = k] of views with axes (view, sample); shape (sample,), in [0, 1]. The code of Trivedi et
    al. (2023), whose paper words it as agreement with the prediction (`view_agreement`).

    >>> view_consensus(np.array([[0, 0], [0, 1]])).tolist()
    [1.0, 0.5]
    """
    return np.asarray(np.max([(views == view).mean(axis=0) for view in views], axis=0))


@register("score")
class ViewConsensus(Score):
    """Score max_k mean_j [h(x'_j) = k] over views, shape (sample,), in [0, 1]; needs `views`; `NotApplicable` without.

    Source: Trivedi et al. (2023), their code.

    >>> ViewConsensus()(Predictions.from_arrays(views=[[0, 1], [1, 1]])).tolist()
    [0.5, 1.0]
    """

    name = "view_consensus"
    needs = ("views",)
    citation = "trivedi2023"
    is_probability = True

    def _score(self, record: Predictions) -> Array:
        return view_consensus(present(record.views))


_ENOUGH_ROWS = 50  # two models that agree on this many rows without one exception are one model


def model_agreement(predicted: Array, others: Array) -> Array:
    """mean_i [h_0 = h_i]: predicted has axes (sample,), others (model, sample); shape (sample,), in [0, 1]. Source:
    Trivedi et al. (2023), equation 3, divided by the number of other models.

    >>> model_agreement(np.array([0, 1]), np.array([[0, 1], [0, 0]])).tolist()
    [1.0, 0.5]
    """
    return np.asarray(np.mean(others == predicted, axis=0))


def copies_of_base(record: Predictions) -> Array:
    """Boolean mask over members: those that are the judged model itself and must not vote for it."""
    members = present(record.members)
    if record.prediction is None and record.probabilities is None:
        return np.asarray(np.arange(len(members)) == 0)
    if record.rows < _ENOUGH_ROWS:
        return np.zeros(len(members), dtype=bool)
    return np.asarray((members == record.predicted).all(axis=1))


@register("score")
class ModelAgreement(Score):
    """Score mean_i [h_0 = h_i] over the other models, shape (sample,), in [0, 1]; needs `members`.

    The judged model h_0 is `prediction` (or the argmax); where there is neither it is the first member. A member that
    predicts what h_0 predicts on every reference row is taken for h_0 itself and left out. `NotApplicable` without
    members or when no other model is left. Source: Trivedi et al. (2023).

    >>> p = Predictions.from_arrays(prediction=[0, 1], members=[[0, 1], [0, 0]])
    >>> ModelAgreement()(p).tolist()
    [1.0, 0.5]
    """

    name = "model_agreement"
    needs = ("members",)
    citation = "trivedi2023"
    is_probability = True

    _left_out: Array | None = None  # before the fit

    def _fit(self, reference: Predictions) -> None:
        if self.why_not(reference) is None:
            self._left_out = copies_of_base(reference)

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record does not suffice, or None."""
        why = super().why_not(record)
        if why is None:
            left_out = self._copies(record)
            if left_out.all():
                return "needs `members` other than the judged model itself"
            if len(left_out) != len(present(record.members)):
                return f"needs the {len(left_out)} members of the reference; there are {len(present(record.members))}"
        return why

    def _copies(self, record: Predictions) -> Array:
        return self._left_out if self._left_out is not None else copies_of_base(record)

    def others(self, record: Predictions) -> Array:
        """What the other models predict, shape (model, sample)."""
        return present(record.members)[~self._copies(record)]

    def _score(self, record: Predictions) -> Array:
        return model_agreement(record.predicted, self.others(record))

"""View agreement (local manifold smoothness, LMS): share of augmented views that keep the prediction."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..predictions import Predictions
from ..registry import register
from .base import Score


def view_agreement(predicted: Array, views: Array) -> Array:
    """mean_j [h(x'_j) = h(x)]: predicted has axes (sample,), views (view, sample); shape (sample,), in [0, 1].

    Agreement with the prediction itself, as the paper defines it, not with the modal view. Source: Trivedi et al.
    (2023), equation 2; Ng et al. (2023).

    >>> view_agreement(np.array([0, 1]), np.array([[0, 0], [0, 0]])).tolist()
    [1.0, 0.0]
    """
    out: Array = np.mean(views == predicted, axis=0)
    return out


@final
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
        assert record.views is not None
        return view_agreement(record.predicted, record.views)

"""NiDMA (NLP in Disaster Management Applications): DiDMA in domain together with DiSCA out of domain."""

from __future__ import annotations

from collections.abc import Sequence

from .didma import check_pair_of_weights


def nidma(didma: float, disca_out_of_domain: float, weights: Sequence[float] = (0.5, 0.5)) -> float:
    """NiDMA = u DiDMA + v DiSCA(out of domain), u + v = 1.

    ``didma`` from `didma`, ``disca_out_of_domain`` from `disca` on data of another domain. Raises `UsageError` for
    weights that do not sum to 1. Source: Mishra, Arunkumar and Baral (2022).

    >>> round(nidma(0.65, 0.45), 3)
    0.55
    """
    u, v = check_pair_of_weights("u and v", weights)
    return u * didma + v * disca_out_of_domain

"""DiDMA (Deployment in Disaster Management Applications): DiSCA weighed against what the model costs to run."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError


def computation_score(
    *, energy: float | None = None, parameters: float | None = None, optimal_parameters: float | None = None
) -> float:
    """1 / energy, or optimal parameters / parameters; more is better, and nothing bounds it from above.

    ``energy`` in any unit, the same for all models that are compared; the unit sets how much the score weighs, so
    choose one in which the models are near 1. ``optimal_parameters``: as many as the device runs well.

    Raises `UsageError` unless exactly one form is given, with values above 0. Source: Mishra, Arunkumar and Baral
    (2022); Henderson et al. (2020) for how to measure the energy.

    >>> computation_score(energy=4.0), computation_score(parameters=2e6, optimal_parameters=1e6)
    (0.25, 0.5)
    """
    if (energy is None) == (parameters is None):
        raise UsageError("give either the energy of a model or its number of parameters")
    if energy is not None:
        return 1 / _positive("energy", energy)
    if parameters is None or optimal_parameters is None:
        raise UsageError("a score by parameters needs the optimal number of parameters for the device")
    return _positive("optimal parameters", optimal_parameters) / _positive("parameters", parameters)


def didma(disca: float, computation: float, weights: Sequence[float] = (0.5, 0.5)) -> float:
    """DiDMA = p DiSCA + q computation, p + q = 1.

    ``disca`` from `disca`, ``computation`` from `computation_score`. Raises `UsageError` for weights that do not sum
    to 1. Source: Mishra, Arunkumar and Baral (2022).

    >>> round(didma(0.7, 0.5, weights=(0.75, 0.25)), 3)
    0.65
    """
    p, q = check_pair_of_weights("p and q", weights)
    return p * disca + q * computation


def check_pair_of_weights(names: str, weights: Sequence[float]) -> tuple[float, float]:
    """Two weights that are not negative and sum to 1; `UsageError` otherwise.

    >>> check_pair_of_weights("u and v", [0.5, 0.5])
    (0.5, 0.5)
    """
    given = tuple(float(w) for w in weights)
    if len(given) != 2 or not min(given) >= 0 or abs(sum(given) - 1) > 1e-6:
        raise UsageError(f"expected two weights {names} that sum to 1, got {', '.join(f'{w:g}' for w in given)}")
    return given[0], given[1]


def _positive(name: str, value: float) -> float:
    if not 0 < value < float("inf"):
        raise UsageError(f"expected {name} above 0, got {value:g}")
    return float(value)

"""smECE: calibration error after smoothing by a Gaussian whose width is the error itself; no bins to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..registry import register
from .base import Measure, checked_pair
from .calibration_bins import BINS, BinnedMetric, CalibrationBins
from .consistency import calibrated_labels, population_error
from .spread import generator, poisson_counts

if TYPE_CHECKING:
    from jaxtyping import Float


_CELLS = 3840
_GRID = 4096
_REPLICATES = 200
_BOOTSTRAP_CELLS = 256
_BOOTSTRAP_GRID = 512
_HALVINGS = 40


def smooth_calibration_error(confidence: Any, correct: Any) -> float:
    """The sigma at which smECE_sigma = sigma, with smECE_sigma = integral |(1/n) sum_i (y_i - f_i) K_sigma(t, f_i)| dt.

    K_sigma is the Gaussian kernel on [0, 1] reflected at both ends, K_sigma(t, f) = sum over all images f' of
    f (f + 2m and 2m - f) of phi_sigma(t - f'). Since smECE_sigma falls as sigma grows, there is one such
    sigma.

    Arguments and errors as in `expected_calibration_error`. The integral is taken on a grid of 4,097 points;
    errors below about 1/4096 are not resolved. Source: Blasiok and Nakkiran (2024).

    Four of 0.8 with 3 right and five of 0.4 with 2 right: the residuals sum to -0.2, and -0.2 / 9 = -0.022.

    >>> round(smooth_calibration_error([0.8] * 4 + [0.4] * 5, [1, 1, 1, 0, 1, 1, 0, 0, 0]), 3)
    0.022
    """
    return _smooth(CalibrationBins.of(*checked_pair(confidence, correct), _CELLS))


def _deposit(where: Array, grid: int) -> tuple[Array, Array]:
    """Grid node to the left of each place in [0, 1], and the share that goes to the node on its right."""
    scaled = where * grid
    left = np.minimum(scaled.astype(np.intp), grid - 1)
    return left, scaled - left


def _smoothed_size(coefficients: Float[Array, "set node"], sigma: Float[Array, " set"]) -> Float[Array, " set"]:
    """smECE_sigma of each set from its cosine coefficients, (set, grid + 1), and its sigma, (set,).

    Reflection at both ends makes the cosines cos(pi k t) the eigenfunctions of the smoothing, with factors
    exp(-(pi k sigma)^2 / 2); so one cosine transform a sigma does what n^2 kernels would do.
    """
    from scipy.fft import dct

    grid = coefficients.shape[-1] - 1
    waves = np.pi * np.arange(grid + 1)
    damped = coefficients * np.exp(-0.5 * (waves * sigma[:, None]) ** 2)
    damped[:, -1] *= 2
    density = np.abs(dct(damped, type=1, axis=-1))
    ends = (density[:, 0] + density[:, -1]) / 2
    size: Array = (density[:, 1:-1].sum(axis=-1) + ends) / grid
    return size


def _fixed_point(masses: Float[Array, "set node"], halvings: int) -> Float[Array, " set"]:
    """The sigma with smECE_sigma = sigma of each set of residual masses at grid nodes, by halving [0, 1]."""
    from scipy.fft import dct

    halved = masses / 2
    halved[:, 0], halved[:, -1] = masses[:, 0], masses[:, -1]
    coefficients = dct(halved, type=1, axis=-1)
    low = np.zeros(masses.shape[:-1])
    high = np.minimum(np.abs(masses).sum(axis=-1), 1.0)
    for _ in range(halvings):
        middle = (low + high) / 2
        above = _smoothed_size(coefficients, middle) > middle
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    out: Array = (low + high) / 2
    return out


def _places(bins: CalibrationBins) -> tuple[Array, Array, Array]:
    """Count, mean confidence and verdict of each (cell, verdict) that is not empty; each of shape (used,)."""
    counts = bins.counts.ravel()
    used = np.flatnonzero(counts)
    verdict = np.tile([0.0, 1.0], len(bins.counts))[used]
    return counts[used], np.clip(bins.sums.ravel()[used] / counts[used], 0, 1), verdict


def _smooth(bins: CalibrationBins) -> float:
    counts, where, verdict = _places(bins)
    left, share = _deposit(where, _GRID)
    mass = counts * (verdict - where) / bins.rows
    masses = np.bincount(left, weights=mass * (1 - share), minlength=_GRID + 1)
    masses += np.bincount(left + 1, weights=mass * share, minlength=_GRID + 1)
    return float(_fixed_point(masses[None], _HALVINGS)[0])


def _replicates(bins: CalibrationBins, rng: np.random.Generator) -> tuple[Array, float, Array]:
    """Bootstrap replicates, the error on the same cells, and that of labels drawn as the confidences say."""
    coarse = bins.coarse(_BOOTSTRAP_CELLS)
    counts, where, verdict = _places(coarse)
    left, share = _deposit(where, _BOOTSTRAP_GRID)
    draws = poisson_counts(counts, _REPLICATES, rng)
    mass = draws * (verdict - where) / np.maximum(draws.sum(axis=1, keepdims=True), 1)
    spread = np.zeros((len(counts), _BOOTSTRAP_GRID + 1))
    spread[np.arange(len(counts)), left] = 1 - share
    spread[np.arange(len(counts)), left + 1] += share
    own = counts * (verdict - where) / bins.rows
    size = coarse.counts.sum(axis=1)
    full = np.flatnonzero(size)
    mean = coarse.sums.sum(axis=1)[full] / size[full]
    hits = calibrated_labels(size[full], mean, _REPLICATES, rng)
    null = np.zeros((_REPLICATES, _BOOTSTRAP_GRID + 1))
    left, share = _deposit(np.clip(mean, 0, 1), _BOOTSTRAP_GRID)
    for at, part in ((left, 1 - share), (left + 1, share)):
        np.add.at(null.T, at, ((hits - size[full] * mean) / bins.rows * part).T)
    masses = np.concatenate([mass @ spread, (own @ spread)[None], null])
    found = _fixed_point(masses, 14)  # a replicate needs three digits
    return found[:_REPLICATES], float(found[_REPLICATES]), found[_REPLICATES + 1 :]


@final
@register("metric")
class SmoothCalibrationError(BinnedMetric[Measure]):
    """Smooth calibration error (Blasiok and Nakkiran 2024): no bins, and it moves little when a confidence does.

    The state is a histogram of 3,840 cells; the interval, for the error of the population, is a Poisson
    bootstrap over 256 of them, its lower end 0 where a calibrated model might show as much (`consistency`).

    >>> from oodometer import Predictions
    >>> s = SmoothCalibrationError().compute(Predictions.from_confidence([0.9] * 4, correct=[1, 1, 1, 1]))
    >>> 0.09 < s.value < 0.1 + 1e-6
    True
    """

    name = "smece"
    bigger_is_better = False
    citation = "blasiok2024"

    def __init__(self) -> None:
        super().__init__(BINS)

    def finish(self, state: CalibrationBins, level: float = 0.95, seed: int = 0) -> Measure:
        """Error and interval."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        value = _smooth(state)
        replicates, observed, null = _replicates(state, generator(seed, self.name))
        return population_error(value, replicates, observed, null, (state.rows, state.rarer), level)

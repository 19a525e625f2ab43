"""Calibration errors: ECE in its forms, smooth, Kolmogorov-Smirnov, and the reliability diagram."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..intervals import quantiles
from ..predictions import Predictions
from ..registry import register
from ..results import Curve
from .base import CONFIDENCE, Measure, Metric, R, checked_pair, confidence_and_verdict, measure
from .ranks import Groups, RankMetric, Ranks
from .resampling import clopper_pearson_many, from_bootstrap, generator, poisson_counts

if TYPE_CHECKING:
    from jaxtyping import Float, Int


NULL_REPLICATES = 1000


def calibrated_labels(
    counts: Array, confidence: Array, replicates: int, rng: np.random.Generator
) -> Array:
    """Correct samples of each cell as calibrated confidences would give them, shape (replicate, cell)."""
    used = np.flatnonzero(counts > 0)
    out = np.zeros((replicates, len(counts)))
    trials = np.rint(counts[used]).astype(np.int64)
    out[:, used] = rng.binomial(
        trials, np.clip(confidence[used], 0, 1), size=(replicates, len(used))
    )
    return out


def population_error(
    value: float,
    replicates: Array,
    observed: float,
    null: Array,
    rows: tuple[float, float],
    level: float,
    *,
    debiased: bool = False,
    **extras: object,
) -> Measure:
    """A calibration error with an interval for the population's: ``replicates``, 0 where the ``null`` reaches it."""
    lower, upper = from_bootstrap(value, replicates, *rows, level)
    if not debiased:
        lower = max(0.0, lower - max(float(replicates.mean()) - observed, 0.0))
    tail = (1 - level) / 2
    # a norm of gap and noise is at most the norm of the gap and that of the noise
    lower = min(lower, max(0.0, observed - float(quantiles(null, [1 - tail])[0])))
    p = (1 + int((null >= observed * (1 - 1e-9)).sum())) / (1 + len(null))
    ends = 0.0 if p > tail else lower, upper
    extras |= {"interval_of": "the population's error", "p_calibrated": p}
    return measure(value, ends, level, "asymptotic", **extras)


BINS = 15
_FINE = (
    3840  # 15 * 256: narrow enough for the smooth metric, and every default metric shares the state
)


def bin_number(confidence: Array, bins: int) -> Array:
    """Bin of each confidence, intp: bin i covers (i / bins, (i + 1) / bins] in the input's dtype, the first 0 too."""
    scaled = confidence * confidence.dtype.type(bins)
    out: Array = np.ceil(scaled, out=scaled).astype(np.intp)
    out -= 1
    return np.clip(out, 0, bins - 1, out=out)


@dataclass(frozen=True, eq=False)
class CalibrationBins:
    """Counts (int64) and summed confidence by bin of equal width and verdict, 0 = wrong, 1 = right; (bin, verdict)."""

    counts: Int[Array, "bin 2"]
    sums: Float[Array, "bin 2"]

    @classmethod
    def of(cls, confidence: Array, verdict: Array, bins: int) -> CalibrationBins:
        """State of confidences in [0, 1] and verdicts 0 or 1, both of shape (sample,)."""
        code = bin_number(confidence, bins)
        code *= 2
        code += verdict
        counts = np.bincount(code, minlength=2 * bins)
        sums = np.bincount(code, weights=confidence, minlength=2 * bins).astype(
            np.float64, copy=False
        )
        return cls(counts.reshape(bins, 2).astype(np.int64, copy=False), sums.reshape(bins, 2))

    def __add__(self, other: CalibrationBins) -> CalibrationBins:
        """Sum of both."""
        if self.counts.shape != other.counts.shape:
            raise UsageError(
                "states of different numbers of cells cannot merge; use one metric for all parts"
            )
        return CalibrationBins(self.counts + other.counts, self.sums + other.sums)

    def coarse(self, bins: int) -> CalibrationBins:
        """The same in fewer bins, a divisor of their number."""
        return CalibrationBins(
            self.counts.reshape(bins, -1, 2).sum(axis=1), self.sums.reshape(bins, -1, 2).sum(axis=1)
        )

    @property
    def rows(self) -> int:
        """Number of samples."""
        return int(self.counts.sum())

    @property
    def rarer(self) -> int:
        """Number of samples of the rarer verdict."""
        return int(self.counts.sum(axis=0).min())

    @property
    def gaps(self) -> Array:
        """Sum of (confidence - correctness) in each bin."""
        return np.asarray(self.sums.sum(axis=1) - self.counts[:, 1])


def _checked_bins(bins: int) -> int:
    if bins < 1:
        raise UsageError(f"expected at least one bin, got {bins}; 15 is usual")
    return bins


class BinnedMetric(Metric[CalibrationBins, R]):
    """A metric over `CalibrationBins`; ``bins`` is the number of bins that is reported."""

    needs = CONFIDENCE

    def __init__(self, bins: int = BINS) -> None:
        self.bins = _checked_bins(bins)

    @property
    def fine_bins(self) -> int:
        """Bins kept: those reported times a power of two, so that summing them gives these to the last bit."""
        return self.bins << max(0, math.ceil(math.log2(_FINE / self.bins)))

    @property
    def state_key(self) -> str:
        """All metrics with the same number of bins share their state."""
        return f"cells:{self.fine_bins}"

    def summarize(self, batch: Predictions) -> CalibrationBins:
        """Counts and sums of one batch."""
        return CalibrationBins.of(*confidence_and_verdict(batch), self.fine_bins)


REPLICATES = 1000
_PARTS = 16  # of a bin, within which confidences are taken to be alike


def expected_calibration_error(confidence: Any, correct: Any, bins: int = BINS) -> float:
    """Sum over bins of n_b / n * |accuracy_b - confidence_b|; bin b covers (b / bins, (b + 1) / bins], the first 0.

    ``confidence`` of shape (sample,), in [0, 1]; ``correct``, booleans or 0/1, of the same shape. Raises `InputError`
    for no sample or values that are no confidences. Sources: Naeini et al. (2015), Guo et al. (2017).

    >>> round(expected_calibration_error([0.95, 0.94, 0.45, 0.0], [1, 0, 1, 0]), 4)  # (|1 - 1.89| + |1 - .45|) / 4
    0.36
    """
    return binned_error(CalibrationBins.of(*checked_pair(confidence, correct), bins))


def binned_error(bins: CalibrationBins) -> float:
    """ECE of bins."""
    return float(np.abs(bins.gaps).sum()) / bins.rows


class _EqualWidthError(BinnedMetric[Measure]):
    """What the errors over bins of equal width share; one of them takes its expected bias off."""

    bigger_is_better = False

    def _finish(self, state: CalibrationBins, level: float, seed: int) -> Measure:
        bins, rng = state.coarse(self.bins), generator(seed, self.name)
        plug_in, debiased = binned_error(bins), self.name == "ece_debiased"
        draws = poisson_counts(bins.counts, REPLICATES, rng)
        residuals = np.where(
            bins.counts > 0, bins.sums / np.maximum(bins.counts, 1) - np.array([0.0, 1.0]), 0.0
        )
        replicates = np.abs((draws * residuals).sum(axis=2)).sum(axis=1) / np.maximum(
            draws.sum(axis=(1, 2)), 1
        )
        # the same over labels drawn as the confidences say
        fine = state.coarse(self.bins * min(_PARTS, len(state.counts) // self.bins))
        counts, sums = fine.counts.sum(axis=1), fine.sums.sum(axis=1)
        hits = calibrated_labels(counts, sums / np.maximum(counts, 1), NULL_REPLICATES, rng)
        gaps = (sums - hits).reshape(NULL_REPLICATES, self.bins, -1).sum(axis=2)
        null = np.abs(gaps).sum(axis=1) / state.rows
        value, sizes = _debiased(bins) if debiased else plug_in, (bins.rows, bins.rarer)
        return population_error(
            value, replicates, plug_in, null, sizes, level, debiased=debiased, bins=self.bins
        )


@register("metric")
class ExpectedCalibrationError(_EqualWidthError):
    """ECE over ``bins`` (15) bins of equal width; the state is a sum by bin, no sample is stored.

    The value is the usual plug-in, which noise pushes up; `ece_debiased` takes the push off. The interval is for
    the error of the population over the same bins: a Poisson bootstrap over (bin, verdict), its lower end 0 where a
    calibrated model might show as much (`consistency`).

    >>> record = Predictions.from_confidence([0.95, 0.94, 0.45, 0.0], correct=[1, 0, 1, 0])
    >>> e = ExpectedCalibrationError().compute(record)
    >>> round(e.value, 4), e.lower <= e.value <= e.upper
    (0.36, True)
    """

    name = "ece"
    citation = "naeini2015"


def debiased_calibration_error(confidence: Any, correct: Any, bins: int = BINS) -> float:
    """ECE less its expected bias: sum_b n_b / n (|g_b| - (E|N(g_b, s_b^2)| - |g_b|)), cut at 0.

    g_b is accuracy minus mean confidence in bin b, s_b^2 = accuracy_b (1 - accuracy_b) / n_b. ``confidence``,
    ``correct``, ``bins`` (15 of equal width) and errors are as in `expected_calibration_error`. Source: Kumar, Liang
    and Ma (2019).

    >>> 0.35 < debiased_calibration_error([0.9] * 10, [1] * 5 + [0] * 5) <= 0.4
    True
    """
    return _debiased(CalibrationBins.of(*checked_pair(confidence, correct), bins))


def _debiased(bins: CalibrationBins) -> float:
    from scipy.special import erf

    full = bins.counts.sum(axis=1)
    size = np.maximum(full, 1)
    share, gap = bins.counts[:, 1] / size, bins.gaps / size
    sd = np.sqrt(share * (1 - share) / size)
    # E|N(mean, sd^2)| = sd sqrt(2 / pi) exp(-mean^2 / 2 sd^2) + mean (1 - 2 Phi(-mean / sd)); |mean| for sd 0
    safe = np.where(sd > 0, sd, 1.0)
    z = gap / safe
    folded = safe * math.sqrt(2 / math.pi) * np.exp(-z * z / 2) + gap * erf(z / math.sqrt(2))
    expected = np.where(sd > 0, folded, np.abs(gap))
    bias = float((size * (expected - np.abs(gap)))[full > 0].sum()) / bins.rows
    return max(0.0, binned_error(bins) - bias)


@register("metric")
class DebiasedCalibrationError(_EqualWidthError):
    """ECE less its expected bias (Kumar et al. 2019); the one to compare data sets of different sizes by.

    >>> calm = Predictions.from_confidence([0.9] * 10, correct=[1] * 9 + [0])
    >>> round(DebiasedCalibrationError().compute(calm).value, 3)
    0.0
    """

    name = "ece_debiased"
    citation = "kumar2019"


_MASS_CHUNKS = 512  # of neighbouring ranks, within which confidences are taken to be alike


def equal_mass_calibration_error(confidence: Any, correct: Any, bins: int = BINS) -> float:
    """Sum over bins of n_b / n |accuracy_b - confidence_b|, bin b of the ranks from floor(b n / bins) on.

    Equal confidences that a cut falls among are shared out in expectation, so the order of rows does not matter.
    ``confidence``, ``correct`` and errors are as in `expected_calibration_error`. Source: Nguyen and O'Connor (2015).

    >>> round(equal_mass_calibration_error([0.2, 0.4, 0.6, 0.8], [0, 1, 1, 0], bins=2), 3)  # (|.6 - 1| + |1.4 - 1|) / 4
    0.2
    """
    sizes, gaps, _ = _equal_mass_bins(Ranks.of(*checked_pair(confidence, correct)).groups, bins)
    return float(np.abs(gaps).sum() / sizes.sum())


def _equal_mass_bins(groups: Groups, bins: int) -> tuple[Array, Array, Array]:
    """Samples, sum of (confidence - correctness) and correct samples of each bin, least confident first."""
    n = groups.rows
    used = min(bins, n)
    edges = np.floor(np.arange(used + 1) * (n / used) + 1e-9)
    edges[-1] = n
    sizes, correct = groups.sizes[::-1], groups.correct[::-1]
    at = np.concatenate([[0.0], np.cumsum(sizes)])
    # Between the ends of a group of ties the expected sums are straight lines.
    forecasts = np.interp(
        edges, at, np.concatenate([[0.0], np.cumsum(sizes * groups.confidence[::-1])])
    )
    hits = np.interp(edges, at, np.concatenate([[0.0], np.cumsum(correct)]))
    return np.diff(edges), np.diff(forecasts) - np.diff(hits), np.diff(hits)


@register("metric")
class EqualMassCalibrationError(RankMetric[Measure]):
    """ECE over ``bins`` (15) bins of equal mass, with an interval for the error of the population, as that of `ece`.

    >>> r = Predictions.from_confidence([0.2, 0.4, 0.6, 0.8], correct=[0, 1, 1, 0])
    >>> round(EqualMassCalibrationError(bins=2).compute(r).value, 3)
    0.2
    """

    name = "ece_equal_mass"
    bigger_is_better = False
    citation = "nguyen2015"
    selective = False

    def __init__(self, bins: int = BINS) -> None:
        self.bins = _checked_bins(bins)

    def _finish(self, state: Ranks, level: float, seed: int) -> Measure:
        groups = state.groups
        sizes, gaps, hits = _equal_mass_bins(groups, self.bins)
        value = float(np.abs(gaps).sum()) / groups.rows
        confidence = (gaps + hits) / sizes
        counts = np.maximum(np.stack([sizes - hits, hits], axis=1), 0)
        rng = generator(seed, self.name)
        draws = poisson_counts(counts, REPLICATES, rng)
        replicated = draws[:, :, 0] * confidence + draws[:, :, 1] * (confidence - 1)
        rows = np.maximum(draws.sum(axis=(1, 2)), 1)
        # the error on joined ranks, and that of labels drawn as their confidences say
        joined = groups.joined(_MASS_CHUNKS)
        joined_sizes, gaps, hits = _equal_mass_bins(joined, self.bins)
        edges = np.concatenate([[0.0], np.cumsum(joined_sizes)])
        chunk_sizes = joined.sizes[::-1]
        null_hits = calibrated_labels(chunk_sizes, joined.confidence[::-1], NULL_REPLICATES, rng)
        at = np.concatenate([[0.0], np.cumsum(chunk_sizes)])
        sums = np.concatenate([np.zeros((len(null_hits), 1)), np.cumsum(null_hits, axis=1)], axis=1)
        # straight lines between the ends of groups, as `_equal_mass_bins` draws them
        last = np.clip(np.searchsorted(at, edges), 1, len(chunk_sizes))
        part = (edges - at[last - 1]) / chunk_sizes[last - 1]
        hits_at = sums[:, last - 1] + part * (sums[:, last] - sums[:, last - 1])
        null: Array = np.abs(gaps + hits - np.diff(hits_at, axis=1)).sum(axis=1) / joined.rows
        observed = float(np.abs(gaps).sum()) / joined.rows
        replicates = np.abs(replicated).sum(axis=1) / rows
        return population_error(
            value,
            replicates,
            observed,
            null,
            (groups.rows, groups.rarer),
            level,
            bins=len(sizes),
            **_cost_of_cuts(state, sizes),
        )


def _cost_of_cuts(state: Ranks, sizes: Array) -> dict[str, Any]:
    """``rounding`` of ranks that are not exact: what cuts into bins of these sizes may have cost.

    Only the groups that a cut goes through can be shared out wrongly, between two bins each.
    """
    if state.exact:
        return {}
    groups = state.groups
    cuts = groups.rows - np.cumsum(sizes)[:-1]
    at = np.searchsorted(groups.before, cuts, side="right") - 1
    widths = 0.0 if groups.widths is None else groups.widths
    lost = groups.disorder + groups.sizes * widths / 4
    return {"rounding": 2 * float(lost[at].sum()) / groups.rows}


_KS_REPLICATES, _KS_CHUNKS = 500, 256


def ks_calibration_error(confidence: Any, correct: Any) -> float:
    """max over k of |sum of (confidence - correct) over the k least confident samples| / n.

    Ties are taken together, which is their expectation over all orders. Arguments and errors as in
    `expected_calibration_error`. Source: Gupta et al. (2021), equation 5.

    >>> round(ks_calibration_error([0.2, 0.6, 0.9], [1, 0, 1]), 4)  # sums -0.8, -0.2, -0.3
    0.2667
    """
    return _largest_gap(Ranks.of(*checked_pair(confidence, correct)).groups)


def _largest_gap(groups: Groups) -> float:
    gaps = (groups.sizes * groups.confidence - groups.correct)[::-1]
    return float(np.abs(np.cumsum(gaps)).max()) / groups.rows


@register("metric")
class KolmogorovSmirnovError(RankMetric[Measure]):
    """KS calibration error (Gupta et al. 2021), with an interval for the error of the population.

    A Poisson bootstrap over 256 chunks of neighbouring ranks; the lower end is 0 where a calibrated model might show as
    large an error (`consistency`).

    >>> k = KolmogorovSmirnovError().compute(Predictions.from_confidence([0.2, 0.6, 0.9], correct=[1, 0, 1]))
    >>> round(k.value, 4)
    0.2667
    """

    name = "ks_calibration_error"
    bigger_is_better = False
    citation = "gupta2021"
    selective = False

    def _finish(self, state: Ranks, level: float, seed: int) -> Measure:
        groups, rng = state.groups, generator(seed, self.name)
        value = _largest_gap(groups)
        # neighbouring groups joined into chunks of near equal size, most confident first; axes (chunk, verdict)
        starts = (
            np.searchsorted(
                groups.before, np.arange(_KS_CHUNKS) * (groups.rows / _KS_CHUNKS), side="right"
            )
            - 1
        )
        counts = np.stack([groups.sizes - groups.correct, groups.correct], axis=1)
        sums = counts * groups.confidence[:, None]
        counts, sums = (np.add.reduceat(of, np.unique(starts), axis=0) for of in (counts, sums))
        means = np.where(counts > 0, sums / np.maximum(counts, 1), 0.0) - np.array([0.0, 1.0])
        draws = poisson_counts(counts[::-1], _KS_REPLICATES, rng)
        gaps = np.cumsum((draws * means[::-1]).sum(axis=2), axis=1)
        replicates: Array = np.abs(gaps).max(axis=1) / np.maximum(draws.sum(axis=(1, 2)), 1)
        # the error on chunks of ranks, and that of labels drawn as their confidences say
        counts, sums = counts[::-1], sums[::-1]
        size, total = counts.sum(axis=1), sums.sum(axis=1)
        null_hits = calibrated_labels(size, total / np.maximum(size, 1), NULL_REPLICATES, rng)
        observed = float(np.abs(np.cumsum(total - counts[:, 1])).max()) / float(size.sum())
        null: Array = np.abs(np.cumsum(total - null_hits, axis=1)).max(axis=1) / size.sum()
        sizes = (groups.rows, groups.rarer)
        if groups.widths is None:
            return population_error(value, replicates, observed, null, sizes, level)
        lost = groups.disorder + groups.sizes * groups.widths / 4
        rounding = float(lost.max()) / groups.rows
        return population_error(value, replicates, observed, null, sizes, level, rounding=rounding)


_CELLS, _GRID, _SMOOTH_REPLICATES = 3840, 4096, 200
_BOOTSTRAP_CELLS, _BOOTSTRAP_GRID, _HALVINGS = 256, 512, 40
_SECANTS, _NARROW = 5, 3.0  # steps of a secant; nodes below which a kernel is no Gaussian any more
_SMALLEST, _ROUNDED = 1e-300, 1e-14  # for logarithms; what rounding may cost


def smooth_calibration_error(confidence: Any, correct: Any) -> float:
    """The sigma at which smECE_sigma = sigma, with smECE_sigma = integral |(1/n) sum_i (y_i - f_i) K_sigma(t, f_i)| dt.

    K_sigma is the Gaussian kernel on [0, 1] reflected at both ends; the integral is taken on a grid of 4,097 points.
    ``confidence`` f, ``correct`` y and errors are as in `expected_calibration_error`. Source: Blasiok and Nakkiran
    (2024).

    >>> round(smooth_calibration_error([0.8] * 4 + [0.4] * 5, [1, 1, 1, 0, 1, 1, 0, 0, 0]), 3)  # |residuals| 0.2 / 9
    0.022
    """
    return _smooth(CalibrationBins.of(*checked_pair(confidence, correct), _CELLS))


def _deposit(where: Array, grid: int) -> tuple[Array, Array]:
    """Grid node to the left of each place in [0, 1], and the share that goes to the node on its right."""
    scaled = where * grid
    node = np.minimum(scaled.astype(np.intp), grid - 1)
    return node, scaled - node


def _fixed_point(masses: Float[Array, "set node"], halvings: int) -> Float[Array, " set"]:
    """The sigma with smECE_sigma = sigma of each set of residual masses at grid nodes, by halving [0, 1].

    Most halvings are decided by a root that a secant finds in fewer steps; only those next to it are computed.
    """
    from scipy.fft import dct

    halved = masses / 2
    halved[:, 0], halved[:, -1] = masses[:, 0], masses[:, -1]
    coefficients = dct(halved, type=1, axis=-1)
    low = np.zeros(masses.shape[:-1])
    high = np.minimum(np.abs(masses).sum(axis=-1), 1.0)
    root, doubt = _root_near(coefficients, high * 0.5**halvings / 100)
    for _ in range(halvings):
        middle = (low + high) / 2
        above = middle < root
        unsure = np.flatnonzero(np.abs(middle - root) <= doubt)
        if len(unsure) == len(root):
            above = _smoothed_error(coefficients, middle) > middle
        elif len(unsure):
            at = middle[unsure]
            above[unsure] = _smoothed_error(coefficients[unsure], at) > at
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray((low + high) / 2)


def _smoothed_error(coefficients: Array, sigma: Array) -> Array:
    """smECE_sigma of each set, from the cosine coefficients of its residual masses."""
    from scipy.fft import dct

    grid = coefficients.shape[-1] - 1
    waves = np.pi * np.arange(grid + 1)
    damped = coefficients * np.exp(-0.5 * (waves * sigma[:, None]) ** 2)
    damped[:, -1] *= 2
    density = np.abs(dct(damped, type=1, axis=-1))
    ends = (density[:, 0] + density[:, -1]) / 2
    return np.asarray((density[:, 1:-1].sum(axis=-1) + ends) / grid)


def _root_near(coefficients: Array, precise: Array) -> tuple[Array, Array]:
    """Near the sigma with smECE_sigma = sigma, and a bound on how far from it, by a secant on logarithms.

    smECE_sigma falls in sigma, so that the difference of both falls by at least as much as sigma rises: where it is d,
    the root is at most d away. It ends where that is ``precise``. Kernels as narrow as the nodes of the grid may ring:
    a root among these is not looked for, and is 0 give or take their width.
    """
    narrow = _NARROW / (coefficients.shape[-1] - 1)
    sigma = np.full(len(coefficients), narrow)
    error = _smoothed_error(coefficients, sigma)
    root = np.zeros(len(coefficients))
    doubt = np.where(error > narrow, np.inf, narrow)
    sets = np.flatnonzero(error > narrow)  # those that are still looked at
    sigma, ratio = sigma[sets], np.log(error[sets] / narrow)
    slope = np.full(len(sets), -1.5)  # of the ratio's logarithm in that of sigma, to begin with
    for _ in range(_SECANTS):
        was, ratio_was = sigma, ratio
        sigma = np.clip(sigma * np.exp(np.clip(-ratio / slope, -1.0, 3.0)), narrow, 1.0)
        error = _smoothed_error(coefficients[sets], sigma)
        away = np.abs(error - sigma)
        nearer = away < doubt[sets]
        root[sets[nearer]], doubt[sets[nearer]] = sigma[nearer], away[nearer]
        ratio = np.log(np.maximum(error, _SMALLEST) / sigma)
        moved = np.log(sigma / was)
        fall = np.divide(ratio - ratio_was, moved, out=slope, where=moved != 0)
        far = away > precise[sets]
        sets, sigma, ratio, slope = sets[far], sigma[far], ratio[far], np.minimum(fall, -1.0)[far]
        if not len(sets):
            break
    return root, 2 * doubt + _ROUNDED


def _used_cells(bins: CalibrationBins) -> tuple[Array, Array, Array]:
    """Count, mean confidence and verdict of each (cell, verdict) that is not empty; each of shape (used,)."""
    counts = bins.counts.ravel()
    used = np.flatnonzero(counts)
    verdict = np.tile([0.0, 1.0], len(bins.counts))[used]
    return counts[used], np.clip(bins.sums.ravel()[used] / counts[used], 0, 1), verdict


def _smooth(bins: CalibrationBins) -> float:
    counts, where, verdict = _used_cells(bins)
    node, share = _deposit(where, _GRID)
    mass = counts * (verdict - where) / bins.rows
    masses = np.bincount(node, weights=mass * (1 - share), minlength=_GRID + 1)
    masses += np.bincount(node + 1, weights=mass * share, minlength=_GRID + 1)
    return float(_fixed_point(masses[None], _HALVINGS)[0])


@register("metric")
class SmoothCalibrationError(BinnedMetric[Measure]):
    """Smooth calibration error (Blasiok and Nakkiran 2024): no bins, and it moves little when a confidence does.

    The state is a histogram of 3,840 cells; the interval, for the error of the population, is a Poisson
    bootstrap over 256 of them, its lower end 0 where a calibrated model might show as much (`consistency`).

    >>> s = SmoothCalibrationError().compute(Predictions.from_confidence([0.9] * 4, correct=[1, 1, 1, 1]))
    >>> 0.09 < s.value < 0.1 + 1e-6
    True
    """

    name = "smece"
    bigger_is_better = False
    citation = "blasiok2024"

    def __init__(self) -> None:
        super().__init__(BINS)

    def _finish(self, state: CalibrationBins, level: float, seed: int) -> Measure:
        value = _smooth(state)
        # bootstrap replicates, the error on the same cells, and that of labels drawn as the confidences say
        coarse, rng = state.coarse(_BOOTSTRAP_CELLS), generator(seed, self.name)
        counts, where, verdict = _used_cells(coarse)
        node, share = _deposit(where, _BOOTSTRAP_GRID)
        draws = poisson_counts(counts, _SMOOTH_REPLICATES, rng)
        mass = draws * (verdict - where) / np.maximum(draws.sum(axis=1, keepdims=True), 1)
        spread = np.zeros((len(counts), _BOOTSTRAP_GRID + 1))
        spread[np.arange(len(counts)), node] = 1 - share
        spread[np.arange(len(counts)), node + 1] += share
        observed_mass = counts * (verdict - where) / state.rows
        size = coarse.counts.sum(axis=1)
        full = np.flatnonzero(size)
        mean = coarse.sums.sum(axis=1)[full] / size[full]
        hits = calibrated_labels(size[full], mean, _SMOOTH_REPLICATES, rng)
        null = np.zeros((_SMOOTH_REPLICATES, _BOOTSTRAP_GRID + 1))
        node, share = _deposit(np.clip(mean, 0, 1), _BOOTSTRAP_GRID)
        for at, part in ((node, 1 - share), (node + 1, share)):
            np.add.at(null.T, at, ((hits - size[full] * mean) / state.rows * part).T)
        # three digits do
        errors = _fixed_point(
            np.concatenate([mass @ spread, (observed_mass @ spread)[None], null]), 14
        )
        replicates, observed = errors[:_SMOOTH_REPLICATES], float(errors[_SMOOTH_REPLICATES])
        null = errors[_SMOOTH_REPLICATES + 1 :]
        return population_error(value, replicates, observed, null, (state.rows, state.rarer), level)


@register("metric")
class ReliabilityDiagram(BinnedMetric[Curve]):
    """A curve over the ``bins`` (15) bins of equal width that are not empty: x = mean confidence, y = accuracy.

    ``extra`` holds ``rows``, ``bin_lower`` and ``bin_upper`` of each bin. The band is Clopper-Pearson's, bin
    by bin. Source: Guo et al. (2017).

    >>> c = ReliabilityDiagram(bins=2).compute(Predictions.from_confidence([0.9, 0.8, 0.1], correct=[1, 0, 0]))
    >>> c.x.round(2).tolist(), c.y.tolist(), c.extra["rows"].tolist()
    ([0.1, 0.85], [0.0, 0.5], [1, 2])
    """

    name = "reliability"
    bigger_is_better = None
    citation = "guo2017"
    gives = "curve"

    def _finish(self, state: CalibrationBins, level: float, seed: int) -> Curve:
        bins = state.coarse(self.bins)
        counts = bins.counts.sum(axis=1)
        used = np.flatnonzero(counts)
        hits, trials = bins.counts[used, 1], counts[used]
        lower, upper = clopper_pearson_many(hits, trials, level)
        share, where = hits / trials, bins.sums[used].sum(axis=1) / trials
        band = (np.minimum(lower, share), np.maximum(upper, share))
        extra = {"rows": trials, "bin_lower": used / self.bins, "bin_upper": (used + 1) / self.bins}
        axes, assumes = ("confidence", "accuracy"), "each bin on its own"
        return Curve(self.name, where, share, *band, *axes, level, "exact", assumes, extra)

"""Paired tests: whether one method ranks better than another, over draws of rows or over suites of models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..results import plain
from .rules import ROUNDING

_MOST_EXACT = 16  # suites up to which every flip of signs is tried
_FLIPS = 20_000


@final
@dataclass(frozen=True)
class PairedTest:
    """Whether a first method ranks better than a second.

    Parameters
    ----------
    difference : mean few-shot accuracy of the first minus that of the second.
    p_value : one-sided, of "the first is not better".
    over : what is drawn again: "draws" of rows, or "suites" of models.
    test : its name. units : how many draws or suites.
    p_two_sided : of "they are equally good".
    """

    difference: float
    p_value: float
    p_two_sided: float
    over: Literal["draws", "suites"]
    test: str
    units: int

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}


def draws_test(first: Array, second: Array, *, resamples: int = 10_000, seed: int = 0) -> PairedTest:
    """The paper's paired bootstrap test: the draws of rows are drawn again, both methods by the same draws.

    p = (1 + #{d* <= 0}) / (1 + resamples), d* the mean difference over pairs and resampled draws. It speaks of this one
    pool and of these models alone: draws overlap, more of them make p as small as one likes, and other models may
    differ. `suites_test` speaks of other suites.

    Parameters
    ----------
    first, second :
        Outcomes, shape (pair, draw), as `FewShot.of` gives them.
    resamples, seed :
        Of the bootstrap.

    Raises `UsageError` for outcomes of different pairs or draws, and for some that are no numbers.
    Source: Singhal et al. (2022), Table 1.

    >>> good, fair = np.ones((1, 400)), np.tile([[1.0, 0.0]], 200)
    >>> draws_test(good, fair).p_value < 0.001, draws_test(fair, fair).p_value
    (True, 1.0)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 2 or not a.size:
        raise UsageError(f"expected outcomes of the same pairs and draws, got shapes {a.shape} and {b.shape}")
    _check_finite(a, b)
    gap = (a - b).mean(axis=0)
    # how often each distinct difference is drawn says all: a resample is a draw of counts
    values, counts = np.unique(gap, return_counts=True)
    rng = np.random.default_rng([seed, 0x9A])
    means = rng.multinomial(len(gap), counts / len(gap), size=resamples) @ values / len(gap)
    return PairedTest(float(gap.mean()), *_p_values(means, 0.0), "draws", "paired bootstrap", len(gap))


def suites_test(first: Any, second: Any, *, test: Literal["sign-flip", "t"] = "sign-flip", seed: int = 0) -> PairedTest:
    """A paired test over suites of models (data sets, seeds), which are what is replicated.

    "sign-flip": p is the share of flips of the signs of the differences d whose mean is at least that of d: exact where
    the differences are symmetric about 0 under the null; every flip up to 16 suites, 20,000 drawn ones beyond. With s
    suites p is at least 2^-s: five suites are the fewest that can reach 0.05. "t": Student's paired t test, which takes
    the differences for normal.

    Parameters
    ----------
    first, second :
        Few-shot accuracy of both methods on each suite, shape (suite,).
    test, seed :
        Which test, and the seed of drawn flips.

    Raises `UsageError` for fewer than two suites, outcomes that are no numbers, and an unknown test.

    >>> round(suites_test([0.9, 0.8, 0.9, 0.95, 0.85], [0.8, 0.7, 0.85, 0.9, 0.8]).p_value, 5)
    0.03125
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or len(a) < 2:
        raise UsageError(f"expected both methods on the same suites, at least two, got shapes {a.shape} and {b.shape}")
    _check_finite(a, b)
    gap = a - b
    if test == "t":
        return _student(gap, float(np.abs([a, b]).max()))
    if test != "sign-flip":
        raise UsageError(f"expected the test 'sign-flip' or 't', got {test!r}")
    if len(gap) <= _MOST_EXACT:
        signs = 1 - 2 * ((np.arange(2 ** len(gap))[:, None] >> np.arange(len(gap))) & 1)
    else:
        signs = np.random.default_rng([seed, 0x51]).choice([-1, 1], (_FLIPS, len(gap)))
        signs[0] = 1  # the flip that happened is one of them
    means = signs @ gap / len(gap)
    mean, rounding = gap.mean(), ROUNDING * np.abs([a, b]).max()
    above = float((means >= mean - rounding).mean())
    apart = float((np.abs(means) >= abs(mean) - rounding).mean())
    name = "exact sign flips" if len(gap) <= _MOST_EXACT else "sign flips"
    return PairedTest(float(mean), above, apart, "suites", name, len(gap))


def _check_finite(a: Array, b: Array) -> None:
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise UsageError("expected outcomes that are finite numbers, got nan or inf among them; leave such suites out")


def _student(gap: Array, largest: float) -> PairedTest:
    from scipy.special import stdtr

    spread = float(gap.std(ddof=1)) / np.sqrt(len(gap))
    mean = float(gap.mean())
    if spread <= ROUNDING * largest:  # all suites differ by the same amount, up to rounding
        mean = 0.0 if abs(mean) <= ROUNDING * largest else mean
        one = 0.5 if mean == 0 else float(mean < 0)
        return PairedTest(mean, one, float(mean == 0), "suites", "paired t", len(gap))
    above = float(stdtr(len(gap) - 1, -mean / spread))
    return PairedTest(mean, above, 2 * min(above, 1 - above), "suites", "paired t", len(gap))


def _p_values(means: Array, null: float) -> tuple[float, float]:
    """One-sided and two-sided p-values of resampled mean differences, which are at most 1; ties up to rounding."""
    below = (1 + int((means <= null + ROUNDING).sum())) / (1 + len(means))
    above = (1 + int((means >= null - ROUNDING).sum())) / (1 + len(means))
    return below, min(1.0, 2 * min(below, above))

"""The beta quantile in plain Python against scipy's, and what `clopper_pearson` makes of it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import betainc, betaincinv
from scipy.stats import binomtest

from oodometer.intervals import clopper_pearson
from oodometer.kernels.incomplete_beta import beta_cdf, beta_quantile

SIZES = st.floats(1e-6, 1e7)
SHARES = st.floats(1e-6, 1 - 1e-6)


@given(SIZES, SIZES, SHARES)
def test_quantile_is_scipys(a: float, b: float, share: float) -> None:
    found = beta_quantile(a, b, share)
    assert found == pytest.approx(betaincinv(a, b, share), rel=1e-8, abs=1e-15)


@given(SIZES, SIZES, st.floats(0, 1))
def test_cdf_is_scipys(a: float, b: float, x: float) -> None:
    assert beta_cdf(a, b, x) == pytest.approx(betainc(a, b, x), rel=1e-6, abs=1e-9)


@given(st.floats(0.5, 1e4), st.floats(0.5, 1e4), SHARES)
@example(163.0, 0.5, 0.99999)  # so close to 1 that a step of 1e-12 is a large one
def test_quantile_inverts_the_cdf(a: float, b: float, share: float) -> None:
    assert beta_cdf(a, b, beta_quantile(a, b, share)) == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize("trials", [1, 2, 3, 10, 57, 1000, 33_333, 10**6, 10**8])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_clopper_pearson_is_scipys_exact_interval(trials: int, level: float) -> None:
    for share in (0, 0.001, 0.3, 0.5, 0.9, 0.999, 1):
        hits = round(share * trials)
        theirs = binomtest(hits, trials).proportion_ci(level, method="exact")
        assert clopper_pearson(hits, trials, level) == pytest.approx(
            (theirs.low, theirs.high), rel=1e-8
        )


def test_ends() -> None:
    assert beta_quantile(3, 4, 0) == 0
    assert beta_quantile(3, 4, 1) == 1
    assert beta_cdf(3, 4, 0) == 0
    assert beta_cdf(3, 4, 1) == 1
    assert beta_quantile(1, 1, 0.3) == pytest.approx(0.3, rel=1e-14)  # the uniform distribution


def test_quantile_grows_with_the_share() -> None:
    shares = np.linspace(0.001, 0.999, 200)
    found = [beta_quantile(4.5, 900.0, s) for s in shares]
    assert (np.diff(found) > 0).all()


def test_an_estimate_loads_no_scipy_special() -> None:
    """What the file was written for: the first exact interval of a process waits for no library."""
    code = (
        "import sys; from oodometer.intervals import clopper_pearson; clopper_pearson(8, 10, 0.95); "
        "sys.exit('scipy.special' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

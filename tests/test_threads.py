"""Turns at the interpreter: shortened while two cores work, put back by whoever leaves last, whatever happened."""

from __future__ import annotations

import sys
from threading import Barrier, Thread

import numpy as np
import pytest

from oodometer import estimate
from oodometer.errors import InputError
from oodometer.kernels import limited_to, short_turns


@pytest.fixture(autouse=True)
def usual() -> float:
    """The interval before a test; it must be the one after it."""
    return sys.getswitchinterval()


def test_turns_are_short_inside_and_as_before_afterwards(usual: float) -> None:
    with limited_to(2):
        with short_turns():
            assert sys.getswitchinterval() < usual
            with short_turns():
                assert sys.getswitchinterval() < usual
            assert sys.getswitchinterval() < usual
        with pytest.raises(KeyError), short_turns():
            raise KeyError
    assert sys.getswitchinterval() == usual


def test_one_core_leaves_them_alone(usual: float) -> None:
    with limited_to(1), short_turns():
        assert sys.getswitchinterval() == usual


def test_whoever_leaves_last_puts_them_back(usual: float) -> None:
    """Two callers overlap and leave in the order in which they came."""
    seen: dict[str, float] = {}
    entered, left = Barrier(2), Barrier(2)

    def first() -> None:
        with limited_to(2), short_turns():
            entered.wait()
        left.wait()

    def second() -> None:
        with limited_to(2), short_turns():
            entered.wait()
            left.wait()
            seen["second"] = sys.getswitchinterval()

    threads = [Thread(target=first), Thread(target=second)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert seen["second"] < usual
    assert sys.getswitchinterval() == usual


def test_an_estimate_leaves_them_as_they_were(usual: float) -> None:
    p = np.tile([[0.9, 0.1], [0.2, 0.8]], (50, 1))
    reference = {"probabilities": p, "label": [0, 1] * 50}
    estimate(reference, {"probabilities": p}, methods=["source"], workers=2, backtest=None, diagnosis=False)
    assert sys.getswitchinterval() == usual
    with pytest.raises(InputError):
        estimate(reference, {"label": [0, 1]}, methods=["ac"], workers=2, diagnosis=False)
    assert sys.getswitchinterval() == usual

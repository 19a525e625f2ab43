"""Every registered factor obeys the contract of its kind; one that breaks a rule is named."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer.attributions.base import WordAttributions
from oodometer.attributions.factors import Factor
from oodometer.registry import find, names
from oodometer.testing import check_factor

PAPER = [
    "max-diff",
    "sum-diff",
    "index-diff",
    "first-tok",
    "const",
    "swap-avg",
    "swap-max-diff",
    "irreg",
    "verb",
    "adj",
]


def test_the_factors_of_the_paper_in_its_order() -> None:
    assert names("factor")[: len(PAPER)] == PAPER


@pytest.mark.parametrize("name", names("factor"))
def test_contract(name: str) -> None:
    check_factor(find("factor", name))


class Least(Factor):
    """min phi. Heuristic: none. A higher mean is ranked lower. Source: here. >>> example"""

    name = "least"
    about = "smallest attribution"
    heuristic = "nothing speaks against the answer"

    def value(self, found: WordAttributions) -> float | None:
        return float(found.values.min())


class Squared(Least):
    """Does not scale. Heuristic: none. A higher mean is ranked lower. Source: here. >>> example"""

    def value(self, found: WordAttributions) -> float | None:
        return float(found.values[0] ** 2)


class Spoiling(Least):
    """Changes what it is given. Heuristic: none. A higher mean is ranked lower. Source: here. >>> example"""

    def value(self, found: WordAttributions) -> float | None:
        found.values.sort()
        return float(found.values[0])


class Mute(Least):
    """Says nothing of direction. Heuristic: none. Source: here. >>> example"""


class OfPairs(Least):
    """Answers for a single text. Heuristic: none. A higher mean is ranked lower. Source: here. >>> example"""

    needs = ("pair",)


class Nothing(Least):
    """Gives no number. Heuristic: none. A higher mean is ranked lower. Source: here. >>> example"""

    def value(self, found: WordAttributions) -> float | None:
        return float(np.log(0 * found.values[0])) if len(found.values) < 0 else None


def test_a_small_factor_of_ones_own() -> None:
    check_factor(Least)


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (Squared, "twice the attributions"),
        (Spoiling, "stay as they are"),
        (Mute, "which direction"),
        (OfPairs, "single text"),
        (Nothing, "some example"),
    ],
)
def test_a_broken_rule_is_named(broken: type[Factor], rule: str) -> None:
    with pytest.raises(AssertionError, match=rule):
        check_factor(broken)

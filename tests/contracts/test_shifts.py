"""Every registered shift of images obeys the contract; one that breaks a rule is named."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from oodometer.registry import names
from oodometer.shifts import ImageShift, find_image_shift
from oodometer.testing import check_image_shift


@pytest.mark.parametrize("name", names("shift"))
def test_contract(name: str) -> None:
    check_image_shift(lambda: find_image_shift(name))


class Posterize(ImageShift):
    """The highest bits of each channel. Source: here. >>> example"""

    name = "posterize"
    about = "each channel keeps few of its levels"
    citation = "hendrycks2019"
    constants: ClassVar[Any] = (6, 5, 4, 3, 2)

    def _shifted(self, pixels: Any, constant: Any, draws: Any) -> Any:
        return pixels & (256 - (1 << (8 - constant)))


class OfItsBatch(Posterize):
    """Depends on the batch. Source: here. >>> example"""

    def _shifted(self, pixels: Any, constant: Any, draws: Any) -> Any:
        return pixels + np.uint8(len(pixels))


class InPlace(Posterize):
    """Changes what it was given. Source: here. >>> example"""

    def _shifted(self, pixels: Any, constant: Any, draws: Any) -> Any:
        pixels //= 2
        return pixels


class Short(Posterize):
    """Lacks a constant. Source: here. >>> example"""

    constants = (6, 5)


def test_a_small_shift_of_ones_own() -> None:
    check_image_shift(Posterize)


@pytest.mark.parametrize(
    ("broken", "rule"),
    [(OfItsBatch, "does not depend on its batch"), (InPlace, "stay as they are"), (Short, "one constant")],
)
def test_a_broken_rule_is_named(broken: type[ImageShift], rule: str) -> None:
    with pytest.raises(AssertionError, match=rule):
        check_image_shift(broken)

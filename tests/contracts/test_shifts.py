"""Every registered shift obeys the contract of its kind; one that breaks a rule is named."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from oodometer.errors import UsageError
from oodometer.registry import find, names
from oodometer.testing import check_image_shift, check_text_shift
from oodometer_lab.shifts import ImageShift, TextShift, find_image_shift, find_text_shift
from oodometer_lab.shifts.text import Dropped, ImportantWords, ShiftedText, Vocabulary
from oodometer_lab.shifts.text.synonyms import SynonymShift
from oodometer_lab.shifts.text.words import words_of

TEXTS = [name for name in names("shift") if issubclass(find("shift", name), TextShift)]


@pytest.mark.parametrize("name", [name for name in names("shift") if name not in TEXTS])
def test_contract(name: str) -> None:
    check_image_shift(lambda: find_image_shift(name))
    check_image_shift(lambda: find_image_shift(name, "imagenet-c"))


def ready(name: str) -> TextShift:
    """A shift of texts with all that it may need."""
    cls = find_text_shift(name, dialogues=True)
    if not issubclass(cls, SynonymShift):
        return cls()
    meanings = {
        "big": ["grand", "huge"],
        "house": ["dwelling"],
        "old": ["elderly"],
        "sees": ["beholds"],
        "small": ["tiny"],
    }
    options: dict[str, Any] = {"synonyms": lambda word: meanings.get(word, [])}
    if cls is ImportantWords:
        options["importance"] = lambda turns: np.arange(
            float(sum(len(words_of(one)) for one in turns))
        )
    # known words are some of the synonyms, unknown ones the others
    return cls(Vocabulary.of(["a big house; huge, tiny"]), **options)


@pytest.mark.parametrize("name", TEXTS)
def test_contract_of_texts(name: str) -> None:
    check_text_shift(lambda: ready(name))


class Reversed(TextShift):
    """Turns in another order. Source: here. >>> example"""

    name = "reversed"
    about = "the turns stand in another order"
    citation = "lee2021"
    usual = ("1",)

    def check_severity(self, severity: Any) -> Any:
        if severity not in (1, "1") or severity is True:
            raise UsageError("expected 1")
        return 1

    def _shifted(
        self, turns: tuple[str, ...], severity: Any, rng: np.random.Generator
    ) -> ShiftedText | Dropped:
        return (
            ShiftedText(turns[::-1], len(turns), len(turns)) if any(turns) else Dropped("no words")
        )


class Remembering(Reversed):
    """Depends on what it saw before. Source: here. >>> example"""

    def __init__(self) -> None:
        self.seen = 0

    def _shifted(
        self, turns: tuple[str, ...], severity: Any, rng: np.random.Generator
    ) -> ShiftedText | Dropped:
        self.seen += 1
        return ShiftedText(turns[self.seen % 2 :], len(turns), 0)


class Lenient(Reversed):
    """Takes any severity. Source: here. >>> example"""

    def check_severity(self, severity: Any) -> Any:
        return severity


def test_a_small_shift_of_texts_of_ones_own() -> None:
    check_text_shift(Reversed)


@pytest.mark.parametrize(
    ("broken", "rule"), [(Remembering, "the same seed"), (Lenient, "is refused")]
)
def test_a_broken_rule_of_texts_is_named(broken: type[TextShift], rule: str) -> None:
    with pytest.raises(AssertionError, match=rule):
        check_text_shift(broken)


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
    [
        (OfItsBatch, "does not depend on its batch"),
        (InPlace, "stay as they are"),
        (Short, "one constant"),
    ],
)
def test_a_broken_rule_is_named(broken: type[ImageShift], rule: str) -> None:
    with pytest.raises(AssertionError, match=rule):
        check_image_shift(broken)

"""Shifts: the contract checks of shifts of images, and of texts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import UsageError
from ..shifts import ImageShift, TextShift
from ..shifts.text import Dropped
from .attributions import check_said


def check_image_shift(make: Callable[[], ImageShift]) -> None:
    """Check a shift of images: what it says of itself, sizes, that batches do not matter, seeds, severities.

    ``make`` makes one: its class, as a rule. Raises `AssertionError` with the name of the rule that was broken.

    >>> from oodometer.shifts.image.fog import Fog
    >>> check_image_shift(Fog)
    """
    shift = make()
    check_said(shift)
    assert len(shift.constants) == len(shift.severities), "one constant for each severity"
    assert shift.severities == tuple(range(1, len(shift.severities) + 1)), "severities count from 1"
    images = np.random.default_rng(0).integers(0, 256, (7, 18, 24, 3), dtype=np.uint8)
    before = images.copy()
    moved = False
    for severity in shift.severities:
        whole = shift.apply(images, severity, seed=3, first_row=5)
        assert whole.dtype == np.uint8, "uint8 images"
        assert whole.shape == images.shape, "images of the same shape"
        assert np.array_equal(images, before), "the images that were given stay as they are"
        again = shift.apply(images, severity, seed=3, first_row=5)
        assert np.array_equal(whole, again), "the same seed, the same pixels"
        for row in range(len(images)):
            alone = shift.apply(images[row : row + 1], severity, seed=3, first_row=5 + row)[0]
            assert np.array_equal(alone, whole[row]), "an image does not depend on its batch"
        moved = moved or not np.array_equal(whole, images)
    assert moved, "some severity changes the images"
    grey, several = images[..., 0], [images[0], images[1, :16, :9]]
    assert shift.apply(grey, 1).shape == grey.shape, "grey images stay grey"
    assert [item.shape for item in shift.apply(several, 1)] == [item.shape for item in several], (
        "a list of several sizes"
    )
    for wrong in (0, len(shift.severities) + 1, True, 1.5):
        try:
            shift.apply(images, wrong)  # type: ignore[arg-type]
        except UsageError:
            continue
        raise AssertionError(f"severity {wrong!r} is refused")


def check_text_shift(make: Callable[[], TextShift]) -> None:
    """Check a shift of texts or dialogues: what it says of itself, seeds, that rows do not matter to each other, that
    draws are nested, severities.

    ``make`` makes one that is ready to work, with the training texts and synonyms that it needs. Raises
    `AssertionError` with the name of the rule that was broken.

    >>> from oodometer.shifts.text.casing import Casing
    >>> check_text_shift(Casing)
    """
    shift = make()
    check_said(shift)
    assert shift.usual, "`usual` names severities, as they are typed"
    assert shift.counts, "`counts` says what a target is"
    turns = tuple(f"Old Tom {i} sees the big house, and then a small one." for i in range(6))
    moved = False
    for severity in shift.usual:
        result = shift.apply(turns, severity, seed=3, row=5)
        assert result == shift.apply(list(turns), severity, seed=3, row=5), "the same seed, the same texts"
        make().apply(turns[:2], severity, seed=3, row=4)
        assert result == make().apply(turns, severity, seed=3, row=5), "a text does not depend on the others"
        if isinstance(result, Dropped):
            assert result.why, "what is dropped has a reason"
            assert not result.why.endswith("."), "the reason has no full stop"
            continue
        assert all(isinstance(turn, str) for turn in result.turns), "turns are texts"
        assert 0 <= result.targets <= result.words, "targets are some of the words"
        assert 1 <= len(result.turns) <= len(turns), "a shift adds no turns"
        moved = moved or result.turns != turns
    if not shift.for_dialogues:
        assert moved, "some severity changes the texts"
        assert isinstance(shift.apply([""], shift.usual[0]), Dropped), "a text without words is dropped"
    for wrong in ("none", -1, True, None):
        try:
            shift.check_severity(wrong)
        except UsageError:
            continue
        raise AssertionError(f"severity {wrong!r} is refused")

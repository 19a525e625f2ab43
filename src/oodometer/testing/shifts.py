"""Shifts: the contract checks of shifts of images."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np

from ..citations import BIBTEX
from ..errors import UsageError
from ..shifts import ImageShift

__all__ = ["check_image_shift"]


def check_image_shift(make: Callable[[], ImageShift]) -> None:
    """Check a shift of images: what it says of itself, sizes, that batches do not matter, seeds, severities.

    ``make`` makes one: its class, as a rule. Raises `AssertionError` with the name of the rule that was broken.

    >>> from oodometer.shifts.image.fog import Fog
    >>> check_image_shift(Fog)
    """
    shift = make()
    said = inspect.getdoc(type(shift)) or ""
    assert shift.name
    assert shift.name == shift.name.strip().lower(), "a name in lower case"
    assert shift.about, "`about` is one sentence"
    assert not shift.about.endswith("."), "`about` is one sentence without its full stop"
    assert "Source:" in said, "the docstring names a source"
    assert ">>>" in said, "the docstring has an example"
    assert shift.citation in BIBTEX, f"{shift.citation} stands in citations.bib"
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
    assert [one.shape for one in shift.apply(several, 1)] == [one.shape for one in several], "a list of several sizes"
    for wrong in (0, len(shift.severities) + 1, True, 1.5):
        try:
            shift.apply(images, wrong)  # type: ignore[arg-type]
        except UsageError:
            continue
        raise AssertionError(f"severity {wrong!r} is refused")

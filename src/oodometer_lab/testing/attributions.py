"""Attributions and shifts: their contract checks."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from oodometer.errors import UsageError
from oodometer.testing.methods import check_said, refuses

from ..attributions import Attribution, Model, WordAttributions, Words
from ..shifts import ImageShift, TextShift
from ..shifts.text import Dropped

_TEXTS: tuple[Any, ...] = (
    "a good film, and not dull",
    ("the old film was seen", "a scene was bad"),
    Words(("was it good?", "it was great"), 2),
)


def check_attribution(make: Callable[[], Attribution], model: Model | None = None) -> None:
    """Check a method of attribution: what it says of itself, shapes, that neither order nor company of examples
    matters, seeds, targets, refusals.

    ``make`` makes one: its class, as a rule. ``model`` is what it explains, with two classes or more; by default a
    function that knows a few words. Raises `AssertionError` with the name of the rule that was broken.

    >>> from oodometer_lab.attributions import Lime
    >>> check_attribution(Lime)
    """
    method = make()
    check_said(method)
    plain = all(
        isinstance(value, bool | int | float | str | None) for value in method.options().values()
    )
    assert plain, "options are plain values"
    probe = _known_words if model is None else model
    steps: list[tuple[int, int]] = []
    result = method.explain(probe, _TEXTS, progress=lambda done, total: steps.append((done, total)))
    assert steps, "progress is told"
    assert steps[-1][0] == steps[-1][1], "progress ends at the whole"
    texts = [getattr(entry, "text", entry) for entry in _TEXTS]
    assert [entry.words.text for entry in result] == texts, "texts in their order"
    assert result[2].words.feature == 2, "words that are given are kept"
    for item in result:
        assert item.values.shape == (len(item.words.words),), "a value for each word"
        assert item.values.dtype == np.float64, "values are float64"
        assert np.isfinite(item.values).all(), "values are finite"
        assert 0 <= item.probability <= 1, "the probability of the target is one"
    assert math.isnan(result[0].separator), "a single text has no separator"

    def near(first: Any, second: Any, rule: str) -> None:
        """The same but for the rounding of a network that is asked in other batches."""
        for two in zip(first, second, strict=True):
            mine, yours = ([*item.values, *_numbers(item)[1:5]] for item in two)
            assert np.allclose(mine, yours, rtol=0, atol=1e-5, equal_nan=True), rule

    predicted = [entry.target for entry in result]
    near(result, make().explain(probe, _TEXTS), "the same seed, the same values")
    near(result, method.explain(probe, _TEXTS[::-1])[::-1], "the order of examples does not matter")
    near(
        result[1:2], method.explain(probe, _TEXTS[1:2]), "an example does not depend on the others"
    )
    near(
        result,
        method.explain(probe, _TEXTS, targets=predicted),
        "the predicted class is explained by default",
    )
    flipped = method.explain(probe, _TEXTS, targets=[int(entry == 0) for entry in predicted])
    for entry, flip in zip(result, flipped, strict=True):
        assert flip.target != entry.target, "targets are explained"
        assert entry.probability > flip.probability, "the predicted class is the most probable one"
    _check_groups(method, probe, result)
    _check_refusals(method, probe)


def _check_groups(method: Attribution, probe: Model, result: list[WordAttributions]) -> None:
    """Groups hold each text once, and a group apart gives what all texts together gave."""
    groups = method.groups_for(probe, _TEXTS)
    assert sorted(at for group in groups for at in group) == list(range(len(_TEXTS))), (
        "each text is in one group"
    )
    for group in groups:
        for at, single in zip(
            group, method.explain(probe, [_TEXTS[entry] for entry in group]), strict=True
        ):
            both = zip(_numbers(single), _numbers(result[at]), strict=True)
            same = all(np.array_equal(*pair, equal_nan=True) for pair in both)
            assert same, "a group that is explained apart has the same values, to the last bit"


def _check_refusals(method: Attribution, probe: Model) -> None:
    """Targets that are no classes, or too few, and texts that are none are refused."""
    for targets in ([0], [0, 0, 99], [0, 0, -1]):
        refuses(
            partial(method.explain, probe, _TEXTS, targets=targets),
            f"targets {targets} are refused",
        )
    for wrong, rule in (
        (["good", " "], "a text without words"),
        ([], "no texts"),
        ("good", "a text alone"),
    ):
        refuses(partial(method.explain, probe, wrong), f"{rule}: refused")


def _numbers(item: WordAttributions) -> list[Any]:
    return [item.values, item.separator, item.target, item.probability, item.base, item.fit]


def _known_words(texts: list[Any]) -> list[list[float]]:
    out = []
    for text in texts:
        item = text if isinstance(text, str) else " | ".join(text)
        score = (
            0.3
            + 1.5 * ("good" in item)
            + ("great" in item)
            - 2.0 * ("bad" in item)
            + 0.5 * ("|" in item)
        )
        out.append([1 - 1 / (1 + math.exp(-score)), 1 / (1 + math.exp(-score))])
    return out


def check_image_shift(make: Callable[[], ImageShift]) -> None:
    """Check a shift of images: what it says of itself, sizes, that batches do not matter, seeds, severities.

    ``make`` makes one: its class, as a rule. Raises `AssertionError` with the name of the rule that was broken.

    >>> from oodometer_lab.shifts.image.weather import Fog
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
        shifted = shift.apply(images, severity, seed=3, first_row=5)
        assert shifted.dtype == np.uint8, "uint8 images"
        assert shifted.shape == images.shape, "images of the same shape"
        assert np.array_equal(images, before), "the images that were given stay as they are"
        again = shift.apply(images, severity, seed=3, first_row=5)
        assert np.array_equal(shifted, again), "the same seed, the same pixels"
        for row in range(len(images)):
            alone = shift.apply(images[row : row + 1], severity, seed=3, first_row=5 + row)[0]
            assert np.array_equal(alone, shifted[row]), "an image does not depend on its batch"
        moved = moved or not np.array_equal(shifted, images)
    assert moved, "some severity changes the images"
    grey, several = images[..., 0], [images[0], images[1, :16, :9]]
    assert np.array_equal(shift.apply(grey, 1), shift.apply(grey[..., None], 1)[..., 0]), (
        "grey images stay grey"
    )
    alone = [shift.apply(item[None], 1, first_row=row)[0] for row, item in enumerate(several)]
    same = all(map(np.array_equal, shift.apply(several, 1), alone))
    assert same, "images of a list of several sizes are shifted as each alone"
    for wrong in (0, len(shift.severities) + 1, True, 1.5):
        refuses(partial(shift.apply, images, wrong), f"severity {wrong!r} is refused", UsageError)  # type: ignore[arg-type]


def check_text_shift(make: Callable[[], TextShift]) -> None:
    """Check a shift of texts or dialogues: what it says of itself, seeds, that rows do not matter to each other, that
    draws are nested, severities.

    ``make`` makes one that is ready to work, with the training texts and synonyms that it needs. Raises
    `AssertionError` with the name of the rule that was broken.

    >>> from oodometer_lab.shifts.text import Casing
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
        assert result == shift.apply(list(turns), severity, seed=3, row=5), (
            "the same seed, the same texts"
        )
        make().apply(turns[:2], severity, seed=3, row=4)
        assert result == make().apply(turns, severity, seed=3, row=5), (
            "a text does not depend on the others"
        )
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
        assert isinstance(shift.apply([""], shift.usual[0]), Dropped), (
            "a text without words is dropped"
        )
    for wrong in ("none", -1, True, None):
        refuses(partial(shift.check_severity, wrong), f"severity {wrong!r} is refused", UsageError)

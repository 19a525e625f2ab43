"""Attributions: the contract checks of attributions, of their factors, and of what any method says of itself."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array
from ..attributions import Attribution, Model, WordAttributions, Words
from ..attributions.factors import Factor
from ..citations import BIBTEX
from ..errors import InputError, UsageError

_PAIRS = (
    ("Unless the good men drew a map, the tall judge was sleeping.", "The tall men drew a good map."),
    ("The judge thought that the old king was singing.", "the old king was singing"),
)
_SINGLE = ("The tall man drew the big map while he was singing.", "Some waiter ate and the young guest was sleeping.")


def check_factor(make: Callable[[], Factor]) -> None:
    """Check a factor: what it says of itself, that it gives a finite number or None, changes nothing, scales with the
    attributions and says None where its words are absent.

    Parameters
    ----------
    make :
        Makes one: its class, as a rule.

    Raises `AssertionError` with the name of the rule that was broken.

    >>> from oodometer.attributions.factors import MaxDiff
    >>> check_factor(MaxDiff)
    """
    factor = make()
    # what a factor says of itself
    sentence = " ".join((inspect.getdoc(type(factor)) or "").split())
    assert factor.name == factor.name.strip().lower(), "a name in lower case"
    assert factor.name, "a name"
    for trait in ("about", "heuristic"):
        text = getattr(factor, trait)
        assert text, f"`{trait}` is one sentence"
        assert not text.endswith("."), f"`{trait}` is one sentence without its full stop"
    assert factor.needs in ((), ("pair",)), '`needs` is empty or ("pair",)'
    assert factor.citation in BIBTEX, f"{factor.citation} stands in citations.bib"
    assert "Source:" in sentence, "the docstring names a source"
    assert "ranked lower" in sentence, "the docstring says which direction is bad"
    assert "Heuristic:" in sentence, "the docstring says which heuristic it measures"
    assert ">>>" in sentence, "the docstring has an example"
    rng = np.random.default_rng(0)
    values = []
    for text in (*_PAIRS, *_SINGLE):
        result = _found(Words(text), rng.normal(size=len(Words(text).words)), rng.normal())
        before = result.values.copy()
        value = factor.value(result)
        values.append(value)
        assert np.array_equal(result.values, before), "the attributions that were given stay as they are"
        assert value == make().value(result), "the same attributions, the same number"
        if value is None:
            continue
        assert isinstance(value, float), "a number or None"
        assert math.isfinite(value), "a finite number"
        twice = factor.value(_found(result.words, 2 * result.values, 2 * result.separator))
        assert twice is not None, "whether there is a number hangs on the words"
        assert math.isclose(twice, 2 * value, rel_tol=1e-9), "twice the attributions, twice the number"
    assert any(value is not None for value in values), "some example has a number"
    if "pair" in factor.needs:
        assert values[len(_PAIRS) :] == [None] * len(_SINGLE), "None for a single text, where a pair is needed"
    odd = _found(Words(("12 34", "")), np.array([0.5, 0.25]), float("nan"))
    assert factor.value(odd) is None or not factor.needs, "None where a part has no word"


def _found(words: Words, values: Array, separator: float) -> WordAttributions:
    return WordAttributions(words, values, separator if words.is_pair else float("nan"), 1, 0.9)


def check_said(method: Any) -> None:
    """Check name, sentence, docstring and citation of a method; `AssertionError` names the rule that was broken."""
    text = inspect.getdoc(type(method)) or ""
    assert method.name
    assert method.name == method.name.strip().lower(), "a name in lower case"
    assert method.about, "`about` is one sentence"
    assert not method.about.endswith("."), "`about` is one sentence without its full stop"
    assert "Source:" in text, "the docstring names a source"
    assert ">>>" in text, "the docstring has an example"
    assert method.citation in BIBTEX, f"{method.citation} stands in citations.bib"


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

    >>> from oodometer.attributions import Lime
    >>> check_attribution(Lime)
    """
    method = make()
    check_said(method)
    assert all(isinstance(value, bool | int | float | str | None) for value in method.options().values()), (
        "options are plain values"
    )
    probe = _known_words if model is None else model
    steps: list[tuple[int, int]] = []
    result = method.explain(probe, _TEXTS, progress=lambda done, total: steps.append((done, total)))
    assert steps, "progress is told"
    assert steps[-1][0] == steps[-1][1], "progress ends at the whole"
    assert [entry.words.text for entry in result] == [getattr(entry, "text", entry) for entry in _TEXTS], (
        "texts in their order"
    )
    assert result[2].words.feature == 2, "words that are given are kept"
    for item in result:
        assert item.values.shape == (len(item.words.words),), "a value for each word"
        assert item.values.dtype == np.float64, "values are float64"
        assert np.isfinite(item.values).all(), "values are finite"
        assert 0 <= item.probability <= 1, "the probability of the target is one"
    assert math.isnan(result[0].separator), "a single text has no separator"
    again = make().explain(probe, _TEXTS)
    assert all(_near(*two) for two in zip(result, again, strict=True)), "the same seed, the same values"
    turned = method.explain(probe, _TEXTS[::-1])
    assert all(_near(*two) for two in zip(result, turned[::-1], strict=True)), "the order of examples does not matter"
    assert _near(result[1], method.explain(probe, _TEXTS[1:2])[0]), "an example does not depend on the others"
    predicted = [entry.target for entry in result]
    given = method.explain(probe, _TEXTS, targets=predicted)
    assert all(_near(*two) for two in zip(result, given, strict=True)), "the predicted class is explained by default"
    other = method.explain(probe, _TEXTS, targets=[int(entry == 0) for entry in predicted])
    assert all(two.target != entry.target for entry, two in zip(result, other, strict=True)), "targets are explained"
    assert all(entry.probability > two.probability for entry, two in zip(result, other, strict=True)), (
        "the predicted class is the most probable one"
    )
    for wrong in ([0], [0, 0, 99], [0, 0, -1]):
        _refused(method, probe, _TEXTS, wrong, f"targets {wrong}")
    groups = method.groups_for(probe, _TEXTS)
    assert sorted(at for group in groups for at in group) == list(range(len(_TEXTS))), "each text is in one group"
    for group in groups:
        for at, apart in zip(group, method.explain(probe, [_TEXTS[entry] for entry in group]), strict=True):
            same = [np.array_equal(*both, equal_nan=True) for both in zip(_said(apart), _said(result[at]), strict=True)]
            assert all(same), "a group that is explained apart has the same values, to the last bit"
    for texts, rule in ((["good", " "], "a text without words"), ([], "no texts"), ("good", "a text alone")):
        _refused(method, probe, texts, None, rule)


def _said(item: WordAttributions) -> list[Any]:
    return [item.values, item.separator, item.target, item.probability, item.base, item.fit]


def _near(item: WordAttributions, two: WordAttributions) -> bool:
    """Whether two are the same but for the rounding of a network that is asked in other batches."""
    mine = [*item.values, item.separator, item.target, item.probability, item.base]
    yours = [*two.values, two.separator, two.target, two.probability, two.base]
    return bool(np.allclose(mine, yours, rtol=0, atol=1e-5, equal_nan=True))


def _known_words(texts: list[Any]) -> list[list[float]]:
    """Probabilities of a function that knows a few words."""
    plain = [text if isinstance(text, str) else " | ".join(text) for text in texts]
    score = [
        0.3 + 1.5 * ("good" in item) + ("great" in item) - 2.0 * ("bad" in item) + 0.5 * ("|" in item) for item in plain
    ]
    p = [1 / (1 + math.exp(-item)) for item in score]
    return [[1 - item, item] for item in p]


def _refused(method: Attribution, model: Model, texts: Any, targets: Any, rule: str) -> None:
    try:
        method.explain(model, texts, targets=targets)
    except (InputError, UsageError):
        return
    raise AssertionError(f"{rule}: refused")

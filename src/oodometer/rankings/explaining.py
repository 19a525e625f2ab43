"""Explaining: attributions of the labelled texts for each model, the factors over them, and the words they look at."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..attributions import WordAttributions, Words, normalized
from ..attributions.factors import factor_values
from ..attributions.factors.base import Factor
from ..errors import UsageError
from ..registry import create, find, names
from ..results.ranking import ExplainedExample
from .answered import Answered
from .attributing import Means, attributions_of
from .options import RankOptions

_NUDGE = 1e-6  # of the largest attribution: small enough that the largest word stays the largest


@final
@dataclass(frozen=True, eq=False)
class Explained:
    """Attributions and factors.

    rows : labelled rows that were explained. found : for each model, one a row. factors : names. values : float64,
    shape (model, factor, row), nan where a factor's words do not occur. method : `FewShotRanking.attribution`.
    """

    rows: tuple[int, ...]
    found: tuple[tuple[WordAttributions, ...], ...]
    factors: tuple[str, ...]
    values: Array
    method: Mapping[str, Any]

    def examples(self, suite: Answered) -> tuple[ExplainedExample, ...]:
        """One for each row, ready to be drawn."""
        return tuple(self._example(suite, at, row) for at, row in enumerate(self.rows))

    def _example(self, suite: Answered, at: int, row: int) -> ExplainedExample:
        text = suite.inputs[row]
        words = self.found[0][at].words
        places = tuple((int(part), *span) for part, span in zip(words.parts, words.spans, strict=True))
        models = {
            name: {
                "target": suite.classes[found[at].target],
                "probability": found[at].probability,
                "values": found[at].values.tolist(),
                "separator": found[at].separator,
                "base": found[at].base,
                "fit": found[at].fit,
                "factors": self._factors(number, at, found[at]),
            }
            for number, (name, found) in enumerate(zip(suite.names, self.found, strict=True))
        }
        parts = (text,) if isinstance(text, str) else tuple(text)
        return ExplainedExample(suite.ids[row], suite.classes[suite.labels[row]], parts, words.words, places, models)

    def _factors(self, model: int, at: int, found: WordAttributions) -> dict[str, Any]:
        out = {}
        for number, name in enumerate(self.factors):
            value = float(self.values[model, number, at])
            if not math.isnan(value):
                out[name] = {"value": value, "words": words_of(create("factor", name), found)}
        return out


def explain_suite(
    suite: Answered,
    options: RankOptions,
    progress: Callable[[int, int], None] | None,
    means: Means = Means(),  # noqa: B008 (it is frozen)
) -> tuple[Explained | None, str]:
    """Attributions of the labelled texts, at most ``options.explain`` of them; None and the reason where not possible.

    ``means`` say where groups of texts are explained, and which folder keeps their attributions. Raises `UsageError`
    where a factor or an attribution was named and the rows are no texts of live models, and for a factor of pairs on
    single texts.
    """
    why = _why_not(suite)
    if why and (options.factors or options.attribution != "auto"):
        raise UsageError(why)
    if why:
        return None, why
    chosen = _factors(suite, options)
    rows = _rows(suite.labelled, options)
    texts: list[Words] = [Words(suite.inputs[row]) for row in rows]
    bare = len(rows) - sum(bool(one.words) for one in texts)
    rows = tuple(row for row, one in zip(rows, texts, strict=True) if one.words)
    texts = [one for one in texts if one.words]
    if not rows:
        return None, "none of the examples has a word to explain"
    method = _method(options)
    each = attributions_of(suite.classifiers, method, texts, means, progress)
    found = [tuple(normalized(one, options.normalize) for one in explained) for explained in each]
    values = np.full((len(found), len(chosen), len(rows)), np.nan)
    for number, one in enumerate(found):
        if chosen:
            values[number] = factor_values(one, chosen)
    told = {
        "method": options.method,
        "about": find("attribution", options.method).about,
        "citation": find("attribution", options.method).citation,
        "samples": getattr(method, "samples", getattr(method, "steps", None)),
        "normalize": options.normalize,
        "rows": len(rows),
        "of": suite.labelled,
        "without_words": bare,
        "factors": [{"name": name, "heuristic": find("factor", name).heuristic} for name in chosen],
    }
    return Explained(rows, tuple(found), chosen, values, told), ""


def _why_not(suite: Answered) -> str:
    if not suite.classifiers:
        return "predictions files hold answers and no models: attributions and factors need live models"
    if not suite.inputs:
        return f"attributions and factors are of texts, and these rows are of the kind {suite.modality}; leave them out"
    return ""


def _factors(suite: Answered, options: RankOptions) -> tuple[str, ...]:
    """Those that were named, else all that fit; `UsageError` for one of pairs on single texts."""
    pairs = suite.modality == "pair"
    if not options.factors and options.attribution == "auto":
        return ()
    if not options.factors:
        return tuple(name for name in names("factor") if pairs or "pair" not in find("factor", name).needs)
    for name in options.factors:
        if "pair" in find("factor", name).needs and not pairs:
            raise UsageError(
                f"the factor {name} compares the two texts of a pair, and these are single texts; leave it out, or "
                "name both columns of a pair with --input"
            )
    return options.factors


def _rows(labelled: int, options: RankOptions) -> tuple[int, ...]:
    if labelled <= options.explain:
        return tuple(range(labelled))
    drawn = np.random.default_rng([options.seed, labelled]).choice(labelled, size=options.explain, replace=False)
    return tuple(sorted(drawn.tolist()))


def _method(options: RankOptions) -> Any:
    """The attribution method; ``samples`` are the steps of one that takes steps."""
    takes = inspect.signature(find("attribution", options.method)).parameters
    more: dict[str, Any] = {"seed": options.seed} if "seed" in takes else {}
    if options.samples is not None:
        name = next((one for one in ("samples", "steps") if one in takes), None)
        if name is None:
            raise UsageError(f"the attribution {options.method} takes no number of samples; leave --samples out")
        more[name] = options.samples
    return create("attribution", options.method, **more)


def words_of(factor: Factor, found: WordAttributions) -> list[int]:
    """Places of the words that a factor looks at: those whose attribution moves it, found by moving each a little.

    >>> from oodometer.registry import create
    >>> one = WordAttributions(Words(("he ran", "he sat")), np.array([0.5, -0.75, 0.25, 0.0]), 0.0, 1, 0.9)
    >>> words_of(create("factor", "max-diff"), one)
    [0, 2]
    """
    value = factor.value(found)
    if value is None:
        return []
    step = _NUDGE * (float(np.abs(found.values).max()) or 1.0)
    least = step / (100 * max(1, len(found.values)))  # a mean of n words moves by a share of 1 / n
    out = []
    for place in range(len(found.values)):
        moved = found.values.copy()
        moved[place] += step
        other = factor.value(replace(found, values=moved))
        if other is None or abs(other - value) > least:
            out.append(place)
    return out

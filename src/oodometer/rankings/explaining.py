"""Explaining: attributions of the labelled texts for each model, the factors over them, and the words they look at."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..attributions import WordAttributions, Words, normalized
from ..attributions.base import Attribution
from ..attributions.factors import factor_values
from ..attributions.factors.base import Factor
from ..engines import Engine, run_tasks
from ..errors import UsageError
from ..models.base import Classifier, Progress
from ..models.sent import SentModel, forgetting
from ..passes.run_folder import RunFolder
from ..registry import create, find, names
from ..results.ranking import ExplainedExample
from .answered import Answered
from .asking import Kept, name_of_attributions
from .options import RankOptions

Question = tuple[SentModel, list[Words]]
"""A model, and texts that are explained for it together."""


@final
@dataclass(frozen=True)
class _Task:
    """Explains a group of texts by a model, with one thread."""

    method: Attribution
    gpu: bool

    def __call__(self, item: Question) -> list[WordAttributions]:
        model, texts = item
        with model.opened() as classifier:
            return self.method.explain(classifier, texts)


def explain_elsewhere(
    engine: Engine, method: Attribution, items: Sequence[Question], on_result: Callable[[list[WordAttributions]], None]
) -> None:
    """Explain groups of texts, each by a model that travels as its path.

    ``on_result`` is called with the attributions of each group, in the order of the items, as they come.
    """
    with forgetting():
        gpu = any(model.gpu for model, _ in items)
        run_tasks(engine, _Task(method, gpu), items, on_result=lambda _, found: on_result(found))


@final
@dataclass(frozen=True)
class Means:
    """How models are asked: the models as they travel, the engine of tasks, and the folder that keeps what is finished.

    sent : None for models in memory, which no engine and no folder takes.
    """

    sent: Sequence[SentModel] | None = None
    engine: Engine | None = None
    folder: RunFolder | None = None


def attributions_of(
    models: Sequence[Classifier],
    method: Attribution,
    texts: Sequence[Words],
    means: Means,
    progress: Progress | None = None,
) -> list[list[WordAttributions]]:
    """What a method says of the texts for each model, in order; ``progress`` is called with (texts explained, all).

    Texts are explained in the groups of `Attribution.groups_for`, whose numbers do not depend on each other, so that
    neither an engine nor a folder moves a number, but for the threads: tasks have one.
    """
    groups = [(number, group) for number, model in enumerate(models) for group in method.groups_for(model, texts)]
    words = [[texts[at] for at in group] for _, group in groups]
    names: list[str] = []
    if means.folder is not None and means.sent is not None:
        tasks = means.engine is not None
        whose = [means.sent[number] for number, _ in groups]
        names = [name_of_attributions(one, method, own, tasks) for one, own in zip(whose, words, strict=True)]
    kept = Kept(means.folder, names)
    found: dict[int, list[WordAttributions]] = {}
    for place in range(len(names)):
        held = kept.attributions(place, words[place])
        if held is not None:
            found[place] = held
    total, done = len(models) * len(texts), sum(map(len, found.values()))
    rest = [place for place in range(len(groups)) if place not in found]

    def tell(rows: int, more: int, all_: int) -> None:
        if progress is not None:
            progress(done + rows * more // max(all_, 1), total)

    def finished(place: int, new: list[WordAttributions]) -> None:
        nonlocal done
        kept.keep_attributions(place, new)
        found[place] = new
        done += len(new)
        tell(0, 0, 1)

    if done:
        tell(0, 0, 1)
    if means.engine is None or means.sent is None:
        for place in rest:
            own = words[place]
            finished(place, method.explain(models[groups[place][0]], own, progress=partial(tell, len(own))))
    else:
        items = [(means.sent[groups[place][0]], words[place]) for place in rest]
        order = iter(rest)
        explain_elsewhere(means.engine, method, items, lambda new: finished(next(order), new))
    by_text: list[dict[int, WordAttributions]] = [{} for _ in models]
    for place, (number, group) in enumerate(groups):
        by_text[number].update(zip(group, found[place], strict=True))
    return [[one[at] for at in range(len(texts))] for one in by_text]


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
    suite: Answered, options: RankOptions, progress: Callable[[int, int], None] | None, means: Means = Means()
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
    takes = inspect.signature(find("attribution", options.method)).parameters
    more: dict[str, Any] = {"seed": options.seed} if "seed" in takes else {}
    if options.samples is not None:
        name = next((one for one in ("samples", "steps") if one in takes), None)
        if name is None:
            raise UsageError(f"the attribution {options.method} takes no number of samples; leave --samples out")
        more[name] = options.samples
    method = create("attribution", options.method, **more)
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

"""Explaining: attributions of the labelled texts for each model, the factors over them, and the words they look at."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np

from oodometer.arrays import Array
from oodometer.engines import Engine, run_tasks
from oodometer.errors import InputError, UsageError
from oodometer.passes.run_folder import RunFolder
from oodometer.predictions import Predictions
from oodometer.rankings.answered import Answered
from oodometer.rankings.explained import Explained
from oodometer.registry import create, find, names
from oodometer.results.ranking import ExplainedExample
from oodometer.store.artifact_cache import checksum
from oodometer.version import __version__

from ..attributions import WordAttributions, Words, normalized
from ..attributions.base import Attribution
from ..attributions.factors import factor_values
from ..attributions.factors.base import Factor
from ..datasets import Dataset, Table
from ..models.base import Answers, Classifier, Progress
from ..models.opening import SentModel, forgetting

_FORM = "1"  # of what is kept: other versions of the package have other names anyway


def name_of_answers(model: SentModel, data: Dataset) -> str:
    """What tells the answers of a model to these inputs from any others.

    >>> model = SentModel("m", ["m", ["weights", 10, 99]])
    >>> name_of_answers(model, Dataset("", ("a", "b"))) == name_of_answers(model, Dataset("other", ("a", "b")))
    True
    >>> name_of_answers(model, Dataset("", ("a", "b"))) == name_of_answers(model, Dataset("", ("a\\nb",)))
    False
    """
    return checksum("answers", *_model(model), data.modality, *_content(data.inputs))


def _model(model: SentModel) -> Iterator[str]:
    """The version of the package, files and options of a model, and where it runs."""
    yield from (_FORM, __version__)
    yield json.dumps([model.stamp, sorted(model.options.items()), model.on_gpu_here], default=repr)


def _content(inputs: Any) -> Iterator[str | bytes]:
    """All that inputs are, of whatever kind, each piece told from the next."""
    if isinstance(inputs, np.ndarray):
        yield f"array {inputs.dtype} {inputs.shape}"
        if inputs.dtype.kind == "O":
            cells = [
                ("nan" if isinstance(cell, float) and math.isnan(cell) else cell)
                for cell in inputs.ravel()
            ]
            yield repr(cells).encode("utf-8", "surrogatepass")
        else:
            yield np.ascontiguousarray(inputs).tobytes()
    elif isinstance(inputs, Table):
        for name, values in inputs.columns.items():
            yield name
            yield from _content(values)
    elif isinstance(inputs, (list, tuple)):
        yield f"{len(inputs)} of a list"
        for part in inputs:
            yield from _content(part)
    else:
        yield type(inputs).__name__
        yield inputs if isinstance(inputs, (str, bytes)) else repr(inputs)


AT_ONCE = 4096
"""Rows that a model is asked about in one call: enough to fill batches of one length, few enough to be lost."""


def ask_all(
    models: Sequence[Classifier],
    names: Sequence[str],
    parts: Sequence[Dataset],
    classes: Sequence[int | str],
    sent: Sequence[SentModel] | None = None,
    folder: RunFolder | None = None,
    progress: Progress | None = None,
) -> tuple[list[Predictions], dict[str, int]]:
    """The record of each model, rows in the order of the parts, classes in one order; and who cut how many inputs.

    Each part is one call. What a model (as ``sent``) answered to a part is kept in the ``folder`` and not asked again.
    """
    keys = [name_of_answers(model, part) for model in sent or () for part in parts]
    kept = _KeptPieces(folder, keys)
    sizes = [len(part) for part in parts]
    total = len(models) * sum(sizes)
    done = sum(rows for at, rows in enumerate(sizes * len(models)) if kept.was_there(at))

    def tell(rows: int = 0, part_done: int = 0, part_total: int = 1) -> None:
        if progress is not None:
            progress(min(done + rows * part_done // max(part_total, 1), total), total)

    if done:
        tell()
    records, truncated = [], {}
    for number, (name, model) in enumerate(zip(names, models, strict=True)):
        answers, cut = list[tuple[Array, Array | None]](), 0
        for index, part in enumerate(parts, number * len(parts)):
            stored = kept.get(index)
            if stored is None:
                rows = 0 if kept.was_there(index) else len(part)
                stored = _asked(model, part, partial(tell, rows))
                kept.keep(index, stored)
                done += rows
            answers.append(_in_order(stored, classes))
            cut += stored["truncated"]
        records.append(_record_of(name, answers, classes))
        if cut:
            truncated[name] = cut
    return records, truncated


@final
class _KeptPieces:
    """Pieces of work, by number, that a run folder keeps under keys; without a folder or keys nothing is kept."""

    def __init__(self, folder: RunFolder | None, keys: Sequence[str]) -> None:
        self._folder, self._keys = folder, keys
        self._there = [] if folder is None else folder.expect(keys)

    def was_there(self, index: int) -> bool:
        """Whether a piece was kept before."""
        return index < len(self._there) and self._there[index]

    def get(self, index: int) -> Any:
        """A piece; None where it is not kept, or damaged."""
        if self._folder is None or not self.was_there(index):
            return None
        return self._folder.get(self._keys[index])

    def keep(self, index: int, piece: Any) -> None:
        """Keep a piece."""
        if self._folder is not None and self._keys:
            self._folder.keep(self._keys[index], piece)


def _asked(model: Classifier, part: Dataset, progress: Progress) -> dict[str, Any]:
    """What a model answers to a part, as a folder keeps it."""
    answers = model.ask(part, progress=progress)
    logits, probabilities = (
        None if values is None else np.asarray(values)
        for values in (answers.logits, answers.probabilities)
    )
    return {
        "classes": tuple(answers.classes),
        "truncated": model.truncated,
        "logits": logits,
        "probabilities": probabilities,
    }


def _in_order(
    stored: Mapping[str, Any], classes: Sequence[int | str]
) -> tuple[Array, Array | None]:
    """Probabilities and logits of what `_asked` gave, columns in the order of the classes."""
    logits, probabilities = stored["logits"], stored["probabilities"]
    answers = Answers(stored["classes"], logits=logits, probabilities=probabilities)
    columns = [str(name) for name in answers.classes]
    order = [columns.index(str(name)) for name in classes]
    return (
        np.asarray(answers.distribution)[:, order],
        None if answers.logits is None else np.asarray(answers.logits)[:, order],
    )


def _record_of(
    name: str, answers: Sequence[tuple[Array, Array | None]], classes: Sequence[int | str]
) -> Predictions:
    """The record of a model's answers to all parts: of logits where every part has them."""
    logits = [part for _, part in answers if part is not None]
    try:
        if len(logits) == len(answers):
            return Predictions.from_logits(
                np.concatenate(logits), classes=list(classes), source=name
            )
        return Predictions.from_probabilities(
            np.concatenate([part for part, _ in answers]), classes=list(classes), source=name
        )
    except InputError as error:
        raise error.at(file=name) from None


@final
@dataclass(frozen=True)
class _Task:
    """Explains a group of texts by a model, with one thread."""

    method: Attribution
    gpu: bool

    def __call__(self, item: tuple[SentModel, list[Words]]) -> list[WordAttributions]:
        model, texts = item
        with model.opened() as classifier:
            return self.method.explain(classifier, texts)


@final
@dataclass(frozen=True)
class Means:
    """How models are asked: the models as they travel (None in memory), the engine, the folder that keeps answers."""

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
    """What a method says of the texts for each model, in order.

    Texts are explained in the groups of `Attribution.groups_for`, whose numbers do not depend on each other, so that
    neither an engine nor a folder moves a number, but for the threads: tasks have one.
    """
    groups = [
        (number, group)
        for number, model in enumerate(models)
        for group in method.groups_for(model, texts)
    ]
    words = [[texts[at] for at in group] for _, group in groups]
    kept = _KeptPieces(means.folder, _attribution_keys(method, groups, words, means))
    explained = _ExplainedGroups(kept, words, len(models) * len(texts), progress)
    rest = explained.rest
    if means.engine is None or means.sent is None:
        for index in rest:
            tell = partial(explained.tell, len(words[index]))
            new = method.explain(models[groups[index][0]], words[index], progress=tell)
            explained.finish(index, new)
    else:
        items = [(means.sent[groups[index][0]], words[index]) for index in rest]
        order, task = iter(rest), _Task(method, any(model.gpu for model, _ in items))
        with forgetting():
            run_tasks(
                means.engine,
                task,
                items,
                on_result=lambda _, new: explained.finish(next(order), new),
            )
    by_text: list[dict[int, WordAttributions]] = [{} for _ in models]
    for index, (number, group) in enumerate(groups):
        by_text[number].update(zip(group, explained.results[index], strict=True))
    return [[model_sent[at] for at in range(len(texts))] for model_sent in by_text]


@final
class _ExplainedGroups:
    """The attributions of groups of texts that are finished: those that were kept, and new ones; tells of texts."""

    def __init__(
        self,
        kept: _KeptPieces,
        words: Sequence[Sequence[Words]],
        total: int,
        progress: Progress | None,
    ) -> None:
        self._kept, self._total, self._progress = kept, total, progress
        self.results: dict[int, list[WordAttributions]] = {}
        for index, texts in enumerate(words):
            if (piece := kept.get(index)) is not None:
                self.results[index] = _unpacked(piece, texts)
        self.rest = [index for index in range(len(words)) if index not in self.results]
        self._done = sum(map(len, self.results.values()))
        if self._done:
            self.tell()

    def tell(self, rows: int = 0, more: int = 0, every: int = 1) -> None:
        """Say how far the work is: of a group of so many rows a part is done."""
        if self._progress is not None:
            self._progress(self._done + rows * more // max(every, 1), self._total)

    def finish(self, index: int, new: list[WordAttributions]) -> None:
        """Keep the attributions of a group."""
        self._kept.keep(index, _packed(new))
        self.results[index] = new
        self._done += len(new)
        self.tell()


def _attribution_keys(
    method: Attribution,
    groups: Sequence[tuple[int, Sequence[int]]],
    words: Sequence[Sequence[Words]],
    means: Means,
) -> list[str]:
    """What tells the attributions of each group from any others; none where nothing is kept."""
    if means.folder is None or means.sent is None:
        return []
    # tasks have one thread, which may move a number
    about = json.dumps([method.name, method.options(), means.engine is not None], default=repr)
    keys = []
    for (number, _), texts in zip(groups, words, strict=True):
        content = *(repr(text.feature) for text in texts), *_content([text.text for text in texts])
        keys.append(checksum("attributions", *_model(means.sent[number]), about, *content))
    return keys


def _packed(attributions: Sequence[WordAttributions]) -> dict[str, Array]:
    """The attributions of a group as a folder keeps them."""
    numbers = [[each.separator, each.probability, each.base, each.fit] for each in attributions]
    return {
        "values": np.concatenate([each.values for each in attributions]),
        "targets": np.array([each.target for each in attributions], dtype=np.int64),
        "numbers": np.array(numbers, dtype=np.float64),
    }


def _unpacked(piece: Mapping[str, Array], texts: Sequence[Words]) -> list[WordAttributions]:
    """The attributions of a group that a folder kept."""
    ends = np.cumsum([len(text.words) for text in texts])[:-1]
    values, targets = np.split(piece["values"], ends), piece["targets"].tolist()
    rows = zip(texts, values, targets, piece["numbers"].tolist(), strict=True)
    return [
        WordAttributions(text, parts, separator, target, probability, base, fit)
        for text, parts, target, (separator, probability, base, fit) in rows
    ]


_NUDGE = 1e-6  # of the largest attribution: small enough that the largest word stays the largest


def explain_suite(
    suite: Answered,
    classifiers: Sequence[Classifier],
    options: Any,
    progress: Callable[[int, int], None] | None,
    means: Means = Means(),
) -> tuple[Explained | None, str]:
    """Attributions of the labelled texts, at most ``options.explain``; None and the reason where not possible."""
    if not suite.inputs:
        words = f"attributions and factors are of texts, and these rows are of the kind {suite.modality}"
        raise UsageError(f"{words}; leave them out")
    chosen = _factors(options.factors, suite.modality == "pair")
    rows = tuple(range(suite.labelled))
    if suite.labelled > options.explain:
        rng = np.random.default_rng([options.seed, suite.labelled])
        rows = tuple(
            sorted(rng.choice(suite.labelled, size=options.explain, replace=False).tolist())
        )
    texts_of = {row: text for row in rows if (text := Words(suite.inputs[row])).words}
    bare, rows, texts = len(rows) - len(texts_of), tuple(texts_of), list(texts_of.values())
    if not rows:
        return None, "none of the examples has a word to explain"
    method = create("attribution", options.method, **_settings(options))
    each = attributions_of(classifiers, method, texts, means, progress)
    attributed = [
        tuple(normalized(option, options.normalize) for option in explained) for explained in each
    ]
    values = np.full((len(attributed), len(chosen), len(rows)), np.nan)
    for number, option in enumerate(attributed):
        if chosen:
            values[number] = factor_values(option, chosen)
    described = {
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
    examples = _examples(suite, rows, attributed, chosen, values)
    return Explained(rows, chosen, values, examples, described), ""


def _examples(
    suite: Answered,
    rows: Sequence[int],
    attributed: Sequence[Sequence[WordAttributions]],
    factors: Sequence[str],
    factors_of: Array,
) -> tuple[ExplainedExample, ...]:
    """One for each row, ready to be drawn: its words, and what each model and factor makes of them."""
    out = []
    for at, row in enumerate(rows):
        text, words = suite.inputs[row], attributed[0][at].words
        spans = tuple(
            (int(part), *span) for part, span in zip(words.parts, words.spans, strict=True)
        )
        models = {}
        for number, name in enumerate(suite.names):
            attributions = attributed[number][at]
            values = dict(zip(factors, factors_of[number, :, at].tolist(), strict=True))
            models[name] = {
                "target": suite.classes[attributions.target],
                "probability": attributions.probability,
                "values": attributions.values.tolist(),
                "separator": attributions.separator,
                "base": attributions.base,
                "fit": attributions.fit,
                "factors": {
                    factor: {
                        "value": value,
                        "words": words_of(create("factor", factor), attributions),
                    }
                    for factor, value in values.items()
                    if not math.isnan(value)
                },
            }
        parts = (text,) if isinstance(text, str) else tuple(text)
        label = suite.classes[suite.labels[row]]
        out.append(ExplainedExample(suite.ids[row], label, parts, words.words, spans, models))
    return tuple(out)


def _factors(requested: Sequence[str], pairs: bool) -> tuple[str, ...]:
    """Names of the factors to work out: those that were asked for, else all that fit the texts."""

    def compares_texts(name: str) -> bool:
        return "pair" in find("factor", name).needs

    if not requested:
        return tuple(name for name in names("factor") if pairs or not compares_texts(name))
    wrong = next((name for name in requested if compares_texts(name) and not pairs), None)
    if wrong is not None:
        remedy = "leave it out, or name both columns of a pair with --input"
        raise UsageError(
            f"the factor {wrong} compares the two texts of a pair, and these are single texts; {remedy}"
        )
    return tuple(requested)


def _settings(options: Any) -> dict[str, int]:
    """The seed and the number of samples, where the attribution takes them."""
    takes = inspect.signature(find("attribution", options.method)).parameters
    settings = {"seed": options.seed} if "seed" in takes else {}
    if options.samples is not None:
        name = next((option for option in ("samples", "steps") if option in takes), None)
        if name is None:
            raise UsageError(
                f"the attribution {options.method} takes no number of samples; leave --samples out"
            )
        settings[name] = options.samples
    return settings


def words_of(factor: Factor, attributions: WordAttributions) -> list[int]:
    """Places of the words that a factor looks at: those whose attribution moves it, found by moving each a little.

    >>> from oodometer.registry import create
    >>> one = WordAttributions(Words(("he ran", "he sat")), np.array([0.5, -0.75, 0.25, 0.0]), 0.0, 1, 0.9)
    >>> words_of(create("factor", "max-diff"), one)
    [0, 2]
    """
    value = factor.value(attributions)
    if value is None:
        return []
    step = _NUDGE * (float(np.abs(attributions.values).max()) or 1.0)
    # a mean of n words moves by a share of 1 / n
    threshold = step / (100 * max(1, len(attributions.values)))
    out = []
    for index in range(len(attributions.values)):
        moved = attributions.values.copy()
        moved[index] += step
        moved_value = factor.value(replace(attributions, values=moved))
        if moved_value is None or abs(moved_value - value) > threshold:
            out.append(index)
    return out

"""The contract of an attribution method: texts and a classifier in, a number for each word out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError, UsageError
from oodometer.options import is_whole

from ..models.base import Classifier, Progress, Text, check_texts
from ..shifts.text.words import words_of


@final
@dataclass(frozen=True)
class Words:
    """A text, or a pair of them, as words and punctuation marks.

    text : a string, or a pair of strings. feature : position among ``words`` of the word that a data set marks as the
        one that decides; None for none.

    A combining mark belongs to the word before it; a run of letters of a script without spaces between words, such as
    Chinese or Thai, is one word. Raises `UsageError` for a feature that is no position of a word.

    >>> pair = Words(("a man eats.", "he sleeps"))
    >>> pair.words, pair.parts.tolist()
    (('a', 'man', 'eats', '.', 'he', 'sleeps'), [0, 0, 0, 0, 1, 1])
    """

    text: Text
    feature: int | None = None

    def __post_init__(self) -> None:
        position = self.feature
        if position is not None and not (is_whole(position, 0) and position < len(self.words)):
            raise UsageError(
                f"expected the position of one of {len(self.words)} words, got {position!r}"
            )

    @property
    def texts(self) -> tuple[str, ...]:
        """The parts as strings."""
        return (self.text,) if isinstance(self.text, str) else self.text

    @property
    def is_pair(self) -> bool:
        """Whether there are two parts, with a separator between them."""
        return not isinstance(self.text, str)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Words and punctuation marks of all parts, in order."""
        return tuple(word.text for part in self.texts for word in words_of(part))

    @cached_property
    def parts(self) -> Array:
        """The part that each word stands in, 0 or 1, int64, shape (word,)."""
        return np.repeat(np.arange(len(self.texts)), [len(words_of(part)) for part in self.texts])

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Where each word starts and ends in its part, in characters."""
        return tuple((word.start, word.end) for part in self.texts for word in words_of(part))

    @property
    def features(self) -> int:
        """What can be left out: the words, and the separator of a pair, which comes last."""
        return len(self.words) + self.is_pair

    def place(self, words: Sequence[str], part: int | None = None) -> int | None:
        """The position of the first word (in lower case) that is among these, of one part or of all; None for none."""
        lowered = {word.lower() for word in words}
        for index, word in enumerate(self.words):
            if word.lower() in lowered and part in (None, int(self.parts[index])):
                return index
        return None


def as_words(texts: Sequence[Text | Words]) -> list[Words]:
    """Each text as `Words`; `InputError` for none at all, for what is no text or no Unicode, and for no words."""
    plain = (
        texts
        if isinstance(texts, str)
        else [text.text if isinstance(text, Words) else text for text in texts]
    )
    checked = check_texts(plain)
    pairs = zip(texts, checked, strict=True)
    examples = [entry if isinstance(entry, Words) else Words(text) for entry, text in pairs]
    for row, example in enumerate(examples, 1):
        check_unicode({"text": " ".join(example.texts)}, row)
        if not example.words:
            got = repr(example.text)[:60]
            raise InputError(
                "a text with words", got=got, remedy="leave the row out", row=row, column="text"
            )
    return examples


def check_unicode(texts: Mapping[str, str], row: int) -> None:
    """`InputError` for a text with half a character (a lone surrogate), which UTF-8 cannot hold."""
    for column, text in texts.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            got = f"half a character, {text[error.start]!r}"
            raise InputError(
                "Unicode text", got=got, remedy="decode the text again", row=row, column=column
            ) from None


Model = Classifier | Callable[[list[Text]], Any]
"""A live classifier, or any function of a list of texts (or pairs) that gives probabilities, shape (sample, class)."""


@final
@dataclass(frozen=True, eq=False)
class WordAttributions:
    """What each word of one example adds to the probability of one class.

    words : the example.
    values : of each word, float64, shape (word,); above 0: the word speaks for the class.
    separator : of the separator of a pair; nan where the method does not say, and for a single text.
    target : position of the class that is explained: by default the predicted one.
    probability : of that class, for the whole text.
    base : the probability with every word absent; nan where the method does not ask.
    fit : share of the variance that a surrogate model explains (R², of LIME and KernelSHAP), or what the values lack to
        probability - base (of integrated gradients); nan where there is nothing to say.
    """

    words: Words
    values: Array
    separator: float
    target: int
    probability: float
    base: float = float("nan")
    fit: float = float("nan")


class Attribution(ABC):
    """A method of attribution.

    A subclass is final and sets ``name``, ``about`` (one sentence), ``needs`` (empty: any model will do;
    ``("encoder",)``: an `Encoder`) and ``citation``. Its options are the fields of a dataclass, with defaults.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    citation: ClassVar[str]

    _truncated = 0

    @property
    def truncated(self) -> int:
        """Texts of the last call that were too long for the model and were cut, where that is known.

        Of LIME and KernelSHAP these are all different texts that were asked, of integrated gradients the examples.
        """
        return self._truncated

    def options(self) -> dict[str, Any]:
        """Options by name: they name what a folder of attributions holds."""
        return {
            name: value for name, value in sorted(vars(self).items()) if not name.startswith("_")
        }

    def groups_for(self, model: Model, texts: Sequence[Text | Words]) -> list[list[int]]:
        """Positions of the texts, cut into groups that may be explained apart for this very model.

        Each text is in one group, in whatever order suits the model. Here all are in one: a model's batches, and with
        them the rounding of sums, depend on what is beside.
        """
        return [list(range(len(as_words(texts))))]

    @abstractmethod
    def explain(
        self,
        model: Model,
        texts: Sequence[Text | Words],
        *,
        targets: Sequence[int] | None = None,
        progress: Progress | None = None,
    ) -> list[WordAttributions]:
        """Attributions of each text, in order, of the predicted class or of the classes at ``targets``."""


_SIZES: dict[str, Callable[[Array], float]] = {
    "none": lambda values: 1.0,
    "l1": lambda values: float(np.abs(values).sum()),
    "l2": lambda values: float(np.sqrt((values**2).sum())),
    "max": lambda values: float(np.abs(values).max()),
}
NORMALIZATIONS = tuple(_SIZES)
"""Names that `normalized` knows."""


def normalized(attributions: WordAttributions, how: str = "none") -> WordAttributions:
    """The same attributions, the values of words and separator divided by their size.

    attributions : of one example.
    how : what the size is: Σ|v| ("l1"), sqrt(Σ v²) ("l2") or max|v| ("max"); "none" leaves all as it is.

    A separator that the method says nothing of does not count; values that are all 0 stay 0. Factors depend on it, as
    Singhal et al. (2022) warn, and say nothing of theirs. Raises `UsageError` for another name.

    >>> from oodometer_lab.attributions import Words, WordAttributions
    >>> found = WordAttributions(Words(("a film", "it")), np.array([0.3, -0.1, 0.4]), -0.2, 1, 0.9)
    >>> normalized(found, "l1").values.round(3).tolist(), round(normalized(found, "l1").separator, 3)
    ([0.3, -0.1, 0.4], -0.2)
    >>> normalized(found, "max").values.round(3).tolist()
    [0.75, -0.25, 1.0]
    """
    if how not in _SIZES:
        raise UsageError(f"unknown normalization {how!r}; known: {', '.join(NORMALIZATIONS)}")
    values, separator = attributions.values, attributions.separator
    size = _SIZES[how](values if math.isnan(separator) else np.append(values, separator))
    if how == "none" or size == 0:
        return attributions
    return replace(attributions, values=values / size, separator=separator / size)


@final
class Asker:
    """Asks a model about texts, each different one once; single texts and pairs go into calls of their own, since a
    tokenizer takes a single text beside pairs for a pair with an empty part. ``truncated`` counts texts that were cut.
    """

    def __init__(self, model: Model) -> None:
        if isinstance(model, Classifier):
            if "text" not in model.reads:
                raise UsageError(
                    f"expected a classifier of texts, got one of {' or '.join(model.reads)}"
                )
        elif not callable(model):
            raise UsageError(
                f"expected a classifier or a function of a list of texts, got {type(model).__name__}"
            )
        self._model = model
        self.classes: int | None = (
            len(model.classes) or None if isinstance(model, Classifier) else None
        )
        self.truncated = 0

    def __call__(self, texts: Sequence[Text], progress: Progress | None = None) -> Array:
        """Probabilities, float64, shape (text, class), in order; ``progress`` counts different texts."""
        row_of = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        different = list(row_of)
        answers: list[Array] = []
        order: list[int] = []
        for kind in (str, tuple):
            positions = [at for at, text in enumerate(different) if isinstance(text, kind)]
            if positions:
                answers.append(
                    self._ask(
                        [different[at] for at in positions], len(order), len(different), progress
                    )
                )
                order += positions
        out = np.empty((len(different), answers[0].shape[1]))
        out[order] = np.concatenate(answers)
        return out[[row_of[text] for text in texts]]

    def _ask(self, texts: list[Text], done: int, total: int, progress: Progress | None) -> Array:
        if isinstance(self._model, Classifier):
            tell = None if progress is None else (lambda rows, _: progress(done + rows, total))
            answers = checked_probabilities(
                self._model.ask(texts, progress=tell).distribution, len(texts)
            )
            self.truncated += self._model.truncated
        else:
            answers = checked_probabilities(self._model(texts), len(texts))
        if progress is not None:
            progress(done + len(texts), total)
        if self.classes is not None and answers.shape[1] != self.classes:
            got = str(answers.shape[1])
            raise InputError(
                f"{self.classes} classes in every call", got=got, remedy="check the model"
            )
        self.classes = answers.shape[1]
        return answers


def checked_probabilities(answers: Any, rows: int) -> Array:
    """What a model answered about ``rows`` texts, as float64, shape (sample, class); `InputError` for anything else."""
    try:
        array = np.asarray(answers, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise _no_probabilities(
            f"{type(answers).__name__} ({error})"[:80], "give an array of numbers"
        ) from error
    if array.ndim != 2 or array.shape[0] != rows or array.shape[1] < 2:
        raise _no_probabilities(
            f"shape {array.shape}", f"give the shape ({rows}, class), at least two classes"
        )
    if not np.isfinite(array).all():
        raise _no_probabilities("nan or an infinity", "check the model")
    if array.min() < -1e-6 or array.max() > 1 + 1e-6:
        far = array.min() if array.min() < -1e-6 else array.max()
        raise _no_probabilities(f"{far:.3g}", "apply the softmax to logits")
    off = np.abs(array.sum(1) - 1)
    if off.max() > 1e-3:
        got = f"a row that sums to {array[off.argmax()].sum():.3g}"
        remedy = "apply the softmax to logits; several labels a text are not supported"
        raise InputError("probabilities that sum to 1 for each text", got=got, remedy=remedy)
    return array


def checked_targets(targets: Sequence[int] | None, rows: int) -> list[int] | None:
    """Positions of classes, one a text; None for none. Whether a class is there is checked by `class_at`."""
    if targets is None:
        return None
    if len(targets) != rows:
        raise InputError(
            f"{rows} targets, one a text",
            got=str(len(targets)),
            remedy="give as many",
            column="target",
        )
    for row, target in enumerate(targets, 1):
        if not is_whole(target, 0):
            got, remedy = repr(target), "count the classes in the order of the model"
            raise InputError(
                "the position of a class from 0 on",
                got=got,
                remedy=remedy,
                row=row,
                column="target",
            )
    return [int(target) for target in targets]


def class_at(targets: list[int] | None, row: int, probabilities: Array) -> int:
    """The class of a text that is explained: the wanted one, else the predicted one; `InputError` where it is not."""
    if targets is None:
        return int(probabilities.argmax())
    if targets[row] >= len(probabilities):
        expected = f"the position of one of {len(probabilities)} classes"
        remedy = "count from 0 in the order of the model"
        raise InputError(
            expected, got=str(targets[row]), remedy=remedy, row=row + 1, column="target"
        )
    return targets[row]


def _no_probabilities(got: str, remedy: str) -> InputError:
    return InputError("probabilities, a row a text", got=got, remedy=remedy)

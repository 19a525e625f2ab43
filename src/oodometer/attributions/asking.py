"""Asking: any classifier about many texts, each different one once, its probabilities checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..models.base import Classifier, Progress, Text
from .base import Model


@final
class Asker:
    """Asks a model about texts, of which each different one is asked once.

    Single texts and pairs go into calls of their own: asked together, a tokenizer takes a single text for a pair with
    an empty second part.

    Parameters
    ----------
    model : a classifier of texts, or a function of a list of texts that gives probabilities, shape (sample, class).

    ``classes`` is the number of classes, known from the start or after the first call; ``truncated`` the number of
    different texts so far that the model cut because they were too long, where it counts them.

    >>> asked = []
    >>> ask = Asker(lambda texts: [asked.append(one) or [0.5, 0.5] for one in texts])
    >>> ask(["a", "b", "a"]).shape, asked, ask.classes
    ((3, 2), ['a', 'b'], 2)
    """

    def __init__(self, model: Model) -> None:
        if isinstance(model, Classifier):
            if "text" not in model.reads:
                raise UsageError(f"expected a classifier of texts, got one of {' or '.join(model.reads)}")
        elif not callable(model):
            raise UsageError(f"expected a classifier or a function of a list of texts, got {type(model).__name__}")
        self._model = model
        self.classes: int | None = len(model.classes) or None if isinstance(model, Classifier) else None
        self.truncated = 0

    def __call__(self, texts: Sequence[Text], progress: Progress | None = None) -> Array:
        """Probabilities, float64, shape (text, class), in the order of the texts.

        ``progress`` is called with (different texts done, all). Raises `InputError` for answers that are no
        probabilities.
        """
        place = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        different = list(place)
        single = [isinstance(text, str) for text in different]
        answers: list[Array] = []
        order: list[int] = []
        for kind in (True, False):
            here = [at for at, one in enumerate(single) if one is kind]
            if here:
                answers.append(self._ask([different[at] for at in here], len(order), len(different), progress))
                order += here
        if len(answers) == 2 and answers[0].shape[1] != answers[1].shape[1]:
            raise _other_classes(answers[0].shape[1], answers[1].shape[1])
        found = np.empty((len(different), answers[0].shape[1]))
        found[order] = np.concatenate(answers)
        return found[[place[text] for text in texts]]

    def _ask(self, texts: list[Text], done: int, total: int, progress: Progress | None) -> Array:
        if isinstance(self._model, Classifier):
            told = None if progress is None else (lambda rows, _: progress(done + rows, total))
            found = checked_probabilities(self._model.ask(texts, progress=told).distribution, len(texts))
            self.truncated += self._model.truncated
        else:
            found = checked_probabilities(self._model(texts), len(texts))
        if progress is not None:
            progress(done + len(texts), total)
        if self.classes is not None and found.shape[1] != self.classes:
            raise _other_classes(self.classes, found.shape[1])
        self.classes = found.shape[1]
        return found


def checked_probabilities(given: Any, rows: int) -> Array:
    """What a model answered about ``rows`` texts, as float64, shape (sample, class); `InputError` for anything else.

    >>> checked_probabilities([[0.2, 0.9]], 1)
    Traceback (most recent call last):
    oodometer.errors.InputError: expected probabilities that sum to 1 for each text, got a row that sums to 1.1; ...
    """
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise _no_probabilities(f"{type(given).__name__} ({error})"[:80], "give an array of numbers") from error
    if found.ndim != 2 or found.shape[0] != rows or found.shape[1] < 2:
        raise _no_probabilities(f"shape {found.shape}", f"give the shape ({rows}, class), at least two classes")
    if not np.isfinite(found).all():
        raise _no_probabilities("nan or an infinity", "check the model")
    if found.min() < -1e-6 or found.max() > 1 + 1e-6:
        far = found.min() if found.min() < -1e-6 else found.max()
        raise _no_probabilities(f"{far:.3g}", "apply the softmax to logits")
    off = np.abs(found.sum(1) - 1)
    if off.max() > 1e-3:
        raise InputError(
            "probabilities that sum to 1 for each text",
            got=f"a row that sums to {found[off.argmax()].sum():.3g}",
            remedy="apply the softmax to logits; several labels a text are not supported",
        )
    return found


def checked_targets(targets: Sequence[int] | None, rows: int) -> list[int] | None:
    """Positions of classes, one a text; None for none. Whether a class is there is checked by `class_at`.

    >>> checked_targets([0, True], 2)
    Traceback (most recent call last):
    oodometer.errors.InputError: row 2: column target: expected the position of a class from 0 on, got True; ...
    """
    if targets is None:
        return None
    if len(targets) != rows:
        raise InputError(f"{rows} targets, one a text", got=str(len(targets)), remedy="give as many", column="target")
    for row, one in enumerate(targets, 1):
        if not is_whole(one, 0):
            raise InputError(
                "the position of a class from 0 on",
                got=repr(one),
                remedy="count the classes in the order of the model",
                row=row,
                column="target",
            )
    return [int(one) for one in targets]


def is_whole(value: object, least: int) -> bool:
    """Whether something is a whole number, no truth value, from ``least`` on."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least


def class_at(wanted: list[int] | None, row: int, probabilities: Array) -> int:
    """The class of a text that is explained: the wanted one, else the predicted one; `InputError` where it is not."""
    if wanted is None:
        return int(probabilities.argmax())
    if wanted[row] >= len(probabilities):
        raise InputError(
            f"the position of one of {len(probabilities)} classes",
            got=str(wanted[row]),
            remedy="count from 0 in the order of the model",
            row=row + 1,
            column="target",
        )
    return wanted[row]


def _no_probabilities(got: str, remedy: str) -> InputError:
    return InputError("probabilities, a row a text", got=got, remedy=remedy)


def _other_classes(expected: int, got: int) -> InputError:
    return InputError(f"{expected} classes in every call", got=str(got), remedy="check the model")

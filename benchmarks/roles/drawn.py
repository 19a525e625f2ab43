"""Models that never were: true classes, probabilities and answers drawn from a law; their figures in plain numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.real.data import Floats, Ints

from .base import Right

Rng: TypeAlias = np.random.Generator

NO_YES = ("no", "yes")
ANIMALS = ("cat", "dog", "fox")
ZERO_ONE = (0, 1)


def area(positive: NDArray[np.bool_], score: Floats) -> float:
    """Area under the ROC curve: how often a positive row has the larger score; ties count one half."""
    difference = score[positive][:, None] - score[~positive][None, :]
    return float(((difference > 0) + 0.5 * (difference == 0)).mean())


@dataclass(frozen=True)
class Model:
    """Answers of a model: places of the true and the answered class of each row, and probabilities (row, class)."""

    names: tuple[Any, ...]
    true: Ints
    answered: Ints
    probabilities: Floats

    @property
    def rows(self) -> int:
        return len(self.true)

    @property
    def truth(self) -> list[Any]:
        """Names of the true classes."""
        return [self.names[k] for k in self.true]

    @property
    def answer(self) -> list[Any]:
        """Names of the classes that were answered."""
        return [self.names[k] for k in self.answered]

    @property
    def score(self) -> Floats:
        """Probability of the second class."""
        return self.probabilities[:, 1]

    @property
    def confidence(self) -> Floats:
        """Probability of the class that was answered."""
        return self.probabilities[np.arange(self.rows), self.answered]

    @property
    def margin(self) -> Floats:
        """Logit of the second of two classes."""
        return np.log(self.score) - np.log1p(-self.score)

    @property
    def lists(self) -> list[list[float]]:
        """The probabilities of each row as a list."""
        return [[float(p) for p in row] for row in self.probabilities]

    def wide(self, form: str) -> dict[str, Floats]:
        """A column of probabilities for each class; its name is ``form`` with the name of the class."""
        return {form.format(name): self.probabilities[:, k] for k, name in enumerate(self.names)}

    @property
    def accuracy(self) -> float:
        return float((self.true == self.answered).mean())

    @property
    def roc_auc(self) -> float:
        """Of the second of two classes; of more classes, the mean of each against the rest."""
        if len(self.names) == 2:
            return area(self.true == 1, self.score)
        each = [area(self.true == k, self.probabilities[:, k]) for k in range(len(self.names))]
        return float(np.mean(each))

    @property
    def right(self) -> Right:
        """The figures of a table that holds truth, answers and probabilities."""
        return Right(accuracy=self.accuracy, roc_auc=self.roc_auc)

    @property
    def right_answers(self) -> Right:
        """The figures of a table that holds truth and answers alone."""
        return Right(accuracy=self.accuracy)


def binary(
    rng: Rng,
    rows: int = 300,
    names: tuple[Any, ...] = ZERO_ONE,
    *,
    share: float = 0.5,
    digits: int = 6,
    worse_than_chance: bool = False,
) -> Model:
    """A calibrated model of two classes, the second of which has about this share of the rows."""
    p = np.clip(rng.beta(1.4 * share, 1.4 * (1 - share), rows), 0.002, 0.998).round(digits)
    p[p == 0.5] += 10.0**-digits  # no tie at the threshold
    true = (rng.random(rows) < (1 - p if worse_than_chance else p)).astype(np.int64)
    probabilities = np.column_stack([(1 - p).round(digits), p])
    return Model(
        names=names, true=true, answered=(p > 0.5).astype(np.int64), probabilities=probabilities
    )


def several(rng: Rng, rows: int = 300, names: tuple[Any, ...] = ANIMALS) -> Model:
    """A calibrated model of several classes."""
    q = rng.dirichlet([0.5] * len(names), rows)
    q = (0.97 * q + 0.03 / len(names)).astype(np.float64)
    true = (q.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    return Model(names=names, true=true, answered=q.argmax(axis=1), probabilities=q)


def ages(rng: Rng, rows: int) -> Ints:
    """An input: whole numbers that say nothing."""
    return rng.integers(18, 80, rows)


def ids(rng: Rng, rows: int, first: int = 1000) -> Ints:
    """Numbers of rows in no order."""
    return rng.permutation(np.arange(first, first + rows))


def days(rows: int) -> list[str]:
    return [f"2026-0{1 + i // 28 % 9}-{1 + i % 28:02d} 10:00:00" for i in range(rows)]

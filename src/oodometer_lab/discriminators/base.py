"""What every discriminator is: it reads (input, output) and says with which probability the output is correct."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from oodometer.arrays import Array, as_numpy, present
from oodometer.errors import InputError, UsageError
from oodometer.predictions import Predictions
from oodometer.results import percent

from ..models.artifacts import KINDS, Artifact, load_artifact
from ..models.base import Answers, Progress
from ..models.torch.training import TrainingConfig

Dev = tuple[Sequence[str], Sequence[str], Sequence[Any]]
"""A dev set: inputs, outputs and their correctness."""


class Discriminator(Artifact):
    """A judge of pairs (input, output): P(Correct), and the verdict Correct where P >= 0.5.

    Some are trained (`fit`), others exist already: a rule, a judge, a classifier from the hub. A tie at 0.5 is a vote
    for Correct. ``truncated`` is the number of pairs of the last call that were too long and were judged with their
    longer side cut; the share is warned about once. Source: Yao and Koller (2024).
    """

    truncated: int = 0
    """Pairs that were cut in the last call of `fit` or `probabilities`."""

    # of long pairs, shared by the members of a panel: one warning is enough
    _warned: list[int] | None = None

    def fit(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        correct: Sequence[Any],
        *,
        dev: Dev | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train on pairs and whether each output is correct; returns the discriminator itself.

        With ``dev`` the weights of the smallest loss on it are kept. A training that is given a ``checkpoint`` folder
        goes on from there after an interruption, to the weights it would have had. Raises `InputError` where all pairs
        are correct, or none is.

        A judge that exists already, such as a rule, is as it is: nothing is done.
        """
        self._learn(
            (inputs, outputs, correct),
            dev,
            None if checkpoint is None else Path(checkpoint),
            progress,
        )
        return self

    def _learn(
        self, pairs: Dev, dev: Dev | None, checkpoint: Path | None, progress: Progress | None
    ) -> None:
        """What `fit` does."""

    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """P(Correct) of each pair, in order, float32, shape (sample,); `UsageError` before training."""
        self._must_be_fitted()
        return self._ask(*check_pairs(inputs, outputs), progress)

    def _ask(self, inputs: list[str], outputs: list[str], progress: Progress | None) -> Array:
        """`probabilities` of checked pairs."""
        raise NotImplementedError

    def judge(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """The verdicts P(Correct) >= 0.5, bool, shape (sample,)."""
        return np.asarray(self.probabilities(inputs, outputs, progress=progress) >= 0.5)

    @property
    @abstractmethod
    def parameters(self) -> int:
        """Number of parameters; 0 for a rule."""

    def _write(self, folder: Path) -> dict[str, Any]:
        raise UsageError(f"the discriminator {self.kind} has no way to be saved; save its votes")

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        raise UsageError(f"the discriminator {cls.kind} has no way to be loaded; make it again")

    def _count_truncated(self, count: int, rows: int, max_length: int) -> None:
        """Note how many pairs were cut, and warn about it the first time."""
        self.truncated, self._warned = count, [] if self._warned is None else self._warned
        if count and not self._warned:
            self._warned.append(count)
            warnings.warn(
                f"{count} of {rows} pairs ({percent(count / rows)}) are longer than {max_length} tokens: the end of "
                "their longer side was cut, and an error there is not seen; raise `max_length`",
                stacklevel=4,
            )


def check_pairs(inputs: Sequence[str], outputs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Inputs and outputs as lists; `InputError` names the first row that is no text, or how the lengths differ."""
    if isinstance(inputs, str) or isinstance(outputs, str):
        raise InputError(
            "lists of texts", got="one text", remedy="put it in a list", column="input"
        )
    inputs, outputs = list(inputs), list(outputs)
    if len(inputs) != len(outputs) or not inputs:
        got, remedy = f"{len(inputs)} inputs and {len(outputs)} outputs", "give one output an input"
        raise InputError(
            "as many outputs as inputs, at least one", got=got, remedy=remedy, column="output"
        )
    sides: dict[str, list[Any]] = {"input": inputs, "output": outputs}
    for column, texts in sides.items():
        row = next((row for row, text in enumerate(texts) if not isinstance(text, str)), None)
        if row is not None:
            got, remedy = repr(texts[row])[:60], "leave the row out or give the text"
            raise InputError("a text", got=got, remedy=remedy, row=row + 1, column=column)
    return list(map(str, inputs)), list(map(str, outputs))


def pairs_of(record: Predictions) -> tuple[list[str], list[str]]:
    """`check_pairs` of a record's ``input`` and ``output``; `InputError` where one of the columns is missing."""
    for name in ("input", "output"):
        if getattr(record, name) is None:
            remedy = "name it with --map theirs=ours or add it"
            raise InputError(
                f"a column {name}", got="none", remedy=remedy, file=record.source, column=name
            )
    try:
        return check_pairs(present(record.input).tolist(), present(record.output).tolist())
    except InputError as error:
        raise error.at(file=record.source, row_offset=record.first_row) from None


def check_verdicts(correct: Sequence[Any], rows: int, *, one_class: bool = False) -> Array:
    """Correctness as bool, shape (sample,); `InputError` for another length, another value, or one class only."""
    array = as_numpy(correct)
    if array.shape != (rows,):
        got, remedy = f"shape {array.shape}", "give one a pair"
        raise InputError(f"{rows} verdicts, one a pair", got=got, remedy=remedy, column="correct")
    values = array.tolist()
    row = next(
        (row for row, value in enumerate(values) if isinstance(value, str) or value not in (0, 1)),
        None,
    )
    if row is not None:
        got, remedy = repr(values[row])[:60], "give the verdict or drop the row"
        raise InputError(
            "true or false (1 or 0)", got=got, remedy=remedy, row=row + 1, column="correct"
        )
    verdicts = array.astype(bool)
    right = int(verdicts.sum())
    if not one_class and right in (0, rows):
        remedy = "add right outputs: the gold ones of the training set"
        if right:
            remedy = (
                "add wrong outputs: those of earlier checkpoints (a smaller K) or of a weaker model"
            )
        got = f"{right} of {rows} correct"
        raise InputError("correct and incorrect outputs", got=got, remedy=remedy, column="correct")
    return verdicts


KINDS |= {
    "classifier": "discriminators.classifier:ClassifierDiscriminator",
    "generative": "discriminators.sequence:GenerativeDiscriminator",
    "likelihood": "discriminators.sequence:LikelihoodDiscriminator",
    "pretrained": "discriminators.existing:PretrainedDiscriminator",
    "regression": "discriminators.classifier:RegressionDiscriminator",
    "rule": "discriminators.existing:RuleDiscriminator",
}


def load_discriminator(folder: str | os.PathLike[str]) -> Discriminator:
    """Read a discriminator of any kind that `save` wrote; `InputError` where the folder holds none.

    >>> load_discriminator("no-such-folder")
    Traceback (most recent call last):
    oodometer.errors.InputError: no-such-folder...: expected a model saved by oodometer, got no such file; ...
    """
    return load_artifact(folder, Discriminator, "a discriminator")  # type: ignore[no-any-return]


_RANGE = (-3.0, 3.0)  # of log t


def probability(
    margins: Array, *, trained: float, share: float | None = 0.5, temperature: float = 1.0
) -> Array:
    """P(Correct) = sigmoid((m - logit(trained)) / t + logit(share)), float32, shape (sample,).
    m is the log odds of Correct of a network whose training pairs were correct at the share ``trained``; ``share`` is
    the one that P shall hold for, None that of the training. Source: Saerens et al. (2002).
    """
    from scipy.special import expit, logit

    ratio = (np.asarray(margins, dtype=np.float64) - logit(trained)) / temperature
    return np.asarray(expit(ratio + logit(trained if share is None else share)).astype(np.float32))


def fit_temperature(margins: Array, correct: Array, *, trained: float) -> float:
    """The t in [e^-3, e^3] of `probability` under which the verdicts of a dev set are most likely; 1 where it has one
    class.
    Its own share is taken for ``share``; a verdict counts as certain but for one case in n + 2 of its kind. Source: Guo
    et al. (2017); Platt (1999) for the certainty.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import logit

    right = np.asarray(correct, dtype=bool)
    if right.all() or not right.any():
        return 1.0
    ratio = np.asarray(margins, dtype=np.float64) - logit(trained)
    prior, positives = logit(right.mean()), int(right.sum())
    sure = np.where(right, (positives + 1) / (positives + 2), 1 / (len(right) - positives + 2))

    def loss(log_t: float) -> float:
        log_odds = ratio * np.exp(-log_t) + prior
        return float((np.logaddexp(0, log_odds) - sure * log_odds).mean())

    return float(np.exp(minimize_scalar(loss, bounds=_RANGE, method="bounded").x))


CLASSES = ("Incorrect", "Correct")
MODEL = "model"  # the folder of the network in a saved discriminator's


Learnt = tuple[list[str], list[str], Array]
"""Checked inputs and outputs, and what is learnt of each pair: verdicts, or distributions over `CLASSES`."""


class TrainedDiscriminator(Discriminator):
    """A discriminator whose network gives the log odds of Correct; a kind says how to train and ask the network."""

    model: Any
    max_length: int
    """Tokens of a pair that are read."""

    def __init__(self, *, share: float | None = 0.5) -> None:
        if share is not None and not 0 < share < 1:
            raise UsageError(
                f"expected a share between 0 and 1, got {share}; 0.5 favours neither verdict"
            )
        self.share = share
        self.trained_share = 0.0  # share of correct pairs in training; 0 before it
        self.temperature = 1.0

    @abstractmethod
    def _train(
        self, learnt: Learnt, dev: Learnt | None, checkpoint: Path | None, progress: Progress | None
    ) -> int:
        """Train the network; returns how many pairs were cut."""

    def _asking(self) -> Callable[..., Answers]:
        """What answers a list of pairs with the logits of `CLASSES`."""
        ask: Callable[..., Answers] = self.model.ask
        return ask

    def _cut(self) -> int:
        """Pairs that were cut in the last call of it."""
        return int(self.model.truncated)

    @classmethod
    @abstractmethod
    def _rebuilt(cls, options: dict[str, Any], folder: Path) -> Self:
        """The discriminator that `options` describe, with the network that was saved to a folder."""

    def _targets(self, correct: Sequence[Any], rows: int, *, dev: bool) -> Array:
        """What is learnt of the pairs, checked; those of a ``dev`` set may be all alike."""
        return check_verdicts(correct, rows, one_class=dev)

    def _calibrate(self, targets: Array, dev: Learnt | None) -> None:
        self.trained_share, self.temperature = float(targets.mean()), 1.0
        if dev is not None:
            margins = self._margins(self._asking()(list(zip(*dev[:2], strict=True))))
            self.temperature = fit_temperature(margins, dev[2], trained=self.trained_share)

    @property
    def parameters(self) -> int:
        """Number of parameters of the network."""
        return int(self.model.parameters)

    def _learn(
        self, pairs: Dev, dev: Dev | None, checkpoint: Path | None, progress: Progress | None
    ) -> None:
        """Train, then calibrate by one temperature on ``dev`` where given."""
        texts = check_pairs(*pairs[:2])
        learnt, held_out = (*texts, self._targets(pairs[2], len(texts[0]), dev=False)), None
        if dev is not None:
            texts = check_pairs(dev[0], dev[1])
            held_out = *texts, self._targets(dev[2], len(texts[0]), dev=True)
        cut = self._train(learnt, held_out, checkpoint, progress)
        self._calibrate(learnt[2], held_out)
        self._count_truncated(cut, len(learnt[0]), self.max_length)

    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """P(Correct) of each pair; see `Discriminator.probabilities`."""
        self._must_be_fitted()
        answers = self._asking()(
            list(zip(*check_pairs(inputs, outputs), strict=True)), progress=progress
        )
        self._count_truncated(self._cut(), len(inputs), self.max_length)
        margins = self._margins(answers)
        return probability(
            margins, trained=self.trained_share, share=self.share, temperature=self.temperature
        )

    def _margins(self, answers: Answers) -> Array:
        """Log odds of Correct, float64, shape (sample,)."""
        return log_odds(answers.logits_of(self.model.kind))

    def _fitted(self) -> bool:
        return bool(self.trained_share)

    def _write(self, folder: Path) -> dict[str, Any]:
        self.model.save(folder / MODEL)
        return {"trained_share": self.trained_share, "temperature": self.temperature}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        options = dict(about["options"])
        if options["training"] is not None:
            options["training"] = TrainingConfig(**options["training"])
        judge = cls._rebuilt(options, folder / MODEL)
        # one that predicts a metric has odds as they are
        judge.trained_share = float(about.get("trained_share", 0.5))
        judge.temperature = float(about.get("temperature", 1.0))
        return judge


def log_odds(logits: Array) -> Array:
    """z_correct - z_incorrect of logits of `CLASSES`, float64, shape (sample,)."""
    return np.asarray(logits[:, 1].astype(np.float64) - logits[:, 0].astype(np.float64))

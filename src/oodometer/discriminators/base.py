"""What every discriminator is: it reads (input, output) and says with which probability the output is correct."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..arrays import Array, as_numpy
from ..errors import InputError, UsageError
from ..models.artifacts import KINDS, Artifact, load_artifact
from ..models.base import Answers, Progress
from ..models.torch.training import TrainingConfig
from ..results import percent

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

    _told: bool = False  # a warning about long pairs was given

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
        return self

    @abstractmethod
    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """P(Correct) of each pair, float32, shape (sample,), in the order of the pairs."""

    def judge(self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None) -> Array:
        """The verdicts P(Correct) >= 0.5, bool, shape (sample,)."""
        return np.asarray(self.probabilities(inputs, outputs, progress=progress) >= 0.5)

    @property
    @abstractmethod
    def parameters(self) -> int:
        """Number of parameters; 0 for a rule."""

    def _fitted(self) -> bool:
        return True

    def _write(self, folder: Path) -> dict[str, Any]:
        raise UsageError(f"the discriminator {self.kind} has no way to be saved; save its votes")

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        raise UsageError(f"the discriminator {cls.kind} has no way to be loaded; make it again")

    def _count_truncated(self, count: int, rows: int, max_length: int) -> None:
        """Note how many pairs were cut, and warn about it the first time."""
        self.truncated = count
        if count and not self._told:
            self._told = True
            warnings.warn(
                f"{count} of {rows} pairs ({percent(count / rows)}) are longer than {max_length} tokens: the end of "
                "their longer side was cut, and an error there is not seen; raise `max_length`",
                stacklevel=4,
            )


def check_pairs(inputs: Sequence[str], outputs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Inputs and outputs as lists; `InputError` names the first row that is no text, or how the lengths differ.

    >>> check_pairs(["a", "b"], ["A", None])
    Traceback (most recent call last):
    oodometer.errors.InputError: row 2: column output: expected a text, got None; leave the row out or give the text
    """
    given: dict[str, list[Any]] = {"input": list(inputs), "output": list(outputs)}
    if isinstance(inputs, str) or isinstance(outputs, str):
        raise InputError("lists of texts", got="one text", remedy="put it in a list", column="input")
    if len(given["input"]) != len(given["output"]) or not given["input"]:
        got = f"{len(given['input'])} inputs and {len(given['output'])} outputs"
        expected = "as many outputs as inputs, at least one"
        raise InputError(expected, got=got, remedy="give one output an input", column="output")
    for column, texts in given.items():
        bad = next((row for row, text in enumerate(texts) if not isinstance(text, str)), None)
        if bad is not None:
            remedy = "leave the row out or give the text"
            raise InputError("a text", got=repr(texts[bad])[:60], remedy=remedy, row=bad + 1, column=column)
    return [str(one) for one in given["input"]], [str(one) for one in given["output"]]


def check_verdicts(correct: Sequence[Any], rows: int, *, one_class: bool = False) -> Array:
    """Correctness as bool, shape (sample,); `InputError` for another length, another value, or one class only.

    >>> check_verdicts([1, True, 1.0], 3)
    Traceback (most recent call last):
    oodometer.errors.InputError: column correct: expected correct and incorrect outputs, got 3 of 3 correct; add ...
    """
    array = as_numpy(correct)
    if array.shape != (rows,):
        raise InputError(
            f"{rows} verdicts, one a pair", got=f"shape {array.shape}", remedy="give one a pair", column="correct"
        )
    known = np.array([not isinstance(one, str) and one in (0, 1) for one in array.tolist()], dtype=bool)
    if not known.all():
        row = int(np.argmin(known))
        raise InputError(
            "true or false (1 or 0)",
            got=repr(array.tolist()[row])[:60],
            remedy="give the verdict or drop the row",
            row=row + 1,
            column="correct",
        )
    verdicts = array.astype(bool)
    right = int(verdicts.sum())
    if not one_class and right in (0, rows):
        remedy = (
            "add wrong outputs: those of earlier checkpoints (a smaller K) or of a weaker model"
            if right
            else "add right outputs: the gold ones of the training set"
        )
        raise InputError(
            "correct and incorrect outputs", got=f"{right} of {rows} correct", remedy=remedy, column="correct"
        )
    return verdicts


KINDS.update(
    {
        "classifier": "discriminators.classifier:ClassifierDiscriminator",
        "generative": "discriminators.generative:GenerativeDiscriminator",
        "likelihood": "discriminators.likelihood:LikelihoodDiscriminator",
        "pretrained": "discriminators.existing:PretrainedDiscriminator",
        "regression": "discriminators.regression:RegressionDiscriminator",
        "rule": "discriminators.existing:RuleDiscriminator",
    }
)


def load_discriminator(folder: str | os.PathLike[str]) -> Discriminator:
    """Read a discriminator of any kind that `save` wrote; `InputError` where the folder holds none.

    >>> load_discriminator("no-such-folder")
    Traceback (most recent call last):
    oodometer.errors.InputError: no-such-folder...: expected a model saved by oodometer, got no such file; ...
    """
    found: Discriminator = load_artifact(folder, Discriminator, "a discriminator")
    return found


_RANGE = (-3.0, 3.0)  # of log t


def probability(margins: Array, *, trained: float, share: float | None = 0.5, temperature: float = 1.0) -> Array:
    """P(Correct) = sigmoid((m - logit(trained)) / t + logit(share)), float32, shape (sample,).

    m is the log odds of Correct that a network gives after training on pairs of which the share ``trained`` was
    correct; without logit(trained) it is a log-likelihood ratio, which does not depend on that share. ``share`` is the
    share of correct outputs that P shall hold for, None that of the training. Source: Saerens et al. (2002).

    >>> probability(np.log([0.9 / 0.1]), trained=0.9).round(3).tolist()  # as likely correct as everything else
    [0.5]
    >>> print(probability(np.log([0.9 / 0.1]), trained=0.9, share=None))
    [0.9]
    """
    from scipy.special import expit, logit

    ratio = (np.asarray(margins, dtype=np.float64) - logit(trained)) / temperature
    return np.asarray(expit(ratio + logit(trained if share is None else share)).astype(np.float32))


def fit_temperature(margins: Array, correct: Array, *, trained: float) -> float:
    """The t in [e^-3, e^3] of `probability` under which the verdicts of a dev set are most likely.

    The dev set's own share of correct outputs is taken for ``share``. A verdict counts as certain but for one case in
    n + 2, n the verdicts of its kind, so that a dev set without any error does not make P certain. 1 where the dev set
    has one class only. Source: Guo et al. (2017); Platt (1999) for the certainty.

    >>> m = np.array([4.0] * 400 + [-4.0] * 400)
    >>> round(fit_temperature(m, np.array(([1] * 300 + [0] * 100) + ([0] * 300 + [1] * 100)), trained=0.5), 1)
    3.7
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import logit

    right = np.asarray(correct, dtype=bool)
    if right.all() or not right.any():
        return 1.0
    ratio = np.asarray(margins, dtype=np.float64) - logit(trained)
    prior, many = logit(right.mean()), int(right.sum())
    sure = np.where(right, (many + 1) / (many + 2), 1 / (len(right) - many + 2))

    def loss(log_t: float) -> float:
        log_odds = ratio * np.exp(-log_t) + prior
        return float((np.logaddexp(0, log_odds) - sure * log_odds).mean())

    return float(np.exp(minimize_scalar(loss, bounds=_RANGE, method="bounded").x))


CLASSES = ("Incorrect", "Correct")
MODEL = "model"  # the folder of the network in a saved discriminator's


class TrainedDiscriminator(Discriminator):
    """A discriminator whose network gives the log odds of Correct; a kind says how to train and ask the network."""

    model: Any

    def __init__(self, *, share: float | None = 0.5) -> None:
        if share is not None and not 0 < share < 1:
            raise UsageError(f"expected a share between 0 and 1, got {share}; 0.5 favours neither verdict")
        self.share = share
        self.trained_share = 0.0  # share of correct pairs in training; 0 before it
        self.temperature = 1.0

    # ---------------------------------------------------------------- what a kind defines

    @abstractmethod
    def _train(
        self,
        inputs: list[str],
        outputs: list[str],
        correct: Array,
        dev: tuple[list[str], list[str], Array] | None,
        checkpoint: Path | None,
        progress: Progress | None,
    ) -> int:
        """Train the network on checked pairs; returns how many of them were cut."""

    def _asking(self) -> Callable[..., Answers]:
        """What answers pairs with the logits of `CLASSES`."""
        ask: Callable[..., Answers] = self.model.ask
        return ask

    def _cut(self) -> int:
        """Pairs that were cut in the last call of it."""
        return int(getattr(self.model, "truncated", 0))

    @classmethod
    @abstractmethod
    def _rebuilt(cls, options: dict[str, Any], folder: Path) -> Self:
        """The discriminator that `options` describe, with the network that was saved to a folder."""

    @property
    @abstractmethod
    def max_length(self) -> int:
        """Tokens of a pair that are read."""

    # ---------------------------------------------------------------- the contract

    @property
    def parameters(self) -> int:
        """Number of parameters of the network."""
        return int(self.model.parameters)

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
        """Train, then calibrate by one temperature on ``dev`` where given; see `Discriminator.fit`."""
        given, found = check_pairs(inputs, outputs)
        verdicts = check_verdicts(correct, len(given))
        held = None
        if dev is not None:
            dev_inputs, dev_outputs = check_pairs(dev[0], dev[1])
            held = dev_inputs, dev_outputs, check_verdicts(dev[2], len(dev_inputs), one_class=True)
        folder = None if checkpoint is None else Path(checkpoint)
        cut = self._train(given, found, verdicts, held, folder, progress)
        self.trained_share, self.temperature = float(verdicts.mean()), 1.0
        if held is not None:
            answers = self._asking()(list(zip(held[0], held[1], strict=True)))
            self.temperature = fit_temperature(self._margins(answers), held[2], trained=self.trained_share)
        self._count_truncated(cut, len(given), self.max_length)
        return self

    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """P(Correct) of each pair; see `Discriminator.probabilities`. `UsageError` before training."""
        self._must_be_fitted()
        given, found = check_pairs(inputs, outputs)
        answers = self._asking()(list(zip(given, found, strict=True)), progress=progress)
        margins = self._margins(answers)
        self._count_truncated(self._cut(), len(given), self.max_length)
        return probability(margins, trained=self.trained_share, share=self.share, temperature=self.temperature)

    def _margins(self, answers: Answers) -> Array:
        """Log odds of Correct, shape (sample,)."""
        return class_log_odds(answers.logits_of(self.model.kind), 0, 1)

    def _fitted(self) -> bool:
        return bool(self.trained_share)

    def _write(self, folder: Path) -> dict[str, Any]:
        """The network, and what its log odds mean."""
        self.model.save(folder / MODEL)
        return {"trained_share": self.trained_share, "temperature": self.temperature}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        options = dict(about["options"])
        if options["training"] is not None:
            options["training"] = TrainingConfig(**options["training"])
        judge = cls._rebuilt(options, folder / MODEL)
        judge.trained_share = float(about["trained_share"])
        judge.temperature = float(about["temperature"])
        return judge


def class_log_odds(logits: Array, incorrect: int, correct: int) -> Array:
    """Log odds of one class of two, z_correct - z_incorrect, shape (sample,)."""
    return np.asarray(logits[:, correct].astype(np.float64) - logits[:, incorrect].astype(np.float64))

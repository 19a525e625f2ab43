"""Black box: what LIME and KernelSHAP share: subsets of the words are asked, a linear model follows the answers."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import UsageError
from oodometer.options import is_whole
from oodometer.store.artifact_cache import checksum

from ..models.base import Progress, Text
from .base import (
    Asker,
    Attribution,
    Model,
    WordAttributions,
    Words,
    as_words,
    checked_targets,
    class_at,
)

REMOVE = "remove"
_MASK = "mask"
_LETTER = re.compile(r"\w")


@final
@dataclass(frozen=True)
class Absence:
    """What stands where a word is absent: a mask, or nothing; without a mask the space before it goes, too.
    Where two words would become one, a space comes between them. A pair whose separator is absent is asked as one text.
    Source: Ribeiro et al. (2016); the separator is ours.
    """

    mask: str | None = None

    def __post_init__(self) -> None:
        if self.mask is not None:
            checked_absent(self.mask)

    @classmethod
    def of(cls, absent: str, model: Model) -> Absence:
        """The absence that an option names: "remove", "mask" (the model's own) or the mask itself."""
        checked_absent(absent)
        if absent == REMOVE:
            return cls()
        if absent != _MASK:
            return cls(absent)
        mask = getattr(getattr(model, "tokenizer", None), "mask_token", None)
        if mask is None:
            raise UsageError(
                "absent='mask' needs a model with a mask of its own; say 'remove' or the mask itself"
            )
        return cls(str(mask))

    def texts(self, words: Words, present: Array) -> list[Text]:
        """The example with the features that are present, bool, shape (sample, feature), as a text for each sample."""
        parts: list[list[str]] = []
        start = 0
        for part in words.texts:
            stop = start + sum(1 for part_number in words.parts if part_number == len(parts))
            parts.append(self._part(part, words.spans[start:stop], present[:, start:stop]))
            start = stop
        out: list[Text]
        if words.is_pair:
            rows = zip(*parts, present[:, -1].tolist(), strict=True)
            out = [(a, b) if separate else f"{a} {b}".strip() for a, b, separate in rows]
        else:
            out = list(parts[0])
        for row in np.flatnonzero(present.all(1)):
            out[row] = words.text
        return out

    def _part(self, text: str, spans: tuple[tuple[int, int], ...], present: Array) -> list[str]:
        if not spans:
            return [""] * len(present)
        stops = [0, *(stop for _, stop in spans[:-1])]
        gaps = [text[before:start] for before, (start, _) in zip(stops, spans, strict=True)]
        words = [text[start:stop] for start, stop in spans]
        masks = ["" if self.mask is None else gap + self.mask for gap in gaps]
        words_with_gaps = np.array(
            [gap + word for gap, word in zip(gaps, words, strict=True)], dtype=object
        )
        pieces = np.where(present, words_with_gaps, np.array(masks, dtype=object))
        touching = np.array([index > 0 and not gap for index, gap in enumerate(gaps)])
        if touching.any():
            letters = np.array([_LETTER.match(word) is not None for word in words])
            met = np.zeros(present.shape, dtype=bool)
            if self.mask is None:
                last = np.maximum.accumulate(
                    np.where(present, np.arange(len(letters)), -1), axis=1
                )[:, :-1]
                met[:, 1:] = present[:, 1:] & letters[1:] & (last >= 0) & letters[last]
            else:
                starts, ends = (bool(_LETTER.match(sign)) for sign in (self.mask[0], self.mask[-1]))
                met[:, 1:] = (
                    np.where(present, letters, starts)[:, 1:]
                    & np.where(present, letters, ends)[:, :-1]
                )
            spaced = met & touching
            pieces[spaced] = " " + pieces[spaced]
        return ["".join(row).strip() for row in pieces.tolist()]


def checked_absent(absent: object) -> None:
    """`UsageError` for an option that names no absence."""
    if not isinstance(absent, str) or not absent.strip():
        raise UsageError(f"expected absent 'remove', 'mask' or the mask itself, got {absent!r}")


AT_ONCE = 4096
"""Texts that are asked in one call: enough to fill batches with texts of one length, few enough to be held."""


class BlackBox(Attribution):
    """A method that asks the model about subsets of the words; a subclass says which, and what follows."""

    samples: int
    absent: str
    seed: int

    at_once: ClassVar[int] = AT_ONCE

    def __post_init__(self) -> None:
        whole_number("samples", self.samples, 2)
        whole_number("seed", self.seed, 0)
        checked_absent(self.absent)

    def explain(
        self,
        model: Model,
        texts: Sequence[Text | Words],
        *,
        targets: Sequence[int] | None = None,
        progress: Progress | None = None,
    ) -> list[WordAttributions]:
        """Attributions of each text, in order, of the predicted class or of the classes at ``targets``.

        Texts of many examples go into one call, so that a model can sort them by length. ``progress`` is called with
        (perturbed texts done, all). Raises `InputError` for a text without words or that is no Unicode, for
        targets that are no classes and for answers that are no probabilities.
        """
        examples = as_words(texts)
        classes = checked_targets(targets, len(examples))
        absence, ask = Absence.of(self.absent, model), Asker(model)
        results: list[WordAttributions] = []
        done, total = 0, sum(self._number(example.features) for example in examples)
        for group in (
            [examples[at] for at in indices] for indices in self.groups_for(model, examples)
        ):
            # draws depend on the seed and on the text, not on where it stands or beside what
            marks = [int(checksum(*example.texts), 16) for example in group]
            rngs = [np.random.default_rng([self.seed, mark]) for mark in marks]
            subsets = [
                self._subsets(example.features, rng)
                for example, rng in zip(group, rngs, strict=True)
            ]
            requests: list[Text] = []
            for example, (present, _) in zip(group, subsets, strict=True):
                requests += absence.texts(example, present)
            count = len(requests)
            answers = ask(
                requests,
                None if progress is None else partial(_scaled, progress, done, count, total),
            )
            done += count
            parts = np.split(answers, np.cumsum([len(present) for present, _ in subsets])[:-1])
            for example, which, probabilities in zip(group, subsets, parts, strict=True):
                target = class_at(classes, len(results), probabilities[0])
                target_probabilities = probabilities[:, target]
                values, base, r2 = self._fitted(*which, target_probabilities)
                separator, p = (
                    float(values[-1]) if example.is_pair else math.nan,
                    float(target_probabilities[0]),
                )
                results.append(
                    WordAttributions(
                        example, values[: len(example.words)], separator, target, p, base, r2
                    )
                )
        self._truncated = ask.truncated
        return results

    @abstractmethod
    def _number(self, features: int) -> int:
        """How many subsets are asked of an example with so many features."""

    @abstractmethod
    def _subsets(self, features: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Which features are present, bool, shape (subset, feature), the whole text first; weights, shape (subset,)."""

    @abstractmethod
    def _fitted(self, present: Array, weights: Array, answers: Array) -> tuple[Array, float, float]:
        """Of the probabilities of one class, shape (subset,): values of the features, probability without any, R²."""

    def groups_for(self, model: Model, texts: Sequence[Text | Words]) -> list[list[int]]:
        """Texts in order, as many together as have at most `at_once` subsets, and one at least."""
        out: list[list[int]] = []
        size = 0
        for at, example in enumerate(as_words(texts)):
            rows = self._number(example.features)
            if not out or size + rows > self.at_once:
                out.append([])
                size = 0
            out[-1].append(at)
            size += rows
        return out


def whole_number(name: str, value: object, lowest: int) -> None:
    """`UsageError` for what is no whole number, or one below the least."""
    if not is_whole(value, lowest):
        raise UsageError(f"expected {name} to be a whole number from {lowest} on, got {value!r}")


def weighted_r2(answers: Array, predicted: Array, weights: Array) -> float:
    """Share of the weighted variance that is explained; nan where the answers do not vary."""
    mean = np.average(answers, weights=weights)
    variance = float(weights @ (answers - mean) ** 2)
    if variance <= 1e-20 * float(weights.sum()):
        return math.nan
    return 1 - float(weights @ (answers - predicted) ** 2) / variance


def _scaled(progress: Progress, done: int, rows: int, total: int, part: int, of: int) -> None:
    progress(done + rows * part // of, total)

"""Likeness: are a model's outputs like the labelled ones on which the judges' thresholds were set?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, final

import numpy as np

from oodometer.arrays import Array
from oodometer.intervals import holm

Texts = tuple[Sequence[str], Sequence[str]]
"""Inputs and outputs."""

_WORD = re.compile(r"\w+|[^\w\s]")
_FOLDS, _MOST_WORDS, _MOST_ROWS = 5, 32, 1_000


def likeness(labelled: Texts, others: Texts) -> list[dict[str, Any]]:
    """Each trait of outputs on ``labelled`` rows and on ``others``: both means, and the p-value of Kolmogorov and
    Smirnov's test that one law gave both, corrected for their number (Holm). Empty for fewer than five labelled rows.

    ``length`` of an output in words, its ``ratio`` to that of the input, and the shares that no labelled row has of its
    ``words``, of its ``runs`` of three words, and of the ``pairs`` of an input word and an output word. What is new is
    counted alike on both sides, and only more of it counts: labelled rows are cut, in their order, into five blocks; a
    row of a block, and every fifth other row, is held against the other four. At most 1,000 rows, evenly spread, and 32
    words of a text are read.

    No label is read: a wrong word is seen only where it never met the words of its input, and rows of few documents
    differ from others by more than chance. Source: Rabanser et al. (2019), of traits of texts in place of a network's.

    >>> inputs = [f"turn {state} the {device}" for device in ("lamp", "fan", "oven") for state in ("on", "off")] * 20
    >>> right = [" = ".join(text.split()[:0:-2]) for text in inputs]
    >>> wrong = [text.replace("= on", "= off") if "on" in text else text.replace("off", "on") for text in right]
    >>> found = likeness((inputs, right), (inputs, wrong))
    >>> right[0], wrong[0], [row["trait"] for row in found if row["p_value"] < 0.01]
    ('lamp = on', 'lamp = off', ['pairs'])
    """
    from scipy.stats import ks_2samp

    if len(labelled[0]) < _FOLDS:
        return []
    first, second = _Side.of(labelled), _Side.of(others)
    traits = {
        "length": [first.lengths[:, 0], second.lengths[:, 0]],
        "ratio": [first.lengths[:, 1], second.lengths[:, 1]],
    }
    blocks = np.arange(len(first.rows)) * _FOLDS // len(first.rows)
    in_turn = np.arange(len(second.rows)) % _FOLDS
    for trait in ("words", "runs", "pairs"):
        seen_by_fold = [first.known(trait, blocks != fold) for fold in range(_FOLDS)]
        traits[trait] = [
            first.new_shares(trait, seen_by_fold, blocks),
            second.new_shares(trait, seen_by_fold, in_turn),
        ]
    p_values = []
    for trait, (first_values, second_values) in traits.items():
        either = trait in ("length", "ratio")
        p_values.append(
            float(
                ks_2samp(
                    first_values,
                    second_values,
                    "two-sided" if either else "greater",
                    method="asymp",
                ).pvalue
            )
        )
    means = (
        {"labelled": float(first_values.mean()), "others": float(second_values.mean())}
        for first_values, second_values in traits.values()
    )
    rows = zip(traits, means, holm(p_values), strict=True)
    return [{"trait": trait, **mean, "p_value": p} for trait, mean, p in rows]


@final
@dataclass(frozen=True)
class _Side:
    """Traits of texts: ``lengths`` (row, 2), of the output and its ratio; words, runs and pairs of each row."""

    lengths: Array
    rows: list[dict[str, set[Any]]]

    @classmethod
    def of(cls, texts: Texts) -> _Side:
        """Of at most 1,000 rows."""
        lengths, rows = [], []
        for row in np.unique(np.linspace(0, len(texts[0]) - 1, _MOST_ROWS).astype(int)).tolist():
            input_words, written = (_WORD.findall(part[row]) for part in texts)
            lengths.append((len(written), len(written) / max(len(input_words), 1)))
            few_inputs, few_written = (
                list(dict.fromkeys(words))[:_MOST_WORDS] for words in (input_words, written)
            )
            rows.append(
                {
                    "words": set(written),
                    "runs": set(zip(written, written[1:], written[2:], strict=False)),
                    "pairs": set(product(few_inputs, few_written)),
                }
            )
        return cls(np.array(lengths), rows)

    def known(self, trait: str, chosen: Array) -> set[Any]:
        """All that occurs in some of the rows."""
        return set().union(*(self.rows[row][trait] for row in np.flatnonzero(chosen)))

    def new_shares(self, trait: str, by_fold: Sequence[set[Any]], folds: Array) -> Array:
        """The share of each row that is not known to its fold."""
        return np.array(
            [
                len(row[trait] - by_fold[fold]) / max(len(row[trait]), 1)
                for row, fold in zip(self.rows, folds, strict=True)
            ]
        )

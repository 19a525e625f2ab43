"""Likeness of texts: are a model's outputs like the labelled ones by which its judges are known?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..intervals import holm
from ..results.values import Record

Texts = tuple[Sequence[str], Sequence[str]]
"""Inputs and outputs."""

_WORD = re.compile(r"\w+|[^\w\s]")
_FOLDS, _MOST_WORDS, MOST_ROWS = 5, 32, 1_000
_UNLIKE = 0.01  # p-value below which texts are of another form
_SMIRNOV = 1.358  # 95 % quantile of Kolmogorov's law

_SAID = {
    "length": "outputs have {others:.1f} words in the mean (there {labelled:.1f}",
    "ratio": "outputs have {others:.2f} words for each word of the input (there {labelled:.2f}",
    "words": "of the words of an output {others:.2%} are in no labelled one (among those {labelled:.2%}",
    "runs": "of the runs of three words {others:.2%} are in no labelled output (among those {labelled:.2%}",
    "pairs": "of the pairs of an input and an output word {others:.2%} never met there (among those {labelled:.2%}",
}


@dataclass(frozen=True)
class UnlikeTexts(Record):
    """The trait by which texts differ most from labelled ones, where they differ by more than chance.

    trait : as in `likeness`. labelled, others : its means on both sides. p_value : corrected for the number of traits.
    distance : the share of rows, at least, whose law is another one: the largest difference of both distributions, of
    any trait that differs. Of so many rows nothing is known of the judges' errors. margin : what chance adds to it, the
    95 % quantile of Smirnov's statistic for so many rows. rows : how many labelled ones there are.
    """

    trait: str
    labelled: float
    others: float
    p_value: float
    distance: float
    margin: float
    rows: int

    @property
    def reach(self) -> float:
        """The distance with its margin, at most 1."""
        return min(self.distance + self.margin, 1.0)

    @property
    def said(self) -> str:
        """What differs, as a part of a sentence."""
        p = ", p < 0.001)" if self.p_value < 0.001 else f", p = {self.p_value:.3f})"
        return _SAID[self.trait].format(labelled=self.labelled, others=self.others) + p

    def widened(self, lower: float, upper: float) -> tuple[float, float]:
        """Ends of an accuracy if of the rows of another form every verdict may be wrong.

        >>> UnlikeTexts("ratio", 1.7, 1.5, 1e-6, 0.25, 0.125, 150).widened(0.5, 0.6)
        (0.125, 0.975)
        """
        return max(lower - self.reach, 0.0), min(upper + self.reach, 1.0)


def unlike_texts(labelled: Texts, others: Texts) -> UnlikeTexts | None:
    """How ``others`` differ from ``labelled`` texts, None where that may be chance (p >= 0.01, `likeness`)."""
    fired = [row for row in likeness(labelled, others) if row["p_value"] < _UNLIKE]
    if not fired:
        return None
    worst = min(fired, key=lambda row: row["p_value"])
    distance = max(row["distance"] for row in fired)
    rows, other_rows = (min(len(texts[0]), MOST_ROWS) for texts in (labelled, others))
    return UnlikeTexts(
        trait=worst["trait"],
        labelled=worst["labelled"],
        others=worst["others"],
        p_value=worst["p_value"],
        distance=distance,
        margin=_SMIRNOV * (1 / rows + 1 / other_rows) ** 0.5,
        rows=len(labelled[0]),
    )


def likeness(labelled: Texts, others: Texts) -> list[dict[str, Any]]:
    """Each trait of outputs on ``labelled`` rows and on ``others``: both means, the largest difference of their
    distributions (``distance``) and the p-value of Kolmogorov and Smirnov's test that one law gave both, corrected for
    their number (Holm). Empty for fewer than five labelled rows.

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
    tests = []
    for trait, (first_values, second_values) in traits.items():
        either = trait in ("length", "ratio")
        side: Any = "two-sided" if either else "greater"
        tests.append(ks_2samp(first_values, second_values, side, method="asymp"))
    means = (
        {"labelled": float(first_values.mean()), "others": float(second_values.mean())}
        for first_values, second_values in traits.values()
    )
    p_values = holm([float(test.pvalue) for test in tests])
    rows = zip(traits, means, p_values, tests, strict=True)
    return [
        {"trait": trait, **mean, "p_value": p, "distance": float(test.statistic)}
        for trait, mean, p, test in rows
    ]


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
        for row in np.unique(np.linspace(0, len(texts[0]) - 1, MOST_ROWS).astype(int)).tolist():
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

"""Likeness: are a model's outputs like the labelled ones on which the judges' thresholds were set?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..intervals import holm

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
    lengths: list[list[tuple[float, float]]] = []
    sides: list[list[dict[str, set[Any]]]] = []
    for texts in (labelled, others):
        rows = np.unique(np.linspace(0, len(texts[0]) - 1, _MOST_ROWS).astype(int)).tolist()
        both = [[_WORD.findall(part[row]) for part in texts] for row in rows]
        lengths.append(
            [(len(written), len(written) / max(len(given), 1)) for given, written in both]
        )
        few = [[list(dict.fromkeys(words))[:_MOST_WORDS] for words in row] for row in both]
        runs = [set(zip(written, written[1:], written[2:], strict=False)) for _, written in both]
        pairs = [{(a, b) for a in given for b in written} for given, written in few]
        words = [set(written) for _, written in both]
        sides.append(
            [
                {"words": w, "runs": r, "pairs": p}
                for w, r, p in zip(words, runs, pairs, strict=True)
            ]
        )
    first, second = (np.array(side) for side in lengths)
    traits = {"length": [first[:, 0], second[:, 0]], "ratio": [first[:, 1], second[:, 1]]}
    blocks = np.arange(len(first)) * _FOLDS // len(first), np.arange(len(second)) % _FOLDS
    for trait in ("words", "runs", "pairs"):
        known = [
            set().union(
                *(
                    row[trait]
                    for row, block in zip(sides[0], blocks[0], strict=True)
                    if block != fold
                )
            )
            for fold in range(_FOLDS)
        ]
        traits[trait] = [
            np.array(
                [
                    len(row[trait] - known[f]) / max(len(row[trait]), 1)
                    for row, f in zip(side, own, strict=True)
                ]
            )
            for side, own in zip(sides, blocks, strict=True)
        ]
    p_values = []
    for trait, (here, there) in traits.items():
        either = trait in ("length", "ratio")
        p_values.append(
            float(
                ks_2samp(here, there, "two-sided" if either else "greater", method="asymp").pvalue
            )
        )
    means = (
        {"labelled": float(here.mean()), "others": float(there.mean())}
        for here, there in traits.values()
    )
    rows = zip(traits, means, holm(p_values), strict=True)
    return [{"trait": trait, **mean, "p_value": p} for trait, mean, p in rows]

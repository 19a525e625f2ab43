"""Target rows: the pass of an audit over the target: what stands for a row's label, and what it holds itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...audits.labels import LabelledRows
from ...audits.proxy import Proxy
from ...errors import NotApplicable
from ...passes.folding import Execution
from ...store import Source

__all__ = ["TargetRows", "read_target"]

_Kept = tuple[list[Array], list[Array], list[Array]]


@dataclass(frozen=True)
class TargetRows:
    """Of every target row f and the predicted class, (sample,), and the labels that the target itself holds.

    predicted : None where some batch tells no class. own : None where no label is known.
    """

    score: Array
    predicted: Array | None
    own: LabelledRows | None


@dataclass(frozen=True)
class _RowsOf:
    """The pass: f, predicted classes and verdicts of the batches of a part, in their order."""

    proxy: Proxy

    def __call__(self, part: Any) -> _Kept:
        scores: list[Array] = []
        classes: list[Array] = []
        truths: list[Array] = []
        for batch in part.batches():
            scores.append(self.proxy(batch))
            try:
                classes.append(batch.predicted)
                truths.append(batch.verdicts)
            except NotApplicable:  # neither classes nor probabilities
                unknown = np.full(len(batch), -1, dtype=np.int8)
                truths.append(unknown if batch.correct is None else batch.correct)
        return scores, classes, truths


def _joined(a: _Kept, b: _Kept) -> _Kept:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def read_target(target: Source, proxy: Proxy, execution: Execution) -> TargetRows:
    """What an audit keeps of the target's rows, read on any engine."""
    scores, classes, truths = execution.fold(_RowsOf(proxy), target.parts(each=execution.each), _joined)
    score, correct = np.concatenate(scores), np.concatenate(truths)
    own = None
    if (correct >= 0).any():
        absent = np.full(len(score), np.nan)
        own = LabelledRows(target.name, np.arange(len(score)), correct, absent, absent)
    return TargetRows(score, np.concatenate(classes) if len(classes) == len(scores) else None, own)

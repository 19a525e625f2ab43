"""Record: what a sequence model answered as a predictions record, its outputs compared with gold if there is some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...predictions import Predictions
from .beams import Beams
from .exact_match import Clean, exact_match

__all__ = ["record_of"]


def record_of(
    inputs: Sequence[str],
    beams: Beams,
    *,
    gold: Sequence[str | None] | None = None,
    clean: Clean | None = None,
    ids: Sequence[int | str] | None = None,
    columns: Mapping[str, Any] | None = None,
) -> Predictions:
    """A record with ``input``, ``output``, ``confidence``, ``token_logprobs`` and, where gold is given, ``correct``.

    The confidence is exp(sum of the token log-probabilities of the best beam). A gold of None leaves ``correct``
    unknown. Columns: ``id``, ``gold`` and those of ``columns``.

    >>> from oodometer.arrays import Ragged
    >>> beams = Beams([["a"], ["b"]], np.zeros((2, 1)), Ragged.from_rows([[-0.5], [-1.0]]), 0)
    >>> record = record_of(["x", "y"], beams, gold=["a", None])
    >>> record.correct.tolist(), record.confidence.round(2).tolist()
    ([1, -1], [0.61, 0.37])
    """
    kept = {name: _objects(values) for name, values in (columns or {}).items()}
    fields: dict[str, Any] = {}
    if ids is not None:
        kept["id"] = _objects([str(one) for one in ids])
    if gold is not None:
        check_gold(inputs, gold)
        pairs = [(one, true) for one, true in zip(beams.best, gold, strict=True) if true is not None]
        correct = np.full(len(inputs), None, dtype=object)
        known = np.fromiter((one is not None for one in gold), dtype=bool, count=len(gold))
        correct[known] = exact_match([one for one, _ in pairs], [true for _, true in pairs], clean=clean)
        fields["correct"] = correct
        kept["gold"] = _objects(gold)
    return Predictions.from_arrays(
        input=_objects(inputs),
        output=_objects(beams.best),
        confidence=beams.confidence,
        token_logprobs=beams.token_logprobs,
        columns=kept,
        **fields,
    )


def check_gold(inputs: Sequence[str], gold: Sequence[Any]) -> None:
    """One gold output an input, a string or None; `InputError` else."""
    if len(gold) != len(inputs):
        raise InputError(
            f"{len(inputs)} gold outputs, one an input",
            got=str(len(gold)),
            remedy="align them by sample",
            column="gold",
        )
    for row, one in enumerate(gold, 1):
        if one is not None and not isinstance(one, str):
            raise InputError(
                "a string, or None where the gold output is unknown",
                got=repr(one),
                remedy="drop the row or fill the cell",
                row=row,
                column="gold",
            )


def _objects(values: Sequence[Any]) -> Any:
    found = np.empty(len(values), dtype=object)
    found[:] = list(values)
    return found

"""The verb `pseudo_labels`: outputs that all judges accept (or k of them), as data to train on, and how pure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import InputError, NotApplicable, UsageError
from ...intervals import check_level
from ...metrics.votes import count_votes, share
from ...predictions import Predictions
from ...results import Interval, plain
from ...store import as_source, write_predictions

_TEXTS = ("input", "output")
_READ = (*_TEXTS, "votes", "correct", "label", "prediction", "probabilities", "members")


@dataclass(frozen=True)
class PseudoLabels:
    """Accepted rows and what is known of them.

    record : the accepted rows: `input` and `output` where the data hold them, and the columns ``row`` (its number in
    the data, from 0) and ``id`` (where there is one). rows : rows of the data; judges; agree : votes that a row needs.
    accepted : share of the rows (exact interval). precision : share of the accepted rows of known truth that are right,
    accuracy : that of all rows; None where no truth is known. ladder : accepted rows, share and precision for "at least
    j judges", j = 1 ... n.
    """

    record: Predictions
    rows: int
    judges: int
    agree: int
    accepted: Interval
    precision: Interval | None
    accuracy: Interval | None
    ladder: tuple[Mapping[str, Any], ...]
    level: float

    def __len__(self) -> int:
        return len(self.record)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        from ...version import __version__

        return {
            "command": "pseudo_labels",
            "version": __version__,
            "level": self.level,
            "rows": self.rows,
            "judges": self.judges,
            "agree": self.agree,
            "kept": len(self.record),
            "accepted": self.accepted.to_dict(),
            "precision": plain(self.precision),
            "accuracy": plain(self.accuracy),
            "ladder": [plain(row) for row in self.ladder],
        }


def pseudo_labels(
    predictions: Any,
    *,
    agree: int | None = None,
    out: str | os.PathLike[str] | None = None,
    level: float = 0.95,
    mapping: Mapping[str, str] | None = None,
) -> PseudoLabels:
    """The rows that at least ``agree`` judges accept (all of them by default: the lower bound's), for self-training.

    Parameters
    ----------
    predictions :
        A file, frame, mapping or `Predictions` with `votes`, and `input` and `output` to train on; `correct` where it
        is known.
    agree :
        Votes for Correct that a row needs, from 1 to the number of judges.
    out :
        File for the accepted pairs (.jsonl, .csv, .parquet, ...): `input`, `output`, `row`, and `id` if there is one.
    level :
        Nominal coverage of the intervals.
    mapping :
        Renamed columns, {their column: our column}.

    precision = right and accepted / accepted, over the rows whose truth is known, exact for rows drawn like these: the
    correct_precision of the voting rule. It is measured, never assumed. The truth itself is not exported. Raises
    `InputError` without votes, for a file without texts, and where no row is accepted but a file was asked for;
    `UsageError` for an ``agree`` that cannot be. Source: Yao and Koller (2024), section 6, as future work.

    >>> votes = [[1, 1, 1, 0], [1, 1, 0, 0]]
    >>> found = pseudo_labels({"votes": votes, "input": list("abcd"), "output": list("ABCD"), "correct": [1, 0, 1, 0]})
    >>> found.record.output.tolist(), found.precision.value, [row["kept"] for row in found.ladder]
    (['A', 'B'], 0.5, [3, 2])
    """
    check_level(level)
    source = as_source(predictions, mapping=dict(mapping) if mapping else None)
    if "id" in source.columns and "id" not in source.fields:
        source = as_source(predictions, mapping=dict(mapping) if mapping else None, extra_columns=["id"])
    missing = [name for name in ("votes", *(_TEXTS if out is not None else ())) if name not in source.fields]
    if missing:
        remedy = "let judges vote: `oodometer discriminate`" if "votes" in missing else "add the texts"
        raise InputError(
            f"columns {', '.join(missing)}", got=", ".join(source.columns), remedy=remedy, file=source.path
        )
    kept: list[Predictions] = []
    tables: list[Array] = []
    needed = judges = start = 0
    for batch in source.batches(_READ):
        assert batch.votes is not None
        judges, counts = len(batch.votes), count_votes(batch.votes)
        needed = _needed(agree, judges)
        tables.append(_table(counts, _truth(batch), judges))
        kept.append(_exported(batch, np.flatnonzero(counts >= needed), start))
        start += len(batch)
    table: Array = np.sum(tables, axis=0)
    record = Predictions.concat([part for part in kept if len(part)] or kept[:1])
    found = _found(record, table, judges, needed, level)
    if out is not None:
        if not len(record):
            raise InputError(
                f"at least one row that {needed} of {judges} judges accept",
                got="none",
                remedy="ask for fewer votes, or judge other outputs",
                file=source.path,
            )
        write_predictions(record, out)
    return found


def _needed(agree: int | None, judges: int) -> int:
    if agree is None:
        return judges
    if not 1 <= agree <= judges:
        raise UsageError(f"expected votes from 1 to {judges}, the number of judges, got {agree}")
    return agree


def _truth(batch: Predictions) -> Array:
    try:
        return batch.verdicts
    except NotApplicable:  # labels, but no prediction to hold them against
        return np.full(len(batch), -1, dtype=np.int8)


def _table(counts: Array, verdicts: Array, judges: int) -> Array:
    """Rows by truth (unknown, wrong, right) and number of votes."""
    code = (verdicts.astype(np.int64) + 1) * (judges + 1) + counts
    return np.bincount(code, minlength=3 * (judges + 1)).reshape(3, judges + 1)


def _exported(batch: Predictions, index: Array, start: int) -> Predictions:
    """The accepted rows with their texts and numbers, and nothing else."""
    columns = {"row": np.arange(start, start + len(batch)), **batch.columns}
    bare = Predictions(
        rows=len(batch),
        input=batch.input,
        output=batch.output,
        columns={name: columns[name] for name in ("row", "id") if name in columns},
    )
    return bare.take(index)


def _found(record: Predictions, table: Array, judges: int, needed: int, level: float) -> PseudoLabels:
    rows = int(table.sum())
    reached = table[:, ::-1].cumsum(axis=1)[:, ::-1]

    def precision(least: int) -> Interval | None:
        wrong, right = reached[1:, least].tolist()
        return share(right, wrong + right, level)

    ladder = [
        {
            "at_least": j,
            "kept": int(reached[:, j].sum()),
            "accepted": share(int(reached[:, j].sum()), rows, level),
            "precision": precision(j),
        }
        for j in range(1, judges + 1)
    ]
    accepted = share(int(reached[:, needed].sum()), rows, level)
    assert accepted is not None
    return PseudoLabels(
        replace(record, source=None),
        rows,
        judges,
        needed,
        accepted,
        precision(needed),
        precision(0),
        tuple(ladder),
        level,
    )

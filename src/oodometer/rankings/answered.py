"""Answered: what several models say of the same rows, the labelled ones first, then the pool; from wherever it came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..inference.clusters import cluster_keys
from ..plain import Strings
from ..predictions import Predictions

CHOSEN = "chosen"
"""The column that says of a labelled row that it is no random one, and why; `was_chosen` reads its cells."""
_NO = frozenset(("", "false", "f", "no", "n", "none", "null", "<na>", "nat"))


@final
@dataclass(frozen=True, eq=False)
class Answered:
    """Answers of all models to all rows: the labelled rows come first, then the pool.

    records : one a model, rows and classes in one order, without labels. labels : positions among the classes, int64,
    shape (labelled row,). ids : names of all rows. modality : "predictions" where only answers are known. inputs :
    texts or pairs of all rows, empty for others, which stood in ``columns``. truncated : name -> inputs that were cut.
    left_out : reason -> rows that were not used. references : predictions with true labels, one a model.
    id_column : None where rows have no ids; numbered : these are whole numbers. chosen : which labelled rows were
    chosen, not drawn at random, bool, shape (labelled row,), None for none: they may decide between models, and no
    accuracy is computed from them. clusters : keys of the labelled rows that depend on each other, uint64, shape
    (labelled row,), None where no rows do, by the ``cluster_column``. notes : how the files were read.
    """

    names: Strings
    sources: Strings
    records: tuple[Predictions, ...]
    labels: Array
    ids: Strings
    modality: str
    inputs: tuple[Any, ...] = ()
    columns: Strings = ()
    truncated: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    references: tuple[Predictions, ...] = ()
    id_column: str | None = "id"
    numbered: bool = False
    label_column: str = "label"
    chosen: Array | None = None
    clusters: Array | None = None
    cluster_column: str = ""
    notes: Strings = ()

    @property
    def classes(self) -> tuple[int | str, ...]:
        """Class names."""
        return self.records[0].classes or ()

    @property
    def labelled(self) -> int:
        """Number of labelled rows."""
        return len(self.labels)

    @property
    def pool(self) -> int:
        """Number of rows without a label."""
        return len(self.ids) - self.labelled

    @property
    def random(self) -> Array:
        """Positions of the labelled rows that were drawn at random, as far as is known."""
        return np.arange(self.labelled) if self.chosen is None else np.flatnonzero(~self.chosen)

    @cached_property
    def predicted(self) -> Array:
        """Classes that the models predict, int64, shape (model, row)."""
        return np.stack([np.asarray(record.predicted, dtype=np.int64) for record in self.records])

    @cached_property
    def probabilities(self) -> Array | None:
        """Shape (model, row, class); None where some model gives classes alone."""
        if any(record.probabilities is None for record in self.records):
            return None
        return np.stack(
            [np.asarray(record.probabilities, dtype=np.float64) for record in self.records]
        )

    @cached_property
    def correct(self) -> Array:
        """Whether a model is right on a labelled row, bool, shape (model, labelled row)."""
        return np.asarray(self.predicted[:, : self.labelled] == self.labels)

    def check(self) -> None:
        """Raise `InputError` for a suite that cannot be ranked: fewer than two classes, no row at all."""
        if len(self.classes) < 2:
            got = f"{len(self.classes)} ({shown(self.classes)})"
            remedy = "name all classes with --classes a,b"
            raise InputError(
                "models of at least two classes", got=got, remedy=remedy, file=self.sources[0]
            )
        if not self.ids:
            remedy = "check what wrote it"
            raise InputError("at least one row", got="none", remedy=remedy, file=self.sources[0])


def clusters_of(cells: Sequence[Any], named: bool) -> Array | None:
    """Keys of the clusters of rows; of ids, which nobody asked for, None where none repeats.

    >>> clusters_of(["a_epoch_1", "b_epoch_1"], False), len(set(clusters_of(["a_epoch_1", "a_epoch_2"], False)))
    (None, 1)
    """
    if not len(cells):
        return np.zeros(0, dtype=np.uint64) if named else None
    keys = cluster_keys(list(cells))
    return keys if named or len(np.unique(keys)) < len(keys) else None


def was_chosen(cell: Any) -> bool:
    """Whether a cell of the column `CHOSEN` says that the row was chosen.

    An empty cell, 0, false and no say that it is a random row; anything else, such as a reason, that it was chosen.

    >>> [was_chosen(cell) for cell in ("by disagreement", "yes", 1, True)]
    [True, True, True, True]
    >>> [was_chosen(cell) for cell in ("", "no", "False", "0", 0.0, False, None, float("nan"))]
    [False, False, False, False, False, False, False, False]
    """
    text = str(cell).strip().casefold()
    try:
        return abs(float(text)) > 0  # no number at all is not above 0
    except ValueError:
        return text not in _NO


def shown(names: Sequence[int | str], limit: int = 8) -> str:
    """A few names, and how many more there are.

    >>> shown(["a", "b", "c"], 2)
    'a, b, ... (3 in all)'
    """
    return ", ".join(map(str, names[:limit])) + (
        f", ... ({len(names)} in all)" if len(names) > limit else ""
    )

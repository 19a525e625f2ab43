"""Answered: what several models say of the same rows, the labelled ones first, then the pool; from wherever it came."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..datasets.reading import Columns
from ..engines import Engine
from ..errors import InputError, UsageError
from ..inference.clusters import cluster_keys
from ..intervals import check_level
from ..models.base import Classifier
from ..predictions import Predictions
from ..registry import find

CHOSEN = "chosen"
"""The column that says of a labelled row that it is no random one, and why; `was_chosen` reads its cells."""
_NO = frozenset(("", "false", "f", "no", "n", "none", "null", "<na>", "nat"))


@final
@dataclass(frozen=True, eq=False)
class Answered:
    """Answers of all models to all rows.

    Parameters
    ----------
    names, sources : of the models; each name once.
    records : one a model, rows and classes in one order, without labels: the labelled rows, then the pool.
    labels : true classes as positions among the classes, int64, shape (labelled row,).
    ids : names of all rows.
    modality : of the rows; "predictions" where only answers are known.
    inputs : texts or pairs of all rows; empty for others. columns : where they stood.
    classifiers : the live models; empty for predictions files.
    truncated : name -> inputs that were longer than the model reads, and were cut.
    left_out : reason -> rows that were not used.
    chosen : which labelled rows were chosen, not drawn at random, bool, shape (labelled row,): they may decide between
    models, and no accuracy is computed from them. None: none of them.
    references : labelled predictions on known ground, one a model; empty without any.
    id_column, label_column : of the labelled rows; None where they have no ids. numbered : ids are whole numbers.
    clusters : keys of the labelled rows that depend on each other, uint64, shape (labelled row,); None: none do.
    cluster_column : that they are of.
    """

    names: tuple[str, ...]
    sources: tuple[str, ...]
    records: tuple[Predictions, ...]
    labels: Array
    ids: tuple[str, ...]
    modality: str
    inputs: tuple[Any, ...] = ()
    columns: tuple[str, ...] = ()
    classifiers: tuple[Classifier, ...] = ()
    truncated: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    references: tuple[Predictions, ...] = ()
    id_column: str | None = "id"
    numbered: bool = False
    label_column: str = "label"
    chosen: Array | None = None
    clusters: Array | None = None
    cluster_column: str = ""

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
        return np.stack([np.asarray(record.probabilities, dtype=np.float64) for record in self.records])

    @cached_property
    def correct(self) -> Array:
        """Whether a model is right on a labelled row, bool, shape (model, labelled row)."""
        return np.asarray(self.predicted[:, : self.labelled] == self.labels)

    def check(self) -> None:
        """Raise `InputError` for a suite that cannot be ranked: fewer than two classes, no labelled row."""
        if len(self.classes) < 2:
            got, remedy = f"{len(self.classes)} ({shown(self.classes)})", "name all classes with --classes a,b"
            raise InputError("models of at least two classes", got=got, remedy=remedy, file=self.sources[0])
        if not self.labelled:
            remedy = "name the column of the truth with --label, or label a few rows; ten already help"
            raise InputError("labelled rows", got=f"none among {len(self.ids):,}", remedy=remedy, file=self.sources[0])


def clusters_of(cells: Sequence[Any], named: bool) -> Array | None:
    """Keys of the clusters of labelled rows; of ids, which nobody asked for, None where none repeats.

    >>> clusters_of(["a_epoch_1", "b_epoch_1"], False), len(set(clusters_of(["a_epoch_1", "a_epoch_2"], False)))
    (None, 1)
    """
    keys = cluster_keys(list(cells))
    return keys if named or len(np.unique(keys)) < len(keys) else None


def check_different(names: Sequence[str], models: Sequence[Any]) -> None:
    """Raise `UsageError` for fewer than two models, one name of two models, and a model that is named twice."""
    if len(names) < 2:
        raise UsageError(f"expected at least two models to rank, got {len(names)}; for one there is `audit`")
    seen: set[Any] = set()
    for name, model in zip(names, models, strict=True):
        key: Any = id(model)
        called = str(model) if isinstance(model, (str, os.PathLike)) else name
        if isinstance(model, (str, os.PathLike)):
            key = os.path.realpath(model) if os.path.exists(model) else str(model)
        if key in seen:
            raise UsageError(
                f"{called} is named twice: a model is neither better nor worse than itself; name another one"
            )
        seen.add(key)
    twice = next((name for name in names if list(names).count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"two models have the name {twice}; give each its own, NAME=MODEL")


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


def shown(names: Sequence[int | str], most: int = 8) -> str:
    """A few names, and how many more there are.

    >>> shown(["a", "b", "c"], 2)
    'a, b, ... (3 in all)'
    """
    return ", ".join(map(str, names[:most])) + (f", ... ({len(names)} in all)" if len(names) > most else "")


_DEVICE = re.compile(r"cpu|cuda(:\d+)?")

ORDERS = ("labels", "combined")
"""What decides the order: labels with the pool, or these with the rest of the evidence where labels are close."""


@dataclass(frozen=True)
class RankOptions:
    """All that settles what `rank` finds beside models and data; as in the verb `rank`.

    ``engine`` runs attributions as tasks, None does them in this process.
    """

    columns: Columns
    factors: tuple[str, ...]
    attribution: str | None
    samples: int | None
    normalize: str
    explain: int
    order: str
    suggest: int
    classes: tuple[int | str, ...] | None
    mapping: Mapping[str, str] | None
    positive: str | None
    threshold: float | None
    gives: str | None
    max_length: int | None
    device: str | None
    level: float
    seed: int
    engine: Engine | None = None
    cluster: str | None = None

    def __post_init__(self) -> None:
        if check_level(self.level) <= 0.5:
            raise UsageError(f"expected a level above 0.5 such as 0.95, got {self.level}")
        for name in self.factors:
            find("factor", name)
        if self.attribution not in (None, "auto"):
            find("attribution", self.attribution)
        if len(set(self.factors)) < len(self.factors):
            twice = next(name for name in self.factors if self.factors.count(name) > 1)
            raise UsageError(f"the factor {twice} is named twice; name it once")
        for what, given in (
            ("samples are of an attribution", self.samples is not None),
            ("a normalization is of attributions", self.normalize != "none"),
            ("engine and workers are for attributions", self.engine is not None),
        ):
            if given and not self.explained:
                raise UsageError(f"{what}, and none was asked for; name one with --attribution or --factor")
        if self.device is not None and not _DEVICE.fullmatch(self.device):
            raise UsageError(f"expected the device to be cpu, cuda or cuda:N, got {self.device!r}")
        for what, value, least in (
            ("samples", self.samples, 2),
            ("explain", self.explain, 1),
            ("suggest", self.suggest, 0),
            ("max_length", self.max_length, 2),
        ):
            if value is not None and value < least:
                raise UsageError(f"expected {what} to be a number from {least} on, got {value!r}")

    @property
    def explained(self) -> bool:
        """Whether attributions are asked for."""
        return self.attribution is not None or bool(self.factors)

    @property
    def method(self) -> str:
        """The attribution method that is used."""
        return "lime" if self.attribution in (None, "auto") else self.attribution

    def of_models(self) -> dict[str, Any]:
        """What `open_classifier` takes."""
        return {"gives": self.gives, "classes": self.classes, "max_length": self.max_length, "device": self.device}

"""Natural cases: predictions of ordinary models on shifts that nobody made, which may be given away.

The tables, where they come from and their licences: ``tables/SOURCES.md``; made by ``scripts/natural_cases.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from oodometer.predictions import Predictions

TABLES = Path(__file__).with_name("tables")
KINDS: Mapping[str, str] = {
    "time": "later years, months or seasons",
    "place": "another place",
    "people": "other people, or another hand",
    "none": "no shift: fresh rows of the same group",
}
"""Kind of shift -> what it is."""
SPLITS: Mapping[str, str] = {
    "employment-year": "time",
    "employment-age": "people",
    "employment-sex": "people",
    "employment-school": "people",
    "employment-birth": "people",
    "haze-from-EWR": "place",
    "haze-from-JFK": "place",
    "haze-month": "time",
    "rain-year": "time",
    "rain-season": "time",
    "sea-decade": "time",
    "votes-age": "people",
    "votes-school": "people",
    "votes-town": "place",
    "penguins-year": "time",
    "penguins-island": "place",
    "digits-writers": "people",
}
"""Split of a source into the group that models learnt from and others -> kind of shift."""
SOURCES = tuple(dict.fromkeys(split.partition("-")[0] for split in SPLITS))
"""Names of the public data sets; cases of one source are not independent of each other."""
REFERENCE, SAME = "reference", "same"  # parts of every table; all others are targets


@dataclass(frozen=True)
class NaturalCase:
    """One model with a reference and a target.

    source, split : the public data set, and what its rows were split by. model : "logistic", "trees" or "bayes".
    target : the group that is asked about. kind : of the shift, in `KINDS`.
    """

    source: str
    split: str
    model: str
    target: str
    kind: str

    @property
    def key(self) -> str:
        """A name that no other case has, such as ``employment-sex/trees/women``."""
        return f"{self.split}/{self.model}/{self.target}"

    @property
    def reference(self) -> Predictions:
        """Predictions with labels, shape (sample,): probabilities, and as members the classes of the other models."""
        return self._record(REFERENCE, labelled=True)

    @property
    def unlabelled(self) -> Predictions:
        """The same of the target, without labels."""
        return self._record(self.target, labelled=False)

    @property
    def truth(self) -> float:
        """The accuracy on the target."""
        return self._record(self.target, labelled=True).accuracy

    def _record(self, part: str, labelled: bool) -> Predictions:
        labels, probabilities = table_of(self.split)[part]
        others = [p.argmax(axis=1) for name, p in probabilities.items() if name != self.model]
        return Predictions.from_probabilities(
            probabilities[self.model],
            label=labels if labelled else None,
            members=np.stack(others),
        )


@cache
def table_of(split: str) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Part -> its labels, shape (sample,), and the probabilities of each model, shape (sample, class)."""
    import pyarrow.parquet as pq

    table = pq.ParquetFile(TABLES / f"{split}.parquet").read()
    columns = {name: table[name].to_numpy() for name in table.column_names}
    models: dict[str, list[Any]] = {}
    for name, values in columns.items():
        if ":" in name:
            models.setdefault(name.partition(":")[0], []).append(values.astype(np.float64))
    whole = {}
    for model, shares in models.items():
        first = np.column_stack(shares)
        whole[model] = np.column_stack([first, 1 - first[:, 0]]) if len(shares) == 1 else first
        whole[model] /= whole[model].sum(axis=1, keepdims=True)
    out = {}
    for part in dict.fromkeys(columns["part"].tolist()):
        rows = columns["part"] == part
        out[part] = columns["label"][rows], {name: p[rows] for name, p in whole.items()}
    return out


@cache
def natural_cases() -> tuple[NaturalCase, ...]:
    """All cases, in a fixed order.

    >>> cases = natural_cases()
    >>> len(cases), len({case.source for case in cases})
    (135, 7)
    >>> cases[1].key, round(cases[1].reference.accuracy - cases[1].truth, 2)
    ('employment-year/logistic/2016', 0.01)
    """
    return tuple(
        NaturalCase(
            source=split.partition("-")[0],
            split=split,
            model=model,
            target=target,
            kind="none" if target == SAME else kind,
        )
        for split, kind in SPLITS.items()
        for model in next(iter(table_of(split).values()))[1]
        for target in table_of(split)
        if target != REFERENCE
    )

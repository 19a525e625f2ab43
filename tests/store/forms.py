"""One record in every form that predictions come in, its axes in any order; shared by tests of what names decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from oodometer.predictions import Predictions
from oodometer.store import write_predictions

FILES = ("csv", "parquet", "jsonl", "arrow", "npz")
FORMS = ("dict", "record", "pandas", "polars", "table", *FILES)
CLASSES = ("ant", "bee", "cat")
NAMES = {
    "model": ("big", "mid", "small"),
    "view": ("crop", "flip"),
    "judge": ("x", "y", "z"),
    "feature": ("age", "pay", "tax", "zip"),
}
AXES = {"class": CLASSES, **NAMES}


def named_record(rows: int, seed: int, *, ties: bool = True) -> Predictions:
    """A record with every named axis and an `id`; some rows have two classes that are exactly as probable."""
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.array([4.0, 2.0, 1.0]), rows)
    if ties:
        probabilities[::9] = [0.4, 0.4, 0.2]
    label = np.array([rng.choice(3, p=p) for p in probabilities])
    wrong = rng.random((3, rows)) < np.array([0.1, 0.2, 0.3])[:, None]
    members = np.where(wrong, rng.integers(3, size=(3, rows)), probabilities.argmax(axis=1))
    flipped = rng.random((2, rows)) < 0.2
    views = np.where(flipped, rng.integers(3, size=(2, rows)), probabilities.argmax(axis=1))
    votes = (rng.random((3, rows)) < 0.8) == (probabilities.argmax(axis=1) == label)
    named = np.array(CLASSES)
    return Predictions.from_arrays(
        classes=CLASSES,
        names=NAMES,
        probabilities=probabilities,
        label=named[label],
        members=named[members],
        member_probabilities=np.stack([rng.dirichlet(np.ones(3), rows) for _ in range(3)]),
        views=named[views],
        votes=votes.astype(int),
        features=rng.normal(size=(rows, 4)) + np.eye(4)[label],
        columns={"id": np.array([f"row {i}" for i in range(rows)], dtype=object)},
    )


def in_order(record: Predictions, orders: Mapping[str, list[int]]) -> Predictions:
    """The same record with the entries of its axes in other orders, and the names with them (written independently)."""
    k, m, v, j, f = (orders[axis] for axis in ("class", "model", "view", "judge", "feature"))
    back = np.argsort(k)
    assert record.probabilities is not None
    assert record.member_probabilities is not None
    assert record.members is not None
    assert record.views is not None
    assert record.votes is not None
    assert record.features is not None
    return replace(
        record,
        classes=tuple(CLASSES[i] for i in k),
        names={axis: tuple(own[i] for i in orders[axis]) for axis, own in NAMES.items()},
        probabilities=record.probabilities[:, k],
        label=None if record.label is None else back[record.label].astype(np.int32),
        members=back[record.members[m]].astype(np.int32),
        member_probabilities=record.member_probabilities[m][..., k],
        views=back[record.views[v]].astype(np.int32),
        votes=record.votes[j],
        features=record.features[:, f],
        _cache={},
    )


def made(record: Predictions, form: str, folder: Path, name: str) -> Any:
    """The record in one of `FORMS`."""
    if form == "record":
        return record
    if form == "dict":
        classes = np.array(record.classes)
        out: dict[str, Any] = {"classes": list(record.classes or ()), **record.columns}
        out |= {f"names_{axis}": own for axis, own in record.names.items()}
        for field in ("probabilities", "member_probabilities", "votes", "features"):
            out[field] = getattr(record, field)
        for field in ("label", "members", "views"):
            if record.has(field):
                out[field] = classes[getattr(record, field)]
        return out
    path = write_predictions(record, folder / f"{name}.{form if form in FILES else 'parquet'}")
    if form in FILES:
        return path
    table = pq.read_table(path)
    return (
        table
        if form == "table"
        else table.to_pandas()
        if form == "pandas"
        else pl.from_arrow(table)
    )


def numbers(answer: Any) -> list[Any]:
    """All that an answer says, in order, but names and times of the run."""
    if isinstance(answer, dict):
        return [
            one
            for name, value in answer.items()
            if name not in ("name", "seconds")
            for one in numbers(value)
        ]
    if isinstance(answer, (list, tuple)):
        return [one for value in answer for one in numbers(value)]
    return [answer]

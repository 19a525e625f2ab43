"""Unread: columns of probabilities under other names, which a file holds beside predictions and nobody asked for."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from contextlib import closing
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, OodometerError
from ..store import Source
from ..store.cells import dictionary, plain
from ..store.columns import likely_columns, looks_like_probability
from ..store.encoding import raw_numbers

_SURE = 0.95  # area under the curve of a column for the rows that are predicted as a class
_READ = ("probabilities", "logits", "confidence", "candidate_scores", "token_logprobs", "member_probabilities", "votes")
_LEAST_ROWS = 20


def unread_probabilities(source: Source, renamed: Collection[str] = ()) -> tuple[dict[str, str], list[str]]:
    """Columns that are read as probabilities, theirs -> ours, and lines about them and about those that are not.

    Only of a file with predictions and without any scores. A column is read where its name looks like a probability,
    its numbers lie between 0 and 1, and it tells one of two predicted classes from the other (an area under the curve
    of 0.95 or more) as no other such column does; or where there is one for each class and their largest is the
    prediction. What is not understood is named, but for columns that were ``renamed``.

    >>> from oodometer.store import as_source
    >>> p = [i / 40 for i in range(40)]
    >>> table = {"prediction": [int(one > 0.4) for one in p], "label": [1] * 40, "y_pred_proba": p}
    >>> unread_probabilities(as_source(table))[0]
    {'y_pred_proba': 'prob_1'}
    """
    if "prediction" not in source.fields or set(_READ) & set(source.fields):
        return {}, []
    own = [name for name in source.own_columns if name not in renamed]
    columns = [name for name in own if looks_like_probability(name)]
    others = [name for name in own if name not in columns]
    try:
        said, numbers = _first_rows(source, [*columns, *others])
    except OodometerError:
        return {}, []  # said where it is read
    classes = sorted({str(one) for one in said.tolist() if one is not None})
    wide = {c: ours for c, ours in likely_columns(columns).items() if ours.startswith("prob_") and ours != "prob_1"}
    names = [ours.removeprefix("prob_") for ours in wide.values()]
    if len(wide) > 1 and set(wide) <= set(numbers) and set(classes) <= set(names):
        p = np.column_stack([numbers[column] for column in wide])
        sums = bool(np.nanmin(p) >= 0 and np.nanmax(p) <= 1 and np.allclose(p.sum(axis=1), 1, atol=0.02))
        if sums and np.mean(np.array(names)[p.argmax(axis=1)] == said) > 0.5:
            return wide, [f"{source.name}: {', '.join(wide)} are read as the probabilities of the classes"]
    tells = {name: _class_told(values, said, classes) for name, values in numbers.items()}
    fitting = [name for name in columns if tells.get(name) is not None]
    if len(fitting) == 1:
        name = fitting[0]
        told = f"{source.name}: {name} is read as the probability of class {tells[name]}, which it tells from the other"
        return {name: f"prob_{tells[name]}"}, [f"{told}; to leave it out, --map {shlex.quote(f'{name}=unread')}"]
    seen = fitting or columns or [name for name in others if tells.get(name) is not None]
    if not seen:
        return {}, []
    some = ", ".join(seen[:6]) + (", ..." if len(seen) > 6 else "")
    return {}, [f"{source.name}: {some} {'is' if len(seen) == 1 else 'are'} not read; {_remedy(seen, tells, numbers)}"]


def _remedy(seen: list[str], tells: dict[str, Any], numbers: dict[str, Array]) -> str:
    name = next((one for one in seen if tells.get(one) is not None), seen[0])
    values = numbers.get(name)
    if values is not None and 1 < np.nanmax(values) <= 100 and np.nanmin(values) >= 0:
        return f"if {name} holds percents, divide it by 100, then --positive {shlex.quote(name)}"
    if tells.get(name) is not None:
        return f"if it is a probability, --positive {shlex.quote(f'{name}={tells[name]}')}"
    if values is not None and np.nanmin(values) >= 0 and np.nanmax(values) <= 1:
        return f"if it is the confidence in the prediction, --map {shlex.quote(f'{name}=confidence')}"
    return "name a probability with --positive COLUMN=CLASS, a confidence with --map COLUMN=confidence"


def _first_rows(source: Source, columns: list[str]) -> tuple[Array, dict[str, Array]]:
    """Predicted classes of the first rows as texts, None where unknown, and their numbers in columns that hold some."""
    batches: Any = source.raw(["prediction", *columns])
    with closing(batches):
        batch = next(batches)
    coded = dictionary(plain(batch.column(0)), "prediction", source.raw_text)
    names = np.array([*(None if value is None else str(value) for value in coded.values), None], dtype=object)
    numbers = {}
    for place, name in enumerate(columns, 1):
        try:
            values = raw_numbers(batch.column(place), name, source.raw_text, source.decimal_comma)
        except InputError:
            continue
        if np.isfinite(values).mean() > 0.9 and len(np.unique(values)) > 2:
            numbers[name] = values
    return names[coded.codes], numbers


def _class_told(values: Array, said: Array, classes: list[str]) -> str | None:
    """The one of two predicted classes whose rows have the larger numbers, between 0 and 1; None where neither has."""
    known = np.isfinite(values)
    if len(classes) != 2 or len(said) < _LEAST_ROWS or values[known].min() < 0 or values[known].max() > 1:
        return None
    second = said[known] == classes[1]
    n, m = int(second.sum()), int((~second).sum())
    if not n or not m:
        return None
    _, cell, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2
    area = (float(rank[cell][second].sum()) - n * (n + 1) / 2) / (n * m)
    return classes[1] if area >= _SURE else classes[0] if area <= 1 - _SURE else None

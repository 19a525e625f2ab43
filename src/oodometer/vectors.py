"""Vectors: labels and probabilities as people type them, `y` and `p`, made the tables that the verbs read."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .arrays import Array, as_cells, as_numpy, index_of
from .classes import ClassNames, class_by_share, find_classes, named_classes, positive_of
from .errors import InputError, UsageError
from .fields import FIELDS
from .plain import Json

_ENDINGS = ("csv", "tsv", "jsonl", "parquet", "arrow", "feather", "npz", "gz", "xz", "bz2", "oodo")
_FIRST = 100  # entries of a list that say what it holds


def is_bare(value: Any) -> bool:
    """Whether it is an array, a Series, or a list of numbers, texts or rows: cells without names of columns. A list of
    names of files is none.

    >>> [is_bare(value) for value in ([0, 1], ["cat", None], [[0.9, 0.1]], ["a.csv"], {"label": [0]}, "a.csv")]
    [True, True, True, False, False, False]
    """
    if isinstance(value, (str, bytes, os.PathLike, Mapping)) or columns_of(value) is not None:
        return False
    if not isinstance(value, (list, tuple)):
        return hasattr(value, "__len__") and any(
            hasattr(value, name) for name in ("__array__", "to_numpy", "detach")
        )
    first, path = value[:_FIRST], re.compile(rf".*\*|\w+://|.*\.({'|'.join(_ENDINGS)})$")
    are_paths = all(
        isinstance(cell, str) and (path.match(cell) or os.path.exists(cell)) for cell in first
    )
    return bool(value) and all(map(_is_cell, first)) and not are_paths


def are_records(value: Any) -> bool:
    """Whether it is a list of rows, each a mapping that holds single cells or the row's probabilities, as JSON has
    them; tables hold a column under each name.

    >>> [are_records(value) for value in ([{"label": 1, "logits": [0, 2]}], [{"probabilities": [0.1, 0.9]}])]
    [True, True]
    >>> are_records([{"label": [1, 0], "probabilities": [[0.1, 0.9], [0.5, 0.5]]}])
    False
    """
    rows = value[:_FIRST] if isinstance(value, (list, tuple)) else ()
    return bool(rows) and all(isinstance(row, Mapping) and _is_row(row) for row in rows)


def _is_row(mapping: Mapping[str, Any]) -> bool:
    """Whether a mapping holds one row of a table, and no columns."""
    if any(cell is None or isinstance(cell, str) or np.isscalar(cell) for cell in mapping.values()):
        return True
    of_classes = [mapping[name] for name in ("probabilities", "logits") if name in mapping]
    return any(np.ndim(cell) == 1 for cell in of_classes)


def several(data: Any) -> list[Any]:
    """Sources that were given as one or as a list of them; rows, or cells, in a list are one.

    >>> several("a.csv"), several(["a.csv", "b.csv"]), several([{"label": 1}, {"label": 0}])
    (['a.csv'], ['a.csv', 'b.csv'], [[{'label': 1}, {'label': 0}]])
    """
    if isinstance(data, (list, tuple)) and not are_records(data) and not is_bare(data):
        return list(data)
    return [data]


def _is_cell(value: Any) -> bool:
    row = isinstance(value, (list, tuple)) or (
        hasattr(value, "ndim") and value.ndim < 2 and not columns_of(value)
    )
    return row or value is None or np.isscalar(value) or type(value).__name__ == "NAType"


def columns_of(value: Any) -> list[Any] | None:
    """Names of the columns of a frame or of a table of Arrow; None for anything else."""
    # of polars, which warns where its columns are asked
    lazy = getattr(value, "collect_schema", None)
    names = (
        lazy().names() if lazy else getattr(value, "column_names", getattr(value, "columns", None))
    )
    if names is None or callable(names) or isinstance(value, Mapping) or hasattr(value, "fields"):
        return None
    return list(names)


def _vector(value: Any) -> Array | None:
    """Cells with one axis of an array, a list, a Series or a frame of one column; None for anything else."""
    if not is_bare(value) and len(columns_of(value) or ()) != 1:
        return None
    cells = as_cells(value)
    cells = cells[:, 0] if cells.ndim == 2 and cells.shape[1] == 1 else cells
    return cells if cells.ndim == 1 else None


def _are_classes(cells: Array | None) -> bool:
    """Whether cells with one axis may be classes: integers, texts, true and false, whole numbers."""
    if cells is None or cells.dtype.kind not in "iubUSOf":
        return False
    if cells.dtype.kind == "f":
        return bool((np.isnan(cells) | (cells == np.round(cells))).all())
    return cells.dtype.kind != "O" or not any(
        isinstance(cell, (list, tuple, np.ndarray)) for cell in cells
    )


def given_pair(
    first: Any, second: Any, classes: Sequence[int | str] | None = None, positive: str | None = None
) -> Json:
    """Labels, shape (n,), and what a model says of the same rows, in either order, as one mapping of columns.

    What a model says is probabilities of shape (n, K), whose columns stand in the order of the sorted classes, as those
    of scikit-learn's `predict_proba` do, or in that of ``classes``; of shape (n,) or (n, 1), of the second of two
    classes or of that of ``positive``; predicted classes, shape (n,); or a table: with a column for each class, or with
    columns of a predictions file. Raises `UsageError` where there is no reading, or two, `InputError` for lengths.

    >>> given_pair(["dog", "cat"], [[0.2, 0.8], [0.6, 0.4]])["classes"]
    ('cat', 'dog')
    >>> list(given_pair([0, 1], [0.2, 0.9]))
    ['label', 'prob_1', 'classes']
    """
    p, cells, label = _told_apart(first, second)
    label = label.astype(np.int64) if label.dtype.kind == "b" else label
    seen = find_classes({"label": label}) if classes is None else named_classes(classes)
    table = _named_columns(p, seen, may_be_file=cells is None)
    if table is not None:
        if "label" in table:
            raise UsageError(
                "expected labels beside a table without any, got one with a column `label`; give it alone"
            )
        return {**table, "label": label}
    if not is_bare(p) and columns_of(p) is None:
        remedy = "give arrays, or one table that holds the labels as its column `label`"
        raise UsageError(f"expected probabilities beside labels, got {_shape(p)}; {remedy}")
    matrix = as_numpy(p) if cells is None else cells
    if len(matrix) != len(label):
        raise InputError(
            f"{len(label)} rows of probabilities, one for each label",
            got=str(len(matrix)),
            remedy="align the arrays by row",
        )
    if cells is not None:
        return {"label": label, **_read_vector(cells, label, seen, positive, classes is None)}
    if classes is None and matrix.ndim == 2:
        seen = _classes_of_columns(matrix.shape[1], seen)
    _refuse_logits(matrix, f'{{"label": y, "logits": z, "classes": {[*seen]}}}')
    return {"label": label, "probabilities": matrix, "classes": seen}


def _told_apart(first: Any, second: Any) -> tuple[Any, Array | None, Array]:
    """What a model says, its cells where they have one axis, and the labels; `UsageError` where there are none."""
    vectors = _vector(first), _vector(second)
    turned = not _are_classes(vectors[0])
    y, p, label, cells = (second, first, *vectors[::-1]) if turned else (first, second, *vectors)
    if model := next((value for value in (p, y) if hasattr(value, "predict")), None):
        call = "(y, model.predict_proba(X), model.predict_proba(X_target)), or what model.predict gives"
        raise UsageError(
            f"expected what a model predicts, got a {type(model).__name__} itself; give {call}"
        )
    if label is None or not _are_classes(label):
        expected = "labels of shape (n,) and probabilities of shape (n, K), or (n,) of the second of two classes"
        remedy = "a table that holds its labels as a column goes alone: estimate(reference, target), fit(reference)"
        raise UsageError(f"expected {expected}, got {_shape(first)} and {_shape(second)}; {remedy}")
    if hasattr(y, "reindex") and hasattr(p, "reindex"):
        index_of({"labels": y, "probabilities": p})  # refused where they speak of other rows
    return p, cells, label


def _named_columns(p: Any, seen: ClassNames, may_be_file: bool) -> Json | None:
    """The columns of a table by the names that a file would give them: of classes, or, where ``may_be_file`` or the
    first is a field, as they stand. None for cells without names.
    """
    if isinstance(p, Mapping):
        return dict(p)
    columns = columns_of(p)
    if not columns or _counted(columns):
        return None
    names = _own_names(columns, seen)
    if names is None:
        if not may_be_file and columns[0] not in FIELDS:
            return None
        names = list(map(str, columns))
    elif (matrix := as_numpy(p)).dtype.kind == "f" and np.allclose(
        matrix.sum(axis=1), 1, atol=0.02
    ):
        names = [f"prob_{name}" for name in columns]  # some have no label
    return {name: as_cells(p[column]) for name, column in zip(names, columns, strict=True)}


def _read_vector(
    cells: Array, label: Array, seen: ClassNames, positive: str | None, by_name: bool
) -> Json:
    """Predicted classes, or probabilities of ``positive`` or the second of two classes, as columns; as a column ``p``,
    whose class is found as that of a file's column is, where the second ``by_name`` is not what the labels tell.
    """
    if _are_classes(cells):
        if cells.dtype.kind == "f":
            remedy = "give p.astype(int) if they are classes, numpy.column_stack([1 - p, p]) if probabilities"
            raise UsageError(
                f"expected probabilities or classes, got {cells[0]:g} and the like, both; {remedy}"
            )
        return {"prediction": cells}
    pair = (0, 1) if set(seen) <= {0, 1} else seen
    named = None if positive is None else positive.rpartition("=")[2]
    if len(pair) != 2 or named not in (None, *map(str, pair)):
        remedy = "name both, such as classes=[0, 1]"
        remedy = "give probabilities of shape (n, K)" if len(pair) > 2 else remedy
        expected = "two classes beside probabilities of shape (n,)"
        raise UsageError(f"expected {expected}, got {_counted_names(seen)}; {remedy}")
    if named is None and by_name and len(seen) == 2 and _class_told(cells, label, pair) == 0:
        return {"p": cells}
    name = pair[1] if named is None else named
    _refuse_logits(cells, f'{{"label": y, "logit_{name}": z}}')
    return {f"prob_{name}": cells, "classes": pair}


def _class_told(p: Array, label: Array, pair: ClassNames) -> int | None:
    """Which of two classes ``p`` is of: by their names, else by how often each comes; None where neither tells."""
    if p.dtype.kind not in "fi":
        return None
    names = [str(name) for name in pair]
    told = positive_of(names) or class_by_share(p.astype(np.float64), label.astype(str), names)
    return None if told is None else names.index(told)


def _classes_of_columns(width: int, seen: ClassNames) -> ClassNames:
    """The classes of a matrix's columns: those of the labels, or numbers where a class has no label."""
    if len(seen) == width:
        return seen
    if set(seen) <= {*range(width)}:
        return tuple(range(width))
    remedy = "name all of them in the order of the columns, such as classes=model.classes_"
    remedy = remedy if len(seen) < width else "give probabilities one column for each class"
    expected = f"labels of {width} classes, one for each column of p"
    raise UsageError(f"expected {expected}, got {_counted_names(seen)}; {remedy}")


def _counted_names(seen: ClassNames) -> str:
    more = ", ..." if len(seen) > 6 else ""
    return f"{len(seen)} ({', '.join(map(repr, seen[:6]))}{more})"


def _refuse_logits(p: Array, table: str) -> None:
    """Numbers below 0 are no probabilities; `UsageError` with the call that takes logits and log-probabilities."""
    if p.dtype.kind in "fi" and p.size and (lowest := np.nanmin(p)) < -1e-6:
        target = table.replace('"label": y, ', "").replace(": z", ": z_target")
        remedy = (
            f"if they are logits or log-probabilities, give tables: estimate({table}, {target})"
        )
        raise UsageError(f"expected probabilities between 0 and 1, got {lowest:.6g}; {remedy}")


def by_place(options: Any) -> Json:
    """What changes in options whose labels and probabilities were given as arrays, one behind the other: tables take
    their place. `UsageError` for one array without the other.
    """
    behind = "p_target" if hasattr(options, "p_target") else "p"
    out: Json = {}
    target = getattr(options, "target", None)
    if getattr(options, behind) is not None:
        p = options.p if behind == "p" else options.target
        target, out[behind] = options.p_target if behind == "p_target" else None, None
        reading = (getattr(options, name, None) for name in ("classes", "positive"))
        out |= {"reference": given_pair(options.reference, p, *reading)}
        out |= {"target": target} if behind == "p_target" else {}
    elif is_bare(options.reference):
        verb = re.sub("^re|(options|job)$", "", type(options).__name__.lower())
        call, tables = ("y, p", "a table") if behind == "p" else ("y, p, p_target", "two tables")
        got = _shape(options.reference)
        raise UsageError(
            f"expected labels and their probabilities, {verb}({call}), or {tables}, got {got} alone"
        )
    if getattr(options, "labels", None) is not None:
        out["labels"], out["key"] = given_labels(options.labels, target, options.key)
    return out


def given_target(
    data: Any, classes: Sequence[int | str] | None, positive: int | str | None = None
) -> Any:
    """What a model says of rows without labels, as the table that a verb reads; a table stays as it is. ``classes`` are
    those of the reference in its order, ``positive`` the one that a lone probability is of, by default the second.
    """
    columns, classes = columns_of(data), classes or ()
    names = None if columns is None else _own_names(columns, classes)
    if columns is not None and names is not None:
        if hasattr(data, "set_axis"):
            return data.set_axis(names, axis=1)  # with its index
        return {name: as_cells(data[column]) for name, column in zip(names, columns, strict=True)}
    if not is_bare(data) or getattr(data, "name", None) in FIELDS:
        return data
    cells, index = _vector(data), index_of({"target": data})
    if cells is None:
        return {"probabilities": as_numpy(data)}
    if _are_classes(cells) and cells.dtype.kind != "f":
        return {"prediction": cells, **index}
    if not classes:
        return {"confidence": cells, **index}
    if len(classes) != 2:
        raise InputError(
            f"probabilities of shape (n, {len(classes)}), a column for each class",
            got=_shape(data),
            remedy="give model.predict_proba(X_target)",
        )
    return {f"prob_{classes[1] if positive is None else positive}": cells, **index}


def given_labels(labels: Any, target: Any, key: str | None) -> tuple[Any, str | None]:
    """Labels in an array, a list or a Series as a table, and the key to join them by: the index of a Series or a frame,
    where it names rows of the target's once each and no column `id` does. Anything else stays as it is.
    """
    # several
    if (
        isinstance(labels, (list, tuple))
        and labels
        and not (is_bare(labels) and np.ndim(labels[0]) == 0)
    ):
        pairs = [given_labels(part, target, key) for part in labels]
        return [part for part, _ in pairs], pairs[0][1]
    if is_bare(labels) and _vector(labels) is not None:
        # or `correct`
        name = named if (named := getattr(labels, "name", None)) in FIELDS else "label"
        labels = labels.to_frame(name) if hasattr(labels, "reindex") else {name: as_cells(labels)}
    frame = hasattr(labels, "reindex") and not hasattr(target, "reindex")
    if key is None and frame and is_bare(target) and len(labels) != len(target):
        remedy = "to join them by their index give it to the target, pandas.DataFrame(p_target, index=X_target.index)"
        raise UsageError(
            f"expected {len(target)} labels, one for each target row, got {len(labels)}; {remedy}"
        )
    return labels, index_key(labels, target, key)


def index_key(labels: Any, target: Any, key: str | None) -> str | None:
    """The key to join labels by: ``key``, else the indices of two frames, where that of the labels names rows of the
    target once each, and no column `id` of both does. An index that only counts the target's rows must hold them all.
    """
    frames = [frame for frame in (labels, target) if hasattr(frame, "reindex")]
    if (
        key is not None
        or len(frames) < 2
        or all("id" in (columns_of(frame) or ()) for frame in frames)
    ):
        return key
    labels_index, target_index = labels.index, target.index
    if (
        _counts(labels_index)
        or not labels_index.is_unique
        or max(labels_index.nlevels, target_index.nlevels) > 1
        or labels_index.equals(target_index)
    ):
        return None
    is_shared = labels_index.isin(target_index)
    if not (is_shared.all() if _counts(target_index) else is_shared.any()):
        return None
    theirs, ours = (
        "index" if index.name is None else str(index.name) for index in (labels_index, target_index)
    )
    return theirs if theirs == ours else f"{ours}={theirs}"


def _counts(index: Any) -> bool:
    """Whether an index of pandas is one that nobody chose: it counts rows from 0."""
    return type(index).__name__ == "RangeIndex" and index.start == 0


def _counted(columns: Sequence[Any]) -> bool:
    """Whether columns have no names but count from 0, as pandas and polars call those of an array."""
    return list(columns) in ([*range(len(columns))], [f"column_{i}" for i in range(len(columns))])


def _own_names(columns: Sequence[Any], classes: Sequence[Any]) -> list[str] | None:
    """Columns of a frame as a file calls them, ``prob_<class>`` where there is one for each class, by their names or in
    their order; None where they are no classes.
    """
    texts, names = list(map(str, columns)), list(map(str, classes))
    if len(names) < 2 or not (
        set(names) <= set(texts) or (_counted(columns) and len(texts) == len(names))
    ):
        return None
    return [
        f"prob_{t}" if t in names else t for t in (texts if set(names) <= set(texts) else names)
    ]


def _shape(value: Any) -> str:
    columns = columns_of(value)
    if columns is not None:
        return f"a frame of {len(columns)} column{'' if len(columns) == 1 else 's'}"
    shape = f" of shape {as_cells(value).shape}" if is_bare(value) else ""
    return f"a {type(value).__name__}{shape}"

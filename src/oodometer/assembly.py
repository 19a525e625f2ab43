"""Assembly: what was given for one record, field by field, to checked arrays that fit each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import candidates, checks
from .arrays import Array, Coded, Ragged, as_numpy
from .classes import (
    NO_ANSWER,
    ClassNames,
    NewClassError,
    encode,
    encode_positions,
    find_classes,
    truth_values,
)
from .errors import InputError
from .fields import FIELDS, Field, refuse_classes_beside_positions
from .kernels import Top, concatenated

_MOSTLY = 0.5  # share of rows off the argmax up to which predictions may be decisions whatever the probabilities are


def check_fields(
    given: dict[str, Any], classes: ClassNames | None, positions: bool = False
) -> tuple[int, ClassNames | None, dict[str, Any], dict[str, Any]]:
    """Number of rows, class names, checked arrays, and what the checks learnt on the way (``top``, ``rounded``).

    ``positions`` says that labels and predictions are positions among candidates although no scores of these are here.
    Rows in errors are counted from the start of these arrays.
    """
    out: dict[str, Any] = {}
    learnt: dict[str, Any] = {}
    present = {name: field for name, field in FIELDS.items() if name in given}
    beside = [name for name, field in FIELDS.items() if positions and field.positions]
    ordered = refuse_classes_beside_positions([*present, *beside], classes)
    ordered = ordered if ordered in present else None
    for name, field in present.items():
        if field.check is not None:
            out[name] = field.check(given[name], classes, learnt)
        elif field.cell == "truth":
            out[name] = _verdicts(given[name], name, field)
    if ordered is None and not positions:
        classes = _settle_classes(given, out, classes)
    for name, field in present.items():
        if field.cell == "class":
            entries = None if ordered is None else out[ordered]
            out[name] = _coded(given[name], name, field, None if ordered or positions else classes or (), entries)
            noted = dict(given[name].noted) if isinstance(given[name], Coded) else {}
            none = (classes or ()).index(NO_ANSWER) if name == "prediction" and NO_ANSWER in (classes or ()) else -1
            if none >= 0 and (count := int(np.count_nonzero(out[name] == none))):
                noted["no answer"] = count
            if noted:
                learnt["noted"] = {**learnt.get("noted", {}), **noted}
        elif name not in out:
            out[name] = as_numpy(given[name])
    rows = _common_length(out)
    if "prediction" in out and "probabilities" in out:
        learnt["argmax"] = follows_argmax(out["prediction"], out["probabilities"], classes or ())
    for field in present.values():
        if field.give is not None:
            out |= field.give(out, learnt)
    return rows, classes, out, learnt


def _verdicts(value: Any, name: str, field: Field) -> Array:
    """Truth values, all of them known unless the field may lack some."""
    array = truth_values(value, name)
    if array.ndim != len(field.axes):
        raise InputError(f"axes {field.axes}", got=f"shape {array.shape}", column=name)
    if not field.unknown and (array < 0).any():
        at = np.unravel_index(int(np.argmax(array < 0)), array.shape)
        raise InputError(
            "a verdict from every judge",
            got="null",
            remedy="drop the row",
            row=int(at[field.sample]) + 1,
            column=name,
        )
    return array


def _settle_classes(given: dict[str, Any], out: dict[str, Any], classes: ClassNames | None) -> ClassNames | None:
    """The class names: as given, else 0..K-1 for a class axis, else the classes that occur."""
    widths = {name: value.shape[-1] for name, value in out.items() if FIELDS[name].of_classes}
    if classes is not None:
        for name, width in widths.items():
            if width != len(classes):
                raise InputError(
                    f"{len(classes)} classes",
                    got=f"{width}",
                    remedy="name every class once, in column order",
                    column=name,
                )
        return classes
    if widths:
        if len(set(widths.values())) > 1:
            raise InputError(
                "one number of classes",
                got=", ".join(f"{k}: {v}" for k, v in widths.items()),
                remedy="align them",
            )
        return tuple(range(next(iter(widths.values()))))
    coded = {name: given[name] for name, field in FIELDS.items() if field.cell == "class" and name in given}
    return find_classes(coded) if coded else None


def _coded(value: Any, name: str, field: Field, classes: ClassNames | None, entries: Ragged | None) -> Array:
    """Positions among the classes, or among candidates where there are none."""
    codes = encode_positions(value, name) if classes is None else encode(value, classes, name, name)
    if codes.ndim != len(field.axes):
        raise InputError(
            f"an array with axes ({', '.join(field.axes)})",
            got=f"shape {codes.shape}",
            remedy="reshape it",
            column=name,
        )
    if not field.unknown and (codes < 0).any():
        at = np.unravel_index(int(np.argmax(codes < 0)), codes.shape)
        remedy = "leave out the model or view that has no answer there"
        if name == "prediction":
            remedy = (
                "leave the column out, then what has the highest probability is predicted; a dropped row is no error"
            )
        raise (NewClassError if name == "prediction" else InputError)(
            "a predicted class" if classes is not None else "a predicted position",
            got="null",
            remedy=remedy,
            row=int(at[field.sample]) + 1,
            column=name,
        )
    if entries is not None:
        checks.check_length(len(entries), codes.shape[field.sample], name)
        candidates.check_within(codes, entries, name)
    return codes


def _common_length(out: dict[str, Any]) -> int:
    """Every field has the same number of samples; returns it."""
    lengths = {name: len(v) if isinstance(v, Ragged) else v.shape[FIELDS[name].sample] for name, v in out.items()}
    rows = next(iter(lengths.values()))
    for name, length in lengths.items():
        checks.check_length(rows, length, name)
    return int(rows)


def axis_names(names: Mapping[str, Sequence[str]], fields: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The names of the axes, each once and as many as there are entries."""
    out = {axis: tuple(map(str, given)) for axis, given in names.items()}
    for axis, own in out.items():
        if len(set(own)) < len(own):
            twice = next(name for i, name in enumerate(own) if name in own[:i])
            raise InputError(f"distinct names along the {axis} axis", got=f"{twice} twice", remedy="rename one")
        for name, value in fields.items():
            axes = FIELDS[name].axes
            if axis in axes and value.shape[axes.index(axis)] != len(own):
                size = value.shape[axes.index(axis)]
                raise InputError(
                    f"{size} names, one for each {axis}",
                    got=f"{len(own)}",
                    column=name,
                    remedy="name every entry once, in their order",
                )
    return out


def check_same_axes(first: Any, part: Any) -> None:
    """What two records (`Predictions`) both hold has as many entries along every axis, and the same names where both
    have names.
    """
    file = part.source
    for field_name, known in FIELDS.items():
        one, other = getattr(first, field_name), getattr(part, field_name)
        for place, axis in enumerate(known.axes):
            if axis in ("sample", "class") or one is None or other is None:
                continue
            if one.shape[place] != other.shape[place]:
                raise InputError(
                    f"{one.shape[place]} {field_name}, as in {first.source or 'the first record'}",
                    got=f"{other.shape[place]}",
                    file=file,
                    column=field_name,
                    remedy=f"join records with the same {field_name}",
                )
            own, wanted = part.names.get(axis), first.names.get(axis)
            if own is not None and wanted is not None and own != wanted:
                raise InputError(
                    f"{field_name} named {shown(wanted)}, in this order",
                    got=shown(own),
                    file=file,
                    column=field_name,
                    remedy="read them as one list of files, which puts them in order by name",
                )


def shown(names: Sequence[int | str] | None) -> str:
    """The first names of an axis, and how many there are of a long one."""
    names = names or ()
    return (", ".join(map(str, names[:6])) or "none") + (f", ... ({len(names)})" if len(names) > 6 else "")


def follows_argmax(prediction: Array, probabilities: Array, names: ClassNames) -> bool:
    """Whether every predicted class has the highest probability, ties allowed; else they are decisions of another rule.

    Raises `InputError` where decisions go against the probabilities: where these give the predicted classes less than
    they give the same predictions in another order. Then columns are swapped, or come from another model.

    >>> p = np.array([[0.4, 0.6], [0.9, 0.1], [0.1, 0.9]])
    >>> follows_argmax(np.array([1, 0, 1]), p, (0, 1)), follows_argmax(np.array([0, 0, 1]), p, (0, 1))
    (True, False)
    >>> follows_argmax(np.array([0, 1, 0]), p, (0, 1))
    Traceback (most recent call last):
    oodometer.errors.InputError: row 1: column prediction: expected predictions that go with the probabilities, got ...
    """
    own = probabilities[np.arange(len(prediction)), prediction]
    off = own < probabilities.max(axis=1) - 1e-6
    if not off.any():
        return True
    shares = np.bincount(prediction, minlength=probabilities.shape[1]) / len(prediction)
    if off.mean() > _MOSTLY and own.mean(dtype=np.float64) <= shares @ probabilities.mean(axis=0, dtype=np.float64):
        row = int(np.argmax(off))
        raise InputError(
            "predictions that go with the probabilities",
            got=f"{names[int(prediction[row])]!r} where {names[int(probabilities[row].argmax())]!r} has the highest, "
            f"and the like in {100 * off.mean():.1f} % of the rows",
            remedy="check whether class columns are swapped; to judge the argmax, leave `prediction` out",
            row=row + 1,
            column="prediction",
        )
    return False


def picked_cache(cache: Mapping[str, Any], pick: slice | Array) -> dict[str, Any]:
    """What is known of some rows of a record from what was worked out for all of them."""
    out: dict[str, Any] = {"argmax": True} if cache.get("argmax") else {}
    if "noted" in cache and not isinstance(pick, slice):  # rows that are left of a batch: it was noted of the whole
        out["noted"] = cache["noted"]
    if isinstance(pick, slice) and "top" in cache:  # views
        out["top"] = Top(*(value[pick] for value in cache["top"]))
    return out


def joined_cache(caches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is known of all rows from what was worked out for each part, so that it need not be worked out again."""
    out: dict[str, Any] = {}
    if all("top" in one for one in caches):
        out["top"] = Top(*map(concatenated, zip(*(one["top"] for one in caches), strict=True)))
    if all("verdicts" in one for one in caches):
        out["verdicts"] = np.concatenate([one["verdicts"] for one in caches])
    if any("noted" in one for one in caches):
        out["noted"] = dict(sum((Counter(one.get("noted", {})) for one in caches), Counter()))
    if all("argmax" in one for one in caches):
        out["argmax"] = all(one["argmax"] for one in caches)
    return out

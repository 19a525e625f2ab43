"""Advice: after an error about columns, the whole command that would have worked, by what the files hold."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import OodometerError, UnknownColumnError, near_names
from ..fields import FIELDS
from ..options import Declared, spelt
from ..store.columns import WIDE, as_options, likely_columns

_TRUTH = ("label", "correct")
_OUTPUTS = ("prediction", "probabilities", "logits", "confidence", "correct")
_PLACEHOLDER = "TRUTH"


def better_command(
    name: str,
    offered: Sequence[Declared],
    given: Mapping[str, Any],
    error: OodometerError,
) -> str | None:
    """The command with renamings that fit the files; None where they are not understood, or nothing would change."""
    if not {"mapping", "positive"} <= given.keys():
        return None
    read = {name for name, _, about in offered if about.path == "read"}
    try:
        files = _files(given, read, ("reference", "target", "predictions", "models"))
        labels = _files(given, read, ("labels",))
    except (OodometerError, OSError, ValueError):
        return None  # the error that was raised says enough
    if not files or "-" in (path for path, _ in files):
        return None
    before = _as_mapping(given)
    changes = dict(given)
    if _is_turned(before, files, given):
        changes |= {"reference": given["target"], "target": given["reference"]}
        files = files[::-1]
    renamings = _mended(before, [*files, *labels])
    # Where there is no reference, the truth of the predictions may stand in a file of its own.
    apart = [column for _, columns in labels for column in columns if given.get("reference") is None]
    renamings |= _found(renamings, files, given, apart)
    if isinstance(error, UnknownColumnError):
        known = [column for _, columns in files for column in columns]
        changes |= {n: error.meant for n in ("by", "key") if error.meant in known and given.get(n) == error.column}
    renamings = _with_classes(renamings, [*files, *labels])
    if renamings == before and changes == given:
        return None
    if not _complete(renamings, files):
        return None
    command = _typed(name, offered, {**changes, "mapping": None, "positive": None}, as_options(renamings))
    if _PLACEHOLDER in renamings:
        command += f", where {_PLACEHOLDER} is your column of the truth"
    return command


def _files(given: Mapping[str, Any], read: set[str], parameters: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """The files of these parameters that are read, in this order: path and columns."""
    from ..store.source import open_table

    out = []
    for parameter in parameters:
        value = given.get(parameter)
        if value is None or parameter not in read:
            continue
        out += [(path, tuple(open_table(path).columns)) for path in ([value] if isinstance(value, str) else value)]
    return out


def _as_mapping(given: Mapping[str, Any]) -> dict[str, str]:
    """All renamings that were asked for, theirs -> ours."""
    from ..verbs.opening import renamings
    from ..verbs.options import parse_mapping

    return renamings(parse_mapping(given["mapping"] or []), given["positive"]) or {}


def _is_turned(
    mapping: Mapping[str, str], files: Sequence[tuple[str, Sequence[str]]], given: Mapping[str, Any]
) -> bool:
    """Whether the truth is in the target, not in the reference."""
    if len(files) != 2 or not isinstance(given.get("reference"), str) or not isinstance(given.get("target"), str):
        return False
    first, second = (any(mapping.get(c, c) in _TRUTH for c in columns) for _, columns in files)
    return second and not first


def _mended(mapping: Mapping[str, str], files: Sequence[tuple[str, Sequence[str]]]) -> dict[str, str]:
    """The renamings, those turned round the right way and mistyped ones by their near names."""
    known = list(dict.fromkeys(column for _, columns in files for column in columns))
    out: dict[str, str] = {}
    for theirs, ours in mapping.items():
        if theirs in known:
            out[theirs] = ours
        elif ours in known and (theirs in FIELDS or theirs.startswith(tuple(WIDE))):
            out[ours] = theirs
        elif near := near_names(theirs, known):
            out[near[0]] = ours
    return out


def _found(
    mapping: Mapping[str, str],
    files: Sequence[tuple[str, Sequence[str]]],
    given: Mapping[str, Any],
    apart: Sequence[str] = (),
) -> dict[str, str]:
    """Renamings of columns by likely names; the truth is also what the reference has and the target lacks."""
    (_, reference), *others = files
    out: dict[str, str] = {}
    for _, columns in reversed(files):
        ours = {mapping.get(c, c) for c in columns}
        out |= {t: o for t, o in likely_columns(columns).items() if t not in mapping and o not in ours}
    if any(ours.startswith("prob_") for ours in mapping.values()):
        out = {theirs: ours for theirs, ours in out.items() if not ours.startswith("prob_")}
    if given.get("every") is None:
        out = {theirs: ours for theirs, ours in out.items() if ours != "time"}
    out |= {t: o for t, o in likely_columns(apart).items() if o in _TRUTH and t not in mapping}
    here = {mapping.get(c, out.get(c, c)) for c in (*reference, *apart)}
    if not here & set(_TRUTH):
        paired = others and given.get("target") is not None
        alone = [c for c in reference if paired and not any(c in columns for _, columns in others)]
        alone += [c for c in apart if c not in reference]
        free = [c for c in alone if c not in mapping and c not in FIELDS]
        out = {(free[0] if len(free) == 1 else _PLACEHOLDER): "label", **out}
    return out


def _with_classes(mapping: Mapping[str, str], files: Sequence[tuple[str, Sequence[str]]]) -> dict[str, str]:
    """The renamings, probabilities by the classes that the labels hold where columns only count them, or name none.
    A lone column is of the class of two whose rows it is higher in; counted ones are of the classes in the order of
    their names, as scikit-learn has them, if that order gives rows of a class more than chance.
    """
    for path, columns in files:
        truth = next((c for c in columns if mapping.get(c, c) == "label"), None)
        ours = {c: mapping.get(c, c) for c in columns}
        wide = {theirs: name.removeprefix("prob_") for theirs, name in ours.items() if name.startswith("prob_")}
        if truth is None or not wide:
            continue
        labels, probabilities = _read(path, truth, tuple(wide))
        classes, at = np.unique(labels, return_inverse=True)
        if set(wide.values()) <= set(classes.tolist()) or not len(labels):
            break
        if len(wide) == 1 and len(classes) == 2:
            means = [probabilities[at == k, 0].mean() for k in (0, 1)]
            return {**mapping, next(iter(wide)): f"prob_{classes[int(means[1] > means[0])]}"}
        order = [int(name) for name in wide.values() if name.isdigit()]
        if sorted(order) == list(range(len(classes))):
            own = probabilities[np.arange(len(at)), np.argsort(order)[at]]
            if own.mean() > 1 / len(classes):
                return {**mapping, **{c: f"prob_{classes[k]}" for c, k in zip(wide, order, strict=True)}}
    return dict(mapping)


def _read(path: str, truth: str, wide: Sequence[str]) -> tuple[Array, Array]:
    """Labels that are known, as texts, and numbers of the columns beside them, of the first rows of a file."""
    from ..store.source import open_table

    kinds: dict[str, Any] = dict.fromkeys((truth, *wide), "any")
    for batch in open_table(path).batches(kinds, 10_000):
        rows = [row for row in batch.to_pylist() if row[truth] not in (None, "")]
        try:
            return np.array([str(row[truth]) for row in rows]), np.array(
                [[float(row[c]) for c in wide] for row in rows]
            )
        except (TypeError, ValueError):
            break
    return np.empty(0, str), np.empty((0, len(wide)))


def _complete(mapping: Mapping[str, str], files: Sequence[tuple[str, Sequence[str]]]) -> bool:
    """Whether every file would hold outputs of a model."""
    for _, columns in files:
        ours = [mapping.get(c, c) for c in columns]
        if not any(c in _OUTPUTS or c.startswith(tuple(WIDE)) for c in ours):
            return False
    return True


def _typed(command: str, offered: Sequence[Declared], given: Mapping[str, Any], renamings: str) -> str:
    """The command as it would be typed, without options that say what they say by default."""
    words, options = ["oodometer", command], []
    for name, field, about in offered:
        value = given.get(name)
        several = value if isinstance(value, (list, tuple)) else [value]
        if about.positional:
            words += [str(one) for one in several]
        elif value not in (None, [], False, field.default):
            flag = spelt(name, about)[0]
            options += [word for one in several for word in ([flag] if one is True else [flag, str(one)])]
    return " ".join(part for part in (shlex.join(words), renamings, shlex.join(options)) if part)

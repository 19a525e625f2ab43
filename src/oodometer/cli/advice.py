"""Advice: after an error about columns, the whole command that would have worked, by what the files hold."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import OodometerError, UnknownColumnError, near_names
from ..fields import FIELDS
from ..options import Declared, spelt
from ..store.columns import WIDE, as_options, likely_columns
from ..verbs.options import parse_mapping

_TRUTH = ("label", "correct")
_OUTPUTS = ("prediction", "probabilities", "logits", "confidence", "correct")
_PLACEHOLDER = "TRUTH"
_SOURCES = ("reference", "target", "predictions", "models")


def better_command(
    name: str, offered: Sequence[Declared], given: Mapping[str, Any], error: OodometerError
) -> str | None:
    """The command with renamings that fit the files; None where they are not understood, or nothing would change."""
    from ..store.source import open_table
    from ..verbs.opening import renamings as both

    if not {"mapping", "positive"} <= given.keys():
        return None

    def opened(*options: str) -> list[tuple[str, tuple[str, ...]]]:
        """The files of these options that are read, in this order: path and columns."""
        read = [
            given[value_]
            for value_, _, about in offered
            if value_ in options and about.path == "read" and given[value_]
        ]
        paths = [path for value_ in read for path in ([value_] if isinstance(value_, str) else value_)]
        return [(path, tuple(open_table(path).columns)) for path in paths]

    try:
        files = [value_ for option in _SOURCES for value_ in opened(option)]
        labels = opened("labels")
    except (OodometerError, OSError, ValueError):
        return None  # the error that was raised says enough
    if not files or "-" in (path for path, _ in files):
        return None
    before = both(parse_mapping(given["mapping"] or []), given["positive"]) or {}
    changes = dict(given)
    if len(files) == 2 and isinstance(given.get("reference"), str) and isinstance(given.get("target"), str):
        first, second = (any(before.get(c, c) in _TRUTH for c in columns) for _, columns in files)
        if second and not first:  # the truth is in the target, not in the reference
            changes |= {"reference": given["target"], "target": given["reference"]}
            files = files[::-1]
    known = list(dict.fromkeys(column for _, columns in [*files, *labels] for column in columns))
    renamings: dict[str, str] = {}  # those turned round the right way, and mistyped ones by their near names
    for theirs, meant in before.items():
        if theirs in known:
            renamings[theirs] = meant
        elif meant in known and (theirs in FIELDS or theirs.startswith(tuple(WIDE))):
            renamings[meant] = theirs
        elif near := near_names(theirs, known):
            renamings[near[0]] = meant
    # Where there is no reference, the truth of the predictions may stand in a file of its own.
    apart = [column for _, columns in labels for column in columns if given.get("reference") is None]
    renamings |= _found(renamings, files, given, apart)
    if isinstance(error, UnknownColumnError):
        columns_there = [column for _, columns in files for column in columns]
        changes |= {
            n: error.meant for n in ("by", "key") if error.meant in columns_there and given.get(n) == error.column
        }
    renamings = _with_classes(renamings, [*files, *labels])
    if renamings == before and changes == given:
        return None
    for _, columns in files:  # each would hold outputs of a model
        ours = [renamings.get(c, c) for c in columns]
        if not any(c in _OUTPUTS or c.startswith(tuple(WIDE)) for c in ours):
            return None
    words, options = ["oodometer", name], []
    for option, field, about in offered:  # without options that say what they say by default
        value = changes.get(option)
        several = value if isinstance(value, (list, tuple)) else [value]
        if about.positional:
            words += [str(value_) for value_ in several]
        elif option not in ("mapping", "positive") and value not in (None, [], False, field.default):
            flag = spelt(option, about)[0]
            options += [word for value_ in several for word in ([flag] if value_ is True else [flag, str(value_)])]
    command = " ".join(value_ for value_ in (shlex.join(words), as_options(renamings), shlex.join(options)) if value_)
    if _PLACEHOLDER in renamings:
        command += f", where {_PLACEHOLDER} is your column of the truth"
    return command


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
    """The renamings, probabilities by the classes that the labels hold where columns only count them, or name none: a
    lone one by which of two it is higher in, counted ones in the order of names where that does better than chance.
    """
    from ..store.cells import dictionary, plain
    from ..store.source import open_table

    for path, columns in files:
        truth = next((c for c in columns if mapping.get(c, c) == "label"), None)
        ours = {c: mapping.get(c, c) for c in columns}
        wide = {theirs: name.removeprefix("prob_") for theirs, name in ours.items() if name.startswith("prob_")}
        if truth is None or not wide:
            continue
        table = open_table(path)
        try:  # the first rows whose label is known: classes as they are read, and numbers of the columns beside them
            batch = next(iter(table.batches(dict.fromkeys((truth, *wide), "any"), 10_000)))
            coded = dictionary(plain(batch.column(truth)), truth, table.text)
            labels = np.array([*map(str, coded.values)])[coded.codes[known := coded.codes >= 0]]
            probabilities = np.array([batch.column(c).to_pylist() for c in wide]).T[known].astype(float)
        except (TypeError, ValueError, IndexError, StopIteration, OodometerError):
            break
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

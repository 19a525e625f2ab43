"""Advice: after an error about columns, the whole command that would have worked, by what the files hold."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import OodometerError, UnknownColumnError, near_names
from ..fields import FIELDS
from ..options import Declared, spelt
from ..store.columns import WIDE, as_options
from ..verbs.options import parse_mapping

_TRUTH = ("label", "correct")
_OUTPUTS = frozenset(FIELDS) - {"label", "features", "input", "output", "time", "group"}
_MOST_FEATURES = 8
_TRIED_ROWS = 1_000
_PLACEHOLDER = "TRUTH"
_SOURCES = ("reference", "target", "predictions", "models")


def _was_tried(
    files: Sequence[Any],
    labels: Sequence[Any],
    renamings: Mapping[str, str],
    classes: Sequence[Any] | None,
) -> bool:
    """Whether first rows of all files are read with these renamings, answers of every one and a truth of the first, or
    of the labels: a command is not advised that would be refused as well.
    """
    from ..store import as_source

    def head(file: Any, follow: Any = None) -> Any:
        """The first rows, in the axes of another source."""
        fitting = {c: ours for c, ours in renamings.items() if file.holds(c)}
        how: dict[str, Any] = (
            {"classes": classes} if follow is None else {"axes": replace(follow.axes, others=True)}
        )
        source = as_source(file.path, mapping=fitting or None, **how)
        return source, next(iter(source.batches(rows=_TRIED_ROWS)))

    if any(file.path is None for file in [*files, *labels]):
        return True  # read once only
    try:
        first, record = head(files[0])
        records = [record, *(head(file, first)[1] for file in files[1:])]
        truth = [head(file, first)[1] for file in labels] or [record]
    except (OodometerError, StopIteration):
        return False
    answered = all(
        one.has_prediction or one.confidence is not None or one.correct is not None
        for one in records
    )
    return answered and any(one.label is not None or one.correct is not None for one in truth)


def better_command(
    name: str, offered: Sequence[Declared], given: Mapping[str, Any], error: OodometerError
) -> str | None:
    """The command with renamings that fit the files; None where they are not understood, or nothing would change."""
    from ..verbs.guessing import Asked, guess, label_of, opened_raw
    from ..verbs.opening import file_of
    from ..verbs.opening import renamings as both

    if not {"mapping", "positive"} <= given.keys() or any(
        file_of(pair)[0] for pair in given["mapping"] or []
    ):
        return None  # who renames columns of one file has read of them

    def opened(*options: str, mapping: Mapping[str, str] | None = None) -> list[Any]:
        """The files of these options that are read, in this order, with the renamings that fit each."""
        read = [
            given[value] for value, _, about in offered if value in options and about.path == "read"
        ]
        paths = [
            path
            for value in read
            if value
            for path in ([value] if isinstance(value, str) else value)
        ]
        if not mapping:
            return [opened_raw(path) for path in paths]
        fitting = [
            {c: m for c, m in mapping.items() if source.holds(c)} for source in opened(*options)
        ]
        return [opened_raw(path, renamed) for path, renamed in zip(paths, fitting, strict=True)]

    files, labels = [file for option in _SOURCES for file in opened(option)], opened("labels")
    if not files or not all(hasattr(file, "layout") for file in [*files, *labels]):
        return None  # the error that was raised says enough
    before = both(parse_mapping(given["mapping"] or []), given["positive"]) or {}
    known = list(
        dict.fromkeys(column for file in [*files, *labels] for column in file.layout.columns)
    )
    renamings: dict[
        str, str
    ] = {}  # those turned round the right way, and mistyped ones by their near names
    for theirs, meant in before.items():
        if theirs in known:
            renamings[theirs] = meant
        elif meant in known and (theirs in FIELDS or theirs.startswith(tuple(WIDE))):
            renamings[meant] = theirs
        elif near := near_names(theirs, known):
            renamings[near[0]] = meant
    sources = [option for option in _SOURCES if given.get(option)]
    files = [file for option in sources for file in opened(option, mapping=renamings)]
    labels = opened("labels", mapping=renamings)
    changes = dict(given)
    paired = sources == ["reference", "target"] and len(files) == 2
    if paired and [bool({*_TRUTH} & {*file.fields}) for file in files] == [
        False,
        True,
    ]:  # the truth is in the target
        changes |= {"reference": given["target"], "target": given["reference"]}
        files = files[::-1]
    apart = bool(labels) and not given.get(
        "reference"
    )  # the truth of the predictions stands in a file of its own
    others = files[1:] if paired else []
    guessed = guess(
        files[0],
        others,
        not apart,
        Asked(renamings, given.get("classes"), repair=True, apart=apart),
    )
    if guessed.remedy:  # no renaming is one
        return None
    for file in files[1:]:
        renamings |= {
            c: ours
            for c, ours in guess(file, truth=False, asked=Asked(renamings)).renamings.items()
            if c not in guessed.renamings
        }
    renamings |= guessed.renamings
    for file in labels:
        renamings |= label_of(file)
    truths = {*_TRUTH} & {
        *renamings.values(),
        *(field for file in [files[0], *labels] for field in file.fields),
    }
    if not truths:
        renamings = {_PLACEHOLDER: "label", **renamings}
    if isinstance(error, UnknownColumnError):
        there = [column for file in files for column in file.layout.columns]
        changes |= {
            n: error.meant
            for n in ("by", "key")
            if error.meant in there and given.get(n) == error.column
        }
    answers = [
        {*file.fields, *(renamings.get(c, "").split("_")[0] for c in file.layout.columns)}
        for file in files
    ]
    if any(not fields & {*_OUTPUTS, "prob", "logit"} for fields in answers) or (
        renamings == before and changes == given
    ):
        return None
    if guessed.renamings:  # names of their own: what else they say
        renamings |= {c: ours for c, ours in guessed.more.items() if ours not in renamings.values()}
        if "features" in given and not given["features"] and guessed.features and paired:
            plain = len(guessed.features) <= _MOST_FEATURES and not any(
                "," in c for c in guessed.features
            )
            changes["features"] = ",".join(guessed.features) if plain else "auto"
    if _PLACEHOLDER not in renamings and not _was_tried(
        files, labels, renamings, given.get("classes")
    ):
        return None
    words, options = ["oodometer", name], []
    for option, field, about in offered:  # without options that say what they say by default
        value = changes.get(option)
        several = value if isinstance(value, (list, tuple)) else [value]
        if about.positional:
            words += [str(value_) for value_ in several]
        elif option not in ("mapping", "positive") and value not in (
            None,
            [],
            False,
            field.default,
        ):
            flag = spelt(option, about)[0]
            options += [
                word
                for value_ in several
                for word in ([flag] if value_ is True else [flag, str(value_)])
            ]
    command = " ".join(
        value_
        for value_ in (shlex.join(words), as_options(renamings), shlex.join(options))
        if value_
    )
    if _PLACEHOLDER in renamings:
        command += f", where {_PLACEHOLDER} is your column of the truth"
    return command

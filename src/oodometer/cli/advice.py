"""Advice: after an error about columns, the whole command that would have worked, by what the files hold."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InputError, OodometerError, UnknownColumnError, near_names
from ..fields import FIELDS
from ..options import Declared, spelt
from ..plain import Json, Plain
from ..predictions import Predictions
from ..store import Source, as_source
from ..store.columns import WIDE, as_options
from ..verbs.guessing import Asked, Guess, guess, label_of, opened_raw
from ..verbs.opening import file_of
from ..verbs.opening import renamings as said_renamings
from ..verbs.options import parse_mapping

_TRUTH = frozenset({"label", "correct"})
_OUTPUTS = frozenset(FIELDS) - {"label", "features", "input", "output", "time", "group"}
_MOST_FEATURES = 8
_TRIED_ROWS = 1_000
_PLACEHOLDER = "TRUTH"
_SOURCES = ("reference", "target", "predictions", "models")


@dataclass(frozen=True)
class _Inputs:
    """The files that a command reads: those with predictions, by the options that name them, and those of labels."""

    options: Sequence[str]
    files: Sequence[Any]
    labels: Sequence[Any]

    @property
    def all(self) -> list[Any]:
        """Every file."""
        return [*self.files, *self.labels]

    @property
    def are_readable(self) -> bool:
        """Whether there are files, and every one is a table."""
        return bool(self.files) and all(hasattr(file, "layout") for file in self.all)

    @property
    def columns(self) -> list[str]:
        """Names of the columns of every file."""
        return list(dict.fromkeys(column for file in self.all for column in file.layout.columns))

    @property
    def are_pair(self) -> bool:
        """Whether they are a reference and its target."""
        return self.options == ["reference", "target"] and len(self.files) == 2

    @property
    def are_turned(self) -> bool:
        """Whether the truth is in the target alone."""
        with_truth = [bool(_TRUTH & {*file.fields}) for file in self.files]
        return self.are_pair and with_truth == [False, True]

    def have_truth(self, renamings: Mapping[str, str]) -> bool:
        """Whether the first file, or the labels, hold the truth with these renamings."""
        fields = {field for file in [self.files[0], *self.labels] for field in file.fields}
        return bool(_TRUTH & {*renamings.values(), *fields})

    def have_time(self, renamings: Mapping[str, str]) -> bool:
        """Whether the last file of predictions, which is cut, holds times with these renamings."""
        timed = {"time", *(theirs for theirs, ours in renamings.items() if ours == "time")}
        return all(timed & {*file.fields, *file.layout.columns} for file in self.files[-1:])

    def have_answers(self, renamings: Mapping[str, str]) -> bool:
        """Whether every file but those of labels holds what a model said with these renamings."""
        for file in self.files:
            renamed = {renamings.get(c, "").split("_")[0] for c in file.layout.columns}
            if not {*_OUTPUTS, "prob", "logit"} & {*file.fields, *renamed}:
                return False
        return True


def _inputs(offered: Sequence[Declared], arguments: Plain, mapping: Mapping[str, str]) -> _Inputs:
    """The files that the options name, opened with the renamings that fit each."""
    readable = {option for option, _, about in offered if about.path == "read"}

    def files(option: str) -> list[Any]:
        """Those of one option."""
        value = arguments[option] if option in readable else None
        paths = [value] if value and isinstance(value, str) else value
        return [opened_raw(path, mapping) for path in paths or ()]

    options = [option for option in _SOURCES if arguments.get(option)]
    return _Inputs(options, [file for option in options for file in files(option)], files("labels"))


def _mended(renamings: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Renamings turned round the right way, and mistyped columns by their near names."""
    mended = {}
    for theirs, meant in renamings.items():
        if theirs in columns:
            mended[theirs] = meant
        elif meant in columns and (theirs in FIELDS or theirs.startswith(tuple(WIDE))):
            mended[meant] = theirs
        elif near := near_names(theirs, columns):
            mended[near[0]] = meant
    return mended


def _guessed(inputs: _Inputs, renamings: Mapping[str, str], classes: Sequence[Any] | None) -> Guess:
    """What the columns of the first file are, beside the target where there is one."""
    # then the truth is in the labels
    has_label_file = bool(inputs.labels) and "reference" not in inputs.options
    other_files = inputs.files[1:] if inputs.are_pair else []
    asked = Asked(renamings, classes, repair=True, apart=has_label_file)
    return guess(inputs.files[0], other_files, not has_label_file, asked)


def _with_guesses(inputs: _Inputs, renamings: Mapping[str, str], first: Guess) -> dict[str, str]:
    """The renamings with those that the files suggest; ``first`` is the guess of the first file."""
    renamings = dict(renamings)
    for file in inputs.files[1:]:
        guessed = guess(file, truth=False, asked=Asked(renamings)).renamings
        renamings |= {c: ours for c, ours in guessed.items() if c not in first.renamings}
    renamings |= first.renamings
    for file in inputs.labels:
        renamings |= label_of(file)
    if not inputs.are_pair and not inputs.have_answers(renamings):
        renamings |= _verdicts(inputs.files[0])
    return renamings


def _verdicts(file: Any) -> dict[str, str]:
    """The columns of a file that `read` takes for verdicts on its rows; none where it cannot tell."""
    from ..verbs.read import read

    try:
        columns = read(file.path).columns
    except OodometerError:
        return {}
    return {column.name: column.taken for column in columns if column.taken == "correct"}


def _features(guessed: Guess, inputs: _Inputs, arguments: Plain) -> Json:
    """The option that names the inputs of the model, where there are some and the command takes it."""
    names = guessed.features
    if not names or not inputs.are_pair or "features" not in arguments:
        return {}
    plain = len(names) <= _MOST_FEATURES and not any("," in name for name in names)
    return {"features": arguments["features"] or (",".join(names) if plain else "auto")}


def _written(
    name: str,
    offered: Sequence[Declared],
    values: Plain,
    renamings: dict[str, str],
) -> str:
    """The command as a shell takes it, without options that say what they say by default."""
    words, options = ["oodometer", name], []
    for option, field, about in offered:
        value = values.get(option)
        several = value if isinstance(value, (list, tuple)) else [value]
        if about.positional:
            words += map(str, several)
        elif option not in ("mapping", "positive") and value not in (
            None,
            [],
            False,
            field.default,
        ):
            flag = spelt(option, about)[0]
            for entry in several:
                options += [flag] if entry is True else [flag, str(entry)]
    parts = (shlex.join(words), as_options(renamings), shlex.join(options))
    return " ".join(filter(None, parts))


def _first_rows(
    file: Any,
    renamings: Mapping[str, str],
    classes: Sequence[Any] | None = None,
    follow: Source | None = None,
) -> tuple[Source, Predictions]:
    """The file as a source with the renamings, in the axes of another source, and its first rows."""
    source = as_source(
        file.path,
        mapping={c: ours for c, ours in renamings.items() if file.holds(c)} or None,
        classes=classes,
        axes=None if follow is None else replace(follow.axes, others=True),
    )
    return source, next(iter(source.batches(rows=_TRIED_ROWS)))


def _was_tried(
    inputs: _Inputs, renamings: Mapping[str, str], classes: Sequence[Any] | None
) -> bool:
    """Whether first rows of all files are read with these renamings, answers of every one and a truth of the first, or
    of the labels: a command is not advised that would be refused as well.
    """
    if any(file.path is None for file in inputs.all):
        return True  # read once only
    try:
        first, record = _first_rows(inputs.files[0], renamings, classes)
        other_records = [_first_rows(file, renamings, follow=first)[1] for file in inputs.files[1:]]
        truth = [_first_rows(file, renamings, follow=first)[1] for file in inputs.labels]
    except (OodometerError, StopIteration):
        return False
    answered = all(
        batch.has_prediction or batch.confidence is not None or batch.correct is not None
        for batch in (record, *other_records)
    )
    return answered and any(
        batch.correct is not None or (batch.label is not None and record.has_prediction)
        for batch in truth or [record]
    )


def _typed_renamings(arguments: Plain) -> dict[str, str] | None:
    """The renamings that were typed; None where none can be, or where they are of one file."""
    if not {"mapping", "positive"} <= arguments.keys():
        return None
    pairs = arguments["mapping"] or []
    if any(file_of(pair)[0] for pair in pairs):
        return None  # who renames columns of one file has read of them
    return said_renamings(parse_mapping(pairs), arguments["positive"]) or {}


def _meant_columns(error: OodometerError, arguments: Plain, inputs: _Inputs) -> Json:
    """The options that name the mistyped column of the error, with the column that was meant."""
    if not isinstance(error, UnknownColumnError):
        return {}
    if not any(error.meant in file.layout.columns for file in inputs.files):
        return {}
    return {n: error.meant for n in ("by", "key") if arguments.get(n) == error.column}


def better_command(
    name: str, offered: Sequence[Declared], arguments: Plain, error: OodometerError
) -> str | None:
    """The command with renamings that fit the files; None where they are not understood, or nothing would change."""
    typed = _typed_renamings(arguments)
    if typed is None:
        return None
    inputs = _inputs(offered, arguments, {})
    if not inputs.are_readable:
        return None  # the error that was raised says enough
    mended = _mended(typed, inputs.columns)
    inputs, values = _inputs(offered, arguments, mended), dict(arguments)
    if inputs.are_turned:
        inputs = replace(inputs, files=inputs.files[::-1])
        values |= {"reference": arguments["target"], "target": arguments["reference"]}
    guessed = _guessed(inputs, mended, arguments.get("classes"))
    if guessed.remedy:  # no renaming is one
        return None
    renamings = _with_guesses(inputs, mended, guessed)
    if not inputs.have_truth(renamings):
        renamings = {_PLACEHOLDER: "label", **renamings}
    values |= _meant_columns(error, arguments, inputs)
    if not inputs.have_answers(renamings) or (renamings == typed and values == arguments):
        return None
    if guessed.renamings:  # names of their own: what else they say
        renamings |= {c: ours for c, ours in guessed.more.items() if ours not in renamings.values()}
        values |= _features(guessed, inputs, arguments)
    if arguments.get("every") and not inputs.have_time(renamings):
        return None
    command = _written(name, offered, values, renamings)
    if _PLACEHOLDER in renamings:
        return f"{command}, where {_PLACEHOLDER} is your column of the truth"
    return command if _was_tried(inputs, renamings, arguments.get("classes")) else None


def reading_command(error: OodometerError) -> str | None:
    """The command that says what a file holds, where `read` knows more of it than its columns; None elsewhere."""
    from ..verbs.read import read

    file = error.file if isinstance(error, InputError) else None
    if file is None:
        return None
    try:
        reading = read(file)
    except OodometerError:
        return None
    is_known = reading.truth or reading.tasks or reading.agreed is not None
    return shlex.join(["oodometer", "read", file]) if is_known else None

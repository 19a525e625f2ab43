"""Columns: which columns of a file feed which fields of a record, told by their names alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from ..classes import ClassNames, one_form
from ..errors import (
    ClassesError,
    InputError,
    MissingColumnsError,
    UnknownColumnError,
    UsageError,
    near_names,
)
from ..fields import FIELDS, refuse_classes_beside_positions
from ..fields import Kind as Kind
from ..plain import Strings

_USUAL = {
    name: re.compile(field.elsewhere)
    for name, field in FIELDS.items()
    if field.elsewhere is not None
}


def bare_name(column: str) -> str:
    """A name as words of small letters without accents: `yTrue`, `y-true` and `Y true` are y_true."""
    if not column.isascii():
        apart = unicodedata.normalize("NFKD", column)
        column = "".join(sign for sign in apart if not unicodedata.combining(sign))
    return re.sub(
        r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", column.strip()).lower()
    ).strip("_")


def columns_called(pattern: re.Pattern[str], columns: Iterable[str]) -> list[str]:
    """The columns whose bare names a pattern fits.

    >>> columns_called(re.compile("judge.*"), ["id", "Judge 1", "answer"])
    ['Judge 1']
    """
    return [name for name in columns if pattern.fullmatch(bare_name(name))]


def usual_field(column: str) -> str | None:
    """The field that teams and libraries give a column of this name to, None where that is unknown.

    >>> [usual_field(name) for name in ("yTrue", ".pred_class", "y_pred_proba", "Scored Labels", "is_correct", "age")]
    ['label', 'prediction', 'probabilities', 'prediction', 'correct', None]
    """
    bare = bare_name(column)
    order = ("confidence", *_USUAL)  # `max_prob` is one
    named = column in FIELDS and column != "score"  # a probability as often
    return None if named else next((name for name in order if _USUAL[name].fullmatch(bare)), None)


def as_options(renamings: dict[str, str]) -> str:
    """Renamings as options of a command."""
    import shlex

    wide = sum(ours.startswith("prob_") for ours in renamings.values())
    return " ".join(
        f"--positive {shlex.quote(theirs if ours == 'prob_1' else f'{theirs}={ours[5:]}')}"
        if ours.startswith("prob_") and wide == 1
        else f"--map {shlex.quote(f'{theirs}={ours}')}"
        for theirs, ours in renamings.items()
    )


# prefix of wide columns -> field; most files have none, and every name is held against these
WIDE = {field.prefix: name for name, field in FIELDS.items() if field.prefix is not None}
# field -> the axis, neither sample nor class, that its wide columns name
AXES = {name: field.axis for name, field in FIELDS.items() if field.axis is not None}
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
# What the index of a frame is called that has no name, and what pandas, R and Arrow write instead.
INDEX = "index"
_UNNAMED = ("", "Unnamed: 0", "__index_level_0__")


# The column of a number a row in the place of a list of the tokens': that of the whole output, or their mean.
LOGPROB = "logprob"
_THEIRS = "their "  # before the name of a column in whose place another one was renamed


def offsets_of(field: str) -> str:
    """What NPZ calls the places where each row of a flat ragged array starts, and where the last one ends."""
    return f"{field}_offsets"


def says_truth(column: str) -> bool:
    """Whether the name is that of a wide column whose numbers may be written as true and false."""
    return any(column.strip().startswith(p) and FIELDS[field].truths for p, field in WIDE.items())


def class_names(texts: Sequence[str]) -> ClassNames:
    """Class names from column names: integers where every one is written as an integer, in the order given."""
    if texts and all(_INTEGER.fullmatch(text) for text in texts):
        return tuple(int(text) for text in texts)
    return tuple(texts)


ORDERS = ("day/month", "month/day")


@dataclass(frozen=True)
class TimeFormat:
    """How the times of a column are written: one ``form`` for all rows, which cells tell (`settled`; "" before), and
    ``order`` where a user told that of days and months, or "UTC" for times of UTC that do not say so. Other times
    without an offset or zone are what the clock of ``zone`` showed. Where it is "", UTC's, all cells have a zone if the
    first has one (``zoned``), else none has.
    """

    zone: str = ""
    order: str = ""
    form: str = ""
    zoned: bool = False


IN_UTC = TimeFormat()


def order_in(ours: str) -> tuple[str, str]:
    """The field of a renaming such as ``time:day/month`` or ``time:UTC``, and what it says of the times."""
    field, colon, order = ours.partition(":")
    if field != "time" or not colon:
        return ours, ""
    if order not in (*ORDERS, "UTC"):
        raise UsageError(
            f"expected --map theirs=time:day/month, time:month/day or time:UTC, got {ours!r}"
        )
    return field, order


@dataclass(frozen=True)
class Feed:
    """The columns that one field is read from: one, or several wide ones with their suffixes. ``positive``: which of
    two classes a lone column is about; the other one has the complement.
    """

    field: str
    kind: Kind
    columns: Strings
    suffixes: Strings | None = None
    positive: int | None = None

    @cached_property
    def wide(self) -> bool:
        """Whether the field is spread over one column for each class, model, view, judge or feature."""
        return self.suffixes is not None

    @cached_property
    def lone(self) -> bool:
        """Whether it is one column of a binary model, about one of two classes."""
        return (
            FIELDS[self.field].of_classes and self.suffixes is not None and len(self.suffixes) == 1
        )

    @cached_property
    def names(self) -> Strings | None:
        """Names along the axis, None where they only count from 0."""
        if self.suffixes is None or self.suffixes == tuple(map(str, range(len(self.suffixes)))):
            return None
        return self.suffixes

    def ordered(self, order: Sequence[int]) -> Feed:
        """The same wide columns in another order."""
        suffixes = self.suffixes or ()
        return replace(
            self,
            columns=tuple(self.columns[i] for i in order),
            suffixes=tuple(suffixes[i] for i in order),
        )


@dataclass(frozen=True)
class Layout:
    """What a file's columns mean; ``extra`` are further columns to carry along, ``where`` all: name -> the file's."""

    columns: Strings
    feeds: Mapping[str, Feed]
    extra: Mapping[str, str]
    where: Mapping[str, str]

    @staticmethod
    def parse(
        columns: Sequence[str],
        mapping: Mapping[str, str] | None = None,
        extra: Iterable[str] = (),
        file: str | None = None,
    ) -> Layout:
        """Read the meaning of column names; ``mapping`` renames theirs to ours first."""
        mapping = mapping or {}
        ours = _our_names(columns, mapping, file)
        feeds = _feeds(columns, ours, file)
        if "score" in feeds and not _is_graded(feeds, ours, mapping):
            del feeds["score"]
        where = dict(zip(ours, columns, strict=True)) | {c: c for c in columns}
        missing = [name for name in extra if name not in where]
        if missing:
            raise unknown_column(missing[0], f"{_in(file)}there is no column {missing[0]}", columns)
        layout = Layout(tuple(columns), feeds, {name: where[name] for name in extra}, where)
        try:
            refuse_classes_beside_positions(feeds, None, file)
        except InputError as error:
            raise layout.placed(error) from None
        return layout

    def nothing_known(self, file: str | None = None) -> MissingColumnsError:
        """The error where no column feeds a field."""
        expected = "columns of a predictions file (label, prediction, probabilities or prob_<class>, logits or "
        expected += "logit_<class>, confidence, correct, ...)"
        naming = "rename yours with --map theirs=ours, such as y_true=label (a CSV file needs a header line)"
        usual = {c: ours for c in self.columns if (ours := usual_field(c)) not in (None, "time")}
        if usual and len({*usual.values()}) == len(usual):
            renamings = {
                c: "prob_1" if ours == "probabilities" else str(ours) for c, ours in usual.items()
            }
            naming = f"the file has {', '.join(usual)}: {as_options(renamings)}"
        got = shown(self.columns) or "no columns"
        return MissingColumnsError(expected, got=got, naming=naming, file=file)

    @cached_property
    def fields(self) -> Strings:
        """Fields that can be given, in the order of `FIELDS`."""
        available = set(self.feeds).union(*(FIELDS[name].gives for name in self.feeds))
        return tuple(name for name in FIELDS if name in available)

    @cached_property
    def positions(self) -> str | None:
        """The field whose entries labels and predictions are positions of; None where they are classes."""
        return next((name for name in self.feeds if FIELDS[name].positions), None)

    @cached_property
    def wide_classes(self) -> ClassNames | None:
        """Class names from wide columns, in column order; None where there is no column for each class."""
        wide = next((feed for feed in self.wide_of_classes if not feed.lone), None)
        return None if wide is None else class_names(wide.suffixes or ())

    @cached_property
    def lone_class(self) -> int | str | None:
        """The class that the one column of a binary model is about; None where every class has one, or none has."""
        lone = [feed for feed in self.wide_of_classes if feed.lone]
        return class_names(lone[0].suffixes or ())[0] if lone else None

    @cached_property
    def wide_of_classes(self) -> list[Feed]:
        """Feeds of wide columns, one for each class, in the order of `FIELDS`."""
        feeds = [
            self.feeds[name]
            for name, field in FIELDS.items()
            if field.of_classes and name in self.feeds
        ]
        return [feed for feed in feeds if feed.wide]

    def aligned(self, classes: ClassNames, file: str | None = None) -> Layout:
        """The same layout with wide class columns in the order of ``classes``, matched by name."""
        feeds, names = dict(self.feeds), [str(name) for name in classes]
        for feed in self.wide_of_classes:
            columns = dict(zip(feed.suffixes or (), feed.columns, strict=True))
            if feed.lone:
                (named,) = columns
                fault = partial(InputError, file=file, column=feed.columns[0])
                if named not in names:
                    remedy = "name the class that the column is about, --positive COLUMN=CLASS"
                    expected = f"the probability of one of the classes {shown(names)}"
                    raise fault(expected, got=f"that of {named!r}", remedy=remedy)
                if len(names) != 2:
                    remedy = "one column is enough for two classes only: add those of the others"
                    expected = f"a column for each of the {len(names)} classes ({shown(names)})"
                    raise fault(expected, got="one", remedy=remedy)
                feeds[feed.field] = replace(feed, positive=names.index(named))
                continue
            absent = [name for name in names if name not in columns]
            known = {*names}
            unknown = [name for name in columns if name not in known]
            if absent:
                expected = f"a column for each of the {len(names)} classes ({shown(names)})"
                column = (FIELDS[feed.field].prefix or "") + absent[0]
                remedy = "add the column, or use the same classes in every file"
                raise InputError(
                    expected, got="no such column", remedy=remedy, file=file, column=column
                )
            if unknown:
                expected = f"columns for the {len(names)} known classes ({shown(names)})"
                remedy = "a class that the reference lacks has no estimate: drop or merge it"
                raise ClassesError(
                    expected,
                    got="a class more",
                    file=file,
                    remedy=remedy,
                    column=columns[unknown[0]],
                )
            feeds[feed.field] = replace(
                feed, columns=tuple(columns[name] for name in names), suffixes=tuple(names)
            )
        return replace(self, feeds=feeds)

    def select(self, fields: Iterable[str] | None = None) -> tuple[Feed, ...]:
        """Feeds of the fields that are wanted (None: all but those read on request), with stand-ins for absent ones."""
        if fields is None:
            selected = {name for name in self.feeds if not FIELDS[name].on_request} or {"score"}
        else:
            selected = self._with_stand_ins(fields)
        return tuple(feed for name, feed in self.feeds.items() if name in selected)

    def _with_stand_ins(self, fields: Iterable[str]) -> set[str]:
        """Fields, and those that give the absent ones."""
        needed = dict.fromkeys(fields)
        unknown = [name for name in needed if name not in FIELDS]
        if unknown:
            raise UsageError(
                f"there is no field {unknown[0]!r}; the fields are {', '.join(FIELDS)}"
            )
        waiting = list(needed)
        # an absent prediction is the argmax of probabilities, and these the softmax of logits
        while waiting:
            name = waiting.pop()
            if name not in self.feeds:
                more = [
                    n for n, f in FIELDS.items() if name in (*f.gives, *f.tells) and n not in needed
                ]
                needed |= dict.fromkeys(more)
                waiting += more
        above = self.positions
        if above is not None:
            # labels are positions among these scores, and what they give comes from them
            derived = FIELDS[above].gives
            if any(FIELDS[name].cell == "class" or name in derived for name in needed):
                needed |= dict.fromkeys((above, *derived))
        return {*needed}

    def kinds(self, feeds: Iterable[Feed], extra: bool = True) -> dict[str, Kind]:
        """Columns to read and what their cells hold."""
        out: dict[str, Kind] = {column: feed.kind for feed in feeds for column in feed.columns}
        for column in self.extra.values() if extra else ():
            # a column of the user may be an input and one to slice by
            if out.get(column, "raw") == "raw":
                out[column] = "any"
        return out

    def placed(self, error: InputError) -> InputError:
        """The same error with the name that the column has in the file instead of the field's."""
        field, _, cell = (error.column or "").partition("[")
        feed = self.feeds.get(field)
        if feed is None:
            return error
        if feed.suffixes is None:
            error.column = feed.columns[0] + (f"[{cell}" if cell else "")
        else:
            suffix = cell.removesuffix("]")
            columns = dict(zip(feed.suffixes, feed.columns, strict=True))
            by_position = (
                feed.columns[int(suffix)]
                if suffix.isdigit() and int(suffix) < len(feed.columns)
                else None
            )
            error.column = columns.get(suffix) or by_position or f"{FIELDS[field].prefix}*"
        return error.at()


def unread_renamings(
    columns: Sequence[str], mapping: Mapping[str, str], file: str | None = None
) -> dict[str, UnknownColumnError]:
    """Renamings of columns that are not there, and what is to be said of each.

    >>> list(unread_renamings(["y"], {"y": "label", "site": "group"}))
    ['site']
    """
    available = {*columns} | ({INDEX} if _unnamed(columns) is not None else set())
    return {
        theirs: _unknown_renaming(theirs, ours, columns, file)
        for theirs, ours in mapping.items()
        if theirs not in available
    }


def _unnamed(columns: Sequence[str]) -> str | None:
    """The column without a name, which is called `INDEX`."""
    if INDEX in columns:
        return None
    return next((c for i, c in enumerate(columns) if c in _UNNAMED and (c or not i)), None)


def _our_names(columns: Sequence[str], mapping: Mapping[str, str], file: str | None) -> list[str]:
    """The names of columns after renaming; blanks around names are forgiven, each must occur once."""
    repeated = _repeated(columns)
    unread = unread_renamings(columns, mapping, file)
    if unread and repeated is None:
        raise next(iter(unread.values()))
    unnamed = _unnamed(columns)
    index = {} if unnamed is None else {unnamed: INDEX}
    names = {**index, **mapping, **{c: mapping[INDEX] for c in index if INDEX in mapping}}
    renamed = {*mapping.values()} & FIELDS.keys()
    ours = [one_form(names[c] if c in names else _plain_name(c, renamed)) for c in columns]
    repeated = _repeated(ours) if repeated is None else repeated
    if repeated is not None:
        raise InputError(
            "distinct column names",
            got=f"{repeated} twice",
            remedy="rename or drop one of them",
            file=file,
            column=repeated,
        )
    return ours


def _plain_name(column: str, renamed: Collection[str]) -> str:
    """The name of a column that was not renamed: not that of a field to which another one was."""
    bare = column.strip()
    if bare in renamed:
        return f"{_THEIRS}{column}"
    return bare if bare in FIELDS else column.lstrip()


def _repeated(names: Sequence[str]) -> str | None:
    """The first name that comes a second time."""
    if len(set(names)) == len(names):
        return None
    return next(name for i, name in enumerate(names) if name in names[:i])


def _unknown_renaming(
    theirs: str, ours: str, columns: Sequence[str], file: str | None
) -> UnknownColumnError:
    """The error for a renaming of no column: turned round, mistyped, or not there at all."""
    message = f"{_in(file)}there is no column {theirs} to rename to {ours}"
    if ours in columns and (theirs in FIELDS or theirs.startswith(tuple(WIDE))):
        message += f"; did you mean --map {ours}={theirs} (theirs=ours)?"
        return UnknownColumnError(theirs, message, ours)
    return unknown_column(theirs, message, columns)


def _feeds(columns: Sequence[str], ours: Sequence[str], file: str | None) -> dict[str, Feed]:
    """The fields that columns feed by their names, alone or as one of several wide ones."""
    feeds: dict[str, Feed] = {}
    wide: dict[str, dict[str, str]] = {}
    for raw, name in zip(columns, ours, strict=True):
        prefix = next((p for p in WIDE if name.startswith(p)), None)
        if name in FIELDS:
            feeds[name] = Feed(name, FIELDS[name].kind, (raw,))
        elif name == LOGPROB and "token_logprobs" not in ours:
            feeds["token_logprobs"] = Feed("token_logprobs", "number", (raw,))
        elif prefix is not None:
            wide.setdefault(prefix, {})[name.removeprefix(prefix)] = raw
    for prefix, raws in wide.items():
        field = WIDE[prefix]
        if field in feeds:
            raise InputError(
                f"one of the column {feeds[field].columns[0]} and columns {prefix}<name>",
                got="both",
                file=file,
                remedy="drop the one that is not meant",
                column=next(iter(raws.values())),
            )
        # those that count from 0 are put into order, as lists are
        order = tuple(map(str, range(len(raws))))
        if FIELDS[field].of_classes or raws.keys() != set(order):
            order = tuple(raws)
        feeds[field] = Feed(field, FIELDS[field].cell, tuple(raws[name] for name in order), order)
    return feeds


def _is_graded(feeds: Collection[str], ours: Sequence[str], mapping: Mapping[str, str]) -> bool:
    """Whether `score` tells how good an answer is: beside answers it may be a probability or an input, but not where a
    user, or `read`, says what it is.
    """
    if "score" in mapping.values() or {"correct", "metric"} & {*ours}:
        return True
    answers = {name for name in feeds if FIELDS[name].cell not in ("text", "time", "any")}
    return answers <= {"score", "features"} and all(
        usual_field(name) in (None, "time", "correct") for name in ours if name != "score"
    )


def unknown_column(
    column: str, message: str, columns: Sequence[str], remedy: str = ""
) -> UnknownColumnError:
    """The error for a column that is not there, with the one that was probably meant."""
    near = near_names(column, columns)
    text = f"{message}; {f'did you mean {near[0]}? ' if near else ''}its columns are {shown(columns)}{remedy}"
    return UnknownColumnError(column, text, near[0] if near else None)


def shown(names: Sequence[int | str], limit: int = 12) -> str:
    """The first names, and how many there are; the index of a frame has none."""
    names = [name for name in names if name != "__index_level_0__"]
    return ", ".join(map(str, names[:limit])) + (
        f", ... ({len(names)} in all)" if len(names) > limit else ""
    )


def _in(file: str | None) -> str:
    return f"{file}: " if file else ""

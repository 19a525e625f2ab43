"""Opening: the sources of a verb, with one set of renamings for files that need not share all columns."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from ..arrays import present
from ..audits.joining import KEY, question_column
from ..classes import NewClassError, NewLabelError
from ..errors import InputError, OodometerError, UnknownColumnError, UsageError
from ..fields import FIELDS
from ..kernels import limited_to
from ..metrics.abstention import tells_answered
from ..notes import notes_on
from ..passes.folding import Execution
from ..passes.run_folder import run_folder as in_run_folder
from ..persistence import ENDING
from ..runs import places_of_run
from ..store import Axes, Source, as_source, check_threshold, decided_source
from ..store.base import name_order, no_column
from ..store.columns import class_names
from ..vectors import given_target, several
from .column_evidence import BEYOND, beyond_chance
from .confidences import REPEATS, needs_reading, with_confidences
from .costs import said_of_score
from .fitted import FittedSource
from .guessing import Guessing
from .options import Reading, Running, Truth
from .unused_columns import (
    refuse_several_models,
    said_of_contradicted,
    said_of_sorted_lists,
    said_of_unused,
)

Result = TypeVar("Result")
_TRUTH = ("label", "correct")


def in_name_order(source: Source) -> Source:
    """The source with its classes, views and features in the order of their names; ties go to the first name."""
    axes = source.axes
    ordered = axes.in_name_order()
    # it knows the places of its features
    if source.encoding is not None and "feature" in axes.names:
        ordered = replace(ordered, names={**ordered.names, "feature": source.encoding.names})
    return source if ordered == axes else source.aligned(ordered)


MODEL_FILES = ("a", "b")  # of a comparison, in the order in which they are given
FILES = (  # that a renaming may be of alone
    "reference",
    "target",
    "predictions",
    "labels",
    "history",
    *MODEL_FILES,
)


def file_of(theirs: str) -> tuple[str, str]:
    """The file that a renaming is of, "" for all, and the column there.

    >>> file_of("labels:target"), file_of("target")
    (('labels', 'target'), ('', 'target'))
    """
    file, colon, column = theirs.partition(":")
    return (file, column) if colon and column and file in FILES else ("", theirs)


def renamings_of(mapping: Mapping[str, str] | None, file: str) -> dict[str, str]:
    """The renamings that hold for a file, theirs -> ours: those of all files, and its own, which go before them.

    >>> renamings_of({"y": "label", "b:p": "prediction"}, "b")
    {'y': 'label', 'p': 'prediction'}
    """
    split = [(*file_of(theirs), ours) for theirs, ours in (mapping or {}).items()]
    return {
        column: ours for kind in ("", *_kinds(file)) for of, column, ours in split if of == kind
    }


def _kinds(file: str) -> tuple[str, ...]:
    """What a file goes by in renamings of one file alone: a model of a comparison is one of predictions, too."""
    return ("predictions", file) if file in MODEL_FILES else (file,)


def file_of_model(position: int) -> str:
    """Which of `FILES` a model of a comparison is.

    >>> [file_of_model(position) for position in range(3)]
    ['a', 'b', 'predictions']
    """
    return MODEL_FILES[position] if position < len(MODEL_FILES) else "predictions"


def renamings(mapping: Mapping[str, str] | None, positive: str | None) -> dict[str, str] | None:
    """Columns to rename, theirs -> ours, with that of a binary model's probability; `UsageError` where they clash."""
    out = dict(mapping or {})
    if positive is None:
        return out or None
    column, name = positive_column(positive), _named_class(positive) if "=" in positive else "1"
    if not name or column == "":
        raise UsageError(f"expected --positive COLUMN, COLUMN=CLASS or =CLASS, got {positive!r}")
    if column is None:
        return out or None
    if out.get(column, f"prob_{name}") != f"prob_{name}":
        clash = f"--positive {column} and --map {column}={out[column]} say different things"
        both = f"--positive {shlex.quote(positive)} --map {shlex.quote(f'labels:{column}={out[column]}')}"
        remedy = f"leave one out, or, if {column} is the truth in the file of labels, {both}"
        raise UsageError(f"{clash}; {remedy if out[column] in _TRUTH else 'leave one out'}")
    return {**out, column: f"prob_{name}"}


def positive_column(positive: str | None) -> str | None:
    """The column that is named as the positive class's, None where the class alone is."""
    return (
        positive if positive is None or "=" not in positive else positive.rpartition("=")[0] or None
    )


def refuse_class_unnamed(source: Source, positive: str | None) -> None:
    """`InputError` for a probability whose class nobody named where it is higher, by more than chance, in rows of the
    other class: which one it is of is asked, since one answer makes the model look good.
    """
    column, fields = positive_column(positive), {*source.fields}
    if column is None or positive != column:
        return
    if not fields >= {"label", "probabilities"} or "prediction" in fields:
        return
    with closing(cast(Any, source.batches(("label", "probabilities")))) as batches:
        first = next(batches, None)
    if first is None or len(first.classes or ()) != 2:
        return
    names = [str(name) for name in first.classes]
    # unknown labels, -1, and those of further classes, -2, are of neither
    truth = np.array([*names, "", ""])[first.label]
    if beyond_chance(first.probabilities, names, truth) > -BEYOND:
        return
    lone = str(positive_class(source, positive))
    other = next(name for name in names if name != lone)
    raise InputError(
        "the class that it is the probability of",
        got=f"none named, and it is higher where the label is {other}",
        remedy=f"name it: --positive {shlex.quote(f'{column}={other}')}, or --positive "
        f"{shlex.quote(f'{column}={lone}')} of a model that is worse than chance",
        file=source.path,
        column=column,
    )


def positive_class(source: Source, positive: str | None) -> str | int | None:
    """The positive class of a source: as named, else of its lone column, else None."""
    named = _checked_class(positive, source.classes)
    return getattr(source, "lone_class", None) if named is None else named


def decided_class(classes: Sequence[int | str] | None, positive: str | None) -> str | int | None:
    """The class that a threshold is about: as named, else the second of two by name; None where neither is known."""
    named = _checked_class(positive, classes)
    return (
        name_order(tuple(classes))[1]
        if named is None and classes is not None and len(classes) == 2
        else named
    )


def _checked_class(positive: str | None, classes: Sequence[int | str] | None) -> str | None:
    """The class that is named; `InputError` where classes are there and none of them has the name."""
    named = _named_class(positive)
    if named is not None and classes is not None and len(classes) > 1:
        from ..metrics import place_of_class

        place_of_class(tuple(classes), named)
    return named


def _named_class(positive: str | None) -> str | None:
    return positive.rpartition("=")[2] if positive is not None and "=" in positive else None


def with_classes_of_all(
    run: Callable[[Sequence[int | str] | None], Result], files: Sequence[Any], options: Reading
) -> Result:
    """What ``run`` gives for these classes; where one file has a class that another lacks, for all of them."""
    try:
        return run(options.classes)
    except NewClassError:
        files = [*several(files[0]), *files[1:]]
        opened = any(is_fitted(data) or isinstance(data, Source) for data in files)
        if options.classes is not None or opened:
            raise
        every_class = _classes_of(files, options)
        if every_class is None:
            raise
        return run(every_class)


def with_unseen_labels(
    run: Callable[[bool], Result], classes: Sequence[int | str] | None
) -> Result:
    """What ``run(False)`` gives; where labels are of classes that the model does not know, and nobody named the
    ``classes``, ``run(True)``, which counts them as its errors. Only the pass over the rows finds them.
    """
    try:
        return run(False)
    except NewLabelError:
        if classes is not None:
            raise
    return run(True)


def _classes_of(files: Sequence[Any], options: Reading) -> Sequence[int | str] | None:
    """The classes that occur in any of the files; None where columns or lists of one file fix them, or where a target
    has none of the reference's: then one of both is written in other words.
    """
    opener, sources = opener_for(options), []
    kinds = [_file_of_data(data, options) for data in files]
    for data, file in zip(files, kinds, strict=True):
        axes = Axes(others=True) if file == "target" else None  # which needs no truth
        sources.append(opener.open(data, axes=axes, file=file))
    of_classes = {name for name, field in FIELDS.items() if field.of_classes}
    if any(of_classes & set(source.fields) or source.classes is None for source in sources):
        return None
    classes = [{*map(str, source.classes or ())} for source in sources]
    known = set[str]().union(
        *(names for names, file in zip(classes, kinds, strict=True) if file != "target")
    )
    targets = [names for names, file in zip(classes, kinds, strict=True) if file == "target"]
    if known and any(known.isdisjoint(names) for names in targets):
        return None
    return name_order(class_names(sorted(known.union(*targets))))


def _file_of_data(data: Any, options: Reading) -> str:
    """Which of the files of a verb some data are."""
    target = getattr(options, "target", None)
    if any(data is entry for entry in several(target)):
        return "target"
    models = getattr(options, "models", None) or ()
    for position, model in enumerate(models):
        if data is model:
            return file_of_model(position)
    return "reference" if hasattr(options, "reference") else "predictions"


def _source_key(data: Any, labels: bool = False) -> tuple[Any, bool]:
    """What tells a source that was opened from others."""
    return (str(data) if isinstance(data, (str, PathLike)) else id(data)), labels


def _of_labels(renamings: Mapping[str, str]) -> dict[str, str]:
    """Renamings of a file of labels: a column that is called as the one of probabilities is the truth there."""
    return {theirs: ours for theirs, ours in renamings.items() if not ours.startswith("prob_")}


@dataclass
class _Opening:
    """A source that is being opened: which file it is, what it is known by, columns that were renamed in this file
    alone, as the user named them, the renamings that hold so far, and the column of repeats that the confidence is
    worked out from.
    """

    data: Any
    file: str
    known: tuple[Any, bool]
    by_hand: Mapping[str, str]
    renamings: dict[str, str]
    derived: str | None = None

    def written(self, column: str) -> str:
        """A renamed column as the user named it."""
        return self.by_hand.get(column, column)


class Opener:
    """Opens several sources with the same renamings, each used at least once, and with the same threshold. Renamings
    of one file alone (`file_of`) hold for what is opened as it.
    """

    def __init__(
        self,
        mapping: Mapping[str, str] | None,
        threshold: float | None = None,
        positive: str | None = None,
        timezone: str | None = None,
        guessing: Guessing | None = None,
        named: Collection[str] = (),
        offers_cluster: bool = False,
        offers_weight: bool = False,
    ) -> None:
        self.mapping, self._timezone = renamings_of(mapping, ""), timezone
        self._of_one_file = {
            theirs: ours for theirs, ours in (mapping or {}).items() if file_of(theirs)[0]
        }
        self._opened: set[str] = set()  # which files
        self._threshold = None if threshold is None else check_threshold(threshold)
        self._positive = positive
        self._decides_for: int | str | None = None
        self._used: set[str] = set()
        self._complaints: dict[str, UnknownColumnError] = {}
        self._axes: Axes | None = None
        self._lone_class: int | str | None = (
            None  # of the reference, where one column is of one class
        )
        self._guessing = guessing
        self._guesses: dict[Any, dict[str, str]] = {}
        # columns of options; `said_of_unused`
        self._named, self._offers_cluster = (
            named,
            offers_cluster,
        )
        self._offers_weight = offers_weight
        self._looked_at: set[Any] = set()
        # what is to be said of columns that were read, or not, without being named
        self.notes: list[str] = []

    def references(
        self,
        reference: Any,
        classes: Sequence[int | str] | None = None,
        where: str | Sequence[str] | None = None,
        extra_columns: Sequence[str] = (),
    ) -> list[Source]:
        """One reference or a list, with classes, views and features by name, which what `target` opens follows.
        ``extra_columns`` are read, too, where all of them are there.
        """
        inputs = several(reference)
        if not inputs:
            raise UsageError("give at least one reference")
        if any(map(is_fitted, inputs)):
            return [self._fitted(inputs, classes)]
        opened = [self.open(data, classes, where=where, file="reference") for data in inputs]
        if extra_columns and all(source.holds(name) for source in opened for name in extra_columns):
            opened = [
                self.open(data, classes, extra_columns, where=where, file="reference")
                for data in inputs
            ]
        first, *others = opened
        first = in_name_order(first)
        _checked_class(self._positive, first.classes)  # whether or not anything else asks for it
        self._axes, self._lone_class = first.axes, getattr(first, "lone_class", None)
        axes = self._axes
        for other in others:
            self._axes = self._axes.beside(other.axes)
        return [first, *(other.aligned(axes) for other in others)]

    def _fitted(
        self, references: Sequence[Any], classes: Sequence[int | str] | None
    ) -> FittedSource:
        """A fitted file in the place of the reference: the target is read as that was, with its renamings."""
        if len(references) > 1:
            raise UsageError(
                "a fitted file stands alone; fit all references at once, or give their own files"
            )
        self._opened.add("reference")
        source = (
            references[0]
            if isinstance(references[0], FittedSource)
            else FittedSource(references[0])
        )
        fitted = source.fitted
        if classes is not None and list(classes) != fitted.options.get("classes"):
            remedy = "leave classes out, or fit again with them"
            raise UsageError(f"{fitted.where} was fitted with its own class names; {remedy}")
        threshold = (
            "no threshold" if fitted.threshold is None else f"the threshold {fitted.threshold}"
        )
        before, named = _named_class(fitted.options.get("positive")), _named_class(self._positive)
        for was, got, differs in (
            (threshold, self._threshold, self._threshold not in (None, fitted.threshold)),
            (f"the positive class {before or 'of its file'}", named, named not in (None, before)),
        ):
            if differs:
                remedy = "leave it out, or fit again with it"
                raise UsageError(f"{fitted.where} was fitted with {was}, got {got}; {remedy}")
        self._positive = fitted.options.get("positive")
        self._timezone = self._timezone or fitted.options.get("timezone")
        self._threshold, self._axes = fitted.threshold, source.axes
        self._offers_cluster &= fitted.options.get("cluster") is None
        # an array has no name that says of which class its probabilities are
        lone = [ours for ours in (fitted.mapping or {}).values() if ours.startswith("prob_")]
        self._lone_class = lone[0].removeprefix("prob_") if len(lone) == 1 else None
        taken = {*self.mapping.values()}
        before_now = {
            theirs: ours for theirs, ours in (fitted.mapping or {}).items() if ours not in taken
        }
        self._used.update(before_now)
        self.mapping = {**before_now, **self.mapping}
        return source

    @property
    def axes(self) -> Axes:
        """Of the references, which are opened first and which targets follow."""
        return present(self._axes)

    def target(
        self, data: Any, extra_columns: Iterable[str] = (), where: str | Sequence[str] | None = None
    ) -> Source:
        """A source in the references' order, by name; its labels may be of further classes."""
        axes = replace(self.axes, others=True)
        return self.open(data, extra_columns=extra_columns, axes=axes, where=where, file="target")

    def history(self, data: Any) -> Source:
        """A labelled source of the past in the references' order."""
        return self.open(data, axes=replace(self.axes, others=True), file="history")

    def labels(self, data: Any, **how: Any) -> Source:
        """A source of labels, which need hold nothing else, in the references' order where there are some."""
        if self._axes is not None:
            how.setdefault("axes", replace(self.axes, others=True))
        return self.open(data, file="labels", **how)

    def open(
        self,
        data: Any,
        classes: Sequence[int | str] | None = None,
        extra_columns: Iterable[str] = (),
        axes: Axes | None = None,
        where: str | Sequence[str] | None = None,
        file: str = "predictions",
        needs_fields: bool = True,
    ) -> Source:
        """The source, renamed as far as its columns go, with the axes of another and rows that conditions leave;
        ``file``: which of `FILES` it is; one of labels need hold nothing else. `MissingColumnsError` where no column
        is a field, unless none is needed.
        """
        labels, is_target = file == "labels", axes is not None
        self._opened.update(_kinds(file))
        key = _source_key(data, labels)
        renamings = {**self.mapping, **self._guesses.get(key, {})}
        if labels:
            renamings = _of_labels(renamings)
        by_hand = self._named_alone(file)
        lone = _named_class(self._positive) or self._lone_class
        data = given_target(data, classes if axes is None else axes.classes, lone)
        renamings |= {column: self._of_one_file[theirs] for column, theirs in by_hand.items()}
        opening = _Opening(data, file, key, by_hand, renamings)
        read = partial(
            as_source,
            data,
            classes=classes,
            extra_columns=extra_columns,
            axes=axes,
            where=where,
            timezone=self._timezone,
        )
        source = self._read(opening, read)
        if self._guess(opening, source, is_target):
            source = self._read(opening, read)
        if source.lacking is not None and needs_fields:
            raise source.lacking
        unseen = key not in self._looked_at and not isinstance(data, Source)
        if self._guessing is not None and not labels and unseen:
            self._looked_at.add(key)
            self._say_unused(source)
        source = self._with_confidences(opening, source)
        labels_alone = is_target and "probabilities" not in source.fields
        return source if labels_alone else self._decided(source)

    def _decided(self, source: Source) -> Source:
        """The source with the answers that the threshold makes of its probabilities, where there is one."""
        if self._threshold is None:
            return source
        if self._decides_for is None:
            # the class that the threshold is about, where the source tells its classes
            self._decides_for = positive_class(source, self._positive)
        if self._decides_for is None:
            self._decides_for = decided_class(source.classes, self._positive)
        return decided_source(source, self._threshold, self._decides_for)

    def _named_alone(self, file: str) -> dict[str, str]:
        """Columns that were renamed in this file alone, as the user named them."""
        return {
            file_of(theirs)[1]: theirs
            for kind in _kinds(file)
            for theirs in self._of_one_file
            if file_of(theirs)[0] == kind
        }

    def _read(self, opening: _Opening, read: Callable[..., Source]) -> Source:
        """The source, renamed as far as its columns go; renamings of columns that it lacks are kept in mind."""
        source = read(mapping=opening.renamings or None, as_far_as_known=True)
        # of an opened source that was said where it was opened
        unread = {} if isinstance(opening.data, Source) else source.unread
        for theirs, error in unread.items():
            if theirs in REPEATS and opening.renamings[theirs] == "confidence":
                opening.derived = theirs
            self._complaints[opening.written(theirs)] = error
            del opening.renamings[theirs]
        if not source.fields:
            self._refuse_mistyped(opening)
        self._used.update(map(opening.written, opening.renamings))
        self._note(notes_on(source.name, source.notes))
        return source

    def _refuse_mistyped(self, opening: _Opening) -> None:
        """Raise what a mistyped renaming of this file says, which is more than that nothing is known."""
        for column, complaint in self._complaints.items():
            of, theirs = file_of(column)
            unused = theirs not in opening.renamings and column not in self._used
            if of in ("", *_kinds(opening.file)) and unused and complaint.meant:
                raise complaint

    def _guess(self, opening: _Opening, source: Source, is_target: bool) -> bool:
        """Whether more columns of a source are renamed, by a guess; once for each source."""
        key = opening.known
        if self._guessing is None or key in self._guesses or isinstance(opening.data, Source):
            return False
        taken = {**self.mapping, **opening.by_hand}
        guessed, notes = self._guessing.of(source, is_target, opening.file == "labels", taken)
        self._guesses[key] = guessed
        self._note(notes)
        if self._guessing.shared and not is_target:  # the target is read alike
            self.mapping |= guessed
        opening.renamings |= guessed
        return bool(guessed)

    def _with_confidences(self, opening: _Opening, source: Source) -> Source:
        """The source with its confidence worked out, where it is stated in words or by answers that repeat."""
        derived, renamings = opening.derived, opening.renamings
        by_hand = "confidence" in renamings.values()
        if derived is None and not (source.holds("confidence") and needs_reading(source, by_hand)):
            return source
        theirs = (theirs for theirs, ours in renamings.items() if ours == "confidence")
        source, _, lines = with_confidences(source, [derived or next(theirs, "confidence")])
        self._used.update([derived] if derived else [])
        self._note(notes_on(source.name, lines))
        return source

    def _note(self, lines: Iterable[str]) -> None:
        self.notes += [line for line in lines if line not in self.notes]

    def _say_unused(self, source: Source) -> None:
        """Note columns that no number rests on, though they might be meant to; of reference and target once.

        Raises `InputError` for rows of several models.
        """
        refuse_several_models(source, self._named)
        refuse_class_unnamed(source, self._positive)
        self._note(notes_on(source.name, said_of_sorted_lists(source)))
        self._note(notes_on(source.name, said_of_contradicted(source)))
        self._note(notes_on(source.name, said_of_score(source)))
        lines = said_of_unused(
            source,
            self._named,
            offers_cluster=self._offers_cluster,
            offers_weight=self._offers_weight,
        )
        if self._guessing is not None and self._guessing.shared:
            self._named = {*self._named, *lines}
        self.notes += notes_on(source.name, lines.values())

    def with_ids(
        self, data: Any, cluster: str | None, classes: Any, extra: Sequence[str], **options: Any
    ) -> Source:
        """The source as `open` gives it, with its column `id`, if it has one, where no ``cluster`` is named; a column
        that is named as the id of a question is one, unless an option names it. So has it the one that tells which
        questions were answered.
        """
        source = self.open(data, classes, extra, **options)
        told = next((name for name in source.own_columns if tells_answered(name)), None)
        if told is not None and told not in extra:
            extra = [*extra, told]
            source = self.open(data, classes, extra, **options)
        if cluster is not None or KEY in extra:
            return source
        question = question_column(source)
        if question is not None:
            truth_is_here = self._guessing is not None and self._guessing.truth
            if not truth_is_here or question in (*extra, *self._named) or isinstance(data, Source):
                return source
            key = _source_key(data)
            self._guesses[key] = {**self._guesses.get(key, {}), question: KEY}
            self._note(notes_on(source.name, [f"read {question} as id; --map changes it"]))
        elif not source.holds(KEY):
            return source
        return self.open(data, classes, [*extra, KEY], **options)

    def check(self, elsewhere: Iterable[str] = ()) -> None:
        """Raise the complaint about a renaming that no source could use, of a column that is not ``elsewhere``;
        `UsageError` for one of a file that was not opened.
        """
        for theirs, ours in self._of_one_file.items():
            file, column = file_of(theirs)
            if file not in self._opened:
                names = ", ".join(
                    f"{name}:{column}={ours}" for name in FILES if name in self._opened
                )
                raise UsageError(
                    f"--map {theirs}={ours}: there is no such file here; expected one of {names}"
                )
        used = self._used.union(elsewhere)
        for column, error in self._complaints.items():
            if column not in used:
                raise error


def opener_for(options: Reading, offers_weight: bool = False) -> Opener:
    """An opener with the renamings and the threshold that were asked for; ``offers_weight``: the verb could weigh rows,
    and was not asked to.
    """
    target, labels = (getattr(options, name, None) for name in ("target", "labels"))
    has_label_file = labels is not None and isinstance(options, Truth)
    unlabelled = () if target is None else tuple(several(target))
    every = getattr(options, "every", None) or getattr(options, "by", None) == "time"
    guessing = Guessing(
        others=unlabelled,
        truth=not has_label_file,
        shared=hasattr(options, "reference"),
        time=bool(every),
        decided=options.threshold is not None,
        classes=options.classes,
    )
    return Opener(
        renamings(options.mapping, options.positive),
        options.threshold,
        options.positive,
        timezone=getattr(options, "timezone", None),
        guessing=guessing,
        named=columns_named(options),
        offers_cluster=getattr(options, "cluster", "") is None,
        offers_weight=offers_weight,
    )


def columns_named(options: Reading) -> set[str]:
    """Columns that options name for what is worked out: to slice by, clusters, weights, inputs, ids."""
    features = getattr(options, "features", None)
    inputs = features.split(",") if isinstance(features, str) else features or ()
    by = (getattr(options, name, None) for name in ("by", "cluster", "weight"))
    key = (getattr(options, "key", None) or "").split("=")
    return {name.strip() for name in (*inputs, *by, *key) if name}


def is_fitted(data: Any) -> bool:
    """Whether something is a fitted file (told by its ending), or a fitted object in memory."""
    if isinstance(data, (str, PathLike)):
        return Path(data).suffix.lower() == ENDING
    return isinstance(data, FittedSource) or hasattr(data, "__fitted_reference__")


@contextmanager
def faults_of_fitted(reference: Any) -> Iterator[None]:
    """Inside, an error that nobody foresaw is one of the fitted file that is the reference."""
    try:
        yield
    except OodometerError:
        raise
    except Exception as error:
        references = several(reference)
        file = next(
            (
                str(data)
                for data in references
                if isinstance(data, (str, PathLike)) and is_fitted(data)
            ),
            None,
        )
        if file is None:
            raise
        got = f"one that cannot be used ({' '.join(f'{type(error).__name__}: {error}'.split())[:160]})"
        raise InputError(
            "a fitted file as `oodometer fit` writes it",
            got=got,
            remedy="fit it again; if that changes nothing, run with --debug and report it",
            file=file,
        ) from error


@contextmanager
def executing(verb: str, options: Running, **data: Any) -> Iterator[Execution]:
    """Inside, a verb works with these data where its options say, and its run folder is held."""
    about = {} if options.run_folder is None else {"verb": verb, **places_of_run(**data)}
    with (
        limited_to(options.workers),
        in_run_folder(options.run_folder, about)
        if options.run_folder is not None
        else nullcontext() as folder,
        faults_of_fitted(data.get("reference")),
    ):
        yield Execution(options.engine, options.workers, options.progress, folder)


Asked = str | Sequence[str] | None
S = TypeVar("S", bound=Source)

_AUTO = "auto"
_MOST = 100
# ids, and what a suggestion of rows to label wrote
_OURS = (
    "id",
    "row",
    "draw",
    "probability",
    "share",
)
_INPUTS = ("group", "input", "output")  # fields that may be inputs of the model


def listed(features: Asked) -> list[str]:
    """The columns that were named, in their order; a text may name several, with commas."""
    names = (
        [word.strip() for word in features.split(",")]
        if isinstance(features, str)
        else list(features or ())
    )
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if not all(names) or not names:
        raise UsageError(f"expected --features a,b or auto, got {features!r}")
    if twice is not None:
        raise UsageError(f"--features names {twice} twice")
    if len(names) > _MOST:
        raise UsageError(f"--features takes at most {_MOST} columns, got {len(names)}")
    return names


def with_features(
    sources: Sequence[Source],
    target: Source | None,
    features: Asked,
    taken: Sequence[str | None] = (),
) -> tuple[list[Source], Source | None]:
    """References and target with the columns asked for as features, encoded as learnt on the references; "auto" takes
    those that the target has, too, but ids and what is ``taken``.
    """
    encoding_before = sources[0].encoding
    if features is None:
        lacks = encoding_before is not None and target is not None and target.encoding is None
        return list(sources), target.encoded(
            encoding_before
        ) if lacks and target and encoding_before else target
    files = [*sources, *([] if target is None else [target])]
    _check_without_features(files)
    from ..store.learn_encoding import learn_encoding

    left_out: dict[str, str] = {}
    if features == _AUTO:
        names, left_out = _columns_of_all(files, taken)
    else:
        names = listed(features)
        for name in names:
            for source in files:
                _check_input(source, name)
    encoding = learn_encoding(sources, names, features == _AUTO).without(left_out)
    if not encoding.columns:
        why = "; ".join(f"{name}: {reason}" for name, reason in encoding.left_out.items())
        raise UsageError(
            f"--features auto finds no column to take in {sources[0].name}"
            + (f" ({why})" if why else "")
        )
    return [
        source.encoded(encoding) for source in sources
    ], None if target is None else target.encoded(encoding)


def _check_without_features(files: Sequence[Source]) -> None:
    """Raise `UsageError` for a file that holds features already."""
    for source in files:
        if "features" in source.fields:
            raise UsageError(
                f"{source.name} holds `features` already; leave --features out, or rename those columns"
            )


def _columns_of_all(
    files: Sequence[Source], taken: Sequence[str | None]
) -> tuple[list[str], dict[str, str]]:
    """The columns of the first file that may be features, and why others are left out."""
    names: list[str] = []
    left_out: dict[str, str] = {}
    for name in files[0].own_columns:
        if name in (*_OURS, *taken):
            continue
        lacking = next((file.name for file in files if name not in file.own_columns), None)
        if lacking is not None:
            left_out[name] = f"{lacking} has none"
        elif len(names) == _MOST:
            left_out[name] = f"there are {_MOST} before it"
        else:
            names.append(name)
    return names, left_out


def _check_input(source: Source, name: str) -> None:
    """Raise `UsageError` for a column that is not there, or is no input of the model."""
    if not source.holds(name):
        raise no_column(name, source.columns, source.path)
    # no column of its own, but one was renamed to it
    renamed = name not in FIELDS and name not in source.columns
    if name not in source.own_columns and name not in _INPUTS and not renamed:
        what = "is the truth, an answer of the model or a time"
        raise UsageError(f"{source.name}: {name} {what}; --features are its inputs")


def about_features(source: Source) -> Mapping[str, Any]:
    """Which columns were taken as features and which were not, for results; empty where none was asked for."""
    return {} if source.encoding is None else source.encoding.about()

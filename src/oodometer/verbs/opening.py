"""Opening: the sources of a verb, with one set of renamings for files that need not share all columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from ..audits.joining import KEY
from ..classes import NewClassError
from ..errors import MissingColumnsError, UnknownColumnError, UsageError
from ..fields import FIELDS
from ..kernels import limited_to
from ..passes.folding import Execution
from ..passes.run_folder import run_folder as in_run_folder
from ..runs import places_of_run
from ..store import Axes, Source, as_source, check_threshold, decided_source
from ..store.base import name_order
from ..store.columns import class_names
from .fitted import FittedSource, faults_of_fitted, is_fitted
from .options import Reading, Running
from .unread import unread_probabilities

Result = TypeVar("Result")


def in_name_order(source: Source) -> Source:
    """The source with its classes, views and features in the order of their names; ties go to the first name."""
    axes = source.axes
    ordered = axes.in_name_order()
    if source.encoding is not None and "feature" in axes.names:  # it knows the places of its features
        ordered = replace(ordered, names={**ordered.names, "feature": source.encoding.names})
    return source if ordered == axes else source.aligned(ordered)


def renamings(mapping: Mapping[str, str] | None, positive: str | None) -> dict[str, str] | None:
    """Columns to rename, theirs -> ours, with that of a binary model's probability of its positive class.

    Raises `UsageError` for no column or class, and for a column that is to be something else, too.

    >>> renamings({"y": "label"}, "score"), renamings(None, "p_yes=yes"), renamings(None, "=yes")
    ({'y': 'label', 'score': 'prob_1'}, {'p_yes': 'prob_yes'}, None)
    """
    out = dict(mapping or {})
    if positive is None:
        return out or None
    column, name = positive_column(positive), _named_class(positive) if "=" in positive else "1"
    if not name or column == "":
        raise UsageError(f"expected --positive COLUMN, COLUMN=CLASS or =CLASS, got {positive!r}")
    if column is None:
        return out or None
    if out.get(column, f"prob_{name}") != f"prob_{name}":
        raise UsageError(f"--positive {column} and --map {column}={out[column]} say different things; leave one out")
    return {**out, column: f"prob_{name}"}


def positive_column(positive: str | None) -> str | None:
    """The column that is named as the positive class's, None where the class alone is.

    >>> positive_column("score"), positive_column("p_yes=yes"), positive_column("=yes")
    ('score', 'p_yes', None)
    """
    return positive if positive is None or "=" not in positive else positive.rpartition("=")[0] or None


def positive_class(source: Source, positive: str | None) -> str | int | None:
    """The positive class of a source: as named, else that of its lone column; None stands for the second by name.

    Raises `InputError` where classes are there and none of them has the name.
    """
    named = _checked_class(positive, source.classes)
    return getattr(source, "lone_class", None) if named is None else named


def decided_class(classes: Sequence[int | str] | None, positive: str | None) -> str | int | None:
    """The class that a threshold is about: as named, else the second of two by name; None where neither is known.

    >>> decided_class(("yes", "no"), None), decided_class(("yes", "no"), "=no"), decided_class(None, None)
    ('yes', 'no', None)
    """
    named = _checked_class(positive, classes)
    return name_order(tuple(classes))[1] if named is None and classes is not None and len(classes) == 2 else named


def _checked_class(positive: str | None, classes: Sequence[int | str] | None) -> str | None:
    """The class that is named; `InputError` where classes are there and none of them has the name."""
    named = _named_class(positive)
    if named is not None and classes is not None and len(classes) > 1:
        from ..metrics import place_of_class

        place_of_class(tuple(classes), named)
    return named


def _named_class(positive: str | None) -> str | None:
    """The class that is named behind a column, or alone."""
    return positive.rpartition("=")[2] if positive is not None and "=" in positive else None


def with_classes_of_all(
    run: Callable[[Sequence[int | str] | None], Result], given: Sequence[Any], opener: Opener, classes: Any
) -> Result:
    """What ``run`` gives for these classes. Where only the rows of each file tell its classes, one may predict a class
    that another never had, or hold no answer: then all are read again with the classes of all that are ``given``.
    """
    try:
        return run(classes)
    except NewClassError:
        given = [*(given[0] if isinstance(given[0], (list, tuple)) else given[:1]), *given[1:]]
        if classes is not None or any(is_fitted(one) or isinstance(one, Source) for one in given):
            raise
        sources = [opener.open(one) for one in given]
        of_classes = {name for name, field in FIELDS.items() if field.of_classes}
        if any(of_classes & set(source.fields) or source.classes is None for source in sources):
            raise
        names = {str(name) for source in sources for name in source.classes or ()}
        return run(name_order(class_names(sorted(names))))


class Opener:
    """Opens several sources with the same renamings; a renaming must find its column in at least one of them.

    With a threshold the predictions of a binary model are decided by it, in all sources for one class: the one that
    ``positive`` names, else that of a lone column in the first source, else the second by name.

    >>> opener = Opener({"truth": "label"})
    >>> _ = opener.open({"prediction": [0, 1], "truth": [0, 1]})
    >>> _ = opener.open({"prediction": [0, 1]})
    >>> opener.check()
    """

    def __init__(
        self, mapping: Mapping[str, str] | None, threshold: float | None = None, positive: str | None = None
    ) -> None:
        self.mapping = dict(mapping or {})
        self._threshold = None if threshold is None else check_threshold(threshold)
        self._positive = positive
        self._decides_for: int | str | None = None
        self._used: set[str] = set()
        self._complaints: dict[str, UnknownColumnError] = {}
        self._axes: Axes | None = None
        self.notes: list[str] = []  # what is to be said of columns that were read, or not, without being named

    def references(
        self, reference: Any, classes: Sequence[int | str] | None = None, where: str | Sequence[str] | None = None
    ) -> list[Source]:
        """One reference or a list of them; what is opened with `target` afterwards follows their classes and names.

        Classes, views and features are put in the order of their names, so that the order in one file or another moves
        no number; models and judges stand in the order of the first reference.
        """
        given = list(reference) if isinstance(reference, (list, tuple)) else [reference]
        if not given:
            raise UsageError("give at least one reference")
        if any(map(is_fitted, given)):
            return [self._fitted(given, classes)]
        first, *others = (self.open(one, classes, where=where) for one in given)
        first = in_name_order(first)
        _checked_class(self._positive, first.classes)  # whether or not anything else asks for it
        self._axes = axes = first.axes
        for other in others:
            self._axes = self._axes.beside(other.axes)
        return [first, *(other.aligned(axes) for other in others)]

    def _fitted(self, given: Sequence[Any], classes: Sequence[int | str] | None) -> FittedSource:
        """A fitted file in the place of the reference: the target is read as that was, with its renamings."""
        if len(given) > 1:
            raise UsageError("a fitted file stands alone; fit all references at once, or give their own files")
        source = given[0] if isinstance(given[0], FittedSource) else FittedSource(given[0])
        kept = source.fitted
        name, wanted = kept.where, kept.options.get("classes")
        if classes is not None and list(classes) != wanted:
            raise UsageError(f"{name} was fitted with its own class names; leave classes out, or fit again with them")
        if self._threshold not in (None, kept.threshold):
            before = "no threshold" if kept.threshold is None else f"the threshold {kept.threshold}"
            raise UsageError(
                f"{name} was fitted with {before}, got {self._threshold}; leave it out, or fit again with it"
            )
        named_before, named = _named_class(kept.options.get("positive")), _named_class(self._positive)
        if named not in (None, named_before):
            raise UsageError(
                f"{name} was fitted with the positive class {named_before or 'of its file'}, got {named}; leave it "
                "out, or fit again with it"
            )
        self._positive = kept.options.get("positive")
        self._threshold, self._axes = kept.threshold, source.axes
        taken = {*self.mapping.values()}
        before_now = {theirs: ours for theirs, ours in (kept.mapping or {}).items() if ours not in taken}
        self._used.update(before_now)
        self.mapping = {**before_now, **self.mapping}
        return source

    @property
    def axes(self) -> Axes:
        """Of the references, which targets follow."""
        if self._axes is None:
            raise AssertionError("open the references first: the target follows their names")
        return self._axes

    def target(self, data: Any, extra_columns: Iterable[str] = (), where: str | Sequence[str] | None = None) -> Source:
        """A source whose classes, models, views, judges and features are put in the references' order, by name; its
        labels may be of further classes.
        """
        return self.open(data, extra_columns=extra_columns, axes=replace(self.axes, others=True), where=where)

    def open(
        self,
        data: Any,
        classes: Sequence[int | str] | None = None,
        extra_columns: Iterable[str] = (),
        axes: Axes | None = None,
        where: str | Sequence[str] | None = None,
    ) -> Source:
        """The source, renamed as far as its columns go, with the axes of another one where they are given, and without
        the rows for which conditions do not hold.
        """
        mapping = dict(self.mapping)
        while True:
            try:
                source = as_source(
                    data, classes=classes, mapping=mapping or None, extra_columns=extra_columns, axes=axes, where=where
                )
            except UnknownColumnError as error:
                if error.column not in mapping:
                    raise
                self._complaints[error.column] = error
                del mapping[error.column]
                continue
            except MissingColumnsError as error:  # a mistyped renaming says more than that nothing is known
                mistyped = [self._complaints[c] for c in self.mapping if c not in mapping and self._meant(c)]
                if mistyped:
                    raise mistyped[0] from error
                raise
            self._used.update(mapping)
            if axes is None and not isinstance(data, Source):
                found, said = unread_probabilities(source, self.mapping)
                self.notes += [one for one in said if one not in self.notes]
                if found:
                    self.mapping |= found
                    return self.open(data, classes, extra_columns, axes, where)
            labels_alone = axes is not None and "probabilities" not in source.fields
            if self._threshold is None or labels_alone:
                return source
            return decided_source(source, self._threshold, self._decided_class(source))

    def with_ids(self, data: Any, cluster: str | None, classes: Any, extra: Sequence[str], **options: Any) -> Source:
        """The source as `open` gives it, with its column `id`, if it has one, where no ``cluster`` is named."""
        source = self.open(data, classes, extra, **options)
        if cluster is not None or not source.holds(KEY) or KEY in extra:
            return source
        return self.open(data, classes, [*extra, KEY], **options)

    def _decided_class(self, source: Source) -> int | str | None:
        """The class that the threshold is about; None where the source does not say which classes there are."""
        if self._decides_for is None:
            lone = positive_class(source, self._positive)
            self._decides_for = decided_class(source.classes, self._positive) if lone is None else lone
        return self._decides_for

    def _meant(self, column: str) -> str | None:
        """The column that was meant by one that is renamed and not there, unless another file held it."""
        return self._complaints[column].meant if column not in self._used else None

    def check(self, elsewhere: Iterable[str] = ()) -> None:
        """Raise the complaint about a renaming that no source could use, of a column that is not ``elsewhere``."""
        used = self._used.union(elsewhere)
        for column, error in self._complaints.items():
            if column not in used:
                raise error


def opener_for(options: Reading) -> Opener:
    """An opener with the renamings and the threshold that were asked for."""
    return Opener(renamings(options.mapping, options.positive), options.threshold, options.positive)


@contextmanager
def executing(verb: str, options: Running, **data: Any) -> Iterator[Execution]:
    """Inside, a verb works with these data where its options say, and its run folder is held."""
    about = {} if options.run_folder is None else {"verb": verb, **places_of_run(**data)}
    with (
        limited_to(options.workers),
        in_run_folder(options.run_folder, about) as folder,
        faults_of_fitted(data.get("reference")),
    ):
        yield Execution(options.engine, options.workers, options.progress, folder)

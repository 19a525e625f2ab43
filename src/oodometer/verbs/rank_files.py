"""Models that `rank` knows by their predictions files: rows matched by id, classes in one order, labels found."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from ..arrays import Array, as_cells
from ..audits.joining import looking_like_keys
from ..classes import matched
from ..errors import InputError, UsageError
from ..inference.clusters import EPOCH, EPOCH_OF_ID, named_repeats
from ..passes.reference import agreement_by_chance
from ..predictions import Predictions
from ..rankings.answered import CHOSEN, Answered, clusters_of, shown, was_chosen
from ..store import Axes, Source
from ..store.cells import key_array, key_cells
from ..store.columns import INDEX, Kind
from ..store.source import RawTable, open_table
from ..vectors import is_bare, several
from .guessing import Guessing, label_of, opened_raw
from .named_models import said_model
from .opening import Opener, renamings
from .rank_options import Asked, check_classes, check_filled, no_clusters

_ANSWERS = ("probabilities", "logits", "candidate_scores", "prediction")
_ENOUGH_LABELS = 20  # that show one order of rows without the answers
_SIGMAS = 3.5  # by which answers of two models agree beyond chance
ROW = "row"  # the number of a row, from 0, which names it where no file has ids


@final
class Labels(NamedTuple):
    """Labels of rows: positions among the classes, -1 for none; and which rows were chosen, None if untold."""

    codes: Array
    chosen: Array | None = None


def match_files(models: Sequence[tuple[str, Any]], options: Asked) -> Answered:
    """Read the files, bring rows and classes into the order of the first, and find the labels.

    Labels come from ``examples``, by id, else from the files' own; rows without one are the pool. Ids that repeat, such
    as epochs of a question, are joined by their column `epoch`, else in their order. Where no file has ids, rows are
    matched by position, if their labels or answers show that the files have one order.
    """
    references = _references(options, len(models))
    key, label = options.id or "id", options.label or "label"
    mapping = _renamings(options)
    table = None
    if options.examples is not None:
        table, label = _open_examples(options, key, label, mapping)
    opener = _opener(mapping, options)
    names, paths = zip(*models, strict=True)
    files = [said_model(path) for path in paths]
    sources, names_rows = _open_files(paths, files, key, opener, options)
    key = names_rows or ROW
    opener.check(() if table is None else table.columns)
    records = _read(sources, files, options)
    if names_rows is None:
        records = _numbered(records, files)
    records, ids = _in_order_of_first(records, key, files)
    if table is None:
        labels = Labels(_labels_of_files(records, files, ids))
    else:
        labels = _labels_of_examples(table, records[0], ids, key, label, options)
    codes, chosen = labels.codes, labels.chosen
    if chosen is None:
        chosen = _chosen_in_files(records, key, len(ids))
    labelled = np.flatnonzero(codes >= 0)
    rows = np.concatenate([labelled, np.flatnonzero(codes < 0)])
    return Answered(
        names=names,
        sources=tuple(files),
        records=tuple(record.take(rows).without_labels() for record in records),
        labels=codes[labelled].astype(np.int64),
        ids=tuple(ids[row] for row in rows),
        modality="predictions",
        id_column=key,
        numbered=_are_numbers(records[0].columns[key], ids),
        label_column="label" if table is None else label,
        chosen=chosen[labelled] if chosen[labelled].any() else None,
        references=_known_ground(references, opener, Axes(records[0].classes)),
        clusters=_clusters(records[0], ids, labelled, key, options.cluster),
        cluster_column=options.cluster or key,
        notes=tuple(opener.notes),
    )


def _named_examples(examples: Any) -> Any:
    """Labels in an array, a list or a Series as a table: one for each row of the predictions, None where unknown."""
    if not is_bare(examples):
        return examples
    cells = as_cells(examples)
    return {ROW: np.arange(len(cells)), "label": cells}


def _open_examples(
    options: Asked, key: str, label: str, mapping: Mapping[str, str]
) -> tuple[RawTable, str]:
    """The labels as a table, and the column of it that holds the truth."""
    examples = _named_examples(options.examples)
    table = open_table(examples, [key, label, CHOSEN, *mapping])
    if options.label is None and label not in table.columns:
        label = _label_column(examples, table, label)
    return table, label


def _label_column(examples: Any, table: RawTable, label: str) -> str:
    """The column of the truth in a file of labels, by its own name; ``label`` where none is told apart."""
    source = opened_raw(examples)
    found = {} if source is None else label_of(source)
    return next((theirs for theirs in found if theirs in table.columns), label)


def _opener(mapping: Mapping[str, str], options: Asked) -> Opener:
    """Opens the files, each read by what its own columns are; the truth may be missing."""
    guessing = Guessing(
        truth=options.examples is None,
        decided=options.threshold is not None,
        optional=True,
        classes=options.classes,
    )
    return Opener(
        mapping or None,
        options.threshold,
        options.positive,
        guessing=guessing,
        named={name for name in (options.id, options.cluster) if name},
        offers_cluster=options.cluster is None,
    )


def _renamings(options: Asked) -> dict[str, str]:
    """Columns to rename, theirs -> ours, with that of the truth where the files hold it."""
    mapping = dict(renamings(options.mapping, options.positive) or {})
    if options.examples is None and options.label not in (None, "label"):
        mapping[str(options.label)] = "label"
    return mapping


def _are_numbers(column: Array, names: Sequence[str]) -> bool:
    """Whether ids are whole numbers, none of which repeats."""
    return column.dtype.kind in "iu" and not any("_" in name for name in names)


def _references(options: Asked, models: int) -> Sequence[Any]:
    """The files of known ground, one a model or none; `UsageError` for options that are of live models."""
    if options.unlabelled is not None:
        raise UsageError(
            "the pool of predictions files is their rows without a label; leave --unlabelled out"
        )
    for what, value in (
        ("--input", options.inputs or None),
        ("--gives", options.gives),
        ("--max-length", options.max_length),
        ("--device", options.device),
    ):
        if value is not None:
            raise UsageError(
                f"{what} is of live models, and these are predictions files; leave it out"
            )
    reference = options.reference
    if reference is None:
        return ()
    references = several(reference)
    if references and len(references) != models:
        text = f"expected a --reference for each of {models} predictions files"
        raise UsageError(f"{text}, in their order, got {len(references)}")
    return references


def _open_files(
    models: Sequence[Any], files: Sequence[str], key: str, opener: Opener, options: Asked
) -> tuple[list[Source], str | None]:
    """The sources of the files with their columns of ids, epochs, clusters and of what was chosen; and the name of
    their ids, None where none has any.
    """
    opened = [opener.open(model, options.classes) for model in models]
    names_rows = key if options.id is not None else _key_of(opened, key)
    sources = []
    for model, source, file in zip(models, opened, files, strict=True):
        _check_columns(source, file, names_rows, options.cluster)
        more = (names_rows, CHOSEN, EPOCH, options.cluster)
        columns = tuple(dict.fromkeys(name for name in more if name and source.holds(name)))
        sources.append(opener.open(model, options.classes, extra_columns=columns))
    return sources, names_rows


def _key_of(sources: Sequence[Source], key: str) -> str | None:
    """The column of ids: ``key`` where a file has it, else the only one that all files have and that is named like
    one; None where no file has such a column.
    """
    if any(source.holds(key) for source in sources):
        return key
    first, *others = (
        [name for name in looking_like_keys(source) if not _counts_rows(source, name)]
        for source in sources
    )
    common = [name for name in first if all(name in names for names in others)]
    if len(common) == 1:
        return common[0]
    return key if first or any(others) else None


def _counts_rows(source: Source, name: str) -> bool:
    """Whether a column is the index of a frame that nobody chose, which says no more than the position does."""
    if name != INDEX:
        return False
    batches = [batch.column(0).to_numpy(zero_copy_only=False) for batch in source.raw([name])]
    cells = np.concatenate(batches) if batches else np.zeros(0)
    return bool(np.array_equal(cells, np.arange(len(cells))))


def _numbered(records: Sequence[Predictions], files: Sequence[str]) -> list[Predictions]:
    """Records whose rows are named by their numbers; `InputError` where nothing shows that they have one order."""
    first, rows = records[0], np.arange(len(records[0]))
    for record, file in zip(records[1:], files[1:], strict=True):
        if len(record) != len(first) or not _are_of_one_order(first, record):
            got = f"{len(record):,} rows beside {len(first):,}"
            if len(record) == len(first):
                got = f"answers that agree with those of {files[0]} no more often than by chance"
            raise InputError(
                "a column id that names the rows, or labels or answers that show one order of rows in all files",
                got=got,
                remedy="write a column id into each file; `oodometer predict` keeps it",
                file=file,
            )
    return [replace(record, columns={**record.columns, ROW: rows}) for record in records]


def _are_of_one_order(a: Predictions, b: Predictions) -> bool:
    """Whether two records tell of the same rows in one order: by many labels that are equal row by row, or by predicted
    classes that agree beyond chance; labels that differ refute it.
    """
    if a.label is not None and b.label is not None and len(np.unique(a.label)) > 1:
        if not np.array_equal(a.label, b.label):
            return False
        # the first few rows of files in different orders may have the same labels
        if (a.label >= 0).sum() >= _ENOUGH_LABELS:
            return True
    codes = np.asarray(a.predicted), np.asarray(b.predicted)
    counts = np.zeros((int(codes[0].max()) + 1, int(codes[1].max()) + 1), dtype=np.int64)
    np.add.at(counts, codes, 1)
    expected, spread = agreement_by_chance(counts)
    return float((codes[0] == codes[1]).sum()) > expected + _SIGMAS * spread


def _check_columns(source: Source, file: str, key: str | None, cluster: str | None) -> None:
    """Raise `InputError` for a file without ids, without answers, or without the column of clusters."""
    columns = f"the columns {shown(source.columns, 12)}"
    if key is not None and not source.holds(key):
        expected = f"a column {key} that names the rows"
        why = "those of several files are matched by it, never by position where one has it"
        remedy = f"name it with --id, or with --map theirs={key} where other files call it {key}; "
        raise InputError(
            f"{expected}: {why}",
            got=columns,
            remedy=f"{remedy}`oodometer predict` keeps it",
            file=file,
        )
    if not {*_ANSWERS, "correct"} & set(source.fields):
        remedy = "write them with `oodometer predict`, or rename columns with --map theirs=ours"
        if "score" in source.fields:
            remedy = "means of scores are compared by `oodometer compare`"
        raise InputError(
            "probabilities, logits, scores of candidates, predicted classes or correctness",
            got=shown(source.fields, 12) or "none of them",
            remedy=remedy,
            file=file,
        )
    if cluster is not None and not source.holds(cluster):
        remedy = "name a column of the files with --cluster, or leave it out"
        raise no_clusters(cluster, [columns], remedy, file)


def _read(sources: list[Source], files: Sequence[str], options: Asked) -> list[Predictions]:
    """The records of the files, over the same classes in one order."""
    by_position = ["candidate_scores" in source.fields for source in sources]
    if all(by_position):
        return _positions_as_classes(sources)
    if any(by_position) or not all(set(_ANSWERS) & set(source.fields) for source in sources):
        return [
            _verdicts_as_classes(source, file) for source, file in zip(sources, files, strict=True)
        ]
    return [source.read(_fields(source)) for source in _one_order(sources, files, options)]


def _positions_as_classes(sources: Sequence[Source]) -> list[Predictions]:
    """Records whose classes are the positions among candidates, as many as the longest row of all files has."""
    fields = ("candidate_scores", "prediction", "label")
    records = [
        source.read([name for name in fields if name in source.fields]) for source in sources
    ]
    codes = [
        part for record in records for part in (record.predicted, record.label) if part is not None
    ]
    classes = tuple(range(max(*(int(part.max()) + 1 for part in codes), 2)))
    return [
        replace(
            record,
            classes=classes,
            prediction=record.predicted,
            candidate_scores=None,
            confidence=None,
            _cache={},
        )
        for record in records
    ]


def _verdicts_as_classes(source: Source, file: str) -> Predictions:
    """The record over the classes wrong and right, the truth being right; `InputError` for a row without verdict."""
    fields = (*_ANSWERS, "label", "correct")
    record = source.read([field for field in fields if field in source.fields])
    absent = np.flatnonzero(record.verdicts < 0)
    if len(absent):
        raise InputError(
            "whether the answer is right, as there are no classes",
            got="an empty cell",
            remedy="leave the row out of all files, or give predictions in a column prediction",
            file=file,
            row=int(absent[0]) + 1,
            column="correct",
        )
    return replace(
        record,
        classes=("wrong", "right"),
        probabilities=None,
        logits=None,
        candidate_scores=None,
        correct=None,
        prediction=record.verdicts.astype(np.int32),
        label=np.ones(len(record), dtype=np.int32),
        _cache={},
    )


def _fields(source: Source) -> list[str]:
    return [
        name for name in ("probabilities", "prediction", "label", "logits") if name in source.fields
    ]


def _one_order(sources: list[Source], files: Sequence[str], options: Asked) -> list[Source]:
    """The sources with their classes in the order of the first; `InputError` where they are not the same."""
    if options.classes is not None:
        return sources
    classes = [source.classes or () for source in sources]
    if any({"probabilities", "logits"} & set(source.fields) for source in sources):
        remedy = "only models of the same classes can be ranked; --classes a,b names them in the order of the "
        check_classes(classes, files, f"{remedy}probabilities")
        return [sources[0], *(source.aligned(Axes(classes[0])) for source in sources[1:])]
    for names, file in zip(classes, files, strict=True):
        if not _of_one_set(names, classes[0]):
            remedy = "write them in the same words in all files; if they are right as they are, name all classes with "
            raise InputError(
                f"classes of the same names, such as those of {files[0]}, {shown(classes[0])}",
                got=shown(names),
                remedy=f"{remedy}--classes a,b",
                file=file,
            )
    # what is seen need not be all there is
    every = tuple(dict.fromkeys(name for names in classes for name in names))
    return [source.aligned(Axes.given(every)) for source in sources]


def _of_one_set(names: Sequence[int | str], first: Sequence[int | str]) -> bool:
    """Whether classes may be of one set: some in common, and not numbers beside words."""
    words, of_first = {str(name) for name in names}, {str(name) for name in first}
    numbers = {name.lstrip("-").isdigit() for name in words | of_first}
    return bool(words & of_first) and len(numbers) == 1


def _in_order_of_first(
    records: Sequence[Predictions], key: str, files: Sequence[str]
) -> tuple[list[Predictions], list[str]]:
    """The records with their rows in the order of the first, and its ids; `InputError` where a file has other ids."""
    ids = _ids(records, key, files)
    first, out = ids[0], []
    for record, names, file in zip(records, ids, files, strict=True):
        row_of = {name: row for row, name in enumerate(names)}
        absent = [name for name in first if name not in row_of]
        more = len(names) - (len(first) - len(absent))
        faults = [f"{len(absent):,} of its ids are absent, such as {absent[0]!r}"] if absent else []
        faults += [f"{more:,} ids more"] if more else []
        if faults:
            remedy = "ask all models about the same rows, each as often, or name rows by another column with --id"
            raise InputError(
                f"the ids of {files[0]}", got=" and ".join(faults), remedy=remedy, file=file
            )
        out.append(record.take(np.array([row_of[name] for name in first], dtype=np.int64)))
    return out, first


def _ids(records: Sequence[Predictions], key: str, files: Sequence[str]) -> list[list[str]]:
    """The ids of each file, one a row; `InputError` where one is absent, or where repeats cannot be told apart."""
    ids = [
        key_array(record.columns[key], key, file).to_pylist()
        for record, file in zip(records, files, strict=True)
    ]
    for cells, file in zip(ids, files, strict=True):
        check_filled(cells, file, key)
    epochs = _epochs(records, ids, key)
    out = [
        named_repeats(cells, None if epochs is None else epochs[i]) for i, cells in enumerate(ids)
    ]
    for names, file in zip(out, files, strict=True):
        name, times = Counter(names).most_common(1)[0] if names else ("", 0)
        if times > 1:
            raise InputError(
                "ids that name one row each",
                got=f"{name!r} {times} times, beside ids that repeat",
                remedy="mend them, or name another column with --id",
                file=file,
                row=names.index(name) + 1,
                column=key,
            )
    return out


def _epochs(
    records: Sequence[Predictions], ids: Sequence[Sequence[str]], key: str
) -> list[list[Any]] | None:
    """The column `EPOCH` of each file; None where a file has none, or where ids repeat within an epoch."""
    if key == EPOCH or not all(EPOCH in record.columns for record in records):
        return None
    epochs = [record.columns[EPOCH].tolist() for record in records]
    single = all(
        len({*zip(names, numbers, strict=True)}) == len(names)
        for names, numbers in zip(ids, epochs, strict=True)
    )
    return epochs if single else None


def _chosen_in_files(records: Sequence[Predictions], key: str, rows: int) -> Array:
    """Which rows were chosen, bool, shape (row,): any of the files may say so."""
    chosen = np.zeros(rows, dtype=bool)
    for record in records:
        if CHOSEN in record.columns and key != CHOSEN:
            chosen |= [was_chosen(cell) for cell in record.columns[CHOSEN]]
    return chosen


def _labels_of_files(
    records: Sequence[Predictions], files: Sequence[str], ids: Sequence[str]
) -> Array:
    """The labels that the files hold, -1 for none; `InputError` where two files do not agree."""
    codes = np.full(len(ids), -1, dtype=np.int64)
    for record, file in zip(records, files, strict=True):
        if record.label is None:
            continue
        labels = np.asarray(record.label, dtype=np.int64)
        conflicts = np.flatnonzero((labels >= 0) & (codes >= 0) & (labels != codes))
        if len(conflicts):
            classes, row = record.classes or (), conflicts[0]
            remedy = "where rows of one id are several questions, name another column with --id"
            raise InputError(
                f"the same labels in all files, {classes[codes[row]]!r} for id {ids[row]!r}",
                got=f"{classes[labels[row]]!r}",
                remedy=f"give the labels with --examples FILE; {remedy}",
                file=file,
                column="label",
            )
        codes = np.where(labels >= 0, labels, codes)
    return codes


def _labels_of_examples(
    table: RawTable, record: Predictions, ids: Sequence[str], key: str, label: str, options: Asked
) -> Labels:
    """The labels of ``examples`` in the order of ``ids``."""
    file = table.file or table.name
    key = _column(table, key, options, f"rename that of this file with --map theirs={key}")
    label = _column(table, label, options, "name it with --label")
    tells = CHOSEN in table.columns and CHOSEN not in (key, label)
    examples = _read_examples(table, record, key, label, tells)
    if not examples.ids:
        raise InputError(
            "labelled rows", got="an empty file", remedy="check what wrote it", file=file
        )
    codes, chosen = np.full(len(ids), -1, dtype=np.int64), np.zeros(len(ids), dtype=bool)
    file_codes = codes.copy() if record.label is None else np.asarray(record.label)
    times, rows_of = Counter(examples.ids), RowsOfIds(ids)
    single_names = named_repeats(examples.ids)
    for row, (name, single) in enumerate(zip(examples.ids, single_names, strict=True)):
        at, code = rows_of.example(name, single, times[name]), examples.codes[row]
        fault = _fault(name, code, codes[at], file_codes[at])
        if fault is not None:
            remedy = "ask the models about these rows too, or leave the row out"
            if at:
                remedy = "mend them, or name another column with --id"
            expected, got = fault
            raise InputError(expected, got=got, remedy=remedy, file=file, row=row + 1, column=key)
        if code >= 0:
            codes[at] = code
        chosen[at] |= examples.chosen[row]
    if (codes < 0).all():
        raise InputError(
            "labelled rows",
            got="none: no row has a label",
            remedy="fill in a few, or leave --examples out to rank without any label",
            file=file,
        )
    return Labels(codes, chosen if tells else None)


@final
@dataclass(frozen=True)
class Examples:
    """Rows of the file of examples: ids, classes as positions (-1 without a label), and whether each was chosen."""

    ids: list[str]
    codes: list[int]
    chosen: list[bool]


def _read_examples(
    table: RawTable, record: Predictions, key: str, label: str, tells: bool
) -> Examples:
    """The examples of a table; ``tells``: it has a column that says which were chosen."""
    file, classes = table.file or table.name, record.classes or ()
    remedy = "write the labels in the words of the columns, rename the columns with --map theirs=ours, or name the "
    remedy += "classes in their order with --classes a,b,c"
    if record.probabilities is None:
        remedy = "write the labels in the words of the predictions, or name all classes with --classes a,b,c"
    kinds: dict[str, Kind] = {key: "key", label: "any"}
    if tells:
        kinds[CHOSEN] = "any"
    code_of: dict[Any, int] = {name: code for code, name in enumerate(classes)}
    out = Examples([], [], [])
    for batch in table.batches(kinds, 4096):
        try:
            out.ids.extend(key_cells(batch.column(key), key).to_pylist())
        except InputError as error:
            raise error.at(file=file) from None
        cells = batch.column(label).to_pylist()
        first = len(out.codes)
        truth = matched(cells, classes, file=file, first_row=first, column=label, remedy=remedy)
        out.codes.extend(-1 if name is None else code_of[name] for name in truth)
        reasons = batch.column(CHOSEN).to_pylist() if tells else [None] * len(cells)
        out.chosen.extend(map(was_chosen, reasons))
    return out


@final
class RowsOfIds:
    """Rows of the predictions by their ids, and by the ids of questions that repeat."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._row = {name: row for row, name in enumerate(ids)}
        self._repeats: defaultdict[str, list[int]] = defaultdict(list)
        for row, name in enumerate(ids):
            self._repeats[EPOCH_OF_ID.sub("", name)].append(row)

    def example(self, name: str, single: str, times: int) -> list[int]:
        """Rows that an example is about, which stands ``times`` times in its file; ``single``: its id with a number."""
        repeats = self._repeats.get(name, [])
        if times == len(repeats) and single in self._row:
            return [self._row[single]]
        return [self._row[name]] if name in self._row else repeats


def _fault(name: str, code: int, before: Array, file_codes: Array) -> tuple[str, str] | None:
    """What was expected and what came, where an example does not go with the rows of its id.

    ``before`` are labels that these rows have of examples, ``file_codes`` those in the predictions; -1 for none.
    """
    if not len(before):
        return "the id of a row of the predictions", repr(name)
    if code >= 0 and len({*file_codes, -1}) > 2:
        return "a label for each row of this id, as the predictions hold several", "one for all"
    if code >= 0 and len({code, *before, -1}) > 2:
        return "ids that name one row each", f"{name!r} again, with another label"
    return None


def _column(table: RawTable, name: str, options: Asked, remedy: str) -> str:
    """What the examples call a column: its own name, or one that is renamed to it."""
    if name in table.columns:
        return name
    renamed = [
        theirs
        for theirs, ours in (options.mapping or {}).items()
        if ours == name and theirs in table.columns
    ]
    if not renamed:
        raise InputError(
            f"a column {name}: examples are matched to predictions by id",
            got=f"the columns {shown(table.columns, 12)}",
            remedy=remedy,
            file=table.file or table.name,
        )
    return renamed[0]


def _clusters(
    record: Predictions, ids: Sequence[str], labelled: Array, key: str, cluster: str | None
) -> Array | None:
    """Keys of the clusters of the labelled rows, None where no row depends on another."""
    cells: Sequence[Any] = ids
    if cluster not in (None, key):
        cells = np.asarray(record.columns[str(cluster)]).tolist()
    if len(labelled):
        return clusters_of([cells[row] for row in labelled.tolist()], cluster is not None)
    # no label depends on another, but rows of the pool may
    in_pool = cluster is not None or clusters_of(cells, named=False) is not None
    return np.zeros(0, dtype=np.uint64) if in_pool else None


def _known_ground(references: Sequence[Any], opener: Opener, axes: Axes) -> tuple[Predictions, ...]:
    """The labelled rows of each reference, which need not be matched; `InputError` for one without any."""
    out = []
    for reference in references:
        opener.open(reference)  # as a file that holds the truth, whatever its columns are called
        source = opener.open(reference, None, axes=axes)
        out.append(source.read(_fields(source)).known())
        if not len(out[-1]):
            raise InputError(
                "labelled rows of known ground",
                got="none",
                remedy="give a file with a column label",
                file=said_model(reference),
            )
    return tuple(out)

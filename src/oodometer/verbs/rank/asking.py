"""Asking: live models about the labelled rows and the pool, each of them once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...datasets import Dataset
from ...datasets.reading import Batch, Columns, Examples, open_examples
from ...errors import InputError, UsageError
from ...models.base import Classifier
from ...models.opening import open_classifier
from ...predictions import Predictions
from ..model_names import said_model
from ..predict.labels import matched
from .options import RankOptions
from .suite import Suite, shown

__all__ = ["ask_models"]

_BATCH = 4096  # rows of images or of a table that are asked at once; texts go in one call


@final
@dataclass(frozen=True)
class _Rows:
    """Rows of a file as they were read."""

    parts: tuple[Dataset, ...]
    targets: tuple[Any, ...]
    ids: tuple[str, ...]
    named: bool
    file: str
    modality: str

    @property
    def texts(self) -> tuple[Any, ...]:
        """The inputs where they are texts or pairs, else none."""
        return tuple(one for part in self.parts for one in part.inputs) if self.modality in ("text", "pair") else ()


def ask_models(
    models: Sequence[tuple[str, Any]],
    examples: Any,
    unlabelled: Any,
    options: RankOptions,
    progress: Callable[[int, int], None] | None,
) -> Suite:
    """Open the models, read the data and ask.

    Rows of ``examples`` without a label join the pool; rows of the pool that are among the examples are left out.
    Raises `InputError` for models of other classes, or that read something else, and for data that cannot be used.
    """
    opened = [_opened(model, options) for _, model in models]
    sources = [said_model(model) for _, model in models]
    classes = _classes(opened, sources)
    given = _read(examples, opened, sources, options.columns, label=True)
    pool = None
    if unlabelled is not None:
        columns = Columns(options.columns.inputs, None, options.columns.id)
        pool = _read(unlabelled, opened, sources, columns, label=False)
        if pool.modality != given.modality:
            raise InputError(
                f"rows like those of {given.file}, {given.modality}",
                got=pool.modality,
                remedy="give a pool of the same form",
                file=pool.file,
            )
    column = options.columns.label or "label"
    truth = matched(given.targets, classes, file=given.file, first_row=0, column=column) if given.targets else []
    known = {row: one for row, one in enumerate(truth) if one is not None}
    if not known:
        raise InputError(
            "labelled rows",
            got=f"no value in a column {column}",
            remedy="name the column of the truth with --label, or label a few rows; ten already help",
            file=given.file,
        )
    rest = [row for row in range(len(given.ids)) if row not in known]
    kept, twice = _new(pool, given) if pool is not None else ([], 0)
    picked = [(given, list(known)), (given, rest), *([] if pool is None else [(pool, kept)])]
    place = {name: code for code, name in enumerate(classes)}
    order = [(rows, at) for rows, some in picked for at in some]
    ids = _ids(order)
    records, truncated = _asked(opened, [name for name, _ in models], picked, classes, progress)
    texts = {id(rows): rows.texts for rows, _ in picked}
    return Suite(
        names=tuple(name for name, _ in models),
        sources=tuple(sources),
        records=tuple(records),
        labels=np.array([place[one] for one in known.values()], dtype=np.int64),
        ids=ids,
        modality=given.modality,
        inputs=tuple(texts[id(rows)][at] for rows, at in order) if texts[id(given)] else (),
        classifiers=tuple(opened),
        truncated=truncated,
        left_out={"rows of the pool that are among the examples": twice} if twice else {},
    )


def _opened(model: Any, options: RankOptions) -> Classifier:
    found = open_classifier(model, **options.of_models())
    if "dialogue" in found.reads and not {"text", "pair"} & set(found.reads):
        raise UsageError(
            f"{said_model(model)} ranks replies and has no classes; `compare` judges rankers by their predictions files"
        )
    return found


def _classes(opened: Sequence[Classifier], sources: Sequence[str]) -> tuple[int | str, ...]:
    """The classes of all models in the order of the first; `InputError` where they are not the same."""
    first = opened[0].classes
    for one, source in zip(opened[1:], sources[1:], strict=True):
        if {str(name) for name in one.classes} != {str(name) for name in first}:
            raise InputError(
                f"the classes of {sources[0]}, {shown(first)}",
                got=shown(one.classes),
                remedy="only models of the same classes can be ranked; if only the names differ, give them in the "
                "order of the outputs with --classes a,b",
                file=source,
            )
    return first


def _read(data: Any, opened: Sequence[Classifier], sources: Sequence[str], columns: Columns, *, label: bool) -> _Rows:
    """All rows of a file, in batches for images and tables, in one part for texts."""
    examples = open_examples(data, opened[0].reads, columns)
    _check_reads(examples, opened, sources, columns)
    batches: list[Batch] = list(examples.batches(_BATCH))
    parts = [one.data for one in batches]
    texts = examples.modality in ("text", "pair")
    if texts and len(parts) > 1:
        parts = [
            Dataset(examples.name, tuple(one for part in parts for one in part.inputs), modality=parts[0].modality)
        ]
    targets = tuple(one for batch in batches for one in batch.data.targets) if label else ()
    ids = tuple(one for batch in batches for one in batch.data.ids)
    file = examples.file or examples.name
    twice = next((one for one in ids if ids.count(one) > 1), None) if len(set(ids)) < len(ids) else None
    if twice is not None:
        raise InputError("ids that name one row each", got=f"{twice!r} twice", remedy="mend them", file=file)
    rows = sum(len(part) for part in parts)
    return _Rows(tuple(parts), targets, ids or tuple(map(str, range(1, rows + 1))), bool(ids), file, examples.modality)


def _check_reads(examples: Examples, opened: Sequence[Classifier], sources: Sequence[str], columns: Columns) -> None:
    for one, source in zip(opened, sources, strict=True):
        if examples.modality not in one.reads:
            raise InputError(
                f"models that read {examples.modality}, as {sources[0]} does",
                got=f"one that reads {' or '.join(one.reads)}",
                remedy="name models of the same kind of input",
                file=source,
            )
        if one.by_position and examples.modality == "table" and not columns.inputs:
            raise UsageError(
                f"{source} tells the columns of a table by their order alone, and another file may have another: name "
                "them in the order that it wants, with --input a --input b"
            )


def _new(pool: _Rows, given: _Rows) -> tuple[list[int], int]:
    """Places of the pool's rows that are not among the examples, and how many are: by id, else by the text itself."""
    if pool.named and given.named:
        mine, theirs = pool.ids, set(given.ids)
    elif pool.texts and given.texts:
        mine, theirs = pool.texts, set(given.texts)
    else:
        return list(range(len(pool.ids))), 0
    kept = [row for row, one in enumerate(mine) if one not in theirs]
    return kept, len(mine) - len(kept)


def _ids(order: Sequence[tuple[_Rows, int]]) -> tuple[str, ...]:
    """A name for each row: its id, or the number of its row, with the file where both files are only numbered."""
    files = {id(rows): rows for rows, _ in order}
    if len(files) == 1 or all(rows.named for rows in files.values()):
        return tuple(rows.ids[at] for rows, at in order)
    return tuple(rows.ids[at] if rows.named else f"{rows.file}: row {rows.ids[at]}" for rows, at in order)


def _asked(
    opened: Sequence[Classifier],
    names: Sequence[str],
    picked: Sequence[tuple[_Rows, list[int]]],
    classes: Sequence[int | str],
    progress: Callable[[int, int], None] | None,
) -> tuple[list[Predictions], dict[str, int]]:
    """The record of each model, its classes in one order; and who cut how many inputs."""
    parts = _parts(picked)
    total, done = len(opened) * sum(map(len, parts)), 0
    records, truncated = [], {}
    for name, model in zip(names, opened, strict=True):
        order = [[str(one) for one in model.classes].index(str(one)) for one in classes]
        logits, probabilities, cut = [], [], 0
        for part in parts:
            answers = model.ask(part, progress=_telling(progress, done, len(part), total))
            cut += model.truncated
            done += len(part)
            probabilities.append(np.asarray(answers.distribution)[:, order])
            logits.append(None if answers.logits is None else np.asarray(answers.logits)[:, order])
        records.append(_record(probabilities, logits, classes, name))
        if cut:
            truncated[name] = cut
    return records, truncated


def _parts(picked: Sequence[tuple[_Rows, list[int]]]) -> list[Dataset]:
    """What is asked, in the order of the rows: texts in one call."""
    out: list[Dataset] = []
    for rows, some in picked:
        start = 0
        for part in rows.parts:
            inside = [at - start for at in some if start <= at < start + len(part)]
            start += len(part)
            if inside:
                bare = Dataset(part.name, part.inputs, source=part.source, modality=part.modality)
                out.append(bare.take(inside))
    if out[0].modality in ("text", "pair"):
        whole = tuple(one for part in out for one in part.inputs)
        return [Dataset(out[0].name, whole, source=out[0].source, modality=out[0].modality)]
    return out


def _telling(
    progress: Callable[[int, int], None] | None, before: int, rows: int, total: int
) -> Callable[[int, int], None]:
    def tell(done: int, all_: int) -> None:
        if progress is not None:
            progress(before + rows * done // max(all_, 1), total)

    return tell


def _record(
    probabilities: Sequence[Array], logits: Sequence[Array | None], classes: Sequence[int | str], name: str
) -> Predictions:
    fields: dict[str, Any] = {"probabilities": np.concatenate(probabilities)}
    if all(one is not None for one in logits):
        fields = {"logits": np.concatenate([one for one in logits if one is not None])}
    try:
        return Predictions.from_arrays(classes=list(classes), source=name, **fields)
    except InputError as error:
        raise error.at(file=name) from None

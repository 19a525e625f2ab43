"""Run: data in batches through a model, into one predictions file; interrupted, it goes on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...datasets.reading import Examples, open_examples
from ...engines import task_engine
from ...errors import InputError, UsageError
from ...models.artifacts import fingerprint
from ...models.base import Classifier, only_shift
from ...models.sent import stamp_of
from ...models.torch.library import on_gpu
from ...options import verb
from ...predictions import Predictions
from ...results.prediction import Prediction
from ...runs import passing, places_said
from ...store import refuse_clashes, write_predictions
from ...store.harness import LogOptions
from ...version import __version__
from .asking import Asked, Parts, ask_batch, ask_elsewhere, opened
from .logs import is_log, known_accuracy, predicted_in_log

__all__ = ["predict", "stamp_of"]

EXAMPLES = 3  # inputs that could not be read, which are named


@verb(Asked)
def predict(options: Asked) -> Prediction:
    """Ask a live model about data, or read the log in which it has answered, and write a predictions file.

    The same call goes on where an interrupted one ended. Raises `InputError` for data or models that cannot be used.

    >>> import numpy as np
    >>> def loud(texts):
    ...     return np.array([[0.1, 0.9] if text.isupper() else [0.8, 0.2] for text in texts])
    >>> found = predict(loud, {"text": ["AH", "oh"], "label": ["yes", "yes"]}, classes=["no", "yes"])
    >>> found.rows, found.accuracy.value, found.record.probabilities[:, 1].tolist()
    (2, 0.5, [0.9, 0.2])
    """
    model, data, out, engine, workers = options.model, options.data, options.out, options.engine, options.workers
    task_engine(engine, workers)  # says what is wrong with it before a model is opened
    refuse_clashes({"the file to write": out}, [data, *(model if isinstance(model, (list, tuple)) else [model])])
    log = LogOptions(options.metric, options.filter, options.keep_input)
    if is_log(model, data, log):
        if out is not None:
            _check_out(Path(out))
        return predicted_in_log(model, out, options, log)
    asked = opened(model, options)
    if options.replies is not None and "dialogue" not in asked.reads:
        raise UsageError("replies are of rankers, and this model reads no dialogues; leave them out")
    examples = open_examples(data, asked.reads, options.columns, options.drawing)
    if asked.by_position and examples.modality == "table" and not options.columns.inputs:
        raise UsageError(
            "this model tells the columns of a table by their order alone, and another file may have another: name "
            "them in the order that it wants, with --input a --input b"
        )
    if examples.modality != "image":
        only_shift(options.augmentation, "a table" if examples.modality == "table" else "texts")
    if out is not None:
        _check_out(Path(out))
    home, job, extra = _job(model, examples, options, out)
    with passing(home, {"verb": "predict", **places_said(model=model, data=data, out=out)}) as run:
        parts = Parts(home, job, extra, run)
        if engine is None and workers is None:
            truncated, skipped = _ask_all(asked, examples, parts, options)
        else:
            runner = task_engine(engine, workers, gpu=options.device != "cpu" and on_gpu(options.device))
            done = ask_elsewhere(runner, model, data, examples, options, parts)
            truncated, skipped = _told(examples, parts, done)
        return _finished(model, asked, examples, parts, out, truncated, skipped)


def _check_out(out: Path) -> None:
    """Say before the work that the file could not be written."""
    endings = (".parquet", ".csv", ".jsonl", ".arrow", ".feather", ".npz")
    if out.suffix.lower() not in endings:
        raise UsageError(f"cannot write {out}: end the name in {', '.join(endings)}")
    if not out.parent.is_dir():
        raise UsageError(f"cannot write {out}: there is no folder {out.parent}; make it first")


def _job(model: Any, examples: Examples, options: Asked, out: Any) -> tuple[Path | None, str, tuple[str, ...]]:
    """The folder of the parts, the name of the job, and the further columns."""
    extra = ("id", *options.columns.keep, "time", "group", "variance")
    paths = [one for one in (model, *options.members, options.replies) if one is not None]
    if out is None or not all(isinstance(one, (str, os.PathLike)) for one in paths) or examples.stamp is None:
        return None, "", extra
    files = [stamp_of(one) for one in paths]
    job = fingerprint({"files": files, "data": examples.stamp, **options.settings(), "version": __version__})
    place = Path(out)
    return place.with_name(f".{place.name}.parts"), job, extra


def _ask_all(
    asked: Classifier,
    examples: Examples,
    parts: Parts,
    options: Asked,
) -> tuple[int, list[tuple[str, str]]]:
    """Ask about batch after batch; the number of inputs that were cut, and what could not be read."""
    progress, total, done = options.progress, examples.rows or 0, 0
    many = -(-total // options.batch_rows)
    parts.tell(many)
    for place, batch in enumerate(examples.batches(options.batch_rows, skip=options.skip)):
        if place >= parts.done:

            def tell(at: int, all_: int, before: int = done, rows: int = batch.read) -> None:
                if progress is not None:
                    progress(before + rows * at // max(all_, 1), total)

            ask_batch(asked, examples, batch, options, parts, place, tell)
            parts.tell(many, worked=1)
        done += batch.read
        if progress is not None:
            progress(done, total)
    return _told(examples, parts, done)


def _told(examples: Examples, parts: Parts, done: int) -> tuple[int, list[tuple[str, str]]]:
    """How many inputs of all parts were cut, and what could not be read; `InputError` where that is everything."""
    skipped = [(str(name), str(why)) for note in parts.notes for name, why in note["skipped"]]
    if len(skipped) == done:
        images = examples.modality == "image"
        raise InputError(
            "images" if images else "dialogues with a reply",
            got=f"{done} files, of which none decodes" if images else f"{done} rows, none of which holds one",
            remedy="check what wrote them",
            file=examples.file,
        )
    return sum(note["truncated"] for note in parts.notes), skipped


def _finished(
    model: Any,
    asked: Classifier,
    examples: Examples,
    parts: Parts,
    out: Any,
    truncated: int,
    skipped: list[tuple[str, str]],
) -> Prediction:
    record = Predictions.concat(list(parts.records()))
    if out is not None:
        write_predictions(record, out)
    accuracy, repeated = known_accuracy(record)
    named = str(model) if isinstance(model, (str, os.PathLike)) else getattr(model, "__name__", type(model).__name__)
    return Prediction(
        __version__,
        named,
        examples.name,
        None if out is None else str(out),
        len(record),
        tuple(record.classes or ()),
        record.fields,
        accuracy,
        len(skipped),
        tuple(skipped[:EXAMPLES]),
        truncated,
        repeated,
        record=record if out is None else None,
    )

"""Run: data in batches through a model, into one predictions file; interrupted, it goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...arguments import CHECKS, checked, one_of, several_or_none, texts_or_one
from ...datasets.reading import Columns, Examples, open_examples
from ...engines import Engine, task_engine
from ...errors import InputError, UsageError
from ...models.artifacts import fingerprint
from ...models.base import AUGMENTATIONS, Classifier, Request, only_shift
from ...models.sent import stamp_of
from ...models.torch.library import on_gpu
from ...predictions import Predictions
from ...results.prediction import Prediction
from ...runs import passing, places_said
from ...store import refuse_clashes, write_predictions
from ...store.harness import LogOptions
from ...version import __version__
from .asking import ask_batch, opened
from .elsewhere import ask_elsewhere
from .logs import is_log, known_accuracy, predicted_in_log
from .options import PredictOptions, as_names
from .parts import Parts

__all__ = ["predict", "stamp_of"]

EXAMPLES = 3  # inputs that could not be read, which are named


@checked(
    model=lambda name, value: value,
    inputs=texts_or_one,
    keep=texts_or_one,
    candidates=CHECKS["batch_rows"],
    replies=CHECKS["data"],
    members=several_or_none,
    on_error=one_of("refuse", "skip"),
    augmentation=one_of(*AUGMENTATIONS),
    gives=one_of("logits", "probabilities"),
    filter=CHECKS["metric"],
)
def predict(
    model: Any,
    data: Any = None,
    *,
    out: str | os.PathLike[str] | None = None,
    inputs: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    keep: str | Sequence[str] | None = None,
    keep_input: bool = False,
    unlabelled: bool = False,
    members: Sequence[Any] = (),
    average: bool = False,
    features: bool = False,
    views: int = 0,
    dropout: int = 0,
    seed: int = 0,
    augmentation: str = "shift",
    gives: str | None = None,
    classes: Sequence[int | str] | None = None,
    max_length: int | None = None,
    on_error: str = "refuse",
    batch_rows: int = 4096,
    candidates: int = 10,
    replies: Any = None,
    device: str | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    metric: str | None = None,
    filter: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Prediction:
    """Ask a live model about data, or read the log in which it has answered, and write a predictions file.

    Parameters
    ----------
    model :
        A Hugging Face classifier of texts or images (folder or hub name), a model that oodometer saved, an ONNX file,
        ``package.module:name`` of a fitted estimator, a torch module or a function, or such an object. Without data:
        a log of lm-evaluation-harness (``samples_*.jsonl``) or inspect (``.eval``, ``.json``), or several, or a folder.
    data :
        A CSV, JSONL, Parquet or Arrow file, a frame, a Hugging Face data set (also ``hf:NAME:SPLIT``), a folder of
        images, an NPZ file, or a `Dataset`. Of a ranker: rows with ``context`` and ``candidates`` (and ``label``, the
        position of the right one) or ``response``; or with ``turns``, of which each but the first is a response.
    out :
        The predictions file to write; None keeps the record in memory (``found.record``).
    inputs, label, id, keep :
        Columns: what the model reads (two for pairs of texts), the truth, a name for each row, what to carry along.
    keep_input :
        Whether texts go into the file, as ``input``.
    unlabelled :
        Whether labels are left out: the subfolders of images are no classes, or the column is of something else.
    members, average :
        Further models of the same classes; whether the mean of all is judged, else the first.
    features, views, dropout, seed :
        What the last linear layer reads; augmented copies to ask; passes with dropout on; the seed of both.
    augmentation :
        How the copies are made: "shift" (images mirrored and moved, texts with words left out) or, of images,
        "randaugment".
    gives, classes :
        "logits" or "probabilities", of a model from outside; class names in the order of its outputs.
    max_length :
        Tokens of a text that are read, at most.
    on_error :
        "refuse" or "skip" images that do not decode.
    batch_rows :
        Rows that are read and asked at once; they bound the memory.
    candidates, replies :
        Of a ranker: how many candidates a response without any gets, drawn by the seed; and the data whose responses
        they are drawn from, by default these (of a shifted copy its source, so that both have the same).
    device, progress :
        "cpu" or "cuda"; called with (rows done, rows), rows 0 where their number is not known.
    engine, workers :
        Stretches of the data as tasks of one thread: "processes", "ray", "spark"; how many at a time. Model and data
        are then named by their paths, and ``out`` is written. By default all in this process, with its threads.
    metric, filter :
        Of a log: the metric or scorer that says what is right (``"f1>=0.5"`` for a score), and the filter.

    The same call goes on where an interrupted one ended. Raises `InputError` for data or models that cannot be used.

    >>> import numpy as np
    >>> def loud(texts):
    ...     return np.array([[0.1, 0.9] if text.isupper() else [0.8, 0.2] for text in texts])
    >>> found = predict(loud, {"text": ["AH", "oh"], "label": ["yes", "yes"]}, classes=["no", "yes"])
    >>> found.rows, found.accuracy.value, found.record.probabilities[:, 1].tolist()
    (2, 0.5, [0.9, 0.2])
    """
    options = PredictOptions(
        columns=Columns(as_names(inputs), label, id, as_names(keep)),
        request=Request(features, views, dropout, seed, augmentation=augmentation),
        members=tuple(members),
        average=average,
        gives=gives,
        classes=None if classes is None else tuple(classes),
        max_length=max_length,
        keep_input=keep_input,
        unlabelled=unlabelled,
        skip=on_error == "skip",
        batch_rows=batch_rows,
        device=device,
        candidates=candidates,
        replies=replies,
    )
    task_engine(engine, workers)  # says what is wrong with it before a model is opened
    refuse_clashes({"the file to write": out}, [data, *(model if isinstance(model, (list, tuple)) else [model])])
    log = LogOptions(metric, filter, keep_input)
    if is_log(model, data, log):
        if out is not None:
            _check_out(Path(out))
        return predicted_in_log(model, out, options, log)
    asked = opened(model, options)
    if replies is not None and "dialogue" not in asked.reads:
        raise UsageError("replies are of rankers, and this model reads no dialogues; leave them out")
    examples = open_examples(data, asked.reads, options.columns, options.drawing)
    if asked.by_position and examples.modality == "table" and not options.columns.inputs:
        raise UsageError(
            "this model tells the columns of a table by their order alone, and another file may have another: name "
            "them in the order that it wants, with --input a --input b"
        )
    if examples.modality != "image":
        only_shift(augmentation, "a table" if examples.modality == "table" else "texts")
    if out is not None:
        _check_out(Path(out))
    home, job, extra = _job(model, examples, options, out)
    with passing(home, {"verb": "predict", **places_said(model=model, data=data, out=out)}) as run:
        parts = Parts(home, job, extra, run)
        if engine is None and workers is None:
            truncated, skipped = _ask_all(asked, examples, parts, options, progress)
        else:
            runner = task_engine(engine, workers, gpu=options.device != "cpu" and on_gpu(options.device))
            done = ask_elsewhere(runner, model, data, examples, options, parts, progress)
            truncated, skipped = _told(examples, parts, done)
        return _finished(model, asked, examples, parts, out, truncated, skipped)


def _check_out(out: Path) -> None:
    """Say before the work that the file could not be written."""
    endings = (".parquet", ".csv", ".jsonl", ".arrow", ".feather", ".npz")
    if out.suffix.lower() not in endings:
        raise UsageError(f"cannot write {out}: end the name in {', '.join(endings)}")
    if not out.parent.is_dir():
        raise UsageError(f"cannot write {out}: there is no folder {out.parent}; make it first")


def _job(model: Any, examples: Examples, options: PredictOptions, out: Any) -> tuple[Path | None, str, tuple[str, ...]]:
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
    options: PredictOptions,
    progress: Callable[[int, int], None] | None,
) -> tuple[int, list[tuple[str, str]]]:
    """Ask about batch after batch; the number of inputs that were cut, and what could not be read."""
    total, done = examples.rows or 0, 0
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

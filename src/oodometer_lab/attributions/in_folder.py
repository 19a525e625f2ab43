"""In a folder: attributions in parts of 32 examples, each written when done, here or as tasks; a later call goes on."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np

from oodometer.engines import Engine, task_engine
from oodometer.errors import InputError, UsageError
from oodometer.options import is_whole
from oodometer.runs import Kept
from oodometer.store import write_result
from oodometer.store.artifact_cache import checksum

from ..models.base import Classifier, Progress, Text
from ..models.opening import (
    Piece,
    SentModel,
    forgetting,
    open_classifier,
    path_of,
    pieces_of_work,
    stamp_of,
)
from .base import (
    Attribution,
    Model,
    WordAttributions,
    Words,
    as_words,
    check_unicode,
    checked_targets,
)

_NAMES = (
    "id",
    "text",
    "pair",
    "feature",
    "words",
    "parts",
    "values",
    "separator",
    "target",
    "class",
    "classes",
)
_NUMBERS = ("probability", "base", "fit")
_BY = ("method", "model")
_ENDINGS = (".parquet", ".jsonl")
_FAR = 1e-6  # by which rounding may take a probability beyond 0 or 1


@final
@dataclass(frozen=True, eq=False)
class Explained:
    """Attributions of several examples by one method of one model.

    ids : of the examples, in order.
    attributions : of each example.
    classes : names of the model's classes in order; empty where a model does not name them.
    method, model : names.
    truncated : how often the model cut a text that was too long, as `Attribution.truncated` counts it, summed over the
        parts of a folder; None where that is not known, as of what `read_attributions` reads.
    """

    ids: tuple[str, ...]
    attributions: tuple[WordAttributions, ...]
    classes: tuple[int | str, ...] = ()
    method: str = ""
    model: str = ""
    truncated: int | None = None

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.attributions):
            raise UsageError(
                f"expected an id for each of {len(self.attributions)} examples, got {len(self.ids)}"
            )


def write_attributions(path: str | os.PathLike[str], explained: Explained) -> Path:
    """Write a row for each example of ``explained`` to the Parquet or JSONL file ``path``, whole or not at all; returns
    it.

    A row holds id, text (and pair, its second part), feature, words, parts, values, separator, target (position), class
    (name), classes, probability, base, fit, method and model. What is not known is null. Raises `UsageError` for
    another ending, `InputError` for values that are not finite, for a target that is none of the classes and for texts
    that are not Unicode, `WorkError` where the file cannot be written.

    >>> import tempfile
    >>> found = WordAttributions(Words("a film"), np.array([0.1, 0.2]), math.nan, 1, 0.9)
    >>> path = Path(tempfile.mkdtemp()) / "found.jsonl"
    >>> read_attributions(write_attributions(path, Explained(("a1",), (found,)))).attributions[0].values.tolist()
    [0.1, 0.2]
    """
    ending = _ending(path)
    rows = [
        row_of(name, attribution, explained, at)
        for at, (name, attribution) in enumerate(
            zip(explained.ids, explained.attributions, strict=True), 1
        )
    ]
    if ending == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
        return write_result(path, "".join(lines))
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers, texts, integers = pa.list_(pa.float64()), pa.list_(pa.string()), pa.list_(pa.int64())
    number = (
        pa.int64()
        if explained.classes and not isinstance(explained.classes[0], str)
        else pa.string()
    )
    kinds = {
        "words": texts,
        "parts": integers,
        "values": numbers,
        "target": pa.int64(),
        "feature": pa.int64(),
    }
    kinds |= {"classes": pa.list_(number), "class": number}
    kinds |= {name: pa.float64() for name in ("separator", *_NUMBERS)}
    schema = pa.schema(
        [(name, kinds.get(name, pa.string())) for name in (*_NAMES, *_NUMBERS, *_BY)]
    )
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), buffer, compression="zstd")
    return write_result(path, buffer.getvalue())


def read_attributions(path: str | os.PathLike[str]) -> Explained:
    """Read what `write_attributions` wrote to the file ``path``; `InputError` names the row that is something else.

    It is also raised for a file that cannot be read, that holds no row, or rows of several methods or models;
    `UsageError` for another ending.
    """
    name = str(path)
    rows: list[dict[str, Any]] = []
    if _ending(path) == ".jsonl":
        try:
            lines = [
                line for line in Path(name).read_text(encoding="utf-8").split("\n") if line.strip()
            ]
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable(name, error) from error
        for at, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise _wrong_row(line[:40], name, at) from error
            if not isinstance(row, dict):
                raise _wrong_row(line[:40], name, at)
            rows.append(row)
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            rows = pq.read_table(name).to_pylist()
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(name, error) from error
    if not rows:
        raise InputError(
            "at least one row of attributions", got="none", remedy="check what wrote it", file=name
        )
    attributions = [read_row(row, name, at) for at, row in enumerate(rows, 1)]
    first = rows[0]
    for at, row in enumerate(rows, 1):
        if any(row[key] != first[key] for key in (*_BY, "classes")):
            remedy = "split the file"
            raise InputError(
                "attributions of one method and model",
                got="several",
                remedy=remedy,
                file=name,
                row=at,
            )
    ids = tuple(str(row["id"]) for row in rows)
    return Explained(
        ids, tuple(attributions), tuple(first["classes"]), first["method"], first["model"]
    )


def said(option: Any) -> Any:
    """An option that JSON does not know, so that a number of numpy is the number that it is."""
    return option.item() if isinstance(option, np.generic) else str(option)


def row_of(name: str, example: WordAttributions, about: Explained, at: int) -> dict[str, Any]:
    """One example as a row; `InputError` for what no file can hold, with the row ``at``, from 1 on."""
    texts, feature, name = example.words.texts, example.words.feature, str(name)
    classes = [
        said(number) if isinstance(number, np.generic) else number for number in about.classes
    ]
    numbers = (example.separator, example.probability, example.base, example.fit)
    if not np.isfinite(example.values).all() or np.isinf(numbers).any():
        raise InputError(
            "values that are finite", got="nan or an infinity", remedy="check the model", row=at
        )
    if classes and not 0 <= example.target < len(classes):
        got = f"target {example.target}"
        raise InputError(
            f"one of {len(classes)} classes", got=got, remedy="check the method", row=at
        )
    texts_of = {"text": " ".join(texts), "id": name, "method": about.method, "model": about.model}
    check_unicode(texts_of | {"classes": " ".join(map(str, classes))}, at)
    row = {"id": name, "text": texts[0], "pair": texts[1] if example.words.is_pair else None}
    return row | {
        "feature": None if feature is None else int(feature),
        "words": list(example.words.words),
        "parts": example.words.parts.tolist(),
        "values": [float(number) for number in example.values],
        "separator": _known(example.separator),
        "target": int(example.target),
        "class": classes[example.target] if classes else None,
        "classes": classes,
        **{key: _known(getattr(example, key)) for key in _NUMBERS},
        **{"method": about.method, "model": about.model},
    }


def read_row(row: Mapping[str, Any], file: str, at: int) -> WordAttributions:
    """One row; `InputError` where something is missing, or its words are not those of its text."""
    try:
        wrong = _wrong_field(row)
        if wrong is None:
            example = _example_of(row)
            words = example.words
            same = row["words"] == list(words.words) and row["parts"] == words.parts.tolist()
            if same and example.values.shape == (len(words.words),):
                return example
            wrong = "other words than those of the text, or not a value for each"
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _wrong_row(f"{type(error).__name__} {error}"[:80], file, at) from error
    raise _wrong_row(wrong, file, at)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_name(value: object) -> bool:
    return isinstance(value, str) or is_whole(value)


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _or_none(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """The check of a cell that may be empty."""
    return lambda value: value is None or check(value)


def _list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """The check of a list by that of its entries."""
    return lambda value: isinstance(value, list) and all(map(check, value))


# What each field of a row holds, for itself; the class is held against the others.
_HOLDS: dict[str, Callable[[Any], bool]] = {
    "id": _is_name,
    "text": _is_text,
    "pair": _or_none(_is_text),
    "feature": _or_none(is_whole),
    "values": _list_of(_is_finite),
    "classes": _list_of(_is_name),
    "target": partial(is_whole, minimum=0),
    "class": lambda value: True,
    **dict.fromkeys(("separator", *_NUMBERS), _or_none(_is_finite)),
    **dict.fromkeys(_BY, _is_text),
}


def _wrong_field(row: Mapping[str, Any]) -> str | None:
    """The first field of a row that holds something else than it should, and what; None where none does."""
    classes, target = row["classes"], row["target"]
    fine = {key: holds(row[key]) for key, holds in _HOLDS.items()}
    is_listed = fine["target"] and fine["classes"] and (not classes or target < len(classes))
    fine["target"] = is_listed
    fine["class"] = is_listed and row["class"] in (classes[target : target + 1] or [None])
    p = row["probability"]
    fine["probability"] &= p is None or not _is_finite(p) or -_FAR <= p <= 1 + _FAR
    wrong = next((key for key, good in fine.items() if not good), None)
    return None if wrong is None else f"{wrong} {row[wrong]!r}"[:80]


def _example_of(row: Mapping[str, Any]) -> WordAttributions:
    """The attributions of a row."""
    text = row["text"] if row["pair"] is None else (row["text"], row["pair"])
    values = np.array(row["values"], dtype=np.float64)
    separator, *numbers = (_number(row[key]) for key in ("separator", *_NUMBERS))
    return WordAttributions(Words(text, row["feature"]), values, separator, row["target"], *numbers)


def _wrong_row(got: str, file: str, at: int) -> InputError:
    return InputError("a row of attributions", got=got, remedy="write it again", file=file, row=at)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _ending(path: str | os.PathLike[str]) -> str:
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        raise UsageError(
            f"expected a file that ends in {' or '.join(_ENDINGS)}, got {Path(path).name}"
        )
    return ending


def _unreadable(name: str, error: Exception) -> InputError:
    missing = isinstance(error, FileNotFoundError)
    got = "no such file" if missing else getattr(error, "strerror", None) or str(error)[:80]
    return InputError("a file of attributions", got=got, remedy="check the path", file=name)


AT_ONCE = 32
"""Examples of a part: enough to fill batches, few enough to be lost."""


@final
@dataclass(frozen=True)
class ExplainOptions:
    """Of which examples and classes attributions in a folder are, and where they are made.

    ids : of the texts, by default their numbers from 1 on.
    targets : positions of the classes that are explained; by default the predicted ones.
    device : "cpu" or "cuda", of a model that is given by its path.
    engine, workers : where parts are made, each a task of one thread, and how many tasks at a time: "processes" (which
        ``workers`` alone means), "ray", "spark", these two with an address after a colon, "local", or an `Engine`. By
        default in this process.

    >>> ExplainOptions(engine="local").workers is None
    True
    """

    ids: Sequence[str] | None = None
    targets: Sequence[int] | None = None
    device: str | None = None
    engine: str | Engine | None = None
    workers: int | None = None


@final
@dataclass(frozen=True)
class _Part(Piece):
    """Consecutive examples of a job, from ``start`` on."""

    start: int
    examples: tuple[Words, ...]
    ids: tuple[str, ...]
    targets: tuple[int, ...] | None


@final
@dataclass(frozen=True)
class _Work:
    """Explains parts by a method, here or on a worker with one thread; ``name`` is that of the model."""

    method: Attribution
    name: str
    sent: SentModel | None = None
    gpu: bool = False

    def __call__(self, part: _Part) -> None:
        assert self.sent is not None
        with self.sent.opened() as model:
            self.write(part, model)

    def write(self, part: _Part, model: Model, progress: Progress | None = None) -> dict[str, Any]:
        """Explain a part and keep it."""
        about = Explained((), (), _classes(model), self.method.name, self.name)
        new = self.method.explain(model, part.examples, targets=part.targets, progress=progress)
        numbered = zip(part.ids, new, strict=True)
        rows = [
            row_of(one_id, example, about, part.start + at)
            for at, (one_id, example) in enumerate(numbered, 1)
        ]
        result = {"truncated": int(self.method.truncated), "rows": rows}
        assert part.kept is not None
        part.kept.keep(part.key, result)
        return result


def explain_in(
    folder: str | os.PathLike[str],
    method: Attribution,
    model: Model | str | os.PathLike[str],
    texts: Sequence[Text | Words],
    *,
    name: str,
    options: ExplainOptions | None = None,
    progress: Progress | None = None,
    **more: Any,
) -> Explained:
    """Explain texts in a folder: every 32 examples are written when done; a later call goes on from there.

    folder : Is made; with an engine all workers must see it.
    method : How words are weighed.
    model : A classifier or a function, or what names one: a folder, a hub name, ``package.module:name``.
    texts : Texts, pairs or `Words`.
    name : Of the model. The folder knows the method with its options, the name, texts, ids, targets, and the files of a
        model that is given by its path; of one in memory it knows no weights: give a name that changes with them.
    options, more : Ids, targets, engine. Fields of `ExplainOptions` may also be given by name: ``explain_in(...,
        workers=4)``.
    progress : Called with (examples done, all).

    The files are the same on every engine, and those of one thread in this process. Raises `UsageError` where the
    folder holds something else, and for an engine and a model that has no path, `InputError` for what the method
    refuses and for values that are not finite, `WorkError` where the folder cannot be written, where a worker does not
    write to it, and where one died; parts that are done stay. A part that is damaged or another job's is made anew.

    >>> import tempfile
    >>> from oodometer_lab.attributions import Lime
    >>> place = Path(tempfile.mkdtemp()) / "found"
    >>> found = explain_in(place, Lime(samples=5), lambda texts: [[0.2, 0.8] for _ in texts], ["a film"], name="sure")
    >>> found.attributions[0].target, [one.name for one in sorted(place.iterdir())]
    (1, ['job.json', 'part-00000.json'])
    """
    how = replace(options or ExplainOptions(), **more)
    name = str(name)
    examples = as_words(texts)
    targets = checked_targets(how.targets, len(examples))
    named = _checked_ids(how.ids, len(examples), name)
    path = _path_of(model, how.device)
    stamp = None if path is None else stamp_of(path)
    engine = sent = None
    if how.engine is not None or how.workers is not None:
        sent = SentModel(path_of(model), stamp, {"device": how.device})
        engine = task_engine(how.engine, how.workers, gpu=sent.on_gpu_here)
    asked_texts = [[list(example.texts), example.feature] for example in examples]
    job = [method.name, method.options(), name, asked_texts, named, targets, AT_ONCE]
    kept = Kept(Path(folder), question=_question(job, stamp))
    kept.claim("attributions by this method with these options of this model and these texts")
    parts = list(_parts(examples, named, targets, kept))
    live: Any = None
    if engine is None:
        live = model if path is None else open_classifier(path, device=how.device)
    with nullcontext() if engine is None else forgetting():
        work = _Work(method, name, sent, how.device != "cpu")
        results = pieces_of_work(
            parts, engine, lambda part, tell: work.write(part, live, tell), work, progress
        )
    classes = _classes(live) if engine is None else tuple(results[0]["rows"][0]["classes"])
    attributions: list[WordAttributions] = []
    for part, result in zip(parts, results, strict=True):
        file = f"{kept.path / part.key}.json"
        attributions += [read_row(row, file, at) for at, row in enumerate(result["rows"], 1)]
    truncated = sum(result["truncated"] for result in results)
    return Explained(named, tuple(attributions), classes, method.name, name, truncated)


def _path_of(model: Any, device: str | None) -> str | os.PathLike[str] | None:
    """The path of a model, None for one in memory; `UsageError` for a device of such a one."""
    if isinstance(model, str | os.PathLike):
        return model
    if device is not None:
        raise UsageError(
            f"device={device!r} is for a model that is given by its path; set it on the model itself"
        )
    return None


def _question(job: Sequence[Any], stamp: Any) -> str:
    """What tells a job from others, and behind it the files of a model that is given by its path."""
    files = "" if stamp is None else json.dumps(stamp[1:], default=said)
    return f"{checksum(json.dumps(job, default=said))} {files}".strip()


def _checked_ids(ids: Sequence[str] | None, rows: int, model: str) -> tuple[str, ...]:
    """Ids of the texts, by default their numbers; `UsageError` where these are not as many."""
    named = tuple(map(str, range(1, rows + 1) if ids is None else ids))
    if len(named) != rows:
        raise UsageError(f"expected {rows} ids, one a text, got {len(named)}")
    for row, name in enumerate(named, 1):
        check_unicode({"id": name, "model": model}, row)
    return named


def _parts(
    examples: Sequence[Words], ids: Sequence[str], targets: Sequence[int] | None, kept: Kept
) -> Iterator[_Part]:
    """The parts of a job, each of `AT_ONCE` examples or, the last one, fewer."""
    for start in range(0, len(examples), AT_ONCE):
        rows = slice(start, start + AT_ONCE)
        key = f"part-{start // AT_ONCE:05d}"
        yield _Part(
            start,
            tuple(examples[rows]),
            tuple(ids[rows]),
            tuple(targets[rows]) if targets else None,
            size=len(examples[rows]),
            lost=(f"a part was explained, and {kept.path / key}.json is not there", "folder"),
            kept=kept.sent,
            key=key,
        )


def _classes(model: Model) -> tuple[int | str, ...]:
    return tuple(model.classes) if isinstance(model, Classifier) else ()

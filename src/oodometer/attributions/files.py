"""Files: attributions as records, a row an example, in Parquet or JSONL; and in a folder that goes on after a stop."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from ..errors import InputError, UsageError, WorkError
from ..models.base import Classifier, Progress, Text
from ..store import write_result
from ..store.artifact_cache import checksum, read_artifact, write_artifact
from .asking import checked_targets
from .base import Attribution, Model, WordAttributions
from .words import Words, as_words

__all__ = ["Explained", "explain_in", "read_attributions", "write_attributions"]

AT_ONCE = 32
"""Examples of a part of `explain_in`: enough to fill batches, few enough to be lost."""

_JOB, _PART = "job.json", "attributions"
_NAMES = ("id", "text", "pair", "feature", "words", "parts", "values", "separator", "target", "class", "classes")
_NUMBERS = ("probability", "base", "fit")
_BY = ("method", "model")
_ENDINGS = (".parquet", ".jsonl")


@final
@dataclass(frozen=True, eq=False)
class Explained:
    """Attributions of several examples by one method of one model.

    Parameters
    ----------
    ids : of the examples, in order.
    attributions : of each example.
    classes : names of the model's classes in order; empty where a model does not name them.
    method, model : names.
    """

    ids: tuple[str, ...]
    attributions: tuple[WordAttributions, ...]
    classes: tuple[int | str, ...] = ()
    method: str = ""
    model: str = ""

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.attributions):
            raise UsageError(f"expected an id for each of {len(self.attributions)} examples, got {len(self.ids)}")


def write_attributions(path: str | os.PathLike[str], found: Explained) -> Path:
    """Write a row for each example to a Parquet or JSONL file, whole or not at all.

    A row holds id, text (and pair, its second part), feature, words, parts, values, separator, target (position),
    class (name), classes, probability, base, fit, method and model. What is not known is null. Raises `UsageError` for
    another ending, `WorkError` where the file cannot be written.

    >>> import tempfile
    >>> found = WordAttributions(Words("a film"), np.array([0.1, 0.2]), math.nan, 1, 0.9)
    >>> path = Path(tempfile.mkdtemp()) / "found.jsonl"
    >>> read_attributions(write_attributions(path, Explained(("a1",), (found,)))).attributions[0].values.tolist()
    [0.1, 0.2]
    """
    rows = [_row(name, one, found) for name, one in zip(found.ids, found.attributions, strict=True)]
    if _ending(path) == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
        return write_result(path, "".join(lines))
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers, texts, places = pa.list_(pa.float64()), pa.list_(pa.string()), pa.list_(pa.int64())
    number = pa.int64() if found.classes and not isinstance(found.classes[0], str) else pa.string()
    kinds = {"words": texts, "parts": places, "values": numbers, "target": pa.int64(), "feature": pa.int64()}
    kinds |= {"classes": pa.list_(number), "class": number}
    kinds |= {name: pa.float64() for name in ("separator", *_NUMBERS)}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in (*_NAMES, *_NUMBERS, *_BY)])
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), buffer, compression="zstd")
    return write_result(path, buffer.getvalue())


def read_attributions(path: str | os.PathLike[str]) -> Explained:
    """Read what `write_attributions` wrote; `InputError` names the row that is something else."""
    name = str(path)
    rows = _jsonl(name) if _ending(path) == ".jsonl" else _parquet(name)
    if not rows:
        raise InputError("at least one row of attributions", got="none", remedy="check what wrote it", file=name)
    found = [_read(row, name, at) for at, row in enumerate(rows, 1)]
    first = rows[0]
    for at, row in enumerate(rows, 1):
        if any(row.get(key) != first.get(key) for key in (*_BY, "classes")):
            raise InputError(
                "attributions of one method and model", got="several", remedy="split the file", file=name, row=at
            )
    classes = tuple(first.get("classes") or ())
    ids = tuple(str(row["id"]) for row in rows)
    return Explained(ids, tuple(found), classes, str(first.get("method")), str(first.get("model")))


def explain_in(
    folder: str | os.PathLike[str],
    method: Attribution,
    model: Model,
    texts: Sequence[Text | Words],
    *,
    name: str,
    ids: Sequence[str] | None = None,
    targets: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> Explained:
    """Explain texts in a folder: every 32 examples are written when done; a later call goes on from there.

    The folder knows the method with its options, the ``name`` of the model, texts, ids and targets. The weights it does
    not know: give a name that changes with them. ``progress`` is called with (examples done, all). Raises `UsageError`
    where the folder holds something else, `WorkError` where it cannot be written.
    """
    examples = as_words(texts)
    wanted = checked_targets(targets, len(examples))
    named = tuple(map(str, ids)) if ids is not None else tuple(map(str, range(1, len(examples) + 1)))
    if len(named) != len(examples):
        raise UsageError(f"expected {len(examples)} ids, one a text, got {len(named)}")
    said = [[list(one.texts), one.feature] for one in examples]
    job = checksum(json.dumps([method.name, method.options(), name, said, named, wanted, AT_ONCE], default=str))
    home = _claimed(Path(folder), job)
    classes = tuple(model.classes) if isinstance(model, Classifier) else ()
    about = Explained((), (), classes, method.name, name)
    found: list[WordAttributions] = []
    for start in range(0, len(examples), AT_ONCE):
        here = slice(start, start + AT_ONCE)
        place = home / f"part-{start // AT_ONCE:05d}.json"
        rows = read_artifact(place, _PART) if place.exists() else None
        if rows is None:
            told = None if progress is None else _inside(progress, start, len(examples[here]), len(examples))
            new = method.explain(model, examples[here], targets=wanted[here] if wanted else None, progress=told)
            rows = [_row(one_id, one, about) for one_id, one in zip(named[here], new, strict=True)]
            write_artifact(place, _PART, rows)
        found += [_read(row, str(place), at) for at, row in enumerate(rows, 1)]
        if progress is not None:
            progress(len(found), len(examples))
    return Explained(named, tuple(found), classes, method.name, name)


def _row(name: str, found: WordAttributions, about: Explained) -> dict[str, Any]:
    texts, classes = found.words.texts, list(about.classes)
    row = {"id": name, "text": texts[0], "pair": texts[1] if found.words.is_pair else None}
    return row | {
        "feature": found.words.feature,
        "words": list(found.words.words),
        "parts": found.words.parts.tolist(),
        "values": [float(one) for one in found.values],
        "separator": _known(found.separator),
        "target": found.target,
        "class": classes[found.target] if classes else None,
        "classes": classes,
        "probability": _known(found.probability),
        "base": _known(found.base),
        "fit": _known(found.fit),
        "method": about.method,
        "model": about.model,
    }


def _read(row: Mapping[str, Any], file: str, at: int) -> WordAttributions:
    """One row; `InputError` where something is missing, or its words are not those of its text."""
    try:
        text = row["text"] if row.get("pair") is None else (row["text"], row["pair"])
        words = Words(text, row.get("feature"))
        values = np.array(row["values"], dtype=np.float64)
        numbers = [_number(row[key]) for key in _NUMBERS]
        found = WordAttributions(words, values, _number(row["separator"]), int(row["target"]), *numbers)
        fits = list(row["words"]) == list(words.words) and values.shape == (len(words.words),) and "id" in row
    except (KeyError, TypeError, ValueError) as error:
        raise _wrong_row(f"{type(error).__name__} {error}"[:80], file, at) from error
    if not fits or not np.isfinite(values).all():
        raise _wrong_row("other words than those of the text, or no finite value for each", file, at)
    return found


def _wrong_row(got: str, file: str, at: int) -> InputError:
    return InputError("a row of attributions", got=got, remedy="write it again", file=file, row=at)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _ending(path: str | os.PathLike[str]) -> str:
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        raise UsageError(f"expected a file that ends in {' or '.join(_ENDINGS)}, got {Path(path).name}")
    return ending


def _jsonl(name: str) -> list[dict[str, Any]]:
    rows = []
    try:
        lines = [line for line in Path(name).read_text(encoding="utf-8").split("\n") if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(name, error) from error
    for at, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise _wrong_row(line[:40], name, at) from error
        if not isinstance(row, dict):
            raise _wrong_row(line[:40], name, at)
        rows.append(row)
    return rows


def _parquet(name: str) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows: list[dict[str, Any]] = pq.read_table(name).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(name, error) from error
    return rows


def _unreadable(name: str, error: Exception) -> InputError:
    return InputError("a file of attributions", got=str(error)[:80], remedy="check the path", file=name)


def _claimed(home: Path, job: str) -> Path:
    """Make the folder, or find it with what an earlier run of the same job has finished."""
    try:
        if home.exists() and not home.is_dir():
            raise UsageError(f"cannot write {home}: it is a file; name a folder")
        if home.is_dir() and _entries(home) and read_artifact(home / _JOB, _PART) != job:
            raise UsageError(
                f"cannot write {home}: it is not empty, and holds no attributions by this method with these options of "
                "this model and these texts; choose another place"
            )
        home.mkdir(exist_ok=True)
        if not (home / _JOB).exists():
            write_artifact(home / _JOB, _PART, job)
    except OSError as error:
        raise WorkError(f"cannot write {home}: {error.strerror or error}; choose another place") from error
    return home


def _entries(home: Path) -> Iterable[Path]:
    return [one for one in home.iterdir() if not one.name.endswith(".part")]  # left by a run that was killed


def _inside(progress: Progress, start: int, many: int, total: int) -> Progress:
    """Progress of one part, in whole examples of all."""
    return lambda done, whole: progress(start + many * done // max(1, whole), total)

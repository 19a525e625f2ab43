"""Files: attributions as records, a row an example, in Parquet or JSONL."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from ..errors import InputError, UsageError
from ..store import write_result
from .base import WordAttributions
from .words import Words, check_unicode

_NAMES = ("id", "text", "pair", "feature", "words", "parts", "values", "separator", "target", "class", "classes")
_NUMBERS = ("probability", "base", "fit")
_BY = ("method", "model")
_ENDINGS = (".parquet", ".jsonl")
_FAR = 1e-6  # by which rounding may take a probability beyond 0 or 1


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
            raise UsageError(f"expected an id for each of {len(self.attributions)} examples, got {len(self.ids)}")


def write_attributions(path: str | os.PathLike[str], found: Explained) -> Path:
    """Write a row for each example to a Parquet or JSONL file, whole or not at all.

    A row holds id, text (and pair, its second part), feature, words, parts, values, separator, target (position),
    class (name), classes, probability, base, fit, method and model. What is not known is null. Raises `UsageError` for
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
        row_of(name, one, found, at)
        for at, (name, one) in enumerate(zip(found.ids, found.attributions, strict=True), 1)
    ]
    if ending == ".jsonl":
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
    found = [read_row(row, name, at) for at, row in enumerate(rows, 1)]
    first = rows[0]
    for at, row in enumerate(rows, 1):
        if any(row[key] != first[key] for key in (*_BY, "classes")):
            raise InputError(
                "attributions of one method and model", got="several", remedy="split the file", file=name, row=at
            )
    ids = tuple(str(row["id"]) for row in rows)
    return Explained(ids, tuple(found), tuple(first["classes"]), first["method"], first["model"])


def said(option: Any) -> Any:
    """An option that JSON does not know, so that a number of numpy is the number that it is."""
    return option.item() if isinstance(option, np.generic) else str(option)


def row_of(name: str, found: WordAttributions, about: Explained, at: int) -> dict[str, Any]:
    """One example as a row; `InputError` for what no file can hold, with the row ``at``, from 1 on."""
    texts, feature, name = found.words.texts, found.words.feature, str(name)
    classes = [said(one) if isinstance(one, np.generic) else one for one in about.classes]
    known = [one for one in (found.separator, found.probability, found.base, found.fit) if not math.isnan(one)]
    if not np.isfinite(found.values).all() or not np.isfinite(known).all():
        raise InputError("values that are finite", got="nan or an infinity", remedy="check the model", row=at)
    if classes and not 0 <= found.target < len(classes):
        got = f"target {found.target}"
        raise InputError(f"one of {len(classes)} classes", got=got, remedy="check the method", row=at)
    held = {"text": " ".join(texts), "id": name, "method": about.method, "model": about.model}
    check_unicode(held | {"classes": " ".join(map(str, classes))}, at)
    row = {"id": name, "text": texts[0], "pair": texts[1] if found.words.is_pair else None}
    return row | {
        "feature": None if feature is None else int(feature),
        "words": list(found.words.words),
        "parts": found.words.parts.tolist(),
        "values": [float(one) for one in found.values],
        "separator": _known(found.separator),
        "target": int(found.target),
        "class": classes[found.target] if classes else None,
        "classes": classes,
        "probability": _known(found.probability),
        "base": _known(found.base),
        "fit": _known(found.fit),
        "method": about.method,
        "model": about.model,
    }


def read_row(row: Mapping[str, Any], file: str, at: int) -> WordAttributions:
    """One row; `InputError` where something is missing, or its words are not those of its text."""
    try:
        # the first field of a row that holds something else than it should, and what; None where none does
        classes, target = row["classes"], row["target"]
        named = isinstance(classes, list) and all(isinstance(one, str) or _is_whole(one) for one in classes)
        sure = _is_whole(target) and target >= 0
        fine = {
            "id": isinstance(row["id"], str) or _is_whole(row["id"]),
            "text": isinstance(row["text"], str),
            "pair": row["pair"] is None or isinstance(row["pair"], str),
            "feature": row["feature"] is None or _is_whole(row["feature"]),
            "values": isinstance(row["values"], list) and all(map(_is_finite, row["values"])),
            "classes": named,
            "target": sure and named and (not classes or target < len(classes)),
            "class": sure and named and row["class"] in (classes[target : target + 1] or [None]),
            **{key: row[key] is None or _is_finite(row[key]) for key in ("separator", *_NUMBERS)},
            **{key: isinstance(row[key], str) for key in _BY},
        }
        p = row["probability"]
        fine["probability"] &= p is None or not _is_finite(p) or -_FAR <= p <= 1 + _FAR
        wrong = next((key for key, good in fine.items() if not good), None)
        wrong = None if wrong is None else f"{wrong} {row[wrong]!r}"[:80]
        if wrong is None:
            text = row["text"] if row["pair"] is None else (row["text"], row["pair"])
            words = Words(text, row["feature"])
            values = np.array(row["values"], dtype=np.float64)
            numbers = [_number(row[key]) for key in _NUMBERS]
            found = WordAttributions(words, values, _number(row["separator"]), row["target"], *numbers)
            same = row["words"] == list(words.words) and row["parts"] == words.parts.tolist()
            if same and values.shape == (len(words.words),):
                return found
            wrong = "other words than those of the text, or not a value for each"
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _wrong_row(f"{type(error).__name__} {error}"[:80], file, at) from error
    raise _wrong_row(wrong, file, at)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


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
        except (ValueError, RecursionError) as error:
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

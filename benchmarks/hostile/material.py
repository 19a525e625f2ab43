"""Clean data that every hostile file is made from: seeded, calibrated on the reference, shifted on the target."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

CLASSES = ("cat", "dog", "emu")
FEATURES = ("age", "income", "length", "speed")
MEMBERS = ("base", "large", "small", "tiny")
JUDGES = ("anna", "boris", "chloe")
VIEWS = ("crop", "flip", "turn")
FORMATS = ("csv", "jsonl", "parquet", "arrow", "npz")
TABULAR = ("csv", "jsonl", "parquet", "arrow")
ROWS = 240

Columns = dict[str, list[Any]]


def columns_of(seed: int, rows: int = ROWS, shift: float = 0.0) -> Columns:
    """Wide columns with every field that a file may have: probabilities of a model, and what really happened.

    Features move the margins, so that a shift in them moves the accuracy; the classes are tilted by the same shift.
    The lists are the caller's own: what is done to them shows in no other case.
    """
    return {name: list(values) for name, values in _drawn(seed, rows, shift).items()}


@cache
def _drawn(seed: int, rows: int, shift: float) -> Columns:
    """The columns of `columns_of`, drawn once for the thousands of cases that ask for the same."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, len(FEATURES))) * np.array([1.0, 2.0, 0.5, 1.5])
    features[:, 0] += shift
    truth = rng.choice(
        3, size=rows, p=np.array([0.5, 0.3, 0.2]) if not shift else np.array([0.25, 0.35, 0.4])
    )
    scores = rng.normal(size=(rows, 3)) * 1.1
    scores[np.arange(rows), truth] += (
        np.clip(2.2 - 0.7 * features[:, 0], 0.1, None) + 0.2 * features[:, 1]
    )
    logits = scores.round(6)
    probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = (probabilities / probabilities.sum(axis=1, keepdims=True)).round(9)
    predicted = probabilities.argmax(axis=1)
    names = np.array(CLASSES)
    out: Columns = {"id": [f"row-{seed}-{i:04d}" for i in range(rows)]}
    out |= {f"prob_{name}": probabilities[:, k].tolist() for k, name in enumerate(CLASSES)}
    out |= {"label": names[truth].tolist(), "prediction": names[predicted].tolist()}
    out |= {f"logit_{name}": logits[:, k].tolist() for k, name in enumerate(CLASSES)}
    out |= {
        "confidence": probabilities.max(axis=1).tolist(),
        "correct": (predicted == truth).tolist(),
    }
    out |= {f"feature_{name}": features[:, j].round(6).tolist() for j, name in enumerate(FEATURES)}
    for j, name in enumerate(MEMBERS):
        other = np.where(rng.random(rows) < 0.9 - 0.12 * j, predicted, rng.integers(3, size=rows))
        out[f"member_{name}"] = names[other if j else predicted].tolist()
    for j, name in enumerate(VIEWS):
        out[f"view_{name}"] = names[
            np.where(rng.random(rows) < 0.95 - 0.1 * j, predicted, rng.integers(3, size=rows))
        ].tolist()
    right = predicted == truth
    for j, name in enumerate(JUDGES):
        out[f"vote_{name}"] = np.where(rng.random(rows) < 0.95 - 0.1 * j, right, ~right).tolist()
    out["group"] = np.where(np.arange(rows) % 3 == 0, "north", "south").tolist()
    out["time"] = [f"2026-01-{1 + i * 28 // rows:02d}T{i % 24:02d}:00:00" for i in range(rows)]
    return out


def select(columns: Columns, *wanted: str) -> Columns:
    """The columns of these names; a name that ends in `*` stands for all that begin so. Order is that of the names."""
    found: Columns = {}
    for name in wanted:
        found |= {
            k: v
            for k, v in columns.items()
            if k == name or (name[-1] == "*" and k.startswith(name[:-1]))
        }
    return found


def as_lists(columns: Columns) -> Columns:
    """Wide columns packed into the list columns of the interface; labels become positions."""
    out: Columns = {}
    packs = {"prob_": "probabilities", "logit_": "logits", "feature_": "features", "member_": "members",
        "view_": "views", "vote_": "votes"}  # fmt: skip
    for name, values in columns.items():
        prefix = next((p for p in packs if name.startswith(p)), None)
        if prefix is None:
            out[name] = values
        else:
            row_lists = out.setdefault(packs[prefix], [[] for _ in values])
            for row, value in zip(row_lists, values, strict=True):
                row.append(value)
    for name in ("label", "prediction"):
        if name in out:
            out[name] = [CLASSES.index(v) if v in CLASSES else v for v in out[name]]
    for name in ("members", "views"):
        if name in out:
            out[name] = [[CLASSES.index(v) for v in row] for row in out[name]]
    return out


def as_candidates(columns: Columns) -> Columns:
    """Logits as scores of candidates, of which some rows have a further one; labels are positions."""
    held = as_lists(columns)
    scores = [row + [min(row) - 1.0] * (i % 3) for i, row in enumerate(held["logits"])]
    return {"candidate_scores": scores, "label": held["label"]}


def csv_text(columns: Mapping[str, Sequence[Any]], delimiter: str = ",", lines: str = "\n") -> str:
    """The columns as CSV; null is an empty cell, a list a JSON list."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=lines)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(
            ["" if v is None else json.dumps(v) if isinstance(v, list) else v for v in row]
        )
    return out.getvalue()


def jsonl_text(columns: Mapping[str, Sequence[Any]]) -> str:
    """The columns as a JSON object a line."""
    names = list(columns)
    return "".join(
        json.dumps(dict(zip(names, row, strict=True))) + "\n"
        for row in zip(*columns.values(), strict=True)
    )


def arrays_of(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The columns as arrays with the axes of an NPZ file; panels have the sample axis last."""
    out = {}
    for name, values in columns.items():
        if name == "candidate_scores":
            out[name] = np.concatenate([np.array(row, dtype=float) for row in values])
            out[f"{name}_offsets"] = np.cumsum([0, *map(len, values)])
            continue
        array = np.array(["" if v is None else v for v in values] if None in values else values)
        out[name] = array.T if name in ("members", "views", "votes") else array
    return out


def write(path: Path, columns: Mapping[str, Sequence[Any]]) -> Path:
    """Write columns into a file of the format that its ending names, by libraries that are not ours."""
    form = path.suffix[1:]
    if form == "csv":
        path.write_text(csv_text(columns), encoding="utf-8")
    elif form == "jsonl":
        path.write_text(jsonl_text(columns), encoding="utf-8")
    elif form == "npz":
        np.savez(path, **arrays_of(columns))
    else:
        import pyarrow as pa
        import pyarrow.feather as feather
        import pyarrow.parquet as parquet

        table = pa.table({name: list(values) for name, values in columns.items()})
        if form == "parquet":
            parquet.write_table(table, path, row_group_size=100)
        else:
            feather.write_feather(table, path)
    return path


def npz_with(path: Path, arrays: Mapping[str, Any], compress: bool = False, **raw: bytes) -> Path:
    """An NPZ file of arrays, with further members of any bytes: `name=b"..."`."""
    with zipfile.ZipFile(
        path, "w", zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    ) as archive:
        for name, array in arrays.items():
            out = io.BytesIO()
            np.lib.format.write_array(out, np.asarray(array), allow_pickle=True)
            archive.writestr(f"{name}.npy", out.getvalue())
        for name, content in raw.items():
            archive.writestr(f"{name}.npy", content)
    return path

"""Seeded damage: bytes flipped, cut, put in and taken out; and files that are whole but say something else."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .material import (
    CLASSES,
    Columns,
    arrays_of,
    as_candidates,
    as_lists,
    columns_of,
    csv_text,
    npz_with,
    select,
    write,
)

Generator = np.random.Generator
ROWS = 40
LAYOUTS = {"wide": ("prob_*", "label"), "predicted": ("label", "prob_*", "prediction", "group"),
    "lists": ("prob_*", "label"), "panels": ("prob_*", "label", "prediction", "feature_*", "member_*", "vote_*"),
    "confidence": ("confidence", "correct", "group"), "candidates": ("logit_*", "label")}  # fmt: skip


def clean_columns(layout: str, which: str) -> Columns:
    """Clean columns of a layout, of the reference or the target."""
    held = select(
        columns_of(11 if which == "reference" else 12, ROWS, 0.0 if which == "reference" else 0.8),
        *LAYOUTS[layout],
    )
    if layout == "candidates":
        return as_candidates(held)
    return as_lists(held) if layout == "lists" else held


def flip(content: bytearray, rng: Generator, at: int) -> None:
    content[at] ^= 1 << int(rng.integers(8))


def change_byte(content: bytearray, rng: Generator, at: int) -> None:
    content[at] = int(rng.integers(256))


def cut(content: bytearray, rng: Generator, at: int) -> None:
    del content[max(at, 1) :]


def take_out(content: bytearray, rng: Generator, at: int) -> None:
    del content[at : at + int(rng.integers(1, 40))]


def put_in(content: bytearray, rng: Generator, at: int) -> None:
    content[at:at] = rng.bytes(int(rng.integers(1, 20)))


def repeat(content: bytearray, rng: Generator, at: int) -> None:
    piece = content[at : at + int(rng.integers(1, 200))]
    content[at:at] = piece


def blank(content: bytearray, rng: Generator, at: int) -> None:
    size = int(rng.integers(1, 64))
    content[at : at + size] = bytes(len(content[at : at + size]))


def likely(content: bytearray, rng: Generator, at: int) -> None:
    """A byte or two that mean something in text."""
    tokens = [b"\n", b",", b'"', b"\t", b";", b"\0", b"-", b".", b"e9", b"nan", b"null", b"true", b"[", b"}", b"\r",
        b"0", b" ", b"\xef\xbb\xbf"]  # fmt: skip
    token = tokens[int(rng.integers(len(tokens)))]
    content[at : at + (len(token) if rng.random() < 0.5 else 0)] = token


BYTES: tuple[Callable[[bytearray, Generator, int], None], ...] = (flip, flip, change_byte, cut, take_out, put_in,
    repeat, blank, likely, likely)  # fmt: skip


def damaged(content: bytes, rng: Generator) -> tuple[bytes, str]:
    """The bytes after one to four changes, more often at the head and the foot, where the structure is."""
    out, names = bytearray(content), []
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        if not out:
            break
        where = rng.random()
        span = (
            (0, min(300, len(out)))
            if where < 0.3
            else (max(0, len(out) - 700), len(out))
            if where < 0.5
            else (0, len(out))
        )
        act = BYTES[int(rng.integers(len(BYTES)))]
        act(out, rng, int(rng.integers(*span)) if span[0] < span[1] else 0)
        names.append(act.__name__)
    return bytes(out), "+".join(names)


def shuffled_columns(c: Columns, rng: Generator) -> Columns:
    return {k: c[k] for k in rng.permutation(list(c)).tolist()}


def more_columns(c: Columns, rng: Generator) -> Columns:
    return {
        "comment": ["x, y"] * len(next(iter(c.values()))),
        **c,
        "model": list(range(len(next(iter(c.values()))))),
    }


def shuffled_rows(c: Columns, rng: Generator) -> Columns:
    order = rng.permutation(len(next(iter(c.values()))))
    return {k: [v[i] for i in order] for k, v in c.items()}


def dropped_rows(c: Columns, rng: Generator) -> Columns:
    keep = rng.random(len(next(iter(c.values())))) < rng.choice([0.0, 0.05, 0.5, 0.9])
    return {k: [x for x, held in zip(v, keep, strict=True) if held] for k, v in c.items()}


def repeated_rows(c: Columns, rng: Generator) -> Columns:
    return {k: v + v[: ROWS // 2] for k, v in c.items()}


def dropped_column(c: Columns, rng: Generator) -> Columns:
    gone = rng.choice(list(c))
    return {k: v for k, v in c.items() if k != gone}


def renamed_column(c: Columns, rng: Generator) -> Columns:
    old = str(rng.choice(list(c)))
    prefix = old.split("_")[0] + "_" if "_" in old else ""
    new = str(
        rng.choice(
            [
                prefix + "fox",
                old.upper(),
                old + " ",
                " " + old,
                old + "_2",
                "",
                "prob_",
                "label",
                "features",
                "0",
            ]
        )
    )
    return {new if k == old else k: v for k, v in c.items()}


def swapped_names(c: Columns, rng: Generator) -> Columns:
    """Two columns change their names: other data, by a legitimate name."""
    a, b = rng.choice(list(c), 2, replace=False).tolist()
    return {b if k == a else a if k == b else k: v for k, v in c.items()}


def odd_number(c: Columns, rng: Generator) -> Columns:
    name, row = (
        str(rng.choice([k for k, v in c.items() if isinstance(v[0], float | list)])),
        int(rng.integers(ROWS)),
    )
    odd = [
        float("nan"),
        float("inf"),
        -0.5,
        1.5,
        1e300,
        100.0,
        0.0,
        1.0,
        1e-320,
        -0.0,
        2.0**63,
        None,
    ][int(rng.integers(12))]
    out = {k: list(v) for k, v in c.items()}
    out[name][row] = odd if not isinstance(out[name][row], list) else [odd, *out[name][row][1:]]
    return out


def scaled_row(c: Columns, rng: Generator) -> Columns:
    """One row's probabilities moved toward another class, their sum kept."""
    out, row = {k: list(v) for k, v in c.items()}, int(rng.integers(ROWS))
    names = [k for k in c if k.startswith("prob_")]
    if len(names) > 1:
        total = sum(out[n][row] for n in names)
        for j, n in enumerate(names):
            out[n][row] = total if j == 0 else 0.0
    return out


def odd_label(c: Columns, rng: Generator) -> Columns:
    name = str(
        rng.choice(
            [
                k
                for k in c
                if k in ("label", "prediction", "correct", "group") or k.startswith("member_")
            ]
            or list(c)
        )
    )
    odd = [
        None,
        "",
        "fox",
        "Cat",
        " cat",
        1,
        1.5,
        True,
        -1,
        "1",
        "nan",
        "null",
        "NA",
        2**40,
        "cat",
        "dog",
        [0],
    ][int(rng.integers(17))]
    out = {k: list(v) for k, v in c.items()}
    for row in rng.integers(len(out[name]), size=int(rng.choice([1, 1, 5]))):
        out[name][row] = odd
    return out


def other_classes(c: Columns, rng: Generator) -> Columns:
    """Every class gets another name, in columns and labels alike."""
    new = dict(
        zip(
            CLASSES,
            [
                ("0", "1", "2"),
                ("2", "0", "1"),
                ("a", "b", "c"),
                ("é", "ü", "ß"),
                ("true", "false", "none"),
                ("1", "2", "10"),
                ("x y", "x,y", 'x"y'),
                ("01", "1", "001"),
            ][int(rng.integers(8))],
            strict=True,
        )
    )

    def named(v: Any) -> Any:
        return new.get(v, v) if isinstance(v, str) else v

    return {
        k if k.split("_")[0] != "prob" else "prob_" + new.get(k[5:], k[5:]): [named(x) for x in v]
        for k, v in c.items()
    }


def other_types(c: Columns, rng: Generator) -> Columns:
    name = str(rng.choice(list(c)))
    casts: list[Callable[[Any], Any]] = [
        str,
        lambda v: [v],
        lambda v: None,
        bool,
        lambda v: {"v": v},
        np.float32,
        int,
    ]
    cast = casts[int(rng.integers(len(casts)))]
    try:
        return {k: [cast(x) for x in v] if k == name else v for k, v in c.items()}
    except (TypeError, ValueError):
        return {k: [str(x) for x in v] if k == name else v for k, v in c.items()}


def shorter_list(c: Columns, rng: Generator) -> Columns:
    out = {k: list(v) for k, v in c.items()}
    for k, v in out.items():
        if isinstance(v[0], list):
            row = int(rng.integers(len(v)))
            out[k][row] = v[row][:-1] if rng.random() < 0.5 else [*v[row], 0.0]
    return out


def shorter_column(c: Columns, rng: Generator) -> Columns:
    name = rng.choice(list(c))
    return {k: v[:-1] if k == name else v for k, v in c.items()}


HARMLESS = (shuffled_columns, more_columns)
STRUCTURE = (shuffled_columns, more_columns, shuffled_rows, dropped_rows, repeated_rows, dropped_column, renamed_column,
    swapped_names, odd_number, odd_number, scaled_row, odd_label, odd_label, other_classes, other_types, shorter_list,
    shorter_column)  # fmt: skip


def put(path: Path, columns: Columns, rng: Generator) -> Path:
    """Write columns in one of the ways in which a format can be written; the content is the same."""
    form = path.suffix[1:]
    way = int(rng.integers(6))
    if form == "csv" and way:
        delimiter = [",", ";", "\t", ",", ","][way - 1]
        text = csv_text(columns, delimiter, "\r\n" if way == 4 else "\n")
        path.write_bytes((b"\xef\xbb\xbf" if way == 5 else b"") + text.encode())
    elif form == "npz" and way > 2:
        npz_with(path, arrays_of(columns), compress=way > 3)
    elif form == "parquet" and way:
        import pyarrow as pa
        import pyarrow.parquet as parquet

        options: list[dict[str, Any]] = [{"compression": "zstd"}, {"compression": "none"},
            {"use_dictionary": False, "compression": "gzip"}, {"data_page_version": "2.0"},
            {"row_group_size": 7, "write_page_checksum": True}]  # fmt: skip
        parquet.write_table(pa.table(columns), path, **options[way - 1])
    elif form == "arrow" and way > 3:
        import pyarrow as pa

        table, out = pa.table(columns), io.BytesIO()
        with pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=7)
        path.write_bytes(out.getvalue())
    elif form == "jsonl" and way > 3:
        names = list(columns)
        lines = []
        for i, row in enumerate(zip(*columns.values(), strict=True)):
            turned = names[i % len(names) :] + names[: i % len(names)]
            held = dict(zip(names, row, strict=True))
            lines.append(json.dumps({k: held[k] for k in turned}, separators=(",", ":")))
        path.write_text("\n".join(lines))
    else:
        write(path, columns)
    return path

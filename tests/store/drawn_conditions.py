"""Conditions of `--where` drawn at random, and which of them leave other rows than `pandas.DataFrame.query`.

Conditions are drawn at random (numbers, texts, dates, times, truth values; `=`, `!=`, `<`, `in`, `and` in the ways that
people write them) and asked of one table as CSV, JSONL, Parquet, Arrow and NPZ, as a frame in memory and as a folder of
folders. pandas says which rows are right; no condition holds of an empty cell, which `query` is told by `notna`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from oodometer.errors import InputError
from oodometer.store import as_source

FORMS = ("csv", "jsonl", "parquet", "arrow", "npz", "frame", "folders")
_WORDS = ("north", "south", "a b", "it's", 'say "so"', "a, b", "Süd", "x=1", "and")
_NUMBERS = (-2, -1, 0, 1, 2, 3)
_SIGNS = {"=": "==", "==": "==", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def frame(rows: int, seed: int) -> pd.DataFrame:
    """Rows with a column of each kind, a tenth of most cells empty."""
    rng = np.random.default_rng(seed)
    days = np.datetime64("2026-01-01") + rng.integers(0, 40, rows).astype("timedelta64[D]")
    times = np.datetime64("2026-01-01T00:00:00", "us") + rng.integers(
        0, 60 * 24, rows
    ) * np.timedelta64(1, "h")
    out = pd.DataFrame({"row": np.arange(rows), "confidence": rng.uniform(0, 1, rows).round(2),
        "label": rng.integers(0, 3, rows), "n": pd.array(rng.integers(-2, 4, rows), "Int64"),
        "x": rng.choice([-1.5, -0.5, 0.0, 0.1, 0.5, 0.7, 1e-5, 3.0], rows),
        "word": rng.choice(_WORDS, rows).astype(object), "flag": pd.array(rng.random(rows) < 0.5, "boolean"),
        "day": days.astype("datetime64[us]"), "moment": times,
        "site": rng.choice(["north", "south", "a b"], rows).astype(object),
        "hour": rng.integers(0, 4, rows)})  # fmt: skip
    for name in ("n", "x", "word", "flag", "day", "moment"):
        out.loc[rng.random(rows) < 0.1, name] = None
    return out


def draw(rng: np.random.Generator, form: str) -> tuple[str | list[str], str]:
    """A condition as it is written here, and as pandas takes it."""
    columns = ["confidence", "n", "x", "day", "moment", "site", "hour"]
    columns += [] if form == "npz" else ["word", "flag"]
    ours, theirs = [], []
    for name in rng.choice(columns, rng.integers(1, 4)):
        mine, right = _one(rng, str(name))
        ours.append(mine)
        theirs.append(f"({right}) and {name}.notna()")
    joined = rng.choice([" and ", " AND ", "  and\t"])
    return (ours if rng.random() < 0.3 else str(joined).join(ours)), " and ".join(theirs)


def _one(rng: np.random.Generator, name: str) -> tuple[str, str]:
    column = f'"{name}"' if rng.random() < 0.2 else name
    if rng.random() < 0.25:
        values = [_value(rng, name) for _ in range(rng.integers(1, 4))]
        word = str(rng.choice(["in", "IN", "not in"]))
        listed = ", ".join(right for _, right in values)
        mine = str(rng.choice([", ", ","])).join(mine for mine, _ in values)
        return f"{column} {word} ({mine})", f"{name} {word.lower()} [{listed}]"
    signs = ["=", "==", "!=", "<>"] if name in ("site", "word", "flag") else list(_SIGNS)
    sign = str(rng.choice(signs))
    mine, right = _value(rng, name)
    blank = str(rng.choice([" ", ""]))
    return f"{column}{blank}{sign}{blank}{mine}", f"{name} {_SIGNS[sign]} {right}"


def _value(rng: np.random.Generator, name: str) -> tuple[str, str]:
    if name in ("n", "hour"):
        number = int(rng.choice(_NUMBERS))
        return str(rng.choice([str(number), f"{number}.0", f"{number}e0"])), str(number)
    if name in ("x", "confidence"):
        right = str(
            rng.choice(["-1.5", "-.5", "0", "0.1", "0.5", "0.7", "1e-5", "3", "0.05", "+0.25"])
        )
        return right, right
    if name == "flag":
        truth = bool(rng.random() < 0.5)
        return str(rng.choice([str(truth), str(truth).lower()])), str(truth)
    if name in ("day", "moment"):
        day = f"2026-{rng.integers(1, 3):02}-{rng.integers(1, 29):02}"
        zone, clock = "", ""
        if rng.random() < 0.5:
            clock = (
                str(rng.choice(["T", " "]))
                + f"{rng.integers(0, 24):02}:00"
                + str(rng.choice(["", ":00", ":00.5"]))
            )
            zone = str(rng.choice(["", "", "Z", "+02:00"]))
        quote = str(rng.choice(["", "'", '"']))
        right = pd.Timestamp(day + clock + zone)
        right = right if right.tz is None else right.tz_convert("UTC").tz_localize(None)
        return (
            f"{quote}{day}{clock}{zone}{quote}",
            f"@Timestamp('{right}')",
        )  # as text, `==` of pandas holds of none
    word = str(rng.choice(_WORDS if name == "word" else _WORDS[:3]))
    quoted = [f"'{word.replace(chr(39), 2 * chr(39))}'", '"' + word.replace('"', '""') + '"']
    bare = [word] if word in ("north", "south", "Süd") else []
    return str(rng.choice([*bare, *quoted])), repr(word)


def written(whole: pd.DataFrame, form: str, home: Path) -> Any:
    """The rows in a format, written without this library."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"rows.{form}"
    if form == "frame":
        return whole
    if form == "csv":
        whole.to_csv(path, index=False)
    elif form == "jsonl":
        lines = [{k: _plain(v) for k, v in row.items()} for row in whole.to_dict("records")]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    elif form == "npz":
        held = whole.drop(columns=["word", "flag"])
        arrays = {name: held[name].to_numpy(float if name == "n" else None) for name in held}
        np.savez(
            path, **{name: a.astype("U") if a.dtype == object else a for name, a in arrays.items()}
        )
    elif form == "folders":
        for (site, hour), rows in whole.groupby(["site", "hour"]):
            folder = home / "lake" / f"site={site}" / f"hour={hour}"
            folder.mkdir(parents=True)
            pq.write_table(
                pa.Table.from_pandas(rows.drop(columns=["site", "hour"]), preserve_index=False),
                folder / "rows.parquet",
            )
        return home / "lake"
    else:
        table = pa.Table.from_pandas(whole, preserve_index=False)
        if form == "parquet":
            pq.write_table(table, path, row_group_size=40)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
    return path


def _plain(value: Any) -> Any:
    if pd.isna(value):
        return None
    return (
        value.isoformat()
        if isinstance(value, pd.Timestamp)
        else value.item()
        if hasattr(value, "item")
        else value
    )


def rows_of(data: Any, where: str | list[str]) -> list[int] | str:
    """The rows that are left, or the line that says why there are none."""
    try:
        return sorted(
            as_source(data, extra_columns=["row"], where=where).read().columns["row"].tolist()
        )
    except InputError as error:
        return [] if "expected rows where" in str(error) else str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def differing(
    conditions: int, form: str, rows: int = 200, seed: int = 0
) -> tuple[list[dict[str, Any]], int]:
    """Conditions that leave other rows than pandas, in a form of the data; and how many leave any."""
    left = 0
    whole, wrong, rng = frame(rows, seed), [], np.random.default_rng((seed, FORMS.index(form)))
    with tempfile.TemporaryDirectory() as folder:
        data = written(whole, form, Path(folder, form))
        for _ in range(conditions):
            ours, theirs = draw(rng, form)
            right = whole.query(theirs, engine="python", local_dict={"Timestamp": pd.Timestamp})[
                "row"
            ].tolist()
            found = rows_of(data, ours)
            left += len(right) > 0
            if found != right:
                wrong.append(
                    {"form": form, "where": ours, "query": theirs, "rows": found, "right": right}
                )
    return wrong, left

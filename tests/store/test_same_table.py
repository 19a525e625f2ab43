"""The same table, with empty cells, in every form that it can have, gives the same record."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer.errors import InputError
from oodometer.predictions import Predictions
from oodometer.store import read_predictions

Table = dict[str, list[Any]]
KINDS: dict[str, tuple[Any, ...]] = {
    "names": ("ant", "bee"),
    "counted": (0, 1),
    "verdicts": (False, True),
}


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Columns prob_<class> and label, perhaps without the probabilities: then labels alone, some empty."""
    classes = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    rows = draw(st.integers(1, 8))
    digits = draw(st.integers(1, 6))
    first = [
        round(v, digits) for v in draw(st.lists(st.floats(0, 1), min_size=rows, max_size=rows))
    ]
    label = draw(st.lists(st.sampled_from(classes) | st.none(), min_size=rows, max_size=rows))
    label[draw(st.integers(0, rows - 1))] = classes[1]
    table: Table = {
        f"prob_{classes[0]}": first,
        f"prob_{classes[1]}": [1 - v for v in first],
        "label": label,
    }
    if draw(st.booleans()):
        del table[f"prob_{classes[0]}"], table[f"prob_{classes[1]}"]
        label[-1] = classes[0]  # both classes occur, and no blank line ends a file
        label.insert(0, classes[1])
    return table


def as_csv(table: Table, delimiter: str, decimal: str, bare: bool) -> str:
    """As csv.writer has it, or with blank lines for the empty cells of one column (``bare``)."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table)
    for row in zip(*table.values(), strict=True):
        cells = [f"{c!r}".replace(".", decimal) if isinstance(c, float) else c for c in row]
        if bare and cells == [None]:
            out.write("\n")
        else:
            writer.writerow(cells)
    return out.getvalue()


def forms(table: Table, folder: Path) -> dict[str, Any]:
    """The table as files, frames and arrays."""
    out: dict[str, Any] = {}
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    texts = {
        "a.csv": as_csv(table, ",", ".", False),
        "bare.csv": as_csv(table, ",", ".", True),
        "european.csv": as_csv(table, ";", ",", True),
        "a.tsv": as_csv(table, "\t", ".", True),
        "a.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "sparse.jsonl": "".join(
            json.dumps({k: v for k, v in r.items() if v is not None}) + "\n" for r in rows
        ),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        out[name] = folder / name
    frame = pa.table(table)
    pq.write_table(frame, folder / "a.parquet")
    with pa.ipc.new_file(folder / "a.arrow", frame.schema) as writer:
        writer.write_table(frame)
    out |= {"parquet": folder / "a.parquet", "arrow": folder / "a.arrow", "table": frame}
    out["pandas"] = pd.DataFrame(table, columns=list(table))
    label = table["label"]
    known = next(cell for cell in label if cell is not None)
    hidden = np.ma.array(
        [known if cell is None else cell for cell in label], mask=[cell is None for cell in label]
    )
    rest = {name: np.array(cells, ">f8") for name, cells in table.items() if name != "label"}
    out["masked arrays"] = {**rest, "label": hidden}
    out["arrays"] = {**rest, "label": np.array(label, dtype=object)}
    return out


def told(record: Predictions) -> Any:
    assert record.label is not None
    assert record.classes is not None
    names = [*(str(name) for name in record.classes), None]
    as_numbers = {"False": "0", "True": "1"}  # without columns, typed verdicts are classes 0 and 1
    labels = [as_numbers.get(str(names[i]), names[i]) for i in record.label]
    return labels, None if record.probabilities is None else record.probabilities.tolist()


@given(table=tables())
@settings(max_examples=60, deadline=None)
def test_every_form_gives_the_same(table: Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {
            name: told(read_predictions(data)) for name, data in forms(table, Path(folder)).items()
        }
    assert found == dict.fromkeys(found, found["parquet"])
    labels, probabilities = found["parquet"]
    wanted = [
        None if c is None else str(int(c)) if isinstance(c, bool) else str(c)
        for c in table["label"]
    ]
    assert labels == wanted
    columns = [cells for name, cells in table.items() if name != "label"]
    assert probabilities == ([list(row) for row in zip(*columns, strict=True)] if columns else None)


@given(
    classes=st.integers(2, 40),
    digits=st.integers(1, 6),
    single=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_rounding_is_forgiven_and_nothing_else(
    classes: int, digits: int, single: bool, seed: int
) -> None:
    """Rounded rows pass where rounding moves no sum by more than a tenth; other rows as far off do not."""
    rng = np.random.default_rng(seed)
    exact = rng.dirichlet(np.ones(classes), 50)
    rounded = np.round(exact, digits).astype(np.float32 if single else float)
    gap = np.abs(rounded.sum(axis=1, dtype=float) - 1)
    if digits == 1 or gap.max() > 0.1:
        return
    record = Predictions.from_probabilities(rounded)
    assert np.abs(record.probabilities.sum(axis=1) - 1).max() <= 1e-3 + 1e-6
    assert (record.probabilities.argmax(axis=1) == rounded.argmax(axis=1)).all()
    kept = gap <= 1e-3
    assert (record.probabilities[kept] == rounded[kept]).all()
    assert not kept.all() or record.rounded is None or gap.max() > 0.999e-3
    if gap.max() > 1.1e-3:
        assert record.rounded is not None
        assert record.rounded <= digits
        off = exact * rounded.sum(axis=1, keepdims=True)
        with pytest.raises(InputError, match="sum to 1"):
            Predictions.from_probabilities(off)

"""What a user or a machine has set is no fault of a file: numpy's own errors, a limit on memory, odd containers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pytest
import scipy.sparse

import oodometer
from oodometer.errors import InputError
from oodometer.store import as_source
from oodometer.store.files import explained


def test_underflow_is_no_error() -> None:
    rng = np.random.default_rng(0)
    logits = 300 * rng.normal(size=(300, 3))
    label = np.where(rng.random(300) < 0.2, 0, logits.argmax(axis=1))
    reference, target = {"logits": logits, "label": label}, {"logits": logits[::-1]}
    before = oodometer.estimate(reference, target)
    with np.errstate(under="raise"):
        after = oodometer.estimate(reference, target)
        assert np.isfinite(as_source(target).read().probabilities).all()  # type: ignore[arg-type]
    assert str(after) == str(before)


@pytest.mark.parametrize(
    "error", [MemoryError(), pa.ArrowMemoryError("malloc of size 164480 failed")]
)
def test_a_lack_of_memory_is_called_so(error: Exception) -> None:
    text = str(explained(error, "big.parquet", "parquet"))
    assert text.startswith("big.parquet: expected memory to read it, got out of memory (")
    assert "damaged" not in text


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_a_lack_of_memory_while_text_is_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    row = {"label": 0, "prediction": 0}
    path.write_text("label,prediction\n0,0\n" if name == "t.csv" else json.dumps(row) + "\n")

    def lacking(*_: Any, **__: Any) -> Any:
        raise pa.ArrowMemoryError("malloc of size 164480 failed")

    monkeypatch.setattr(pyarrow.csv, "open_csv", lacking)
    monkeypatch.setattr(pyarrow.json, "read_json", lacking)
    with pytest.raises((InputError, MemoryError), match="malloc of size") as caught:
        as_source(path).read()
    assert "damaged" not in str(caught.value)


def test_sparse_arrays_are_refused_in_one_line() -> None:
    sparse = scipy.sparse.csr_array(np.eye(2))
    with pytest.raises(InputError, match=r"a dense array, got a sparse one; call toarray\(\)"):
        as_source({"probabilities": sparse, "label": [0, 1]})


def test_half_of_a_pair_in_an_id(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": name, "label": 0, "prediction": 0}) + "\n"
            for name in ("a", "b\ud800")
        )
    )
    with pytest.raises(
        InputError, match="row 2: column id: expected text that UTF-8 can hold, got 'b"
    ):
        oodometer.evaluate(path)
    with pytest.raises(InputError, match="column id: expected text that UTF-8 can hold"):
        as_source({"id": ["a", "b\ud800"], "label": [0, 0], "prediction": [0, 1]})

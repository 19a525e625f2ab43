"""Files that unfold to far more than they are: one line, in bounded memory, and a variable that allows them."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oodometer.errors import InputError, UsageError
from oodometer.store import open_predictions, read_predictions

from ..snapshots import raises_snapshot

Put = Callable[[str, str | bytes], Path]
LONG = "x" * (3 << 20)
ROWS = {
    "text.csv.gz": f'confidence,input\n0.5,a\n0.5,"{LONG}"\n0.5,a\n',
    "number.csv.gz": f"confidence,input\n0.5,a\n0.5{'0' * (3 << 20)},b\n",
    "open.csv.gz": 'confidence,input\n0.5,a\n0.5,"' + "x,y\n" * (1 << 20),
    "text.jsonl.gz": '{"confidence": 0.5, "input": "a"}\n'
    + json.dumps({"confidence": 0.5, "input": 6 * LONG})
    + "\n",
}


@pytest.mark.parametrize("name", ROWS)
def test_long_rows(put: Put, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(name, gzip.compress(ROWS[name].encode()))
    monkeypatch.setenv("OODOMETER_MAX_ROW_MB", "1")
    with pytest.raises(InputError) as caught:
        open_predictions(path).read()
    assert caught.value.row == 2 or "line 2" in str(caught.value)
    assert caught.value.file == str(path)
    if name != "open.csv.gz":
        assert "OODOMETER_MAX_ROW_MB=N" in str(caught.value)
        monkeypatch.setenv("OODOMETER_MAX_ROW_MB", "20")
        assert open_predictions(path).read().rows >= 2


def test_a_bound_that_is_no_number(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OODOMETER_MAX_ROW_MB", "much")
    with raises_snapshot(UsageError):
        open_predictions(put("a.jsonl", '{"confidence": 0.5}\n')).read()


def test_packed_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(
        path, features=np.zeros((400_000, 1)), prediction=np.zeros(400_000, np.int8)
    )
    assert read_predictions(path).rows == 400_000
    monkeypatch.setenv("OODOMETER_MAX_UNPACKED_MB", "1")
    with raises_snapshot(InputError):
        read_predictions(path)
    np.savez_compressed(path, features=np.random.default_rng(0).random((400_000, 1)))
    assert read_predictions(path).rows == 400_000, "numbers that a model gave are no bomb"


def test_an_array_with_an_endless_header(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "label.npy",
            b"\x93NUMPY\x02\x00" + (10_000_000).to_bytes(4, "little") + b" " * 10_000_000,
        )
    with raises_snapshot(InputError):
        read_predictions(tmp_path / "a.npz")


@pytest.mark.parametrize("dictionary", [True, False])
def test_long_lists_in_parquet(
    tmp_path: Path, dictionary: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = pa.array(np.zeros(1_000_000))
    table = pa.table(
        {
            "features": pa.ListArray.from_arrays(pa.array([0, 1_000_000], pa.int32()), cells),
            "prediction": [1],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=dictionary)
    assert read_predictions(tmp_path / "a.parquet").rows == 1
    monkeypatch.setenv("OODOMETER_MAX_UNPACKED_MB", "2")
    with raises_snapshot(InputError):
        read_predictions(tmp_path / "a.parquet")


@pytest.mark.parametrize("packing", ["zstd", "lz4"])
@pytest.mark.parametrize("ending", ["arrow", "stream.arrow"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_packed_buffers_of_arrow(
    tmp_path: Path, packing: str, ending: str, dictionary: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"a.{ending}"
    text = pa.array(["x" * 4_000_000])
    label = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), text) if dictionary else text
    batch = pa.record_batch({"confidence": [0.5], "label": label})
    new = pa.ipc.new_stream if "stream" in ending else pa.ipc.new_file
    with new(path, batch.schema, options=pa.ipc.IpcWriteOptions(compression=packing)) as writer:
        writer.write_batch(batch)
    assert read_predictions(path).rows == 1
    monkeypatch.setenv("OODOMETER_MAX_UNPACKED_MB", "1")
    with raises_snapshot(InputError):
        read_predictions(path)


def test_memory_stays_bounded(tmp_path: Path) -> None:
    """A cell of 400 MB in a file of 400 kB, refused with less than a quarter of it in memory beyond the libraries'."""
    with gzip.open(tmp_path / "a.csv.gz", "wb", 1) as file:
        file.write(b"confidence,input\n0.5,")
        for _ in range(400):
            file.write(b"x" * (1 << 20))
    code = (
        "import resource, sys, oodometer, pyarrow.csv, numpy\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    oodometer.load(sys.argv[1])\n"
        "except oodometer.errors.InputError as error:\n    assert 'at most 4 MB' in str(error), error\n"
        "else:\n    raise SystemExit('not refused')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.csv.gz")], capture_output=True, text=True,
                          check=True, env={**os.environ, "OODOMETER_MAX_ROW_MB": "4"}, timeout=120)  # fmt: skip
    assert int(done.stdout) < 100_000  # kB


def test_a_message_of_an_arrow_file_that_says_to_be_longer_than_the_file_takes_no_memory(
    tmp_path: Path,
) -> None:
    """Python gives `read` all the memory that it is asked for before it looks how much there is."""
    path = tmp_path / "a.arrow"
    table = pa.table({"confidence": [0.9, 0.8], "correct": [1, 0]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content = bytearray(path.read_bytes())
    content[12:16] = (2**31 - 8).to_bytes(4, "little")
    path.write_bytes(content)
    code = (
        "import resource, sys; from oodometer.store.arrow import check_messages; "
        ""
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)); check_messages(sys.argv[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", ["confidence,correct\n0.9,1\n", "label\n1\n"])
def test_blank_lines_without_an_end(put: Put, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put("a.csv.gz", gzip.compress((text + "\n" * (20 << 20) + text[-4:]).encode()))
    monkeypatch.setenv("OODOMETER_MAX_ROW_MB", "1")
    with raises_snapshot(InputError):
        read_predictions(path)

"""CSV that is read half: nothing of it is in Python's code when the process ends, which then hangs or aborts."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from oodometer.store.source import open_reader

PACKED: dict[str, Any] = {
    ".gz": gzip.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".bz2": bz2.compress,
}
HALF_READ = """
import builtins, sys
from oodometer.store.source import open_reader
reader, _ = open_reader(sys.argv[1], [])
builtins.kept = reader.tables({reader.columns[0]: "text"}, 1000)
print(next(builtins.kept).num_rows)
"""


@pytest.mark.parametrize("columns", [1, 2])
def test_a_process_ends_that_has_read_half(tmp_path: Path, columns: int) -> None:
    """Of xz, as Arrow unpacks the others itself; large enough that Arrow reads ahead."""
    path = tmp_path / "a.csv.xz"
    line = ",".join(["0.123456789012"] * columns) + "\n"
    names = ",".join(["score", "b"][:columns]) + "\n"
    path.write_bytes(PACKED[".xz"]((names + line * 2_000_000).encode()))
    done = subprocess.run(
        [sys.executable, "-c", HALF_READ, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "1000"), done.stderr


@pytest.mark.parametrize("ending", ["", *PACKED])
@pytest.mark.parametrize("columns", [1, 2])
def test_arrow_reads_no_file_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int, ending: str
) -> None:
    plain, streams = pacsv.open_csv, []

    def kept(stream: Any, **options: Any) -> Any:
        streams.append(stream)
        return plain(stream, **options)

    monkeypatch.setattr(pacsv, "open_csv", kept)
    path = tmp_path / f"a.csv{ending}"
    text = (
        "\r\n\n" + ",".join("ab"[:columns]) + "\n" + (",".join("12"[:columns]) + "\n") * 3 + "\n\n"
    )
    path.write_bytes(PACKED.get(ending, bytes)(text.encode()))
    reader, _ = open_reader(path, [])
    assert sum(batch.num_rows for batch in reader.tables({"a": "number"}, 2)) == 3
    assert streams
    assert all(
        isinstance(one, pa.NativeFile) and not isinstance(one, pa.PythonFile) for one in streams
    )


@pytest.mark.parametrize("ending", ["", *PACKED])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("blank", [0, 1, 3 << 20])
def test_line_ends_around_one_column_are_no_rows(
    tmp_path: Path, ending: str, mark: bytes, blank: int
) -> None:
    """Those between two rows are empty cells; more than what is looked at in one step end, too."""
    path = tmp_path / f"a.csv{ending}"
    path.write_bytes(
        PACKED.get(ending, bytes)(mark + b"\n" * min(blank, 1) + b"a\n1\n\r\n2" + b"\n" * blank)
    )
    reader, _ = open_reader(path, [])
    cells = [
        cell
        for batch in reader.tables({"a": "number"}, 100)
        for cell in batch.column(0).to_pylist()
    ]
    assert cells == [1, None, 2]

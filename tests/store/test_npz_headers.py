"""Headers of arrays in an NPZ file, damaged in any way: read right, or refused with one line."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oodometer import InputError, load

P = np.array([[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]])


def archive(header: bytes, version: bytes = b"\x01\x00") -> bytes:
    size = len(header).to_bytes(2 if version[0] == 1 else 4, "little")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("probabilities.npy", b"\x93NUMPY" + version + size + header + P.tobytes())
    return out.getvalue()


pytestmark = pytest.mark.filterwarnings("ignore:Reading `.npy`")

GOOD = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }"


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=4),
    st.sampled_from([1, 2, 3, 9]),
)
@example([(0, ord("("))], 1)
@example([(1, ord("\n"))], 1)
@example([(10, ord("9"))], 2)
@example([(len(GOOD) - 5, ord("-"))], 1)
def test_a_damaged_header_is_never_a_traceback(
    changes: list[tuple[int, int]], version: int
) -> None:
    header = bytearray(GOOD)
    for at, byte in changes:
        header[at] = byte
    with TemporaryDirectory() as folder:
        path = Path(folder) / "p.npz"
        path.write_bytes(archive(bytes(header), bytes([version, 0])))
        try:
            record = load(path)
        except InputError as error:
            assert str(path) in str(error)  # noqa: PT017 - most are refused, some are whole
        else:
            assert len(record) == 3


def test_headers_that_numpy_itself_stumbles_over(tmp_path: Path) -> None:
    for header in (b"", b"\xff" * 40, b"{'descr': [('a',)], 'fortran_order': False, 'shape': (3, 2), }",
                   b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 'x'), }", b"{" * 9000,
                   b"{'descr': {}, 'fortran_order': False, 'shape': (3, 2), }",
                   b"(" * 300, b"3", b"{'shape': 1L"):  # fmt: skip
        for version in (b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x07\x07"):
            path = tmp_path / "p.npz"
            path.write_bytes(archive(header, version))
            try:
                load(path)
            except InputError as error:
                assert "p.npz" in str(error)  # noqa: PT017
            else:
                raise AssertionError(header)


def test_a_name_that_the_directory_has_otherwise_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "predictions.npz"
    np.savez(
        path, confidence=np.full(9, 0.5), correct=np.ones(9, dtype=bool), feature_age=np.zeros(9)
    )
    content = path.read_bytes()
    at = content.rindex(b"feature_age.npy")
    path.write_bytes(content[:at] + content[at:].replace(b"feature_age.npy", b"feature_age.~py"))
    with pytest.raises(InputError, match="feature_age"):
        load(path)

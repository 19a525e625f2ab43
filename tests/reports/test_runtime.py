"""The library that draws is put together once, kept, and made again where what was kept is spoiled."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path

import pytest
import vl_convert

from oodometer.reports.page import runtime


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was put together; the real thing takes two seconds, and every test of pages has it."""
    asked: list[str] = []

    def bundle(wanted: str) -> str:
        asked.append(wanted)
        return f"window.vega = {len(asked)};\r\n'</script>'"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    return asked


def test_it_is_made_once_and_again_where_the_kept_file_is_spoiled(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OODOMETER_CACHE", str(tmp_path / "new"))
    fresh = runtime.__wrapped__
    assert fresh() == fresh()
    (kept,) = (tmp_path / "new").iterdir()
    whole = kept.read_bytes()
    for spoiled in (whole[:-6] + b"\0" + whole[-5:], whole[:20], b"", b"// \xff\n\xff"):
        kept.write_bytes(spoiled)
        assert fresh() == fresh()
        assert (
            gzip.decompress(base64.b64decode(fresh()))
            == f"window.vega = {len(made)};\r\n'</script>'".encode()
        )
    assert len(made) == 5
    assert list((tmp_path / "new").iterdir()) == [kept]


def test_nothing_is_kept_where_nothing_can_be(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").write_text("")
    for folder in ("", str(tmp_path / "a file" / "below")):
        monkeypatch.setenv("OODOMETER_CACHE", folder)
        runtime.__wrapped__()
        runtime.__wrapped__()
    assert len(made) == 4

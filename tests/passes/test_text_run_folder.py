"""Run folders over text: old files of CSV and JSONL are neither read nor opened again; what was found is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import estimate
from oodometer.passes.run_folder import FACTS, read_manifest
from oodometer.predictions import Predictions
from oodometer.store import files, write_predictions
from oodometer.store.artifact_cache import checksum
from oodometer.store.files import Stamp


def record(seed: int, rows: int = 150) -> Predictions:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0, 1.0, 0.5], rows)
    label = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    site = np.array(["7", "8"])[rng.integers(0, 2, rows)]
    return Predictions.from_probabilities(p, label=label, columns={"site": site})


def put(folder: Path, form: str, day: int) -> Path:
    place = folder / "lake" / f"day=2026-11-{day:02}"
    place.mkdir(parents=True, exist_ok=True)
    return write_predictions(record(day).without_labels(), place / f"part.{form}")


@pytest.fixture(params=["csv", "jsonl"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path, form: str) -> Path:
    write_predictions(record(0, 600), tmp_path / "reference.parquet")
    for day in range(1, 4):
        put(tmp_path, form, day)
    return tmp_path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The text files whose bytes are read, by the names of their folders."""
    from oodometer.store import csv_file, jsonl

    seen: list[str] = []
    for module in (csv_file, jsonl):
        for name in ("opened", "opened_natively"):
            if hasattr(module, name):
                real = getattr(files, name)
                monkeypatch.setattr(
                    module,
                    name,
                    lambda path, *more, _r=real, **named: (
                        seen.append(Path(path).parent.name),
                        _r(path, *more, **named),
                    )[1],
                )
    return seen


def asked(folder: Path, kept: bool = True, **more: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"by": "site", "backtest": None, **more}
    home = folder / "run" if kept else None
    return estimate(
        folder / "reference.parquet", folder / "lake", run_folder=home, **options
    ).to_dict()


def read(folder: Path) -> int:
    found = read_manifest(folder / "run")
    return int(found["read"])


def test_only_new_files_are_read(folder: Path, form: str, opened: list[str]) -> None:
    first = asked(folder)
    assert read(folder) == 3
    assert asked(folder) == first == asked(folder, kept=False)
    opened.clear()
    asked(folder)
    assert read(folder) == 0
    assert set(opened) == {"day=2026-11-01"}  # the first batch, by which methods are chosen
    put(folder, form, 4)
    opened.clear()
    grown = asked(folder)
    assert read(folder) == 1
    assert set(opened) == {"day=2026-11-01", "day=2026-11-04"}
    assert grown == asked(folder, kept=False)


def test_a_file_that_changed_is_looked_at_again(folder: Path, form: str) -> None:
    asked(folder)
    write_predictions(
        record(9, 40).without_labels(), folder / "lake" / "day=2026-11-02" / f"part.{form}"
    )
    assert asked(folder) == asked(folder, kept=False)
    assert read(folder) == 2  # and the one behind it, whose rows have moved
    known = json.loads(json.loads((folder / "run" / FACTS).read_text())["value"])
    assert len(known) == 3  # what is known of the file that was there before is forgotten


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "foreign"])
def test_what_is_known_of_files_and_damaged_is_found_again(folder: Path, damage: str) -> None:
    first, path = asked(folder), folder / "run" / FACTS
    text = path.read_text()
    told = json.loads(text)
    if damage == "changed":
        told["value"] = told["value"].replace('"index": [', '"index": [1')
    if damage == "foreign":  # of another version
        told["kind"] = "files 0.0.1"
        told["checksum"] = checksum(told["kind"], told["value"])
    path.write_text({"empty": "", "cut": text[:-40]}.get(damage, json.dumps(told)))
    assert asked(folder) == first
    assert path.read_text() != ""
    assert read(folder) == 0


def test_a_type_that_a_new_file_widens_is_read_again_everywhere(tmp_path: Path) -> None:
    """Whole numbers in all files but the last: its texts make texts of all, as in one file."""
    write_predictions(record(0, 600), tmp_path / "reference.parquet")
    lake = tmp_path / "lake"
    lake.mkdir()
    for name, site in (("a", "7"), ("b", "08")):
        (lake / f"{name}.csv").write_text(
            "prob_0,prob_1,prob_2,site\n" + f"0.5,0.25,0.25,{site}\n" * 60
        )
    assert [part["value"] for part in asked(tmp_path)["slices"]] == [7, 8]
    (lake / "c.csv").write_text("prob_0,prob_1,prob_2,site\n" + "0.5,0.25,0.25,x\n" * 60)
    found = asked(tmp_path)
    assert [part["value"] for part in found["slices"]] == ["7", "08", "x"]
    assert read(tmp_path) == 3
    assert found == asked(tmp_path, kept=False)


def test_nothing_is_kept_outside_of_a_run_folder(tmp_path: Path) -> None:
    stamp = Stamp(1, 2)
    files.known_files().put("a.csv", stamp, "index", [1])
    assert files.known_files().get("a.csv", stamp, "index") is None
    with files.knowing(tmp_path / "f.json") as known:
        files.known_files().put("a.csv", stamp, "index", [1])
        assert known.get("a.csv", stamp, "index") == [1]
    with files.knowing(tmp_path / "f.json") as known:
        assert known.get("a.csv", stamp, "index") == [1]
        assert known.get("b.csv", stamp, "index") is None
    assert files.known_files().get("a.csv", stamp, "index") is None

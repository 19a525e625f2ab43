"""The command `report`: a saved result says again what its command said, as text, page and Markdown."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import oodometer
from oodometer.cli import main
from oodometer.errors import InputError, UsageError
from oodometer.store import write_predictions
from oodometer.testing import example_record

from ..snapshots import assert_snapshot, raises_snapshot

METHODS = ["--method", "source", "--method", "atc"]
COMMANDS = {
    "estimate": ["estimate", "r.parquet", "t.parquet", *METHODS, "--backtest", "none"],
    "diagnose": ["diagnose", "r.parquet", "t.parquet"],
    "backtest": [
        "backtest",
        "r.parquet",
        *METHODS,
        "--repeats",
        "2",
        "--family",
        "none",
        "--no-cache",
    ],
    "audit": ["audit", "r.parquet", "t.parquet", "--labels", "few.csv", *METHODS],
    "evaluate": ["evaluate", "r.parquet"],
    "evaluate two": ["evaluate", "r.parquet", "s.parquet"],
    "compare": ["compare", "r.parquet", "s.parquet"],
    "rank": ["rank", "r.parquet", "s.parquet", "--examples", "few.csv"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("saved")
    one, other = example_record(300, seed=1), example_record(240, seed=2)
    for name, record in {"r": one, "s": one, "t": other.without_labels()}.items():
        path = home / f"{name}.parquet"
        write_predictions(record, path)
        rows = parquet.read_table(path)
        parquet.write_table(rows.append_column("id", pa.array(range(len(rows)))), path)
    lines = [f"{row},{label}" for row, label in enumerate(other.label[:40])]
    (home / "few.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    return home


@pytest.mark.parametrize("name", COMMANDS)
def test_a_saved_result_says_what_its_command_said(
    name: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    kept, page, summary = (str(tmp_path / one) for one in ("a.json", "a.html", "a.md"))
    assert main([*COMMANDS[name], "--json", kept]) == 0
    said = capsys.readouterr().out
    assert main(["report", kept]) == 0
    assert capsys.readouterr().out == said
    saved = oodometer.load_result(kept)
    assert repr(saved).splitlines()[0] == said.splitlines()[0]
    assert saved["command"] == name.split()[0]
    pytest.importorskip("vl_convert")
    assert main(["report", kept, "--report", page, "--out", summary, "--quiet"]) == 0
    assert saved.view().title in Path(page).read_text(encoding="utf-8")
    assert saved.view().number in Path(summary).read_text(encoding="utf-8").replace("\\", "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "{",
            "a.json: expected the JSON of a result, got Expecting property name enclosed in double quotes",
        ),
        ('{"command": ["a"]}', "expected a result of audit, backtest"),
        (
            '{"command": "estimate"}',
            "expected a whole result of estimate, got one without 'headline'",
        ),
        (
            '{"command": "compare", "models": [{}]}',
            "expected a whole result of compare, got one without 'pairs'",
        ),
        ("[]", "got no command"),
        (
            '{"command": "shift sound"}',
            "got one of 'shift sound'; name a file that `oodometer estimate ... --json FILE` or",
        ),
        (
            '{"command": "estimate", "headline": 3, "estimates": [], "reference": {}, "target": {}}',
            "expected a result as it was written, got one that cannot be shown",
        ),
    ],
)
def test_what_is_no_result_is_refused(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(text)
    assert main(["report", str(tmp_path / "a.json")]) == 2
    shown = capsys.readouterr()
    assert (shown.out, says in shown.err, shown.err.count("\n")) == ("", True, 1)
    with raises_snapshot(InputError):
        oodometer.load_result(tmp_path / "b.json")


def test_tables_of_numbers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps({"command": "diagnose", "kind": "none", "why": "nothing moved", "findings": []})
    )
    saved = oodometer.load_result(tmp_path / "a.json")
    with raises_snapshot(UsageError):
        saved.to_frame()


def test_a_damaged_part_is_refused_where_the_page_reads_it(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(folder)
    kept, page = tmp_path / "a.json", tmp_path / "a.html"
    assert main([*COMMANDS["estimate"], "--json", str(kept), "--quiet"]) == 0
    told = json.loads(kept.read_text())
    kept.write_text(json.dumps(told | {"diagnosis": {**told["diagnosis"], "findings": 1.5}}))
    assert main(["report", str(kept), "--report", str(page)]) == 2
    assert_snapshot(capsys.readouterr().err)
    assert not page.exists()

"""`oodometer history` of folders: run folders of every status, and folders that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oodometer.cli import main
from oodometer.errors import InputError
from oodometer.passes.run_folder import run_folder
from oodometer.runs import Lock
from oodometer.verbs.history import runs

from ..snapshots import assert_snapshot, raises_snapshot

ABOUT = {"verb": "estimate", "reference": "/data/reference.parquet", "target": "/lake/predictions"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a run of each status."""
    for name in ("finished", "deep/er/killed", "failed", "broken"):
        if name == "failed":
            with pytest.raises(ValueError, match="no luck"), run_folder(tmp_path / name, ABOUT):
                raise ValueError("no luck")
            continue
        with run_folder(tmp_path / name, ABOUT):
            pass
    manifest = tmp_path / "deep/er/killed/run.json"
    told = json.loads(manifest.read_text())
    manifest.write_text(
        json.dumps({**told, "status": "running", "parts": 5, "done": 2, "read": 2, "ended": None})
    )
    for number in range(2):
        (tmp_path / "deep/er/killed/parts" / f"{number}.state").touch()
    (tmp_path / "broken" / "run.json").write_text("{")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").write_text('{"script": "npm start"}')
    return tmp_path


def test_each_is_told_by_how_it_stands(home: Path) -> None:
    found = {Path(one.folder).name: one for one in runs(home).runs}
    assert {name: one.status for name, one in found.items()} == {
        "finished": "finished",
        "killed": "killed",
        "failed": "failed",
        "broken": "unreadable",
    }
    assert found["failed"].why == "no luck"
    assert (found["killed"].parts, found["killed"].done, found["killed"].target) == (
        5,
        2,
        "/lake/predictions",
    )
    assert_snapshot(str(found["broken"].why))
    with Lock(home / "deep/er/killed/lock", home):
        assert next(one.status for one in runs(home / "deep").runs) == "running"
    assert len(runs([home, home / "finished"]).runs) == 4
    with raises_snapshot(InputError):
        runs(home / "nowhere")


def test_from_the_shell(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home)
    assert main(["runs"]) == 0  # the word of old
    shown = capsys.readouterr().out
    assert "2 of 5" in shown
    assert_snapshot(shown)
    assert main(["history"]) == 0
    assert capsys.readouterr().out == shown
    assert main(["history", "deep", "--json", "-"]) == 0
    assert [run["status"] for run in json.loads(capsys.readouterr().out)["runs"]] == ["killed"]
    assert main(["history", "other"]) == 0
    assert "no run here" in capsys.readouterr().out
    for words, message in (
        (["nowhere"], "nowhere: expected a store of past runs (SQLite), got no such file"),
        (
            ["deep", "other", "--last", "3"],
            "have no --job, --last, --run, --report and --page-folder; leave them out",
        ),
        (["deep", "nowhere"], "expected one store, or folders, got deep and nowhere"),
    ):
        assert main(["history", *words]) == 2
        assert message in capsys.readouterr().err

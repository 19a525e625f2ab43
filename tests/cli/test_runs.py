"""`oodometer runs`: run folders of every status, and folders that are none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from oodometer.errors import InputError
from oodometer.passes.run_folder import run_folder
from oodometer.runs import Lock
from oodometer.verbs.runs import runs

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
    manifest.write_text(json.dumps({**told, "status": "running", "parts": 5, "done": 2, "read": 2, "ended": None}))
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
    assert (found["killed"].parts, found["killed"].done, found["killed"].target) == (5, 2, "/lake/predictions")
    assert "expected the manifest of a run" in str(found["broken"].why)
    with Lock(home / "deep/er/killed/lock", home):
        assert next(one.status for one in runs(home / "deep").runs) == "running"
    assert len(runs([home, home / "finished"]).runs) == 4
    with pytest.raises(InputError, match="expected a folder, got no such folder"):
        runs(home / "nowhere")


def shell(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "oodometer", "runs", *words]
    return subprocess.run(command, cwd=home, capture_output=True, text=True, check=False, timeout=60)


def test_from_the_shell(home: Path) -> None:
    done = shell(home)
    assert done.returncode == 0, done.stderr
    assert "2 of 5" in done.stdout
    assert "failed: no luck" in done.stdout
    listed = json.loads(shell(home, "deep", "--json", "-").stdout)
    assert [one["status"] for one in listed["runs"]] == ["killed"]
    assert "no run here" in shell(home, "other").stdout
    lost = shell(home, "nowhere")
    assert lost.returncode == 2
    assert lost.stderr.strip() == "oodometer: nowhere: expected a folder, got no such folder; check the path"

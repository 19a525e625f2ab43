"""The committed results: the README shows what the files say, the files are small and hold no text of the data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oodometer.errors import InputError
from oodometer.recipes.selective_answering import publish
from oodometer.recipes.selective_answering.findings import claims_of
from oodometer.recipes.selective_answering.markdown import markdown

FILES = sorted(publish.RESULTS.glob("*.json"))


def test_there_are_results() -> None:
    assert [path.stem for path in FILES] == ["small"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_tables_follow_the_file(path: Path) -> None:
    result = json.loads(path.read_text(encoding="utf-8"))
    assert path.with_suffix(".md").read_text(encoding="utf-8") == markdown(result)
    assert json.loads(json.dumps(claims_of(result))) == result["claims"]
    assert len(result["models"]) == 10
    assert result["settings"]["data"]["imdb"]["rows"] >= 5_000
    assert result["settings"]["data"]["sst2"]["rows"] == 1_821
    assert path.stat().st_size < 300_000


def test_the_readme_follows_the_file() -> None:
    readme = (publish.HOME / "README.md").read_text(encoding="utf-8")
    result = json.loads((publish.RESULTS / "small.json").read_text(encoding="utf-8"))
    assert publish.with_tables(readme, result) == readme
    with pytest.raises(InputError, match="the marks"):
        publish.with_tables("no marks", result)


def test_a_run_is_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = json.loads((publish.RESULTS / "small.json").read_text(encoding="utf-8"))
    result["models"] = result["models"][::-1]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "result.json").write_text(json.dumps({**result, "claims": []}))
    result["claims"] = json.loads(json.dumps(claims_of(result)))  # they are checked again, by today's rules
    (tmp_path / "README.md").write_text(f"before {publish.START} old {publish.END} after")
    monkeypatch.setattr(publish, "HOME", tmp_path)
    monkeypatch.setattr(publish, "RESULTS", tmp_path / "results")
    publish.publish(tmp_path / "run")
    assert json.loads((tmp_path / "results" / "small.json").read_text()) == result
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("before ")
    assert text.endswith(" after")
    assert " old " not in text
    assert markdown(result) in text
    publish.publish(tmp_path / "results" / "small.json")  # a result itself: the same again
    assert json.loads((tmp_path / "results" / "small.json").read_text()) == result
    with pytest.raises(InputError, match="the result of a finished run"):
        publish.publish(tmp_path)

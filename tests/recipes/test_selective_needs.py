"""Needs of selective answering: all that is missing is said in one line before anything is read or trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from oodometer.errors import InputError
from oodometer.recipes import find_recipe
from oodometer.recipes.selective_answering import lineup as needs
from oodometer.recipes.selective_answering.lineup import RUN_CONFIGS, lineup


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data without any, and no hub."""
    monkeypatch.setenv("OODOMETER_DATA", str(tmp_path))
    for place in ("oodometer.datasets.files.hub_answers", "oodometer.recipes.selective_answering.lineup.hub_answers"):
        monkeypatch.setattr(place, lambda: False)
    return tmp_path


def test_all_that_is_missing_is_said_at_once(empty: Path) -> None:
    with pytest.raises(InputError, match=r"got 4 things missing: \(1\) IMDb") as said:
        find_recipe("selective-answering").steps("paper", ["BOW-SUM", "W2V-SUM"])
    assert "imdb_test.jsonl.xz" in str(said.value)
    assert "(3) SST-2: " in str(said.value)
    assert "GoogleNews-vectors-negative300.bin.gz, got none beside the data" in str(said.value)


def test_vectors_beside_the_data_are_enough(empty: Path) -> None:
    with pytest.raises(InputError, match=r"glove\.840B\.300d\.txt or glove\.840B\.300d\.zip"):
        needs.check_vectors("glove")
    (empty / "glove.840B.300d.zip").write_bytes(b"")
    needs.check_vectors("glove")
    assert needs.vectors_source("glove") == str(empty / "glove.840B.300d.zip")


def test_each_need_stands_once() -> None:
    config = RUN_CONFIGS["paper"]
    found = [name for name, _ in needs.needs_of(lineup("paper", config), config, {"texts": lambda: None})]
    models = ["google-bert/bert-base-uncased", "google-bert/bert-large-uncased", "FacebookAI/roberta-large"]
    assert found == ["texts", "word2vec vectors", "glove vectors", *models]
    small = RUN_CONFIGS["small"]
    assert [name for name, _ in needs.needs_of(lineup("small", small), small, {})] == ["MiniLM"]

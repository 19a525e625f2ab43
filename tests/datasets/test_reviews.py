"""Data for recipes: by folder, by hub name, sampled evenly; every fault in one line."""

from __future__ import annotations

import lzma
import sys
from pathlib import Path
from typing import Any

import pytest

from oodometer.errors import InputError, MissingExtraError, UsageError, WorkError
from oodometer_lab.datasets import Dataset, data_folder
from oodometer_lab.datasets import files as place_of_data
from oodometer_lab.datasets.sentences import imdb, sst2

from ..snapshots import raises_snapshot


@pytest.fixture
def here(tiny_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OODOMETER_DATA", str(tiny_data))
    return tiny_data


def test_reads_both_sets(here: Path) -> None:
    train, far = imdb("train"), sst2("test")
    assert (len(train), sum(train.targets), train.ids[0]) == (160, 80, "train/0")
    assert (len(far), sum(far.targets), far.ids[1]) == (60, 30, "stsa.binary.test/1")
    assert len({one.fingerprint for one in (train, far, imdb("test"), sst2("dev"))}) == 4
    assert train.fingerprint == imdb("train").fingerprint
    with raises_snapshot(UsageError):
        sst2("validation")


def test_faults_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OODOMETER_DATA", str(tmp_path / "none"))
    with raises_snapshot(InputError):
        imdb("train")
    monkeypatch.setenv("OODOMETER_DATA", str(tmp_path))
    with raises_snapshot(InputError):
        imdb("train")
    path = tmp_path / "imdb_train.jsonl.xz"
    path.write_bytes(b"no archive")
    with raises_snapshot(InputError):
        imdb("train")
    for content, message in (
        (
            '{"label": "0", "text": "a"}\nnonsense\n',
            "row 2: expected JSON with a text and a label 0 or 1",
        ),
        ('{"label": "3", "text": "a"}\n', "row 1: expected JSON"),
        ('{"label": "1", "text": "a"}\n', "rows of both classes of imdb"),
    ):
        path.write_bytes(lzma.compress(content.encode()))
        with pytest.raises(InputError, match=message):
            imdb("train")
    path.write_bytes(lzma.compress(b'{"label": "1", "text": "a"}\n' * 99)[:-20])
    with raises_snapshot(InputError):
        imdb("train")
    (tmp_path / "sst_mr_cr_etc.tsv.xz").write_bytes(lzma.compress(b"stsa.binary.test\tx\ttext\n"))
    with raises_snapshot(InputError):
        sst2("test")


def test_the_hub_is_asked_where_no_folder_is(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    class Rows(dict[str, Any]):
        def __len__(self) -> int:
            return 2

    def load(name: str, split: str) -> Rows:
        asked.append((name, split))
        if split == "test":
            raise ConnectionError
        return Rows(text=["bad", "good"], label=[0, 1])

    hub(load)
    assert imdb("train") == Dataset(
        "imdb", ("bad", "good"), (0, 1), ids=("train/0", "train/1"), source="stanfordnlp/imdb"
    )
    assert sst2("dev").targets == (0, 1)
    with raises_snapshot(WorkError):
        sst2("test")
    assert asked == [
        ("stanfordnlp/imdb", "train"),
        ("SetFit/sst2", "validation"),
        ("SetFit/sst2", "test"),
    ]
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"\[hf\]"):
        imdb("train")


def test_the_folder_beside_the_checkout_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OODOMETER_DATA", raising=False)
    home = tmp_path / "main" / "src" / "oodometer" / "recipes"
    home.mkdir(parents=True)
    monkeypatch.setattr(place_of_data, "__file__", str(home / "folder.py"))
    assert data_folder() is None
    (tmp_path / "shared" / "data").mkdir(parents=True)
    assert data_folder() is None  # no checkout
    (tmp_path / "main" / "pyproject.toml").write_text("")
    assert data_folder() == tmp_path / "shared" / "data"

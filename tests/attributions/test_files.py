"""Files: what is written is read back to the bit; an interrupted folder goes on; another job is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer.attributions.files as files
from oodometer.attributions import Explained, KernelShap, Lime, WordAttributions, Words, explain_in
from oodometer.attributions.files import read_attributions, write_attributions
from oodometer.errors import InputError, UsageError

NAN = float("nan")
TEXTS = [f"a good film number {i}" if i % 3 else (f"film {i}", "it is good") for i in range(7)]
FOUND = Explained(
    ("x/1", "2", "drei"),
    (
        WordAttributions(Words("a film", 1), np.array([0.1 + 0.2, -1e-17]), NAN, 1, 0.7, 0.2, 0.9),
        WordAttributions(Words(("a\u2028b", "c\n\td")), np.arange(4) / 7, -0.25, 0, 0.9),
        WordAttributions(Words(("", "\U0001f600 .")), np.ones(2), 0.0, 1, 1.0, NAN, -1e-3),
    ),
    ("no", "yes"),
    "lime",
    "roberta \u00fc",
)


def model(texts: list[Any]) -> Any:
    p = np.array([0.4 + 0.5 * ("good" in "".join(one)) for one in texts])
    return np.stack([1 - p, p], axis=1)


def same(one: Explained, two: Explained) -> bool:
    assert (one.ids, one.classes, one.method, one.model) == (two.ids, two.classes, two.method, two.model)
    for a, b in zip(one.attributions, two.attributions, strict=True):
        assert a.words == b.words
        assert a.values.tolist() == b.values.tolist()
        numbers = [(x.separator, x.target, x.probability, x.base, x.fit) for x in (a, b)]
        np.testing.assert_array_equal(*numbers)
    return True


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), ()])
def test_what_is_written_is_read_back(tmp_path: Path, ending: str, classes: Any) -> None:
    found = Explained(FOUND.ids, FOUND.attributions, classes, FOUND.method, FOUND.model)
    place = write_attributions(tmp_path / f"found.{ending}", found)
    assert same(read_attributions(place), found)
    assert [one.name for one in tmp_path.iterdir()] == [place.name]


def test_rows_hold_what_others_read(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(write_attributions(tmp_path / "a.parquet", FOUND)).to_pylist()
    lines = write_attributions(tmp_path / "a.jsonl", FOUND).read_text("utf-8").split("\n")
    assert table == [json.loads(line) for line in lines if line]
    assert table[1] == {
        "id": "2", "text": "a\u2028b", "pair": "c\n\td", "feature": None, "words": ["a", "b", "c", "d"],
        "parts": [0, 0, 1, 1], "values": [0, 1 / 7, 2 / 7, 3 / 7], "separator": -0.25, "target": 0, "class": "no",
        "classes": ["no", "yes"], "probability": 0.9, "base": None, "fit": None, "method": "lime",
        "model": "roberta \u00fc",
    }  # fmt: skip


def change(row: dict[str, Any], key: str, value: Any) -> str:
    return json.dumps({**row, key: value})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("values", [0.1], "row 2: expected a row of attributions"),
        ("values", [0.1, 0.2, 0.3, None], "row 2"),
        ("words", ["a", "b", "c", "e"], "row 2"),
        ("target", None, "row 2"),
        ("text", 5, "row 2"),
        ("feature", 9, "row 2"),
        ("method", "other", "row 2: expected attributions of one method and model"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, key: str, value: Any, message: str) -> None:
    place = write_attributions(tmp_path / "a.jsonl", FOUND)
    lines = place.read_text("utf-8").split("\n")
    lines[1] = change(json.loads(lines[1]), key, value)
    place.write_text("\n".join(lines), "utf-8")
    with pytest.raises(InputError, match=message):
        read_attributions(place)


@pytest.mark.parametrize("what", ["none", "empty", "text", "list"])
def test_what_is_no_file_of_attributions(tmp_path: Path, what: str) -> None:
    content = {"empty": "", "text": "hello", "list": "[1]"}
    for ending in ("jsonl", "parquet"):
        place = tmp_path / f"a.{ending}"
        if what != "none":
            place.write_text(content[what])
        with pytest.raises(InputError, match=f"a.{ending}"):
            read_attributions(place)
    with pytest.raises(UsageError, match=r"ends in .parquet or .jsonl"):
        write_attributions(tmp_path / "a.csv", FOUND)


def test_a_folder_goes_on_after_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that are done are not asked again, and the whole is what one call gives."""
    monkeypatch.setattr(files, "AT_ONCE", 2)
    asked: list[Any] = []

    def failing(texts: list[Any]) -> Any:
        asked.extend(texts)
        if any("number 4" in "".join(one) for one in texts):
            raise KeyboardInterrupt
        return model(texts)

    method = Lime(samples=20)
    with pytest.raises(KeyboardInterrupt):
        explain_in(tmp_path / "a", method, failing, TEXTS, name="m")
    before = len(asked)
    told: list[tuple[int, int]] = []
    asked.clear()

    def counting(texts: list[Any]) -> Any:
        asked.extend(texts)
        return model(texts)

    found = explain_in(tmp_path / "a", method, counting, TEXTS, name="m", progress=lambda *at: told.append(at))
    assert before > 0
    assert not any("number 1" in "".join(one) for one in asked)
    assert told[0] == (2, 7)
    assert told[-1] == (7, 7)
    assert told == sorted(told)
    alone = method.explain(model, TEXTS)
    assert same(found, Explained(tuple("1234567"), tuple(alone), (), "lime", "m"))
    asked.clear()
    assert same(explain_in(tmp_path / "a", method, counting, TEXTS, name="m"), found)
    assert not asked


def test_another_job_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "a"
    explain_in(home, Lime(samples=5), model, TEXTS, name="m")
    jobs: list[dict[str, Any]] = [
        {"method": Lime(samples=6)},
        {"method": KernelShap(samples=5)},
        {"name": "other"},
        {"texts": TEXTS[:-1]},
        {"targets": [0] * 7},
        {"ids": list("abcdefg")},
    ]
    for other in jobs:
        options: dict[str, Any] = {"method": Lime(samples=5), "model": model, "texts": TEXTS, "name": "m", **other}
        with pytest.raises(UsageError, match="choose another place"):
            explain_in(home, **options)
    with pytest.raises(UsageError, match="name a folder"):
        explain_in(home / "job.json", Lime(), model, TEXTS, name="m")
    with pytest.raises(UsageError, match="expected 7 ids"):
        explain_in(tmp_path / "b", Lime(), model, TEXTS, name="m", ids=["1"])


def test_a_damaged_part_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "AT_ONCE", 3)
    home = tmp_path / "a"
    found = explain_in(home, Lime(samples=5), model, TEXTS, name="m")
    part = home / "part-00001.json"
    part.write_text(part.read_text()[:-30])
    with pytest.warns(UserWarning, match="made anew"):
        again = explain_in(home, Lime(samples=5), model, TEXTS, name="m")
    assert same(again, found)

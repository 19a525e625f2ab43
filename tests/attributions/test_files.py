"""Files: what is written is read back to the bit; an interrupted folder goes on; another job is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer_lab.attributions.in_folder as files
from oodometer.errors import InputError, UsageError
from oodometer_lab.attributions import (
    Attribution,
    Explained,
    KernelShap,
    Lime,
    WordAttributions,
    Words,
    explain_in,
)
from oodometer_lab.attributions.in_folder import read_attributions, write_attributions

from ..snapshots import raises_snapshot

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
    assert (one.ids, one.classes, one.method, one.model) == (
        two.ids,
        two.classes,
        two.method,
        two.model,
    )
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
    ("key", "value"),
    [
        ("values", [0.1]),
        ("values", [0.1, 0.2, 0.3, None]),
        ("words", ["a", "b", "c", "e"]),
        ("target", None),
        ("text", 5),
        ("feature", 9),
        ("method", "other"),
        ("classes", 5),
        ("classes", [1.5]),
        ("class", "yes"),
        ("target", -7),
        ("target", 2),
        ("target", True),
        ("target", 0.0),
        ("id", None),
        ("method", None),
        ("model", 3),
        ("parts", None),
        ("parts", [0, 0, 0, 1]),
        ("separator", "inf"),
        ("separator", 1e400),
        ("base", "0.5"),
        ("probability", 7),
        ("values", [0.1, 0.2, 0.3, "0.4"]),
        ("values", [0.1, 0.2, 0.3, 10**400]),
        ("values", [0.1, 0.2, 0.3, True]),
        ("feature", True),
        ("feature", 1.5),
        ("pair", 5),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, key: str, value: Any) -> None:
    place = write_attributions(tmp_path / "a.jsonl", FOUND)
    lines = place.read_text("utf-8").split("\n")
    lines[1] = change(json.loads(lines[1]), key, value)
    place.write_text("\n".join(lines), "utf-8")
    with raises_snapshot(InputError):
        read_attributions(place)


@pytest.mark.parametrize("what", ["none", "empty", "text", "list"])
def test_what_is_no_file_of_attributions(tmp_path: Path, what: str) -> None:
    content = {"empty": "", "text": "hello", "list": "[1]"}
    for ending in ("jsonl", "parquet"):
        place = tmp_path / f"a.{ending}"
        if what != "none":
            place.write_text(content[what])
        with raises_snapshot(InputError):
            read_attributions(place)
    with raises_snapshot(UsageError):
        write_attributions(tmp_path / "a.csv", FOUND)


def test_a_folder_goes_on_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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

    found = explain_in(
        tmp_path / "a", method, counting, TEXTS, name="m", progress=lambda *at: told.append(at)
    )
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
        options: dict[str, Any] = {
            "method": Lime(samples=5),
            "model": model,
            "texts": TEXTS,
            "name": "m",
            **other,
        }
        with raises_snapshot(UsageError):
            explain_in(home, **options)
    with raises_snapshot(UsageError):
        explain_in(home / "job.json", Lime(), model, TEXTS, name="m")
    with raises_snapshot(UsageError):
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


def test_a_number_beyond_all_numbers_is_named(tmp_path: Path) -> None:
    place = write_attributions(tmp_path / "a.jsonl", FOUND)
    place.write_text(place.read_text("utf-8").replace('"target": 0', '"target": 1e400'), "utf-8")
    with raises_snapshot(InputError):
        read_attributions(place)
    place.write_text("[" * 100_000, "utf-8")
    with raises_snapshot(InputError):
        read_attributions(place)


def test_a_part_of_another_job_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not taken for one's own: neither from the folder of another model, nor from another place of the same folder."""
    monkeypatch.setattr(files, "AT_ONCE", 3)
    first, other = tmp_path / "a", tmp_path / "b"
    found = explain_in(first, Lime(samples=5), model, TEXTS, name="m")
    explain_in(other, Lime(samples=5), lambda texts: 1 - model(texts), TEXTS, name="n")
    for source in (other / "part-00000.json", first / "part-00001.json"):
        (first / "part-00000.json").write_bytes(source.read_bytes())
        with pytest.warns(UserWarning, match="of another run; it is made anew"):
            again = explain_in(first, Lime(samples=5), model, TEXTS, name="m")
        assert same(again, found)
    assert same(explain_in(first, Lime(samples=5), model, TEXTS, name="m"), found)


def test_a_damaged_job_is_said_once_and_nothing_is_made_anew(tmp_path: Path) -> None:
    home = tmp_path / "a"
    explain_in(home, Lime(samples=5), model, TEXTS, name="m")
    part = (home / "part-00000.json").read_bytes()
    (home / "job.json").write_text("{")
    with raises_snapshot(UsageError):
        explain_in(
            home, Lime(samples=5), model, TEXTS, name="m"
        )  # a warning would be an error here
    assert (home / "part-00000.json").read_bytes() == part
    (home / "job.json").unlink()
    with raises_snapshot(UsageError):
        explain_in(home, Lime(samples=5), model, TEXTS, name="m")


def test_numbers_of_numpy_are_the_numbers_that_they_are(tmp_path: Path) -> None:
    words = [Words(TEXTS[1], np.int64(2)), *TEXTS[2:]]  # type: ignore[arg-type]
    found = explain_in(
        tmp_path / "a", Lime(samples=np.int64(5), alpha=np.float32(1)), model, words, name="m"
    )  # type: ignore[arg-type]
    words = [Words(TEXTS[1], 2), *TEXTS[2:]]
    assert same(
        explain_in(tmp_path / "a", Lime(samples=5, alpha=1.0), model, words, name="m"), found
    )
    assert write_attributions(tmp_path / "a.jsonl", found).exists()


class Cutting(Attribution):
    """Says the same of all words, and that each text with "good" was cut; writes what it is told to."""

    name = "cutting"
    about = "the same for each word"
    citation = "ribeiro2016"

    def __init__(self, amount: float = 0.5, base: float = 0.5) -> None:
        self.amount, self.base = amount, base

    def explain(
        self, model: Any, texts: Any, *, targets: Any = None, progress: Any = None
    ) -> list[WordAttributions]:
        self._truncated = sum("good" in "".join(one.texts) for one in texts)
        return [
            WordAttributions(one, np.full(len(one.words), self.amount), NAN, 1, 0.9, self.base)
            for one in texts
        ]


def test_cut_texts_are_counted_over_all_parts_and_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "AT_ONCE", 2)
    texts = ["a good one", "good", "bad", "so", "good"]
    found = explain_in(tmp_path / "a", Cutting(), model, texts, name="m")
    assert found.truncated == 3
    (tmp_path / "a" / "part-00001.json").unlink()
    assert explain_in(tmp_path / "a", Cutting(), model, texts, name="m").truncated == 3
    assert read_attributions(write_attributions(tmp_path / "a.jsonl", found)).truncated is None
    assert explain_in(tmp_path / "b", Lime(samples=5), model, texts, name="m").truncated == 0


@pytest.mark.parametrize("wrong", [{"amount": NAN}, {"amount": np.inf}, {"base": np.inf}])
def test_what_is_not_finite_is_written_nowhere(tmp_path: Path, wrong: dict[str, float]) -> None:
    with raises_snapshot(InputError):
        explain_in(tmp_path / "a", Cutting(**wrong), model, ["a film"], name="m")
    assert [one.name for one in (tmp_path / "a").iterdir()] == ["job.json"]
    found = Cutting(**wrong).explain(model, [Words("a film")])
    for ending in ("jsonl", "parquet"):
        with raises_snapshot(InputError):
            write_attributions(tmp_path / f"a.{ending}", Explained(("1",), tuple(found)))
    beyond = WordAttributions(Words("a film"), np.ones(2), NAN, 2, 0.9)
    with raises_snapshot(InputError):
        write_attributions(tmp_path / "a.jsonl", Explained(("1",), (beyond,), ("no", "yes")))


def test_half_a_character_is_named(tmp_path: Path) -> None:
    asked: list[Any] = []

    def counting(texts: list[Any]) -> Any:
        asked.extend(texts)
        return model(texts)

    several: list[list[Any]] = [["a film", "a \ud800"], ["a film", ("so", "a \ud800")]]
    for place, texts in enumerate(several):
        with raises_snapshot(InputError):
            explain_in(tmp_path / str(place), Lime(samples=5), counting, texts, name="m")
        with raises_snapshot(InputError):
            KernelShap().explain(counting, texts)
    with pytest.raises(InputError, match="row 1: column id"):
        explain_in(tmp_path / "c", Lime(samples=5), counting, ["a film"], name="m", ids=["\ud800"])
    assert not asked
    assert not list(tmp_path.iterdir())
    found = WordAttributions(Words("a \ud800"), np.ones(2), NAN, 0, 0.5)
    for ending in ("jsonl", "parquet"):
        with pytest.raises(InputError, match="row 1: column text"):
            write_attributions(tmp_path / f"a.{ending}", Explained(("1",), (found,)))
    assert not list(tmp_path.iterdir())

"""Ratings of several people: agreement, their vote, and what it is for, in every form that they come in."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.cli import main
from oodometer.errors import InputError

from ..snapshots import assert_snapshot
from ..store.harness.shapes_of_tools import RATED, SAID, WORDS, lines


def long_table(path: Path, cells: dict[str, list[Any]]) -> Path:
    """A row for each rating; None where a rater did not see an item."""
    rows = [
        {"item": f"i{k}", "rater": who, "grade": cell}
        for who, said in cells.items()
        for k, cell in enumerate(said)
        if cell is not None
    ]
    return lines(path, rows)


@pytest.mark.parametrize("name", RATED)
def test_each_form_gives_the_same_agreement(tmp_path: Path, name: str) -> None:
    found = oodometer.read(RATED[name](tmp_path)).agreed
    assert found is not None
    assert (found.scale, found.items, found.tied) == ("nominal", 8, 0)
    assert [rater.rated for rater in found.raters] == [8, 8, 7]
    assert found.alpha.value == pytest.approx(0.667, abs=5e-4)
    assert [round(rater.number.value, 3) for rater in found.raters if rater.number] == [
        0.857,
        1,
        0.833,
    ]


@pytest.mark.parametrize("name", RATED)
def test_the_vote_is_written_and_is_the_truth_of_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    reading = oodometer.read(RATED[name](Path()))
    write, judge = (shlex.split(question.command) for question in reading.questions)
    assert main(write[1:]) == 0
    votes = oodometer.load(write[-1], extra_columns=["id", "rated", "agreed"])
    assert votes.classes is not None
    said = [Counter(row).most_common() for row in zip(*SAID.values(), strict=True)]
    expected = [WORDS[next(word for word, _ in counts if word != ".")] for counts in said]
    assert [votes.classes[k] for k in votes.label] == expected
    assert votes.columns["rated"].tolist() == [3, 3, 3, 2, 3, 3, 3, 3]
    ids = votes.columns["id"].tolist()
    rows = [
        {"id": key, "prediction": word if k else "negative"}
        for k, (key, word) in enumerate(zip(ids, expected, strict=True))
    ]
    lines(Path("model.jsonl"), rows)
    words = ["model.jsonl" if word == "PREDICTED" else word for word in judge[1:]]
    capsys.readouterr()
    assert main([*words, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["accuracy"]["value"] == 7 / 8


def test_votes_on_verdicts_are_labels_of_a_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    right = rng.random(120) < 0.6
    raters = {who: np.where(rng.random(120) < 0.9, right, ~right).tolist() for who in "abc"}
    words_of = {who: [("fail", "pass")[v] for v in said] for who, said in raters.items()}
    path = long_table(Path("people.jsonl"), words_of)
    reading = oodometer.read(path)
    write, audit = (shlex.split(question.command)[1:] for question in reading.questions)
    assert main(write) == 0
    judged = [{"id": f"i{k}", "VERDICTS": bool(ok)} for k, ok in enumerate(right)]
    lines(Path("judged.jsonl"), judged)
    capsys.readouterr()
    words = ["judged.jsonl" if word == "JUDGED" else word for word in audit]
    assert main([*words, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["judge"]["agreement"]["value"] > 0.9
    assert found["rate"]["value"] == pytest.approx(right.mean(), abs=0.05)


def test_grades_are_ordinal_and_their_votes_are_scores(tmp_path: Path) -> None:
    cells = {
        "a": [1, 2, 3, 4, 5, 1, 2, 3],
        "b": [1, 2, 3, 4, 4, 1, 1, None],
        "c": [1, 3, 3, 4, 5, 1, None, None],
    }
    reading = oodometer.read(long_table(tmp_path / "grades.jsonl", cells))
    assert reading.agreed is not None
    assert reading.agreed.scale == "ordinal"
    assert {*reading.agreed.others} == {"nominal", "interval"}
    assert reading.agreed.tied == 1
    assert_snapshot(reading.warnings)
    assert reading.record.score.tolist()[:6] == [1, 2, 3, 4, 5, 1]


def test_another_question_of_an_export_is_named(tmp_path: Path) -> None:
    path = RATED["argilla"](tmp_path)
    rows = json.loads(path.read_text())
    for row in rows:
        row["responses"]["fluency"] = [{"value": 1 + len(row["id"]) % 2, "user_id": "ann"}]
    path.write_text(json.dumps(rows))
    reading = oodometer.read(path)
    assert_snapshot(reading.warnings)


def test_the_csv_of_label_studio_is_a_table_of_ratings(tmp_path: Path) -> None:
    """Its ids of annotations and its times are numbers, but no ratings."""
    lines_of = ["annotation_id,annotator,created_at,id,lead_time,sentiment,text,updated_at"]
    for k, (who, said) in enumerate(SAID.items()):
        for i, letter in enumerate(said):
            if letter != ".":
                when = f"2026-01-0{k + 1}T00:00:00Z"
                cells = (10 * i + k, who, when, i, 3.5 + i, WORDS[letter], f"T{i}", when)
                lines_of.append(",".join(map(str, cells)))
    path = tmp_path / "project-1.csv"
    path.write_text("\n".join(lines_of) + "\n")
    found = oodometer.read(path)
    assert found.agreed is not None
    assert found.agreed.alpha.value == pytest.approx(0.667, abs=5e-4)
    assert_snapshot(found.warnings)


def test_ratings_are_no_answers_of_a_model(tmp_path: Path) -> None:
    path = RATED["label_studio"](tmp_path)
    with pytest.raises(InputError) as error:
        oodometer.evaluate(path)
    said = str(error.value)
    assert_snapshot(said)
    assert main(said.split("`")[1].split()[1:]) == 0


def test_tables_with_users_or_numbers_of_people_are_no_ratings(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"id": k, "user_id": f"u{k % 9}", "correct": bool(k % 3), "human_age": 20 + k % 50,
         "human_income": int(rng.integers(1_000, 9_000))} for k in range(90)
    ]  # fmt: skip
    reading = oodometer.read(lines(tmp_path / "users.jsonl", rows))
    assert reading.agreed is None
    assert reading.accuracy is not None

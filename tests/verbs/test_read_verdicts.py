"""What `read` takes columns for: ids of questions, verdict words, failed grades, metrics, battles of two models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.cli import main
from oodometer.results.reading import Reading

from ..snapshots import assert_snapshot


def read(tmp_path: Path, rows: list[dict[str, Any]], name: str = "rows.jsonl") -> Reading:
    """What a file of these rows is read as."""
    path = tmp_path / name
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(text if name.endswith("l") else json.dumps(rows))
    return oodometer.read(path)


def taken(reading: Reading) -> dict[str, str]:
    return {column.name: column.taken for column in reading.columns}


@pytest.mark.parametrize("truth", [{"correct": bool}, {"reward": float}])
@pytest.mark.parametrize("key", ["task_id", "question_id", "qid"])
def test_answers_to_one_question_are_no_independent_rows(
    key: str, truth: dict[str, type], tmp_path: Path
) -> None:
    (name, kind), *_ = truth.items()
    rows = [{key: k, "trial": t, name: kind(k < 9)} for k in range(20) for t in range(10)]
    reading = read(tmp_path, rows)
    number = reading.accuracy
    assert number is not None
    assert number.value == pytest.approx(0.45)
    assert number.lower < 0.26  # of 20 questions, of 200 rows it would be 0.38
    assert number.upper > 0.64
    assert taken(reading)[key] == "id"
    if name == "correct":
        found = oodometer.evaluate(tmp_path / "rows.jsonl").metrics["accuracy"]
        assert (found.lower, found.upper) == pytest.approx((number.lower, number.upper))


def test_the_id_of_a_question_pairs_models(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    right = rng.random(200) < 0.6
    for name, verdicts in (("a", right), ("b", right | (np.arange(200) % 10 == 0))):
        rows = [{"question_id": int(k), "correct": bool(verdicts[k])} for k in rng.permutation(200)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = oodometer.compare([tmp_path / "b.jsonl", tmp_path / "a.jsonl"])
    difference = found.difference or {}
    assert difference["paired"]
    assert difference["upper"] - difference["lower"] < 0.1  # apart it would be 0.19


def test_a_column_that_an_option_names_keeps_its_name(tmp_path: Path) -> None:
    rows = [{"task_id": k % 20, "correct": k % 3 > 0} for k in range(200)]
    read(tmp_path, rows)
    found = oodometer.evaluate(tmp_path / "rows.jsonl", by="task_id")
    assert len({part.value for part in found.slices}) == 20
    sliced = found.metrics["accuracy"]  # its rows are no more independent for being shown apart
    whole = oodometer.evaluate(tmp_path / "rows.jsonl").metrics["accuracy"]
    assert (sliced.lower, sliced.upper) == pytest.approx((whole.lower, whole.upper))


def test_words_of_graders(tmp_path: Path) -> None:
    words = ["CORRECT"] * 50 + ["INCORRECT"] * 30 + ["NOT_ATTEMPTED"] * 20
    reading = read(tmp_path, [{"id": f"q{i}", "grade": word} for i, word in enumerate(words)])
    assert reading.accuracy is not None
    assert reading.accuracy.value == 0.5
    assert_snapshot(reading.warnings)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_letters_of_choices(name: str, tmp_path: Path) -> None:
    rows = [{"id": f"v{i}", "answer": "ABCD"[i % 4], "response": "AABC"[i % 4]} for i in range(40)]
    reading = read(tmp_path, rows, name)
    assert reading.accuracy is not None
    assert reading.accuracy.value == 0.25
    assert taken(reading)["answer"] == "label"


def test_a_grade_that_could_not_be_given_is_none(tmp_path: Path) -> None:
    scores = [-1, -1, *([6, 7, 8, 9, 10] * 10)]
    reading = read(tmp_path, [{"id": f"q{i}", "score": score} for i, score in enumerate(scores)])
    assert reading.score is not None
    assert reading.score.value == 8.0
    assert reading.labelled == 50
    assert_snapshot(reading.warnings)
    found = oodometer.evaluate(tmp_path / "rows.jsonl")
    assert any("--where 'score>=0'" in line for line in found.warnings)
    without = oodometer.evaluate(tmp_path / "rows.jsonl", where="score>=0")
    assert without.metrics["mean_score"].value == 8.0
    meant = oodometer.evaluate(tmp_path / "rows.jsonl", scale=(-1, 10))
    assert not any("-1" in line for line in meant.warnings)


def test_scores_that_reach_below_zero_are_scores(tmp_path: Path) -> None:
    scores = [-1, -0.5, 0, 2, 3] * 10
    reading = read(tmp_path, [{"id": f"q{i}", "score": score} for i, score in enumerate(scores)])
    assert reading.score is not None
    assert reading.score.value == pytest.approx(np.mean(scores))


def test_metrics_of_one_model_are_no_models(tmp_path: Path) -> None:
    rows = [{"doc_id": i, "acc": i % 2, "acc_norm": int(i % 4 > 0)} for i in range(80)]
    reading = read(tmp_path, rows)
    assert reading.accuracy is not None
    assert reading.accuracy.value == 0.5
    assert reading.tasks == ()
    assert_snapshot(reading.warnings)
    assert not any("rank" in question.command for question in reading.questions)


def test_two_verdicts_with_names_of_models_are_models(tmp_path: Path) -> None:
    rows = [{"id": i, "gemma": i % 2, "llama": int(i % 4 > 0)} for i in range(80)]
    assert [task.name for task in read(tmp_path, rows).tasks] == ["gemma", "llama"]


def test_a_winner_is_a_model_and_no_place(tmp_path: Path) -> None:
    """The first place wins all, and both models stand there equally often."""
    rows = [
        {"id": i, "model_a": "xy"[i % 2], "model_b": "yx"[i % 2], "winner": "model_a"}
        for i in range(100)
    ]
    reading = read(tmp_path, rows)
    shares = {task.name: task.number.value for task in reading.tasks if task.number is not None}
    assert shares == {"x": 0.5, "y": 0.5}
    assert_snapshot(reading.warnings)


def test_both_orders_of_a_judge_are_one_battle(tmp_path: Path) -> None:
    wins = [
        ("model_1", "model_1"),
        ("model_1", "model_2"),
        ("tie", "model_2"),
        ("error", "model_2"),
    ]
    rows = [
        {"question_id": i, "model_1": "x", "model_2": "y", "g1_winner": one, "g2_winner": two}
        for i, (one, two) in enumerate(wins)
    ]
    reading = read(tmp_path, rows)
    shares = {task.name: task.number.value for task in reading.tasks if task.number is not None}
    assert shares["x"] == pytest.approx((1 + 0.5 + 0.25 + 0) / 4)


def test_evaluate_names_the_verdicts_that_read_finds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"instance_id": f"i-{i}", "resolved": i % 3 > 0, "patch": "a"} for i in range(60)]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", "run.jsonl"]) == 2
    command = capsys.readouterr().err.strip().rpartition("try: oodometer ")[2]
    assert_snapshot(command)
    assert main([*command.split(), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["accuracy"]["value"] == pytest.approx(
        2 / 3
    )


def test_the_form_of_a_table_is_that_of_its_file(tmp_path: Path) -> None:
    """Also where words become numbers on the way."""
    rows = [{"id": i, "grade": ["CORRECT", "NOT_ATTEMPTED"][i % 2]} for i in range(40)]
    assert read(tmp_path, rows).format == "a table (jsonl)"


@pytest.mark.parametrize(
    "row",
    [
        {"id": "i", "model_a": "x", "model_b": "y", "winner": "model_a"},
        {"id": "i", "grade": "NOT_ATTEMPTED"},
        {"item": "i", "rater": "r", "sentiment": "good"},
    ],
)
def test_evaluate_names_read_for_what_it_cannot_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, str]
) -> None:
    """Battles, words that are no verdicts of ours, ratings of several people."""
    rows = [{**row, "id": str(k)} for k in range(60)]
    if "rater" in row:
        rows = [
            {"item": str(k // 2), "rater": "rs"[k % 2], "sentiment": "ab"[k % 3 > 0]}
            for k in range(60)
        ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["evaluate", str(path)]) == 2
    command = capsys.readouterr().err.strip().rpartition("try: oodometer ")[2]
    assert command == f"read {path}"
    assert main(command.split()) == 0


@pytest.mark.parametrize("words", [("no", "yes"), (0, 1)])
def test_columns_of_two_values_beside_numbers_are_no_models(
    words: tuple[Any, Any], tmp_path: Path
) -> None:
    """Who smokes and who is married says nothing of a model, and yields no accuracy."""
    rows = [
        {"id": i, "age": 20 + i % 50, "smoker": words[i % 2], "married": words[i // 3 % 2]}
        for i in range(60)
    ]
    reading = read(tmp_path, rows)
    assert reading.tasks == ()
    assert taken(reading) == {"id": "id", "age": "", "smoker": "", "married": ""}

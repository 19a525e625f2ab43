"""What `read` says of logs and tables, each command that it offers carried out, and what it writes."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oodometer
from oodometer.cli import main
from oodometer.errors import InputError
from oodometer.results.reading import Reading

from ..snapshots import assert_snapshot, raises_snapshot
from ..store.harness import formats
from ..store.harness.shapes_of_tools import CASES, mt_bench_models, mt_bench_pair


def run(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, str, str]:
    code = main([*map(str, words)])
    seen = capsys.readouterr()
    return code, seen.out, seen.err


def rows(path: Path, **columns: Any) -> Path:
    """A CSV of these columns; None is an empty cell."""
    cells = zip(*columns.values(), strict=True)
    lines = [
        ",".join(columns),
        *(",".join("" if c is None else str(c) for c in row) for row in cells),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def judged(folder: Path) -> Path:
    """A judge's verdicts and a grade on 200 rows, and a person's on every fourth."""
    rng = np.random.default_rng(0)
    right = rng.random(200) < 0.6
    passed = np.where(right, rng.random(200) < 0.9, rng.random(200) < 0.3)
    return rows(
        folder / "results.csv",
        id=[f"q{i}" for i in range(200)],
        response=[f"it is {i}" for i in range(200)],
        tokens=rng.integers(5, 300, 200),
        judge_passed=np.where(passed, "pass", "fail"),
        gpt4_score=rng.integers(1, 6, 200),
        human_passed=[("pass" if right[i] else "fail") if i % 4 == 0 else None for i in range(200)],
    )


def binary(folder: Path) -> Path:
    """A classifier's table under names of its own."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    p = (1 / (1 + np.exp(-2 * (2 * y - 1 + rng.normal(0, 1, 200))))).round(4)
    return rows(
        folder / "loans.csv",
        loan_id=range(200),
        y_pred_proba=p,
        y_pred=(p > 0.5).astype(int),
        repaid=y,
    )


def answers(folder: Path) -> Path:
    """A predictions file with tasks, passages and confidences, beside another run of the same questions."""
    rng = np.random.default_rng(0)
    for name in ("b.csv", "a.csv"):
        rows(
            folder / name,
            id=range(120),
            correct=np.where(rng.random(120) < 0.7, "true", "false"),
            confidence=rng.random(120).round(3),
            group=["law", "math", "code"] * 40,
            passage=[f"p{i // 6}" for i in range(120)],
        )
    return folder / "a.csv"


def models(folder: Path) -> Path:
    """Verdicts of two models on the same questions, one below the other."""
    rng = np.random.default_rng(0)
    words = np.where(rng.random(100) < 0.6, "yes", "no")
    return rows(
        folder / "verdicts.csv", id=[*range(50)] * 2, model=["a"] * 50 + ["b"] * 50, passed=words
    )


def side_by_side(folder: Path) -> Path:
    """Verdicts of three models in a column each."""
    return rows(
        folder / "wide.csv",
        id=range(60),
        small=[0, 1] * 30,
        middle=[0, 1, 1] * 20,
        large=[1, 1, 1, 0] * 15,
    )


def metrics(folder: Path) -> Path:
    """Numbers that may be scores, under names that do not say so."""
    rng = np.random.default_rng(0)
    return rows(
        folder / "rag.csv",
        user_input=range(40),
        faithfulness=rng.random(40),
        relevancy=rng.random(40),
    )


def grades(folder: Path) -> Path:
    return rows(
        folder / "grades.csv",
        id=range(60),
        passage=[i // 6 for i in range(60)],
        grade=[1, 2, 3, 4, 5, 5] * 10,
    )


def wins(folder: Path) -> Path:
    return rows(folder / "wins.csv", id=range(60), outcome=["win", "tie", "lose"] * 20)


def array(folder: Path) -> Path:
    return formats.put(folder / "array.json", [{"id": i, "passed": i % 3 > 0} for i in range(30)])


MADE: dict[str, Callable[[Path], Path]] = {
    "answers": answers, "judged": judged, "binary": binary, "models": models, "side by side": side_by_side,
    "metrics": metrics, "grades": grades, "wins": wins,
    "array": array, **formats.ALL, **{name: case.make for name, case in CASES.items()},
    "pairs of MT-Bench": mt_bench_pair, "two models of MT-Bench": mt_bench_models,
}  # fmt: skip


# The first two take long, or a reference that is none of this run.
NOT_HERE = ("discriminate", "estimate")


@pytest.mark.parametrize("name", MADE)
def test_every_command_that_is_offered_works_when_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = MADE[name](Path())
    code, out, err = run(capsys, "read", path, "--json", "-")
    assert (code, err) == (0, "")
    questions = json.loads(out)["questions"]
    assert questions
    assert len({question["command"] for question in questions}) == len(questions)
    for question in questions:
        words = shlex.split(question["command"])
        assert words[0] == "oodometer"
        if words[1] in NOT_HERE:
            continue
        file = next(word for word in words[2:] if word != "OTHER")
        assert run(capsys, *(file if word == "OTHER" else word for word in words[1:]))[0] in (
            0,
            3,
        ), words


def reading(path: Path, **options: Any) -> Reading:
    return oodometer.read(path, **options)


def taken(result: Reading) -> dict[str, str]:
    return {column.name: column.taken for column in result.columns}


def test_a_judged_table(tmp_path: Path) -> None:
    result = reading(judged(tmp_path))
    assert (result.judges, result.human, result.labelled) == (
        ("judge_passed", "gpt4_score"),
        "human_passed",
        50,
    )
    assert result.accuracy is None
    assert taken(result) == {
        "id": "id", "response": "output", "tokens": "", "judge_passed": "judge", "gpt4_score": "judge",
        "human_passed": "people's labels",
    }  # fmt: skip
    assert_snapshot(result.questions[-1].command)


def test_an_unknown_object_is_described_with_the_map_that_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows far down in the document, the id and two verdicts in objects of a row; times are no scores."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "n": i,
            "case": {"qid": f"q{i // 2}"},
            "judgement": {"verdict": i % 3 > 0, "points": 1 + i % 5},
            "timing": {"latency_ms": 100 + i % 7},
        }
        for i in range(40)
    ]
    path = formats.put(Path("unknown.json"), {"run": {"of": {"it": {"items": rows}}}})
    result = reading(path)
    assert result.ids == {"column": "case.qid", "distinct": 20, "most": 2}
    commands = [shlex.split(question.command) for question in result.questions]
    assert [words[-1] for words in commands] == [
        "judgement.verdict=correct",
        "judgement.points=score",
    ]
    assert run(capsys, *commands[0][1:])[0] == 0
    found = oodometer.evaluate(path, mapping={"judgement.verdict": "correct"})
    assert found.metrics["accuracy"].value == pytest.approx(26 / 40)
    assert any("those of 20" in warning for warning in found.warnings)


def test_metrics_in_a_column_are_read_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row for each metric of an answer; totals, a row for each metric, are refused."""
    monkeypatch.chdir(tmp_path)
    path = rows(
        Path("scores.csv"),
        traceId=[f"t{i // 2}" for i in range(40)],
        name=["faithful", "toxic"] * 20,
        value=[0.9, 0.1] * 20,
    )
    commands = [shlex.split(question.command)[1:] for question in reading(path).questions]
    for words, right in zip(commands, (0.9, 0.1), strict=True):
        assert run(capsys, *words, "--json", "found.json")[0] == 0
        found = json.loads(Path("found.json").read_text())
        assert found["metrics"]["mean_score"]["value"] == pytest.approx(right)
    with raises_snapshot(InputError):
        oodometer.evaluate(path, mapping={"value": "score"})
    totals = rows(Path("totals.csv"), metric=["faithful", "toxic", "clear"], score=[0.9, 0.1, 0.5])
    for verb in (oodometer.read, oodometer.evaluate):
        with raises_snapshot(InputError):
            verb(totals)


def test_a_predictions_file_needs_no_reading_and_is_read(tmp_path: Path) -> None:
    result = reading(answers(tmp_path))
    assert [task.name for task in result.tasks] == ["law", "math", "code"]
    assert result.accuracy is not None
    assert result.macro is not None
    assert result.macro.value == pytest.approx(
        np.mean([task.number.value for task in result.tasks if task.number])
    )
    assert result.clusters == ("passage",)
    assert result.ids == {"column": "id", "distinct": 120, "most": 1}
    commands = [question.command for question in result.questions]
    assert f"oodometer compare {tmp_path}/a.csv {tmp_path}/b.csv" in commands


def test_a_table_under_names_of_its_own(tmp_path: Path) -> None:
    """What evaluate reads by itself is read; what it would refuse as a guess has no number, but the whole command."""
    path = binary(tmp_path)
    result = reading(path)
    assert taken(result)["repaid"] == "label?"
    assert result.accuracy is None
    assert_snapshot(result.warnings)
    command = "--map y_pred=prediction --map repaid=label --positive y_pred_proba"
    assert result.questions[0].command == f"oodometer evaluate {path} {command}"
    path.write_text(path.read_text().replace("repaid", "y_true"))
    result = reading(path)
    assert taken(result)["y_true"] == "label"
    assert result.accuracy is not None
    assert_snapshot(result.warnings)


@pytest.mark.parametrize(("make", "mean"), [(grades, 20 / 6), (wins, 0.5)])
def test_scores_have_a_mean(tmp_path: Path, make: Callable[[Path], Path], mean: float) -> None:
    result = reading(make(tmp_path))
    assert result.score is not None
    assert result.score.value == pytest.approx(mean)
    assert result.accuracy is None


def test_a_file_for_each_task_or_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for make, names in ((answers, ["code", "law", "math"]), (models, ["a", "b"])):
        folder = tmp_path / make.__name__
        folder.mkdir()
        path = make(folder)
        assert run(capsys, "read", path, "--out", f"{folder}/each/")[0] == 0
        files = sorted((folder / "each").iterdir())
        assert [file.stem for file in files] == names
        assert sum(oodometer.load(file).rows for file in files) == oodometer.read(path).rows
    code, _, err = run(capsys, "read", models(tmp_path), "--out", tmp_path / "all.parquet")
    assert code == 2
    assert_snapshot(err)
    code, _, err = run(capsys, "read", grades(tmp_path), "--out", f"{tmp_path}/each/")
    assert code == 2
    assert_snapshot(err)
    assert not (tmp_path / "each").exists()


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    result = reading(wins(tmp_path), out=tmp_path / "w.parquet")
    assert result.files == (str(tmp_path / "w.parquet"),)
    assert result.record is None
    assert oodometer.read(tmp_path / "w.parquet").score == result.score


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("empty.csv", "", "got an empty file"),
        ("cut.jsonl", '{"id": 1, "correct": true}\n{"id": 2, "cor', "row 2"),
        (
            "bad.csv",
            "id,confidence,correct\n1,0.5,true\n2,7,false\n",
            "row 2: column confidence: expected a confidence",
        ),
        ("odd.json", "[1, 2]", "row 1: expected a JSON object"),
        ("totals.json", '{"accuracy": 0.5}', "got totals alone"),
        ("notes.txt", "hello", "got the ending .txt; a table of text is called .csv"),
    ],
)
def test_damaged_files_have_one_line_with_a_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    code, out, err = run(capsys, "read", tmp_path / name, "--out", tmp_path / "x.parquet")
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "x.parquet").exists()


def test_a_table_of_which_nothing_is_known_is_described_and_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = rows(tmp_path / "t.csv", a=["x", "y"], b=[0.2, 3.5])
    code, out, _ = run(capsys, "read", path)
    assert code == 0
    assert_snapshot(out)
    code, _, err = run(capsys, "read", path, "--out", tmp_path / "x.parquet")
    assert code == 2
    assert_snapshot(err)
    assert run(capsys, "read", path, "--map", "b=score", "--out", tmp_path / "x.parquet")[0] == 0


def document(place: tuple[str, str], rows: list[dict[str, object]], **more: object) -> str:
    return json.dumps({place[0]: {place[1]: rows, "stats": {"successes": 30}}, **more})


def test_rows_that_stand_inside_a_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As some tools write them: a list two names deep, its index of the prompt the same in every row."""
    rows: list[dict[str, object]] = [
        {"promptIndex": 0, "testIdx": i, "success": i % 4 != 0, "vars": {"q": f"question {i}"}}
        for i in range(40)
    ]
    path = tmp_path / "evals.json"
    path.write_text(document(("results", "results"), rows, prompts=[{"raw": "a"}]))
    code, out, err = run(capsys, "read", path, "--out", tmp_path / "evals.parquet")
    assert code == 0
    assert_snapshot(out)
    assert_snapshot(out + err)
    found = oodometer.evaluate(tmp_path / "evals.parquet")
    assert next(iter(found.metrics.values())).value == 0.75


def test_two_lists_of_a_document_are_a_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: list[dict[str, object]] = [{"correct": True}] * 6
    path = tmp_path / "two.json"
    path.write_text(document(("runs", "first"), rows, second=rows))
    code, _, err = run(capsys, "read", path)
    assert code == 2
    assert_snapshot(err)


def test_commands_name_no_column_that_they_find_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p, names = rng.dirichlet([0.5] * 6, 90), np.array([f"c{k}" for k in range(6)])
    table = {"True class": names[(p.cumsum(1) > rng.random((90, 1))).argmax(1)]}
    table |= {f"Score of {name}": p[:, k] for k, name in enumerate(names)}
    path = rows(tmp_path / "scores.csv", prompt=[f"q{i // 3}" for i in range(90)], **table)
    asked = oodometer.read(path).questions
    assert not any("--map" in question.command for question in asked)
    assert any(question.command.endswith("--cluster prompt") for question in asked)
    found = oodometer.evaluate(path, cluster="prompt", metrics=["accuracy"])
    assert found["accuracy"].value == (names[p.argmax(1)] == table["True class"]).mean()


def test_times_of_nanoseconds_are_read(tmp_path: Path) -> None:
    at = np.datetime64("2026-01-01", "ns") + np.arange(60) // 20 * np.timedelta64(1, "D")
    rows = {
        "label": [0, 1] * 30,
        "prediction": [0, 1, 1] * 20,
        "seen": at + np.timedelta64(7, "ns"),
    }
    path = tmp_path / "times.parquet"
    pq.write_table(pa.table(rows), path)
    code = "import sys; sys.modules['pandas'] = None; import oodometer as o; path = sys.argv[1]"
    code += "; print(o.read(path).rows, len(o.evaluate(path, by='seen').slices))"
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert (done.stdout.split(), done.returncode) == (["60", "3"], 0), done.stderr


def test_a_flag_of_errors_is_no_verdict_on_what_is_right(tmp_path: Path) -> None:
    flags = [k % 3 for k in range(60)]
    path = rows(tmp_path / "a.csv", q=range(60), hallucination=[int(k == 0) for k in flags])
    assert not any("hallucination" in q.command for q in oodometer.read(path).questions)
    path = rows(tmp_path / "b.csv", q=range(60), is_correct=["N" if k == 0 else "Y" for k in flags])
    found = oodometer.evaluate(path, mapping={"is_correct": "correct"}, metrics=["accuracy"])
    assert found["accuracy"].value == pytest.approx(2 / 3)


def test_good_and_bad_of_a_loan_are_no_verdicts_on_the_model(tmp_path: Path) -> None:
    outcome = ["bad", "good", "good", "bad", "good"] * 12
    path = rows(tmp_path / "loans.csv", outcome=outcome, p_good=[0.2, 0.9, 0.6, 0.7, 0.8] * 12)
    result = reading(path)
    assert result.accuracy is None
    assert_snapshot(str(result).replace(str(path), path.name))


def test_no_command_is_offered_that_another_remedy_replaces(tmp_path: Path) -> None:
    sure = [0.51 + 0.008 * k for k in range(60)]
    path = rows(tmp_path / "sure.csv", label=["ham", "spam", "ham"] * 20, score=sure)
    result = reading(path)
    assert result.accuracy is None
    assert_snapshot(str(result).replace(str(path), path.name))


def test_columns_of_errors_are_not_offered_as_scores(tmp_path: Path) -> None:
    path = rows(tmp_path / "speech.csv", utterance=[*range(60)], wer=[0.01 * k for k in range(60)])
    assert not reading(path).questions


def test_labels_that_most_answers_miss_are_warned_of_as_in_evaluate(tmp_path: Path) -> None:
    short, long = ["B", "M", "B"] * 20, ["benign", "malignant", "benign"] * 20
    path = rows(tmp_path / "biopsies.csv", label=short, prediction=long)
    (line,) = reading(path).warnings
    assert line in oodometer.evaluate(path).warnings
    assert_snapshot(line)


def test_logarithms_of_probabilities_are_read_as_in_evaluate(tmp_path: Path) -> None:
    p = np.linspace(0.02, 0.98, 60)
    truth = np.where(np.arange(60) % 3 > 0, p > 0.5, p > 0.2)
    path = rows(
        tmp_path / "mails.csv",
        label=np.where(truth, "spam", "ham").tolist(),
        logprob_spam=np.log(p).tolist(),
        logprob_ham=np.log(1 - p).tolist(),
    )
    result = reading(path)
    assert result.accuracy is not None
    assert result.accuracy.value == oodometer.evaluate(path)["accuracy"].value


def test_confidences_in_percents_beside_a_guessed_truth_are_read(tmp_path: Path) -> None:
    stated = [f"{50 + k % 50}%" for k in range(60)]
    path = rows(tmp_path / "quiz.csv", is_correct=[1, 0, 1] * 20, confidence=stated)
    result = reading(path)
    assert result.accuracy is not None
    assert result.accuracy.value == pytest.approx(2 / 3)
    assert result.questions[0].command == f"oodometer evaluate {path}"


def test_inputs_that_are_objects_do_not_stop_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "served.jsonl"
    pairs = [("spam", "spam"), ("ham", "ham"), ("spam", "ham")]
    served = [
        {
            "input": {"text": "hi"},
            "truth": {"label": truth},
            "output": {"label": said, "score": 0.9},
        }
        for truth, said in pairs * 20
    ]
    path.write_text("\n".join(map(json.dumps, served)))
    result = reading(path)
    assert result.accuracy is not None
    assert result.accuracy.value == pytest.approx(2 / 3)
    assert result.accuracy.value == oodometer.evaluate(path)["accuracy"].value

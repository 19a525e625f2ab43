"""The table of shapes: each tool's file gives the number that is right, by every command, and says what it lacks."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.cli import main
from oodometer.errors import InputError
from oodometer.store.harness import LogOptions, log_kind, read_logs
from oodometer.store.harness.shaped import read_shape
from oodometer.store.shapes import SHAPES, Shape, shape_of_table

from ...snapshots import assert_snapshot
from . import shapes_of_tools as tools
from .formats import put
from .shapes_of_tools import CASES, RATED


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        oodometer.evaluate(path)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_each_shape_has_an_example_of_its_own() -> None:
    made = {case.kind for case in CASES.values()} | {*RATED}
    assert {*SHAPES} <= made


@pytest.mark.parametrize("name", CASES)
def test_each_tool_is_read_with_the_right_number(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    path = case.make(tmp_path)
    files = [path] if path.is_file() else [*path.rglob("*.json")]
    assert {log_kind(file) for file in files} == {case.kind}
    reading = oodometer.read(path)
    number = reading.accuracy or reading.score
    assert number is not None
    assert (number.value, reading.rows) == (pytest.approx(case.value), case.rows)
    assert case.said in " ".join(reading.warnings)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.kind])
def test_evaluate_and_compare_take_the_file_as_it_is(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    path = case.make(tmp_path)
    found = oodometer.evaluate(path)
    assert next(iter(found.metrics.values())).value == pytest.approx(case.value)
    assert case.said in " ".join(found.warnings)
    assert oodometer.compare([path, path]).difference["value"] == 0


def test_names_that_stand_in_a_file_tell_the_shape(tmp_path: Path) -> None:
    path = tools.lines(tmp_path / "own.jsonl", [{"question_id": 1, "model": "a", "score": 1}] * 3)
    assert log_kind(path) is None
    assert shape_of_table(["id", "epoch", "score"]) is None


def test_the_shape_of_contributing_reads_its_file(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text()
    (block,) = re.findall(r"^   (Shape\(\n.*?^   \))$", text, flags=re.DOTALL | re.MULTILINE)
    shape = eval(textwrap.dedent(block), {"Shape": Shape})
    words = ["hit", "miss", "judge down", "hit"]
    asked = [{"number": i, "said": "x", "verdict": word} for i, word in enumerate(words)]
    path = put(tmp_path / "quiz.json", {"quiz": {"model": "m"}, "asked": asked})
    (found,) = read_shape(shape, [str(path)], LogOptions())
    assert (found.model, found.ids) == ("m", ["0", "1", "3"])
    assert found.columns["correct"] == [True, False, True]
    assert_snapshot(found.skipped)


def test_another_metric_may_be_named(tmp_path: Path) -> None:
    result = read_logs(tools.evalplus(tmp_path), LogOptions(metric="base"))
    assert result.record.accuracy == 5 / 8
    relevancy = read_logs(tools.deepeval(tmp_path), LogOptions(metric="Answer Relevancy"))
    assert relevancy.record.score.mean() == pytest.approx((5 * 0.9 + 3 * 0.1) / 8)


def test_samples_of_one_problem_are_attempts_of_it(tmp_path: Path) -> None:
    for make in (tools.evalplus, tools.bigcode, tools.human_eval):
        columns = read_logs(make(tmp_path)).record.columns
        assert columns["epoch"].tolist() == [1, 2] * 4
        assert len({*columns["id"]}) == 4


def test_what_answers_took_comes_along(tmp_path: Path) -> None:
    columns = read_logs(tools.promptfoo(tmp_path)).record.columns
    assert columns["cost"].tolist() == [0.001] * 8
    assert columns["latency_ms"].tolist() == [*range(10, 18)]
    traces = read_logs(tools.mlflow_traces(tmp_path)).record.columns
    assert traces["latency_ms"].tolist() == [*range(100, 108)]
    text = (tmp_path / "traces.jsonl").read_text()
    path = tmp_path / "twice.jsonl"
    path.write_text(text + text)  # each request was made twice
    found = oodometer.evaluate(path)
    assert_snapshot(found.warnings)
    assert found.metrics["accuracy"].value == pytest.approx(5 / 8)
    assert any("8" in line and "ids repeat" in line for line in found.warnings)


def test_the_first_game_of_arena_hard_has_the_baseline_in_the_first_place(tmp_path: Path) -> None:
    record = read_logs(tools.arena_hard(tmp_path)).record
    assert record.score.tolist()[:10] == [
        0,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        0.5,
        0.5,
    ]  # A>>B counts three times


def test_events_of_openai_evals_are_held_against_their_report(tmp_path: Path) -> None:
    path = tools.openai_evals(tmp_path)
    assert read_logs(path).record.output.tolist()[0] == "A0"
    path.write_text(path.read_text().replace('"accuracy": 0.625', '"accuracy": 0.9'))
    assert_snapshot(refused(path))


def test_an_unknown_verdict_is_refused_with_its_row(tmp_path: Path) -> None:
    path = tools.evalplus(tmp_path)
    path.write_text(path.read_text().replace('"pass"', '"perhaps"'))
    expected = "row 1: column plus: expected a verdict that EvalPlus writes, got 'perhaps'"
    assert expected in refused(path)


def test_several_models_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tools.mt_bench_models(tmp_path)
    means = {task.name: task.number.value for task in oodometer.read(path).tasks if task.number}
    assert means == {"vicuna-7b": 7, "alpaca-13b": 6}
    said = refused(path)
    assert_snapshot(said)
    command = said.split("`")[1].split()[1:]
    command[-1] = f"{tmp_path}/models/"
    assert main(command) == 0
    assert "vicuna-7b      7      7.0000" in capsys.readouterr().out
    files = [tmp_path / "models" / f"{model}.parquet" for model in ("vicuna-7b", "alpaca-13b")]
    assert oodometer.compare(files).difference["value"] == pytest.approx(-1)


def test_pairs_of_mt_bench_are_battles(tmp_path: Path) -> None:
    shares = {
        task.name: task.number.value
        for task in oodometer.read(tools.mt_bench_pair(tmp_path)).tasks
        if task.number
    }
    assert shares == {"alpaca-13b": (1 + 0.5 + 0.5 + 1) / 4, "vicuna-7b": (0 + 0.5 + 0.5 + 0) / 4}


def test_two_providers_of_promptfoo_are_two_models(tmp_path: Path) -> None:
    path = tools.promptfoo(tmp_path)
    whole = json.loads(path.read_text())
    rows = whole["results"]["results"]
    others = [{**row, "provider": {"id": "local:b", "label": ""}, "success": True} for row in rows]
    whole["results"]["results"] = [*rows, *others]
    path.write_text(json.dumps(whole))
    shares = {task.name: task.number.value for task in oodometer.read(path).tasks if task.number}
    assert shares == {"openai:gpt-4.1": 5 / 8, "local:b": 1}


def test_two_prompts_of_promptfoo_are_two_systems(tmp_path: Path) -> None:
    path = tools.promptfoo_lines(tmp_path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    tools.lines(path, [*rows, *({**row, "promptIdx": 1, "success": False} for row in rows)])
    shares = {task.name: task.number.value for task in oodometer.read(path).tasks if task.number}
    assert shares == {"openai:gpt-4.1-0": 5 / 8, "openai:gpt-4.1-1": 0}


@pytest.mark.parametrize("make", [tools.evalplus, tools.promptfoo_lines, tools.openai_evals])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path)
    path.write_text(path.read_text()[:-40])
    assert path.name in refused(path)


def test_the_same_questions_of_two_runs_are_pairs(tmp_path: Path) -> None:
    """By ids, in whatever order the rows stand."""
    first = tools.deepeval(tmp_path / "a")
    second = tools.deepeval(tmp_path / "b")
    whole: Any = json.loads(second.read_text())
    cases = whole["testRunData"]["testCases"]
    cases[1]["success"] = True
    whole["testRunData"]["testCases"] = cases[::-1]
    second.write_text(json.dumps(whole))
    difference = oodometer.compare([first, second]).difference
    assert np.abs(difference["value"]) == pytest.approx(1 / 8)


@pytest.mark.parametrize(
    "more", [{"instruction": "a", "generator": "m"}, {"messages": [{"role": "user"}]}]
)
def test_a_table_with_names_of_a_log_is_the_table_that_it_is(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    rows = [{"id": i, "correct": i % 4 > 0, **more} for i in range(8)]
    assert oodometer.evaluate(tools.lines(tmp_path / "rows.jsonl", rows))["accuracy"].value == 6 / 8


def test_a_folder_of_logs_may_begin_with_totals(tmp_path: Path) -> None:
    put(tmp_path / "a" / "0_totals.json", {"accuracy": 0.5})
    tools.evalplus(tmp_path / "a")
    assert oodometer.evaluate(tmp_path / "a")["accuracy"].value == 2 / 8
